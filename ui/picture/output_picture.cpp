// The output, a gradient, or P, dP and dS of a window as a picture: one field, or two compared.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <optional>

#include "imgui_internal.h"
#include "kernels/experiment/rules.h"
#include "kernels/questions/gradient_window.h"
#include "ui/frame/loaded_output.h"
#include "ui/picture/pictures.h"
#include "ui/recurrence/recurrence.h"
#include "ui/widgets/progress.h"
#include "ui/widgets/widgets.h"
#include "ui/words/sentences.h"

namespace attoscope::ui {

namespace {

/// A picture of one field.
struct Pane {
  const char* label;  ///< label of its button
  HeatState* state;
  Places p;
  Colouring how;
};

/// Parameters of drawing the output.
struct Output {
  Session& session;
  const PanelInput& input;
  UiState& all;
  Places whole{};
  CellRect rect{};
  std::vector<Pane> panes{};
  bool one_bar = true;
};

bool compares(const View& view) { return view.comparison != Comparison::none; }

/// Periods of the flicker per second; each period shows both fields.
constexpr double flickers = 1.5;

/// True while flicker shows the second field; with reduced motion the fields change by key B alone.
bool second_turn(const View& view) {
  return view.comparison == Comparison::flicker && !view.reduced_motion && std::fmod(ImGui::GetTime() * flickers, 1.0) >= 0.5;
}

/// Colour mappings of both fields: one range if their units are equal; else each has its own, and only the first is pinned.
std::array<Colouring, 2> colourings(const UiState& all, const View& view) {
  return {colouring(text(view.field).is_signed, colour_range(all, view), view),
          colouring(text(view.second_field).is_signed, second_colour_range(all, view), view)};
}

/// Two halves of a picture's place, each with a curve beside it.
std::array<Places, 2> halves(const Places& whole) {
  std::array<Places, 2> half{whole, whole};
  const float end = whole.side.max.x, middle = std::floor((whole.min.x + end) / 2), gap = std::floor(px(6)),
              beside = whole.side.min.x - whole.max.x, side = std::floor((end - whole.side.min.x) * 0.7f);
  half[0].side.max.x = middle - gap;
  half[1].min.x = middle + gap;
  for (Places& p : half) {
    p.side.min.x = p.side.max.x - side;
    p.max.x = std::max(p.min.x + 16, p.side.min.x - beside);
    p.below.min.x = p.min.x;
    p.below.max.x = p.max.x;
  }
  return half;
}

std::vector<Pane> panes(const Output& o) {
  const View& view = o.session.view;
  const auto how = colourings(o.all, view);
  if (view.comparison == Comparison::side_by_side) {
    const auto half = halves(o.whole);
    return {{"picture", &o.all.heat, half[0], how[0]}, {"second picture", &o.all.second, half[1], how[1]}};
  }
  const bool second = second_turn(view);
  return {{"picture", second ? &o.all.second : &o.all.heat, o.whole, how[second ? 1 : 0]}};
}

/// Column of a cell on its axis.
int column_of(const HeatState& state, const Cell& cell) { return static_cast<int>(state.first_col) + cell.col; }

// --- clicks -----------------------------------------------------------------------------------------------------------

/// Traces the query, the key or both of a clicked cell.
void trace_cell(Session& session, const Cell& cell, const HeatState& state) {
  const int row = state.result->rows[static_cast<std::size_t>(cell.row)];
  View& view = session.view;
  if (!state.is_output()) view.follows_forward = false;
  if (state.keys_down)
    view.traced_key = row;
  else
    session.experiment.problem.traced_row = row;
  if (state.window)
    view.traced_key = column_of(state, cell);
  else
    view.follows_key = state.keys_down;
}

/// Pins a clicked cell of a tensor; unpins it if it was pinned.
void pin(View& view, const Cell& cell, const HeatState& state) {
  const int row = state.result->rows[static_cast<std::size_t>(cell.row)];
  const bool again = view.cell_row == row && view.cell_col == cell.col;
  view.cell_row = again ? -1 : row;
  view.cell_col = again ? -1 : cell.col;
}

/// Handles a click on a cell.
void click_cell(Session& session, const Cell& cell, const HeatState& state) {
  if (!state.window) pin(session.view, cell, state);
  trace_cell(session, cell, state);
}

// --- the pictures -----------------------------------------------------------------------------------------------------

/// The cell under a point; row -1 outside a window.
Cell cell_at(const HeatState& state, const Point& at) {
  const double row = at.row - state.first_row, col = at.col - state.first_col;
  if (state.window && (row < 0 || row >= state.rows || col < 0 || col >= state.cols)) return {};
  return {matrix_row_at(state, at.row), matrix_col_at(state, at.col)};
}

/// Pins the pinned cell's neighbour in the direction of an arrow key; without a pinned cell, the first cell of the traced row.
void step_cell(Output& o, const GridPlace& way) {
  HeatState& state = o.all.heat;
  const View& view = o.session.view;
  if (state.window || !state.result) return;
  const bool pinned = view.cell_row >= 0 && view.cell_col >= 0;
  const int row = matrix_row(*state.result, pinned ? view.cell_row : traced_row(o.session.experiment.problem));
  const Cell from{std::max(0, row), pinned ? view.cell_col : 0},
      to = pinned
               ? Cell{std::clamp(from.row + way.row, 0, state.rows - 1), std::clamp(from.col + way.column, 0, state.cols - 1)}
               : from;
  if (!pinned || to.row != from.row || to.col != from.col) click_cell(o.session, to, state);
}

/// Handles the mouse on each pane: moves the view, pins clicked cells; arrow keys pin cells. Returns the cell under the mouse,
/// row -1: none.
Cell touched(Output& o) {
  Cell under;
  for (const Pane& pane : o.panes) {
    HeatState& state = o.all.heat;
    const CellRect moved = navigated(pane.label, pane.p, o.rect, state.n, state.across);
    if (!(moved == o.rect)) picture_settings(o.session.view).zoom = stored(o.rect = moved, state.n, state.across);
    if (const auto arrow = taken_arrow()) step_cell(o, *arrow);
    const auto at = hovered(pane.p, o.rect);
    if (!at) continue;
    under = cell_at(state, *at);
    if (under.row >= 0) on_click(o.session, o.all, [&] { click_cell(o.session, under, state); });
  }
  return under;
}

/// Handle of the divider; dragging it moves the border between the fields.
void move_divider(Output& o) {
  const Places& p = o.whole;
  View& view = o.session.view;
  const float x = p.min.x + static_cast<float>(view.swipe) * p.width();
  ImGui::SetCursorScreenPos({x - px(6), p.min.y});
  ImGui::InvisibleButton("divider", {px(12), p.height()}, ImGuiButtonFlags_EnableNav);
  if (ImGui::IsItemActive())
    view.swipe = std::clamp(static_cast<double>((ImGui::GetIO().MousePos.x - p.min.x) / p.width()), 0.0, 1.0);
  if (const auto arrow = taken_arrow())
    view.swipe = std::clamp(view.swipe + 0.02 * arrow->column, 0.0, 1.0);
  else if (ImGui::IsItemHovered() || ImGui::IsItemActive())
    ImGui::SetMouseCursor(ImGuiMouseCursor_ResizeEW);
  explain("Drag, or arrow keys: the first field is shown left of the divider, the second right of it.");
}

void paint(const Output& o, HeatState& state, const Places& p, const Colouring& how) {
  if (refresh_pixels(state, p, o.rect) && state.window) hide_unseen(state, state.result->experiment.problem, 1, false);
  if (o.input.paint) o.input.paint(ImGui::GetWindowDrawList(), p.min, p.max, state.image, how);
}

/// Paints the second field right of the divider.
void paint_beyond_divider(const Output& o) {
  const Places& p = o.whole;
  const float x = std::floor(p.min.x + static_cast<float>(o.session.view.swipe) * p.width());
  ImDrawList* list = ImGui::GetWindowDrawList();
  list->PushClipRect({x, p.min.y}, p.max, true);
  paint(o, o.all.second, p, colourings(o.all, o.session.view)[1]);
  list->PopClipRect();
}

void draw_divider(const Output& o) {
  const Places& p = o.whole;
  const float x = std::floor(p.min.x + static_cast<float>(o.session.view.swipe) * p.width()), middle = (p.min.y + p.max.y) / 2;
  ImDrawList* list = ImGui::GetWindowDrawList();
  list->AddLine({x - 1, p.min.y}, {x - 1, p.max.y}, colours().panel, px(3));
  list->AddLine({x, p.min.y}, {x, p.max.y}, colours().text, px(1.5f));
  list->AddRectFilled({x - px(5), middle - px(14)}, {x + px(5), middle + px(14)}, colours().text, px(4));
  for (const float off : {-2.0f, 2.0f})
    list->AddLine({x + px(off), middle - px(6)}, {x + px(off), middle + px(6)}, colours().panel, px(1));
}

/// Title of the second picture: its field, and the text of its slip.
std::string second_words(const Output& o) {
  const Experiment& e = o.all.heat.result->experiment;
  const Field field = o.session.view.second_field;
  if (!compares_with_slip(o.session.view, o.input)) return of_tensor(o.all.heat, field_title(field, method_names(e)));
  if (!slip_answer(o.session.view, o.input)) return "the output with the slip is being computed";
  return field_title(field, names_with_slip(e)) + ": " + compared_slip(o.session.view, o.input)->text;
}

/// Colour of the second field; a slip's output has neither method's colour.
Colour second_colour(const Output& o) {
  return compares_with_slip(o.session.view, o.input) ? colours().text : field_colour(o.session.view.second_field);
}

/// Names of the fields, in corners of their pictures.
void draw_tags(const Output& o) {
  const View& view = o.session.view;
  if (!compares(view)) return;
  const bool beside = view.comparison == Comparison::side_by_side, second = second_turn(view);
  const auto tag = [&](const Places& p, float align, const std::string& words, Colour colour) {
    const float room = view.comparison == Comparison::swipe ? p.width() * 0.6f : p.width();
    draw_tag({align > 0 ? p.max.x : p.min.x, p.min.y}, align, fitted(Face::small, words, room - px(28)), colour);
  };
  if (!second)
    tag(o.panes[0].p, 0, of_tensor(o.all.heat, field_title(view.field, method_names(o.all.heat.result->experiment))),
        field_colour(view.field));
  if (second || beside || view.comparison == Comparison::swipe)
    tag(o.panes.back().p, beside ? 0.0f : 1.0f, second_words(o), second_colour(o));
}

/// Lines where new tiles of a's forward or backward pass begin.
void draw_tiles(const HeatState& heat, const Places& p, const CellRect& rect) {
  const Experiment& e = heat.result->experiment;
  const GradMethod& gradient = e.backward.a;
  const int queries = heat.is_output() ? tile_rows(e.a, e.problem.n) : gradient.block_q;
  draw_row_lines(p, rect, std::min(heat.n, heat.keys_down ? gradient.block_k : queries));
  if (heat.window) draw_col_lines(p, rect, std::min(heat.across, gradient.block_k), 0);
}

/// The traced query, or the traced key if the rows are keys.
int marked_row(const Output& o) {
  const HeatState& heat = o.all.heat;
  if (heat.keys_down) return followed_key(o.session.view, o.session.experiment.problem);
  return heat.window ? traced_row(o.session.experiment.problem) : heat.result->trace.row;
}

void draw_pane(const Output& o, const Pane& pane, const Cell& under) {
  paint(o, *pane.state, pane.p, pane.how);
  if (o.session.view.comparison == Comparison::swipe) paint_beyond_divider(o);
  if (o.session.view.show_tiles) draw_tiles(o.all.heat, pane.p, o.rect);
  const bool of_another = o.all.heat.window && o.all.heat.result->experiment != scored(o.session.experiment);
  draw_outline(pane.p, is_stale(o.input) || of_another);
  if (under.row >= 0) {
    const RowSpan rows = row_span(o.all.heat, under.row);
    draw_crosshair(pane.p, o.rect, {(rows.first + rows.end) / 2, o.all.heat.first_col + under.col + 0.5});
  }
  draw_col_axis(pane.p, o.rect);
  const bool first = &pane == &o.panes.front(), last = &pane == &o.panes.back();
  draw_traced(pane.p, o.rect, marked_row(o), first && last ? Sides::both : (first ? Sides::left : Sides::right));
}

// --- curves, marks, read-outs -----------------------------------------------------------------------------------------

/// Cell of the traced query and key, or the window's nearest one.
Cell traced_cell(const Output& o) {
  const Problem& p = o.session.experiment.problem;
  const HeatState& heat = o.all.heat;
  return {matrix_row_at(heat, traced_row(p)), matrix_col_at(heat, followed_key(o.session.view, p))};
}

/// Cell whose row and column are drawn: under the mouse; else the traced cell of a window, or the pinned cell, or a's worst
/// cell.
Cell profiled(const Output& o, const Cell& under) {
  if (under.row >= 0) return under;
  const Result& r = *o.all.heat.result;
  const View& view = o.session.view;
  if (o.all.heat.window) return traced_cell(o);
  const int row = view.cell_row < 0 ? -1 : matrix_row(r, view.cell_row);
  if (row >= 0 && view.cell_col >= 0 && view.cell_col < r.a.cols) return {row, view.cell_col};
  return {std::clamp(r.a_error.worst_row, 0, r.a.rows - 1), std::clamp(r.a_error.worst_col, 0, r.a.cols - 1)};
}

/// Draws the row and the column of a cell as curves below and beside each pane, on its colour scale: the field's own curve if
/// panes are side by side, else the curves of a and b.
void draw_cross_section(const Output& o, const Cell& cell) {
  const HeatState& heat = o.all.heat;
  const Experiment& e = heat.result->experiment;
  const bool beside = o.panes.size() > 1;
  const int index = heat.result->rows[static_cast<std::size_t>(cell.row)];
  const std::string row = about_tensor(heat, fmt::format("{} {}", heat.keys_down ? "key" : "row", index), " "),
                    col = fmt::format("{} {}", heat.window ? "key" : "dim", column_of(heat, cell));
  for (std::size_t i = 0; i < o.panes.size(); ++i) {
    const HeatState& shown = i == 0 ? heat : o.all.second;
    ProfileState& curves = i == 0 ? o.all.profiles : o.all.second_profiles;
    refresh_profiles(curves, shown.result, {shown.field, cell.row, cell.col, beside},
                     shown.result == heat.result ? method_names(e) : names_with_slip(e));
    if (beside) curves.along_row[0].colour = curves.along_col[0].colour = i == 0 ? field_colour(shown.field) : second_colour(o);
    const Colouring how = colourings(o.all, o.session.view)[i];
    draw_along_row(o.panes[i].p, o.rect, heat, curves.along_row, how, row, i == 1);
    draw_along_col(o.panes[i].p, o.rect, heat, curves.along_col, how, col);
  }
}

void draw_curves(const Output& o, const Cell& under) {
  HeatState& heat = o.all.heat;
  if (o.session.view.profiles) {
    const Cell cell = profiled(o, under);
    draw_cross_section(o, cell);
    return;
  }
  const bool compared = compares(o.session.view), both = compared && same_unit(heat.field, o.all.second.field);
  const double largest = std::max(heat.largest, both ? o.all.second.largest : 0.0f);
  const Colour first = field_colour(heat.field), second = second_colour(o);
  if (o.panes.size() > 1) {
    draw_row_worst(o.panes[0].p, o.rect, heat, largest, first);
    draw_row_worst(o.panes[1].p, o.rect, o.all.second, both ? largest : static_cast<double>(o.all.second.largest), second);
    return;
  }
  const float alpha = column_alpha(both ? 2 : 1);
  if (both) draw_row_worst(o.whole, o.rect, o.all.second, largest, faded(second, alpha));
  draw_row_worst(o.whole, o.rect, heat, largest, both ? faded(first, alpha) : first);
}

void draw_bars(const Output& o) {
  const auto how = colourings(o.all, o.session.view);
  draw_colour_bar(o.whole.bars[0], how[0], o.all.heat);
  draw_range_lock(o.session.view, o.all, o.whole, how[0]);
  if (!o.one_bar) draw_colour_bar(o.whole.bars[1], how[1], o.all.second);
}

/// A ring around an element of a loaded output, and its name.
void draw_element_mark(const Output& o, const Pane& pane, int row, int column, const char* name) {
  if (row + 1 <= o.rect.row0 || row >= o.rect.row1 || column + 1 <= o.rect.col0 || column >= o.rect.col1) return;
  const ImVec2 at{to_x(pane.p, o.rect, column + 0.5), to_y(pane.p, o.rect, row + 0.5)};
  const float radius = px(7);
  ImDrawList* const list = ImGui::GetWindowDrawList();
  list->AddCircle(at, radius, colours().panel, 0, px(4));
  list->AddCircle(at, radius, colours().text, 0, px(2));
  if (compares(o.session.view)) return;  // the fields' names are drawn there
  const float width = text_width(Face::small, name), high = line_height(Face::small);
  const bool left = at.x + radius + width + px(12) > pane.p.max.x && at.x - radius - width - px(10) > ImGui::GetWindowPos().x;
  const ImVec2 from{left ? at.x - radius - width - px(10) : at.x + radius + px(2),
                    std::clamp(at.y - high / 2, pane.p.min.y, std::max(pane.p.min.y, pane.p.max.y - high))};
  list->AddRectFilled(from, {from.x + width + px(8), from.y + high}, faded(colours().background, 0.85f), px(3));
  draw_text(list, {from.x + px(4), from.y}, Face::small, colours().text, name);
}

/// Marks the first wrong element of a loaded output, and the one furthest beyond its tolerance.
void draw_wrong_elements(const Output& o) {
  const HeadVerdict* const verdict = shown_head_verdict(o.input);
  if (verdict == nullptr || verdict->call.rounded() || verdict->furthest_row < 0) return;
  const HeadJudgement& found = verdict->call.worst_row().found;
  const bool same = found.first_row == verdict->furthest_row && found.worst_col == verdict->furthest_column;
  for (const Pane& pane : o.panes) {
    if (found.first_row >= 0)
      draw_element_mark(o, pane, found.first_row, found.worst_col, same ? "first wrong, furthest" : "first wrong");
    if (!same) draw_element_mark(o, pane, verdict->furthest_row, verdict->furthest_column, "furthest");
  }
}

/// Reason why the field cannot be shown; "": it can.
std::string why_no_field(const Output& o) {
  const bool wanted =
      o.session.view.field == Field::tolerance || (compares(o.session.view) && o.session.view.second_field == Field::tolerance);
  if (!wanted || has_field(*o.all.heat.result, Field::tolerance)) return "";
  if (!has_loaded(o.session.experiment)) return "Only a loaded output has tolerances: drop your kernel's onto the window.";
  const CallJudgement* const call = shown_verdict(o.input);
  return call != nullptr && !call->incomparable().empty() ? call->sentences[0] : "the output is being judged";
}

/// Mark and note of a pinned cell whose row is not computed.
void await_cell(const Output& o) {
  const View& view = o.session.view;
  const HeatState& state = o.all.heat;
  const int row = view.cell_row, col = view.cell_col;
  if (row < 0 || row >= state.n || col < 0 || col >= state.cols || row + 1 <= o.rect.row0 || row >= o.rect.row1) return;
  const std::string why = is_first_answer(*state.result) ? "on its way"
                          : state.keys_down              ? "not among the computed keys"
                                                         : "not among the computed rows";
  const std::array lines{NoteLine{colours().secondary, cell_words(state, row, col) + ": " + why}};
  for (const Pane& pane : o.panes) draw_cell_mark(pane.p, o.rect, {static_cast<double>(row), row + 1.0}, col, col + 1);
  draw_note(o.whole, {to_x(o.panes[0].p, o.rect, col), to_y(o.whole, o.rect, row)}, lines);
}

/// True if the cell's row does not see the cell's key.
bool is_masked(const HeatState& state, const Cell& cell) {
  if (!state.window) return false;
  return !sees_key(state.result->experiment.problem, state.result->rows[static_cast<std::size_t>(cell.row)],
                   column_of(state, cell));
}

void draw_masked(const Output& o, const Cell& cell) {
  const HeatState& state = o.all.heat;
  const int row = state.result->rows[static_cast<std::size_t>(cell.row)];
  const std::array lines{NoteLine{colours().secondary, cell_words(state, row, column_of(state, cell))},
                         NoteLine{colours().faint, "masked: the row does not see the key"}};
  draw_note(o.whole, ImGui::GetIO().MousePos, lines);
}

/// Mark and read-out of the cell under the mouse, or of the pinned one.
std::optional<Box> read_cell(const Output& o, const Cell& under) {
  const HeatState& state = o.all.heat;
  const View& view = o.session.view;
  const bool pinned = under.row < 0;
  if (pinned && state.window) return {};
  const Cell cell = pinned && view.cell_row >= 0 && view.cell_col >= 0 && view.cell_col < state.cols
                        ? Cell{matrix_row(*state.result, view.cell_row), view.cell_col}
                        : under;
  if (cell.row < 0) {
    await_cell(o);
    return std::nullopt;
  }
  const double row = state.result->rows[static_cast<std::size_t>(cell.row)];
  const RowSpan rows = pinned ? RowSpan{row, row + 1} : row_span(state, cell.row);
  const double col = column_of(state, cell);
  for (const Pane& pane : o.panes) draw_cell_mark(pane.p, o.rect, rows, col, col + 1);
  if (is_masked(state, cell)) {
    draw_masked(o, cell);
    return std::nullopt;
  }
  const Pane& at = ImGui::GetIO().MousePos.x > o.panes.front().p.max.x ? o.panes.back() : o.panes.front();
  return draw_read_out(state, cell, o.whole, {to_x(at.p, o.rect, col + 0.5), to_y(at.p, o.rect, (rows.first + rows.end) / 2)});
}

/// Names of the axes; for a tensor other than O, after its name and field.
std::string axis_caption(const Output& o) {
  const HeatState& heat = o.all.heat;
  const std::string axes = heat.window ? "key" : heat.keys_down ? "head dimension, keys down" : "head dimension";
  if (heat.is_output()) return axes;
  return of_tensor(heat, field_title(heat.field, method_names(heat.result->experiment))) + ": " + axes;
}

/// Draws a button that shows the sum of the pinned cell: left of the cell, or next to the read-out if that is there.
void offer_sum(const Output& o, const std::optional<Box>& read_out) {
  View& view = o.session.view;
  const double row = view.cell_row + 0.5, col = view.cell_col + 0.5;
  const bool seen_here = row > o.rect.row0 && row < o.rect.row1 && col > o.rect.col0 && col < o.rect.col1;
  if (!has_cell_sum(view) || !o.all.heat.is_output() || !seen_here || view.cell_row >= o.all.heat.n ||
      view.cell_col >= o.all.heat.cols)
    return;
  const Places& p = o.panes.front().p;
  const ImVec2 size{px(62), px(22)}, gap{px(10), px(8)};
  const float left = std::max(p.min.x + px(2), std::floor(to_x(p, o.rect, col) - size.x - gap.x)),
              top = std::min(std::floor(to_y(o.whole, o.rect, row) + gap.y), p.max.y - size.y - px(2));
  const Box box = read_out.value_or(Box{});
  const auto is_free = [&](ImVec2 at) {
    const ImRect button(at, {at.x + size.x, at.y + size.y});
    return !button.Overlaps({box.min, box.max}) && ImRect(o.whole.min, o.whole.max).Contains(button);
  };
  const std::array places{ImVec2{left, top}, ImVec2{left, box.max.y + px(2)}, ImVec2{box.max.x + px(2), top},
                          ImVec2{left, box.min.y - size.y - px(2)}};
  const auto* const found = std::ranges::find_if(places, is_free);
  ImGui::SetCursorScreenPos(found == places.end() ? places[0] : *found);
  if (push_button("the sum###sum", view.show_sum, size)) view.show_sum = !view.show_sum;
  explain(
      "The sum of this cell's last product, in binary: block by block on tensor cores, or step by step by fma, with the bits "
      "that are lost.");
}

/// "flash2 stores nothing with scales: 0 everywhere; " if the shown part of an error does not exist; else "".
std::string part_remark(const Result& r, Field field) {
  if (has_field(r, field) || field == Field::tolerance) return "";
  const bool of_a = field == Field::a_storage || field == Field::a_arithmetic;
  const bool storage = field == Field::a_storage || field == Field::b_storage;
  const MethodNames names = method_names(r.experiment);
  return fmt::format("{} stores nothing with scales: {}; ", of_a ? names.a : names.b,
                     storage ? "0 everywhere" : "the whole error is arithmetic");
}

/// Reason why there is nothing to draw.
std::string why_nothing(const Frame& frame) {
  if (!frame.input.answer.result && !frame.input.answer.computing) return "no answer yet";
  if (!shows_pairs(frame.session.view, frame.session.experiment)) return "computing the first picture";
  return fmt::format("computing {}", pair_show_names[frame.session.view.pair_show]);
}

std::string remark(const Output& o) {
  const HeatState& heat = o.all.heat;
  const std::string part = heat.window ? window_remark(heat.window->question, o.rect) : "";
  return part.empty() ? part_remark(*heat.result, heat.field) + sampling_text(heat, o.panes.front().p, o.rect) : part;
}

}  // namespace

void draw_pairs(const Frame& frame, const Box& room) {
  const Experiment& e = frame.session.experiment;
  const View& view = frame.session.view;
  const GradientWindow* const known = frame.input.side.gradient_window.get();
  if (frame.input.answer.result && frame.input.answer.result->experiment == e) {
    const ScoreQuestion question = score_question(e, seen(view.score_look.zoom, e.problem.n, key_count(e.problem)),
                                                  traced_row(e.problem), known ? &known->question : nullptr);
    if (known == nullptr || !(known->question == question)) frame.requests.side.gradient_window = question;
  }
  draw_output(frame, room);
}

void draw_output(const Frame& frame, const Box& room) {
  View& view = frame.session.view;
  const std::shared_ptr<const Result> slip = compares_with_slip(view, frame.input) ? slip_answer(view, frame.input) : nullptr;
  if (compares_with_slip(view, frame.input) && !slip)
    frame.requests.side.slip_output = SlipQuestion{nullptr, *compared_slip(view, frame.input)};
  ShownTensor beside = frame.state.heat;
  if (slip) beside.result = slip;
  if (compares(view)) refresh_values(frame.state.second, beside, view.second_field);
  Output o{frame.session, frame.input, frame.state};
  o.one_bar = !compares(view) ||
              (same_unit(view.field, view.second_field) && text(view.field).is_signed == text(view.second_field).is_signed);
  o.whole = places(room.min, room.max,
                   {.side = view.profiles ? 96.0f : 48.0f, .below = view.profiles ? 88.0f : 0.0f, .bars = o.one_bar ? 1 : 2});
  if (frame.state.heat.rows <= 0 || frame.state.heat.cols <= 0) return draw_instead(o.whole, why_nothing(frame));
  if (const std::string why = why_no_field(o); !why.empty()) return draw_instead(o.whole, why);
  o.rect = seen(picture_settings(view).zoom, frame.state.heat.n, frame.state.heat.across);
  o.panes = panes(o);
  const Cell under = touched(o);
  if (view.comparison == Comparison::swipe) move_divider(o);
  for (const Pane& pane : o.panes) draw_pane(o, pane, under);
  draw_row_axis(o.whole, o.rect);
  if (view.comparison == Comparison::swipe) draw_divider(o);
  draw_wrong_elements(o);
  draw_tags(o);
  draw_curves(o, under);
  draw_bars(o);
  draw_caption(o.whole, axis_caption(o), remark(o));
  offer_sum(o, read_cell(o, under));
  frame.requests.animate |= view.comparison == Comparison::flicker && !view.reduced_motion;
}

}  // namespace attoscope::ui
