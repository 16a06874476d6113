#include "kernels/judge/tolerance.h"

#include <tbb/parallel_for.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <type_traits>

#include "kernels/cancelled_sign.h"
#include "kernels/cpu/simulate.h"
#include "kernels/experiment/experiment.h"

namespace attoscope {
namespace {

constexpr double margin = 2, row_margin = 2, whole_margin = 1.25;

std::size_t at(int i) { return static_cast<std::size_t>(i); }

std::vector<int> every_row(int n) {
  std::vector<int> rows(at(n));
  std::iota(rows.begin(), rows.end(), 0);
  return rows;
}

/// m and l of every row after its last tile.
template <class T>
class RowState final : public Recorder<T> {
 public:
  explicit RowState(int rows) : m_(at(rows)), l_(at(rows)) {}
  int kept_lane(const RowBlock&) const override { return -1; }
  void tile(const RowBlock& block, const TileView<T>& view) override {
    for (int lane = 0; lane < block.count; ++lane) {
      if (!view.sees(lane)) continue;
      m_[at(block.first + lane)] = static_cast<double>(view.m[lane * view.lane_stride]);
      l_[at(block.first + lane)] = static_cast<double>(view.l[lane * view.lane_stride]);
    }
  }
  double m(int row) const { return m_[at(row)]; }
  double l(int row) const { return l_[at(row)]; }

 private:
  std::vector<double> m_, l_;
};

double largest_of(const std::vector<double>& x) {
  double most = 0;
  for (const double y : x) most = std::isfinite(y) ? std::max(most, std::abs(y)) : most;
  return most;
}

double square(double x) { return x * x; }

double length_of(const double* x, int d) {
  double square = 0;
  for (int c = 0; c < d; ++c) square += x[c] * x[c];
  return std::sqrt(square);
}

/// Runs rivals in the working type T.
template <class T>
class RivalRuns {
 public:
  RivalRuns(const Problem& problem, const Tensors& inputs, const KernelClaim& claim, const StopSign& stop)
      : problem_(problem),
        inputs_(inputs),
        claim_(claim),
        stop_(stop),
        cols_(value_columns(problem)),
        rows_(every_row(problem.n)) {
    x_ = operands<T>(inputs, exact, claim.format, problem.seed, stop);
    x_.format = claim.format;
    found_.claim = claim;
  }

  Tolerance find() {
    find_golden();
    find_expectations();
    find_weights();
    const std::vector<Rival> all = rivals_of(claim_, problem_);
    const std::size_t n = rows_.size();
    largest_.assign(n, 0), row_.assign(n, 0);
    for (const Rival& rival : all) measure(rival);
    settle();
    return std::move(found_);
  }

 private:
  static constexpr bool is_double = std::is_same_v<T, double>;
  static constexpr double unit = is_double ? 0x1p-53 : 0x1p-24;  ///< relative error of the working type

  void find_golden() {
    Job<double> j = job(problem_, Method{.algorithm = Algorithm::three_pass}, claim_.format, Operands<double>{});
    j.q = inputs_.q.data(), j.k = inputs_.k.data(), j.v = inputs_.v.data();
    found_.golden = is_double ? run_double_double(j, rows_, stop_) : run(j, rows_, nullptr, stop_);
  }

  Matrix run_method(const Problem& p, const Method& m, const Operands<T>& x, RowState<T>* state) const {
    if (!m.reverse_keys) return run(job(p, m, claim_.format, x), rows_, state, stop_);
    const Operands<T> reversed = with_reversed_keys(x, shape_of(p));
    return run(job(p, m, claim_.format, reversed), rows_, state, stop_);
  }

  /// sum_j P^2 V^2 is what attention with doubled scores makes of V^2, times the sum of its exp over the square of the sum of
  /// exp of the problem's own.
  void find_weights() {
    const Method method{.algorithm = Algorithm::flash2};
    RowState<T> once(problem_.n), twice(problem_.n);
    run_method(problem_, method, x_, &once);
    Problem doubled = problem_;
    doubled.scale = 2 * scale_of(problem_), doubled.softcap *= 2, doubled.alibi *= 2;
    doubled.sink.reset();
    const double found_largest = largest_of(inputs_.v), largest = found_largest > 0 ? found_largest : 1;
    Operands<T> squares = x_;
    for (std::size_t i = 0; i < squares.v.size(); ++i) squares.v[i] = static_cast<T>(square(inputs_.v[i] / largest));
    squares.ranges.v = range_of<T>(squares.v, 52, stop_);
    found_.weight = run_method(doubled, method, squares, &twice);
    for (int i = 0; i < problem_.n; ++i) {
      const double sink = problem_.sink ? std::exp(*problem_.sink - once.m(i)) : 0;
      const double factor = once.l(i) > 0 ? largest * std::sqrt(twice.l(i)) / (once.l(i) + sink) : 0;
      for (int c = 0; c < cols_; ++c) {
        double& w = found_.weight.values[at(i) * at(cols_) + at(c)];
        const double sums =
            unit * std::sqrt(static_cast<double>(key_count(problem_))) / found_.at_first_sight[at(i)] * found_.golden(i, c);
        const double root = factor * std::sqrt(std::max(w, 0.0));
        w = std::hypot(std::isfinite(root) ? root : largest, sums) + 1e-300;  // where doubled scores overflow: a bound
      }
    }
  }

