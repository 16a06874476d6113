#include "ui/picture/toolbar.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdlib>

#include "imgui.h"
#include "imgui_stdlib.h"
#include "ui/frame/loaded_output.h"
#include "ui/picture/heatmap_view.h"
#include "ui/widgets/widgets.h"
#include "ui/words/numbers.h"
#include "ui/words/sentences.h"

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
    case Field::b_storage:
    case Field::b_arithmetic:
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

/// Puts the next item beside the last one, or on a new line where it would not fit.
void flow(float width) {
  ImGui::SameLine(0, px(5));
  if (width > ImGui::GetContentRegionAvail().x) ImGui::NewLine();
}

void kind_switch(View& view, const Palette& colours) {
  static constexpr Choice kinds[] = {
      {"output", "The output, N rows by the head dimension: golden, a, b, or how far they are apart. Key M: the next picture."},
      {"rescales",
       "The running max m of a by rows and tiles: where it moved and alpha = exp(m_old - m_new) rescaled l and O, and where P "
       "saturated or underflowed. Key M: the next picture."},
      {"scores",
       "S = scale * q.k, P = exp(S - m) / l and how far P is from the true softmax weight, for rows and keys; made on demand. "
       "Key M: the next picture."},
      {"heads",
       "Every head of the input's file: how far a is off as a small picture, and its numbers, worst first. A click opens a "
       "head. "
       "Key M: the next picture."}};
  int kind = static_cast<int>(view.picture);
  if (segmented("kind", colours, kinds, kind, px(224))) view.picture = static_cast<PictureKind>(kind);
}

/// Of the combos of fields: "three-pass − golden" fits.
constexpr float field_width = 172;

/// The key that shows a field; "": none.
std::string field_key(Field field) {
  const auto i = static_cast<int>(field);
  return is_part(field) ? "" : fmt::format("key {}{}", i >= 9 ? "Shift+" : "", i >= 9 ? i - 8 : i + 1);
}

/// A field that the answer does not have is offered only where it is shown.
bool is_offered(Field field, Field shown, const Result* result) {
  return field == shown || !is_part(field) || (result != nullptr && has_field(*result, field));
}

/// What fields are chosen from.
struct FieldChoice {
  const MethodNames& names;
  const Result* result;  ///< null: not known yet
  bool keys;             ///< a key shows each of them
};

/// True where a field was chosen.
bool field_combo(const char* label, const std::string& what, Field& shown, const FieldChoice& from, const Palette& colours) {
  bool chosen = false;
  const float width = px(field_width);
  const ImVec2 at = ImGui::GetCursorScreenPos();
  const WithField f(Face::label);
  const bool open = begin_combo(label, fitted(Face::label, "     " + field_title(shown, from.names), width - px(34)), width);
  if (open) {
    for (int i = 0; i < field_count; ++i) {
      const auto field = static_cast<Field>(i);
      if (!is_offered(field, shown, from.result)) continue;
      const ImVec2 line = ImGui::GetCursorScreenPos();
      ImGui::PushID(text(field).name.data());
      if (ImGui::Selectable(("     " + field_title(field, from.names)).c_str(), field == shown)) shown = field, chosen = true;
      ImGui::PopID();
      explain(text(field).what, from.keys ? field_key(field) : std::string());
      draw_chip({line.x + px(4), line.y}, ImGui::GetTextLineHeight(), field_colour(field, colours));
    }
    ImGui::EndCombo();
  } else {
    explain(what + std::string(text(shown).what),
            std::string("golden = softmax(scale Q K^T) V of the same rounded inputs, in fp64 or better") +
                (from.keys ? "\nkeys 1 .. 9" : ""));
  }
  draw_chip({at.x + px(9), at.y}, px(control_height), field_colour(shown, colours));
  return chosen;
}

/// What the first field is compared with: a field of the answer, or of what the named slip gives.
void second_field_combo(View& view, const PanelInput& input, const FieldChoice& from, const Palette& colours) {
  const Slip* const slip = named_slip(input);
  const bool of_slip = compares_with_slip(view, input);
  const MethodNames names = of_slip ? names_with_slip(input.answer.result->experiment) : from.names;
  const bool chosen = field_combo(
      "##second field",
      of_slip ? "The exact output of " + slip->text + ", in the place of the loaded one: " : "What it is compared with: ",
      view.second_field, {names, from.result, false}, colours);
  if (chosen) view.second_slip = false;
}

/// One item of a list, with its name in the session file as its label in tests.
template <std::size_t count, class E>
void choice_combo(const char* label, const std::array<Choice, count>& choices, const std::array<std::string_view, count>& names,
                  float width, E& value) {
  const WithField f(Face::label);
  const Choice& now = choices[static_cast<std::size_t>(value)];
  if (!begin_combo(label, std::string(now.label), px(width))) return explain(now.what);
  for (std::size_t i = 0; i < count; ++i) {
    const std::string item = std::string(choices[i].label) + "###" + std::string(names[i]);
    if (ImGui::Selectable(item.c_str(), i == static_cast<std::size_t>(value))) value = static_cast<E>(i);
    explain(choices[i].what);
  }
  ImGui::EndCombo();
}

void comparison_combo(View& view) {
  static constexpr std::array<Choice, 4> choices{
      Choice{"one picture", "A single field. Key V: the next way to compare."},
      Choice{
          "side by side",
          "A second field beside the first, with the same zoom, cells and, where both are of a kind, the same range. Key V."},
      Choice{"swipe", "The second field is right of a divider that you drag. Key V."},
      Choice{"flicker", "The two fields alternate three times a second, so that changes stand out. Key V."}};
  choice_combo("##comparison", choices, comparison_names, 104, view.comparison);
}

