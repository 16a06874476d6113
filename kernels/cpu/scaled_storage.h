/// One tensor as a scaled kernel stores it.
#pragma once

#include <vector>

#include "kernels/experiment/scaling.h"
#include "kernels/experiment/stop_sign.h"

namespace attoscope {

/// One tensor, n x d, row-major.
template <class T>
struct ScaledStorage {
  std::vector<T> operand;  ///< the product's operand: elements, or elements times their scales where `factor` is empty
  std::vector<T> factor;   ///< factors of the product: one number, n of Q and K (a row each), d of V (a column each)
  int mantissa_bits = Layout<T>::mantissa_bits;  ///< of the operands
};

/// Stores x as `s`, which is on; every step is one operation in T. `main` is the format of `to:main`. `all_heads`: the largest
/// magnitude of all heads, for a scale of the whole tensor.
template <class T>
ScaledStorage<T> scaled_storage(const std::vector<T>& x, int n, int d, const Scaling& s, ScaledTensor t, const Format& main,
                                const StopSign& stop = {}, T all_heads = 0);

/// The same number by number.
template <class T>
struct StoredNumbers {
  std::vector<T> elements, scales;  ///< n x d each: the stored numbers, and the scale of each
  std::vector<T> operands;          ///< numbers that enter the product
};
template <class T>
StoredNumbers<T> stored_numbers(const std::vector<T>& x, int n, int d, const Scaling& s, ScaledTensor t, const Format& main,
                                T all_heads = 0);

}  // namespace attoscope
