/// Scales of a call's tensors: explicitly named, or found beside them by name.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "app/tensors/scale_names.h"
#include "app/tensors/tensor_scales.h"
#include "app/tensors/tensor_set.h"

namespace attoscope::app {

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

/// The scales among a set's tensors, by name.
class SetScales {
 public:
  /// `set` must outlive this object.
  SetScales(const TensorSet& set, bool has_one_call);
  /// Candidates for the scale of a tensor: part 0 q, 1 k, 2 v, 3 o of a call whose names share `shared`.
  std::vector<NamedTensor> of(const std::string& tensor, int part, const std::string& shared) const;

 private:
  const TensorSet& set_;
  ScaleNames names_;
  bool has_one_call_;
};

/// Tensor of a file with the first of these names, or with `or_only` its only one, as part 0 q .. 3 o of a call, with
/// candidates for its scale. Throws std::runtime_error with one sentence if there is none.
CallPart part_in_file(const std::string& path, std::span<const std::string_view> names, bool or_only, int part);

/// Target of a scale: a part of a call, 0 q .. 3 o, its shape, and the order of dimensions if given.
struct ScaleTarget {
  int part = 0;
  HeadShape shape;
  int kv_heads = 1;
  std::optional<HeadOrder> order{};
};

/// Finds the scale of a part: `named`, for any type, or else the one beside 8-bit numbers. Throws std::runtime_error or
/// std::invalid_argument with one sentence if it cannot be read, does not fit, or several fit.
void find_scale(CallPart& part, const std::optional<ScaleSpec>& named, const ScaleTarget& target);

/// Head `index` of a tensor, multiplied by its scale if it has one.
std::vector<double> read_scaled_head(const CallPart& part, const HeadShape& shape, int index, const ReadWatch& watch = {});

}  // namespace attoscope::app
