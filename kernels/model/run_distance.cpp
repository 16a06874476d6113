#include "kernels/model/run_distance.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "kernels/arithmetic/quoted.h"
#include "kernels/judge/wrong_output.h"

namespace attoscope {
namespace {

constexpr double infinite = std::numeric_limits<double>::infinity();

/// x / y, with 0 / 0 = 0 and x / 0 infinite.
double over(double x, double y) { return x == 0 ? 0 : y > 0 ? x / y : infinite; }

double median_of(std::vector<double> x) {
  if (x.empty()) return 0;
  const auto middle = x.begin() + static_cast<std::ptrdiff_t>(x.size() / 2);
  std::ranges::nth_element(x, middle);
  return *middle;
}

}  // namespace

/// Root mean square of x - y in each part; infinite if only one of the two is finite.
std::vector<double> RunTolerance::distances(const std::vector<double>& x, const std::vector<double>& y) const {
  const std::size_t size = static_cast<std::size_t>(t_.cols / t_.heads);
  std::vector<double> d(parts_);
  for (std::size_t p = 0; p < parts_; ++p) {
    double sum = 0;
    for (std::size_t i = p * size; i < (p + 1) * size; ++i) {
      if (std::isfinite(x[i]) && std::isfinite(y[i]))
        sum += (x[i] - y[i]) * (x[i] - y[i]);
      else if (!(x[i] == y[i] || (std::isnan(x[i]) && std::isnan(y[i]))))
        sum = infinite;
    }
    d[p] = std::sqrt(sum / static_cast<double>(size));
  }
  return d;
}

RunTolerance::RunTolerance(const TensorRivals& x) : t_(x) {
  parts_ = x.expected.size() / static_cast<std::size_t>(x.cols / x.heads);
  const std::vector<double> zeros(x.expected.size());
  const std::vector<double> size = distances(x.expected, zeros), error = distances(x.expected, x.exact);
  std::vector<double> relative;
  for (std::size_t p = 0; p < parts_; ++p)
    if (size[p] > 0 && std::isfinite(error[p])) relative.push_back(error[p] / size[p]);
  const double usual = median_of(relative), least = x.in_double ? 0x1p-46 : 0x1p-19;
  for (std::size_t p = 0; p < parts_; ++p)
    scale_.push_back(std::max(std::isfinite(error[p]) ? error[p] : 0, std::max(usual, least) * size[p]));
  widest_ = scale_;
  head_whole_.assign(static_cast<std::size_t>(x.heads), 1);
  whole_ = {0.25};
  for (const std::vector<double>& rival : x.rivals) {
    const std::vector<double> d = distances(rival, x.expected);
    for (std::size_t p = 0; p < parts_; ++p) widest_[p] = std::max(widest_[p], d[p]);
    whole_[0] = std::max(whole_[0], 2 * whole(d, -1));
    for (int h = 0; h < x.heads; ++h)
      head_whole_[static_cast<std::size_t>(h)] = std::max(head_whole_[static_cast<std::size_t>(h)], 2 * whole(d, h));
  }
}

/// Root mean square over scale, over all parts (head -1) or the parts of one head.
double RunTolerance::whole(const std::vector<double>& distance, int head) const {
  double sum = 0;
  std::size_t count = 0;
  const auto heads = static_cast<std::size_t>(t_.heads);
  for (std::size_t p = head < 0 ? 0 : static_cast<std::size_t>(head); p < parts_; p += head < 0 ? 1 : heads, ++count) {
    const double ratio = over(distance[p], scale_[p]);
    sum += ratio * ratio;
  }
  return std::sqrt(sum / static_cast<double>(std::max<std::size_t>(count, 1)));
}

RunTolerance::Found RunTolerance::of(const std::vector<double>& x) const {
  constexpr double part_factor = 6;
  const std::vector<double> d = distances(t_.captured, x);
  Found found;
  found.whole = whole(d, -1);
  found.ratio = found.whole / whole_[0];
  for (int h = 0; h < t_.heads; ++h) {
    const double ratio = whole(d, h) / head_whole_[static_cast<std::size_t>(h)];
    if (ratio > 1) found.heads.push_back(h);
    found.ratio = std::max(found.ratio, ratio);
  }
  for (std::size_t p = 0; p < parts_; ++p) {
    const double ratio = over(d[p], part_factor * widest_[p]);
    const int row = static_cast<int>(p / static_cast<std::size_t>(t_.heads));
    if (ratio > 1 && (found.rows.empty() || found.rows.back() != row)) found.rows.push_back(row);
    found.ratio = std::max(found.ratio, ratio);
  }
  return found;
}

std::string place_of_difference(const RunTolerance::Found& found, const TensorRivals& x) {
  std::string text;
  const int rows = static_cast<int>(x.expected.size()) / x.cols, heads = static_cast<int>(found.heads.size());
  if (heads > 0 && heads < x.heads)
    text = (heads > 1 ? "heads " : "head ") + listed(found.heads, ", ", [](int h) { return std::to_string(h); });
  if (!found.rows.empty() && static_cast<int>(found.rows.size()) < rows)
    text += (text.empty() ? "" : ", ") + rows_text(found.rows);
  return text;
}

}  // namespace attoscope
