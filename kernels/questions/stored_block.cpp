#include "kernels/questions/stored_block.h"

#include "kernels/cpu/scaled_operands.h"

namespace attoscope {

StoredBlock stored_block(std::span<const float> numbers, const Scaling& s, float head_amax) {
  // two tokens of K: the block, and one that holds the head's largest number
  const int d = static_cast<int>(numbers.size());
  std::vector<float> x(numbers.begin(), numbers.end());
  x.insert(x.end(), numbers.size(), head_amax);
  Scaling tokens = s;
  tokens.in_operand = false;
  tokens.operand = exact;
  tokens.block = 0;
  if (s.rule != ScaleRule::fixed) tokens.granularity = Granularity::token;
  const ScaledStorage<float> stored = scaled_storage(x, 2, d, tokens, ScaledTensor::K, fp32);
  StoredBlock block;
  block.scale = stored.factor.front();
  block.elements.assign(stored.operand.begin(), stored.operand.begin() + d);
  block.scale_code = block.scale;
  if (s.scale != ScaleFormat::nvfp4_scale || !(head_amax > 0)) return block;
  block.head_scale = head_amax / (static_cast<float>(target(s)) * 448.0F);
  block.scale_code = ElementRounder<float>(element_e4m3)(block.scale / block.head_scale);  // to nearest: scale is their product
  return block;
}

}  // namespace attoscope
