/// The recurrence of the traced row: series over tiles, and the tile under the scrubber.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "ui/frame/figure_panel.h"
#include "ui/frame/frame.h"
#include "ui/frame/loaded_output.h"
#include "ui/widgets/plot.h"
#include "ui/widgets/theme.h"

namespace attoscope::ui {

/// Updates the series, and fits the axes to the curves that are not `hidden` (see View::hidden_curves). `of_b`: a and b are
/// exchanged in `result`.
void refresh_strip(StripState& state, const std::shared_ptr<const Result>& result, unsigned hidden, bool of_b = false);

/// Fits the axes to these tiles.
void show_axes(StripState& state, TileRange tiles);

/// [k]: number of rows of the rescale map in which m moved k times.
std::vector<double> rows_by_moves(const Result& result);

/// The steps of a strip on its tile axis, ascending: the tiles of the traced row, or the tiles that a gradient adds.
class StripSteps {
 public:
  StripSteps(const Result& result);
  StripSteps(const Result* result);  ///< null: none
  StripSteps(int first, int count);  ///< at the places first, first + 1, ...

  int count() const { return count_; }
  int place(int i) const;                           ///< place of step i on the tile axis
  TileRange all() const { return all_; }            ///< all tiles, from edge to edge
  const Result* recurrence() const { return of_; }  ///< the answer of the traced row; null: a gradient's steps

