#include "app/judge/judged_files.h"

#include <algorithm>
#include <array>
#include <stdexcept>

#include "app/tensors/kernel_output.h"

namespace attoscope::app {

JudgedFiles::JudgedFiles(const CallSources& sources) : sources_(sources), files_(std::make_shared<CallFiles>(sources)) {
  files_->check_outputs();
  check_shapes();
}

JudgedFiles::JudgedFiles(std::shared_ptr<const CallFiles> files) : files_(std::move(files)) { check_shapes(); }

void JudgedFiles::check_shapes() const {
  for (const CallFiles::Layer& x : files_->layers())
    if (const AttentionShape s = x.shape(); x.sequence < 0 ? s != shape() : s.d != shape().d || s.d_v != shape().d_v) {
      const int part = x.q.same_sizes(layer().q) ? x.k.same_sizes(layer().k) ? 2 : 1 : 0;
      const StoredTensor &other = files_->tensor(x, part).tensor, &first = files_->tensor(layer(), part).tensor;
      throw std::runtime_error(other.label + " has shape " + shape_text(other.shape) + ", expected tokens and columns as " +
                               shape_text(first.shape) + " of the first layer has them");
    }
}

std::shared_ptr<const Tensors> JudgedFiles::inputs(int head) const {
  return std::make_shared<const Tensors>(files_->inputs(head));
}

std::shared_ptr<const std::vector<double>> JudgedFiles::output(int head) const {
  return std::make_shared<const std::vector<double>>(files_->output(head));
}

bool JudgedFiles::has_scales() const {
  const auto has_scale = [&](int part) { return files_->part(layer(), part).scale.has_value(); };
  return has_scale(0) || has_scale(1) || has_scale(2);
}

bool JudgedFiles::has_scaled_inputs() const { return takes_scale(files_->tensor(layer(), 0).tensor.type) && has_scales(); }

ElementType JudgedFiles::type_of_q() const {
  return has_scaled_inputs() ? ElementType::F64 : files_->tensor(layer(), 0).tensor.type;
}

std::shared_ptr<const std::vector<double>> JudgedFiles::output_scale(int head) const {
  std::vector<double> scale = files_->scale(head, 3);
  return scale.empty() ? nullptr : std::make_shared<const std::vector<double>>(std::move(scale));
}

/// The file of a named part, or of one that is not named.
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

/// The file of Q, K and V, and that of O, if the window finds the tensors in them; empty if it does not.
std::vector<std::string> JudgedFiles::specs_apart() const {
  std::string inputs;
  for (const std::string* const named : {&sources_.q, &sources_.k, &sources_.v})
    if (const std::string file = file_of(*named); inputs != file || holds(FileKind::one, file))
      inputs += (inputs.empty() ? "" : ",") + file;
  const std::string spec = spec_for_window(inputs, false),
                    output = TensorSpec(file_of(sources_.o), {}, {{{}, {}, {}, files_->named_scales()[3]}}).text();
  const std::vector<CallFiles::Output> outputs = outputs_of(output, shape().n, shape().d_v);
  const bool found = is_seen_in(spec, 3) && outputs.size() == 1 && outputs.front().shape.count() == heads() &&
                     outputs.front().part.tensor.tensor.label == files_->tensor(layer(), 3).tensor.label;
  return found ? std::vector{spec, output} : std::vector<std::string>();
}

std::vector<std::string> JudgedFiles::files_for_window(int head) const {
  const std::string behind = ":" + std::to_string(head);
  try {
    if (const std::string file = one_file(); !file.empty() && is_seen_in(spec_for_window(file, true), 4))
      return {spec_for_window(file, true) + behind};
  } catch (const std::runtime_error&) {  // the window would find no call there
  }
  try {
    std::vector<std::string> specs = specs_apart();
    for (std::string& spec : specs) spec += behind;
    return specs;
  } catch (const std::runtime_error&) {
    return {};
  }
}

JudgedCall::Layer JudgedFiles::layer_of(int head) const {
  const CallFiles::Layer& layer = files_->layer_of(head);
  return {heads_of_layer(files_, layer), head - layer.first};
}

}  // namespace attoscope::app
