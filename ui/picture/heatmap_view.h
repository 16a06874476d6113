/// Data of the pictures: visible cells and their image. No drawing.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "imgui.h"
#include "ui/frame/ui_state.h"
#include "ui/widgets/theme.h"

namespace attoscope::ui {

/// Row of the matrix at row `row` of Q.
int matrix_row_at(const CellPicture& picture, double row);
/// Column of the matrix at `col` of the picture's axis.
int matrix_col_at(const CellPicture& picture, double col);
/// Rows of Q, [first, end), that a row of the matrix covers on screen.
struct RowSpan {
  double first, end;
};
RowSpan row_span(const CellPicture& picture, int matrix_row);

/// Visible part of a matrix: `zoom`, or all if it is empty or outside.
CellRect seen(const CellRect& zoom, int rows, int cols);
/// `rect` scaled about a cell; at least 4 x 2 cells, within the matrix.
CellRect zoomed(const CellRect& rect, double row, double col, double row_factor, double col_factor, int rows, int cols);
/// `rect` moved by cells, within the matrix.
CellRect panned(const CellRect& rect, double by_rows, double by_cols, int rows, int cols);
/// `rect` as stored in the view: all zero for the whole matrix.
CellRect stored(const CellRect& rect, int rows, int cols);

/// The tensor of an answer that the view shows: view.tensor if the answer has a backward pass, else O. Without an answer it has
/// no numbers. Cached in `seen`.
const ShownTensor& shown_answer(SeenTensor& seen, const std::shared_ptr<const Result>& answer, const View& view);
/// Shows another tensor. If its rows are keys and the last one's were queries, or the reverse, resets the zoom and unpins the
/// cell.
void choose_tensor(View& view, AnswerTensor tensor);
/// True if the picture shows P, dP or dS of the backward pass.
bool shows_pairs(const View& view, const Experiment& experiment);
/// P, dP or dS of a window, as `pair` selects; without numbers while the window is null. Cached in `seen`.
const ShownTensor& shown_pairs(SeenPairs& seen, const std::shared_ptr<const GradientWindow>& window, PairShow pair);

/// "dK of flash - golden"; for O only the title.
std::string of_tensor(const ShownTensor& shown, const std::string& title);
/// "dK: signed error"; for O only the text.
std::string about_tensor(const ShownTensor& shown, const std::string& text, std::string_view between = ": ");
/// Words for a field of the tensor on show, for a sentence.
std::string field_words(const ShownTensor& shown, Field field);
/// "row 3, dim 7", "dK: key 3, dim 7", "dS: row 3, key 7".
std::string cell_words(const ShownTensor& shown, int row, int col);

/// Updates the values of the field; true if they changed.
bool refresh_values(HeatState& state, const ShownTensor& shown, Field field);
/// Updates the maxima of each row and of the picture, and the flags of NaN and infinity; invalidates the image.
void measure(CellPicture& picture);
/// Updates the image of `rect` at width x height pixels; true if it changed.
bool refresh_image(CellPicture& picture, const CellRect& rect, int width, int height);
/// Sets a pixel to `masked` if no row under it sees a key under it. A column of the picture is `keys_per_col` keys.
void hide_unseen(CellPicture& picture, const Problem& problem, int keys_per_col, bool reversed);

/// Index of row `row` of Q in the result's matrices, or -1.
int matrix_row(const Result& result, int row);

/// Zoom and colour range of the picture on show, for editing.
struct PictureSettings {
  CellRect& zoom;
  bool& range_pinned;
  double& range;
};
PictureSettings picture_settings(View& view);

/// Automatic range of a colour bar: the largest finite |value|, rounded up to two digits, so that it rarely changes.
double automatic_range(double largest);
/// Range of the colour bar on show: pinned, else held while a control is moved, else automatic.
double colour_range(const UiState& state, const View& view);
/// Range of the second field's colour bar: the first one's if both have the same unit.
double second_colour_range(const UiState& state, const View& view);
/// The largest finite |value| on the colour bar on show.
double largest_shown(const UiState& state, const View& view);
/// Stores the ranges of this frame; the next frame may hold them.
void note_ranges(UiState& state, const View& view);
/// Pins the range on show, or unpins it.
void toggle_pinned_range(const UiState& state, View& view);
/// Fits the range to the current values, pinned or not.
void fit_range(UiState& state, View& view);
/// Colour mapping of a picture.
Colouring colouring(bool diverging, double range, const View& view);

/// True if two fields have the same unit and can share a range.
bool same_unit(Field x, Field y);

/// The experiment without the traced row and the number of rows, which do not change scores.
Experiment scored(Experiment experiment);

/// Question for the scores of `rect` (rows and keys) with a margin; if that is too large, without it; if `rect` is too large,
/// for its part around `row`. Returns `last` if it still covers them.
ScoreQuestion score_question(const Experiment& experiment, const CellRect& rect, int row, const ScoreQuestion* last);

/// True if the window covers `rect`.
bool holds(const ScoreQuestion& window, const CellRect& rect);
/// The part of `rect` that is not computed; "": none.
std::string window_remark(const ScoreQuestion& window, const CellRect& rect);

/// Sets the values of a window to 0 at keys that their row does not see.
void clear_unseen(std::vector<float>& values, const ScoreQuestion& question);

/// Updates the values.
void refresh_scores(ScoreState& state, const std::shared_ptr<const ScoreWindow>& window, ScoreShow show);

/// True if the map shows counts, which are computed on demand.
constexpr bool shows_counts(RescaleShow show) { return show == RescaleShow::saturated || show == RescaleShow::underflowed; }

/// Updates the values; unchanged while the data for `show` is missing.
void refresh_map(RescaleState& state, const std::shared_ptr<const Result>& result,
                 const std::shared_ptr<const Clipping>& clipping, RescaleShow show);

/// pin_width x pin_height pixels from the top, in the format of `Pin::thumbnail`: the colour-map position of the largest
/// |value| under each pixel, with the heat map's default colours.
std::vector<std::int8_t> thumbnail_of(const Result& result);

/// Colours of the pixel values -128 .. 127.
using ThumbnailShades = std::array<Colour, 256>;
ThumbnailShades thumbnail_shades();

/// Draws a thumbnail whose pixels have the size `side` at UI scale 1; an empty field if there are no pixels.
void draw_thumbnail(ImVec2 at, float side, std::span<const std::int8_t> pixels, const ThumbnailShades& shades);

}  // namespace attoscope::ui
