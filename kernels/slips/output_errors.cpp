#include "kernels/slips/output_errors.h"

#include <set>

#include "kernels/experiment/presets.h"
#include "kernels/experiment/rules.h"
#include "kernels/parallel/parallel.h"
#include "kernels/slips/softmax_variant.h"

namespace attoscope {
namespace {

/// Fits one row: `count` numbers of output, expectation (NaN: the row sees no key) and golden; `unit` is the row's rounding
/// error.
Fit fit_of_row(const double* output, const double* expected, const double* golden, int count, double unit) {
  Fit f{.rows = 1};
  Fit part;
  for (int c = 0; c < count; ++c) {
    const double x = output[c], y = expected[c], g = golden[c];
    if (!std::isfinite(x)) {
      f.unexplained += std::isfinite(y);
      continue;
    }
    const double wanted = std::isfinite(y) ? y : 0, distance = x - wanted;  // a row without keys may be 0 or NaN
    part.golden_square += (x - g) * (x - g);
    part.square += distance * distance;
    part.apart_square += (wanted - g) * (wanted - g);
    part.along += (x - g) * (wanted - g);
    f.output_square += x * x;
    f.left += distance * distance / (unit * unit);
    f.largest = std::max(f.largest, std::abs(distance));
    if (std::isfinite(y)) f.size = std::max(f.size, std::abs(y));
    ++f.compared;
  }
  f.error_square = part.golden_square;
  f.left_square = part.square;
  part.telling = f.compared;
  if (4 * part.apart_square >= unit * unit * static_cast<double>(f.compared)) f.add(part);
  return f;
}

}  // namespace

double half_epsilon(const std::string& type) {
  if (type == "F16") return epsilon(fp16) / 2;
  if (type == "BF16") return epsilon(bf16) / 2;
  return type == "F32" ? epsilon(fp32) / 2 : type == "F64" ? epsilon(fp64) / 2 : 0;
}

OutputErrors::OutputErrors(const Result& result, const Options& options)
    : r_(result), e_(result.experiment), options_(options) {
  const Deviation& theirs = r_.b_error;
  const bool compares = theirs.nonfinite <= r_.golden_nonfinite;
  limit_ = std::max(compares ? theirs.max_abs : 0, rounding_ * size_);
  limit_rms_ = std::max(compares ? theirs.rms : 0, rounding_ * r_.golden_rms / 2);
}

void OutputErrors::check() const {
  if (options_.cancelled && options_.cancelled()) throw Stopped{};
}

void OutputErrors::find_envelope() {
  Experiment e = e_;
  e.b = policy("base_hw").method();
  e.b.precision[Step::input] = e_.b.precision[Step::input];
  const std::string& type = e_.loaded.type;
  if (type == "F16" || type == "BF16" || type == "F32")
    e.b.precision[Step::output] = to_format(type == "F16" ? fp16 : type == "BF16" ? bf16 : fp32);
  const AttentionShape s = shape_of(e.problem);  // counts half of the pairs: those visible under a causal mask
  const bool has_rows = static_cast<double>(o_.rows) * s.n_k * (s.d + s.d_v) / 2 <= 4e9;
  if (!has_rows) e.problem.rows = 256;
  const Result answer = compute(e, {.cancelled = options_.cancelled, .threads = options_.threads});
  const Deviation& all = answer.b_error;
  const double floor = std::max({rounding_, epsilon(e_.format) / 64, 1e-9}) * r_.golden_rms / 4;
  tight_rms_.assign(at(o_.rows), std::max(all.rms, floor));
  tight_max_.assign(at(o_.rows), std::max(all.max_abs, floor));
  if (!has_rows) return;
  const Matrix& x = answer.b;
  for (int i = 0; i < x.rows; ++i) {
    double square = 0, most = 0;
    for (int c = 0; c < x.cols; ++c) {
      const double error = std::abs(x(i, c) - golden_at(i, c));
      if (!std::isfinite(golden_at(i, c))) continue;
      square += error * error;
      most = std::max(most, error);
    }
    tight_rms_[at(i)] = std::max(std::sqrt(square / x.cols), floor);
    tight_max_[at(i)] = std::max(most, floor);
  }
}

/// Largest error of a row over the tightest rival's error there: its largest error in the row plus half a unit in the last
/// place of the element.
double OutputErrors::excess(int index) const {
  const double unit = std::max(rounding_, epsilon(e_.format) / 2);
  double most = 0;
  for (int c = 0; c < o_.cols; ++c) {
    const double error = error_at(index, c);
    if (is_due(index, c)) continue;
    most =
        std::max(most, std::isnan(error) ? infinity : error / (tight_max_[at(index)] + unit * std::abs(golden_at(index, c))));
  }
  return most;
}

std::vector<int> OutputErrors::chosen(int count) const {
  const int rows = o_.rows;
  std::vector<int> order(at(rows));
  std::vector<double> worst(order.size());
  for (int i = 0; i < rows; ++i) {
    order[at(i)] = i;
    worst[at(i)] = excess(i);
  }
  if (count >= rows) return order;
  std::stable_sort(order.begin(), order.end(), [&](int x, int y) { return worst[at(x)] > worst[at(y)]; });
  std::set<int> picked(order.begin(), order.begin() + count / 2);
  for (std::uint64_t k = 0; k < 16 * static_cast<std::uint64_t>(count) && static_cast<int>(picked.size()) < count; ++k)
    picked.insert(static_cast<int>((k * 0x9e3779b97f4a7c15U >> 32) * static_cast<std::uint64_t>(rows) >> 32));
  return {picked.begin(), picked.end()};
}

std::optional<Fit> OutputErrors::fit_within(double most, const Fit& nothing, const ExpectedRow& expected,
                                            const std::vector<int>& indices) const {
  constexpr std::ptrdiff_t together = 4;
  Fit sum;
  for (auto first = indices.begin(); first != indices.end();) {
    const auto end = first + std::min(together, indices.end() - first);
    for (const Fit& f : fits(expected, {first, end})) sum.add(f);
    if (sum.left_square > most * nothing.error_square && 16 * sum.left_square > nothing.output_square) return {};
    first = end;
  }
  return sum;
}

Fit OutputErrors::fit(const ExpectedRow& expected, const std::vector<int>& indices) const {
  Fit sum;
  for (const Fit& f : fits(expected, indices)) sum.add(f);
  return sum;
}

std::vector<Fit> OutputErrors::fits(const ExpectedRow& expected, std::span<const int> indices) const {
  std::vector<Fit> fits(indices.size());
  const auto row_of = [cols = o_.cols](const Matrix& m, int index) {
    return m.values.data() + static_cast<std::ptrdiff_t>(index) * cols;
  };
  parallel_for(std::size_t{0}, indices.size(), [&](std::size_t i) {
    check();
    const int row = indices[i];
    std::vector<double> numbers(at(o_.cols));
    if (expected(row, numbers.data()))
      fits[i] = fit_of_row(row_of(o_, row), numbers.data(), row_of(*r_.golden, row), o_.cols, tight_rms_[at(row)]);
  });
  return fits;
}

double OutputErrors::rival_error(Experiment e) const {
  const AttentionShape s = shape_of(e.problem);
  e.problem.rows = std::clamp((1 << 22) / s.n_k, 1, s.n);
  const Method rivals[]{e_.b};
  return errors_of(e, rivals, {.cancelled = options_.cancelled, .threads = options_.threads})[0].max_abs;
}

void Fit::add(const Fit& x) {
  golden_square += x.golden_square;
  square += x.square;
  apart_square += x.apart_square;
  along += x.along;
  telling += x.telling;
  output_square += x.output_square;
  error_square += x.error_square;
  left_square += x.left_square;
  left += x.left;
  largest = std::max(largest, x.largest);
  size = std::max(size, x.size);
  compared += x.compared;
  unexplained += x.unexplained;
  rows += x.rows;
}

}  // namespace attoscope
