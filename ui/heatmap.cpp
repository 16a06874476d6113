// The middle panel: a toolbar, and one of three kinds of picture.
#include "ui/heatmap_view.h"
#include "ui/panels.h"
#include "ui/pictures.h"
#include "ui/toolbar.h"

namespace attoscope {

void draw_heatmap(Session& session, const Frame& frame, UiMemory& all, const Palette& colours, Wishes& wishes) {
  refresh_values(all.heat, frame.result, session.view.field);
  draw_toolbar(session, all, colours);
  draw_probe_sentence(session, frame, all, colours);
  const ImVec2 from = ImGui::GetCursorScreenPos(), size = ImGui::GetContentRegionAvail();
  const Box room{from, {from.x + size.x, from.y + size.y}};
  switch (session.view.picture) {
    case PictureKind::output:
      return draw_output(session, frame, all, colours, wishes, room);
    case PictureKind::rescales:
      return draw_rescale_map(session, frame, all, colours, wishes, room);
    case PictureKind::scores:
      return draw_scores(session, frame, all, colours, wishes, room);
  }
}

}  // namespace attoscope
