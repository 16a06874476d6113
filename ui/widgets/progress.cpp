#include "ui/widgets/progress.h"

#include <fmt/format.h>

#include <algorithm>

#include "kernels/experiment/experiment.h"
#include "kernels/experiment/result.h"
#include "ui/widgets/widgets.h"

namespace attoscope::ui {

std::string time_left(double seconds) {
  if (seconds < 0) return "          ";
  if (seconds < 100) return fmt::format("{:4.1f} s left", seconds);
  if (seconds < 6000) return fmt::format("{:2.0f} min left", seconds / 60);
  return fmt::format("{:4.0f} h left", std::min(seconds / 3600, 9999.0));
}

void draw_bar(ImVec2 at, float width, float thick, double share, Colour filled) {
  const float end = width * static_cast<float>(std::clamp(share, 0.0, 1.0));
  ImDrawList* list = ImGui::GetWindowDrawList();
  list->AddRectFilled(at, {at.x + width, at.y + thick}, colours().line, thick / 2);
  if (end > 0) list->AddRectFilled(at, {at.x + std::max(thick, end), at.y + thick}, filled, thick / 2);
}

void draw_progress(const PanelInput& input, float height, Requests& requests) {
  if (!input.answer.computing || input.answer.computing_seconds <= shown_after) return;
  const ImVec2 at = ImGui::GetCursorScreenPos();
  const float bar = px(120), thick = px(6), y = at.y + (height - thick) / 2;
  draw_bar({at.x, y}, bar, thick, input.answer.progress);
  ImGui::Dummy({bar, height});
  explain(input.answer.reading ? "A file is being read."
                               : "The experiment is being computed: inputs, golden value, a, b, deviations.");
  draw_in_line(
      {at.x + bar + px(8), at.y}, height, Face::mono_small, colours().secondary,
      fmt::format("{:3.0f} % ", 100 * std::clamp(input.answer.progress, 0.0, 1.0)) + time_left(input.answer.seconds_left));
  ImGui::SetCursorScreenPos({at.x + px(progress_width - 56), at.y + px(2)});
  if (push_button("cancel###cancel", false, {px(56), height - px(4)})) requests.cancel = true;
  explain(input.answer.reading ? "Stops reading and keeps the current tensors. Key Esc."
                               : "Stops this computation and keeps the current picture. Key Esc.");
}

bool is_first_answer(const Result& result) {
  const Problem& p = result.experiment.problem;
  return static_cast<int>(result.rows.size()) < (p.rows == 0 ? p.n : std::min(p.rows, p.n));
}

bool is_stale(const PanelInput& input) {
  return input.answer.computing && input.answer.computing_seconds > 0.1 &&
         !(input.answer.result && is_first_answer(*input.answer.result));
}

void dim_if_stale(const PanelInput& input) {
  if (!is_stale(input)) return;
  const ImVec2 at = ImGui::GetWindowPos(), size = ImGui::GetWindowSize();
  ImGui::GetWindowDrawList()->AddRectFilled(at, {at.x + size.x, at.y + size.y}, faded(colours().panel, 0.35f));
}

std::string heads_words(const HeadVerdicts& h) {
  if (!h.complete()) {
    const std::string wrong = h.wrong > 0 ? fmt::format(", {} wrong", h.wrong) : "";
    return fmt::format("{} of {} heads judged", h.judged, h.all) + wrong;
  }
  if (h.rounded()) return fmt::format("All {} heads rounded", h.all);
  if (h.wrong == 0) return fmt::format("{} of {} heads", h.incomparable, h.all) + " not comparable";
  const std::string wrong =
      h.wrong == h.all ? fmt::format("All {} heads wrong", h.all) : fmt::format("{} of {} heads wrong", h.wrong, h.all);
  return wrong + (h.incomparable > 0 ? fmt::format(", {} not comparable", h.incomparable) : "");
}

Colour heads_tone(const HeadVerdicts& heads) {
  if (!heads.complete()) return colours().text;
  return heads.wrong > 0 ? colours().bad : heads.rounded() ? colours().good : colours().text;
}

bool judging_stopped(const HeadsState& heads, const Experiment& e) {
  return !heads.unjudged.empty() && heads.unjudged == e.loaded.file;
}

void judging_button(const HeadVerdicts& found, const Experiment& e, HeadsState& heads, float width, Requests& requests) {
  if (found.complete()) return;
  const bool stopped = judging_stopped(heads, e);
  if (push_button(stopped ? "go on###judging" : "stop###judging", false, {width, 0})) {
    heads.unjudged = stopped ? "" : e.loaded.file;
    requests.side.stop_heads = !stopped;
  }
  explain(stopped ? "Judges the remaining heads." : "Stops, and keeps the verdicts so far.");
}

}  // namespace attoscope::ui
