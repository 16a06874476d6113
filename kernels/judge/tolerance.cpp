#include "kernels/judge/tolerance.h"

#include <algorithm>
#include <cmath>
#include <type_traits>

#include "kernels/cpu/simulate.h"
#include "kernels/experiment/experiment.h"
#include "kernels/judge/margins.h"
#include "kernels/parallel/parallel.h"
#include "kernels/slips/slips.h"
#include "kernels/slips/softmax_variant.h"
#include "kernels/stop_token.h"

namespace attoscope {
namespace {

/// One row of each 64th of the rows, spread by steps of the golden ratio; every row if there are at most 64.
std::vector<int> spread_rows(std::int64_t n) {
  constexpr std::uint32_t most = 64, step = 0x9e3779b9;
  std::vector<int> rows;
  for (std::uint32_t k = 0; k < most; ++k) {
    const std::int64_t first = k * n / most, end = (k + 1) * n / most;
    if (end > first) rows.push_back(static_cast<int>(first + ((end - first) * (k * step >> 16) >> 16)));
  }
  return rows;
}

/// Runs rivals in the working type T.
template <class T>
class RivalRuns {
 public:
  RivalRuns(const Problem& problem, const Tensors& inputs, const KernelClaim& claim, StopToken& stop)
      : problem_(problem), inputs_(inputs), claim_(claim), stop_(stop) {
    x_ = operands<T>(inputs, exact, claim.format, problem.seed, stop);
    x_.format = claim.format;
    found_.claim = claim;
  }

  Tolerance find() {
    const std::vector<Rival> all = rivals_of(claim_, problem_);
    double work = 3;
    for (const Rival& rival : all) work += static_cast<double>(rows_of(rival).size()) / problem_.n;
    stop_.set_row_work(1);
    stop_.expect(work * problem_.n);
    find_golden();
    find_nonfinite();
    find_expectations();
    find_weights();
    largest_ = found_.at_first_sight;
    row_.assign(rows_.size(), 1);
    for (const bool sampled : {false, true})
      for (const Rival& rival : all)
        if (is_slow(rival, claim_) == sampled) measure(rival);
    settle();
    return std::move(found_);
  }

 private:
  static constexpr bool is_double = std::is_same_v<T, double>;
  static constexpr double unit = is_double ? 0x1p-53 : 0x1p-24;  ///< relative error of the working type

  void find_golden() {
    const Job<double> j = golden_job(problem_, inputs_);
    found_.golden = is_double ? run_double_double(j, rows_, stop_) : run(j, rows_, nullptr, stop_);
  }

  /// Finds rows with a finite number, and infinite elements that may also be NaN: P of an infinite V that the row sees may be 0
  /// as D stores it.
  void find_nonfinite() {
    const Tensors& t = inputs_;
    found_.inputs_finite = all_finite(t);
    const std::vector<double>& golden = found_.golden.values;
    has_number_.assign(rows_.size(), true);
    if (found_.inputs_finite) return;
    found_.nan_too.resize(golden.size());
    const VariantHead head = variant_head(t);
    const SoftmaxVariant right = right_softmax(problem_);
    const double least = 2 * std::max(smallest_subnormal(claim_.format), 0x1p-126);
    for (std::size_t i = 0; i < rows_.size(); ++i) {
      stop_.check();
      const double* const row = &golden[i * at(cols_)];
      has_number_[i] = std::any_of(row, row + cols_, [](double x) { return std::isfinite(x); });
      if (std::none_of(row, row + cols_, [](double x) { return std::isinf(x); })) continue;
      const std::vector<double> P = weights(head, right, static_cast<int>(i));
      const Keys keys = right.keys(static_cast<int>(i));
      for (int j = keys.first; j < keys.end; ++j)
        for (int c = 0; c < cols_ && P[at(j)] < least; ++c)
          if (std::isinf(t.v[at(j) * at(cols_) + at(c)]) && sees_key(problem_, static_cast<int>(i), j))
            found_.nan_too[i * at(cols_) + at(c)] = true;
    }
  }

  const std::vector<int>& rows_of(const Rival& rival) const { return is_slow(rival, claim_) ? sampled_ : rows_; }

  Matrix run_rival(const Rival& rival) const {
    const std::vector<int>& rows = rows_of(rival);
    if (!rival.method.reverse_keys) return run(job(problem_, rival.method, claim_.format, x_), rows, nullptr, stop_);
    const Operands<T> reversed = with_reversed_keys(x_, shape_of(problem_));
    return run(job(problem_, rival.method, claim_.format, reversed), rows, nullptr, stop_);
  }

