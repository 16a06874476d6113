/// Helpers of all tests: parallel loops, dice, random experiments, and comparison of bits in which all NaNs are equal.
#pragma once

#include <cmath>
#include <cstdint>
#include <functional>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "kernels/experiment/accumulators.h"
#include "kernels/experiment/experiment.h"
#include "tests/support/rooms.h"

namespace attoscope::testing {

#ifdef ATTOSCOPE_SANITIZED
inline constexpr bool sanitized = true;
#else
inline constexpr bool sanitized = false;
#endif
/// Stride of exhaustive loops: larger under sanitizers, which are slow; coprime to powers of two.
inline constexpr std::uint64_t exhaustive_step = sanitized ? 127 : 1;
/// Number of random experiments of a test: fewer under sanitizers, which are slow.
constexpr int experiments(int count) { return sanitized ? count / 8 : count; }

/// Calls work(begin, end) on parts of [0, count), on all threads at once.
void in_parallel(std::uint64_t count, const std::function<void(std::uint64_t begin, std::uint64_t end)>& work);

/// The instruction sets that this CPU has, and the GPU's lanes run by the CPU.
std::vector<const char*> own_instruction_sets();

/// True if x and y are the same bits, or both NaN.
template <class T>
bool same(T x, T y) {
  return std::isnan(x) ? std::isnan(y) : x == y && std::signbit(x) == std::signbit(y);
}

/// Reproducible random numbers.
class Dice {
 public:
  explicit Dice(std::uint64_t seed) : engine_(seed) {}
  std::uint64_t bits() { return engine_(); }
  int between(int low, int high) { return low + static_cast<int>(bits() % static_cast<std::uint64_t>(high - low + 1)); }
  bool one_in(int n) { return between(1, n) == 1; }
  double unit() { return std::ldexp(static_cast<double>(bits() >> 11), -53); }
  double normal() { return std::sqrt(-2 * std::log(1 - unit())) * std::cos(6.283185307179586 * unit()); }
  const auto& any(const auto& list) { return list[bits() % std::size(list)]; }

 private:
  std::mt19937_64 engine_;
};

/// Calls visit(Format) for every layout, overflow and top code, also for infinity without a code for it.
void for_each_format(auto visit) {
  for (int x = min_exponent_bits; x <= max_exponent_bits; ++x)
    for (int y = 0; y <= max_mantissa_bits; ++y)
      for (const auto overflow : {Overflow::infinity, Overflow::saturate, Overflow::nan})
        for (const bool top_code_nan : {false, true}) visit(Format{x, y, overflow, top_code_nan});
}

/// Values that are hard to round to f: its limits and midpoints, with their neighbours, and random bits.
template <class T>
std::vector<T> hard_values(const Format& f, Dice& dice) {
  using Bits = typename Layout<T>::Bits;
  std::vector<T> values;
  const auto around = [&](T x) {
    for (int step = -2; step <= 2; ++step)
      values.push_back(std::bit_cast<T>(static_cast<Bits>(std::bit_cast<Bits>(x) + static_cast<Bits>(step))));
  };
  const double last = largest(f), beyond = last / 2 + ulp(f, last) / 4;  // half of the limit: the limit itself may overflow
  for (const double x : {last, beyond, smallest_normal(f), smallest_subnormal(f), smallest_subnormal(f) / 2}) {
    around(static_cast<T>(x));
    around(static_cast<T>(x) * 2);
  }
  around(std::numeric_limits<T>::max());
  around(std::numeric_limits<T>::min());
  for (int i = 0; i < 24; ++i) {
    const int exponent = dice.between(min_exponent(f) - f.mantissa_bits - 2, max_exponent(f) + 1);
    const double halves = std::floor(std::ldexp(1 + dice.unit(), dice.between(0, f.mantissa_bits + 1)));
    around(static_cast<T>(std::ldexp(halves, exponent - f.mantissa_bits)));
    values.push_back(std::bit_cast<T>(static_cast<Bits>(dice.bits())));
  }
  return values;
}

/// The default experiment with n tokens of d columns.
Experiment sized_experiment(int n, int d, Format format = bf16);
/// A small sized_experiment with tiles of 16 keys.
Experiment small_experiment(Format format = fp32, int n = 101, int d = 24);

/// A random valid format; common formats are more frequent.
Format random_format(Dice& dice);

/// Q, K and V of this shape; draw() is called for each element in this order.
Tensors drawn_tensors(const AttentionShape& shape, auto draw) {
  Tensors t = Tensors::shaped(shape);
  for (const auto& [x, count] : {std::pair{&t.q, t.n * t.d}, {&t.k, t.n_k * t.d}, {&t.v, t.n_k * t.d_v}})
    for (int i = 0; i < count; ++i) x->push_back(draw());
  return t;
}

/// An input with these tensors and a digest of their values.
Input given(Tensors tensors);

/// A small random experiment: odd sizes, any algorithm, options and policy, changed single steps, any mask and biases of the
/// scores, inputs with NaN and extreme values. No stochastic rounding.
Experiment random_experiment(Dice& dice);

/// Sometimes adds flushing to zero, and random accumulators that `method` (a or b of the experiment) may have; changes some
/// methods to ones that may have accumulators.
void add_accumulators(Experiment& experiment, Method& method, Dice& dice);

/// A random accumulator that this product of `method` (a or b of the experiment) may have.
Accumulator any_accumulator(const Experiment& experiment, const Method& method, AttentionProduct product, Dice& dice);

/// Adds random storage with scales that `method` (a or b of the experiment) may have.
void add_scalings(Experiment& experiment, Method& method, Dice& dice);
/// Adds random largest magnitudes of other heads, if tensors are given, and scales over all heads.
void add_other_heads(Experiment& e, Dice& dice);

/// Replaces accumulators that a method cannot have by fma, and removes impossible scales, after a change of the experiment.
void drop_impossible_accumulators(Experiment& experiment);

/// Makes each rounding of `method` stochastic with probability 1 / one_in.
void make_stochastic(Method& method, Dice& dice, int one_in);

/// The settings of an experiment in a few lines, for failure messages.
std::string describe(const Experiment& experiment);

}  // namespace attoscope::testing
