#include "app/tensors/kernel_output.h"

#define XXH_INLINE_ALL
#include <xxhash.h>

#include <algorithm>
#include <optional>
#include <stdexcept>

#include "app/tensors/call_files.h"
#include "app/tensors/npy.h"
#include "app/tensors/safetensors.h"
#include "app/tensors/tensors.h"
#include "app/words/numbers.h"
#include "kernels/experiment/rules.h"

namespace attoscope {
namespace {

constexpr std::string_view npy = ".npy", safetensors = ".safetensors";

/// True for a single .npy or .safetensors file.
bool is_single(std::string_view file) {
  return (file.ends_with(npy) || file.ends_with(safetensors)) && files_in_list(std::string(file)).size() == 1;
}

bool names_output(std::string_view spec) {
  const FileSpec named = file_spec(spec);
  return is_single(named.files) || names_tensor_files(named.files);
}

std::string expected_shape(int n, int d) {
  const std::string rows = n > 0 ? std::to_string(n) : "n", columns = d > 0 ? std::to_string(d) : "d",
                    both = rows + ", " + columns + "]";
  return "[" + both + ", [heads, " + both + " or [" + rows + ", heads, " + columns + "]";
}

[[noreturn]] void refuse_shape(const StoredTensor& t, int n, int d) {
  const bool turned = t.shape.size() >= 2 && n != d && t.shape.back() == static_cast<std::uint64_t>(n) &&
                      t.shape[t.shape.size() - 2] == static_cast<std::uint64_t>(d);
  throw std::runtime_error(t.label + " has shape " + shape_text(t.shape) + ", expected " + expected_shape(n, d) +
                           (turned ? "; it is transposed" : ""));
}

/// Shape of n x (heads d), with or without a batch, for known n and d; none if it does not fit.
std::optional<HeadShape> side_by_side(const StoredTensor& t, int n, int d) {
  const std::size_t rank = t.shape.size();
  if (n == 0 || d == 0 || rank > 3 || t.shape[rank - 2] != static_cast<std::uint64_t>(n)) return std::nullopt;
  const std::uint64_t width = t.shape[rank - 1], columns = static_cast<std::uint64_t>(d), batch = rank == 3 ? t.shape[0] : 1;
  if (width <= columns || width % columns != 0 || batch < 1 || width / columns > (1U << 20) / batch) return std::nullopt;
  return HeadShape{HeadOrder::side_by_side, static_cast<int>(batch), static_cast<int>(width / columns), n, d};
}

/// Order and sizes of an output; tokens may come before heads, as in variable-length kernels and FlashAttention.
HeadShape shape_of(const StoredTensor& t, int n, int d) {
  const std::size_t rank = t.shape.size();
  if (rank < 2 || rank > 4) refuse_shape(t, n, d);
  const std::uint64_t elements = byte_count(t.shape, bytes_of(t.type), t.label) / static_cast<std::uint64_t>(bytes_of(t.type));
  const std::uint64_t last = t.shape[rank - 1], before = t.shape[rank - 2];
  if (const auto flat = side_by_side(t, n, d)) return *flat;
  const auto is = [](std::uint64_t size, int wanted) { return wanted > 0 && size == static_cast<std::uint64_t>(wanted); };
  const bool rows_last = n == 0 || is(before, n), tokens_first = !rows_last && rank >= 3 && is(t.shape[rank - 3], n);
  const std::uint64_t tokens = tokens_first ? t.shape[rank - 3] : before;
  const bool sized =
      last >= 1 && last <= static_cast<std::uint64_t>(max_d) && tokens >= 1 && tokens <= static_cast<std::uint64_t>(max_n);
  if (elements == 0 || !sized || (!rows_last && !tokens_first) || (d > 0 && last < static_cast<std::uint64_t>(d)) ||
      elements / tokens / last > 1U << 20)
    refuse_shape(t, n, d);
  const int heads = static_cast<int>(elements / tokens / last), batch = rank == 4 ? static_cast<int>(t.shape[0]) : 1;
  return {tokens_first ? HeadOrder::tokens_first : HeadOrder::heads_first, batch, heads / batch, static_cast<int>(tokens),
          static_cast<int>(last)};
}

/// A tensor with an output, and the number of the file's heads before it.
struct OutputPart {
  CallPart part;
  HeadShape shape;
  int first = 0;

