#include "ui/controls/first_wrong.h"

#include <fmt/format.h>

#include <algorithm>

#include "imgui.h"
#include "kernels/experiment/result.h"
#include "kernels/experiment/rules.h"
#include "kernels/slips/slips.h"
#include "ui/frame/panel_input.h"
#include "ui/session/session.h"
#include "ui/widgets/widgets.h"

namespace attoscope {

void first_wrong_button(Session& session, const PanelInput& input, const Palette& colours) {
  const Result* const result = input.answer.result.get();
  const Diagnosis* const found = input.side.diagnosis.get();
  if (result == nullptr || found == nullptr || !has_loaded(result->experiment) || found->first_row < 0) return;
  if (!(found->experiment == result->experiment)) return;
  const bool of_a = result->experiment.a.algorithm == Algorithm::loaded;
  if (push_button(fmt::format("show row {}###first wrong", found->first_row).c_str(), colours)) {
    View& view = session.view;
    const int tile = tile_rows(of_a ? result->experiment.b : result->experiment.a, result->experiment.problem.n);
    const int first = found->first_row / tile * tile;
    view.picture = PictureKind::output;
    view.field = of_a ? Field::a_error : Field::b_error;
    view.zoom = {static_cast<double>(first), 0, static_cast<double>(std::min(first + tile, result->experiment.problem.n)),
                 static_cast<double>(result->experiment.problem.d)};
    view.cell_row = found->first_row;
    view.cell_col = found->worst_col;
  }
  explain(
      "The first row whose error is beyond the line, or the one that is worst against what rounding gives: the picture shows "
      "its tile, and the cell with its largest error is pinned.");
  ImGui::Dummy({0, px(4)});
}

}  // namespace attoscope
