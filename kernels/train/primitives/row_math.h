/// The row and element operations of training, one function each: the same code for a GPU's thread and a CPU's vectors, hence
/// the same bits. Defined, with their order, in kernels/train/primitives/primitives.h. V is a number or a vector of lanes; T
/// its element.
#pragma once

#include "kernels/arithmetic/plan_rounder.h"
#include "kernels/arithmetic/random.h"
#include "kernels/deviation/meter.h"
#include "kernels/train/primitives/primitives.h"

namespace attoscope {

/// Chains in which a token's channels are summed.
inline constexpr int row_chains = 16;

/// Elements first .. first + lanes - 1 of a row.
template <class V>
struct WholeLanes {
  using T = typename Lane<V>::Scalar;
  static constexpr int lanes = static_cast<int>(sizeof(V) / sizeof(T));
  std::int64_t first;

  ATTOSCOPE_HOST_DEVICE_INLINE V of(const T* x) const {
    if constexpr (lanes == 1) {
      return x[first];
    } else {
      V v;
      __builtin_memcpy(&v, x + first, sizeof v);
      return v;
    }
  }
  ATTOSCOPE_HOST_DEVICE_INLINE void put(T* x, V v) const {
    if constexpr (lanes == 1) {
      x[first] = v;
    } else {
      __builtin_memcpy(x + first, &v, sizeof v);
    }
  }
  ATTOSCOPE_HOST_DEVICE_INLINE V changed(V, V after) const { return after; }
};

/// The last elements of a row, fewer than V has lanes: the other lanes are read as 0 and not written.
template <class V>
struct SomeLanes {
  using T = typename Lane<V>::Scalar;
  static constexpr int lanes = static_cast<int>(sizeof(V) / sizeof(T));
  std::int64_t first;
  int count;

  V of(const T* x) const {
    V v{};
    for (int i = 0; i < count; ++i) v[i] = x[first + i];
    return v;
  }
  void put(T* x, V v) const {
    for (int i = 0; i < count; ++i) x[first + i] = v[i];
  }
  V changed(V before, V after) const {
    for (int i = 0; i < count; ++i) before[i] = after[i];
    return before;
  }
};

/// Calls each(at) for elements 0 .. count - 1, V at a time; `at` is WholeLanes or SomeLanes.
template <class V, class Each>
ATTOSCOPE_HOST_DEVICE_INLINE void each_lanes(std::int64_t count, Each each) {
  constexpr int lanes = WholeLanes<V>::lanes;
  std::int64_t i = 0;
  for (; i + lanes <= count; i += lanes) each(WholeLanes<V>{i});
  if constexpr (lanes > 1) {
    if (i < count) each(SomeLanes<V>{i, static_cast<int>(count - i)});
  }
}

/// A row computed by a single thread, all chains, V at a time. A GPU can spread a row over many threads by a type with the same
/// members (SharedRow): `total` and `largest` return the same in all threads, `each` splits the row, and one thread leads.
template <class V>
struct SerialRow {
  using Vector = V;
  using T = typename Lane<V>::Scalar;
  static constexpr int lanes = WholeLanes<V>::lanes, parts = row_chains / lanes;

  ATTOSCOPE_HOST_DEVICE_INLINE bool leads() const { return true; }

  /// The sum of all chains; step(at, chain) returns a chain after adding the elements at `at`.
  template <class Step>
  ATTOSCOPE_HOST_DEVICE_INLINE T total(int count, Step step) const {
    return joined(count, T(0), step, [](T x, T y) { return x + y; });
  }
  /// The largest of values(at), at least -infinity; NaN is ignored.
  template <class Values>
  ATTOSCOPE_HOST_DEVICE_INLINE T largest(int count, Values values) const {
    const auto larger = [](auto x, auto y) { return y > x ? y : x; };
    return joined(count, -std::numeric_limits<T>::infinity(), [&](auto at, V top) { return larger(top, values(at)); }, larger);
  }
  template <class Each>
  ATTOSCOPE_HOST_DEVICE_INLINE void each(int count, Each each_at) const {
    each_lanes<V>(count, each_at);
  }

