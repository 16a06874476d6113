// Fits steps that are rounded to another format than in a correct kernel, and polynomials for exp.
#include <algorithm>
#include <array>
#include <cmath>
#include <numbers>

#include "kernels/experiment/text.h"
#include "kernels/judge/wrong_output.h"

namespace attoscope {
namespace {

using Kind = Slip::Kind;

/// Tile sizes that a loop may have; the last one is all keys, so that the max is known from the start.
std::vector<int> tiles_of(int n_k) {
  std::vector<int> tiles{1};
  for (int tile = 16; tile <= 256 && tile < n_k; tile *= 2) tiles.push_back(tile);
  tiles.push_back(n_k);
  return tiles;
}

std::string tile_text(int tile, int n_k) {
  return tile >= n_k ? "" : tile == 1 ? " (after every key)" : " (tiles of " + std::to_string(tile) + " keys)";
}

/// An online loop over tiles and its rounding formats; none: not rounded.
struct RoundedLoop {
  int tile = 64;
  std::optional<Format> S{}, P{}, l{}, O{}, alpha{};
  bool l_of_rounded_P = false;
  double largest_P = infinity;
};

double rounded(const std::optional<Format>& f, double x) { return f ? round(*f, x) : x; }

RoundedRow rows_of(const WrongOutput& wrong, const RoundedLoop& loop) {
  return [head = wrong.head(), right = wrong.right(), loop](int row, double* out, double*) {
    const int columns = head->shape.d_v;
    const Keys keys = right.keys(row);
    std::fill_n(out, columns, keys.empty() ? std::nan("") : 0.0);
    if (keys.empty()) return;
    std::vector<double> s = scores(*head, right, row);
    for (double& x : s) x = rounded(loop.S, x);
    double m = -infinity, l = 0;
    for (int first = keys.first / loop.tile * loop.tile; first < keys.end; first += loop.tile) {
      const int begin = std::max(first, keys.first), end = std::min(keys.end, first + loop.tile);
      const double before = m;
      for (int j = begin; j < end; ++j) m = std::max(m, s[at(j)]);
      const double alpha = before == -infinity ? 0 : rounded(loop.alpha, std::exp(before - m));
      l *= alpha;
      for (int c = 0; c < columns; ++c) out[c] *= alpha;
      for (int j = begin; j < end; ++j) {
        const double e = std::exp(s[at(j)] - m), P = std::min(loop.largest_P, rounded(loop.P, e));
        l += loop.l_of_rounded_P ? P : e;
        for (int c = 0; c < columns; ++c) out[c] += P * head->v[at(j) * at(columns) + at(c)];
      }
      l = rounded(loop.l, l);
      for (int c = 0; c < columns; ++c) out[c] = rounded(loop.O, out[c]);
    }
    l += sink_weight(right, m);
    for (int c = 0; c < columns; ++c) out[c] /= l;
  };
}

/// Softmax of whole rows whose weights are rounded before the product with V; with `eager`, scores and weights are rounded to
/// it first.
RoundedRow rows_of_softmax(const WrongOutput& wrong, const Format& weight, const std::optional<Format>& eager) {
  return [head = wrong.head(), right = wrong.right(), weight, eager](int row, double* out, double*) {
    const int columns = head->shape.d_v;
    const Keys keys = right.keys(row);
    std::fill_n(out, columns, keys.empty() ? std::nan("") : 0.0);
    if (keys.empty()) return;
    std::vector<double> s = scores(*head, right, row);
    for (double& x : s) x = rounded(eager, x);
    const double m = *std::max_element(s.begin() + keys.first, s.begin() + keys.end);
    double l = sink_weight(right, m);
    for (int j = keys.first; j < keys.end; ++j) l += std::exp(s[at(j)] - m);
    for (int j = keys.first; j < keys.end; ++j) {
      const double P = round(weight, rounded(eager, std::exp(s[at(j)] - m) / l));
      for (int c = 0; c < columns; ++c) out[c] += P * head->v[at(j) * at(columns) + at(c)];
    }
  };
}

NamedSlip other_formats(const WrongOutput& wrong) {
  const int n_k = wrong.head()->shape.n_k;
  const auto named = [&](const std::string& text, const RoundedLoop& loop) {
    return wrong.named(Kind::rounding, text + tile_text(loop.tile, n_k), rows_of(wrong, loop));
  };
  for (const Format& f : {bf16, fp16, e5m2, e4m3}) {
    const std::string to = " rounded to " + name(f);
    const std::optional<Format> P = wrong.claim().format;  // as in a correct kernel
    if (NamedSlip slip = named("scores are" + to, {.tile = n_k, .S = f, .P = P})) return slip;
    for (const std::optional<Format>& eager : {std::optional<Format>{}, P}) {
      if (f == wrong.claim().format) break;
      const std::string text = "softmax's weights are" + to + (eager ? " behind scores and weights in " + name(*eager) : "");
      if (NamedSlip slip = wrong.named(Kind::rounding, text, rows_of_softmax(wrong, f, eager))) return slip;
    }
    for (const int tile : tiles_of(n_k)) {
      if (!(f == wrong.claim().format)) {
        if (NamedSlip slip = named("P is" + to + " before P.V", {.tile = tile, .P = f})) return slip;
        if (NamedSlip slip = named("P is" + to + ", also in l", {.tile = tile, .P = f, .l_of_rounded_P = true})) return slip;
      }
      if (NamedSlip slip = named("l is" + to, {.tile = tile, .P = P, .l = f})) return slip;
      if (NamedSlip slip = named("O is accumulated in " + name(f), {.tile = tile, .P = P, .O = f})) return slip;
      if (NamedSlip slip = named("O and l are accumulated in " + name(f), {.tile = tile, .P = P, .l = f, .O = f})) return slip;
      if (tile == n_k) continue;
      if (NamedSlip slip = named("alpha is" + to, {.tile = tile, .P = P, .alpha = f})) return slip;
    }
  }
  return {};
}

constexpr int bounds = 64;  ///< number of bounds of P that are tried, multiples of 1 / 64

/// Adds, for each bound of P, the squared distance of a row of the output from a loop with that bound. Sums of P V and of V
/// over the keys whose P lies between two bounds give all distances.
void add_distances(const WrongOutput& wrong, int tile, int row, std::array<double, bounds>& square) {
  wrong.check();
  const VariantHead& head = *wrong.head();
  const Keys keys = wrong.right().keys(row);
  if (keys.empty()) return square.fill(std::nan(""));
  const std::vector<double> s = scores(head, wrong.right(), row);
  const auto columns = at(head.shape.d_v);
  const double last = *std::max_element(s.begin() + keys.first, s.begin() + keys.end);
  double m = -infinity, l = sink_weight(wrong.right(), last);
  std::vector<double> of_P(bounds * columns), of_1(bounds * columns), below(columns), beyond(columns);
  for (int first = keys.first / tile * tile; first < keys.end; first += tile) {
    const int begin = std::max(first, keys.first), end = std::min(keys.end, first + tile);
    for (int j = begin; j < end; ++j) m = std::max(m, s[at(j)]);
    for (int j = begin; j < end; ++j) {
      const double e = std::exp(s[at(j)] - m), P = round(wrong.claim().format, e), later = std::exp(m - last);
      l += e * later;
      if (!(P > 0)) continue;  // 0, or NaN of a NaN in Q or K
      const std::size_t place = (at(static_cast<int>(std::ceil(bounds * P))) - 1) * columns;
      for (std::size_t c = 0; c < columns; ++c) {
        const double v = later * head.v[at(j) * columns + c];
        of_P[place + c] += P * v;
        of_1[place + c] += v;
        beyond[c] += v;
      }
    }
  }
  for (std::size_t i = 0; i < bounds; ++i)  // the bound (i + 1) / 64
    for (std::size_t c = 0; c < columns; ++c) {
      below[c] += of_P[i * columns + c];
      beyond[c] -= of_1[i * columns + c];
      square[i] += std::pow(wrong.output(row)[c] - (below[c] + static_cast<double>(i + 1) / bounds * beyond[c]) / l, 2);
    }
}

/// Fits a bound on P, relative to its largest value in a tile, that applies in P.V but not in l.
NamedSlip saturated_P(const WrongOutput& wrong) {
  const int n_k = wrong.head()->shape.n_k;
  for (const int tile : tiles_of(n_k)) {
    if (tile == 1) continue;
    std::array<double, bounds> square{};
    for (const int row : wrong.some(16)) add_distances(wrong, tile, row, square);
    const double best = static_cast<double>(std::ranges::min_element(square) - square.begin() + 1) / bounds;
    if (best == 1 || std::isnan(square[0])) continue;
    const RoundedLoop loop{.tile = tile, .P = wrong.claim().format, .largest_P = best};
    if (NamedSlip slip = wrong.named(
            Kind::rounding,
            "P saturates in P.V, not in l, at " + four_digits(best) + " of its largest value" + tile_text(tile, n_k),
            rows_of(wrong, loop)))
      return slip;
  }
  return {};
}

/// Fits 2^x as 2^n g(f), x = n + f. g is 1 plus a linear combination of functions of f; the output is linear in its
/// coefficients.
class ExponentialFit {
 public:
  ExponentialFit(const WrongOutput& wrong, int tile, int degree) : wrong_(wrong), tile_(tile), degree_(degree) {}

