// Names mistakes that are in no list: fits the mistake as a number, as counts of keys, as places, as steps of the loop over
// tiles, as roundings, or as factors of rows.
#include <algorithm>
#include <array>
#include <atomic>
#include <cmath>
#include <exception>
#include <memory>
#include <numbers>
#include <vector>

#include "kernels/experiment/text.h"
#include "kernels/judge/wrong_output.h"
#include "kernels/parallel/parallel.h"

namespace attoscope {
namespace {

using Kind = Slip::Kind;

constexpr int most_rows = 48, most_steps = 24, whole_roots = 4096, most_scaled_keys = 384;

/// " = 1/sqrt(96)", " = the right one times log2 e"; "" if no such form fits.
std::string meaning_of(double scale, double right) {
  const double square = 1 / (scale * scale), whole = std::round(square);
  constexpr std::array<std::pair<double, const char*>, 5> factors{
      {{std::numbers::log2e, "log2 e"},
       {std::numbers::ln2, "ln 2"},
       {2, "2"},
       {0.5, "1/2"},
       {1.4453125 / std::numbers::log2e, "log2 e in bf16 over log2 e"}}};
  for (const auto& [factor, text] : factors)
    if (std::abs(scale / right / factor - 1) < 5e-4) return std::string(" = the right one times ") + text;
  if (whole > 1 && whole <= whole_roots && whole * right * right != 1 && std::abs(square / whole - 1) < 2e-3)
    return " = 1/sqrt(" + std::to_string(static_cast<int>(whole)) + ")";
  return "";
}

/// The number rounded to two digits and to three, if that changes it by at most 1 %, and the number itself.
std::vector<double> rounder(double x) {
  std::vector<double> all;
  for (const int digits : {2, 3})
    if (const auto y = to_number<double>(shortest(x, std::chars_format::general, digits));
        y && std::abs(*y - x) <= 1e-2 * std::abs(x))
      all.push_back(*y);
  all.push_back(x);
  return all;
}

/// Sets the fitted number of the softmax.
using SetNumber = std::function<void(SoftmaxVariant&, double)>;
using NumberText = std::function<std::string(double)>;
void set_scale(SoftmaxVariant& v, double x) { v.scale = x; }

/// Factor that brings golden's rows nearest to the output; 1 if they are 0.
double factor_of(const WrongOutput& wrong, const std::vector<int>& rows) {
  double along = 0, square = 0;
  for (const int row : rows)
    for (int c = 0; c < wrong.golden().cols; ++c) {
      along += wrong.output(row)[c] * wrong.golden_row(row)[c];
      square += wrong.golden_row(row)[c] * wrong.golden_row(row)[c];
    }
  return square > 0 ? along / square : 1;
}

class NumberFits {
 public:
  explicit NumberFits(const WrongOutput& wrong)
      : wrong_(wrong), right_(wrong.right()), rows_(wrong.some(most_rows)), columns_(wrong.golden().cols) {}

  NamedSlip slip() const {
    for (const auto fit :
         {&NumberFits::scale, &NumberFits::slope, &NumberFits::soft_cap, &NumberFits::offset_of_l, &NumberFits::factor,
          &NumberFits::scale_and_factor, &NumberFits::columns_of_scores, &NumberFits::bound,
          // a bound may look like a narrow soft cap
          &NumberFits::added_soft_cap})
      if (NamedSlip slip = (this->*fit)()) return slip;
    return {};
  }

 private:
  MistakenKernel kernel_with(const SetNumber& set, double x) const {
    MistakenKernel kernel = wrong_.right_kernel();
    set(kernel.softmax, x);
    return kernel;
  }
  NamedSlip named_with(const SetNumber& set, double x, const std::string& text) const {
    return wrong_.named(Kind::number, text, wrong_.rows_of(kernel_with(set, x)));
  }
  RoundedRow times_of_row(std::function<double(int row)> factor) const {
    return [&wrong = wrong_, factor = std::move(factor)](int row, double* out, double*) {
      const double f = factor(row);
      for (int c = 0; c < wrong.golden().cols; ++c) out[c] = f * wrong.golden_row(row)[c];
    };
  }