 private:
  template <class Step, class Join>
  ATTOSCOPE_HOST_DEVICE_INLINE static T joined(int count, T start, Step step, Join join) {
    V chain[parts];
    ATTOSCOPE_UNROLL(unroll)
    for (int p = 0; p < parts; ++p) chain[p] = splat<V>(start);
    int i = 0;
    for (; i + row_chains <= count; i += row_chains) {
      ATTOSCOPE_UNROLL(unroll)
      for (int p = 0; p < parts; ++p) chain[p] = step(WholeLanes<V>{i + p * lanes}, chain[p]);
    }
    ATTOSCOPE_UNROLL(unroll)
    for (int p = 0; p < parts; ++p) chain[p] = after_last(count - i - p * lanes, i + p * lanes, chain[p], step);
    T single[row_chains];
    ATTOSCOPE_UNROLL(unroll)
    for (int p = 0; p < parts; ++p) WholeLanes<V>{p * lanes}.put(single, chain[p]);
    ATTOSCOPE_UNROLL(unroll)
    for (int half = row_chains / 2; half > 0; half /= 2) {
      ATTOSCOPE_UNROLL(unroll)
      for (int c = 0; c < half; ++c) single[c] = join(single[c], single[c + half]);
    }
    return single[0];
  }
  /// A chain after the `left` last elements of the row, from `first` on.
  template <class Step>
  ATTOSCOPE_HOST_DEVICE_INLINE static V after_last(int left, int first, V chain, Step step) {
    if (left >= lanes) return step(WholeLanes<V>{first}, chain);
    if constexpr (lanes > 1) {
      if (left > 0) {
        const SomeLanes<V> at{first, left};
        return at.changed(chain, step(at, chain));
      }
    }
    return chain;
  }
};

/// The square root of IEEE 754.
template <class V>
ATTOSCOPE_HOST_DEVICE_INLINE V square_root(V x) {
  using T = typename Lane<V>::Scalar;
  if constexpr (std::is_same_v<V, T>) {
#ifdef __CUDA_ARCH__
    if constexpr (sizeof(T) == 4)
      return __fsqrt_rn(x);
    else
      return __dsqrt_rn(x);
#else
    if constexpr (sizeof(T) == 4)
      return __builtin_sqrtf(x);
    else
      return __builtin_sqrt(x);
#endif
  } else {
    T single[sizeof(V) / sizeof(T)];
    __builtin_memcpy(single, &x, sizeof x);
    for (T& s : single) s = square_root(s);
    __builtin_memcpy(&x, single, sizeof x);
    return x;
  }
}

/// y = round(norm(x) * gain + bias) of token r, and its mean and reciprocal.
template <class Row, class T, class Rounder>
ATTOSCOPE_HOST_DEVICE_INLINE void norm_row(const Row& row, const NormRows<T>& n, std::int64_t r, const Rounder& rounder) {
  using V = typename Row::Vector;
  const T* x = n.x + r * n.width;
  T* y = n.y + r * n.width;
  const T width = static_cast<T>(n.width);
  const T mean = n.norm == Norm::layer ? row.total(n.width, [&](auto at, V chain) { return chain + at.of(x); }) / width : T(0);
  const T squares = row.total(n.width, [&](auto at, V chain) {
    const V centred = at.of(x) - mean;
    return fused(centred, centred, chain);
  });
  const T reciprocal = T(1) / square_root(squares / width + T(1e-5));
  row.each(n.width, [&](auto at) {
    const V normed = (at.of(x) - mean) * reciprocal;
    at.put(y, rounder(n.bias ? fused(normed, at.of(n.gain), at.of(n.bias)) : normed * at.of(n.gain)));
  });
  if (row.leads()) {
    n.mean[r] = mean;
    n.reciprocal[r] = reciprocal;
  }
}

/// (x - mean) * reciprocal of token r, as in the forward pass.
template <class At, class T>
ATTOSCOPE_HOST_DEVICE_INLINE auto normed_again(const NormRows<T>& n, std::int64_t r, At at) {
  return (at.of(n.x + r * n.width) - n.mean[r]) * n.reciprocal[r];
}

/// d_x of token r.
template <class Row, class T>
ATTOSCOPE_HOST_DEVICE_INLINE void norm_gradient_row(const Row& row, const NormGradient<T>& g, std::int64_t r) {
  using V = typename Row::Vector;
  const NormRows<T>& n = g.forward;
  const T* d_y = g.d_y + r * n.width;
  T* d_x = g.d_x + r * n.width;
  const T width = static_cast<T>(n.width);
  const auto share = [&](auto at) { return at.of(d_y) * at.of(n.gain); };
  const bool centred = n.norm == Norm::layer;
  const T plain = centred ? row.total(n.width, [&](auto at, V chain) { return chain + share(at); }) / width : T(0);
  const T along = row.total(n.width, [&](auto at, V chain) { return fused(share(at), normed_again(n, r, at), chain); }) / width;
  const V reciprocal = splat<V>(n.reciprocal[r]);
  row.each(n.width, [&](auto at) {
    const V inner = fused(-normed_again(n, r, at), splat<V>(along), share(at) - plain);
    at.put(d_x, fused(reciprocal, inner, at.of(d_x)));
  });
}

/// The sum over tokens 0 .. rows - 1 in pieces of `piece` tokens (0: one piece); step(row, chain) returns a chain after adding
/// a token.
template <class V, class Step>
ATTOSCOPE_HOST_DEVICE_INLINE V token_total(int rows, int piece, Step step) {
  const int size = piece > 0 ? piece : rows;
  V total{};
  for (int first = 0; first < rows; first += size) {
    const int end = rows - first < size ? rows : first + size;
    V chain{};
    for (int r = first; r < end; ++r) chain = step(r, chain);
    total = first == 0 ? chain : total + chain;
  }
  return total;
}

/// The sum over some of the tokens: rows[0 .. count), ascending. It equals the function above with a step that leaves the chain
/// unchanged at all other tokens, since neither a chain nor a total is ever -0.
template <class V, class Step>
ATTOSCOPE_HOST_DEVICE_INLINE V token_total(const int* rows, int count, int piece, Step step) {
  V total{}, chain{};
  for (int i = 0; i < count; ++i) {
    if (i > 0 && rows[i] / piece != rows[i - 1] / piece) {
      total = total + chain;
      chain = V{};
    }
    chain = step(rows[i], chain);
  }
  return total + chain;
}

/// A chain of d_gain and one of d_bias after token r, in the channels `at`.
template <class At, class V, class T>
ATTOSCOPE_HOST_DEVICE_INLINE V gain_chain(const NormGradient<T>& g, std::int64_t r, At at, V chain) {
  return fused(at.of(g.d_y + r * g.forward.width), normed_again(g.forward, r, at), chain);
}
template <class At, class V, class T>
ATTOSCOPE_HOST_DEVICE_INLINE V bias_chain(const NormGradient<T>& g, std::int64_t r, At at, V chain) {
  return chain + at.of(g.d_y + r * g.forward.width);
}

/// Loss and d_logits of token r.
template <class Row, class T, class Rounder>
ATTOSCOPE_HOST_DEVICE_INLINE void cross_entropy_row(const Row& row, const CrossEntropy<T>& c, std::int64_t r,
                                                    const Rounder& rounder) {
  using V = typename Row::Vector;
  const T* x = c.logits + r * c.vocabulary;
  const int target = c.targets[r];
  const T top = row.largest(c.vocabulary, [&](auto at) { return at.of(x); });
  const auto weight = [&](auto at) { return exponential(at.of(x) - top); };
  const T sum = row.total(c.vocabulary, [&](auto at, V chain) { return chain + weight(at); });
  if (row.leads()) c.losses[r] = (top + logarithm(sum)) - x[target];
  if (!c.d_logits) return;
  T* d = c.d_logits + r * c.vocabulary;
  row.each(c.vocabulary, [&](auto at) {
    V onehot{};
    if (target >= at.first && target < at.first + at.lanes) {
      if constexpr (at.lanes == 1)
        onehot += T(1);
      else
        onehot[target - at.first] = T(1);
    }
    at.put(d, rounder((weight(at) / sum - onehot) * c.factor));
  });
}

/// Constants of gelu(x) and its derivative, which share e^(-2u) (gelu_decay).
template <class T>
struct GeluConstants {
  static constexpr T cubic = T(0.044715), slope = T(1.5957691216057307118), cubic_slope = T(0.21406444881780074633);
};
template <class V>
ATTOSCOPE_HOST_DEVICE_INLINE V gelu_decay(V x) {
  using K = GeluConstants<typename Lane<V>::Scalar>;
  return exponential(fused((x * x) * x, splat<V>(K::cubic), x) * -K::slope);
}
template <class V>
ATTOSCOPE_HOST_DEVICE_INLINE V gelu_of(V x) {
  return x / (gelu_decay(x) + typename Lane<V>::Scalar(1));
}
template <class V>
ATTOSCOPE_HOST_DEVICE_INLINE V gelu_slope(V x) {
  using T = typename Lane<V>::Scalar;
  using K = GeluConstants<T>;
  const V s = T(1) / (gelu_decay(x) + T(1));
  const V slope = fused(x * x, splat<V>(K::cubic_slope), splat<V>(K::slope));
  return fused(x * (s * (T(1) - s)), slope, s);
}

/// An array that the optimiser stores.
enum class Stored : int { w, m, v };

/// x as stored by AdamW; x holds element i of the flat array and the elements after it.
template <class T, class V>
ATTOSCOPE_HOST_DEVICE_INLINE V stored(const RounderPlan<T>& plan, V x, std::uint64_t seed, Stored which, std::int64_t i) {
  constexpr int lanes = WholeLanes<V>::lanes;
  const auto element = [&](T y, int lane) {
    if (plan.kind != RounderKind::stochastic) return rounded(plan, y);
    return round_stochastic(plan.format, y,
                            random_bits(seed, Step::input, static_cast<int>(which), static_cast<int>(i + lane), 0));
  };
  if (!plan.rounds()) return x;
  if constexpr (lanes == 1) {
    return element(x, 0);
  } else {
    for (int lane = 0; lane < lanes; ++lane) x[lane] = element(T(x[lane]), lane);
    return x;
  }
}

/// AdamW for the weights at `at`.
template <class At, class T>
ATTOSCOPE_HOST_DEVICE_INLINE void adam_step(const AdamStep<T>& s, At at) {
  const auto g = (at.of(s.g) * s.unscale) * s.clip;
  using V = std::remove_const_t<decltype(g)>;
  const V w = at.of(s.w);
  const std::int64_t i = s.first + at.first;
  const V m = stored(s.moments, fused(splat<V>(s.beta1), at.of(s.m), g * (T(1) - s.beta1)), s.seed, Stored::m, i);
  const V v = stored(s.moments, fused(splat<V>(s.beta2), at.of(s.v), (g * g) * (T(1) - s.beta2)), s.seed, Stored::v, i);
  const V update = (m * s.correction1) / (square_root(v * s.correction2) + s.epsilon);
  at.put(s.m, m);
  at.put(s.v, v);
  const V next = fused(splat<V>(-s.rate), fused(splat<V>(s.decay), w, update), w);
  at.put(s.w, stored(s.weights, next, s.seed, Stored::w, i));
}

/// The terms of the gradient's size in `at_once` chains of a chunk (see kernels/deviation/meter.h); V is double or a vector of
/// double.
template <int at_once, class V = double>
struct ChunkSize {
  static constexpr int lanes = WholeLanes<V>::lanes;
  using Int = typename Lane<V>::Int;
  V squares[at_once / lanes] = {};
  Int nonfinite = {};

