// Finds keys that are not the call's: their K and V are not in its tensors, but they change all rows that see them.
#include <algorithm>
#include <cmath>

#include "kernels/judge/wrong_output.h"

namespace attoscope {
namespace {

using Kind = Slip::Kind;

/// `rank` orthonormal vectors of `columns` numbers that span most of the rows of x, by power iteration with x^T x.
std::vector<double> main_directions(const std::vector<double>& x, int columns, int rank, std::vector<double> start) {
  const auto n = at(columns);
  std::vector<double> square(n * n);
  for (std::size_t row = 0; row < x.size() / n; ++row)
    for (std::size_t c = 0; c < n; ++c)
      for (std::size_t k = 0; k <= c; ++k) square[c * n + k] += x[row * n + c] * x[row * n + k];
  for (std::size_t c = 0; c < n; ++c)
    for (std::size_t k = 0; k < c; ++k) square[k * n + c] = square[c * n + k];
  for (int step = 0; step < 4; ++step) {
    std::vector<double> next(start.size());
    for (int r = 0; r < rank; ++r) {
      double* y = &next[at(r) * n];
      for (std::size_t c = 0; c < n; ++c) y[c] = dot(&square[c * n], &start[at(r) * n], n);
      for (int q = 0; q < r; ++q) {
        const double product = dot(y, &next[at(q) * n], n);
        for (std::size_t c = 0; c < n; ++c) y[c] -= product * next[at(q) * n + c];
      }
      const double length = std::sqrt(dot(y, y, n)) + 1e-300;
      for (std::size_t c = 0; c < n; ++c) y[c] /= length;
    }
    start = std::move(next);
  }
  return start;
}

/// Model O (l + x) = T + W B: each row also attends to some keys with unknown weights W, of sum x, and unknown values B. T and
/// l come from the call's keys, except `without`.
class ForeignKeys {
 public:
  /// Keys of `without` are left out.
  ForeignKeys(const WrongOutput& wrong, int rank, Keys without)
      : wrong_(wrong), rank_(rank), columns_(wrong.golden().cols), without_(without) {
    for (const int row : wrong.some(most_rows)) {
      wrong.check();
      rows_.push_back(equation(row));
      size_ += error_of(rows_.back());
    }
    for (int i = 0; i < rank_ * columns_; ++i) b_.push_back(std::cos(1.7 * i * i + i));
  }

  NamedSlip named(const std::string& text) {
    double before = 0;
    for (int step = 0; step < most_steps; ++step) {
      wrong_.check();
      std::vector<double> rest;
      for (const Equation& e : rows_)
        for (int c = 0; c < columns_; ++c) rest.push_back(e.y[at(c)] + e.x * wrong_.output(e.row)[c]);
      b_ = main_directions(rest, columns_, rank_, std::move(b_));
      double left = 0;
      for (Equation& e : rows_) left += solve(e);
      if (step >= 4 && left > 0.1 * size_) return {};
      if (step > 8 && std::abs(left - before) <= 1e-3 * left) break;
      before = left;
    }
    return wrong_.named(Kind::place, text, [this](int row, double* out, double*) { expect(row, out); });
  }

 private:
  static constexpr int most_steps = 60, most_rows = 256;

  /// y = O l - T; x is set by `solve`.
  struct Equation {
    int row = 0;
    double l = 0, x = 0;
    std::vector<double> y;
  };

  Equation equation(int row) const {
    const std::vector<double> s = scores(*wrong_.head(), wrong_.right(), row);
    const Keys keys = wrong_.right().keys(row);
    double m = -infinity;
    for (int j = keys.first; j < keys.end; ++j) m = std::max(m, s[at(j)]);
    Equation e{.row = row, .y = std::vector<double>(at(columns_))};
    for (int j = keys.first; j < keys.end; ++j) {
      if (without_.contains(j)) continue;
      const double P = std::exp(s[at(j)] - m), *v = &wrong_.head()->v[at(j) * at(columns_)];
      e.l += P;
      for (int c = 0; c < columns_; ++c) e.y[at(c)] -= P * v[c];
    }
    e.l += sink_weight(wrong_.right(), m);
    for (int c = 0; c < columns_; ++c) e.y[at(c)] += e.l * wrong_.output(row)[c];
    return e;
  }
  double error_of(const Equation& e) const {
    double square = 0;
    for (int c = 0; c < columns_; ++c) square += std::pow(e.l * (wrong_.output(e.row)[c] - wrong_.golden_row(e.row)[c]), 2);
    return square;
  }

  /// The component of a vector orthogonal to the directions.
  std::vector<double> outside(const double* x) const {
    std::vector<double> y(x, x + columns_);
    for (int r = 0; r < rank_; ++r) {
      const double* const direction = &b_[at(r * columns_)];
      const double product = dot(x, direction, at(columns_));
      for (int c = 0; c < columns_; ++c) y[at(c)] -= product * direction[c];
    }
    return y;
  }

  /// Sets x; returns the squared residual.
  double solve(Equation& e) const {
    const std::vector<double> y = outside(e.y.data()), o = outside(wrong_.output(e.row));
    const double square = dot(o.data(), o.data(), o.size());
    double left = 0;
    e.x = square > 0 ? std::max(0.0, -dot(y.data(), o.data(), o.size()) / square) : 0;
    for (int c = 0; c < columns_; ++c) left += std::pow(y[at(c)] + e.x * o[at(c)], 2);
    return left;
  }

  void expect(int row, double* out) const {
    Equation e = equation(row);
    std::copy_n(wrong_.golden_row(row), columns_, out);
    if (!std::ranges::binary_search(wrong_.wrong(), row)) return;
    solve(e);
    std::vector<double> sum(at(columns_));
    for (int c = 0; c < columns_; ++c) sum[at(c)] = e.y[at(c)] + e.x * wrong_.output(row)[c];
    const std::vector<double> rest = outside(sum.data());
    for (int c = 0; c < columns_; ++c) out[c] = wrong_.output(row)[c] - rest[at(c)] / (e.l + e.x);
  }

  const WrongOutput& wrong_;
  int rank_, columns_;
  Keys without_;
  double size_ = 0;  ///< squared error of all these rows
  std::vector<Equation> rows_;
  std::vector<double> b_;
};

}  // namespace

NamedSlip foreign_key_fit(const WrongOutput& wrong) {
  const int columns = wrong.golden().cols, n_k = wrong.head()->shape.n_k;
  if (wrong.wrong().size() < 64 || n_k > 4096) return {};
  for (const int rank : {1, 2, 4, 8, 16}) {
    if (3 * rank > columns) break;
    const std::string text = rank == 1 ? "a key that is not the call's is attended, too"
                                       : "up to " + std::to_string(rank) + " keys that are not the call's are attended, too";
    if (NamedSlip slip = ForeignKeys(wrong, rank, {}).named(text)) return slip;
  }
  if (3 * 16 > columns || n_k > 512) return {};
  for (int first = 0; first < n_k; first += 16) {
    const Keys run{first, std::min(n_k, first + 16)};
    if (NamedSlip slip =
            ForeignKeys(wrong, 16, run)
                .named(run_text("key", run.first, run.end - 1, " is not the call's: its K and V were read elsewhere",
                                " are not the call's: their K and V were read elsewhere")))
      return with_keys(std::move(slip), {run});
  }
  return {};
}

}  // namespace attoscope
