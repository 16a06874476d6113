#include "app/tensors/call_scales.h"

#include <algorithm>
#include <array>
#include <memory>
#include <stdexcept>
#include <string_view>

#include "app/tensors/npy.h"
#include "app/tensors/safetensors.h"
#include "app/words/numbers.h"

namespace attoscope {
namespace {

constexpr std::array<std::string_view, 4> letters{"q", "k", "v", "o"};

/// The tensor of `k_scale=` or `--scale-k`.
NamedTensor open_scale(const ScaleFile& named, int part) {
  auto file = std::make_shared<const InputFile>(named.file);
  const std::string letter(letters[static_cast<std::size_t>(part)]), own = letter + "_scale", inverse = letter + "_descale";
  const std::array<std::string_view, 2> usual{own, inverse};
  const std::array<std::string_view, 1> asked{named.tensor};
  StoredTensor t = named.file.ends_with(".npy") ? read_npy(*file)
                   : named.tensor.empty()       ? read_tensor(*file, usual, true)
                                                : read_tensor(*file, asked, false);
  return {"", std::string(type_name(t.type)), "", std::move(file), std::move(t)};
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

CallPart with_scales_beside(NamedTensor of, const TensorSet& set, int part) {
  const auto own = std::ranges::find(set.tensors, of.tensor.label, [](const NamedTensor& t) { return t.tensor.label; });
  if (own == set.tensors.end()) return {std::move(of)};
  of.name = own->name;
  std::vector<NamedTensor> beside = SetScales(set, false).of(of.name, part, of.name);
  return {std::move(of), std::move(beside)};
}

void find_scale(CallPart& part, const std::string& named, const ScaleTarget& target) {
  const ScaledMatrix matrix{part.tensor.tensor, target.shape, target.kv_heads};
  if (!named.empty()) {
    const ScaleFile file = parse_scale_file(named);
    NamedTensor scale = open_scale(file, target.part);
    const StoredScale stored = stored_scale(scale.tensor, matrix, target.order, file.said);
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

}  // namespace attoscope
