#include "app/papers/seen.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace attoscope {

double growth(const Series& series) { return series.y.empty() ? NAN : series.y.back() / series.y.front(); }

std::string two_digits(double x) {
  const double size = std::abs(x);
  if (size >= 0.95 && size < 9.5) return fmt::format("{:.1f}", x);
  return size >= 9.5 && size < 9999 ? fmt::format("{:.0f}", x) : fmt::format("{:.2g}", x);
}

std::string growth_words(const Series& series) {
  constexpr double little = 0.1;
  const double g = growth(series);
  if (std::isnan(g)) return "is not known";
  if (g > 1 - little && g < 1 + little) return "changes by less than 10 %";
  return g > 1 ? "rises " + two_digits(g) + "-fold" : "falls " + two_digits(1 / g) + "-fold";
}

double value_at(const FigurePanel& panel, const Series& series, std::string_view category) {
  const auto at = std::ranges::find(panel.x.categories, category) - panel.x.categories.begin();
  for (std::size_t i = 0; i < series.x.size(); ++i)
    if (series.x[i] == static_cast<double>(at)) return series.y[i];
  return NAN;
}

double range_of(const Series& series) {
  if (series.y.empty()) return NAN;
  const auto [least, largest] = std::ranges::minmax(series.y);
  return largest / least;
}

}  // namespace attoscope
