/// The scales of a call's tensors: named by somebody, or found beside them by their names.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "app/tensors/scale_names.h"
#include "app/tensors/tensor_scales.h"
#include "app/tensors/tensor_set.h"

namespace attoscope {

/// A scale, opened and found to fit its tensor.
struct OpenedScale {
  NamedTensor tensor;
  StoredScale stored;
};

/// A tensor of a call; no file: there is none.
struct CallPart {
  NamedTensor tensor;
  std::vector<NamedTensor> beside{};   ///< what may be its scale by their names, several where these fit alike
  std::optional<OpenedScale> scale{};  ///< what it is multiplied by

  /// True where a scale stands beside numbers that have their range already, and is not used.
  bool leaves_scale() const { return !beside.empty() && !scale; }
};

/// The scales among the tensors of a set, by their names.
class SetScales {
 public:
  /// `set` must live as long as this.
  SetScales(const TensorSet& set, bool has_one_call);
  /// What may scale a tensor of a call whose names share `shared`: 0 q, 1 k, 2 v, 3 o.
  std::vector<NamedTensor> of(const std::string& tensor, int part, const std::string& shared) const;

 private:
  const TensorSet& set_;
  ScaleNames names_;
  bool has_one_call_;
};

/// A tensor of a set as part 0 q .. 3 o of a call, with what may be its scale there.
CallPart with_scales_beside(NamedTensor of, const TensorSet& set, int part);

/// What a scale belongs to: a part of a call, 0 q .. 3 o, how it is read, and the order of dimensions that somebody has said.
struct ScaleTarget {
  int part = 0;
  HeadShape shape;
  int kv_heads = 1;
  std::optional<HeadOrder> order{};
};

/// Finds the scale of a part: the one that `named` names, whatever its type, or else the one beside eight bits. Throws
/// std::runtime_error or std::invalid_argument in a sentence where it cannot be read, there are several, or it fits nothing.
void find_scale(CallPart& part, const std::string& named, const ScaleTarget& target);

/// Head `index` of a tensor, times its scale if it has one.
std::vector<double> read_scaled_head(const CallPart& part, const HeadShape& shape, int index, const ReadWatch& watch = {});

}  // namespace attoscope
