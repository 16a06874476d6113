// The answer in a sentence, its progress, and buttons that run, pause and cancel.
#include <fmt/format.h>

#include <algorithm>

#include "ui/sweep/panels.h"
#include "ui/sweep/words.h"
#include "ui/widgets/progress.h"
#include "ui/widgets/widgets.h"
#include "ui/words/numbers.h"

namespace attoscope {

namespace {

using State = SweepProgress::State;

constexpr float button_width = 76;

const char* next_text(State state) {
  switch (state) {
    case State::idle:
      return "run###run sweep";
    case State::running:
      return "pause###run sweep";
    case State::paused:
      return "resume###run sweep";
    case State::done:
      break;
  }
  return "done###run sweep";
}

void draw_buttons(const SweepScene& s) {
  const SweepProgress& p = s.sweep().progress;
  const SweepRequest next = next_request(p);
  ImGui::BeginDisabled(next == SweepRequest::none);
  if (push_button(next_text(p.state), next == SweepRequest::run, {px(button_width), 0})) s.requests.sweep = next;
  ImGui::EndDisabled();
  explain(
      "Computes the missing points, the newest plan first; pressed again, it pauses. Finished points are kept on disk and not "
      "computed again, even after a restart. Key R.");
  ImGui::SameLine(0, px(8));
  const bool under_way = p.state == State::running || p.state == State::paused;
  ImGui::BeginDisabled(!under_way);
  if (push_button("cancel###cancel sweep", false, {px(button_width), 0})) s.requests.sweep = SweepRequest::cancel;
  ImGui::EndDisabled();
  explain("Stops the sweep. Finished points are kept. Key Esc.");
}

void draw_bar(const SweepScene& s, ImVec2 at, float width) {
  const SweepProgress& p = s.sweep().progress;
  if (p.points == 0) return;
  const float thick = px(6), bar = std::min(px(160), width / 3), y = at.y + (px(control_height) - thick) / 2;
  const float share = static_cast<float>(p.done) / static_cast<float>(p.points);
  ImDrawList* list = ImGui::GetWindowDrawList();
  list->AddRectFilled({at.x, y}, {at.x + bar, y + thick}, colours().line, thick / 2);
  if (p.done > 0)
    list->AddRectFilled({at.x, y}, {at.x + std::max(thick, bar * share), y + thick},
                        p.state == State::done ? colours().good : colours().accent, thick / 2);
  ImGui::SetCursorScreenPos(at);
  ImGui::InvisibleButton("progress", {bar, px(control_height)});
  explain("Finished points, of all in the plan. The time left is estimated from the points computed since the start.");
  const float text_y = at.y + (px(control_height) - line_height(Face::mono_small)) / 2, text_x = at.x + bar + px(10);
  const std::string text = fitted(Face::mono_small, progress_text(p), width - bar - px(10));
  const float end = text_x + draw_text({text_x, text_y}, Face::mono_small, colours().secondary, text) + px(12);
  if (p.failed > 0 && end < at.x + width - px(80))
    draw_text({end, text_y}, Face::mono_small, colours().bad,
              fitted(Face::mono_small, fmt::format("{} failed", p.failed), at.x + width - end));
}

}  // namespace

SweepRequest next_request(const SweepProgress& p) {
  const bool wrong = !p.wrong.empty() || !p.wrong_values[0].empty() || !p.wrong_values[1].empty();
  if (p.state == State::running) return SweepRequest::pause;
  return p.state == State::done || p.points == 0 || wrong ? SweepRequest::none : SweepRequest::run;
}

void draw_sweep_head(const SweepScene& s) {
  const ImVec2 at = ImGui::GetCursorScreenPos();
  const float width = ImGui::GetContentRegionAvail().x;
  const SweepWords words = sweep_words(s.sweep(), s.plan(), s.state.drawing.extremes);
  draw_text(at, Face::headline, colours().text, fitted(Face::headline, words.headline, width));
  const std::string& remark = s.sweep().progress.remark;
  draw_text({at.x, at.y + px(26)}, Face::label, remark.empty() ? colours().secondary : colours().bad,
            fitted(Face::label, remark.empty() ? words.sentence : remark, width));
  ImGui::InvisibleButton("words", {width, px(44)});
  explain(words.headline, remark.empty() ? words.sentence : remark);
  ImGui::SetCursorScreenPos({at.x, at.y + px(48)});
  draw_buttons(s);
  const float left = px(2 * button_width + 8 + 16);
  draw_bar(s, {at.x + left, at.y + px(48)}, width - left);
  ImGui::SetCursorScreenPos({at.x, at.y + px(48 + control_height + 4)});
  ImGui::Dummy({0, 0});
}

}  // namespace attoscope
