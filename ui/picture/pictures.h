/// The kinds of picture in the middle panel; each fills `room`.
#pragma once

#include <algorithm>
#include <cmath>
#include <functional>
#include <optional>
#include <string>

#include "ui/frame/entries.h"
#include "ui/frame/frame.h"
#include "ui/picture/picture_frame.h"
#include "ui/widgets/widgets.h"
#include "ui/words/sentences.h"

namespace attoscope::ui {

/// Draws a field of the tensor on show by rows and head dimension, alone or compared with a second field.
void draw_output(const Frame& frame, const Box& room);
/// Draws P, dP or dS of the backward pass by rows and keys; requests the visible window.
void draw_pairs(const Frame& frame, const Box& room);
/// Moves of a's m, or P outside its format, by rows and tiles.
void draw_rescale_map(const Frame& frame, const Box& room);
/// Remark on the map's rows and pixels: "96 of 192 rows; a pixel shows a move in any of the 2 cells under it".
std::string map_remark(const RescaleState& map, const Places& places, const CellRect& rect);
/// S, P or the error of P of a window of rows and keys.
void draw_scores(const Frame& frame, const Box& room);

/// All heads of the input's file, worst first: deviation of a as a small picture, and numbers. A click opens a head.
void draw_heads(const Frame& frame, const Box& room);
/// The view of all heads on show: verdicts only if several heads of an output can be judged.
HeadsShow shown_heads(const Session& session, const PanelInput& input);

/// The subject of a picture: its tensor, and the heads' names of its file.
struct PictureSubject {
  const View& view;
  const Experiment& experiment;
  const ShownTensor& shown;
  const TensorFileInfo& info;
  HeadsShow heads = HeadsShow::grid;  ///< of a picture of all heads
};
/// Title of a picture: "Error of flash2 in bf16: layer 7, head 7 of smollm2_135m, 1024 tokens"; with a second field, "Error of
/// flash2 in bf16, beside ...".
std::string picture_title(const PictureSubject& subject, Field field, const std::optional<Field>& second = {});
/// Title of the picture on show.
std::string picture_title(const Frame& frame);
/// Draws the title as a line of the layout.
void draw_picture_title(const Frame& frame);

/// Combo that sets `value`; tests find an item by its name in session files. True if an item was chosen.
template <class E>
bool choice_combo(const char* label, std::span<const Choice> choices, std::span<const std::string_view> names, float width,
                  E& value) {
  const WithField f(Face::label);
  const Choice& now = choices[static_cast<std::size_t>(value)];
  if (!begin_combo(label, std::string(now.label), px(width))) {
    explain(now.what);
    return false;
  }
  bool chosen = false;
  for (std::size_t i = 0; i < choices.size(); ++i) {
    const std::string item = std::string(choices[i].label) + "###" + std::string(names[i]);
    if (ImGui::Selectable(item.c_str(), i == static_cast<std::size_t>(value))) {
      value = static_cast<E>(i);
      chosen = true;
    }
    explain(choices[i].what);
  }
  ImGui::EndCombo();
  return chosen;
}

/// Controls of the picture's content, colours and comparison.
void draw_toolbar(Session& session, const PanelInput& input, const UiState& state);

/// Colour of a field's method, the same everywhere.
Colour field_colour(Field field);

/// A lock under the first colour bar: closed, the range is pinned. If the range is not the automatic one, a mark beside the bar
/// points at the largest |value|.
void draw_range_lock(View& view, const UiState& state, const Places& places, const Colouring& colouring);

/// A cell of the result's matrices; row -1: none.
struct Cell {
  int row = -1, col = -1;
};

/// Draws a box near `at`, within `bounds`, never over the cell, and returns it.
Box draw_read_out(const HeatState& shown, const Cell& cell, const Box& bounds, ImVec2 at);

/// True if the output is on show and has a pinned cell.
bool has_cell_sum(const View& view);

/// Draws the window of the sum if the view shows it and a cell is pinned; requests a missing sum.
void draw_cell_sum(const Frame& frame);

/// Least and largest of the positive finite numbers taken; both 0: none.
struct PositiveRange {
  double least = 0, most = 0;
  void take(double x) {
    if (!(x > 0) || std::isinf(x)) return;
    least = least > 0 ? std::min(least, x) : x;
    most = std::max(most, x);
  }
};

/// A head's cell in a grid of layers by heads.
struct GridCell {
  bool known = false;  ///< false: an empty frame
  Colour fill = 0;
  std::string number{};                    ///< drawn if it fits
  std::string sentence{};                  ///< its tooltip
  std::function<std::string()> formula{};  ///< the numbers of its tooltip, written only for the cell under the mouse
};
/// Content of a grid of heads.
struct HeadGridLook {
  std::function<GridCell(int head)> cell;
  int open = -1, lit = -1;  ///< heads with a frame: the session's, and the one under the mouse
};
/// Draws the grid in this room; returns the clicked head, -1: none.
int draw_head_grid(const TensorFileInfo& info, const HeadGridLook& look, ImVec2 size);
/// Draws a bar; `shade` returns its colour at a share of its length, 0 .. 1.
void draw_shades(ImVec2 at, ImVec2 size, const std::function<Colour(double)>& shade);
/// A number from 0 up in about five characters: "0.3", "12", "4e-2".
std::string brief_number(double x);
/// "layer 7, head 7"
std::string head_name(const TensorFileInfo& info, int head);
/// Label of a column of the grid: the head's number in its layer; in a file without layers its name if all names fit in
/// `width`, else the numbers of its name, "18:7" for layer 18, head 7; "" if not all of these fit either.
std::string column_label(const TensorFileInfo& info, int column, float width);
/// Every known measure of a head, one a line, for a tooltip.
std::string all_numbers(const HeadRow& row, const MethodNames& names);

/// Draws layers by heads in the colours of the measure that orders the heads, and the table of all measures beside the grid;
/// returns the clicked head, -1: none.
int draw_measure_grid(HeadsState& heads, const TensorFileInfo& info, int open);
/// The rows on show, in their order, with every measure.
Table shown_heads_table(const HeadsState& heads, const TensorFileInfo& info);

/// Fills the rest of the window with the grid of verdicts; returns the clicked head, -1: none.
int draw_verdict_grid(const JudgedView& heads, const TensorFileInfo& info, int open);

/// The grid as CSV, one line for each judged head.
std::string verdict_grid_csv(const JudgedView& heads, const TensorFileInfo& info);

/// The rows on show, worst first, as `attoscope kv` writes them.
Table shown_kv_table(const HeadsState& heads, const TensorFileInfo& info);

/// Field of the curves, and the cell through which they run.
struct ProfilePlace {
  Field field = Field::a_error;
  int row = -1, col = -1;
  bool alone = false;  ///< only the field's own curve; else golden, a and b, or the same field of a and b
};
/// Updates the curves through a cell, with these names.
void refresh_profiles(ProfileState& state, const std::shared_ptr<const Result>& result, const ProfilePlace& place,
                      const MethodNames& names);

/// Opacity of each of `curves` curves that share a panel.
float column_alpha(std::size_t curves);

/// Curves over the columns, below the picture, on the colour bar's scale, with its end values at the left or right.
void draw_along_row(const Places& p, const CellRect& rect, const CellPicture& picture, std::span<const ProfileCurve> curves,
                    const Colouring& how, const std::string& title, bool named_at_right = false);
/// Curves over the rows, at the picture's right.
void draw_along_col(const Places& p, const CellRect& rect, const CellPicture& picture, std::span<const ProfileCurve> curves,
                    const Colouring& how, const std::string& title);

/// Smallest and largest value of each of `pixels` pixels over [from, to); a pixel without values has least > largest.
struct Extremes {
  float least, largest;
};
std::vector<Extremes> extremes(std::span<const float> values, double from, double to, int pixels);

}  // namespace attoscope::ui