  /// Fits a number by Gauss-Newton steps from x on. With `has_factor` also fits a factor of the whole output.
  struct Fitted {
    double x = 0, factor = 1;
  };
  std::optional<Fitted> fitted(double x, double largest_step, const SetNumber& set, bool has_factor = false) const {
    Fitted f{.x = x};
    std::vector<double> out(at(columns_)), nearer = out, further = out;
    for (int step = 0; step < most_steps; ++step) {
      SoftmaxVariant here = right_, there = right_;
      there.rounds.P.reset();  // rounded P has no slope
      const double change = std::max(std::abs(f.x), 1e-3) * 0x1p-16;
      set(here, f.x);
      set(there, f.x + change);
      std::optional<SoftmaxVariant> smooth;
      if (right_.rounds.P) set(smooth.emplace(there), f.x);
      double along = 0, square = 0, of_factor = 0, of_out = 0, both = 0, rest = 0;
      for (const int row : rows_) {
        wrong_.check();
        attend(*wrong_.head(), here, row, out.data());
        attend(*wrong_.head(), there, row, further.data());
        nearer = out;
        if (smooth) attend(*wrong_.head(), *smooth, row, nearer.data());
        for (int c = 0; c < columns_; ++c) {
          const double slope = f.factor * (further[at(c)] - nearer[at(c)]) / change,
                       error = wrong_.output(row)[c] - f.factor * out[at(c)];
          if (!std::isfinite(error) || !std::isfinite(slope)) continue;
          along += error * slope;
          square += slope * slope;
          rest += error * error;
          of_factor += error * out[at(c)];
          of_out += out[at(c)] * out[at(c)];
          both += slope * out[at(c)];
        }
      }
      const double determinant = has_factor ? square * of_out - both * both : square;
      if (!(determinant > 0)) return {};
      double by = has_factor ? (along * of_out - of_factor * both) / determinant : along / square;
      if (has_factor) f.factor += std::clamp((of_factor * square - along * both) / determinant, -0.5, 0.5);
      by = std::clamp(by, -largest_step * std::abs(f.x), 2 * largest_step * std::abs(f.x));
      f.x += by;
      if (std::abs(by) < 1e-7 * std::abs(f.x)) break;
    }
    if (!std::isfinite(f.x) || !std::isfinite(f.factor)) return {};
    return f;
  }

  NamedSlip with_number(const std::optional<Fitted>& found, const SetNumber& set, const NumberText& text) const {
    if (!found) return {};
    for (const double x : rounder(found->x))
      if (NamedSlip slip = named_with(set, x, text(x))) return slip;
    return {};
  }

  NamedSlip scale() const {
    const std::optional<Fitted> found = fitted(right_.scale, 0.5, set_scale);
    if (!found || found->x == right_.scale) return {};
    return named_with(set_scale, found->x,
                      "scores were multiplied by " + four_digits(found->x) + meaning_of(found->x, right_.scale) +
                          " instead of " + four_digits(right_.scale));
  }

  NamedSlip slope() const {
    const SetNumber set = [](SoftmaxVariant& v, double x) { v.alibi = x; };
    const double right = right_.alibi;
    const auto text = [right](double x) {
      int exponent = 0;
      const bool power = std::frexp(x, &exponent) == 0.5;
      return "an ALiBi slope of " + four_digits(x) + (power && x < 1 ? " = 2^" + std::to_string(exponent - 1) : "") +
             (right == 0 ? ", where none is wanted" : " instead of " + four_digits(right));
    };
    return with_number(fitted(right == 0 ? 0.02 : right, 0.5, set), set, text);
  }

  NamedSlip soft_cap() const {
    if (right_.softcap == 0) return {};
    return soft_cap_near(right_.softcap, " instead of " + four_digits(right_.softcap));
  }
  NamedSlip added_soft_cap() const {
    if (right_.softcap != 0) return {};
    return soft_cap_near(largest_score(), ", where none is wanted");
  }
  NamedSlip soft_cap_near(double first, const std::string& behind) const {
    const SetNumber set = [](SoftmaxVariant& v, double x) { v.softcap = x; };
    return with_number(fitted(first, 0.5, set), set,
                       [&behind](double x) { return "a soft cap of " + four_digits(x) + behind; });
  }

  double largest_score() const {
    double largest = 0;
    for (const int row : rows_) {
      wrong_.check();
      for (const double s : scores(*wrong_.head(), right_, row))
        if (std::abs(s) < 1e30) largest = std::max(largest, std::abs(s));  // no NaN, and no lowest number of a mask
    }
    return largest;
  }

