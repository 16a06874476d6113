/// A sweep's table as what is drawn: lines, ranges, ticks, colours. No drawing.
#pragma once

#include <array>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "kernels/experiment/result.h"
#include "ui/frame/figure_panel.h"
#include "ui/frame/sweep_answer.h"
#include "ui/session/sweep_plan.h"
#include "ui/widgets/theme.h"

namespace attoscope {

/// The means along the first parameter, for one value of the second. Points without an answer are left out.
struct SweepLine {
  Series curve;            ///< the means and the ends of their bars; named as the second parameter's value
  int second = 0;          ///< which of its values
  std::vector<int> first;  ///< which values of the first parameter these are
};

/// An axis that shows [from, to].
struct SweepRange {
  double from = 0, to = 1;
  bool log = false;
};

/// Which cells have the least and the largest mean.
struct SweepExtremes {
  std::size_t least = 0, largest = 0;        ///< indices of `SweepTable::cells`
  std::size_t known = 0, below_one = 0;      ///< how many have a finite mean, and one below 1
  double largest_size = 0, least_above = 0;  ///< of |mean|; of the means above 0, or 0
  int decimals = -1;  ///< of means that are all of a handy size; negative: they are written with exponents
};
SweepExtremes extremes(const SweepTable& table);

/// A mean, or a number of its unit, as all of the table's are written: "0.511", "4.96e-4"; with as many more digits.
std::string mean_text(const SweepExtremes& extremes, double number, int more = 0);

/// Everything that a frame draws, made once for a table.
struct SweepDrawing {
  std::shared_ptr<const SweepTable> table;
  SeedSpread spread = SeedSpread::std;
  bool log_x = true, log_y = true;  ///< as the plan wants them
  std::vector<SweepLine> lines;
  std::optional<SweepLine> rival;  ///< the means of b
  SweepRange x, y;
  SweepExtremes extremes;
  std::array<std::string, 2> longest;  ///< name of a value of each parameter
  std::size_t left_out = 0;            ///< lines beyond `most_lines`, which are spread evenly
};
inline constexpr std::size_t most_lines = 64;

/// True if the first parameter's values are names: these are drawn as bars.
bool has_categories(const SweepTable& table);
/// Ends of the bar about a mean; on a log axis a bar never reaches 0: it ends at the least seed then.
struct SpreadEnds {
  double low, high;
};
SpreadEnds spread_ends(const SweepCell& cell, SeedSpread spread);

/// Brings the drawing up to date; true if it changed.
bool refresh(SweepDrawing& drawing, const std::shared_ptr<const SweepTable>& table, const SweepPlan& plan);

/// The lines as a panel for print: what the window shows, but for its colours and ticks.
FigurePanel sweep_panel(const SweepDrawing& drawing);

/// Places and texts of ticks on [from, to], about `most` of them.
struct SweepTicks {
  std::vector<double> at;
  std::vector<std::string> texts;
};
SweepTicks value_ticks(const SweepRange& range, double most);

/// The colour of a line: a's, b's, the accent's, or one of a ramp where a second parameter tells lines apart.
Colour line_colour(const SweepTable& table, int second, Theme theme);

/// A combination's cell; null where the place is none.
const SweepCell* cell_at(const SweepTable& table, const SweepPlace& place);

/// The table's rows with their numbers in full.
std::string sweep_csv(const SweepTable& table);

}  // namespace attoscope