void rescale_combo(View& view) {
  static constexpr std::array<Choice, 4> choices{
      Choice{"moved", "Purple where the running max m of a row moved at a tile, so that l and O were multiplied by alpha < 1."},
      Choice{"by how much", "m_new - m_old: how far the running max moved; alpha = exp(-that)."},
      Choice{"saturated", "How many P of the row and tile were beyond the largest number of P's format; counted on demand."},
      Choice{"underflowed", "How many e > 0 of the row and tile became P = 0 in P's format; counted on demand."}};
  choice_combo("##rescale", choices, rescale_names, 160, view.rescale_show);
}

void score_combo(View& view) {
  static constexpr std::array<Choice, 3> choices{
      Choice{"S", "The scores S = scale * q.k as a rounds them, before the max is subtracted."},
      Choice{"P", "What multiplies V in the end: a's rounded P times all later alphas, over its final row sum l."},
      Choice{"P − true weight", "P of a minus the softmax weight exp(S - m) / l of the golden arithmetic."}};
  choice_combo("##score", choices, score_names, 160, view.score_show);
}

void range_controls(const UiState& state, View& view, const Palette& colours) {
  const Looked look = looked(view);
  const double range = colour_range(state, view);
  {
    const WithField f(Face::mono);
    std::string text = "±" + scientific(range, 2);
    ImGui::PushStyleColor(ImGuiCol_Text, look.range_pinned ? colours.text : colours.secondary);
    ImGui::SetNextItemWidth(px(66));
    if (ImGui::InputText("##range", &text, ImGuiInputTextFlags_AutoSelectAll | ImGuiInputTextFlags_EnterReturnsTrue)) {
      const double typed = std::strtod(text.c_str() + std::min(text.size(), text.find_first_of("0123456789.")), nullptr);
      look.range_pinned = typed > 0 && std::isfinite(typed);
      if (look.range_pinned) look.range = typed;
    }
    ImGui::PopStyleColor();
  }
  explain("The value at the ends of the colour bar. Typing one fixes it; only the colours change.",
          "automatic: largest finite |value|, rounded up");
  ImGui::SameLine(0, 1);
  if (push_button("pin", colours, look.range_pinned, {px(32), 0})) {
    if (!look.range_pinned) look.range = range;
    look.range_pinned = !look.range_pinned;
  }
  explain(
      "Fixed: the range stays while the numbers change, so that pictures can be compared. Each kind of picture has its own. "
      "Key P.");
}

void scale_button(View& view, const Palette& colours) {
  const bool log = view.scale == ValueScale::log;
  if (push_button(log ? "log###scale" : "linear###scale", colours, false, {px(46), 0}))
    view.scale = log ? ValueScale::linear : ValueScale::log;
  explain("How values become colours. Signed log shows small errors beside large ones. Key L.",
          "linear: value / range\nlog: asinh(300 value / range)");
}

void tiles_toggle(View& view, const Palette& colours) {
  toggle("tiles", colours, view.show_tiles, px(58));
  explain(
      view.picture == PictureKind::output
          ? "Lines where a new tile of block_q query rows begins. Tiles of block_k keys have no axis in this picture: the keys "
            "are summed away; they are the horizontal axis of the strip below. Key G."
          : "Lines where a new tile begins: block_q query rows down, block_k keys across. Key G.");
}

void whole_button(View& view, const Palette& colours) {
  const Looked look = looked(view);
  ImGui::BeginDisabled(look.zoom == CellRect{});
  if (push_button("whole###reset zoom", colours, false, {px(46), 0})) look.zoom = {};
  ImGui::EndDisabled();
  explain(
      "Shows everything again (double click, or key 0). Wheel zooms about the mouse, with Shift only across, with Ctrl only "
      "the "
      "rows; dragging moves.");
}

void profiles_toggle(View& view, const Palette& colours) {
  toggle("curves", colours, view.profiles, px(67));
  explain(view.picture == PictureKind::scores ? "The row and the column through the cell under the mouse as curves: P of a in "
                                                "its colour, the true weight in grey. Key X."
                                              : "The row and the column through the cell under the mouse as curves on the "
                                                "colour bar's scale: golden, a and b, or the "
                                                "field of both methods. Key X.");
}

}  // namespace

void draw_toolbar(Session& session, const PanelInput& input, const UiState& state, const Palette& colours) {
  View& view = session.view;
  const Experiment& shown = state.heat.result ? state.heat.result->experiment : session.experiment;
  const MethodNames names = method_names(shown);
  const FieldChoice fields{names, state.heat.result.get(), true};
  kind_switch(view, colours);
  if (view.picture == PictureKind::heads) return;
  flow(px(field_width));
  const bool output = view.picture == PictureKind::output;
  if (output) field_combo("##field", "What the picture shows: ", view.field, fields, colours);
  if (view.picture == PictureKind::rescales) rescale_combo(view);
  if (view.picture == PictureKind::scores) score_combo(view);
  if (output) {
    flow(px(104));
    comparison_combo(view);
    if (view.comparison != Comparison::none) {
      flow(px(field_width));
      second_field_combo(view, input, fields, colours);
    }
  }
  if (view.picture != PictureKind::rescales || view.rescale_show != RescaleShow::moved) {
    flow(px(46));
    scale_button(view, colours);
    flow(px(99));
    range_controls(state, view, colours);
  }
  flow(px(58));
  tiles_toggle(view, colours);
  if (view.picture != PictureKind::rescales) {
    flow(px(67));
    profiles_toggle(view, colours);
  }
  flow(px(46));
  whole_button(view, colours);
}

}  // namespace attoscope