  const StoredTensor& tensor() const { return part.tensor.tensor; }
};

/// All outputs of some files.
struct OutputFiles {
  std::vector<OutputPart> parts;
  int heads = 0;

  void add(CallPart part, const HeadShape& shape) {
    parts.push_back({std::move(part), shape, heads});
    heads += shape.count();
  }
};

/// Adds an output without Q, K and V, with its scale.
void add_alone(OutputFiles& outputs, CallPart part, const FileSpec& spec, int n, int d) {
  const HeadShape shape = shape_of(part.tensor.tensor, n, d);
  find_scale(part, spec.scales[3], {3, shape, 1, {}});
  outputs.add(std::move(part), shape);
}

OutputFiles output_of_one(const FileSpec& spec, int n, int d) {
  auto file = std::make_shared<const InputFile>(spec.files);
  const bool is_npy = spec.files.ends_with(npy);
  StoredTensor t = is_npy ? read_npy(*file) : read_output_tensor(*file);
  NamedTensor output{"", std::string(type_name(t.type)), "", std::move(file), std::move(t)};
  OutputFiles outputs;
  add_alone(outputs, is_npy ? CallPart{output} : with_scales_beside(output, open_tensor_set(spec.files), 3), spec, n, d);
  return outputs;
}

/// Outputs beside Q, K and V, in the order of their layers; empty unless every layer has one.
OutputFiles outputs_of_calls(const std::string& spec) {
  OutputFiles outputs;
  std::optional<CallFiles> calls;
  try {
    calls.emplace(spec);
  } catch (const std::runtime_error&) {  // without matching calls, the outputs may still stand alone
    return outputs;
  }
  for (const CallFiles::Layer& layer : calls->layers()) {
    if (!layer.has_output) return {};
    outputs.add(calls->part(layer, 3), layer.o);
  }
  return outputs;
}

/// Outputs without Q, K and V, in the order of their names.
OutputFiles lone_outputs(const FileSpec& spec, int n, int d) {
  const TensorSet set = open_tensor_set(spec.files);
  std::vector<int> found = calls_in(names_of(set)).outputs;
  if (found.empty() && set.tensors.size() == 1) found = {0};
  if (found.empty())
    throw std::runtime_error(spec.files + ": has no tensor called o, out, output or attn_out, and not just one");
  const SetScales scales(set, found.size() == 1);
  OutputFiles outputs;
  for (const int i : found) {
    const NamedTensor& t = readable(set.tensors[static_cast<std::size_t>(i)]);
    add_alone(outputs, {t, scales.of(t.name, 3, t.name)}, spec, n, d);
  }
  return outputs;
}

OutputFiles open_outputs(const std::string& spec, int n, int d) {
  const FileSpec named = file_spec(spec);
  const bool single = is_single(named.files);
  if (single && named.files.ends_with(npy)) return output_of_one(named, n, d);
  if (OutputFiles outputs = outputs_of_calls(spec); !outputs.parts.empty()) return outputs;
  if (single && tensor_roles(InputFile(named.files)).output) return output_of_one(named, n, d);
  return lone_outputs(named, n, d);
}

}  // namespace

KernelOutput parse_kernel_output(std::string_view spec) {
  KernelOutput output;
  output.file = spec;
  if (!has_head_behind_scale(spec) && names_output(spec)) return output;
  const std::size_t colon = spec.rfind(':');
  if (colon == std::string_view::npos || !names_output(spec.substr(0, colon)))
    throw std::invalid_argument("kernel output " + in_quotes(spec) + " is not understood, expected " +
                                std::string(kernel_output_specs));
  const std::string_view text = spec.substr(colon + 1);
  const auto index = to_number<int>(text);
  if (!index || *index < 0)
    throw std::invalid_argument("kernel output " + in_quotes(spec) + " has head index " + in_quotes(text) +
                                ", expected a whole number from 0 on");
  output.file = spec.substr(0, colon);
  output.index = *index;
  return output;
}

std::string kernel_output_spec(const KernelOutput& output) {
  return output.index > 0 || has_head_behind_scale(output.file) ? output.file + ":" + std::to_string(output.index)
                                                                : output.file;
}

void load_kernel_output(KernelOutput& output, int n, int d, const ReadWatch& watch) {
  if (output.file.empty() || output.values) return;
  if (!names_output(output.file))
    throw std::runtime_error("kernel output " + in_quotes(output.file) +
                             " is not understood, expected a .npy or .safetensors file");
  const OutputFiles files = open_outputs(output.file, n, d);
  const StoredTensor& first = files.parts.front().tensor();
  if (output.index < 0 || output.index >= files.heads)
    throw std::runtime_error(first.label + " has shape " + shape_text(first.shape) + ": head index is " +
                             std::to_string(output.index) + ", expected 0 to " + std::to_string(files.heads - 1));
  const OutputPart& part = *(std::ranges::upper_bound(files.parts, output.index, {}, &OutputPart::first) - 1);
  const HeadShape& r = part.shape;
  if ((n > 0 && r.n != n) || (d > 0 && r.d < d)) refuse_shape(part.tensor(), n, d);
  const int columns = d > 0 ? d : r.d;
  check_memory(output.file, 1, r.n, r.d);
  auto values = std::make_shared<const std::vector<double>>(
      first_columns(read_scaled_head(part.part, part.shape, output.index - part.first, watch), r.d, columns));
  output.n = r.n;
  output.d = columns;
  output.type = type_name(part.tensor().type);
  output.digest = XXH3_64bits_withSeed(values->data(), values->size() * sizeof(double),
                                       static_cast<std::uint64_t>(r.n) << 32 | static_cast<std::uint64_t>(r.d));
  output.values = std::move(values);
}

int kernel_output_heads(const std::string& file, int n, int d) { return open_outputs(file, n, d).heads; }

KernelOutput read_kernel_output(const std::string& spec, const Problem& problem, int n, int d, const ReadWatch& watch) {
  KernelOutput output = parse_kernel_output(spec);
  const bool names_head = output.file != spec;
  const int head = problem.input.kind == InputKind::tensors ? problem.input.index : 0;
  if (!names_head && head > 0 && head < kernel_output_heads(output.file, n, d)) output.index = head;
  load_kernel_output(output, n, d, watch);
  return output;
}

namespace {

/// Roles of several tensors by their names.
TensorRoles roles_of(const std::string& spec) {
  const std::string files = file_spec(spec).files;
  const std::vector<TensorName> names = names_of(open_tensor_set(files));
  const CallNames found = calls_in(names);
  const bool only = is_single(files) && names.size() == 1;
  return {!found.calls.empty(), !found.outputs.empty() || only};
}

}  // namespace

bool is_kernel_output(const std::string& spec) {
  const std::string file = file_spec(spec).files;
  if (file.ends_with(npy) && is_single(file)) return true;
  if (!names_tensor_files(file) || (file.ends_with(npy) && files_in_list(file).size() == 3)) return false;
  const TensorRoles roles = roles_of(spec);
  return roles.output && !roles.inputs;
}

bool holds_kernel_output(const std::string& spec) { return names_tensor_files(file_spec(spec).files) && roles_of(spec).output; }

bool holds_whole_call(const std::string& spec) {
  if (!names_tensor_files(file_spec(spec).files)) return false;
  try {
    const TensorRoles roles = roles_of(spec);
    return roles.inputs && roles.output;
  } catch (const std::exception&) {  // the reader reports the error
    return false;
  }
}

std::vector<CallFiles::Output> outputs_of(const std::string& spec, int n, int d) {
  std::vector<CallFiles::Output> outputs;
  for (const OutputPart& p : open_outputs(spec, n, d).parts) outputs.push_back({p.part, p.shape});
  return outputs;
}

void use_kernel_output(Experiment& experiment, KernelOutput output, bool as_b) {
  experiment.loaded = std::move(output);
  Method& replaced = as_b ? experiment.b : experiment.a;
  replaced = with_algorithm(replaced, Algorithm::loaded);
}

}  // namespace attoscope
