#include "kernels/judge/fits.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <memory>
#include <numbers>
#include <numeric>
#include <vector>

#include "kernels/judge/key_counts.h"
#include "kernels/slips/softmax_variant.h"

namespace attoscope {
namespace {

using Kind = Slip::Kind;

constexpr int most_rows = 48, most_steps = 16, whole_roots = 4096;

std::size_t at(int i) { return static_cast<std::size_t>(i); }

std::string number_text(double x) {
  char text[32];
  std::snprintf(text, sizeof text, "%.4g", x);
  return text;
}

/// " = 1/sqrt(96)", " = the right one times log2 e"; "" where the number says nothing.
std::string meaning_of(double scale, double right) {
  const double square = 1 / (scale * scale), whole = std::round(square);
  if (whole >= 1 && whole <= whole_roots && std::abs(square / whole - 1) < 2e-3)
    return whole == 1 ? "" : " = 1/sqrt(" + std::to_string(static_cast<int>(whole)) + ")";
  constexpr std::array<std::pair<double, const char*>, 4> factors{
      {{std::numbers::log2e, "log2 e"}, {std::numbers::ln2, "ln 2"}, {2, "2"}, {0.5, "1/2"}}};
  for (const auto& [factor, text] : factors)
    if (std::abs(scale / right / factor - 1) < 2e-3) return std::string(" = the right one times ") + text;
  return "";
}

class Fits {
 public:
  Fits(const JudgedOutput& output, const Judged& judged, const Options& options)
      : output_(output),
        judged_(judged),
        options_(options),
        golden_(judged.tolerance.golden),
        o_(*output.values),
        right_(right_softmax(output.problem)),
        head_(std::make_shared<const VariantHead>(variant_head(*output.problem.input.tensors))) {
    std::vector<int> wrong;
    for (int i = 0; i < golden_.rows; ++i)
      if (judged.head.row_ratio[at(i)] > 1) wrong.push_back(i);
    const int step = std::max(1, (static_cast<int>(wrong.size()) + most_rows - 1) / most_rows);
    for (std::size_t i = 0; i < wrong.size(); i += at(step)) rows_.push_back(wrong[i]);
  }

  std::optional<Slip> slip() const {
    if (rows_.empty() || judged_.head.nonfinite > 0) return {};
    for (const auto fit : {&Fits::scale, &Fits::offset_of_l, &Fits::factor, &Fits::key_counts, &Fits::multiples})
      if (std::optional<Slip> slip = (this->*fit)()) return slip;
    return {};
  }

 private:
  const double* output(int row) const { return o_.data() + at(row) * at(golden_.cols); }
  const double* truth(int row) const { return golden_.values.data() + at(row) * at(golden_.cols); }

  /// True if what is left in the wrong rows is small against the output, and so much smaller than the error was.
  bool leaves_little(const RoundedRow& expected, double least_drop) const {
    std::vector<double> row(at(golden_.cols)), slack(row.size());
    double square = 0, error = 0, left = 0;
    for (const int i : rows_) {
      expected(i, row.data(), slack.data());
      for (int c = 0; c < golden_.cols; ++c) {
        const double o = output(i)[c];
        square += o * o, error += (o - truth(i)[c]) * (o - truth(i)[c]), left += (o - row[at(c)]) * (o - row[at(c)]);
      }
    }
    return 16 * left <= square && least_drop * least_drop * left <= error;
  }

  std::optional<Slip> named(Kind kind, std::string text, const RoundedRow& expected, double least_drop = 0) const {
    const double ratio = ratio_to(output_, judged_, expected, options_);
    if (!std::isfinite(ratio) || !leaves_little(expected, least_drop)) return {};
    const ExpectedRow output = [expected](int row, double* out) {
      expected(row, out, nullptr);
      return true;
    };
    return std::make_optional(Slip{.kind = kind, .text = std::move(text), .ratio = ratio, .output = output, .mask = {}});
  }

  RoundedRow times_of_row(std::function<double(int row)> factor) const {
    return [golden = std::make_shared<const Matrix>(golden_), factor = std::move(factor)](int row, double* out, double*) {
      for (int c = 0; c < golden->cols; ++c) out[c] = factor(row) * (*golden)(row, c);
    };
  }

