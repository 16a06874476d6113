#include <algorithm>
#include <cmath>

#include "kernels/judge/gradient_group.h"
#include "kernels/judge/wrong_output.h"

namespace attoscope {
namespace {

constexpr double largest_exponent = 88.7228;  ///< exp of more is infinite in fp32
constexpr int largest_tile = 128;

/// A limit beyond which a padded key's P = exp(0 - L) or dS = -P*delta overflows.
struct Line {
  std::string text;                                  ///< "L is below -88.7, where exp(0 - L) overflows"
  double of_P = largest_exponent, of_dS = infinity;  ///< logarithms of the largest finite P and dS
};

/// The wrong rows beyond a line; none if a wrong row is not beyond it, or if a right row clearly is.
std::vector<int> rows_under(const Line& line, const GradientRows& rows, const std::vector<int>& wrong) {
  std::vector<int> under;
  for (std::size_t i = 0; i < rows.lse.size(); ++i) {
    const int row = static_cast<int>(i);
    const bool is_wrong = std::ranges::binary_search(wrong, row);
    const double p = -rows.lse[i], ds = p + std::log(std::abs(rows.delta[i])),
                 beyond = std::max(p - line.of_P, ds - line.of_dS);
    constexpr double near = 0.05;  // L and delta have rounding errors
    if (is_wrong ? !(std::isfinite(p) && beyond > -near) : std::isfinite(p) && beyond > near) return {};
    if (is_wrong) under.push_back(row);
  }
  return under;
}

/// Limits for a kernel whose D is `d`: of fp32, and of a cast to a format with a smaller range.
std::vector<Line> lines_of(const Format& d) {
  std::vector<Line> lines{{"L is below -88.7, where exp(0 - L) overflows"}};
  const double of_D = std::min(std::log(largest(d)), largest_exponent);
  lines.push_back({"exp(0 - L)*delta is beyond " + name(d), largest_exponent, of_D});
  if (of_D < largest_exponent) lines.push_back({"exp(0 - L) is beyond " + name(d), of_D});
  return lines;
}

std::optional<GradientSlip> padded_keys(const GradientGroup& group, const TensorJudgement& t) {
  const AttentionShape s = group.shape();
  const std::vector<int>& wrong = t.found.wrong_rows;
  if (s.n_k % largest_tile == 0 || wrong.empty()) return {};
  const std::vector<double>& values = group.given().numbers_of(t.tensor, t.head);
  const bool nan = std::ranges::all_of(wrong, [&](int row) { return !std::isfinite(values[at(row) * at(s.d)]); });
  if (!nan && static_cast<int>(wrong.size()) == s.n) return {};  // no right row contradicts the line
  for (const Line& line : lines_of(group.given().format))
    if (const std::vector<int> under = rows_under(line, group.rows(t.head), wrong); !under.empty())
      return GradientSlip{"overflow", std::string("dQ is ") + (nan ? "NaN" : "wrong") + " in exactly the rows where " +
                                          line.text + " (" + rows_text(under) + "): a padded key counts"};
  return {};
}

std::optional<GradientSlip> padded_queries(const GradientGroup& group, const TensorJudgement& t) {
  const AttentionShape s = group.shape();
  const std::vector<double>& values = group.given().numbers_of(t.tensor, 0);
  if (s.n % largest_tile == 0 || std::ranges::any_of(values, [](double x) { return !std::isnan(x); })) return {};
  for (int h = 0; h < group.heads(); ++h)
    if (const double l = group.rows(h).lse.back(); std::isfinite(l) && -l > largest_exponent)
      return GradientSlip{
          "overflow",
          "the gradient of every key is NaN, and the last query's L is below -88.7, where exp(0 - L) overflows: a "
          "padded query counts"};
  return {};
}

}  // namespace

std::optional<GradientSlip> padding_slip(const GradientGroup& group, const TensorJudgement& wrong) {
  if (wrong.tensor == GradientTensor::dsink) return {};
  return wrong.tensor == GradientTensor::dq ? padded_keys(group, wrong) : padded_queries(group, wrong);
}

}  // namespace attoscope
