/// Plain kernels with a slip planted in them, and what the finder says of their outputs.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <functional>
#include <limits>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "kernels/compute.h"
#include "kernels/experiment/result.h"
#include "kernels/experiment/rules.h"
#include "kernels/slips/slips.h"
#include "tests/support/support.h"

namespace attoscope::planted {

using Values = std::vector<double>;

inline constexpr double infinity = std::numeric_limits<double>::infinity();

/// What a kernel sees, as the experiment rounds it.
struct Seen {
  Tensors t;
  Problem p;
  double q(int i, int c) const { return t.q[static_cast<std::size_t>(i * t.d + c)]; }
  double k(int j, int c) const { return t.k[static_cast<std::size_t>(j * t.d + c)]; }
  double v(int j, int c) const { return t.v[static_cast<std::size_t>(j * t.d_v + c)]; }
  double dot(int i, int j) const {
    double sum = 0;
    for (int c = 0; c < t.d; ++c) sum += q(i, c) * k(j, c);
    return sum;
  }
  bool sees(int i, int j) const {
    const Keys keys = visible_keys(p, i);
    return j >= keys.first && j < keys.end;
  }
  /// The key at which a query stands.
  int at(int i) const { return i + (p.mask.top_left ? 0 : t.n_k - t.n); }
  /// The right score.
  double S(int i, int j) const {
    double s = dot(i, j) * scale_of(p);
    if (p.softcap != 0) s = p.softcap * std::tanh(s / p.softcap);
    return s - p.alibi * std::abs(at(i) - j);
  }
  double score(int i, int j) const { return sees(i, j) ? S(i, j) : -infinity; }
};

/// Normal inputs in steps of 1/64, so that every format holds them.
inline Tensors drawn(const AttentionShape& shape, std::uint64_t seed = 1) {
  testing::Dice dice(seed);
  const auto matrix = [&](int rows, int columns) {
    Values x;
    for (int i = 0; i < rows * columns; ++i) x.push_back(std::round(dice.normal() * 64) / 64);
    return x;
  };
  Tensors t = Tensors::shaped(shape);
  t.q = matrix(t.n, t.d), t.k = matrix(t.n_k, t.d), t.v = matrix(t.n_k, t.d_v);
  return t;
}
inline Tensors drawn(int n, int d, std::uint64_t seed = 1) { return drawn(AttentionShape::square(n, d), seed); }
inline Problem problem(const AttentionShape& shape, Mask mask = {}, std::uint64_t seed = 1) {
  Problem p = with_shape(Problem{}, shape);
  p.mask = mask;
  p.input = testing::given(drawn(shape, seed));
  return p;
}
inline Problem problem(int n = 200, int d = 32, Mask mask = {}, std::uint64_t seed = 1) {
  return problem(AttentionShape::square(n, d), mask, seed);
}
inline const Mask causal{Mask::Kind::causal};
inline Mask window(int w) { return {Mask::Kind::window, w}; }

inline Seen seen(const Problem& p) { return {*p.input.tensors, p}; }

/// Softmax over any scores (-infinity hides a key) times any values.
inline Values softmax(const Seen& x, const std::function<double(int, int)>& score, const std::function<double(int, int)>& value,
                      double extra_l = 0) {
  Values o;
  for (int i = 0; i < x.t.n; ++i) {
    double m = -infinity, l = 0;
    Values row(static_cast<std::size_t>(x.t.d_v));
    for (int j = 0; j < x.t.n_k; ++j) m = std::max(m, score(i, j));
    for (int j = 0; j < x.t.n_k; ++j) {
      const double e = m == -infinity ? 0 : std::exp(score(i, j) - m);
      l += e;
      for (int c = 0; c < x.t.d_v; ++c) row[static_cast<std::size_t>(c)] += e * value(j, c);
    }
    if (extra_l > 0) l += extra_l * std::exp(-m);
    for (const double r : row) o.push_back(r / l);
  }
  return o;
}
inline Values softmax(const Seen& x, const std::function<double(int, int)>& score) {
  return softmax(x, score, [&](int j, int c) { return x.v(j, c); });
}
inline Values right(const Seen& x) {
  return softmax(x, [&](int i, int j) { return x.score(i, j); });
}
/// Everything visible, by another mask.
inline Values masked(const Seen& x, const std::function<bool(int, int)>& sees) {
  return softmax(x, [&](int i, int j) { return sees(i, j) ? x.S(i, j) : -infinity; });
}
inline Values rescored(const Seen& x, const std::function<double(int, int)>& S) {
  return softmax(x, [&](int i, int j) { return x.sees(i, j) ? S(i, j) : -infinity; });
}

/// An online loop over tiles of keys that forgets to rescale O or l.
inline Values stale(const Seen& x, int tile, bool rescales_O, bool rescales_l) {
  Values o;
  for (int i = 0; i < x.t.n; ++i) {
    double m = -infinity, l = 0;
    Values row(static_cast<std::size_t>(x.t.d));
    for (int first = 0; first < x.t.n; first += tile) {
      double top = m;
      const int end = std::min(x.t.n, first + tile);
      for (int j = first; j < end; ++j) top = std::max(top, x.score(i, j));
      const double alpha = m == -infinity ? 0 : std::exp(m - top);
      if (rescales_l) l *= alpha;
      if (rescales_O)
        for (double& r : row) r *= alpha;
      m = top;
      for (int j = first; j < end; ++j) {
        const double e = m == -infinity ? 0 : std::exp(x.score(i, j) - m);
        l += e;
        for (int c = 0; c < x.t.d; ++c) row[static_cast<std::size_t>(c)] += e * x.v(j, c);
      }
    }
    for (const double r : row) o.push_back(r / l);
  }
  return o;
}

/// What an online loop takes for the max.
enum class Max { P_of_the_tile_before, never_after_the_first_tile, alpha_one_tile_late, never_stored };

/// An online loop over tiles of keys that works with a max that is out of date.
inline Values stale_max(const Seen& x, int tile, Max kind) {
  Values o;
  for (int i = 0; i < x.t.n; ++i) {
    double m = -infinity, l = 0, alpha_before = 1;
    Values row(static_cast<std::size_t>(x.t.d));
    for (int first = 0; first < visible_keys(x.p.mask, i, x.t.n).end; first += tile) {
      double top = m;
      const int end = std::min(x.t.n, first + tile);
      for (int j = first; j < end; ++j) top = std::max(top, x.score(i, j));
      double alpha = m == -infinity ? 0 : std::exp(m - top);
      const double now = first == 0 ? 1 : alpha;
      if (kind == Max::alpha_one_tile_late) alpha = alpha_before;
      alpha_before = now;
      const double used = kind == Max::P_of_the_tile_before && first > 0 ? m : top;
      l *= alpha;
      for (double& r : row) r *= alpha;
      for (int j = first; j < end && top > -infinity; ++j) {
        const double e = std::exp(x.score(i, j) - used);
        l += e;
        for (int c = 0; c < x.t.d; ++c) row[static_cast<std::size_t>(c)] += e * x.v(j, c);
      }
      if (kind == Max::never_stored || (kind == Max::never_after_the_first_tile && first > 0)) continue;
      m = top;
    }
    for (const double r : row) o.push_back(r / l);
  }
  return o;
}

/// The formats that slips are planted in: under sanitizers one.
inline std::vector<Format> planted_formats() {
  return testing::sanitized ? std::vector<Format>{bf16} : std::vector<Format>{bf16, fp16, fp32};
}

/// The output as stored.
inline std::shared_ptr<const Values> stored(Values o, const Format& f) {
  for (double& x : o) x = round(f, x);
  return std::make_shared<const Values>(std::move(o));
}

inline Experiment with_output(const Problem& p, Values o, const Format& f = bf16) {
  Experiment e = default_experiment();
  e.problem = p;
  e.format = f;
  e.a.algorithm = Algorithm::loaded;
  e.loaded = {.file = "o.npy",
              .index = 0,
              .digest = 1,
              .type = f == bf16   ? "BF16"
                      : f == fp16 ? "F16"
                                  : "F32",
              .n = p.n,
              .d = value_columns(p),
              .values = stored(std::move(o), f)};
  return e;
}
inline Diagnosis diagnosis(const Problem& p, Values o, const Format& f = bf16, const OtherHeads& heads = {}) {
  return diagnose(compute(with_output(p, std::move(o), f)), heads);
}

}  // namespace attoscope::planted
