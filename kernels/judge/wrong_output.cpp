#include "kernels/judge/wrong_output.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <utility>

namespace attoscope {
namespace {

constexpr double least_drop = 1.5;  ///< least reduction of the error's root mean square in the wrong rows

/// Weights of a row in O and in l; hidden keys have 0.
struct Weights {
  std::vector<double> s, of_O, of_l, steps;  ///< steps: of `round_P`
  double sink = 0;
  bool any = false;
};

Weights weights_of(const MistakenKernel& kernel, int row) {
  const int n_k = kernel.head->shape.n_k;
  Weights w{.s = scores_of_all(*kernel.head, kernel.softmax, row), .of_O = {}, .of_l = {}, .steps = {}};
  const Keys visible = kernel.softmax.keys(row);
  double m = -infinity;
  for (int j = 0; j < n_k; ++j) {
    if (kernel.score) w.s[at(j)] = kernel.score(row, j, w.s[at(j)]);
    if (kernel.sees ? !kernel.sees(row, j) : !visible.contains(j)) w.s[at(j)] = -infinity;
    m = std::max(m, w.s[at(j)]);
  }
  w.any = m > -infinity;
  if (!w.any) return w;
  for (const double s : w.s) w.of_O.push_back(std::exp(s - m));
  w.of_l = w.of_O;
  for (int j = 0; j < n_k; ++j) {
    if (kernel.in_O) w.of_O[at(j)] = kernel.in_O(row, j, w.of_O[at(j)]);
    if (kernel.in_l) w.of_l[at(j)] = kernel.in_l(row, j, w.of_l[at(j)]);
  }
  w.sink = sink_weight(kernel.softmax, m);
  if (kernel.weights) kernel.weights(row, w.s, w.of_O, w.of_l);
  if (kernel.softmax.rounds.P)
    round_P(*kernel.softmax.rounds.P, *kernel.head, kernel.softmax.scale, row, {0, n_k}, w.s, w.of_O, &w.steps);
  return w;
}

}  // namespace

std::string rows_text(const std::vector<int>& rows) {
  const int span = rows.back() - rows.front() + 1, count = static_cast<int>(rows.size());
  if (5 * count >= 4 * span) return run_text("row", rows.front(), rows.back());
  for (int period = 16; period <= 256; period *= 2) {
    int first = period, last = -1;
    for (const int row : rows) {
      first = std::min(first, row % period);
      last = std::max(last, row % period);
    }
    if (2 * (last - first + 1) <= period && rows.back() - rows.front() >= period)
      return run_text("row", first, last) + " of every " + std::to_string(period);
  }
  return std::to_string(count) + " rows, the first " + std::to_string(rows.front());
}

RoundedRow rows_or_infinity(ExpectedRow expected, int columns) {
  return [expected = std::move(expected), columns](int row, double* out, double*) {
    if (!expected(row, out)) std::fill_n(out, columns, infinity);
  };
}

std::vector<int> spread_of(const std::vector<int>& rows, int count) {
  const std::size_t all = rows.size(), most = std::min(all, at(count));
  std::vector<int> chosen;
  for (std::size_t i = 0; i < most; ++i) chosen.push_back(rows[(2 * i + 1) * all / (2 * most)]);
  return chosen;
}

void add_key(std::vector<Keys>& runs, int key) {
  if (runs.empty() || runs.back().end != key) runs.push_back({key, key});
  runs.back().end = key + 1;
}

double dot(const double* x, const double* y, std::size_t count) {
  constexpr std::size_t chains = 8;
  double sums[chains] = {};
  std::size_t i = 0;
  for (; i + chains <= count; i += chains)
    for (std::size_t c = 0; c < chains; ++c) sums[c] += x[i + c] * y[i + c];
  for (; i < count; ++i) sums[i % chains] += x[i] * y[i];
  return std::accumulate(std::begin(sums), std::end(sums), 0.0);
}

std::vector<double> solved(std::vector<double> a, std::vector<double> b) {
  const std::size_t n = b.size();
  double largest = 0;
  for (std::size_t i = 0; i < n; ++i) largest = std::max(largest, a[i * n + i]);
  for (std::size_t i = 0; i < n; ++i) a[i * n + i] += 1e-9 * largest + 1e-300;
  for (std::size_t i = 0; i < n; ++i) {
    double* x = &a[i * n];
    for (std::size_t j = 0; j <= i; ++j) {
      const double* y = &a[j * n];
      const double sum = x[j] - dot(x, y, j);
      x[j] = j == i ? std::sqrt(std::max(sum, 1e-300)) : sum / y[j];
    }
    for (std::size_t j = 0; j < i; ++j) b[i] -= x[j] * b[j];
    b[i] /= x[i];
  }
  for (std::size_t i = n; i-- > 0;) {
    for (std::size_t j = i + 1; j < n; ++j) b[i] -= a[j * n + i] * b[j];
    b[i] /= a[i * n + i];
  }
  return b;
}

WrongOutput::WrongOutput(const JudgedOutput& output, const Judged& judged, const Result& result, const OtherHeads& heads,
                         const Options& options)
    : output_(output), judged_(judged), result_(result), heads_(heads), options_(&options) {
  right_.rounds = judged.rounds;
  for (int i = 0; i < golden().rows; ++i)
    if (judged.head.row_ratio[at(i)] > 1) wrong_.push_back(i);
}

bool WrongOutput::is_wrong(int row, int c) const {
  const double o = output(row)[c];
  return !judged_.tolerance.is_due(row, c, o, golden_row(row)[c]) &&
         !(std::abs(o - golden_row(row)[c]) <= judged_.tolerance.of(row, c, o));
}

void WrongOutput::check() const {
  if (options_->cancelled && options_->cancelled()) throw Stopped{};
}

RoundedRow WrongOutput::as_stored(const RoundedRow& expected) const {
  return [expected, &t = judged_.tolerance](int row, double* out, double* slack) {
    expected(row, out, slack);
    if (!slack) return;
    for (int c = 0; c < t.golden.cols; ++c)
      if (std::abs(out[c]) > std::abs(t.golden(row, c)) && std::isfinite(out[c]))
        slack[c] += (t.spacing(row, c, out[c]) - t.spacing(row, c, t.golden(row, c))) / 2;
  };
}

bool WrongOutput::fits(int row, const RoundedRow& expected) const {
  check();
  return row_ratio(judged_.tolerance, values(), row, as_stored(expected)) <= 1;
}

bool WrongOutput::may_be(int row, const std::vector<double>& o, double l) const {
  double far = 0, size = 0, effect = 0;
  for (int c = 0; c < golden().cols; ++c) {
    const double y = output(row)[c], right = golden_row(row)[c], x = o[at(c)] / l;
    far += square(y - x);
    size += square(y - right);
    effect += square(x - right);
  }
  return effect > 0 && far < 0.04 * size;
}

double WrongOutput::more_tolerated(int row, int c, double weight) const {
  return judged_.tolerance.factor[at(row)] * std::max(0.0, weight - judged_.tolerance.weight(row, c));
}

RoundedRow WrongOutput::rows_of(MistakenKernel kernel) const {
  return [kernel = std::move(kernel), this](int row, double* out, double* slack) {
    check();
    const int columns = kernel.head->shape.d_v;
    std::fill_n(out, columns, std::nan(""));
    const Weights w = weights_of(kernel, row);
    if (!w.any) return;
    double l = w.sink;
    for (const double e : w.of_l) l += e;
    std::vector<double> square(at(columns));
    std::fill_n(out, columns, 0.0);
    for (std::size_t j = 0; j < w.of_O.size(); ++j) {
      const double P = w.of_O[j] / l, *v = kernel.head->v.data() + j * at(columns);
      if (P == 0) continue;
      for (int c = 0; c < columns; ++c) {
        out[c] += P * v[c];
        square[at(c)] += P * P * v[c] * v[c];
      }
    }
    if (!slack) return;
    const KernelRounding& rounds = kernel.softmax.rounds;
    if (rounds.P) add_slack_of_P(*kernel.head, *rounds.P, w.steps, l, {0, kernel.head->shape.n_k}, out, slack);
    for (int c = 0; c < columns; ++c) {
      const double weight = std::sqrt(square[at(c)]);
      slack[c] += more_tolerated(row, c, weight) + judged_.tolerance.factor[at(row)] * kernel.slack * weight;
    }
  };
}

MistakenKernel WrongOutput::kernel_of(Tensors tensors) const {
  return {.head = std::make_shared<const VariantHead>(variant_head(std::move(tensors))), .softmax = right_};
}

MistakenKernel WrongOutput::kernel_with(TensorsPart part, std::vector<double> numbers) const {
  return {.head = std::make_shared<const VariantHead>(with_part(*head_, part, std::move(numbers))), .softmax = right_};
}

/// True if the remaining error in the wrong rows is small compared with the output and with the error.
bool WrongOutput::leaves_little(const Matrix& expected) const {
  double square = 0, error = 0, left = 0;
  for (const int row : wrong_)
    for (int c = 0; c < golden().cols; ++c) {
      const double o = output(row)[c], x = expected(row, c);
      if (!std::isfinite(o) || !std::isfinite(x)) continue;
      square += o * o;
      error += std::pow(o - golden_row(row)[c], 2);
      left += std::pow(o - x, 2);
    }
  return 16 * left <= square && least_drop * least_drop * left <= error;
}

std::optional<Slip> WrongOutput::named(Slip::Kind kind, const std::string& text, const RoundedRow& expected) const {
  for (const int row : some(3))
    if (!fits(row, expected)) return {};
  const int columns = golden().cols;
  const auto rows = std::make_shared<Matrix>(Matrix{golden().rows, columns, std::vector<double>(values().size())});
  const RoundedRow kept = [&](int row, double* out, double* slack) {
    expected(row, out, slack);
    std::copy_n(out, columns, &rows->values[at(row) * at(columns)]);
  };
  const double ratio = ratio_to(output_, judged_, as_stored(kept), *options_);
  if (!std::isfinite(ratio) || !leaves_little(*rows)) return {};
  return Slip{.kind = kind, .text = text, .ratio = ratio, .output = rows_of_matrix(rows)};
}

std::optional<Slip> WrongOutput::named_in_rows(Slip::Kind kind, const std::string& text, const RoundedRow& expected) const {
  for (const int row : some(4))
    if (!fits(row, expected)) return {};
  for (const int row : wrong_)
    if (!fits(row, expected)) return {};
  if (std::optional<Slip> everywhere = named(kind, text, expected)) return everywhere;
  int first = wrong_.front();
  while (first % 16 != 0 && fits(first - 1, expected)) --first;
  std::vector<int> rows = wrong_;
  if (first != rows.front()) rows.insert(rows.begin(), first);
  const RoundedRow there = [expected, this](int row, double* out, double* slack) {
    if (std::ranges::binary_search(wrong_, row)) return expected(row, out, slack);
    std::copy_n(golden_row(row), golden().cols, out);
  };
  return named(kind, text + ", in " + rows_text(rows) + " alone", there);
}

}  // namespace attoscope