  NamedSlip slip() {
    if (!solve()) return {};
    MistakenKernel kernel = wrong_.right_kernel();
    kernel.weights = [this](int row, const std::vector<double>& s, std::vector<double>& of_O, std::vector<double>& of_l) {
      for_each_key(row, s, [&](int j, double f) { of_O[at(j)] = of_l[at(j)] *= g(f) / std::exp2(f); });
    };
    return wrong_.named(Kind::rounding, text() + tile_text(tile_, wrong_.head()->shape.n_k), wrong_.rows_of(std::move(kernel)));
  }

 private:
  static constexpr int knots = 16;
  bool is_table() const { return degree_ > 3; }
  int unknowns() const { return is_table() ? knots : degree_; }

  /// Basis functions of g: powers of f, or, for a table, hats around knots times 2^f.
  double basis(int k, double f) const {
    if (!is_table()) return std::pow(f, k + 1);
    const double distance = std::abs(f * knots - k), height = 1 - std::min(distance, knots - distance);
    return height > 0 ? height * std::exp2(f) : 0;
  }
  double constant(double f) const { return is_table() ? std::exp2(f) : 1; }
  double g(double f) const {
    double sum = constant(f);
    for (int k = 0; k < unknowns(); ++k) sum += a_[at(k)] * basis(k, f);
    return sum;
  }