  /// Fits l + x instead of l in every row: O (l + x) = golden l.
  NamedSlip offset_of_l() const {
    const auto l_of = [this](int row) { return sum_of_exp(*wrong_.head(), right_, row); };
    double along = 0, square = 0;
    for (const int row : rows_) {
      wrong_.check();
      const double l = l_of(row);
      for (int c = 0; c < columns_; ++c) {
        const double o = wrong_.output(row)[c], slope = o / l;
        along += slope * (wrong_.golden_row(row)[c] - o);
        square += slope * slope;
      }
    }
    const double x = along / square;
    if (!std::isfinite(x) || x == 0) return {};
    if (right_.sink)
      if (NamedSlip slip = other_sink(*right_.sink, std::log(std::exp(*right_.sink) + x))) return slip;
    const std::string text = "l is too " + std::string(x > 0 ? "large" : "small") + " by " + four_digits(std::abs(x)) +
                             " exp(0), the same in all rows" +
                             (x > 0 ? ", as if that many keys of score 0 and value 0 counted" : "");
    return wrong_.named(Kind::row_factor, text, times_of_row([l_of, x](int row) {
                          const double l = l_of(row);
                          return l / (l + x);
                        }));
  }

  NamedSlip other_sink(double right, double sink) const {
    if (!std::isfinite(sink)) return {};
    const SetNumber set = [](SoftmaxVariant& v, double x) { v.sink = x; };
    const double times = std::exp(sink - right), whole = std::round(times);
    if (whole >= 2 && whole <= 64 && std::abs(times / whole - 1) < 0.02) {
      const std::string count = std::to_string(static_cast<int>(whole));
      if (NamedSlip slip =
              named_with(set, right + std::log(whole),
                         "the sink counts " + count + " times, as if it were added in each of " + count + " splits"))
        return slip;
    }
    const std::array<std::pair<double, const char*>, 4> factors{{{right_.scale, "the scale"},
                                                                 {1 / right_.scale, "1 over the scale"},
                                                                 {std::numbers::log2e, "log2 e"},
                                                                 {std::numbers::ln2, "ln 2"}}};
    const std::string instead = " instead of " + four_digits(right);
    for (const auto& [factor, text] : factors)
      if (std::abs(sink / right / factor - 1) < 0.01)
        if (NamedSlip slip = named_with(
                set, right * factor, "a sink of " + four_digits(right * factor) + " = the right one times " + text + instead))
          return slip;
    return with_number(Fitted{.x = sink}, set, [instead](double x) { return "a sink of " + four_digits(x) + instead; });
  }

  NamedSlip factor() const {
    const double f = factor_of(wrong_, rows_);
    if (!std::isfinite(f) || f == 0) return {};
    return times_golden(f, wrong_.right_kernel(), "");
  }
  /// The tolerance is scaled with the output.
  NamedSlip times_golden(double f, MistakenKernel kernel, const std::string& before) const {
    kernel.in_O = [f](int, int, double e) { return f * e; };
    return wrong_.named(before.empty() ? Kind::row_factor : Kind::number,
                        before + "the output is " + four_digits(f) + " times golden", wrong_.rows_of(std::move(kernel)));
  }

  NamedSlip scale_and_factor() const {
    const std::optional<Fitted> found = fitted(right_.scale, 0.5, set_scale, true);
    if (!found || !(found->x > 0)) return {};
    return times_golden(found->factor, kernel_with(set_scale, found->x),
                        "scores were multiplied by " + four_digits(found->x) + " instead of " + four_digits(right_.scale) +
                            ", and with such scores ");
  }

