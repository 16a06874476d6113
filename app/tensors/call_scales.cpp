#include "app/tensors/call_scales.h"

#include <algorithm>
#include <array>
#include <stdexcept>
#include <string_view>

#include "app/words/numbers.h"

namespace attoscope::app {
namespace {

constexpr std::array<std::string_view, 4> letters{"q", "k", "v", "o"};

/// Tensor of a file's set with the first of these names, or with `or_only` its only one.
const NamedTensor& tensor_in(const TensorSet& set, const std::string& path, std::span<const std::string_view> names,
                             bool or_only) {
  for (const std::string_view name : names)
    if (const auto t = std::ranges::find(set.tensors, name, &NamedTensor::name); t != set.tensors.end()) return readable(*t);
  if (or_only && set.tensors.size() == 1) return readable(set.tensors.front());
  std::string wanted;
  for (const std::string_view name : names) wanted += (wanted.empty() ? "" : ", ") + in_quotes(name);
  throw std::runtime_error(path + ": has no tensor " + wanted + ", only " + tensor_list(set));
}

/// The tensor of `k_scale=` or `--scale-k`.
NamedTensor open_scale(const TensorRef& named, int part) {
  const std::string letter(letters[static_cast<std::size_t>(part)]), own = letter + "_scale", inverse = letter + "_descale";
  const std::array<std::string_view, 2> usual{own, inverse};
  const std::array<std::string_view, 1> asked{named.tensor};
  const TensorSet set = list_file(named.file);
  return named.tensor.empty() ? tensor_in(set, named.file, usual, true) : tensor_in(set, named.file, asked, false);
}

[[noreturn]] void refuse_several(const CallPart& part, const std::string& letter) {
  std::string names;
  for (const NamedTensor& t : part.beside) names += (names.empty() ? "" : " and ") + in_quotes(t.name);
  throw std::runtime_error(part.tensor.tensor.label + " has the scales " + names + ", expected one: say which by --scale-" +
                           letter + ", or behind the file's name as ," + letter + "_scale=FILE");
}

}  // namespace

SetScales::SetScales(const TensorSet& set, bool has_one_call) : set_(set), names_(names_of(set)), has_one_call_(has_one_call) {}

std::vector<NamedTensor> SetScales::of(const std::string& tensor, int part, const std::string& shared) const {
  std::vector<int> found = names_.of(tensor, part, shared);
  if (found.empty() && has_one_call_) found = names_.only(part);
  std::vector<NamedTensor> scales;
  for (const int i : found) scales.push_back(set_.tensors[static_cast<std::size_t>(i)]);
  return scales;
}

CallPart part_in_file(const std::string& path, std::span<const std::string_view> names, bool or_only, int part) {
  const TensorSet set = list_file(path);
  const NamedTensor& t = tensor_in(set, path, names, or_only);
  return {t, SetScales(set, false).of(t.name, part, t.name)};
}

void find_scale(CallPart& part, const std::optional<ScaleSpec>& named, const ScaleTarget& target) {
  const ScaledMatrix matrix{part.tensor.tensor, target.shape, target.kv_heads};
  if (named) {
    NamedTensor scale = open_scale(scale_file(*named), target.part);
    const StoredScale stored = stored_scale(scale.tensor, matrix, target.order, named->said);
    part.scale = OpenedScale{std::move(scale), stored};
    return;
  }
  if (part.beside.empty() || !takes_scale(part.tensor.tensor.type)) return;
  if (part.beside.size() > 1) refuse_several(part, std::string(letters[static_cast<std::size_t>(target.part)]));
  const NamedTensor& scale = readable(part.beside.front());
  part.scale = OpenedScale{scale, stored_scale(scale.tensor, matrix, target.order)};
}

std::vector<double> read_scaled_head(const CallPart& part, const HeadShape& shape, int index, const ReadWatch& watch) {
  std::vector<double> values = read_head(*part.tensor.file, part.tensor.tensor, shape, index, watch);
  if (part.scale)
    multiply_head(values, shape, index, *part.scale->tensor.file, part.scale->tensor.tensor, part.scale->stored, watch);
  return values;
}

}  // namespace attoscope::app
