#include "app/judge/judged_call.h"

#include <algorithm>

#include "app/judge/judged_files.h"
#include "app/tensors/call_files.h"
#include "app/tensors/kernel_output.h"
#include "kernels/compute.h"
#include "kernels/experiment/result.h"
#include "kernels/experiment/rules.h"

namespace attoscope::app {
namespace {

/// The element type of this name in files; F64 if there is none.
ElementType type_named(const std::string& name) {
  const auto* const found = std::ranges::find(element_type_names, name);
  return found == element_type_names.end() ? ElementType::F64 : static_cast<ElementType>(found - element_type_names.begin());
}

/// The head of an experiment whose inputs are drawn, or are no file's beside its output.
class LoneHead : public JudgedCall {
 public:
  explicit LoneHead(const Experiment& e) : e_(e), inputs_(is_whole(e.problem) ? e.problem.input.tensors : taken(e)) {}

  int heads() const override { return 1; }
  std::vector<std::string> head_names() const override { return {"head 0"}; }
  AttentionShape shape() const override { return shape_of(e_.problem); }
  ElementType type_of_q() const override { return ElementType::F64; }
  ElementType type_of_o() const override { return type_named(e_.loaded.type); }
  bool has_scaled_inputs() const override { return false; }
  bool tells_format() const override { return false; }
  std::shared_ptr<const Tensors> inputs(int) const override { return inputs_; }
  std::shared_ptr<const std::vector<double>> output(int) const override { return e_.loaded.values; }
  std::shared_ptr<const std::vector<double>> output_scale(int) const override { return nullptr; }
  Layer layer_of(int) const override {
    const Input& input = e_.problem.input;
    if (input.kind != InputKind::tensors) return {};
    const auto files = std::make_shared<const CallFiles>(input.file);
    const CallFiles::Layer& layer = files->layer_of(input.index);
    return {heads_of_layer(files, layer), input.index - layer.first};
  }

 private:
  /// True if the experiment uses all tokens of its tensors; false if they are drawn.
  static bool is_whole(const Problem& p) {
    return p.input.tensors && p.input.tensors->n == p.n && p.input.tensors->n_k == key_count(p);
  }
  /// Returns the tokens that are asked for, as they are rounded for everybody.
  static std::shared_ptr<const Tensors> taken(Experiment e) {
    e.problem.rows = 1;
    return compute(e).inputs;
  }

  Experiment e_;
  std::shared_ptr<const Tensors> inputs_;
};

/// The files of the input and of the loaded output; null if they show different heads, or a head has no output.
std::shared_ptr<const CallFiles> files_of(const Experiment& e) {
  const Input& input = e.problem.input;
  if (input.kind != InputKind::tensors || input.index != e.loaded.index) return nullptr;
  const auto files = std::make_shared<CallFiles>(input.file);
  if (files->layer_of(input.index).shape() != shape_of(e.problem)) return nullptr;
  const bool has_outputs = std::ranges::all_of(files->layers(), &CallFiles::Layer::has_output);
  if (e.loaded.file == input.file && has_outputs) return files;
  return files->take_outputs(outputs_of(e.loaded.file, e.problem.n, value_columns(e.problem))) ? files : nullptr;
}

}  // namespace

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
