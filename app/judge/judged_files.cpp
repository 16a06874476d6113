#include "app/judge/judged_files.h"

#include <algorithm>
#include <array>
#include <stdexcept>

namespace attoscope {

JudgedFiles::JudgedFiles(const CallSources& sources) : sources_(sources), files_(std::make_shared<CallFiles>(sources)) {
  files_->check_outputs();
  check_shapes();
}

JudgedFiles::JudgedFiles(std::shared_ptr<const CallFiles> files) : files_(std::move(files)) { check_shapes(); }

void JudgedFiles::check_shapes() const {
  for (const CallFiles::Layer& x : files_->layers())
    if (!(x.shape() == shape())) {
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

/// What holds all four tensors, named one by one or not at all; empty where they lie apart.
std::string JudgedFiles::one_file() const {
  const CallSources& x = sources_;
  const std::array<std::string_view, 4> named{x.q, x.k, x.v, x.o};
  if (std::ranges::all_of(named, [](std::string_view s) { return s.empty(); })) return file_spec(x.input).files;
  constexpr std::string_view ending = ".safetensors:";
  const auto file_of = [&](std::string_view s) { return s.substr(0, s.rfind(ending) + ending.size() - 1); };
  const bool all = std::ranges::all_of(
      named, [&](std::string_view s) { return s.rfind(ending) != std::string_view::npos && file_of(s) == file_of(x.q); });
  return all ? std::string(file_of(x.q)) : "";
}

/// True if the file itself tells the window all that the options told here.
bool JudgedFiles::shows_in_window() const {
  if (one_file().empty()) return false;
  try {
    const CallFiles seen(spec_for_window());
    for (int part = 0; part < 4; ++part)
      if (seen.tensor(seen.layers().front(), part).tensor.label != files_->tensor(layer(), part).tensor.label) return false;
    return seen.heads() == heads() && seen.layers().front().q.order == layer().q.order && seen.info().has_output;
  } catch (const std::runtime_error&) {
    return false;
  }
}

std::string JudgedFiles::spec_for_window() const {
  const std::string files = one_file();
  FileSpec spec{files, std::nullopt, files_->named_scales()};
  const HeadOrder order = layer().q.order;
  if (sources_.layout || order != HeadOrder::heads_first)
    spec.layout = HeadLayout{order, order == HeadOrder::side_by_side ? layer().q.heads : 0};
  return file_spec_text(spec);
}

std::vector<std::string> JudgedFiles::files_for_window(int head) const {
  if (shows_in_window()) return {spec_for_window() + ":" + std::to_string(head)};
  if (heads() > 1 || files_->named_scales() != ScaleSpecs{}) return {};
  const std::array<const std::string*, 4> named{&sources_.q, &sources_.k, &sources_.v, &sources_.o};
  const bool all_npy = std::ranges::all_of(named, [](const std::string* f) { return f->ends_with(".npy"); });
  if (!all_npy) return {};
  return {sources_.q, sources_.k, sources_.v, sources_.o};
}

JudgedCall::Layer JudgedFiles::layer_of(int head) const {
  const CallFiles::Layer& layer = files_->layer_of(head);
  return {heads_of_layer(files_, layer), head - layer.first};
}

}  // namespace attoscope
