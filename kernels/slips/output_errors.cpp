#include "kernels/slips/output_errors.h"

#include <tbb/parallel_for.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <set>

#include "kernels/experiment/presets.h"
#include "kernels/experiment/result.h"
#include "kernels/experiment/rules.h"
#include "kernels/slips/error_places.h"

namespace attoscope {
namespace {

constexpr double infinity = std::numeric_limits<double>::infinity();

double largest_of(const Matrix& m) {
  double most = 0;
  for (const double x : m.values)
    if (std::isfinite(x)) most = std::max(most, std::abs(x));
  return most;
}

/// The value that 19 of 20 stay below.
double usual_of(std::vector<double> all) {
  const auto usual = all.begin() + static_cast<std::ptrdiff_t>(all.size() * 19 / 20);
  std::ranges::nth_element(all, usual);
  return *usual;
}

/// Multiplications of one method.
double work_of(const Experiment& e, std::size_t rows) {
  const AttentionShape s = shape_of(e.problem);
  return static_cast<double>(rows) * s.n_k * (s.d + s.d_v) / 2;
}

}  // namespace

double half_epsilon(const std::string& type) {
  if (type == "F16") return epsilon(fp16) / 2;
  if (type == "BF16") return epsilon(bf16) / 2;
  return type == "F32" ? epsilon(fp32) / 2 : type == "F64" ? epsilon(fp64) / 2 : 0;
}

OutputErrors::OutputErrors(const Result& result, const Options& options)
    : r_(result),
      e_(result.experiment),
      options_(options),
      of_a_(e_.a.algorithm == Algorithm::loaded),
      o_(of_a_ ? r_.a : r_.b),
      own_(of_a_ ? r_.a_error : r_.b_error) {
  const Method& other = of_a_ ? e_.b : e_.a;
  rounding_ = half_epsilon(e_.loaded.type);
  rival_ = is_emulated(other.algorithm) ? other : default_experiment().b;
  const Deviation& theirs = of_a_ ? r_.b_error : r_.a_error;
  const bool compares = other.algorithm != Algorithm::loaded && theirs.nonfinite == 0;
  size_ = largest_of(*r_.golden);
  limit_ = std::max(compares ? theirs.max_abs : 0, rounding_ * size_);
  limit_rms_ = std::max(compares ? theirs.rms : 0, rounding_ * r_.golden_rms / 2);
}

bool OutputErrors::has_line() const { return r_.golden_nonfinite == 0 && limit_ > 0; }
double OutputErrors::ratio() const { return own_.max_abs / limit_; }
bool OutputErrors::inside() const { return own_.nonfinite == 0 && ratio() <= 2 && own_.rms <= 2 * limit_rms_; }
bool OutputErrors::subtle() const { return own_.nonfinite == 0 && ratio() <= 5; }
double OutputErrors::golden_at(int index, int c) const { return (*r_.golden)(index, c); }
double OutputErrors::error_at(int index, int c) const { return std::abs(o_(index, c) - golden_at(index, c)); }

void OutputErrors::check() const {
  if (options_.cancelled && options_.cancelled()) throw Stopped{};
}

void OutputErrors::find_envelope() {
  Experiment e = e_;
  Method& tight = of_a_ ? e.b : e.a;
  tight = {.algorithm = Algorithm::three_pass, .precision = policy("base_hw").precision};
  const std::string& type = e_.loaded.type;
  if (type == "F16" || type == "BF16" || type == "F32")
    tight.precision[Step::output] = to_format(type == "F16" ? fp16 : type == "BF16" ? bf16 : fp32);
  has_rows_ = work_of(e, r_.rows.size()) <= 4e9;
  if (!has_rows_) e.problem.rows = 256;
  const Result answer = compute(e, {.cancelled = options_.cancelled, .threads = options_.threads});
  const Deviation& all = of_a_ ? answer.b_error : answer.a_error;
  const double floor = std::max({rounding_, epsilon(e_.format) / 64, 1e-9}) * r_.golden_rms / 4;
  tight_rms_.assign(r_.rows.size(), std::max(all.rms, floor));
  tight_max_.assign(r_.rows.size(), std::max(all.max_abs, floor));
  if (!has_rows_) return;
  const Matrix& x = of_a_ ? answer.b : answer.a;
  for (int i = 0; i < x.rows; ++i) {
    double square = 0, most = 0;
    for (int c = 0; c < x.cols; ++c) {
      const double error = std::abs(x(i, c) - golden_at(i, c));
      square += error * error, most = std::max(most, error);
    }
    tight_rms_[static_cast<std::size_t>(i)] = std::max(std::sqrt(square / x.cols), floor);
    tight_max_[static_cast<std::size_t>(i)] = std::max(most, floor);
  }
}

/// A row's largest error in units of what the tightest rival has there: its largest error in the row and half a unit in the
/// last place of the element.
double OutputErrors::excess(int index) const {
  const double unit = std::max(rounding_, epsilon(e_.format) / 2);
  double most = 0;
  for (int c = 0; c < o_.cols; ++c) {
    const double error = error_at(index, c);
    most = std::max(most, std::isnan(error)
                              ? infinity
                              : error / (tight_max_[static_cast<std::size_t>(index)] + unit * std::abs(golden_at(index, c))));
  }
  return most;
}

/// A row's largest error in units of the other method's there, or of what it has at least.
double OutputErrors::excess_over_rival(int index) const {
  const Matrix& rival = of_a_ ? r_.b : r_.a;
  double own = 0, theirs = tight_max_[static_cast<std::size_t>(index)];
  for (int c = 0; c < o_.cols; ++c) {
    own = std::max(own, error_at(index, c));
    theirs = std::max(theirs, std::abs(rival(index, c) - golden_at(index, c)));
  }
  return own / theirs;
}

std::vector<int> OutputErrors::outstanding_rows() const {
  const bool has_rival = is_emulated((of_a_ ? e_.b : e_.a).algorithm);
  if (!has_rows_ || o_.rows < 32) return {};
  std::vector<double> all, over_rival;
  for (int i = 0; i < o_.rows; ++i) {
    all.push_back(excess(i));
    over_rival.push_back(has_rival ? excess_over_rival(i) : all.back());
  }
  const double usual = usual_of(all), usual_over_rival = usual_of(over_rival);
  std::vector<int> rows;
  for (std::size_t i = 0; i < all.size(); ++i)
    if (all[i] > std::max(2.0, 3 * usual) && over_rival[i] > 2 * usual_over_rival) rows.push_back(r_.rows[i]);
  return rows.size() <= 4 ? rows : std::vector<int>{};
}

OutputErrors::Place OutputErrors::worst_place() const {
  int index = 0, worst = -1;
  double most = 0;
  for (int i = 0; i < o_.rows && worst < 0; ++i)
    for (int c = 0; c < o_.cols && worst < 0; ++c)
      if (is_bad(i, c)) index = i, worst = i;
  for (int i = 0; i < o_.rows && worst < 0; ++i)
    if (const double x = excess(i); x > most) most = x, index = i;
  Place place{r_.rows[static_cast<std::size_t>(index)], 0};
  for (int c = 1; c < o_.cols; ++c)
    if (!(error_at(index, c) <= error_at(index, place.col)) && !std::isnan(error_at(index, place.col))) place.col = c;
  return place;
}

std::vector<int> OutputErrors::bad_rows() const {
  std::vector<int> rows;
  for (int i = 0; i < o_.rows; ++i)
    for (int c = 0; c < o_.cols; ++c)
      if (is_bad(i, c)) {
        rows.push_back(r_.rows[static_cast<std::size_t>(i)]);
        break;
      }
  return rows;
}

std::string OutputErrors::places() const {
  std::vector<bool> rows(r_.rows.size()), columns(static_cast<std::size_t>(o_.cols));
  for (int i = 0; i < o_.rows; ++i)
    for (int c = 0; c < o_.cols; ++c)
      if (is_bad(i, c)) rows[static_cast<std::size_t>(i)] = columns[static_cast<std::size_t>(c)] = true;
  return error_places(rows, columns, r_.rows, e_.problem.n);
}

std::vector<int> OutputErrors::chosen(int count) const {
  const int rows = o_.rows;
  std::vector<int> order(static_cast<std::size_t>(rows));
  std::vector<double> worst(order.size());
  for (int i = 0; i < rows; ++i) {
    order[static_cast<std::size_t>(i)] = i;
    worst[static_cast<std::size_t>(i)] = excess(i);
  }
  if (count >= rows) return order;
  std::stable_sort(order.begin(), order.end(),
                   [&](int x, int y) { return worst[static_cast<std::size_t>(x)] > worst[static_cast<std::size_t>(y)]; });
  std::set<int> picked(order.begin(), order.begin() + count / 2);
  for (std::uint64_t k = 0; k < 16 * static_cast<std::uint64_t>(count) && static_cast<int>(picked.size()) < count; ++k)
    picked.insert(static_cast<int>((k * 0x9e3779b97f4a7c15U >> 32) * static_cast<std::uint64_t>(rows) >> 32));
  return {picked.begin(), picked.end()};
}

Fit OutputErrors::fit(const ExpectedRow& expected, const std::vector<int>& indices) const {
  std::vector<Fit> fits(indices.size());
  const auto row_of = [cols = o_.cols](const Matrix& m, int index) {
    return m.values.data() + static_cast<std::ptrdiff_t>(index) * cols;
  };
  tbb::parallel_for(std::size_t{0}, indices.size(), [&](std::size_t i) {
    check();
    const int index = indices[i];
    std::vector<double> row(static_cast<std::size_t>(o_.cols));
    if (expected(r_.rows[static_cast<std::size_t>(index)], row.data()))
      fits[i] = fit_of_row(row_of(o_, index), row.data(), row_of(*r_.golden, index), o_.cols,
                           tight_rms_[static_cast<std::size_t>(index)]);
  });
  Fit sum;
  for (const Fit& f : fits) sum.add(f);
  return sum;
}

double OutputErrors::rival_error(Experiment e) const {
  const AttentionShape s = shape_of(e.problem);
  const int rows = std::clamp((1 << 22) / s.n_k, 1, s.n);
  e.problem.rows = e.problem.rows == 0 ? rows : std::min(e.problem.rows, rows);
  const Method rivals[]{rival_};
  return errors_of(e, rivals, {.cancelled = options_.cancelled, .threads = options_.threads})[0].max_abs;
}

}  // namespace attoscope
