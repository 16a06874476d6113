// The Model workspace: its panels side by side, the conclusion and the buttons.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "ui/model/panels.h"
#include "ui/widgets/progress.h"
#include "ui/widgets/widgets.h"

namespace attoscope::ui {

namespace {

constexpr float model_button_width = 76;

void draw_run_buttons(const ModelScene& s) {
  const ModelProgress& p = s.model().progress;
  const ModelRequest::Act next = next_model_act(s.model());
  const bool runs = next == ModelRequest::Act::run;
  if (push_button("run###run model", runs, {px(model_button_width), 0}, runs)) s.ask({.act = next});
  const std::string time = about_seconds(p.expected[0]);
  explain("Runs the exact model, the model under a and under b, and the yardsticks over the text" +
          (time.empty() ? "." : ": " + time + ".") + " Pressed again, it restarts with the current settings. Key R.");
  ImGui::SameLine(0, px(8));
  if (push_button("cancel###cancel model", false, {px(model_button_width), 0}, p.runs || p.attributes || p.opens))
    s.ask({.act = ModelRequest::Act::cancel});
  explain("Stops; the answer on show stays. Key Esc.");
}

/// A progress bar, and a text on the current work.
void draw_model_progress(const ModelScene& s, ImVec2 at, float width) {
  const ModelProgress& p = s.model().progress;
  if (!p.runs && !p.attributes && !p.opens) return;
  const float bar = std::min(px(160), width / 3), thick = px(6);
  draw_bar({at.x, at.y + (px(control_height) - thick) / 2}, bar, thick, p.opens && !p.runs && !p.attributes ? 0 : p.share);
  std::string text = p.runs         ? "running the model"
                     : p.attributes ? "making one part at a time exact"
                                    : "running the exact model up to this layer";
  if ((p.runs || p.attributes) && p.share == 0) text = "reading the weights";
  if ((p.runs || p.attributes) && p.seconds_left >= 0) text += ", " + about_seconds(p.seconds_left) + " left";
  draw_in_line({at.x + bar + px(10), at.y}, px(control_height), Face::mono_small, colours().secondary,
               fitted(Face::mono_small, text, width - bar - px(10)));
}

/// Headline and sentence.
struct ModelWords {
  std::string headline, sentence;
  bool bad = false;
};

ModelWords words_of(const ModelScene& s) {
  const ModelView& m = s.model();
  if (!m.progress.remark.empty()) return {s.found() ? s.found()->conclusion : "No answer", m.progress.remark, true};
  if (!s.found()) {
    const std::string time = about_seconds(m.progress.expected[0]);
    if (!m.reading || m.progress.reads) return {"A whole model", "Checkpoint and text are being read."};
    if (!m.reading->wrong.empty()) return {"A whole model", m.reading->wrong, !m.checkpoint.empty()};
    return {"By how much does this rounding move the next token?",
            fmt::format("Run reads {} tokens of {} with attention of a, of b, and exactly{}.", m.reading->tokens.size(),
                        m.reading->name, time.empty() ? "" : ": " + time)};
  }
  const ModelFound& f = *s.found();
  ModelWords words{m.shares ? m.shares->conclusion : f.conclusion,
                   fmt::format("{}, {} tokens; a: {}, b: {}; around them: {}{}.", f.reading->name, f.reading->tokens.size(),
                               f.a_name, f.b_name, f.reading->asked.around,
                               f.reading->asked.only.empty() ? "" : "; only in " + f.reading->asked.only)};
  if (m.progress.stale) words.sentence = "The settings have changed since; run computes them. " + words.sentence;
  return words;
}

/// The comparison with a captured run; details as a tooltip.
void draw_against(const ModelScene& s) {
  if (!s.found() || s.found()->reading->asked.against.empty()) return;
  const ModelFound& f = *s.found();
  const bool bad = !f.against_wrong.empty();
  paragraph(Face::label, bad ? colours().bad : colours().text, bad ? f.against_wrong : "Captured run: " + f.against + ".",
            ImGui::GetContentRegionAvail().x);
  explain(f.reading->asked.against, f.against_lines);
  ImGui::Dummy({0, px(8)});
}

/// Tables and plots of the answer; panels too low for them scroll.
void draw_answers(const ModelScene& s, Box box) {
  if (!s.found()) return;
  const float width = box.width(), gap = px(12), part = px(190);
  const float top = box.min.y + px(static_cast<float>(32 + 21 * s.found()->runs.rows.size())) + gap;
  const bool stacked = width < px(560);
  box.max.y = std::floor(std::max(box.max.y, top + (stacked ? 2 * part + gap : part)));
  draw_model_runs(s, {box.min, {box.max.x, top - gap}});
  if (stacked) {
    const float half = std::floor((box.max.y - top - gap) / 2);
    draw_model_growth(s, {{box.min.x, top}, {box.max.x, top + half}});
    draw_model_shares(s, {{box.min.x, top + half + gap}, box.max});
  } else {
    const float half = std::floor(box.min.x + (width - gap) / 2);
    draw_model_growth(s, {{box.min.x, top}, {half, box.max.y}});
    draw_model_shares(s, {{half + gap, top}, box.max});
  }
  take_room({box.min.x, box.max.y}, {0, 0});
}

void draw_text_and_targets(const ModelScene& s) {
  const ImVec2 at = ImGui::GetCursorScreenPos(), room = ImGui::GetContentRegionAvail();
  const float half = std::floor(0.55f * room.y);
  draw_model_text(s, {at, {at.x + room.x, at.y + half}});
  draw_model_targets(s, {{at.x, at.y + half + px(12)}, {at.x + room.x, at.y + room.y}});
}

void draw_model_tabs(const ModelScene& s) {
  constexpr std::array<Choice, 2> tabs{
      {{"plan", "Checkpoint, text, methods and surroundings."}, {"tokens", "The text and the tokens that move most."}}};
  segmented("plan or tokens", tabs, s.state.shows_numbers);
}

/// The conclusion in a sentence, buttons and progress.
void draw_model_header(const ModelScene& s) {
  const ImVec2 at = ImGui::GetCursorScreenPos();
  const float width = ImGui::GetContentRegionAvail().x;
  const ModelWords words = words_of(s);
  draw_words(words.headline, colours().text, words.sentence, words.bad ? colours().bad : colours().secondary);
  const float top = ImGui::GetItemRectMax().y + px(6);
  ImGui::SetCursorScreenPos({at.x, top});
  draw_run_buttons(s);
  const float left = px(2 * model_button_width + 8 + 16);
  draw_model_progress(s, {at.x + left, top}, width - left);
  take_room({at.x, top + px(control_height + 8)}, {0, 0});
}

}  // namespace

std::string about_seconds(double seconds) {
  if (seconds < 0) return "";
  if (seconds < 90) return fmt::format("about {:.0f} s", std::max(1.0, seconds));
  return seconds < 5400 ? fmt::format("about {:.0f} min", seconds / 60) : fmt::format("about {:.1f} h", seconds / 3600);
}

ModelRequest::Act next_model_act(const ModelView& m) {
  return m.reading && !m.progress.reads && m.reading->wrong.empty() ? ModelRequest::Act::run : ModelRequest::Act::none;
}

void draw_model(const Frame& frame) {
  if (!frame.state.model) frame.state.model = std::make_shared<ModelPanelState>();
  ModelPanelState& m = *frame.state.model;
  if (m.seen != frame.input.model.found) {
    m.seen = frame.input.model.found;
    m.chosen.reset();
  }
  const ModelScene scene{frame.session, frame.input, m, frame.requests};
  const PlanLayout at = plan_layout(316, 348, 520);
  constexpr ImGuiWindowFlags still = ImGuiWindowFlags_NoScrollbar | ImGuiWindowFlags_NoScrollWithMouse;
  const bool tokens = at.narrow && m.shows_numbers;
  if (!tokens)
    panel("Model plan", at.plan, ImGuiWindowFlags_None, [&] {
      if (at.narrow) draw_model_tabs(scene);
      draw_model_plan(scene);
    });
  panel("Model", at.middle, ImGuiWindowFlags_None, [&] {
    draw_edges(at.middle, false);
    draw_model_header(scene);
    draw_against(scene);
    const ImVec2 from = ImGui::GetCursorScreenPos(), room = ImGui::GetContentRegionAvail();
    draw_answers(scene, {from, {from.x + room.x, from.y + room.y}});
  });
  if (!at.narrow || tokens)
    panel("Model tokens", at.numbers, still, [&] {
      if (!at.narrow) draw_edges(at.numbers, false);
      if (at.narrow) draw_model_tabs(scene);
      draw_text_and_targets(scene);
    });
}

}  // namespace attoscope::ui