  void find_expectations() {
    double longest_k = 0;
    for (int j = 0; j < key_count(problem_); ++j)
      longest_k = std::max(longest_k, length_of(&inputs_.k[at(j) * at(problem_.d)], problem_.d));
    const double of_P = std::max(epsilon(claim_.format) / 2, unit);
    for (int i = 0; i < problem_.n; ++i) {
      const double score =
          std::abs(scale_of(problem_)) * length_of(&inputs_.q[at(i) * at(problem_.d)], problem_.d) * longest_k +
          std::abs(problem_.alibi) * std::max(problem_.n, key_count(problem_));
      found_.at_first_sight.push_back(of_P + unit * (4 + score));
      found_.digits_left &= unit * score < 0.125;
    }
  }

  void measure(const Rival& rival) {
    const Matrix o = run_method(problem_, rival.method, x_, nullptr);
    std::vector<double> most(rows_.size()), square(rows_.size()), over(rows_.size());
    tbb::parallel_for(0, problem_.n, [&](int i) {
      double ratio = 0, errors = 0, relative = 0, largest = 0;
      for (int c = 0; c < cols_; ++c) {
        const double error = std::abs(o(i, c) - found_.golden(i, c));
        const double stored = std::abs(found_.as_stored(i, c, o(i, c)) - found_.golden(i, c)),
                     z = stored / found_.expected(i, c);
        ratio = std::max(ratio, error / found_.weight(i, c));
        largest = std::max(largest, stored);
        errors += stored * stored, relative += z * z;
      }
      const auto row = at(i);
      largest_[row] = std::max(largest_[row], ratio);
      row_[row] = std::max(row_[row], std::sqrt(relative / cols_));
      most[row] = largest, square[row] = errors, over[row] = relative;
    });
    const double count = static_cast<double>(problem_.n) * cols_;
    const auto total = [](const std::vector<double>& x) { return std::accumulate(x.begin(), x.end(), 0.0); };
    found_.family.push_back(
        {rival.name, *std::ranges::max_element(most), std::sqrt(total(square) / count), std::sqrt(total(over) / count)});
  }

  /// What nine of ten stay below.
  static double usual_of(std::vector<double> x) {
    const auto usual = x.begin() + static_cast<std::ptrdiff_t>(x.size() * 9 / 10);
    std::ranges::nth_element(x, usual);
    return *usual;
  }

  void settle() {
    std::vector<double> over = largest_;
    for (std::size_t i = 0; i < over.size(); ++i) over[i] /= found_.at_first_sight[i];
    const double usual = std::max(1.0, usual_of(over)), usual_row = std::max(1.0, usual_of(row_));
    for (std::size_t i = 0; i < over.size(); ++i) {
      found_.factor.push_back(margin * std::max(over[i], usual) * found_.at_first_sight[i]);
      found_.row.push_back(row_margin * std::max(row_[i], usual_row));
    }
    found_.whole = whole_margin;
    for (const RivalError& r : found_.family) found_.whole = std::max(found_.whole, whole_margin * r.whole);
  }

  const Problem& problem_;
  const Tensors& inputs_;
  const KernelClaim& claim_;
  const StopSign& stop_;
  int cols_;  ///< of O
  std::vector<int> rows_;
  Operands<T> x_;
  Tolerance found_;
  std::vector<double> largest_, row_;  ///< over all rivals: |error| / w, and the row's root mean square over that expected
};

/// What element (i, c) of the output is multiplied by.
double unit_of(const KernelClaim& claim, const Matrix& like, int i, int c) {
  return claim.scale ? (*claim.scale)[at(i) * at(like.cols) + at(c)] : 1;
}

}  // namespace

double Tolerance::of(int i, int c, double o) const {
  const double size = std::max(std::abs(o), std::abs(golden(i, c)));
  const double half_ulp = std::isfinite(size) ? spacing(i, c, size) / 2 : 0;
  return factor[at(i)] * weight(i, c) + half_ulp;
}

double Tolerance::as_stored(int i, int c, double x) const {
  const double scale = unit_of(claim, golden, i, c);
  return scale * (claim.whole ? std::nearbyint(x / scale) : round(claim.stored, x / scale));
}

double Tolerance::spacing(int i, int c, double x) const {
  const double scale = unit_of(claim, golden, i, c);
  return scale * (claim.whole ? 1 : ulp(claim.stored, x / scale));
}

double Tolerance::expected(int i, int c) const {
  const double of_P = at_first_sight[at(i)] * weight(i, c), of_O = spacing(i, c, golden(i, c));
  return std::sqrt(of_P * of_P + of_O * of_O / 12) + 1e-300;
}

Tolerance tolerance_of(const Problem& problem, const Tensors& inputs, const KernelClaim& claim, const Options& options) {
  const CancelledSign stop(options.cancelled, options.isa);
  const bool precise = significand_bits(claim.format) > 24;
  return precise ? RivalRuns<double>(problem, inputs, claim, stop).find()
                 : RivalRuns<float>(problem, inputs, claim, stop).find();
}

}  // namespace attoscope
