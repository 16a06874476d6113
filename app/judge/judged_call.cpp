#include "app/judge/judged_call.h"

#include <algorithm>
#include <array>
#include <functional>
#include <stdexcept>
#include <utility>

#include "app/tensors/call_files.h"
#include "app/tensors/kernel_output.h"
#include "kernels/compute.h"
#include "kernels/experiment/result.h"
#include "kernels/experiment/rules.h"

namespace attoscope::app {
namespace {

/// True if Q, K or V of the layer has a scale.
bool has_scale(const CallFiles& files, const CallFiles::Layer& layer) {
  return files.part(layer, 0).scale || files.part(layer, 1).scale || files.part(layer, 2).scale;
}

/// The head of an experiment whose inputs are generated, or come from files that do not fit the loaded output.
class LoneHead : public JudgedCall {
 public:
  explicit LoneHead(const Experiment& e) : e_(e), inputs_(is_whole(e.problem) ? e.problem.input.tensors : taken(e)) {
    if (e.problem.input.kind == InputKind::tensors) files_ = std::make_shared<const CallFiles>(e.problem.input.file);
  }

  AttentionShape shape() const override { return shape_of(e_.problem); }
  ElementType type_of_o() const override { return type_named(e_.loaded.type).value_or(ElementType::F64); }
  std::shared_ptr<const Tensors> inputs(int) const override { return inputs_; }
  std::shared_ptr<const std::vector<double>> output(int) const override { return e_.loaded.values; }
  ElementType type_of_v() const override { return files_ ? files_->tensor(own_layer(), 2).tensor.type : ElementType::F64; }
  bool has_scales() const override { return files_ && is_whole(e_.problem) && has_scale(*files_, own_layer()); }
  Layer layer_of(int) const override {
    if (!files_) return {};
    const CallFiles::Layer& layer = own_layer();
    return {heads_of_layer(files_, layer), e_.problem.input.index - layer.first};
  }

 private:
  /// True if the experiment uses all tokens of its tensors; false if it generates its inputs.
  static bool is_whole(const Problem& p) {
    return p.input.tensors && p.input.tensors->n == p.n && p.input.tensors->n_k == key_count(p);
  }
  /// The tensors that the experiment computes on: generated or cut, and rounded as for golden, a and b.
  static std::shared_ptr<const Tensors> taken(Experiment e) {
    e.problem.rows = 1;
    return compute(e).inputs;
  }

  const CallFiles::Layer& own_layer() const { return files_->layer_of(e_.problem.input.index); }

