// The algorithms side by side: read heads over the scores, scores read, bytes moved.
#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "ui/learn/stepper/stepper.h"
#include "ui/widgets/widgets.h"
#include "ui/words/numbers.h"

namespace attoscope {

namespace {

constexpr float name_width = 104;

/// Right edges of the columns of numbers; those that do not fit are left out.
struct LaneColumns {
  float passes_end = 0, reads = 0, bytes = 0, m = 0, l = 0;
};
LaneColumns lane_columns(float x, float width) {
  const float number = text_width(Face::mono_small, "0"), gap = px(14);
  LaneColumns c;
  float right = x + width;
  const auto take = [&](float characters, float needed) {
    if (width < px(needed)) return 0.0f;
    const float edge = right;
    right -= characters * number + gap;
    return edge;
  };
  c.l = take(9, 440);
  c.m = take(9, 560);
  c.bytes = take(12, 620);
  c.reads = take(10, 340);
  c.passes_end = right;
  return c;
}

/// Draws `slots` passes, the number of the longest algorithm, each filled up to its read head.
void draw_heads(ImVec2 at, float end, int slots, const Steps& row, const RowStep& step, bool followed) {
  ImDrawList* list = ImGui::GetWindowDrawList();
  const float slot = (end - at.x + px(6)) / static_cast<float>(slots), n = static_cast<float>(row.S.size());
  for (int pass = 0; pass < row.passes; ++pass) {
    const ImVec2 from{at.x + slot * static_cast<float>(pass), at.y + px(7)}, to{from.x + slot - px(6), from.y + px(10)};
    list->AddRectFilled(from, to, colours().raised, px(3));
    const float share = std::clamp(static_cast<float>(step.reads) / n - static_cast<float>(pass), 0.0f, 1.0f);
    if (share <= 0) continue;
    const float x = from.x + (to.x - from.x) * share;
    const Colour colour = followed ? colours().a : mixed(colours().raised, colours().secondary, 0.7f);
    list->AddRectFilled(from, {x, to.y}, colour, px(3));
    const bool runs = step.pass == pass && step.kind != StepKind::finish;
    if (runs)
      list->AddTriangleFilled({x - px(5), at.y + px(1)}, {x + px(5), at.y + px(1)}, {x, at.y + px(8)},
                              followed ? colours().text : colours().secondary);
  }
}

void draw_header(ImVec2 at, const LaneColumns& c) {
  draw_text({at.x + px(name_width), at.y}, Face::section, colours().faint, "PASSES OVER THE SCORES");
  const auto head = [&](float x, Face face, const char* text) {
    if (x > 0) draw_text({x, at.y}, face, colours().faint, text, 1);
  };
  head(c.reads, Face::section, "SCORES READ");
  head(c.bytes, Face::section, "HBM BYTES");
  head(c.m, Face::mono_small, "m");
  head(c.l, Face::mono_small, "l");
}

void draw_lane(LessonScene& scene, const StepperData& s, int a, ImVec2 at, const LaneColumns& c) {
  const Steps& row = s.rows[static_cast<std::size_t>(a)];
  const RowStep& step = row.steps[static_cast<std::size_t>(s.at[static_cast<std::size_t>(a)])];
  const bool followed = a == s.followed;
  const std::string called(name(row.question.algorithm));
  const Colour colour = followed ? colours().a : colours().secondary;
  const float y = at.y + (px(step_lane_height) - line_height(Face::mono_small)) / 2;
  ImGui::GetWindowDrawList()->AddRectFilled({at.x, at.y + px(8)}, {at.x + px(8), at.y + px(16)}, colour, px(2));
  draw_text({at.x + px(16), at.y + (px(step_lane_height) - line_height(Face::mono)) / 2}, Face::mono,
            followed ? colours().text : colours().secondary, called);
  const int slots = std::ranges::max_element(s.rows, {}, &Steps::passes)->passes;
  draw_heads({at.x + px(name_width), at.y}, c.passes_end, slots, row, step, followed);
  const auto number = [&](float x, const std::string& text) {
    if (x > 0) draw_text({x, y}, Face::mono_small, followed ? colours().text : colours().secondary, text, 1);
  };
  number(c.reads, fmt::format("{} of {}", step.reads, row.steps.back().reads));
  number(c.bytes, fmt::format("{:.0f} of {:.0f}", step.bytes, row.steps.back().bytes));
  number(c.m, state_number(step.state.m));
  number(c.l, state_number(step.state.l));
  ImGui::SetCursorScreenPos(at);
  if (ImGui::InvisibleButton(("###lane " + called).c_str(), {scene.width, px(step_lane_height)}))
    change(scene, "follow", called);
  explain(std::string(info(row.question.algorithm).title) +
              ". Click: its code, its formula and its state below. Bytes between HBM and the chip for this one "
              "query, elements as large as the format's:",
          info(row.question.algorithm).bytes);
}

}  // namespace

void draw_step_lanes(LessonScene& scene, const StepperData& stepped) {
  const ImVec2 at = ImGui::GetCursorScreenPos();
  const LaneColumns columns = lane_columns(at.x, scene.width);
  draw_header(at, columns);
  const float top = at.y + px(18);
  for (int a = 0; a < static_cast<int>(stepped.rows.size()); ++a)
    draw_lane(scene, stepped, a, {at.x, top + px(step_lane_height) * static_cast<float>(a)}, columns);
  take_room(at, {scene.width, px(18) + px(step_lane_height) * static_cast<float>(stepped.rows.size())});
}

bool draw_step_transport(LessonScene& scene, RecurrenceViewState& state, const StepperData& stepped, int tick) {
  struct Button {
    const char* id;
    TransportIcon icon;
    int to;
    const char* what;
  };
  const int last = static_cast<int>(state.clock.size()) - 1;
  const std::array<Button, 5> buttons{
      {{"###first step", TransportIcon::first, 0, "Before any score."},
       {"###step back", TransportIcon::previous, std::max(0, tick - 1), "One step back."},
       {"###play steps", state.playing ? TransportIcon::pause : TransportIcon::play, tick,
        "Plays the steps, three a second; then, or when pressed again, it stops."},
       {"###step", TransportIcon::next, std::min(last, tick + 1), "One step forward: one line of the code."},
       {"###last step", TransportIcon::last, last, "To the output."}}};
  int to = tick;
  ImGui::PushStyleVar(ImGuiStyleVar_ItemSpacing, {px(2), 0});
  for (const Button& b : buttons) {
    const bool plays = b.id[3] == 'p';
    if (transport_button(b.id, b.icon, plays && state.playing)) {
      state.playing = plays && !state.playing;
      state.next_tick = ImGui::GetTime();
      to = state.playing && tick == last ? 0 : b.to;
    }
    explain(b.what);
    ImGui::SameLine();
  }
  ImGui::PopStyleVar();
  const float digits = text_width(Face::mono, fmt::format("step {} of {}", last, last)),
              place = text_width(Face::label, "pass 3, scores 60 to 64");
  const ImVec2 at{ImGui::GetCursorScreenPos().x + px(8), ImGui::GetCursorScreenPos().y};
  const float right = ImGui::GetCursorScreenPos().x + scene.width - 5 * (transport_width() + px(2)),
              y = at.y + (px(control_height) - line_height(Face::mono)) / 2;
  const bool both = right - at.x > digits + place + px(140);
  const float track_width = std::max(px(60), right - at.x - digits - px(16) - (both ? place + px(16) : 0));
  ImGui::SetCursorScreenPos(at);
  track({"steps", 0, std::max(1, last), 0, last}, to, {track_width, px(control_height)});
  explain("The step that is shown. All algorithms advance by the number of scores processed, so that they stay side by side.");
  if (both)
    draw_text({at.x + track_width + px(16), y}, Face::label, colours().secondary, step_place(stepped.row(), stepped.index()));
  draw_text({right, y}, Face::mono, colours().text,
            fmt::format("step {:{}} of {}", tick, static_cast<int>(std::to_string(last).size()), last), 1);
  if (to != tick) change(scene, "at", std::to_string(to));
  return state.playing;
}

}  // namespace attoscope