  /// Fits S = sum over groups of columns of a q.k by Gauss-Newton steps; a correct kernel has factors a = 1.
  NamedSlip columns_of_scores() const {
    const Tensors& t = wrong_.tensors();
    if (right_.softcap != 0 || t.d < 2 || t.d % 8 != 0) return {};
    const int width = std::max(8, t.d / 32 / 8 * 8);
    std::vector<double> a(at((t.d + width - 1) / width), 1);
    const auto scaled = [&](const std::vector<double>& by) {
      std::vector<double> q = t.q;
      for (std::size_t i = 0; i < q.size(); ++i) q[i] *= by[i % at(t.d) / at(width)];
      return wrong_.kernel_with(&Tensors::q, std::move(q));
    };
    const std::vector<int> rows = wrong_.some(t.n_k > 1024 ? 8 : 24);
    for (int step = 0; step < 12; ++step) {
      const std::vector<double> by = change_of_columns(scaled(a), width, rows);
      double most = 0;
      for (std::size_t g = 0; g < a.size(); ++g) {
        a[g] += std::clamp(by[g], -0.7, 0.7);
        most = std::max(most, std::abs(by[g]));
      }
      if (!(most < 10)) return {};
      if (most < 1e-4) break;
    }
    for (double& x : a)
      if (std::abs(x - std::round(x)) < 0.08) x = std::round(x);
    const std::string text = columns_text(a, width);
    if (text.empty() || text.size() > 200) return {};
    return wrong_.named(Kind::number, text, wrong_.rows_of(scaled(a)));
  }

  /// Change of the factors of groups of `width` columns in q.k that brings the kernel's rows nearest to the output (least
  /// squares).
  std::vector<double> change_of_columns(const MistakenKernel& kernel, int width, const std::vector<int>& rows) const {
    const Tensors& t = wrong_.tensors();
    const std::size_t groups = at((t.d + width - 1) / width);
    std::vector<double> square(groups * groups), along(groups), out(at(t.d_v));
    for (const int row : rows) {
      wrong_.check();
      const std::vector<double> P = weights(*kernel.head, right_, row);
      attend(*kernel.head, right_, row, out.data());
      if (!std::isfinite(out[0])) continue;
      std::vector<double> slope(groups * at(t.d_v));
      for (int j = 0; j < t.n_k; ++j) {
        if (P[at(j)] == 0) continue;
        for (std::size_t g = 0; g < groups; ++g) {
          double s = 0;
          for (int c = static_cast<int>(g) * width; c < std::min(t.d, (static_cast<int>(g) + 1) * width); ++c)
            s += t.q[at(row * t.d + c)] * t.k[at(j * t.d + c)];
          s *= right_.scale * P[at(j)];
          for (int c = 0; c < t.d_v; ++c) slope[g * at(t.d_v) + at(c)] += s * (t.v[at(j * t.d_v + c)] - out[at(c)]);
        }
      }
      for (std::size_t g = 0; g < groups; ++g)
        for (int c = 0; c < t.d_v; ++c) {
          const double x = slope[g * at(t.d_v) + at(c)];
          along[g] += x * (wrong_.output(row)[c] - out[at(c)]);
          for (std::size_t h = 0; h < groups; ++h) square[g * groups + h] += x * slope[h * at(t.d_v) + at(c)];
        }
    }
    return solved(square, along);
  }

  /// "columns 0 to 7 of Q and K count 2 times in q.k" for all groups whose factor is not 1.
  std::string columns_text(const std::vector<double>& a, int width) const {
    std::string text;
    for (std::size_t g = 0; g < a.size();) {
      std::size_t end = g + 1;
      while (end < a.size() && a[end] == a[g]) ++end;
      if (a[g] != 1)
        text += (text.empty() ? "columns " : ", columns ") + std::to_string(g * at(width)) + " to " +
                std::to_string(std::min(at(wrong_.tensors().d), end * at(width)) - 1) + " of Q and K count " +
                four_digits(a[g]) + " times in q.k";
      g = end;
    }
    return text;
  }

  /// Fits a bound that clamps the scores from above, from below or on both sides.
  NamedSlip bound() const {
    const std::vector<int> rows = wrong_.some(8);
    double least = 0, most = 0;
    for (const int row : rows)
      for (const double s : scores(*wrong_.head(), right_, row)) {
        least = std::min(least, s);
        most = std::max(most, s);
      }
    const std::array<Bound, 3> bounds{
        {{"scores are clamped to at most ", 0.02 * most, most,
          [](MistakenKernel& k, double x) { k.score = [x](int, int, double s) { return std::min(s, x); }; }},
         {"scores are clamped to at least ", least, 0.02 * least,
          [](MistakenKernel& k, double x) { k.score = [x](int, int, double s) { return std::max(s, x); }; }},
         {"scores are clamped to both sides, at ", 0.02 * most, most,
          [](MistakenKernel& k, double x) { k.score = [x](int, int, double s) { return std::clamp(s, -x, x); }; }}}};
    for (const Bound& b : bounds)
      for (const double x : rounder(nearest(b, rows))) {
        MistakenKernel kernel = wrong_.right_kernel();
        b.set(kernel, x);
        if (NamedSlip slip = wrong_.named(Kind::number, b.text + four_digits(x), wrong_.rows_of(std::move(kernel))))
          return slip;
      }
    return {};
  }

