/// Scales of q, k, v and o, found by name: k_scale, layers.7.self_attn.k_scale, k_proj.out_scale, kv_scale.
#pragma once

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "app/tensors/tensor_names.h"

namespace attoscope::app {

/// True for names of scales.
bool is_called_scale(const std::string& name);

/// The scales among names. Every scale multiplies the stored number, whatever its name: k_descale and k_scale_inv too.
class ScaleNames {
 public:
  explicit ScaleNames(const std::vector<TensorName>& names);

  /// Indices of names that may scale `tensor`, part 0 q, 1 k, 2 v or 3 o of a call whose names share `shared`; several if they
  /// fit equally. Preferred is the tensor's own name with "scale", then the part's in the same place, then one for K and V
  /// together.
  std::vector<int> of(const std::string& tensor, int part, const std::string& shared) const;
  /// Index of the only scale of this part in any place, for a list with one call; else empty.
  std::vector<int> only(int part) const;

 private:
  using Places = std::vector<int>;
  std::map<std::string, Places> by_name_;                        ///< by the words of a name without those of a scale
  std::map<std::pair<int, std::string>, Places> own_, of_both_;  ///< by part and place; own_: k_scale, of_both_: kv_scale
};

}  // namespace attoscope::app
