// The scores of the stepper as bars, with the read ones, the tile on chip, m so far, and the weights.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "imgui.h"
#include "imgui_stdlib.h"
#include "ui/learn/stepper/stepper.h"
#include "ui/learn/views/view_parts.h"
#include "ui/words/numbers.h"

namespace attoscope::ui {

namespace {

/// Bar height: free height minus `below` and one lane per algorithm, within these limits.
constexpr int low_bars = 88, high_bars = 156;
constexpr float lowest_presented = 104;  ///< height of bars and weights while a lesson is presented
constexpr float below = 444, stored_below = 134, weight_height = 44, number_room = 15;
/// Scores are dragged in steps that every format holds.
constexpr double drag_step = 0.25;

/// The places of the picture's parts.
struct RowBox {
  ImVec2 at;
  float cell, top, base;     ///< width of a cell; y of the highest and of the lowest score
  double low = 0, high = 0;  ///< the scores at `base` and `top`

  float y(double score) const { return base + (top - base) * static_cast<float>((score - low) / (high - low)); }
  float left(int j) const { return at.x + cell * static_cast<float>(j); }
  float middle(int j) const { return left(j) + cell / 2; }
};

/// The scores without the factor of the kernel's S.
std::vector<double> row_scores(const Steps& row) {
  std::vector<double> S = row.S;
  for (double& s : S) s *= row.score_unit;
  return S;
}

RowBox row_box(const RecurrenceViewState& state, const std::vector<double>& S, ImVec2 at, ImVec2 size) {
  RowBox box{.at = at,
             .cell = size.x / static_cast<float>(S.size()),
             .top = at.y + px(20),
             .base = at.y + size.y - px(weight_height + 8)};
  for (const double s : S) {
    if (!std::isfinite(s)) continue;
    box.low = std::min(box.low, s);
    box.high = std::max(box.high, s);
  }
  if (box.low < 0) box.base -= px(number_room);  // the numbers are drawn below the bars
  if (state.dragged >= 0) {
    box.low = state.drag_low;
    box.high = state.drag_high;
  }
  if (!(box.high > box.low)) box.high = box.low + 1;
  return box;
}

/// The state of a score in the current pass.
enum class ReadState { waits, taken, in_hand };
ReadState read_state(const StepperData& s, int key) {
  const RowStep& step = s.step();
  if (step.kind == StepKind::finish) return ReadState::taken;
  if (key >= step.keys.first && key < step.keys.end) return ReadState::in_hand;
  return key < step.keys.first ? ReadState::taken : ReadState::waits;
}

/// "3.5": at most four digits.
std::string score_text(double x) { return std::isfinite(x) ? fmt::format("{:.4g}", x) : scientific(x); }

void draw_bars(const StepperData& s, const RowBox& box) {
  ImDrawList* list = ImGui::GetWindowDrawList();
  const std::vector<double> S = row_scores(s.row());
  const float gap = std::min(px(5), box.cell * 0.12f), zero = box.y(0);
  for (int j = 0; j < static_cast<int>(S.size()); ++j) {
    const ReadState state = read_state(s, j);
    const double x = S[static_cast<std::size_t>(j)];
    const float y = std::isfinite(x) ? box.y(x) : box.top;
    const Colour colour = !std::isfinite(x)             ? colours().bad
                          : state == ReadState::in_hand ? colours().a
                          : state == ReadState::taken   ? mixed(colours().raised, colours().secondary, 0.55f)
                                                        : mixed(colours().panel, colours().raised, 0.9f);
    list->AddRectFilled({box.left(j) + gap, std::min(y, zero)},
                        {box.left(j + 1) - gap, std::max({y, zero, std::min(y, zero) + px(2)})}, colour,
                        std::min(px(2), box.cell * 0.2f));
  }
}

/// Draws the scores as numbers: all of them if they fit, else the one being read.
void draw_numbers(const StepperData& s, const RowBox& box) {
  ImDrawList* list = ImGui::GetWindowDrawList();
  const std::vector<double> S = row_scores(s.row());
  const Keys keys = s.step().keys;
  const bool all =
      std::ranges::all_of(S, [&](double x) { return text_width(Face::mono_small, score_text(x)) + px(4) <= box.cell; });
  for (int j = 0; j < static_cast<int>(S.size()); ++j) {
    if (!all && (j != keys.first || keys.end != keys.first + 1)) continue;
    const double x = S[static_cast<std::size_t>(j)];
    const std::string text = score_text(x);
    const float y = std::isfinite(x) ? (x < 0 ? box.y(x) + px(1) : box.y(x) - px(number_room)) : box.top - px(number_room);
    const float half = text_width(Face::mono_small, text) / 2 + px(2);
    list->AddRectFilled({box.middle(j) - half, y}, {box.middle(j) + half, y + px(number_room - 2)},
                        faded(colours().panel, 0.85f), px(2));
    draw_text({box.middle(j), y}, Face::mono_small, read_state(s, j) == ReadState::waits ? colours().faint : colours().text,
              text, 0.5f);
  }
}

/// m after every score that was read, and dots where it moved.
void draw_max(const StepperData& s, const RowBox& box) {
  ImDrawList* list = ImGui::GetWindowDrawList();
  double m = -std::numeric_limits<double>::infinity();
  for (int i = 1; i <= s.index(); ++i) {
    const RowStep& step = s.row().steps[static_cast<std::size_t>(i)];
    if (step.kind != StepKind::max || !std::isfinite(step.state.m)) continue;
    const double now = step.state.m * s.row().score_unit;
    const float x0 = box.left(step.keys.first), x1 = box.left(step.keys.end),
                y = std::clamp(box.y(now), box.top - px(4), box.base + px(4));
    if (std::isfinite(m) && m != now)
      list->AddLine({x0, std::clamp(box.y(m), box.top, box.base)}, {x0, y}, colours().a, px(1.6f));
    list->AddLine({x0, y}, {x1, y}, colours().a, px(1.6f));
    if (std::isfinite(m) && m != now) list->AddCircleFilled({x0, y}, px(4), colours().moved);
    m = now;
  }
}

/// Draws the borders of the tiles, and a frame around the scores on chip.
void draw_tiles(const StepperData& s, const RowBox& box, float bottom) {
  ImDrawList* list = ImGui::GetWindowDrawList();
  const Steps& row = s.row();
  const int n = static_cast<int>(row.S.size()), tile = row.question.block_k;
  for (int j = tile; row.question.algorithm != Algorithm::three_pass && tile > 1 && j < n; j += tile)
    draw_dashed(list, {box.left(j), box.top - px(16)}, {box.left(j), bottom}, colours().line, px(3), px(3));
  const Keys keys = s.step().keys;
  if (!keys.empty())
    list->AddRect({box.left(keys.first), box.top - px(18)}, {box.left(keys.end), bottom}, faded(colours().a, 0.8f), px(4), 0,
                  px(1.2f));
}

/// The last P of every key in the steps so far; NaN: none yet.
std::vector<double> weights_so_far(const StepperData& s) {
  std::vector<double> P(s.row().S.size(), std::numeric_limits<double>::quiet_NaN());
  for (int i = 0; i <= s.index(); ++i) {
    const RowStep& step = s.row().steps[static_cast<std::size_t>(i)];
    for (const RoundedNumber& made : step.numbers)
      if (made.step == Step::P || made.step == Step::e) P[static_cast<std::size_t>(made.key)] = made.after;
  }
  return P;
}

void draw_weights(const StepperData& s, const RowBox& box, float bottom) {
  ImDrawList* list = ImGui::GetWindowDrawList();
  const std::vector<double> P = weights_so_far(s);
  const float top = bottom - px(weight_height), floor = bottom - px(15), gap = std::min(px(5), box.cell * 0.12f);
  const bool all = text_width(Face::mono_small, "0.0000") + px(4) <= box.cell;
  const double one = s.row().storage.lift * s.row().storage.P_factor;  // the stored value of the largest weight
  list->AddLine({box.at.x, floor}, {box.left(static_cast<int>(P.size())), floor}, colours().line);
  for (int j = 0; j < static_cast<int>(P.size()); ++j) {
    const double p = P[static_cast<std::size_t>(j)];
    if (std::isnan(p)) continue;
    const bool now = read_state(s, j) == ReadState::in_hand;
    const float height = (floor - top - px(2)) * static_cast<float>(std::clamp(p / one, 0.0, 1.0));
    list->AddRectFilled({box.left(j) + gap, floor - std::max(px(1), height)}, {box.left(j + 1) - gap, floor},
                        now ? colours().a : mixed(colours().raised, colours().secondary, 0.55f));
    if (all)
      draw_text({box.middle(j), floor + px(2)}, Face::mono_small, now ? colours().text : colours().secondary,
                one == 1 && p < 9.99995 ? fmt::format("{:.4f}", p) : fmt::format("{:.4g}", p), 0.5f);
  }
}

void set_score(LessonScene& scene, const std::vector<double>& scores, int key, double value) {
  std::vector<double> edited = scores;
  edited[static_cast<std::size_t>(key)] = value;
  change(scene, "scores", typed(edited));
}

constexpr float refusal_width = 240;

/// True when Enter was pressed.
bool typed_field(std::string& text) {
  const WithField field(Face::mono);
  ImGui::SetNextItemWidth(px(96));
  return ImGui::InputText("##score", &text, ImGuiInputTextFlags_EnterReturnsTrue | ImGuiInputTextFlags_AutoSelectAll);
}

/// Popup at a bar in which its score is typed.
void type_score(LessonScene& scene, RecurrenceViewState& state, int key) {
  const std::vector<double>& scores = state.asked.front().scores;
  const std::string popup = "score " + std::to_string(key + 1);
  if (!ImGui::BeginPopup(popup.c_str())) return;
  if (ImGui::IsWindowAppearing()) {
    state.typed_score = in_full(scores[static_cast<std::size_t>(key)]);
    state.score_refusal.clear();
    ImGui::SetKeyboardFocusHere();
  }
  if (typed_field(state.typed_score)) {
    const std::optional<double> x = real_of(state.typed_score);
    const bool fits = x && std::fabs(*x) <= max_step_score;
    if (fits) set_score(scene, scores, key, *x);
    if (fits) ImGui::CloseCurrentPopup();
    state.score_refusal = fits ? "" : refusal("score", state.typed_score, real_expected) + ".";
    if (!fits) ImGui::SetKeyboardFocusHere(-1);  // the text stays for correction
  }
  if (!state.score_refusal.empty()) wrapped(Face::label, colours().bad, state.score_refusal, px(refusal_width));
  ImGui::EndPopup();
}

/// Handles a drag or a click on one bar.
void edit_score(LessonScene& scene, RecurrenceViewState& state, const RowBox& box, int key, float bottom) {
  const std::vector<double>& scores = state.asked.front().scores;
  const std::string id = "###score " + std::to_string(key + 1);
  ImGui::SetCursorScreenPos({box.left(key), box.at.y});
  ImGui::InvisibleButton(id.c_str(), {std::max(1.0f, box.cell), bottom - box.at.y}, ImGuiButtonFlags_EnableNav);
  if (ImGui::IsItemHovered() || ImGui::IsItemActive()) ImGui::SetMouseCursor(ImGuiMouseCursor_ResizeNS);
  const bool moved = ImGui::IsItemActive() && ImGui::IsMouseDragging(ImGuiMouseButton_Left);
  if (ImGui::IsItemActivated()) state.drag_from = scores[static_cast<std::size_t>(key)];
  if (moved && state.dragged < 0) {
    state.dragged = key;
    state.drag_low = box.low;
    state.drag_high = box.high;
  }
  if (moved) {
    const double by = -ImGui::GetMouseDragDelta().y / (box.base - box.top) * (state.drag_high - state.drag_low);
    const double to = std::clamp(std::round((state.drag_from + by) / drag_step) * drag_step, -max_step_score, max_step_score);
    if (to != scores[static_cast<std::size_t>(key)]) set_score(scene, scores, key, to);
  }
  if (ImGui::IsItemDeactivated()) {
    if (state.dragged < 0 && ImGui::IsItemHovered()) ImGui::OpenPopup(id.c_str() + 3);
    state.dragged = -1;
  }
  if (ImGui::IsItemHovered(ImGuiHoveredFlags_ForTooltip))
    explain(fmt::format("Score {} is {}. A drag up or down changes it in quarters, a click types it.", key + 1,
                        in_full(scores[static_cast<std::size_t>(key)])),
            "S_j, then exp(S_j - m) under it");
  type_score(scene, state, key);
}

}  // namespace

std::string draw_score_row(LessonScene& scene, RecurrenceViewState& state, const StepperData& stepped) {
  std::string problem;
  const float room = ImGui::GetContentRegionAvail().y / px(1) - below -
                     step_lane_height * static_cast<float>(stepped.rows.size()) -
                     (stepped.row().question.scaling.any() ? stored_below : 0);
  const int fitting = std::clamp(static_cast<int>(room), low_bars, high_bars);
  const int bars = whole_of(scene, "height", scene.room > 0 ? low_bars : fitting, lowest_row, highest_row, problem);
  if (!problem.empty()) return problem;
  const float height = flexible_height(scene, px(static_cast<float>(bars) + weight_height), px(lowest_presented));
  const ImVec2 at = ImGui::GetCursorScreenPos();
  const float bottom = at.y + height, names = px(26);
  const RowBox box = row_box(state, row_scores(stepped.row()), {at.x + names, at.y}, {scene.width - names, height});
  draw_tiles(stepped, box, bottom);
  draw_bars(stepped, box);
  draw_max(stepped, box);
  draw_numbers(stepped, box);
  draw_weights(stepped, box, bottom);
  draw_text({at.x, (box.top + box.base) / 2 - px(8)}, Face::mono, colours().secondary, "S");
  draw_text({at.x, bottom - px(30)}, Face::mono, colours().secondary, "P");
  for (int key = 0; key < static_cast<int>(state.asked.front().scores.size()); ++key) {
    ImGui::PushItemFlag(ImGuiItemFlags_NoTabStop, key > 0);  // arrows reach the others
    edit_score(scene, state, box, key, bottom);
    ImGui::PopItemFlag();
  }
  take_room(at, {scene.width, height});
  return "";
}

}  // namespace attoscope::ui