  /// sum_j P^2 V^2 is attention on V^2 with doubled scores, times the sum of exp of the doubled scores over the squared sum of
  /// exp of the scores.
  void find_weights() {
    const Method method{.algorithm = Algorithm::flash2};
    RowStates<T> once, twice;  // without the sink's share
    Problem alone = problem_;
    alone.sink.reset();
    run(job(alone, method, claim_.format, x_), rows_, nullptr, stop_, &once);
    Problem doubled = alone;
    doubled.scale = 2 * scale_of(problem_);
    doubled.softcap *= 2;
    doubled.alibi *= 2;
    const double found_largest = largest_finite(inputs_.v), largest = found_largest > 0 ? found_largest : 1;
    std::vector<T> squares(x_.v.size());
    for (std::size_t i = 0; i < squares.size(); ++i) squares[i] = static_cast<T>(square(inputs_.v[i] / largest));
    Job<T> with_squares = job(doubled, method, claim_.format, x_);
    with_squares.mask_tensor.factor = 2;
    with_squares.v = squares.data();
    with_squares.ranges.v = range_of<T>(squares, 52, stop_);
    found_.weight = run(with_squares, rows_, nullptr, stop_, &twice);
    for (int i = 0; i < problem_.n; ++i) {
      const double m = once.m[at(i)], l = once.l[at(i)], l_twice = twice.l[at(i)];
      const double sink = problem_.sink ? std::exp(*problem_.sink - m) : 0;
      const double factor = l > 0 ? largest * std::sqrt(l_twice) / (l + sink) : 0;
      for (int c = 0; c < cols_; ++c) {
        double& w = found_.weight.values[at(i) * at(cols_) + at(c)];
        const double sums =
            unit * std::sqrt(static_cast<double>(key_count(problem_))) / found_.at_first_sight[at(i)] * found_.golden(i, c);
        const double root = factor * std::sqrt(std::max(w, 0.0));
        w = std::hypot(std::isfinite(root) ? root : largest, sums) + 1e-300;  // a bound if doubled scores overflow
      }
    }
  }

  void find_expectations() {
    const std::vector<double> largest = largest_scores(problem_, inputs_);
    const double of_P = std::max(epsilon(claim_.format) / 2, unit);
    for (int i = 0; i < problem_.n; ++i) {
      const double score = largest[at(i)] + term_size(mask_view(problem_), i, visible_keys(problem_, i));
      found_.at_first_sight.push_back(of_P + unit * (4 + score));
      found_.digits_left &= unit * score < 0.125;
    }
  }

  void measure(const Rival& rival) {
    const Matrix o = run_rival(rival);
    const std::vector<int>& rows = rows_of(rival);
    std::vector<double> ratios(rows.size()), roots(rows.size()), most(rows.size()), square(rows.size());
    std::vector<int> counts(rows.size());
    parallel_for(std::size_t{0}, rows.size(), [&](std::size_t k) {
      const int i = rows[k];
      double relative = 0;
      for (int c = 0; c < cols_; ++c) {
        const double y = o(static_cast<int>(k), c), error = std::abs(y - found_.golden(i, c));
        if (!std::isfinite(found_.golden(i, c)) || std::isnan(y)) continue;
        ++counts[k];
        const double stored = std::abs(found_.as_stored(i, c, y) - found_.golden(i, c)), z = stored / found_.expected(i, c);
        ratios[k] = std::max(ratios[k], error / found_.weight(i, c));
        most[k] = std::max(most[k], stored);
        square[k] += stored * stored;
        relative += z * z;
      }
      roots[k] = std::sqrt(relative / std::max(1, counts[k]));
    });
    double squares = 0, relative = 0, count = 0, with_numbers = 0;
    for (std::size_t k = 0; k < rows.size(); ++k) {
      squares += square[k];
      relative += roots[k] * roots[k];
      count += counts[k];
      with_numbers += counts[k] > 0;
    }
    found_.family.push_back({rival.name, *std::ranges::max_element(most), std::sqrt(squares / std::max(1.0, count)),
                             std::sqrt(relative / std::max(1.0, with_numbers))});
    take(rows, ratios, largest_);
    take(rows, roots, row_);
  }

  /// Raises the bounds of these rows to `of_rows`, and the bounds of all other rows by the growth that nine of ten of these
  /// rows do not exceed.
  void take(const std::vector<int>& rows, const std::vector<double>& of_rows, std::vector<double>& bounds) const {
    std::vector<double> growth;
    std::vector<bool> seen(bounds.size());
    for (std::size_t k = 0; k < rows.size(); ++k) {
      if (!has_number_[at(rows[k])]) continue;
      double& bound = bounds[at(rows[k])];
      growth.push_back(std::max(1.0, of_rows[k] / bound));
      bound = std::max(bound, of_rows[k]);
      seen[at(rows[k])] = true;
    }
    const double usual = usual_of(std::move(growth));
    for (std::size_t i = 0; i < bounds.size(); ++i)
      if (!seen[i]) bounds[i] *= usual;
  }

