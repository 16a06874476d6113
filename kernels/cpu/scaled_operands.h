/// Q, K and V as a scaled kernel stores them: elements that enter the products, and the scales that come after.
#pragma once

#include <optional>

#include "kernels/cpu/simulate.h"
#include "kernels/experiment/experiment.h"

namespace attoscope {

/// One tensor as a scaled kernel stores it, n x d, row-major.
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

/// x as the method's products get it: rotated, smoothed and stored as its scalings say. Random signs come from `seed`.
template <class T>
Operands<T> scaled_operands(const Operands<T>& x, const Scalings& s, const AttentionShape& shape, const Format& main,
                            std::uint64_t seed, const StopSign& stop = {});

/// Q, K and V as a method takes them: the given ones, or copies that are stored with scales, or from the last key to the first.
template <class T>
class MethodOperands {
 public:
  /// `given` is to outlive this.
  MethodOperands(const Problem& p, const Method& m, const Format& main, const Operands<T>& given, const StopSign& stop)
      : given_(given) {
    if (m.scaling.stores()) stored_ = scaled_operands(given, m.scaling, shape_of(p), main, p.seed, stop);
    if (m.reverse_keys) reversed_ = with_reversed_keys(stored_ ? *stored_ : given, shape_of(p));
  }

  const Operands<T>& get() const { return reversed_ ? *reversed_ : stored_ ? *stored_ : given_; }
  /// True if they are the given ones.
  bool shared() const { return !stored_ && !reversed_; }
  /// The operands with scales, keys in the problem's order; null if nothing is stored with scales.
  const Operands<T>* stored() const { return stored_ ? &*stored_ : nullptr; }

 private:
  const Operands<T>& given_;
  std::optional<Operands<T>> stored_, reversed_;
};

/// The golden value of the problem on the numbers that stored Q, K and V stand for, in double, or in double-double where
/// `precise`: the output that storage alone leads to.
template <class T>
Matrix golden_of_stored(const Operands<T>& x, Problem problem, const std::vector<int>& rows, bool precise,
                        const StopSign& stop);

}  // namespace attoscope
