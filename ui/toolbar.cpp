#include "ui/toolbar.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>

#include "imgui.h"
#include "imgui_stdlib.h"
#include "ui/heatmap_view.h"
#include "ui/numbers.h"
#include "ui/sentences.h"
#include "ui/widgets.h"

namespace attoscope {

Colour field_colour(Field field, const Palette& colours) {
  switch (field) {
    case Field::golden:
      return colours.golden;
    case Field::b:
    case Field::b_error:
    case Field::b_abs:
    case Field::b_ulps:
    case Field::b_relative:
      return colours.b;
    default:
      return colours.a;
  }
}

namespace {

void draw_chip(ImVec2 at, float height, Colour colour) {
  const float side = px(9), y = at.y + (height - side) / 2;
  ImGui::GetWindowDrawList()->AddRectFilled({at.x, y}, {at.x + side, y + side}, colour, px(1.5f));
}

void field_combo(View& view, const MethodNames& names, const Palette& colours) {
  const ImVec2 at = ImGui::GetCursorScreenPos();
  const WithField f(Face::label);
  const bool open = begin_combo("##field", "     " + field_title(view.field, names), px(176));
  if (open) {
    for (int i = 0; i < field_count; ++i) {
      const auto field = static_cast<Field>(i);
      const ImVec2 line = ImGui::GetCursorScreenPos();
      ImGui::PushID(text(field).name.data());
      if (ImGui::Selectable(("     " + field_title(field, names)).c_str(), field == view.field)) view.field = field;
      ImGui::PopID();
      explain(text(field).what, printed("key %s%d", i >= 9 ? "Shift+" : "", i >= 9 ? i - 8 : i + 1));
      draw_chip({line.x + px(4), line.y}, ImGui::GetTextLineHeight(), field_colour(field, colours));
    }
    ImGui::EndCombo();
  } else {
    explain(std::string("What the picture shows: ") + std::string(text(view.field).what), "keys 1 .. 9");
  }
  draw_chip({at.x + px(9), at.y}, px(control_height), field_colour(view.field, colours));
}

void range_controls(View& view, const HeatMemory& memory, const Palette& colours) {
  const double range = colour_range(memory, view);
  {
    const WithField f(Face::mono);
    std::string text = "±" + scientific(range, 2);
    ImGui::PushStyleColor(ImGuiCol_Text, view.range_pinned ? colours.text : colours.secondary);
    ImGui::SetNextItemWidth(px(78));
    if (ImGui::InputText("##range", &text, ImGuiInputTextFlags_AutoSelectAll | ImGuiInputTextFlags_EnterReturnsTrue)) {
      const double typed = std::strtod(text.c_str() + std::min(text.size(), text.find_first_of("0123456789.")), nullptr);
      view.range_pinned = typed > 0 && std::isfinite(typed);
      if (view.range_pinned) view.range = typed;
    }
    ImGui::PopStyleColor();
  }
  explain("The value at the ends of the colour bar. Typing one pins it; it changes no number, only the colours.",
          "automatic: largest finite |value|, rounded up");
  ImGui::SameLine(0, 1);
  if (push_button("pin", colours, view.range_pinned, {px(40), 0})) {
    if (!view.range_pinned) view.range = range;
    view.range_pinned = !view.range_pinned;
  }
  explain("Pinned: the range stays while the numbers change, so that pictures can be compared. Key P.");
}

}  // namespace

void draw_toolbar(Session& session, const HeatMemory& memory, const Palette& colours) {
  View& view = session.view;
  const Experiment& shown = memory.result ? memory.result->experiment : session.experiment;
  field_combo(view, method_names(shown), colours);
  ImGui::SameLine();
  const bool log = view.scale == ValueScale::log;
  if (push_button(log ? "signed log###scale" : "linear###scale", colours, false, {px(84), 0}))
    view.scale = log ? ValueScale::linear : ValueScale::log;
  explain("How values become colours. Signed log shows small errors beside large ones. Key L.",
          "linear: value / range\nlog: asinh(300 value / range)");
  ImGui::SameLine();
  range_controls(view, memory, colours);
  ImGui::SameLine();
  toggle("tiles", colours, view.show_tiles, px(68));
  explain(
      "Lines where a new tile of block_q query rows begins. Tiles of block_k keys have no axis in this picture: the keys "
      "are summed away; they are the horizontal axis of the strip below. Key G.");
  ImGui::SameLine();
  const bool whole = view.zoom == CellRect{};
  ImGui::BeginDisabled(whole);
  if (push_button("reset zoom", colours)) view.zoom = {};
  ImGui::EndDisabled();
  explain(
      "Shows the whole matrix again (double click, or key 0). Wheel zooms about the mouse, with Shift only the head "
      "dimension, with Ctrl only the rows; dragging moves.");
}

}  // namespace attoscope
