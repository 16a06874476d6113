/// The recurrence of the traced row: series over tiles, and the tile under the scrubber.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "imgui.h"
#include "ui/frame/panel_input.h"
#include "ui/frame/requests.h"
#include "ui/frame/ui_state.h"
#include "ui/widgets/legend.h"
#include "ui/widgets/theme.h"

namespace attoscope {

struct PanelInput;

/// Brings the series up to date, and the axes to the curves that are not `hidden` (see View::hidden_curves). `of_b`: a and b
/// are exchanged in `result`.
void refresh_strip(StripState& state, const std::shared_ptr<const Result>& result, unsigned hidden, bool of_b = false);

/// Axes for these tiles: as high as what lies in them.
void show_axes(StripState& state, TileRange tiles);

/// Rows of the rescale map by how often m moved in them: [k] of them k times.
std::vector<double> rows_by_moves(const Result& result);

/// Which of the traced tiles is under the scrubber: an index into `trace.tiles`, or -1 where there is none.
int scrubbed(const Result& result, const View& view);
/// Moves the scrubber by tiles; the last tile follows the end.
void scrub(View& view, const Result* result, int by);
/// Moves it to a tile, or to the traced one nearest to it.
void scrub_to(View& view, const Result& result, double tile);

/// Starts at the scrubbed tile, or at the first where that is the last; or stops.
void play_or_pause(Playback& playback, View& view, const Result* result, double now);
/// Takes the steps that are due, a tile every quarter of a second, and stops at the last tile. True while it plays.
bool advance(Playback& playback, View& view, const Result* result, double now);

/// Why there is no recurrence to follow, in one sentence; empty where there is one.
std::string why_no_recurrence(const PanelInput& input);

/// A part of a formula, and what it stands for: plain numbers, something that moved, something to be seen.
struct FormulaPiece {
  enum class Tone { text, quiet, moved, golden, bad } tone = Tone::text;
  std::string text;
};
/// What a tile did to m and alpha, and to l and O, with its numbers; what matters most comes first.
struct WorkedStep {
  std::vector<FormulaPiece> max, sums;
  std::string error;  ///< "so far 2.8e-4"
};
/// The step of the recurrence at `trace.tiles[index]`.
WorkedStep worked_step(const Result& result, int index);

/// The plots that share the tile axis.
enum class StripPlot { running_max, rescales, row_sum, largest_P, error };
/// Those that the recurrence strip shows.
std::span<const StripPlot> strip_plots(const View& view);
/// The plots in a row; a click or drag in one scrubs, a click on a name shows or hides its curve. Where `mouse` is given, the
/// wheel zooms, the right button pans, Shift selects what to zoom to, and a double click shows all tiles.
void draw_recurrence_plots(View& view, const StripState& state, std::span<const StripPlot> plots, ImVec2 size,
                           const Palette& colours, StripMouse* mouse = nullptr);
/// Names of curves in a line, each with what it looks like; a click on one shows or hides it.
struct LegendEntry {
  using Mark = CurveMark;
  Mark mark;
  Curve curve;
  const char* id;  ///< its test label is "legend id"
  std::string name;
  Colour colour;
  const char* what;  ///< tooltip
  const char* formula;
};
void draw_legend(View& view, ImVec2 at, float width, std::initializer_list<LegendEntry> entries, const Palette& colours);

/// What the scrubber needs: the worked step stands beside its buttons, or, where these leave no room for it, under them.
float scrubber_height(float width);
/// Buttons, slider and worked step of the scrubbed tile; where the plots zoom, a button that shows all tiles.
void draw_scrubber(View& view, Playback& playback, const Result& result, ImVec2 at, ImVec2 size, const Palette& colours,
                   bool zooms = false);
/// The worked step of a tile, on so many lines at most.
void draw_worked(const Result& result, int index, ImVec2 at, float width, const Palette& colours, int lines = 2);

/// The bottom panel; returns how wide its plots are together.
float draw_recurrence(Session& session, const PanelInput& input, UiState& state, const Palette& colours, Requests& requests);

}  // namespace attoscope
