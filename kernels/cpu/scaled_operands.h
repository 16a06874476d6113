/// Q, K and V as a scaled kernel stores them: elements, which enter the products, and scales, which are applied later.
#pragma once

#include <optional>

#include "kernels/cpu/simulate.h"
#include "kernels/experiment/experiment.h"

namespace attoscope {

/// One tensor as a scaled kernel stores it, n x d, row-major.
template <class T>
struct ScaledStorage {
  std::vector<T> operand;  ///< the product's operand: elements, or elements times scales if `factor` is empty
  std::vector<T> factor;   ///< factors of the product: one number, or n for Q and K (one per row), or d for V (one per column)
  int mantissa_bits = Layout<T>::mantissa_bits;  ///< of `operand`
};

/// Stores x as `s`, which must be on; every step is one operation in T. `main` is the format of `to:main`. `all_heads`: largest
/// magnitude over all heads, for a scale of the whole tensor.
template <class T>
ScaledStorage<T> scaled_storage(const std::vector<T>& x, int n, int d, const Scaling& s, ScaledTensor t, const Format& main,
                                const StopSign& stop = {}, T all_heads = 0);

/// Numbers of `scaled_storage`, element by element.
template <class T>
struct StoredNumbers {
  std::vector<T> elements, scales;  ///< n x d each: the stored numbers, and the scale of each
  std::vector<T> operands;          ///< numbers that enter the product
};
template <class T>
StoredNumbers<T> stored_numbers(const std::vector<T>& x, int n, int d, const Scaling& s, ScaledTensor t, const Format& main,
                                T all_heads = 0);

/// x as the method's products use it: rotated, smoothed and stored according to its scalings. Random signs come from `seed`.
template <class T>
Operands<T> scaled_operands(const Operands<T>& x, const Scalings& s, const AttentionShape& shape, const Format& main,
                            std::uint64_t seed, const StopSign& stop = {});

/// Q, K and V for a method: the given ones, or copies that are stored with scales or have their keys reversed.
template <class T>
class MethodOperands {
 public:
  /// `given` must outlive this object.
  MethodOperands(const Problem& p, const Method& m, const Format& main, const Operands<T>& given, const StopSign& stop)
      : given_(given) {
    if (m.scaling.stores()) stored_ = scaled_operands(given, m.scaling, shape_of(p), main, p.seed, stop);
    if (m.reverse_keys) reversed_ = with_reversed_keys(stored_ ? *stored_ : given, shape_of(p));
  }

  const Operands<T>& get() const { return reversed_ ? *reversed_ : stored_ ? *stored_ : given_; }
  /// True if get() returns the given operands.
  bool shared() const { return !stored_ && !reversed_; }
  /// The operands stored with scales, keys in the problem's order; null if the method stores none.
  const Operands<T>* stored() const { return stored_ ? &*stored_ : nullptr; }

 private:
  const Operands<T>& given_;
  std::optional<Operands<T>> stored_, reversed_;
};

/// The golden value of the problem on the numbers that stored Q, K and V represent, in double, or in double-double if
/// `precise`: the output with storage as the only error.
template <class T>
Matrix golden_of_stored(const Operands<T>& x, Problem problem, const std::vector<int>& rows, bool precise,
                        const StopSign& stop);

/// Adds scale * q . mean(K) times `unit` to the log-sum-exp of each of `rows`: a kernel that smooths K returns L so, as
/// SageAttention does. `x`: Q and K before they are smoothed.
void add_scores_of_mean(std::vector<double>& lse, const std::vector<int>& rows, const Tensors& x, const Problem& problem,
                        const Scalings& s, const Format& main, double unit);

}  // namespace attoscope