  template <class Work>
  void for_each_key(int row, const std::vector<double>& s, const Work& work) const {
    const Keys keys = wrong_.right().keys(row);
    double m = -infinity;
    for (int first = keys.first / tile_ * tile_; first < keys.end; first += tile_) {
      const int begin = std::max(first, keys.first), end = std::min(keys.end, first + tile_);
      for (int j = begin; j < end; ++j) m = std::max(m, s[at(j)]);
      for (int j = begin; j < end; ++j) {
        const double x = (s[at(j)] - m) * std::numbers::log2e;
        if (x > -infinity) work(j, x - std::floor(x));  // a mask tensor may drop keys in between
      }
    }
  }

  /// Solves O sum g = sum g V by least squares over some rows.
  bool solve() {
    const auto n = at(unknowns());
    const int columns = wrong_.golden().cols;
    std::vector<double> square(n * n), along(n);
    for (const int row : wrong_.some(32)) {
      wrong_.check();
      const std::vector<double> s = scores(*wrong_.head(), wrong_.right(), row);
      const Keys keys = wrong_.right().keys(row);
      double m = -infinity, l = 0;
      for (int j = keys.first; j < keys.end; ++j) m = std::max(m, s[at(j)]);
      std::vector<double> slopes(n * at(columns)), rest(at(columns)), lever(at(columns));
      for_each_key(row, s, [&](int j, double f) {
        const double e = std::exp(s[at(j)] - m) / std::exp2(f), *v = &wrong_.head()->v[at(j) * at(columns)];
        l += e * std::exp2(f);
        for (int c = 0; c < columns; ++c) lever[at(c)] = v[c] - wrong_.output(row)[c];
        const auto add = [&](double weight, double* sums) {
          if (weight == 0) return;
          for (int c = 0; c < columns; ++c) sums[c] += weight * lever[at(c)];
        };
        add(-e * constant(f), rest.data());
        for (int k = 0; k < unknowns(); ++k) add(e * basis(k, f), &slopes[at(k) * at(columns)]);
      });
      for (std::size_t k = 0; k < n; ++k)
        for (int c = 0; c < columns; ++c) {
          const double x = slopes[k * at(columns) + at(c)] / l;
          along[k] += x * rest[at(c)] / l;
          for (std::size_t i = 0; i < n; ++i) square[k * n + i] += x * slopes[i * at(columns) + at(c)] / l;
        }
    }
    a_ = solved(std::move(square), std::move(along));
    return all_finite(a_);
  }

  std::string text() const {
    if (is_table()) {
      const auto [least, most] = std::ranges::minmax(a_);
      return "exp is off by up to " + shortest(50 * (most - least), std::chars_format::general, 2) +
             " % between powers of two, as by a table or a short polynomial";
    }
    std::string text = "exp is taken as 2^n (1";
    for (int k = 0; k < degree_; ++k)
      text += (a_[at(k)] < 0 ? " - " : " + ") + four_digits(std::abs(a_[at(k)])) + " f" +
              (k > 0 ? "^" + std::to_string(k + 1) : "");
    return text + "), a polynomial of degree " + std::to_string(degree_) + " in the fraction f of its exponent";
  }

  const WrongOutput& wrong_;
  int tile_, degree_;
  std::vector<double> a_;
};

}  // namespace

NamedSlip rounding_fit(const WrongOutput& wrong) {
  if (NamedSlip slip = other_formats(wrong)) return slip;
  if (NamedSlip slip = saturated_P(wrong)) return slip;
  const int n_k = wrong.head()->shape.n_k;
  for (int degree = 1; degree <= 4; ++degree)
    for (const int tile : tiles_of(n_k))
      if (tile > 1)
        if (NamedSlip slip = ExponentialFit(wrong, tile, degree).slip()) return slip;
  return {};
}

}  // namespace attoscope