  /// A kernel that clamps its scores, and the search range of the bound.
  struct Bound {
    const char* text;
    double from, to;
    std::function<void(MistakenKernel&, double)> set;
  };

  /// The bound whose output is nearest in these rows: best of a grid, then golden-section search.
  double nearest(const Bound& b, const std::vector<int>& rows) const {
    const auto rest = [&](double x) {
      MistakenKernel kernel = wrong_.right_kernel();
      b.set(kernel, x);
      const RoundedRow expected = wrong_.rows_of(std::move(kernel));
      double square = 0;
      std::vector<double> out(at(columns_));
      for (const int row : rows) {
        expected(row, out.data(), nullptr);
        for (int c = 0; c < columns_; ++c) square += std::pow(wrong_.output(row)[c] - out[at(c)], 2);
      }
      return square;
    };
    constexpr int grid = 32;
    int best = 0;
    double least = infinity;
    for (int i = 0; i <= grid; ++i)
      if (const double x = rest(b.from + (b.to - b.from) * i / grid); x < least) {
        least = x;
        best = i;
      }
    double low = b.from + (b.to - b.from) * (best - 1) / grid, high = b.from + (b.to - b.from) * (best + 1) / grid;
    if (b.from > 0) low = std::max(low, 0.0);  // -x to x is no interval below 0
    for (int i = 0; i < 24; ++i) {
      const double x = high - (high - low) / std::numbers::phi, y = low + (high - low) / std::numbers::phi;
      if (rest(x) < rest(y))
        high = y;
      else
        low = x;
    }
    return (low + high) / 2;
  }

