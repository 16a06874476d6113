/// Data of a sweep's pictures, lines, ranges, ticks, colours, and the sweep in words. No drawing.
#pragma once

#include <array>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "kernels/experiment/result.h"
#include "ui/frame/figure_panel.h"
#include "ui/frame/sweep_answer.h"
#include "ui/frame/sweep_lines.h"  // IWYU pragma: export
#include "ui/session/session.h"

namespace attoscope::ui {

/// Cells with the smallest and the largest mean, and counts.
struct SweepExtremes {
  std::size_t least = 0, largest = 0;        ///< indices of `SweepTable::cells`
  std::size_t known = 0, below_one = 0;      ///< number of finite means, and of means below 1
  double largest_size = 0, least_above = 0;  ///< largest |mean|; smallest mean above 0, or 0
  int decimals = -1;                         ///< decimals of the means, if all sizes allow them; negative: exponents
};
SweepExtremes extremes(const SweepTable& table);

/// A mean, or a number of its unit, in the format of the table: "0.511", "4.96e-4"; with `more` additional digits.
std::string mean_text(const SweepExtremes& extremes, double number, int more = 0);

/// Data of all pictures, updated once for a table.
struct SweepDrawing {
  std::shared_ptr<const SweepTable> table;
  SeedSpread spread = SeedSpread::std;
  bool log_x = true, log_y = true;  ///< wanted by the plan
  FigurePanel panel;  ///< means along the first parameter, a line for each value of the second; then those of b, if known
  std::vector<std::vector<SweepPlace>> places;  ///< of the points of the panel's lines, but those of b
  SweepExtremes extremes;
  std::array<std::string, 2> longest;  ///< longest name of a value of each parameter
  std::size_t left_out = 0;            ///< number of lines beyond `most_lines`; those shown are spread evenly
};

/// Updates the drawing; true if it changed.
bool refresh(SweepDrawing& drawing, const std::shared_ptr<const SweepTable>& table, const SweepPlan& plan);

/// Cell of a combination; null if out of range.
const SweepCell* cell_at(const SweepTable& table, const SweepPlace& place);

/// The table as CSV with numbers in full.
std::string sweep_csv(const SweepTable& table);

// --- words ----------------------------------------------------------------------------------------------------------------

/// Headline and sentence of a sweep's result.
struct SweepWords {
  std::string headline, sentence;
};
SweepWords sweep_words(const SweepView& sweep, const SweepPlan& plan, const SweepExtremes& extremes);

/// "   12 of 21 points, 3.4 s left".
std::string progress_text(const SweepProgress& progress);

/// "block_k 64, format bf16".
std::string place_text(const SweepTable& table, const SweepPlace& place);

/// The experiment in one line, without the plan's parameters: "flash2 hw against three_pass base_eager, bf16, N 1024, ..."
std::string fixed_text(const Experiment& experiment, const SweepPlan& plan);

/// Notation of values: "16,32,64", "16:64:16", "16:64:x2".
enum class ValueForm { list, linear, doubling };
ValueForm form_of(std::string_view values);

/// The same first and last value in another notation; a list holds all of `values`. For a range the values must be numbers.
std::string in_form(ValueForm form, const std::vector<std::string>& values);

/// A list without one of its values.
std::string without(const std::vector<std::string>& values, std::size_t removed);

}  // namespace attoscope::ui
