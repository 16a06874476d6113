#include "app/tensors/kernel_output.h"

#include <algorithm>
#include <filesystem>
#include <optional>
#include <span>
#include <stdexcept>
#include <utility>

#include "app/files/files.h"
#include "app/tensors/call_files.h"
#include "app/tensors/name_words.h"
#include "app/words/numbers.h"
#include "kernels/experiment/rules.h"

namespace attoscope::app {
namespace {

/// True for FILE:TENSOR; a number behind the colon is a head, not a tensor.
bool names_one_tensor(const std::string& text) {
  const std::string tensor = tensor_ref(text).tensor;
  return !tensor.empty() && !to_number<int>(tensor) && files_in_list(text).size() == 1;
}

bool names_gradient(const TensorSpec& spec) {
  return is_single_file(spec.files()) || names_one_tensor(without_head(spec.files()));
}
bool names_output(const TensorSpec& spec) { return is_single_file(spec.files()) || names_tensor_files(spec); }

std::string expected_shape(int n, int d) {
  const std::string rows = n > 0 ? std::to_string(n) : "n", columns = d > 0 ? std::to_string(d) : "d",
                    both = rows + ", " + columns + "]";
  return "[" + both + ", [heads, " + both + " or [" + rows + ", heads, " + columns + "]";
}

[[noreturn]] void refuse_shape(const StoredTensor& t, int n, int d) {
  const bool turned = t.shape.size() >= 2 && n != d && t.shape.back() == static_cast<std::uint64_t>(n) &&
                      t.shape[t.shape.size() - 2] == static_cast<std::uint64_t>(d);
  refuse_shape(t, expected_shape(n, d) + (turned ? "; it is transposed" : ""));
}

/// Order and sizes of an output; tokens may come before heads, as in variable-length kernels and FlashAttention. None if it
/// does not fit.
std::optional<HeadShape> fitting_shape(const StoredTensor& t, int n, int d) {
  const HeadReading flat = reading_in(t, HeadOrder::side_by_side, d);
  if (n > 0 && flat.fault.empty() && flat.shape.n == n && flat.shape.heads > 1) return flat.shape;
  for (const HeadOrder order : {HeadOrder::heads_first, HeadOrder::tokens_first}) {
    const auto [shape, fault] = reading_in(t, order, d);
    const bool has_rows = n > 0 ? shape.n == n : order == HeadOrder::heads_first;
    if (fault.empty() && has_rows && shape.d >= d) return shape;
  }
  return std::nullopt;
}

HeadShape shape_of(const StoredTensor& t, int n, int d) {
  if (const std::optional<HeadShape> fits = fitting_shape(t, n, d)) return *fits;
  refuse_shape(t, n, d);
}

using Outputs = std::vector<CallFiles::Output>;

int head_count(const Outputs& outputs) {
  int heads = 0;
  for (const CallFiles::Output& o : outputs) heads += o.shape.count();
  return heads;
}

/// Outputs beside Q, K and V, in the order of their layers; empty unless every layer has one.
Outputs outputs_of_calls(const TensorSpec& spec) try {
  const CallFiles calls(spec);
  Outputs outputs;
  for (const CallFiles::Layer& layer : calls.layers()) {
    if (!layer.has_output) return {};
    outputs.push_back({calls.part(layer, 3), layer.o});
  }
  return outputs;
} catch (const std::runtime_error&) {  // without matching calls, there may still be outputs alone
  return {};
}

/// The calls in an input's files; none if it has no files, or if they cannot be read, which their reader reports.
std::optional<CallFiles> calls_of(const Input& input) try {
  if (input.kind != InputKind::tensors || !names_tensor_files(input.file)) return {};
  return CallFiles(input.file);
} catch (const NotFetched&) {  // the output is read again once the files are there
  throw;
} catch (const std::runtime_error&) {
  return {};
}

/// The output of the only call, which may have more columns than V, or those of its sequences; empty if it does not fit.
Outputs output_of_call(const CallPart& part, const CallFiles& call) {
  const CallFiles::Layer& layer = call.layers().front();
  Outputs found = call.like(part, 0, layer.q.heads, layer.v.d);
  if (!found.empty() || part.tensor.tensor.shape.empty()) return found;
  const auto columns = static_cast<int>(std::min<std::uint64_t>(part.tensor.tensor.shape.back(), max_d));
  return call.like(part, 0, layer.q.heads, columns);
}

/// Index of the first tensor with a usual name of outputs, or of the only one; none: there is no such tensor.
std::optional<int> usual_output(const TensorSet& set) {
  for (const std::string_view usual : usual_output_names)
    if (const auto t = std::ranges::find(set.tensors, usual, &NamedTensor::name); t != set.tensors.end())
      return static_cast<int>(t - set.tensors.begin());
  const auto is_readable = [](const NamedTensor& t) { return t.refusal.empty(); };
  if (set.tensors.size() == 1) return 0;
  if (std::ranges::count_if(set.tensors, is_readable) != 1) return std::nullopt;
  return static_cast<int>(std::ranges::find_if(set.tensors, is_readable) - set.tensors.begin());
}

/// The outputs in tensor `place` of `count`: of the only call, of layer `place`, or of the problem's sizes.
Outputs outputs_of_tensor(CallPart part, std::size_t place, std::size_t count, const std::optional<CallFiles>& calls,
                          const Problem& problem) {
  if (calls && count == 1)
    if (Outputs found = output_of_call(part, *calls); !found.empty()) return found;
  std::optional<HeadShape> shape;
  if (calls && count == calls->layers().size())
    shape = shape_of_output(part.tensor.tensor, calls->layers()[place].output_shape());
  if (!shape) shape = shape_of(part.tensor.tensor, problem.n, value_columns(problem));
  return {{std::move(part), *shape}};
}

/// Outputs without Q, K and V, in the order of their names; of a single file only the usual one, if there is one.
Outputs lone_outputs(const TensorSpec& spec, const Problem& problem) {
  const TensorSet set = open_tensor_set(spec.files());
  const std::optional<int> usual = usual_output(set);
  const bool only_usual = usual && is_single_file(spec.files());
  std::vector<int> found = only_usual ? std::vector<int>() : calls_in(names_of(set)).outputs;
  if (found.empty() && (only_usual || set.tensors.size() == 1)) found = {*usual};
  if (found.empty())
    throw std::runtime_error(spec.files() + ": has no tensor called o, out, output or attn_out, and not just one");
  const ScaleNames scales(names_of(set), !only_usual && found.size() == 1);
  const std::optional<CallFiles> calls = calls_of(problem.input);
  Outputs outputs;
  for (std::size_t i = 0; i < found.size(); ++i) {
    const NamedTensor& t = readable(set.tensors[static_cast<std::size_t>(found[i])]);
    const CallPart part{t, tensors_at(set, scales.of(t.name, 3, t.name))};
    for (CallFiles::Output& own : outputs_of_tensor(part, i, found.size(), calls, problem)) {
      find_scale(own.part, spec.scales()[3], {3, own.shape, 1, {}});
      outputs.push_back(std::move(own));
    }
  }
  return outputs;
}

/// Parses the name of a tensor; `called` is the word for it in messages.
KernelOutput parse_spec(const std::string& called, const std::string& text, bool (*names)(const TensorSpec&)) {
  const std::string subject = called + " " + in_quotes(text);
  const std::optional<HeadSpec> spec = head_spec(text, names);
  if (!spec) throw std::invalid_argument(subject + " is not understood, expected " + kernel_output_specs());
  KernelOutput output;
  output.file = spec->file.text();
  output.index = spec->index(subject);
  return output;
}

/// Takes the output's head from the tensors of all layers.
void take_head(KernelOutput& output, const Outputs& files, int n, int d, const ReadWatch& watch) {
  const StoredTensor& first = files.front().part.tensor.tensor;
  const int heads = head_count(files);
  if (output.index < 0 || output.index >= heads)
    throw std::runtime_error(first.label + " has shape " + shape_text(first.shape) + ": head index is " +
                             std::to_string(output.index) + ", expected 0 to " + std::to_string(heads - 1) +
                             "; FILE:0 names its first head");
  int own = output.index;
  auto file = files.begin();
  for (; own >= file->shape.count(); ++file) own -= file->shape.count();
  const HeadShape& r = file->shape;
  const StoredTensor& tensor = file->part.tensor.tensor;
  if ((n > 0 && r.n != n) || (d > 0 && r.d < d)) refuse_shape(tensor, n, d);
  const int columns = d > 0 ? d : r.d;
  check_memory(output.file, 1, r.n, r.d);
  auto values =
      std::make_shared<const std::vector<double>>(first_columns(read_scaled_head(file->part, r, own, watch), r.d, columns));
  output.n = r.n;
  output.d = columns;
  output.type = type_name(tensor.type);
  output.digest = output_digest(*values, r.n, r.d);
  output.values = std::move(values);
}

/// A gradient: its usual names and the size of a head.
struct GradientKind {
  std::span<const std::string_view> names;
  int rows, columns;
  int of_file = columns;  ///< columns of Q, K or V in their file, of which the problem may have only the first
  bool of_keys = false;
};
GradientKind incoming(const Problem& p, bool of_lse) {
  if (of_lse) return {usual_lse_gradient_names, p.n, 1};
  const int columns = value_columns(p);
  return {usual_output_gradient_names, p.n, columns, p.input.tensors ? p.input.tensors->d_v : columns};
}
GradientKind computed(const Problem& p, AnswerTensor tensor) {
  const int of_values = incoming(p, false).of_file, of_rest = p.input.tensors ? p.input.tensors->d : p.d;
  if (tensor == AnswerTensor::dK) return {usual_dk_names, key_count(p), p.d, of_rest, true};
  if (tensor == AnswerTensor::dV) return {usual_dv_names, key_count(p), value_columns(p), of_values, true};
  return {usual_dq_names, p.n, p.d, of_rest};
}

/// The tensor of a gradient in a file.
CallPart gradient_part(const std::string& file, const GradientKind& kind) {
  return part_in_file(names_one_tensor(file) ? tensor_ref(file) : TensorRef{file, ""}, kind.names, 3);
}

/// A gradient's tensor, split into the sequences of a packed call; empty if the problem's input is no packed call.
Outputs gradient_of_sequences(const CallPart& part, const GradientKind& kind, const Problem& problem) {
  if (problem.input.kind != InputKind::tensors || !names_tensor_files(problem.input.file)) return {};
  const CallFiles call(problem.input.file);
  const CallFiles::Layer& layer = call.layers().front();
  if (layer.sequence < 0) return {};
  if (call.is_paged() && kind.of_keys)
    throw std::runtime_error(part.tensor.tensor.label + " is a gradient of a paged cache, expected packed sequences");
  std::vector<CallPart> read{part};
  if (kind.columns == 1) {
    read.push_back(part);
    read.back().tensor.tensor.shape.push_back(1);
  }
  for (const CallPart& tensor : read)
    for (const int heads : {layer.q.heads, kind.of_keys ? layer.k.heads : 0})
      if (Outputs found = heads > 0 ? call.like(tensor, kind.of_keys ? 1 : 0, heads, kind.columns) : Outputs(); !found.empty())
        return found;
  refuse_shape(part.tensor.tensor, std::string("the tokens of ") + (kind.of_keys ? "k" : "q") + ", " +
                                       shape_text(call.whole(kind.of_keys ? 1 : 0).tensor.shape) + ", and " +
                                       std::to_string(kind.columns) + " columns");
}

/// Opens a gradient: a tensor, or one for each sequence.
Outputs gradient_in(const std::string& file, const GradientKind& kind, const Problem& problem) {
  CallPart part = gradient_part(file, kind);
  if (Outputs found = gradient_of_sequences(part, kind, problem); !found.empty()) return found;
  std::vector<std::uint64_t>& shape = part.tensor.tensor.shape;
  const bool may_lack_columns = kind.columns == 1 && !shape.empty() && shape.size() < 4;
  if (may_lack_columns && shape.back() == static_cast<std::uint64_t>(kind.rows)) shape.push_back(1);
  const std::optional<HeadShape> fits = fitting_shape(part.tensor.tensor, kind.rows, kind.columns);
  const bool is_read = problem.input.kind != InputKind::tensors || problem.input.tensors;
  if (fits && (fits->d == kind.columns || fits->d == kind.of_file || !is_read)) return {{std::move(part), *fits}};
  const std::string rows = std::to_string(kind.rows);
  if (kind.columns == 1) refuse_shape(part.tensor.tensor, "[" + rows + "], [heads, " + rows + "] or [" + rows + ", heads]");
  refuse_shape(part.tensor.tensor, kind.rows, kind.columns);
}

/// Opens dO or dL. Heads of dO that stand side by side must be as many as those of the problem's call.
Outputs incoming_in(const std::string& file, const Problem& problem, bool of_lse) {
  const GradientKind kind = incoming(problem, of_lse);
  Outputs found = gradient_in(file, kind, problem);
  const HeadShape& shape = found.front().shape;
  if (of_lse || shape.order != HeadOrder::side_by_side) return found;
  const std::optional<CallFiles> call = calls_of(problem.input);
  if (call && call->layers().size() == 1 && call->heads() != shape.count())
    refuse_shape(found.front().part.tensor.tensor, call->expected_like("O's", 0, call->layers().front().q.heads, kind.of_file));
  return found;
}

/// Reads dO or dL that was named and not yet read.
void load_gradient(KernelOutput& gradient, const Problem& problem, bool of_lse, const ReadWatch& watch) {
  if (gradient.file.empty() || gradient.values) return;
  const GradientKind kind = incoming(problem, of_lse);
  take_head(gradient, incoming_in(gradient.file, problem, of_lse), kind.rows, kind.columns, watch);
}

int equal_heads(const Outputs& found, const GradientKind& kind) {
  return std::ranges::all_of(found, [&](const auto& of) { return of.shape.n == kind.rows; }) ? head_count(found) : 0;
}

/// The head that is read if a typed text names none: the head of the problem's input if the tensors have it, else 0.
int usual_head(const Problem& problem, int heads) {
  const int head = problem.input.kind == InputKind::tensors ? problem.input.index : 0;
  return head < heads ? head : 0;
}

/// Roles that the tensors of files can play, by their names.
struct TensorRoles {
  bool inputs = false, output = false;
};
TensorRoles roles_of(const TensorSpec& spec) {
  const TensorSet set = open_tensor_set(spec.files());
  const CallNames found = calls_in(names_of(set));
  return {!found.calls.empty(), !found.outputs.empty() || (is_single_file(spec.files()) && set.tensors.size() == 1)};
}

}  // namespace

KernelOutput parse_kernel_output(const std::string& text) { return parse_spec("kernel output", text, names_output); }

std::string kernel_output_spec(const KernelOutput& output) {
  const bool names_head = output.index > 0 || has_head_behind_scale(output.file);
  return output.file + (names_head ? ":" + std::to_string(output.index) : "");
}

void load_kernel_output(KernelOutput& output, const Problem& problem, const ReadWatch& watch) {
  if (output.file.empty() || output.values) return;
  if (!names_output(output.file))
    throw std::runtime_error("kernel output " + in_quotes(output.file) + " is not understood, expected " +
                             kernel_output_specs());
  take_head(output, outputs_of(output.file, problem), problem.n, value_columns(problem), watch);
}

int kernel_output_heads(const TensorSpec& file, const Problem& problem) { return head_count(outputs_of(file, problem)); }

KernelOutput read_kernel_output(const std::string& spec, const Problem& problem, const ReadWatch& watch) {
  KernelOutput output = parse_kernel_output(spec);
  if (output.file == spec) output.index = usual_head(problem, kernel_output_heads(output.file, problem));
  load_kernel_output(output, problem, watch);
  return output;
}

bool is_part_alone(const std::string& file) {
  const std::vector<Word> words = words_of(std::filesystem::path(file).stem().string());
  return words.size() == 1 && part_of(words[0]);
}

bool is_kernel_output(const TensorSpec& spec) {
  const bool one = holds(FileKind::one, spec.files());
  if (one && is_single_file(spec.files())) return !is_part_alone(spec.files());
  if (!names_tensor_files(spec) || (one && files_in_list(spec.files()).size() == 3)) return false;
  const TensorRoles roles = roles_of(spec);
  return roles.output && !roles.inputs;
}

bool holds_kernel_output(const TensorSpec& spec) { return names_tensor_files(spec) && roles_of(spec).output; }

bool holds_whole_call(const TensorSpec& spec) try {
  if (!names_tensor_files(spec)) return false;
  const TensorRoles roles = roles_of(spec);
  return roles.inputs && roles.output;
} catch (const std::exception&) {  // the reader reports the error
  return false;
}

Outputs outputs_of(const TensorSpec& spec, const Problem& problem) {
  Outputs outputs = outputs_of_calls(spec);
  return outputs.empty() ? lone_outputs(spec, problem) : outputs;
}

KernelOutput parse_gradient(const std::string& text) { return parse_spec("gradient", text, names_gradient); }

KernelOutput read_gradient(const std::string& spec, const Problem& problem, bool of_lse, const ReadWatch& watch) {
  KernelOutput gradient = parse_gradient(spec);
  const bool names_head = gradient.file != spec;
  if (!names_head) gradient.index = usual_head(problem, head_count(incoming_in(gradient.file, problem, of_lse)));
  load_gradient(gradient, problem, of_lse, watch);
  return gradient;
}

KernelOutput read_kernel_gradient(const std::string& spec, const Problem& problem, AnswerTensor tensor,
                                  const ReadWatch& watch) {
  KernelOutput gradient = parse_gradient(spec);
  const GradientKind kind = computed(problem, tensor);
  const Outputs found = gradient_in(gradient.file, kind, problem);
  if (gradient.file == spec && problem.input.kind == InputKind::tensors) {
    const CallFiles call(problem.input.file);
    const CallFiles::Layer& layer = call.layers().front();
    const int heads = head_count(found), of_q = call.heads(), of_k = of_q / layer.q.heads * layer.k.heads;
    if (kind.of_keys && heads == of_k && heads != of_q) return gradient;  // sums over the heads of a group are no head's
    if (heads != of_q)
      throw std::runtime_error(found.front().part.tensor.tensor.label + " has " + counted(heads, "head") + ", expected " +
                               std::to_string(of_q) + ", those of Q" +
                               (kind.of_keys && of_k != of_q ? ", or " + std::to_string(of_k) + ", those of K" : ""));
    gradient.index = problem.input.index;
  }
  take_head(gradient, found, kind.rows, kind.columns, watch);
  return gradient;
}

int gradient_heads(const std::string& file, const Problem& problem, bool of_lse) {
  return equal_heads(incoming_in(file, problem, of_lse), incoming(problem, of_lse));
}
int gradient_heads(const std::string& file, const Problem& problem, AnswerTensor tensor) {
  const GradientKind kind = computed(problem, tensor);
  return equal_heads(gradient_in(file, kind, problem), kind);
}

GradientSpecs gradients_in(const TensorSpec& spec) {
  GradientSpecs found;
  const std::array<std::pair<std::span<const std::string_view>, std::string*>, 6> places{
      {{usual_output_gradient_names, &found.d_o},
       {usual_lse_gradient_names, &found.d_lse},
       {usual_dq_names, &found.dq},
       {usual_dk_names, &found.dk},
       {usual_dv_names, &found.dv},
       {usual_dsink_names, &found.dsink}}};
  bool alone = false;
  for (const std::string& file : single_files_of(spec)) {
    const TensorSet set = open_tensor_set(file);
    alone |= set.tensors.size() == 1;
    for (const NamedTensor& t : set.tensors)
      for (const auto& [names, place] : places)
        if (std::ranges::find(names, t.name) != names.end()) *place = is_single_file(file) ? file : file + ":" + t.name;
  }
  if (found.d_o.empty() && !alone) found.dq = found.dk = found.dv = found.dsink = "";
  return found;
}

std::vector<GivenTensor> given_tensors(const Experiment& e) {
  std::vector<GivenTensor> given;
  if (has_loaded(e)) given.push_back(GivenTensor::o);
  for (const GivenTensor gradient : {GivenTensor::d_o, GivenTensor::d_lse})
    if (e.backward.on && !given_tensor(e, gradient).file.empty()) given.push_back(gradient);
  return given;
}

bool is_in_use(const Experiment& e, GivenTensor which) {
  return which != GivenTensor::d_o || e.backward.d_o == OutputGradient::file;
}

void load_given(KernelOutput& output, const Problem& problem, GivenTensor which, const ReadWatch& watch) {
  if (which == GivenTensor::o) return load_kernel_output(output, problem, watch);
  load_gradient(output, problem, which == GivenTensor::d_lse, watch);
}

void load_given(Experiment& e, const ReadWatch& watch) {
  for (const GivenTensor which : given_tensors(e))
    if (is_in_use(e, which)) load_given(given_tensor(e, which), e.problem, which, watch);
}

void use_kernel_output(Experiment& experiment, KernelOutput output, bool as_b) {
  experiment.loaded = std::move(output);
  Method& replaced = as_b ? experiment.b : experiment.a;
  replaced = with_algorithm(replaced, Algorithm::loaded);
}

}  // namespace attoscope::app