  ATTOSCOPE_HOST_DEVICE_INLINE void add(int part, V x) {
    const auto finite = x - x == V{};
    squares[part] = squares[part] + (finite ? x * x : V{});
    nonfinite = nonfinite + (finite ? Int{} : Int{} + 1);
  }
};

/// The first `count` numbers from x on as doubles, 0 in the lanes after them.
template <class V, class T>
ATTOSCOPE_HOST_DEVICE_INLINE V widened(const T* x, std::size_t count) {
  constexpr int lanes = WholeLanes<V>::lanes;
  if constexpr (lanes == 1) {
    return count > 0 ? static_cast<double>(*x) : 0.0;
  }
#ifndef __CUDACC__  // nvcc rejects vector types even in discarded branches
  else {
    typedef T Narrow __attribute__((vector_size(lanes * sizeof(T))));
    Narrow narrow{};
    if (count >= lanes) {
      __builtin_memcpy(&narrow, x, sizeof narrow);
    } else {
      for (std::size_t i = 0; i < count; ++i) narrow[i] = x[i];
    }
    return __builtin_convertvector(narrow, V);
  }
#endif
}

template <int at_once, class V = double, class T>
ATTOSCOPE_HOST_DEVICE_INLINE ChunkSize<at_once, V> chunk_size_of(const T* g, std::size_t count, std::size_t chunk,
                                                                 int first_chain, double unscale) {
  ChunkSize<at_once, V> size;
  constexpr std::size_t lanes = WholeLanes<V>::lanes;
  const std::size_t first = chunk * chunk_size, end = count - first < chunk_size ? count : first + chunk_size;
  for (std::size_t i = first + static_cast<std::size_t>(first_chain); i < end; i += chains)
    for (std::size_t c = 0; c < at_once && i + c < end; c += lanes)
      size.add(static_cast<int>(c / lanes), widened<V>(g + i + c, end - i - c) * unscale);
  return size;
}

}  // namespace attoscope