  Experiment e_;
  std::shared_ptr<const Tensors> inputs_;
  std::shared_ptr<const CallFiles> files_;  ///< null: the inputs are generated
};

/// True if the heads of a layer can be judged together with those of the first one.
bool goes_with(const CallFiles::Layer& x, const CallFiles::Layer& first) {
  const AttentionShape s = x.shape(), other = first.shape();
  return x.sequence < 0 ? s == other : s.d == other.d && s.d_v == other.d_v;
}

/// The files of the input and of the loaded output; null if they show different heads, a head has no output, or the shapes of
/// layers differ.
std::shared_ptr<const CallFiles> files_of(const Experiment& e) {
  const Input& input = e.problem.input;
  if (input.kind != InputKind::tensors || input.index != e.loaded.index) return nullptr;
  const auto files = std::make_shared<CallFiles>(input.file);
  const std::vector<CallFiles::Layer>& layers = files->layers();
  if (files->layer_of(input.index).shape() != shape_of(e.problem)) return nullptr;
  if (!std::ranges::all_of(layers, [&](const CallFiles::Layer& x) { return goes_with(x, layers.front()); })) return nullptr;
  const bool has_outputs = std::ranges::all_of(layers, &CallFiles::Layer::has_output);
  if (e.loaded.file == input.file && has_outputs) return files;
  return files->take_outputs(outputs_of(e.loaded.file, e.problem)) ? files : nullptr;
}

using Factors = std::vector<double>;

constexpr std::array<const char*, 3> letters_of_inputs{"Q", "K", "V"};
constexpr std::array<std::vector<double> Tensors::*, 3> scaled_numbers{&Tensors::q, &Tensors::k, &Tensors::v};

/// Replaces each number's factor `has` by `should_have`; by 1 if that is empty.
void replace(std::vector<double>& x, const Factors& has, const Factors& should_have) {
  for (std::size_t i = 0; i < has.size(); ++i) x[i] = x[i] / has[i] * (should_have.empty() ? 1 : should_have[i]);
}

/// Wrong readings of a head with scales: for each of Q, K and V its scales forgotten, applied twice, read with tokens and
/// heads exchanged, and read with a token's blocks in reverse order; all scales forgotten; the scales of K and V exchanged. The
/// readings share `files`, from which they read.
std::vector<OtherReading> wrong_scales(std::shared_ptr<const CallFiles> files, int head) {
  std::vector<OtherReading> readings;
  const auto add = [&](std::string text, std::function<void(Tensors&)> change) {
    readings.push_back({std::move(text), [files, head, change = std::move(change)] {
                          Tensors t = files->inputs(head);
                          change(t);
                          return std::make_shared<const Tensors>(std::move(t));
                        }});
  };
  const auto scale = [files, head](int part) { return files->scale(head, part); };
  const CallFiles::Layer& layer = files->layer_of(head);
  int scaled = 0;
  for (int part = 0; part < 3; ++part) {
    const std::optional<OpenedScale>& own = files->part(layer, part).scale;
    if (!own) continue;
    ++scaled;
    const std::string scales = std::string("the scale of ") + letters_of_inputs[static_cast<std::size_t>(part)];
    const auto x = scaled_numbers[static_cast<std::size_t>(part)];
    add(scales + " forgotten", [=](Tensors& t) { replace(t.*x, scale(part), {}); });
    add(scales + " applied twice", [=](Tensors& t) {
      const Factors factors = scale(part);
      for (std::size_t i = 0; i < factors.size(); ++i) (t.*x)[i] *= factors[i];
    });
    if (own->stored.shape.n > 1 && own->stored.shape.heads > 1)
      add(scales + " read as if its heads and tokens stood the other way round",
          [=](Tensors& t) { replace(t.*x, scale(part), files->scale(head, part, true)); });
    if (own->stored.group == ScaleGroup::columns)
      add(scales + " read with each token's blocks in reverse order", [=](Tensors& t) {
        Factors reversed = scale(part);
        const std::ptrdiff_t columns = part == 2 ? t.d_v : t.d;
        for (auto row = reversed.begin(); row != reversed.end(); row += columns) std::reverse(row, row + columns);
        replace(t.*x, scale(part), reversed);
      });
  }
  if (scaled > 1)
    add("the scales of Q, K and V forgotten", [scale](Tensors& t) {
      for (int part = 0; part < 3; ++part) replace(t.*scaled_numbers[static_cast<std::size_t>(part)], scale(part), {});
    });
  if (files->part(layer, 1).scale && files->part(layer, 2).scale && layer.k.d == layer.v.d)
    add("the scales of K and V exchanged", [scale](Tensors& t) {
      const Factors of_K = scale(1), of_V = scale(2);
      replace(t.k, of_K, of_V);
      replace(t.v, of_V, of_K);
    });
  return readings;
}

}  // namespace

JudgedFiles::JudgedFiles(const CallSources& sources) : sources_(sources), files_(std::make_shared<CallFiles>(sources)) {
  files_->check_outputs();
  check_shapes();
}

JudgedFiles::JudgedFiles(std::shared_ptr<const CallFiles> files) : files_(std::move(files)) { check_shapes(); }

void JudgedFiles::check_shapes() const {
  for (const CallFiles::Layer& x : files_->layers())
    if (!goes_with(x, layer())) {
      const int part = x.q.same_sizes(layer().q) ? x.k.same_sizes(layer().k) ? 2 : 1 : 0;
      const StoredTensor &other = files_->tensor(x, part).tensor, &first = files_->tensor(layer(), part).tensor;
      refuse_shape(other, "tokens and columns as " + shape_text(first.shape) + " of the first layer has them");
    }
}

std::shared_ptr<const Tensors> JudgedFiles::inputs(int head) const {
  return std::make_shared<const Tensors>(files_->inputs(head));
}

std::shared_ptr<const std::vector<double>> JudgedFiles::output(int head) const {
  return std::make_shared<const std::vector<double>>(files_->output(head));
}

bool JudgedFiles::has_scales() const { return has_scale(*files_, layer()); }

bool JudgedFiles::has_scaled_inputs() const { return takes_scale(files_->tensor(layer(), 0).tensor.type) && has_scales(); }

ElementType JudgedFiles::type_of_q() const {
  return has_scaled_inputs() ? ElementType::F64 : files_->tensor(layer(), 0).tensor.type;
}

std::shared_ptr<const std::vector<double>> JudgedFiles::output_scale(int head) const {
  std::vector<double> scale = files_->scale(head, 3);
  return scale.empty() ? nullptr : std::make_shared<const std::vector<double>>(std::move(scale));
}

/// The file of a part: the named one, or else the input's file.
std::string JudgedFiles::file_of(const std::string& named) const {
  return named.empty() ? sources_.input.files() : tensor_ref(named).file;
}

/// The file that holds all four tensors, named one by one or not at all; empty if there are several files.
std::string JudgedFiles::one_file() const {
  const CallSources& x = sources_;
  const std::array<const std::string*, 4> named{&x.q, &x.k, &x.v, &x.o};
  const bool all = std::ranges::all_of(named, [&](const std::string* part) {
    return file_of(*part) == file_of(x.q) && part->empty() == x.q.empty() && (part->empty() || file_of(*part) != *part);
  });
  return all ? file_of(x.q) : "";
}

/// The spec of these files for the window, with the scales and the layout from options or shapes.
std::string JudgedFiles::spec_for_window(const std::string& files, bool with_output) const {
  ScaleSpecs scales = files_->named_scales();
  if (!with_output) scales[3].reset();
  std::optional<HeadLayout> layout;
  const HeadOrder order = layer().q.order;
  if (layer().sequence >= 0)
    layout = sources_.layout ? sources_.layout : sources_.input.layout();
  else if (sources_.layout || order != HeadOrder::heads_first || (!with_output && heads() > 1))
    layout = HeadLayout{order, order == HeadOrder::side_by_side ? layer().q.heads : 0};
  return TensorSpec(files, layout, scales, sources_.packed.over(sources_.input.packed())).text();
}

/// True if a window that opens this finds the first `parts` of Q, K, V and O as they were read here.
bool JudgedFiles::is_seen_in(const std::string& spec, int parts) const {
  const CallFiles seen(spec);
  for (int part = 0; part < parts; ++part)
    if (seen.tensor(seen.layers().front(), part).tensor.label != files_->tensor(layer(), part).tensor.label) return false;
  return seen.heads() == heads() && seen.layers().front().q.order == layer().q.order && (parts < 4 || seen.info().has_output);
}

/// The file of Q, K and V, and the file of O, if the window finds the tensors in them; else empty.
std::vector<std::string> JudgedFiles::specs_apart() const {
  std::string inputs;
  for (const std::string* const named : {&sources_.q, &sources_.k, &sources_.v})
    if (const std::string file = file_of(*named); inputs != file || holds(FileKind::one, file))
      inputs += (inputs.empty() ? "" : ",") + file;
  const std::string spec = spec_for_window(inputs, false),
                    output = TensorSpec(file_of(sources_.o), {}, {{{}, {}, {}, files_->named_scales()[3]}}).text();
  Problem shown = with_shape({}, shape());
  shown.input.kind = InputKind::tensors;
  shown.input.file = spec;
  const std::vector<CallFiles::Output> outputs = outputs_of(output, shown);
  const bool found = is_seen_in(spec, 3) && kernel_output_heads(output, shown) == heads() &&
                     outputs.front().part.tensor.tensor.label == files_->tensor(layer(), 3).tensor.label;
  return found ? std::vector{spec, output} : std::vector<std::string>();
}

std::vector<std::string> JudgedFiles::files_for_window(int head) const {
  const std::string behind = ":" + std::to_string(head);
  try {
    if (const std::string file = one_file(); !file.empty() && is_seen_in(spec_for_window(file, true), 4))
      return {spec_for_window(file, true) + behind};
  } catch (const std::exception&) {  // the window would find no call there
  }
  try {
    std::vector<std::string> specs = specs_apart();
    for (std::string& spec : specs) spec += behind;
    return specs;
  } catch (const std::exception&) {
    return {};
  }
}

JudgedCall::Layer JudgedFiles::layer_of(int head) const {
  const CallFiles::Layer& layer = files_->layer_of(head);
  return {heads_of_layer(files_, layer), head - layer.first};
}

OtherHeads heads_of_layer(const std::shared_ptr<const CallFiles>& files, const CallFiles::Layer& layer) {
  const auto read = [files, first = layer.first](int head) {
    return std::make_shared<const Tensors>(files->inputs(first + head));
  };
  const auto readings = [files, first = layer.first](int head) { return wrong_scales(files, first + head); };
  const auto keys = [files, first = layer.first](int head) { return files->stored_keys(first + head); };
  return {layer.q.count(), read, layer.q.heads, layer.k.heads, readings, keys};
}

std::shared_ptr<const JudgedCall> whole_call_of(const Experiment& e) {
  const std::shared_ptr<const CallFiles> files = files_of(e);
  return files ? std::make_shared<const JudgedFiles>(files) : nullptr;
}

ExperimentCall call_of(const Experiment& e) {
  if (std::shared_ptr<const JudgedCall> whole = whole_call_of(e)) return {std::move(whole), e.problem.input.index, true};
  return {std::make_shared<const LoneHead>(e), 0, false};
}

}  // namespace attoscope::app
