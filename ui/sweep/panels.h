/// The Sweep workspace: data of its pictures, lines, ranges, ticks, colours; the sweep in words; its panels.
#pragma once

#include <array>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "kernels/experiment/result.h"
#include "kernels/experiment/table.h"
#include "ui/frame/figure_panel.h"
#include "ui/frame/frame.h"
#include "ui/frame/sweep_answer.h"
#include "ui/frame/sweep_lines.h"  // IWYU pragma: export
#include "ui/picture/picture_frame.h"
#include "ui/session/session.h"
#include "ui/words/numbers.h"

namespace attoscope::ui {

/// Cells with the smallest and the largest mean, and counts.
struct SweepExtremes {
  std::size_t least = 0, largest = 0;        ///< indices of `SweepTable::cells`
  std::size_t known = 0;                     ///< number of finite means
  std::size_t below_one = 0, above_one = 0;  ///< of these
  double largest_size = 0, least_above = 0;  ///< largest |mean|; smallest mean above 0, or 0
  int decimals = -1;                         ///< decimals of the means, if all sizes allow them; negative: exponents
};
SweepExtremes extremes(const SweepTable& table);

/// A mean, or a number of its unit, in the format of the table: "0.511", "4.96e-4"; with `more` additional digits.
std::string mean_text(const SweepExtremes& extremes, double number, int more = 0);

/// Data of all pictures, updated once for a table.
struct SweepDrawing : SweepLines {
  std::shared_ptr<const SweepTable> table;
  SweepAxes axes;  ///< the axes that the plan wants
  SweepExtremes extremes;
  std::array<std::string, 2> longest;  ///< longest name of a value of each parameter
};

/// Updates the drawing; true if it changed.
bool refresh(SweepDrawing& drawing, const std::shared_ptr<const SweepTable>& table, const SweepPlan& plan);

/// The combination of a cell, by its index.
SweepPlace place_of(const SweepTable& table, std::size_t cell);
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

/// The experiment in one line, without the plan's parameters: "a: flash2 hw, b: three-pass base_eager, bf16, N 1024, ..."; a
/// head of a file has the name in `file`.
std::string fixed_text(const Experiment& experiment, const SweepPlan& plan, const TensorFileInfo& file);

/// Notation of values: "16,32,64", "16:64:16", "16:64:x2".
enum class ValueForm { list, linear, doubling };
ValueForm form_of(std::string_view values);

/// Values in another notation: a list of all, or a range from the first to the last. For a range the values must be numbers.
std::string in_form(ValueForm form, const std::vector<std::string>& values);

/// A list without one of its values.
std::string without(const std::vector<std::string>& values, std::size_t removed);

// --- panels ----------------------------------------------------------------------------------------------------------------

/// Drawing of the sweep, and typed texts.
struct SweepState {
  SweepDrawing drawing;
  CellPicture heat;  ///< one cell for each combination: the first parameter across, the second upwards
  std::shared_ptr<const SweepTable> heat_table;
  std::array<std::string, 2> typed, typed_from;  ///< typed values, and the plan's values that they began with
  Table rows;                                    ///< table of all combinations
  std::vector<ColumnNumbers> row_numbers;        ///< of its columns
  std::shared_ptr<const SweepTable> rows_of;
  std::string search;
  VariedParameter zoomed;                       ///< the first parameter, whose axis is zoomed
  double zoom_from = 0, zoom_to = 0;            ///< the shown part of the first parameter's axis; both 0: all
  std::optional<SweepPlace> pointed, pointing;  ///< combination under the mouse in the last frame, and in this one
};

/// Parameters of all panels.
struct SweepScene {
  Session& session;
  const PanelInput& input;
  SweepState& state;
  Requests& requests;
  bool opens = true;  ///< a click on a combination opens it in Explore

  SweepPlan& plan() const { return session.sweep; }
  const SweepView& sweep() const { return input.sweep; }
};

/// Ready-made plans, varied parameters, measure.
void draw_sweep_plan(const SweepScene& scene);
/// A ready-made plan for the experiment in Explore.
struct ReadyPlan {
  std::string_view name, title, sentence;
  SweepPlan plan;
};

/// All ready-made plans.
std::span<const ReadyPlan> ready_plans();
/// The plan of `ready`, with the spread of the current plan.
SweepPlan plan_of(const ReadyPlan& ready, const SweepPlan& before);

/// Draws the picture of the plan in the rest of the panel.
void draw_sweep_picture(const SweepScene& scene);
/// Draws the plan's lines in a box.
void draw_sweep_lines(const SweepScene& scene, const Box& box);

/// Next action of the run button; none without a valid plan.
SweepRequest next_request(const SweepProgress& progress);

/// Draws the workspace between the bars.
void draw_sweep(const Frame& frame);

}  // namespace attoscope::ui
