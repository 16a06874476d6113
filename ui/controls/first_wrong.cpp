#include "ui/controls/first_wrong.h"

#include <fmt/format.h>

#include <algorithm>

#include "imgui.h"
#include "kernels/experiment/result.h"
#include "kernels/experiment/rules.h"
#include "ui/frame/loaded_output.h"
#include "ui/session/session.h"
#include "ui/widgets/widgets.h"

namespace attoscope {

namespace {

/// A button that swipes between the errors of the loaded output and of the named slip's output.
void slip_button(Session& session, const PanelInput& input) {
  const Slip* const slip = compared_slip(session.view, input);
  if (slip == nullptr) return;
  View& view = session.view;
  const bool on = compares_with_slip(view, input) && view.picture == PictureKind::output;
  ImGui::SameLine(0, px(6));
  if (push_button("swipe###slip", on)) {
    view.second_slip = !on;
    view.comparison = on ? Comparison::none : Comparison::swipe;
    view.picture = PictureKind::output;
    if (!on)
      view.field = view.second_field =
          input.answer.result->experiment.a.algorithm == Algorithm::loaded ? Field::a_error : Field::b_error;
  }
  explain(
      "A swipe: left of the divider how far your kernel's output is from the truth, right of it how far the exact output of " +
      slip->text + " is. Where this is the slip, both halves are the same picture.");
}

/// Reason for the choice of this row: "The first of 447 wrong rows."
std::string row_text(const HeadJudgement& found) {
  return found.wrong_rows.size() == 1 ? "The wrong row: no other is further off than rounding explains."
                                      : fmt::format("The first of {} wrong rows.", found.wrong_rows.size());
}

/// Shows the tile of rows around an element of the loaded output, and pins it.
void show_element(Session& session, const Result& result, int row, int column) {
  const Experiment& e = result.experiment;
  const bool of_a = e.a.algorithm == Algorithm::loaded;
  View& view = session.view;
  const int n = e.problem.n, tile = tile_rows(of_a ? e.b : e.a, n), first = row / tile * tile;
  view.picture = PictureKind::output;
  if (view.field != Field::tolerance) view.field = of_a ? Field::a_error : Field::b_error;
  view.zoom = {static_cast<double>(first), 0, static_cast<double>(std::min(first + tile, n)),
               static_cast<double>(value_columns(e.problem))};
  view.cell_row = row, view.cell_col = column;
  session.experiment.problem.traced_row = row;
}

}  // namespace

float first_wrong_button(Session& session, const PanelInput& input) {
  const HeadVerdict* const verdict = shown_head_verdict(input);
  if (verdict == nullptr) return 0;
  const Result& result = *input.answer.result;
  const HeadJudgement& found = verdict->call.worst_row().found;
  const float left = ImGui::GetCursorScreenPos().x;
  bool drawn = false;
  if (found.first_row >= 0) {
    if (push_button("first wrong###first wrong")) show_element(session, result, found.first_row, found.worst_col);
    explain(row_text(found) +
            fmt::format(" A click shows the tile of row {}, and pins the cell with its largest error.", found.first_row));
    ImGui::SameLine(0, px(6));
    drawn = true;
  }
  if (verdict->furthest_row >= 0) {
    if (push_button("furthest###furthest")) show_element(session, result, verdict->furthest_row, verdict->furthest_column);
    explain(fmt::format(
        "The element whose error is largest over its tolerance: row {}, dim {}. A click shows its tile, and pins it.",
        verdict->furthest_row, verdict->furthest_column));
    drawn = true;
  }
  if (!drawn) return 0;
  slip_button(session, input);
  return ImGui::GetItemRectMax().x + px(8) - left;
}

}  // namespace attoscope
