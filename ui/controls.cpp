// The left panel: everything that changes a number.
#include "ui/panels.h"
#include "ui/widgets.h"

namespace attoscope {

void draw_controls(Session& session, const Frame& frame, UiMemory& memory, const Palette& colours, Wishes& wishes) {
  Experiment& e = session.experiment;
  ImGui::PushStyleVar(ImGuiStyleVar_ItemSpacing, {px(8), px(4)});
  section(colours, "INPUT");
  edit_input(e.problem, frame, colours, memory.typed_file, wishes);
  edit_kernel(e, frame, colours, memory.typed_kernel, wishes);
  section(colours, "FORMAT D");
  edit_format("main format", e.format, colours);
  section(colours, "SHAPE");
  edit_shape(session, frame, colours);
  section(colours, "WHERE ROUNDING HAPPENS");
  edit_precision(e, frame, colours, memory.typed_format);
  ImGui::PopStyleVar();
}

}  // namespace attoscope