  const WrongOutput& wrong_;
  const SoftmaxVariant& right_;
  std::vector<int> rows_;
  int columns_;
};

NamedSlip number_fit(const WrongOutput& wrong) { return NumberFits(wrong).slip(); }

/// Fits one factor of the scores per key by Gauss-Newton steps.
NamedSlip key_scale_fit(const WrongOutput& wrong) {
  const Tensors& t = wrong.tensors();
  const std::vector<int> rows = wrong.some(most_rows);
  const std::size_t n = at(t.n_k), columns = at(t.d_v);
  if (wrong.right().softcap != 0 || wrong.right().alibi != 0 || t.n_k > most_scaled_keys || rows.size() * columns < 2 * n)
    return {};
  std::vector<double> a(n, 1), out(columns), error(columns), slope(n * columns);
  MistakenKernel kernel = wrong.right_kernel();
  double before = 0;
  for (int step = 0; step < 12; ++step) {
    std::vector<double> square(n * n), along(n);
    double rest = 0;
    for (const int row : rows) {
      wrong.check();
      const std::vector<double> P = weights(*kernel.head, wrong.right(), row), s = scores(*kernel.head, wrong.right(), row);
      attend(*kernel.head, wrong.right(), row, out.data());
      for (std::size_t c = 0; c < columns; ++c) error[c] = wrong.output(row)[c] - out[c];
      rest += dot(error.data(), error.data(), columns);
      const Keys keys = wrong.right().keys(row);  // the slopes of all others are 0
      for (std::size_t j = at(keys.first); j < at(keys.end); ++j) {
        double* const x = &slope[j * columns];
        for (std::size_t c = 0; c < columns; ++c) x[c] = P[j] * s[j] / a[j] * (t.v[j * columns + c] - out[c]);
        along[j] += dot(x, error.data(), columns);
        for (std::size_t k = at(keys.first); k <= j; ++k) square[j * n + k] += dot(x, &slope[k * columns], columns);
      }
    }
    if (step == 2 && rest > 0.25 * before) return {};
    if (step == 0) before = rest;
    const std::vector<double> by = solved(std::move(square), along);
    double most = 0;
    for (std::size_t j = 0; j < n; ++j) {
      a[j] += std::clamp(by[j], -0.5 * a[j], 0.5);
      most = std::max(most, std::abs(by[j]));
    }
    if (!std::isfinite(most)) return {};
    std::vector<double> k = t.k;
    for (std::size_t i = 0; i < k.size(); ++i) k[i] *= a[i / at(t.d)];
    kernel = wrong.kernel_with(&Tensors::k, std::move(k));
    if (most < 1e-3) break;
  }
  const auto [least, most] = std::ranges::minmax(a);
  return wrong.named(Kind::number,
                     "the scores of each key are multiplied by a number of its own, " + four_digits(least) + " to " +
                         four_digits(most) + ", as by K's scale of another token",
                     wrong.rows_of(std::move(kernel)));
}

/// Fits one factor per wrong row, if there are enough columns to confirm it.
NamedSlip row_factor_fit(const WrongOutput& wrong) {
  if (wrong.wrong().size() < 2 || wrong.golden().cols < 8) return {};
  auto factors = std::make_shared<std::vector<double>>(at(wrong.golden().rows), 1.0);
  double least = infinity, most = -least;
  double error = 0, left = 0;
  for (const int row : wrong.wrong()) {
    const double f = (*factors)[at(row)] = factor_of(wrong, {row});
    least = std::min(least, f);
    most = std::max(most, f);
    for (int c = 0; c < wrong.golden().cols; ++c) {
      const double o = wrong.output(row)[c], y = wrong.golden_row(row)[c];
      error += (o - y) * (o - y);
      left += (o - f * y) * (o - f * y);
    }
  }
  if (9 * left > error) return {};  // a factor per row also removes some of any rounding error
  const std::string most_text = four_digits(most), range = four_digits(least) == most_text ? "" : four_digits(least) + " to ";
  return wrong.named(
      Kind::row_factor,
      "each wrong row is golden times a number, " + range + most_text + ": its l is wrong, or belongs to another row",
      [&wrong, factors](int row, double* out, double*) {
        const double f = (*factors)[at(row)];
        for (int c = 0; c < wrong.golden().cols; ++c) out[c] = f * wrong.golden_row(row)[c];
      });
}

struct Fit {
  NamedSlip (*slip)(const WrongOutput&);
  bool bears_nan = false;
};
constexpr std::array<Fit, 13> fits{{{place_fit, true},
                                    {sequence_fit},
                                    {number_fit},
                                    {count_fit, true},
                                    {suspect_fit},
                                    {mask_fit, true},
                                    {key_place_fit},
                                    {loop_fit},
                                    {rotary_fit},
                                    {rounding_fit},
                                    {key_scale_fit},
                                    {row_factor_fit},
                                    {foreign_key_fit}}};
static_assert(fits[sequence_fit_at].slip == sequence_fit);

}  // namespace

/// Runs the fits in parallel, started in their order. A fit that names the mistake or fails cancels the fits after it, so the
/// result is the same on any number of threads.
std::optional<Slip> fitted_slip(const JudgedOutput& output, const Judged& judged, const Result& result, const OtherHeads& heads,
                                const Options& options, int& fit) {
  const WrongOutput wrong(output, judged, result, heads, options);
  if (wrong.wrong().empty()) return {};
  const int end = fit < 0 ? static_cast<int>(fits.size()) : fit + 1;
  std::atomic<int> next{std::max(fit, 0)}, last{end};  // the next fit to start, and the first that ended the search
  std::array<NamedSlip, fits.size()> slips;
  std::array<std::exception_ptr, fits.size()> failures;
  const auto attempt = [&](int i) {
    if (wrong.found().nonfinite > 0 && !fits[at(i)].bears_nan) return;
    if (wrong.found().due > 0 && fits[at(i)].slip != place_fit) return;  // the others fit numbers
    Options own = options;
    own.cancelled = [&, i] { return i > last || (options.cancelled && options.cancelled()); };
    try {
      WrongOutput alone = wrong;
      alone.follow(own);
      alone.check();
      slips[at(i)] = fits[at(i)].slip(alone);
      if (!slips[at(i)]) return;
    } catch (...) {
      failures[at(i)] = std::current_exception();
    }
    for (int first = last; i < first && !last.compare_exchange_weak(first, i);) continue;
  };
  parallel_for(0, max_concurrency(), [&](int) {
    isolated([&] {
      for (int i = next++; i < last; i = next++) attempt(i);
    });
  });
  fit = last;
  if (fit == end) return {};
  if (failures[at(fit)]) std::rethrow_exception(failures[at(fit)]);
  return std::move(slips[at(fit)]);
}

}  // namespace attoscope
