/// Which tensors are the scales of q, k, v and o, told by their names: k_scale, layers.7.self_attn.k_scale,
/// k_proj.out_scale, kv_scale.
#pragma once

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "app/tensors/tensor_names.h"

namespace attoscope {

/// True for what is called as scales are.
bool is_called_scale(const std::string& name);

/// The scales among names. A number that is read is stored times scale whatever the scale is called: k_descale and k_scale_inv
/// are multiplied as k_scale is.
class ScaleNames {
 public:
  explicit ScaleNames(const std::vector<TensorName>& names);

  /// The places in the list of names of what scales `tensor`, part 0 q, 1 k, 2 v or 3 o of a call whose names share `shared`.
  /// Several: their names fit alike; none: there is no scale. The tensor's own name with "scale" behind it comes before a name
  /// of the part in the same place, and that before one of K and V together.
  std::vector<int> of(const std::string& tensor, int part, const std::string& shared) const;
  /// What scales this part wherever it is, if there is one, for a list that holds one call.
  std::vector<int> only(int part) const;

 private:
  using Places = std::vector<int>;
  std::map<std::string, Places> by_name_;                        ///< by the words of a name without those of a scale
  std::map<std::pair<int, std::string>, Places> own_, of_both_;  ///< by part and place: k_scale; kv_scale
};

}  // namespace attoscope
