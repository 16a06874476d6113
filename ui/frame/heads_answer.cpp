#include "ui/frame/heads_answer.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <functional>

namespace attoscope::ui {
namespace {

/// Measures that show a head that stands apart; causes first.
constexpr std::array<double HeadRow::*, 8> looked_at{&HeadRow::largest_score, &HeadRow::largest_V, &HeadRow::a_rel,
                                                     &HeadRow::b_rel,         &HeadRow::a_max,     &HeadRow::b_max,
                                                     &HeadRow::a_rms,         &HeadRow::b_rms};
constexpr std::size_t causes = 2;
/// A head stands apart if its number is at least this many times the usual heads' largest.
constexpr double least_outlier = 3;

/// The largest number of the usual heads: all but the top 5 %, at least one; 0: no usual heads.
double usual_most(const std::vector<HeadRow>& rows, double HeadRow::* measure) {
  std::vector<double> values;
  for (const HeadRow& row : rows)
    if (std::isfinite(row.*measure)) values.push_back(row.*measure);
  const std::size_t apart = std::max<std::size_t>(1, values.size() / 20);
  if (values.size() <= apart) return 0;
  std::ranges::nth_element(values, values.begin() + static_cast<std::ptrdiff_t>(apart), std::greater<>());
  return std::max(0.0, values[apart]);
}

std::array<double, looked_at.size()> usual_numbers(const std::vector<HeadRow>& rows) {
  std::array<double, looked_at.size()> usual{};
  std::ranges::transform(looked_at, usual.begin(), [&](double HeadRow::* m) { return usual_most(rows, m); });
  return usual;
}

/// A number as a multiple of the usual heads' largest; 0 if either is not positive.
double multiple(double value, double usual) { return usual > 0 && value > 0 ? value / usual : 0; }

const HeadMeasure& measure_of(double HeadRow::* value) { return *std::ranges::find(head_measures, value, &HeadMeasure::value); }

/// Index of the measure to name for a row that stands apart.
std::size_t named_measure(const HeadRow& row, const std::array<double, looked_at.size()>& usual) {
  const auto of = [&](std::size_t i) { return multiple(row.*looked_at[i], usual[i]); };
  std::size_t best = of(1) > of(0) ? 1 : 0;
  if (of(best) >= least_outlier) return best;
  for (std::size_t i = causes; i < looked_at.size(); ++i)
    if (of(i) > of(best)) best = i;
  return best;
}

/// The largest number of the heads that do not stand apart by this measure.
double next_of(const std::vector<HeadRow>& rows, double HeadRow::* measure, double usual) {
  double next = 0;
  for (const HeadRow& row : rows)
    if (multiple(row.*measure, usual) < least_outlier && row.*measure > next) next = row.*measure;
  return next;
}

}  // namespace

void mark_unusual(std::vector<HeadRow>& rows) {
  const auto usual = usual_numbers(rows);
  for (HeadRow& row : rows) {
    row.unusual = rows.size() < 2 ? NAN : 0;
    for (std::size_t i = 0; i < looked_at.size(); ++i)
      row.unusual = std::max(row.unusual, multiple(row.*looked_at[i], usual[i]));
  }
}

std::vector<HeadOutlier> head_outliers(const std::vector<HeadRow>& rows) {
  const auto usual = usual_numbers(rows);
  std::vector<const HeadRow*> apart;
  for (const HeadRow& row : rows)
    if (row.unusual >= least_outlier) apart.push_back(&row);
  std::ranges::sort(apart, [](const HeadRow* x, const HeadRow* y) { return is_worse(*x, *y, head_measures[unusual_measure]); });
  std::vector<HeadOutlier> found;
  for (const HeadRow* const row : apart) {
    const std::size_t i = named_measure(*row, usual);
    found.push_back({row->head, &measure_of(looked_at[i]), row->*looked_at[i], next_of(rows, looked_at[i], usual[i])});
  }
  auto others = found.begin();  // end of the first outliers of each measure
  for (auto it = found.begin(); it != found.end(); ++it)
    if (std::find_if(found.begin(), others, [&](const HeadOutlier& o) { return o.measure == it->measure; }) == others) {
      std::rotate(others, it, it + 1);
      ++others;
    }
  return found;
}

std::string outlier_words(const HeadOutlier& outlier, std::string_view name, const MethodNames& names) {
  // "largest score" of "The largest score, taken from the running max of a."
  std::string brief(outlier.measure->what.substr(0, outlier.measure->what.find_first_of(",.")));
  if (brief.starts_with("The ")) brief.erase(0, 4);
  const auto number = [](double x) { return x >= 999.5 && x < 1e6 ? fmt::format("{:.0f}", x) : fmt::format("{:.3g}", x); };
  return fmt::format("{}: {} {}, the next has {}", name, named_text(*outlier.measure, brief, names), number(outlier.value),
                     number(outlier.next));
}

}  // namespace attoscope::ui
