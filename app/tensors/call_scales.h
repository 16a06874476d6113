/// Scales of a call's tensors: explicitly named, or found beside them by name: k_scale, layers.7.self_attn.k_scale,
/// k_proj.out_scale, kv_scale.
#pragma once

#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "app/tensors/packed.h"
#include "app/tensors/tensor_names.h"
#include "app/tensors/tensor_scales.h"
#include "app/tensors/tensor_set.h"

namespace attoscope::app {

/// True for names of scales.
bool is_called_scale(const std::string& name);

/// The scales among names. Every scale multiplies the stored number, whatever its name: k_descale and k_scale_inv too.
class ScaleNames {
 public:
  explicit ScaleNames(const std::vector<TensorName>& names, bool has_one_call = false);

  /// Indices of names that may scale `tensor`, part 0 q, 1 k, 2 v or 3 o of a call whose names share `shared`; several if they
  /// fit equally. Order: the tensor's own name with "scale", then the part's scale in the same place, then a scale of both K
  /// and V, then `only` if there is one call.
  std::vector<int> of(const std::string& tensor, int part, const std::string& shared) const;
  /// Index of the only scale of this part in any place; else empty.
  std::vector<int> only(int part) const;

 private:
  using Places = std::vector<int>;
  std::map<std::string, Places> by_name_;                        ///< by the words of a name without words for scales
  std::map<std::pair<int, std::string>, Places> own_, of_both_;  ///< by part and place; own_: k_scale, of_both_: kv_scale
  bool has_one_call_;
};

/// An opened scale that fits its tensor.
struct OpenedScale {
  NamedTensor tensor;
  StoredScale stored;
};

/// A tensor of a call; without a file: absent.
struct CallPart {
  NamedTensor tensor;
  std::vector<NamedTensor> beside{};   ///< candidates for its scale by name; several if they fit equally
  std::optional<OpenedScale> scale{};  ///< scale that multiplies it

  /// True if a scale was ignored because the tensor is not 8-bit.
  bool leaves_scale() const { return !beside.empty() && !scale; }
};

/// The set, and behind its tensors its single numbers with names of scales, as tensors [1].
TensorSet with_scales_of_values(TensorSet set);

/// The tensors of a set with these indices.
std::vector<NamedTensor> tensors_at(const TensorSet& set, const std::vector<int>& indices);

/// The tensor of `tensor_in` as part 0 q .. 3 o of a call, with candidates for its scale. Throws std::runtime_error with one
/// sentence if there is none.
CallPart part_in_file(const TensorRef& ref, std::span<const std::string_view> usual, int part, const std::string& option = "");

/// Target of a scale: a part of a call, 0 q .. 3 o, its shape, and the order of dimensions if given.
struct ScaleTarget {
  int part = 0;
  HeadShape shape;
  int kv_heads = 1;
  std::optional<HeadOrder> order{};
  const PackedCall* call = nullptr;  ///< not null: the scale is that of a packed or paged call, the part that of `sequence`
  const Sequence* sequence = nullptr;
};

/// Finds the scale of a part: `named`, for any type, or else the scale beside 8-bit numbers. Throws std::runtime_error or
/// std::invalid_argument with one sentence if it cannot be read or does not fit, or if several fit.
void find_scale(CallPart& part, const std::optional<ScaleSpec>& named, const ScaleTarget& target);

/// Head `index` of a tensor, multiplied by its scale if it has one.
std::vector<double> read_scaled_head(const CallPart& part, const HeadShape& shape, int index, const ReadWatch& watch = {});

}  // namespace attoscope::app