  /// The numbers of rows whose attention is finite in some column.
  std::vector<double> with_numbers(const std::vector<double>& x) const {
    std::vector<double> kept;
    for (std::size_t i = 0; i < x.size(); ++i)
      if (has_number_[i]) kept.push_back(x[i]);
    return kept;
  }

  void settle() {
    std::vector<double> over = largest_;
    for (std::size_t i = 0; i < over.size(); ++i) over[i] /= found_.at_first_sight[i];
    const double usual = usual_of(with_numbers(over)), usual_row = usual_of(with_numbers(row_));
    for (std::size_t i = 0; i < over.size(); ++i) {
      found_.factor.push_back(margins.element * std::max(over[i], usual) * found_.at_first_sight[i]);
      found_.row.push_back(margins.row * std::max(row_[i], usual_row));
    }
    found_.whole = margins.whole;
    for (const RivalError& r : found_.family) found_.whole = std::max(found_.whole, margins.whole * r.whole);
  }

  const Problem& problem_;
  const Tensors& inputs_;
  const KernelClaim& claim_;
  StopToken& stop_;
  int cols_ = value_columns(problem_);  ///< columns of O
  std::vector<int> rows_ = numbers(problem_.n), sampled_ = spread_rows(problem_.n);
  Operands<T> x_;
  Tolerance found_;
  /// [row], largest of all rivals and at least the expectation: |error| / w, and root mean square of error over expected error.
  std::vector<double> largest_, row_;
  std::vector<bool> has_number_;  ///< [row]: its attention is finite in some column
};

/// Scale of element (i, c) of the output.
double unit_of(const KernelClaim& claim, const Matrix& like, int i, int c) {
  return claim.scale ? (*claim.scale)[at(i) * at(like.cols) + at(c)] : 1;
}

}  // namespace

void add_family(std::vector<RivalError>& all, const std::vector<RivalError>& more) {
  for (const RivalError& r : more) {
    const auto known = std::ranges::find(all, r.name, &RivalError::name);
    if (known == all.end()) {
      all.push_back(r);
      continue;
    }
    known->max_abs = std::max(known->max_abs, r.max_abs);
    known->rms = std::max(known->rms, r.rms);
    known->whole = std::max(known->whole, r.whole);
  }
}

double usual_of(std::vector<double> x) {
  if (x.empty()) return 1;
  const auto usual = x.begin() + static_cast<std::ptrdiff_t>(x.size() * 9 / 10);
  std::ranges::nth_element(x, usual);
  return *usual;
}

double Tolerance::of(int i, int c, double o) const {
  const double size = std::max(std::abs(o), std::abs(golden(i, c)));
  const double half_ulp = std::isfinite(size) ? spacing(i, c, size) / 2 : 0;
  return factor[at(i)] * weight(i, c) + half_ulp;
}

bool Tolerance::is_due(int i, int c, double o, double expected) const {
  if (std::isnan(o))
    return std::isnan(expected) || (std::isinf(expected) && !nan_too.empty() && nan_too[at(i) * at(golden.cols) + at(c)]);
  return std::isinf(o) && o == expected;
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

std::shared_ptr<const Tensors> seen_by(const KernelClaim& claim, const std::shared_ptr<const Tensors>& tensors) {
  return claim.scaled_inputs ? tensors : seen_in(claim.format, tensors);
}

std::shared_ptr<const Tensors> rounded_after_scales(const KernelClaim& claim, const std::shared_ptr<const Tensors>& tensors) {
  if (!claim.scaled_inputs || significand_bits(claim.format) + claim.format.exponent_bits <= 8) return nullptr;
  std::shared_ptr<const Tensors> rounded = seen_in(claim.format, tensors);
  return rounded == tensors ? nullptr : rounded;
}

std::shared_ptr<const Tensors> without_unseen(const std::shared_ptr<const Tensors>& tensors) {
  const Tensors& t = *tensors;
  if (t.mask == nullptr || all_finite(t)) return tensors;
  return as_tensors(operands<double>(t, exact, fp64, 0), t.shape());
}

Tolerance tolerance_of(const Problem& problem, const Tensors& inputs, const KernelClaim& claim, const Options& options) {
  StopToken stop(options);
  const bool precise = significand_bits(claim.format) > 24;
  return precise ? RivalRuns<double>(problem, inputs, claim, stop).find()
                 : RivalRuns<float>(problem, inputs, claim, stop).find();
}

}  // namespace attoscope
