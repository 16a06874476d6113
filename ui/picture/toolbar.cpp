#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdlib>
#include <span>

#include "imgui.h"
#include "imgui_stdlib.h"
#include "ui/frame/loaded_output.h"
#include "ui/picture/pictures.h"
#include "ui/widgets/colours.h"
#include "ui/widgets/widgets.h"
#include "ui/words/numbers.h"
#include "ui/words/sentences.h"

namespace attoscope::ui {

Colour field_colour(Field field) {
  if (field == Field::golden) return colours().golden;
  if (field == Field::tolerance) return colours().text;
  return text(field).name.starts_with('b') ? colours().b : colours().a;
}

namespace {

void draw_chip(ImVec2 at, float height, Colour colour) {
  const float side = px(9), y = at.y + (height - side) / 2;
  ImGui::GetWindowDrawList()->AddRectFilled({at.x, y}, {at.x + side, y + side}, colour, px(1.5f));
}

/// Widths of the controls, and their distance, at UI scale 1.
constexpr float kind_width = 208, comparison_width = 116, scale_width = 46, range_width = 66, tiles_width = 58,
                curves_width = 72, whole_width = 46, tensor_width = 54, score_width = 160, apart = 5;
/// Widths of the field combos: the first fits "b − golden", the second, in a roomy toolbar, "three-pass − golden".
constexpr float least_field_width = 124, field_width = 184, roomy = 1020;

/// Puts the next item beside the last one, or on a new line if it does not fit.
void flow(float width) {
  ImGui::SameLine(0, px(apart));
  if (width > ImGui::GetContentRegionAvail().x) ImGui::NewLine();
}

void kind_switch(View& view, float width) {
  static constexpr Choice kinds[] = {
      {"output", "The output, N rows by the head dimension: golden, a, b, or how far they are apart. Key M: the next picture."},
      {"rescales",
       "The running max m of a by rows and tiles: where it moved and alpha = exp(m_old - m_new) rescaled l and O, and where P "
       "saturated or underflowed. Key M: the next picture."},
      {"scores",
       "S = scale * q.k, P = exp(S - m) / l and how far P is from the true softmax weight, for rows and keys; computed on "
       "demand. Key M: the next picture."},
      {"heads",
       "Every head of the input's file: how far a is off as a small picture, and its numbers, worst first. A click opens a "
       "head. Key M: the next picture."}};
  segmented("kind", kinds, view.picture, px(width));
}

/// The key that shows a field; "": none.
std::string field_key(Field field) {
  const auto i = static_cast<int>(field);
  return is_extra(field) ? "" : fmt::format("key {}{}", i >= 9 ? "Shift+" : "", i >= 9 ? i - 8 : i + 1);
}

/// Parameters of a field combo.
struct FieldChoice {
  const MethodNames& names;
  MethodNames brief;  ///< short names, for a narrow combo
  const ShownTensor& shown;
  bool keys;    ///< each field has a key
  float width;  ///< in pixels
};

/// Title of the field, shortened to fit: "three-pass − golden", or "b − golden" beside b's chip.
std::string fitted_title(Field field, const FieldChoice& from) {
  const std::string chip = "     ", title = chip + field_title(field, from.names);
  const float room = from.width - px(34);
  if (text_width(Face::label, title) <= room) return title;
  return fitted(Face::label, chip + field_title(field, from.brief), room);
}

/// A combo of fields; true if one was chosen.
bool field_combo(const char* label, const std::string& what, Field& shown, const FieldChoice& from) {
  bool chosen = false;
  const ImVec2 at = ImGui::GetCursorScreenPos();
  const WithField f(Face::label);
  const bool open = begin_combo(label, fitted_title(shown, from), from.width);
  if (open) {
    for (int i = 0; i < field_count; ++i) {
      const auto field = static_cast<Field>(i);
      const bool has_it = !is_extra(field) || (from.shown.result && has_field(*from.shown.result, field));
      if (!has_it && field != shown) continue;
      const ImVec2 line = ImGui::GetCursorScreenPos();
      ImGui::PushID(text(field).name.data());
      if (ImGui::Selectable(("     " + field_title(field, from.names)).c_str(), field == shown)) {
        shown = field;
        chosen = true;
      }
      ImGui::PopID();
      explain(field_words(from.shown, field), from.keys ? field_key(field) : std::string());
      draw_chip({line.x + px(4), line.y}, ImGui::GetTextLineHeight(), field_colour(field));
    }
    ImGui::EndCombo();
  } else {
    explain(
        what + of_tensor(from.shown, field_title(shown, from.names)) + ", " + field_words(from.shown, shown),
        (from.shown.is_output() ? std::string("golden = softmax(scale Q K^T) V of the same rounded inputs, in fp64 or better")
                                : fmt::format("golden = {} of the same rounded inputs, in fp64 or better", from.shown.name)) +
            (from.keys ? "\nkeys 1 .. 9" : ""));
  }
  draw_chip({at.x + px(9), at.y}, px(control_height), field_colour(shown));
  return chosen;
}

/// Combo of the second field: a field of the answer, or of the named slip's output.
void second_field_combo(View& view, const PanelInput& input, const FieldChoice& from) {
  const Slip* const slip = compared_slip(view, input);
  const bool of_slip = compares_with_slip(view, input);
  const MethodNames names = of_slip ? names_with_slip(input.answer.result->experiment) : from.names;
  const bool loaded_a = of_slip && input.answer.result->experiment.a.algorithm == Algorithm::loaded;
  const MethodNames brief{loaded_a ? "slip" : "a", of_slip && !loaded_a ? "slip" : "b", "b"};
  const bool chosen = field_combo(
      "##second field",
      of_slip ? "The exact output of " + slip->text + " instead of the loaded one: " : "Compared with: ", view.second_field,
      {names, brief, from.shown, false, from.width});
  if (chosen) view.second_slip = false;
}

/// Tensor of the picture and of the statistics.
void tensor_combo(View& view) {
  static constexpr EnumArray<AnswerTensor, Choice> choices{
      Choice{"O", "The output of the forward pass, by queries."},
      Choice{"dO", "The gradient of O, an input of the backward pass: golden, a and b take the same numbers."},
      Choice{"dQ", "The gradient of Q, by queries. A click follows a query."},
      Choice{"dK", "The gradient of K: its rows are keys. A click follows a key."},
      Choice{"dV", "The gradient of V: its rows are keys. A click follows a key."}};
  AnswerTensor tensor = view.tensor;
  if (choice_combo("##tensor", choices, answer_tensor_names, tensor_width, tensor)) choose_tensor(view, tensor);
}

void comparison_combo(View& view) {
  static constexpr EnumArray<Comparison, Choice> choices{
      Choice{"one picture", "A single field. Key V: the next way to compare."},
      Choice{"side by side",
             "A second field beside the first, with the same zoom and cells, and one range if both have the same unit. Key V."},
      Choice{"swipe", "The second field is right of a divider that you drag. Key V."},
      Choice{"flicker",
             "The two fields alternate three times a second: changes stand out. With reduced motion (key H), key B alternates "
             "them. Key V."}};
  choice_combo("##comparison", choices, comparison_names, comparison_width, view.comparison);
}

void rescale_combo(View& view) {
  static constexpr EnumArray<RescaleShow, Choice> choices{
      Choice{"moved", "Purple: the running max m of a row moved at a tile, and l and O were multiplied by alpha < 1."},
      Choice{"by how much", "m_new - m_old: how far the running max moved; alpha = exp(-that)."},
      Choice{"saturated", "The number of P of the row and tile above the largest number of P's format; counted on demand."},
      Choice{"underflowed", "The number of e > 0 of the row and tile that became P = 0 in P's format; counted on demand."}};
  choice_combo("##rescale", choices, rescale_names, score_width, view.rescale_show);
}

/// Combo of S and P of the forward pass and, with a backward pass, of its P, dP and dS.
void score_combo(View& view, bool backward) {
  static constexpr std::size_t forward = score_names.size();
  static constexpr std::array<std::string_view, forward + pair_show_names.size() - 1> names{"S",          "P",  "P_error",
                                                                                            "backward_P", "dP", "dS"};
  static_assert(!names.back().empty(), "each PairShow but none has a name");
  static constexpr std::array<Choice, names.size()> choices{
      Choice{"S", "The scores S = scale * q.k as a rounds them, before the max is subtracted."},
      Choice{"P", "The factor of V in the end: a's rounded P times all later alphas, over its final row sum l."},
      Choice{"P − true weight", "P of a minus the softmax weight exp(S - m) / l of the golden arithmetic."},
      Choice{"backward: P", "P that the backward pass recomputes from S and L = m + ln l."},
      Choice{"backward: dP", "dP_ij = sum over c of dO_ic V_jc, the gradient of the weights."},
      Choice{"backward: dS", "dS = P (dP - delta), the gradient of the scores."}};
  const bool pairs = backward && view.pair_show != PairShow::none;
  std::size_t shown =
      pairs ? forward - 1 + static_cast<std::size_t>(view.pair_show) : static_cast<std::size_t>(view.score_show);
  if (!choice_combo("##score", std::span(choices).first(backward ? choices.size() : forward), names, score_width, shown))
    return;
  view.pair_show = shown < forward ? PairShow::none : static_cast<PairShow>(shown - forward + 1);
  if (shown < forward) view.score_show = static_cast<ScoreShow>(shown);
}

void range_field(const UiState& state, View& view) {
  const PictureSettings look = picture_settings(view);
  std::string text = "±" + compact(colour_range(state, view));
  {
    const WithField f(Face::mono_small);
    ImGui::PushStyleColor(ImGuiCol_Text, look.range_pinned ? colours().text : colours().secondary);
    ImGui::PushStyleVar(ImGuiStyleVar_FramePadding, {px(4), ImGui::GetStyle().FramePadding.y});
    ImGui::SetNextItemWidth(px(range_width));
    if (ImGui::InputText("##range", &text, ImGuiInputTextFlags_AutoSelectAll | ImGuiInputTextFlags_EnterReturnsTrue)) {
      const double typed = std::strtod(text.c_str() + std::min(text.size(), text.find_first_of("0123456789.")), nullptr);
      look.range_pinned = typed > 0 && std::isfinite(typed);
      if (look.range_pinned) look.range = typed;
    }
    ImGui::PopStyleVar();
    ImGui::PopStyleColor();
  }
  explain(
      "The value at the ends of the colour bar. Typing one fixes it, as the lock below the bar does; only the colours change. "
      "While a slider moves, the range stays.",
      "automatic: largest finite |value|, rounded up");
}

void scale_button(View& view) {
  const bool log = view.scale == ValueScale::log;
  if (push_button(log ? "log###scale" : "linear###scale", false, {px(scale_width), 0}))
    view.scale = log ? ValueScale::linear : ValueScale::log;
  explain("The rule that turns values into colours. Signed log shows small errors beside large ones. Key L.",
          "linear: value / range\nlog: asinh(300 value / range)");
}

void tiles_toggle(View& view) {
  toggle("tiles", view.show_tiles, px(tiles_width));
  explain(view.picture == PictureKind::output && view.tensor == AnswerTensor::O
              ? "Lines where a new tile of block_q query rows begins. Tiles of block_k keys have no axis in this picture: the "
                "keys are summed away; they are the horizontal axis of the strip below. Key G."
              : "Lines where a new tile of block_q queries or of block_k keys begins. Key G.");
}

void whole_button(View& view) {
  const PictureSettings look = picture_settings(view);
  if (push_button("whole###reset zoom", false, {px(whole_width), 0}, look.zoom != CellRect{})) look.zoom = {};
  explain(
      "Shows everything again (double click, or key 0). Wheel zooms about the mouse, with Shift only across, with Ctrl only "
      "the rows; dragging moves.");
}

void profiles_toggle(View& view) {
  toggle("curves", view.profiles, px(curves_width));
  explain(view.picture == PictureKind::scores ? "The row and the column through the cell under the mouse as curves: P of a in "
                                                "its colour, the true weight in grey. Key X."
                                              : "The row and the column through the cell under the mouse as curves on the "
                                                "colour bar's scale: golden, a and b, or the field of both methods. Key X.");
}

/// Controls of the picture's content: its field, the comparison, and the second field.
void content_controls(Session& session, const PanelInput& input, const FieldChoice& fields) {
  View& view = session.view;
  const bool backward = session.experiment.backward.on, scores = view.picture == PictureKind::scores;
  if (view.picture == PictureKind::rescales || scores) {
    flow(px(score_width));
    scores ? score_combo(view, backward) : rescale_combo(view);
    if (!shows_pairs(view, session.experiment)) return;
  } else if (backward) {
    flow(px(tensor_width));
    tensor_combo(view);
  }
  flow(fields.width);
  field_combo("##field", "Picture: ", view.field, fields);
  flow(px(comparison_width));
  comparison_combo(view);
  if (view.comparison == Comparison::none) return;
  flow(fields.width);
  second_field_combo(view, input, fields);
}

/// A padlock with its centre at `c`, open or closed.
void draw_padlock(ImVec2 c, bool closed, Colour colour) {
  ImDrawList* list = ImGui::GetWindowDrawList();
  const float half = px(5), top = c.y - px(0.5f), radius = px(3.2f), pi = 3.14159265f;
  list->AddRectFilled({c.x - half, top}, {c.x + half, top + px(7)}, colour, px(1.5f));
  const float lift = closed ? 0 : px(2), arc = top - px(2) - lift;
  list->PathLineTo({c.x - radius, top});
  list->PathArcTo({c.x, arc}, radius, -pi, 0);
  if (closed) list->PathLineTo({c.x + radius, top});
  list->PathStroke(colour, 0, px(1.5f));
}

/// A triangle left of the bar that points at the largest |value|, or upwards beside its end if the value is beyond.
void draw_mark(const Box& bar, const Colouring& how, double largest, Colour colour) {
  const double end = static_cast<double>(how.range);
  const bool beyond = largest > end;
  const float share = bar_position(static_cast<float>(std::min(largest, end)), how), s = px(4);
  const float x = bar.min.x - px(1), y = bar.min.y + (1 - share) * bar.height();
  ImDrawList* list = ImGui::GetWindowDrawList();
  if (beyond)
    list->AddTriangleFilled({x - 2 * s, y + 2 * s}, {x, y + 2 * s}, {x - s, y}, colour);
  else
    list->AddTriangleFilled({x, y}, {x - 1.5f * s, y - s}, {x - 1.5f * s, y + s}, colour);
}

}  // namespace

void draw_toolbar(Session& session, const PanelInput& input, const UiState& state) {
  View& view = session.view;
  const float left = ImGui::GetCursorScreenPos().x;
  kind_switch(view, kind_width);
  if (view.picture == PictureKind::heads) return;
  const MethodNames names = method_names(state.heat.result ? state.heat.result->experiment : session.experiment);
  const float field = px(ImGui::GetContentRegionAvail().x < px(roomy) ? least_field_width : field_width);
  content_controls(session, input, {names, {"a", "b", "b"}, state.heat, true, field});
  if (view.picture != PictureKind::rescales || view.rescale_show != RescaleShow::moved) {
    flow(px(scale_width));
    scale_button(view);
    flow(px(range_width));
    range_field(state, view);
  }
  flow(px(tiles_width));
  tiles_toggle(view);
  if (view.picture != PictureKind::rescales) {
    flow(px(curves_width));
    profiles_toggle(view);
  }
  flow(px(whole_width));
  whole_button(view);
  // The last line's height does not depend on its items.
  ImGui::SetCursorScreenPos({left, ImGui::GetItemRectMin().y + px(control_height) + ImGui::GetStyle().ItemSpacing.y});
}

void draw_range_lock(View& view, const UiState& state, const Places& p, const Colouring& how) {
  const bool pinned = picture_settings(view).range_pinned;
  const double largest = largest_shown(state, view);
  if (static_cast<float>(automatic_range(largest)) != how.range && largest > 0)
    draw_mark(p.bars[0], how, largest, colours().text);
  const float side = px(20), middle = (p.bars[0].min.x + p.bars[0].max.x) / 2;
  const ImVec2 at{std::floor(middle - side / 2), std::floor(p.max.y + px(6))};
  ImGui::SetCursorScreenPos(at);
  if (ImGui::InvisibleButton("pin", {side, side}, ImGuiButtonFlags_EnableNav)) toggle_pinned_range(state, view);
  const bool hot = ImGui::IsItemHovered();
  if (hot) ImGui::GetWindowDrawList()->AddRectFilled(at, {at.x + side, at.y + side}, colours().raised, px(3));
  draw_padlock({middle, at.y + side / 2}, pinned, pinned ? colours().accent : hot ? colours().text : colours().faint);
  explain(
      "Fixes the range of the colours: pictures stay comparable while the numbers change. Each kind of picture has its "
      "own. Key P; Shift+P fits it to the values as they are now.\nWhile a slider moves, the range stays in any case, and a "
      "mark beside the bar points at the largest |value|.");
}

}  // namespace attoscope::ui
