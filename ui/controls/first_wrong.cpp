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

/// A button that holds the errors of what the named slip gives against those of the loaded output, or stops doing so.
void slip_button(Session& session, const PanelInput& input, const Palette& colours) {
  const Slip* const slip = compared_slip(session.view, input);
  if (slip == nullptr) return;
  View& view = session.view;
  const bool on = compares_with_slip(view, input) && view.picture == PictureKind::output;
  ImGui::SameLine(0, px(8));
  if (push_button("swipe the slip###slip", colours, on)) {
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

/// Why this row: "The first of 447 wrong rows."
std::string row_text(const HeadJudgement& found) {
  return found.wrong_rows.size() == 1 ? "The wrong row: no other is further off than rounding explains."
                                      : fmt::format("The first of {} wrong rows.", found.wrong_rows.size());
}

}  // namespace

float first_wrong_button(Session& session, const PanelInput& input, const Palette& colours) {
  const Result* const result = input.answer.result.get();
  const CallJudgement* const call = shown_verdict(input);
  if (call == nullptr || call->worst_row().found.first_row < 0) return 0;
  const HeadJudgement* const found = &call->worst_row().found;
  const float left = ImGui::GetCursorScreenPos().x;
  const bool of_a = result->experiment.a.algorithm == Algorithm::loaded;
  if (push_button(fmt::format("show row {}###first wrong", found->first_row).c_str(), colours)) {
    View& view = session.view;
    const int tile = tile_rows(of_a ? result->experiment.b : result->experiment.a, result->experiment.problem.n);
    const int first = found->first_row / tile * tile;
    view.picture = PictureKind::output;
    view.field = of_a ? Field::a_error : Field::b_error;
    view.zoom = {static_cast<double>(first), 0, static_cast<double>(std::min(first + tile, result->experiment.problem.n)),
                 static_cast<double>(value_columns(result->experiment.problem))};
    view.cell_row = found->first_row;
    view.cell_col = found->worst_col;
  }
  explain(row_text(*found) + " A click shows its tile, and pins the cell with its largest error.");
  slip_button(session, input, colours);
  return ImGui::GetItemRectMax().x + px(8) - left;
}

}  // namespace attoscope