  /// The scale by Gauss and Newton's steps.
  std::optional<Slip> scale() const {
    SoftmaxVariant variant = right_, moved = right_;
    constexpr double change = 0x1p-16;
    std::vector<double> out(at(golden_.cols)), further = out;
    for (int step = 0; step < most_steps; ++step) {
      moved.scale = variant.scale * (1 + change);
      double along = 0, square = 0;
      for (const int row : rows_) {
        attend(*head_, variant, row, out.data());
        attend(*head_, moved, row, further.data());
        for (int c = 0; c < golden_.cols; ++c) {
          const double slope = (further[at(c)] - out[at(c)]) / change;
          along += (output(row)[c] - out[at(c)]) * slope, square += slope * slope;
        }
      }
      if (!(square > 0)) return {};
      const double by = std::clamp(along / square, -0.5, 1.0);
      variant.scale *= 1 + by;
      if (std::abs(by) < 1e-7) break;
    }
    if (!std::isfinite(variant.scale) || variant.scale == right_.scale) return {};
    const std::string text = "scores were multiplied by " + number_text(variant.scale) +
                             meaning_of(variant.scale, right_.scale) + " instead of " + number_text(right_.scale);
    return named(Kind::number, text, [head = head_, variant](int row, double* o, double*) { attend(*head, variant, row, o); });
  }

  /// sum exp(S), times exp(-m) where that is too large.
  std::vector<double> sums_of_exp() const {
    std::vector<double> sums;
    for (int row = 0; row < golden_.rows; ++row) sums.push_back(sum_of_exp(*head_, right_, row));
    return sums;
  }

  /// l + x instead of l in every row: O (l + x) = truth l.
  std::optional<Slip> offset_of_l() const {
    const auto L = std::make_shared<const std::vector<double>>(sums_of_exp());
    double along = 0, square = 0;
    for (const int row : rows_)
      for (int c = 0; c < golden_.cols; ++c) {
        const double o = output(row)[c], slope = o / (*L)[at(row)];
        along += slope * (truth(row)[c] - o), square += slope * slope;
      }
    const double x = along / square;
    if (!std::isfinite(x) || x == 0) return {};
    const std::string text = "l is too " + std::string(x > 0 ? "large" : "small") + " by " + number_text(std::abs(x)) +
                             " exp(0), the same in all rows" +
                             (x > 0 ? ", as so many keys of score 0 and value 0 make it" : "");
    return named(Kind::row_factor, text, times_of_row([L, x](int row) { return (*L)[at(row)] / ((*L)[at(row)] + x); }));
  }

  double factor_of(int row) const {
    double along = 0, square = 0;
    for (int c = 0; c < golden_.cols; ++c) along += output(row)[c] * truth(row)[c], square += truth(row)[c] * truth(row)[c];
    return square > 0 ? along / square : 1;
  }

  std::optional<Slip> factor() const {
    double along = 0, square = 0;
    for (const int row : rows_)
      for (int c = 0; c < golden_.cols; ++c) along += output(row)[c] * truth(row)[c], square += truth(row)[c] * truth(row)[c];
    const double f = along / square;
    if (!std::isfinite(f) || f == 0) return {};
    return named(Kind::row_factor, "the output is " + number_text(f) + " times the truth",
                 times_of_row([f](int) { return f; }));
  }

  std::optional<Slip> key_counts() const {
    const KeyCounts counts = fitted_counts(*head_, right_, o_, rows_, options_);
    if (counts.text.empty()) return {};
    return named(Kind::key_counts, counts.text, [head = head_, right = right_, counts](int row, double* out, double*) {
      attend(*head, right, counts, row, out);
    });
  }

  /// Rows alone, each with its own factor, where enough columns say that it is one.
  std::optional<Slip> multiples() const {
    if (rows_.size() < 2 || golden_.cols < 8) return {};
    auto factors = std::make_shared<std::vector<double>>();
    for (int row = 0; row < golden_.rows; ++row) factors->push_back(judged_.head.row_ratio[at(row)] > 1 ? factor_of(row) : 1);
    double least = std::numeric_limits<double>::infinity(), most = -least;
    for (const int row : rows_) least = std::min(least, (*factors)[at(row)]), most = std::max(most, (*factors)[at(row)]);
    return named(Kind::row_factor,
                 "each wrong row is the truth times a number, " + number_text(least) + " to " + number_text(most) +
                     ": its l is wrong, or belongs to another row",
                 times_of_row([factors](int row) { return (*factors)[at(row)]; }), 3);
  }

  const JudgedOutput& output_;
  const Judged& judged_;
  const Options& options_;
  const Matrix& golden_;
  const std::vector<double>& o_;
  SoftmaxVariant right_;
  std::shared_ptr<const VariantHead> head_;
  std::vector<int> rows_;  ///< wrong ones, spread over all
};

}  // namespace

std::optional<Slip> fitted_slip(const JudgedOutput& output, const Judged& judged, const Options& options) {
  return Fits(output, judged, options).slip();
}

}  // namespace attoscope