 private:
  const Result* of_ = nullptr;
  int first_ = 0, count_ = 0;
  TileRange all_{-0.5, 0.5};
};

/// Index of the scrubbed step, in `trace.tiles` of a recurrence; -1: there is none.
int scrubbed(const StripSteps& steps, const View& view);
/// Moves the scrubber by `by` steps; the last step follows the end.
void scrub(View& view, const StripSteps& steps, int by);
/// Moves the scrubber to the step nearest to a place.
void scrub_to(View& view, const StripSteps& steps, double place);

/// Starts at the scrubbed tile (at the first tile if the scrubbed one is the last), or stops.
void play_or_pause(Playback& playback, View& view, const StripSteps& steps, double now);
/// Takes the steps that are due, one every quarter of a second, up to the last one. True while it plays.
bool advance(Playback& playback, View& view, const StripSteps& steps, double now);

/// One sentence why there is no recurrence; empty if there is one.
std::string why_no_recurrence(const PanelInput& input);

/// A part of a formula and its tone: plain, moved, notable.
struct FormulaPiece {
  enum class Tone { text, quiet, moved, golden, bad } tone = Tone::text;
  std::string text;
};
/// A tile's updates with numbers, the most important first: `max` of m and alpha, `sums` of l and O; or of the gradients.
struct WorkedStep {
  std::vector<FormulaPiece> max, sums;
  std::string error;  ///< "so far 2.8e-4"
};
/// The step of the recurrence at `trace.tiles[index]`.
WorkedStep worked_step(const Result& result, int index);

/// Place of a plot in a list that has it.
constexpr std::size_t place_in(std::span<const Plot> plots, Plot plot) {
  return static_cast<std::size_t>(std::ranges::find(plots, plot) - plots.begin());
}

/// All plots of the recurrence strip, and those that the view shows.
inline constexpr std::array all_strip_plots{Plot::running_max, Plot::rescales, Plot::row_sum, Plot::largest_P, Plot::error};
std::span<const Plot> strip_plots(const View& view);
/// The plots in a row; a click scrubs, a click on a name toggles its curve. With `zooms` the wheel zooms, a drag moves the
/// tiles, and a double click shows all. Returns the largest height of a plot's title and names.
float draw_recurrence_plots(View& view, const StripState& state, std::span<const Plot> plots, ImVec2 size, bool zooms = false);
/// Height of the scrubber: the worked step is beside its buttons; in a narrow scrubber, under them.
float scrubber_height(float width);
/// Buttons, slider and worked step of the scrubbed tile; with `zooms` also a button that shows all tiles.
void draw_scrubber(View& view, Playback& playback, const Result& result, ImVec2 at, ImVec2 size, bool zooms = false);
/// Draws a step in words at a place, in a width and on at most `lines` lines.
using SayStep = std::function<void(ImVec2 at, float width, int lines)>;
/// Draws the scrubber of any steps; `tile`: the scrubbed tile, 0 to `last`.
void draw_scrubber(View& view, Playback& playback, const StripSteps& steps, int tile, int last, const SayStep& say, ImVec2 at,
                   ImVec2 size, bool zooms = false);
/// Draws a step on at most `lines` lines; `what`: its tooltip.
void draw_worked(const WorkedStep& step, std::string_view what, ImVec2 at, float width, int lines);
/// Draws the worked step of a tile.
void draw_worked(const Result& result, int index, ImVec2 at, float width, int lines = 2);

/// The words if each of them fits the width, else none: a note of broken words would cover what lies below it.
std::string_view words_in(std::string_view words, float width);
/// Total width of the strip's plots, and the height of the titles and names over them.
struct StripRoom {
  float width = 0, header = 0;
};
/// Draws the bottom panel.
StripRoom draw_recurrence(const Frame& frame);

/// Range of all tiles of an answer, from edge to edge.
TileRange all_tiles(const Result& result);
/// The view's range within the answer's tiles; all tiles if they do not overlap.
TileRange shown_tiles(const StripSteps& steps, const View& view);
bool shows_all_tiles(const StripSteps& steps, const View& view);

/// Shows these tiles, limited to existing ones and to at least one.
void show_tiles(View& view, const StripSteps& steps, TileRange wanted);

/// Events of a tile. rescale: m moved and l, O were rescaled. limit: a number reached the largest of its format.
enum class TileEvent { rescale, limit };
/// True if P, m or l of the traced row reached the largest number of its format, or one of them or |O| is not finite.
bool meets_limit(const Experiment& experiment, const TraceTile& tile);
/// Index in `trace.tiles` of the next tile with the event after the scrubbed one (`by` 1) or before it (-1); -1: none.
int tile_with(const Result& result, const View& view, TileEvent event, int by);
/// Scrubs to `tile_with`, if there is one.
void scrub_to_event(View& view, const Result* result, TileEvent event, int by);

/// One plot over the tiles, with the curves that the view shows.
FigurePanel strip_panel(Plot plot, const StripState& state, const View& view);

/// Histogram of the rows by their number of moves of m.
FigurePanel row_move_panel(const StripState& state);

/// Tiles of rows of a loaded output, updated once for a verdict.
struct KernelRows {
  std::shared_ptr<const HeadVerdict> found;
  bool of_a = true;                    ///< the loaded output is a
  bool others_unknown = false;         ///< other heads of its call are wrong, or not judged yet
  int tile = 1;                        ///< rows of a tile
  double low = 1e-2, high = 10;        ///< ends of the axis
  std::vector<double> row{}, share{};  ///< middle of each tile, and its largest error over its tolerance; infinite for NaN
  std::vector<double> bad{};           ///< middles of tiles with a wrong row
  std::vector<int> first_bad{};        ///< first wrong row of each tile in `bad`
};

/// Updates the tiles; false without a loaded output on screen or a verdict on it.
bool refresh_kernel_rows(KernelRows& rows, const PanelInput& input);

/// The largest error of each tile of rows over its tolerance, the tolerance, and the tiles with wrong rows; values beyond the
/// axis are drawn at its end.
FigurePanel kernel_rows_panel(const KernelRows& rows);
/// CSV with a line for each row: its largest error over its tolerance, and 1 if the row is wrong.
std::string kernel_rows_csv(const HeadJudgement& found);

/// Heights of the title and of the words over the kernel's rows, at scale 1.
inline constexpr float kernel_rows_title = 18, kernel_rows_words = 21;
/// Draws the plot in a rectangle; a click traces the row under the mouse, or the first wrong row of a marked tile.
void draw_kernel_rows(Session& session, const KernelRows& rows, ImVec2 at, ImVec2 size);

/// True if the strip shows the backward pass.
bool follows_gradients(const Session& session);
/// The key whose query tiles are followed: the view's, else the key on the traced query's diagonal, else 0.
int followed_key(const View& view, const Problem& problem);
/// The question whose answer the strip shows.
GradientTraceQuestion gradient_question(const Session& session);

/// The plots over tiles. largest_dS: for a query also |dP - delta|. lost_dS: share of dS that rounds to 0. gradient_sums: norms
/// of the tile's addend to dQ and of dQ so far, or of dK and dV so far. error: of dQ, or of dK and dV so far.
inline constexpr std::array gradient_plots{Plot::largest_P, Plot::largest_dS, Plot::lost_dS, Plot::gradient_sums, Plot::error};

/// The tile axis: the tiles in the order in which a adds them (b, if a has no backward pass). If their indices are consecutive
/// in this order, a tile's place is its index, else its position in the order.
struct GradientAxis {
  std::vector<int> tiles;
  int first = 0;         ///< place of the first one
  bool by_index = true;  ///< a place is the tile's index
};
GradientAxis gradient_axis(const GradientTrace& trace, bool of_key);

/// One plot over the tiles, with the curves of a and b. If b has more or fewer tiles, they are spread evenly over a's axis.
FigurePanel gradient_panel(Plot plot, const GradientTrace& trace, bool of_key);

/// The reason why there is nothing to show, in a sentence; empty: there is something.
std::string why_no_gradients(const GradientTrace& trace, bool of_key);

/// "δ of query 3: a -1.2346e-3, b -1.2345e-3, golden -1.2345e-3"; for a key, the number of queries that see it.
std::string gradient_line(const GradientTrace& trace, bool of_key);
/// The numbers of a, or of b if a has no backward pass, at step i of the axis; `error`: the worse one of dK and dV, or of dQ.
WorkedStep gradient_step(const GradientTrace& trace, bool of_key, int i);
/// All numbers of a and b at step i, for a tooltip.
std::string gradient_note(const GradientTrace& trace, bool of_key, int i);

/// The panels of an answer, updated once for each.
struct GradientStrip {
  std::shared_ptr<const GradientTrace> trace;
  bool of_key = false;
  GradientAxis axis;
  std::vector<FigurePanel> panels;                            ///< panels of `gradient_plots`
  std::vector<std::string> names;                             ///< names of the tiles, if placed by their position in the order
  std::array<std::uint64_t, gradient_plots.size()> hidden{};  ///< bit i: series i of a panel is not drawn
};

/// The steps of the strip on screen.
StripSteps strip_steps(const Session& session, const PanelInput& input);

/// The switch between forward pass, query and key at the top of the strip, and its height; 0 without a backward pass.
float pass_switch_height(const Session& session);
void draw_pass_switch(Session& session, const PanelInput& input);
/// Draws the backward pass in the rest of the panel; requests it if it is not known.
StripRoom draw_gradient_strip(const Frame& frame);

}  // namespace attoscope::ui
