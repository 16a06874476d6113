// The left panel: everything that changes a number.
#include "ui/controls/controls.h"

#include "kernels/experiment/rules.h"
#include "ui/frame/panel_input.h"
#include "ui/frame/requests.h"
#include "ui/frame/ui_state.h"
#include "ui/widgets/widgets.h"

namespace attoscope {

void draw_controls(Session& session, const PanelInput& input, UiState& state, const Palette& colours, Requests& requests) {
  Experiment& e = session.experiment;
  ImGui::PushStyleVar(ImGuiStyleVar_ItemSpacing, {px(8), px(4)});
  section(colours, "INPUT");
  edit_input(e.problem, input, colours, state.typed_file, requests);
  edit_kernel(e, input, colours, state.typed_kernel, requests);
  section(colours, "FORMAT D");
  Format format = e.format;
  if (edit_format("main format", format, colours)) e = with_format(e, format);
  section(colours, "SHAPE");
  edit_shape(session, input, colours);
  section(colours, "WHERE ROUNDING HAPPENS");
  edit_precision(e, input, colours, state.typed_format);
  ImGui::PopStyleVar();
}

}  // namespace attoscope
