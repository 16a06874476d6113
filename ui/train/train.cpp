// The Train workspace: its layout; the conclusion from the record, the buttons, the progress and the kept states.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "imgui.h"
#include "imgui_stdlib.h"
#include "implot.h"
#include "ui/train/panels.h"
#include "ui/widgets/progress.h"
#include "ui/widgets/widgets.h"
#include "ui/words/numbers.h"

namespace attoscope::ui {
namespace {

using State = TrainProgress::State;
using Act = TrainRequest::Act;

const char* run_text(const TrainView& train) {
  const TrainProgress& p = train.progress;
  if (p.state == State::running) return "pause###run training";
  if (p.stale) return "run anew###run training";
  if (p.state == State::done) return "done###run training";
  if (p.state == State::stopped) return "stopped###run training";
  return p.state == State::paused ? "resume###run training" : "run###run training";
}

/// A button that sends a request to the training.
void request_button(const TrainScene& s, const char* text, float width, bool possible, const TrainRequest& request,
                    const std::string& what, bool lit = false) {
  if (push_button(text, lit && possible, {width, 0}, possible)) s.requests.train = request;
  explain(what);
  ImGui::SameLine(0, px(8));
}

void run_buttons(const TrainScene& s, float unit) {
  const TrainProgress& p = s.progress();
  const Act next = next_train_act(s.input.train);
  request_button(s, run_text(s.input.train), unit * 84, next != Act::none, {.act = next},
                 "Trains all models of the plan side by side; pressed again, it pauses between two steps. Continuing gives the "
                 "same bits. Key Space.",
                 next == Act::run);
  const bool steps = p.state != State::running && next == Act::run;
  request_button(s, "step###one step", unit * 48, steps, {.act = Act::one_step}, "Takes one step, then pauses. Key N.");
  request_button(s, "restart###restart", unit * 64, s.record() != nullptr && p.wrong.empty() && !p.stale, {.act = Act::restart},
                 std::string("Starts again from the first step, with the plan at the left. Key Shift+R.") +
                     (p.stale ? " If the plan changed, use the button at the left." : ""));
}

/// The kept step at or before the picked one, else the newest; -1: nothing is kept.
int kept_step(const TrainProgress& p, const TrainLook& look) {
  if (p.kept.empty()) return -1;
  if (look.step < 0) return p.kept.back();
  const auto beyond = std::ranges::upper_bound(p.kept, look.step);
  return beyond == p.kept.begin() ? p.kept.front() : *(beyond - 1);
}

/// Buttons for the kept state at or before the picked step: go back to it, or go on from it under another plan.
void kept_buttons(const TrainScene& s, float unit) {
  const TrainProgress& p = s.progress();
  const int kept = kept_step(p, s.look());
  const std::string at = kept >= 0 ? fmt::format(" {}", kept) : "";
  request_button(s, fmt::format("back to{}###go back", at).c_str(), unit * 96, kept >= 0, {.act = Act::go_back, .step = kept},
                 "Goes back to this kept state under the plan that was trained; later steps are discarded. A click on the line "
                 "below, or in the plots, selects a step; the last state at or before it is used.");
  const std::string why = !p.stale ? "The plan is the one that was trained: change it first." : p.forkable;
  request_button(
      s, fmt::format("fork at{}###fork", at).c_str(), unit * 96, kept >= 0 && why.empty() && p.wrong.empty(),
      {.act = Act::fork, .step = kept},
      std::string("Continues from this kept state under the plan at the left, to see what another policy does from here. ")
          .append(why),
      p.stale);
}

void checkpoint_popup(const TrainScene& s) {
  std::string& typed = s.state.typed_checkpoint;
  const bool can_ask = s.input.sessions.has_dialogs, named = can_ask || !typed.empty();
  constexpr float width = 360;
  label(Face::section, colours().faint, "CHECKPOINT");
  {
    const WithField f(Face::mono);
    ImGui::SetNextItemWidth(px(width));
    ImGui::InputTextWithHint("##checkpoint", "folder/name.checkpoint", &typed);
  }
  explain(std::string("The path of the checkpoint.") + (can_ask ? " If it is empty, a file dialog opens." : ""));
  const auto button = [&](const char* text, bool possible, const TrainRequest& request, const char* what) {
    if (push_button(text, false, {px((width - 8) / 2), 0}, possible)) {
      s.requests.train = request;
      ImGui::CloseCurrentPopup();
    }
    explain(what);
  };
  button("save###save checkpoint", named && s.record() != nullptr, {.act = Act::save, .file = typed},
         "Plan, record and the state of the newest step; training continues from it with the same bits.");
  ImGui::SameLine(0, px(8));
  button("open###open checkpoint", named, {.act = Act::open, .file = typed}, "Opens a checkpoint, paused at its step.");
  if (s.progress().left_over.empty()) return;
  button("unsaved training###open left over", true, {.act = Act::open, .file = s.progress().left_over},
         "The training that the previous window did not save.");
}

void checkpoint_button(const TrainScene& s, float unit) {
  if (push_button("checkpoint###checkpoint", !s.progress().left_over.empty() && s.record() == nullptr, {unit * 92, 0}))
    ImGui::OpenPopup("checkpoints");
  explain("Saves the training to a file, or opens one." +
          (s.progress().left_over.empty() ? std::string() : " The previous window left an unsaved training."));
  in_popup("checkpoints", [&] { checkpoint_popup(s); });
}

/// A notice about the current work or a failure; it replaces the conclusion.
struct Notice {
  std::string text;
  Colour colour;
};
Notice notice_of(const TrainScene& s, const TrainWords& words) {
  const TrainProgress& p = s.progress();
  if (!p.remark.empty()) return {s.record() != nullptr ? with_run_named(s.record()->plan, p.remark) : p.remark, colours().bad};
  if (p.stale && s.record() != nullptr) {
    const int kept = kept_step(p, s.look());
    const std::string fork = !p.forkable.empty() ? p.forkable
                             : kept >= 0         ? fmt::format("or go on from step {} under it (fork).", kept)
                                                 : "no state is kept to fork from.";
    return {"The plan changed: run anew, " + fork, colours().accent};
  }
  return {words.sentence, words.bad ? colours().bad : colours().secondary};
}

/// All steps as a line with the progress, the kept states and the picked step.
void draw_steps_line(const TrainScene& s, ImVec2 at, float width) {
  const TrainProgress& p = s.progress();
  const float thick = px(6), height = px(18), y = at.y + (height - thick) / 2, all = static_cast<float>(std::max(1, p.steps));
  const auto x_of = [&](int step) { return at.x + std::clamp(static_cast<float>(step) / all, 0.0f, 1.0f) * width; };
  ImDrawList* list = ImGui::GetWindowDrawList();
  draw_bar({at.x, y}, width, thick, static_cast<double>(p.step) / static_cast<double>(all));
  for (const int kept : p.kept)
    list->AddLine({x_of(kept), at.y + px(1)}, {x_of(kept), at.y + height - px(1)},
                  kept == kept_step(p, s.look()) ? colours().text : colours().faint, px(1.4f));
  ImGui::SetCursorScreenPos(at);
  const bool pressed = ImGui::InvisibleButton("kept steps", {width, height}, ImGuiButtonFlags_EnableNav);
  const auto keyed = keyed_place(std::max(1, static_cast<int>(p.kept.size())), 1);
  const bool hot = ImGui::IsItemHovered();
  const TrainRecord* const r = s.record();
  explain("Progress of the training. Ticks are kept states to go back to or fork from; a click selects the nearest.",
          r == nullptr ? "" : "trained on " + r->device + (r->remark.empty() ? "" : "; " + r->remark));
  if (!hot || p.kept.empty()) return;
  const float mouse = ImGui::GetIO().MousePos.x;
  const auto under = std::ranges::min_element(p.kept, {}, [&](int step) { return std::abs(x_of(step) - mouse); });
  const int nearest = keyed ? p.kept[static_cast<std::size_t>(keyed->column)] : *under;
  list->AddCircle({x_of(nearest), at.y + height / 2}, px(6), colours().text, 0, px(1.4f));
  if (pressed) s.look().step = nearest;
}

void draw_progress_line(const TrainScene& s, ImVec2 at, float width) {
  const TrainProgress& p = s.progress();
  std::string text = progress_words(p);
  if (p.state == State::running && p.seconds_left >= 0) text.append(", ").append(time_left(p.seconds_left));
  if (p.state == State::paused) text += ", paused";
  const float reserved = std::min(width * 0.6f, px(316));
  draw_in_line({at.x + width, at.y}, px(18), Face::mono_small, colours().secondary, fitted(Face::mono_small, text, reserved),
               1);
  draw_steps_line(s, at, width - reserved - px(8));
}

/// The conclusion from the record, the buttons, the progress, the kept states.
void draw_header(const TrainScene& s) {
  const ImVec2 at = ImGui::GetCursorScreenPos();
  const float width = ImGui::GetContentRegionAvail().x;
  const TrainWords words = train_words(s.input.train);
  const Notice notice = notice_of(s, words);
  const bool fits = text_width(Face::headline, words.headline) <= width;
  const std::string headline = fits ? words.headline : words.headline.substr(0, words.headline.find(", "));
  draw_words(headline, words.bad ? colours().bad : colours().text, notice.text, notice.colour);
  const float top = ImGui::GetItemRectMax().y + px(8);
  ImGui::SetCursorScreenPos({at.x, top});
  const bool one_line = width >= px(520);
  const float unit = std::min(px(1), (width - px(3 * 8)) / (84 + 48 + 64 + 92));  // scale of the buttons' widths
  run_buttons(s, unit);
  if (one_line) kept_buttons(s, unit);
  checkpoint_button(s, unit);
  const float last = top + (one_line ? 0 : px(control_height + 4)), below = last + px(control_height + 8);
  if (!one_line) {
    ImGui::SetCursorScreenPos({at.x, last});
    kept_buttons(s, unit);
  }
  draw_progress_line(s, {at.x, below}, width);
  take_room({at.x, below + px(18 + 6)}, {0, 0});
}

/// Draws the invitation while there is no training.
void draw_invitation(const TrainScene& s, const Box& box) {
  const float middle = (box.min.x + box.max.x) / 2, top = (box.min.y + box.max.y) / 2 - px(40),
              width = std::min(px(460), box.width() - px(24));
  const bool begins = s.progress().state == State::running;
  const std::string text = begins ? "The first step is being computed."
                                  : "Press run above, or the space bar: the curves grow here while the plan at the left is "
                                    "trained, and you can pause, go back and fork at any time.";
  ImGui::SetCursorScreenPos({middle - width / 2, top});
  paragraph(Face::label, colours().secondary, text, width);
}

/// The three pictures under each other, with one axis of steps.
void draw_pictures(const TrainScene& s) {
  const ImVec2 at = ImGui::GetCursorScreenPos();
  const float width = ImGui::GetContentRegionAvail().x, height = std::max(ImGui::GetContentRegionAvail().y, px(360)),
              gap = px(12);
  const Box all{at, {at.x + width, at.y + height}};
  if (s.record() == nullptr) return draw_invitation(s, {at, {all.max.x, at.y + ImGui::GetContentRegionAvail().y}});
  const float first = std::floor(0.40f * (height - 2 * gap)), second = std::floor(0.30f * (height - 2 * gap));
  const Box top{at, {all.max.x, at.y + first}}, low{{at.x, top.max.y + gap}, {all.max.x, top.max.y + gap + second}},
      picture{{at.x, low.max.y + gap}, {all.max.x, all.max.y - px(4)}};
  if (ImPlot::BeginAlignedPlots("steps", true)) {
    draw_train_deviation(s, top);
    draw_train_runs(s, low);
    draw_train_picture(s, picture);
    ImPlot::EndAlignedPlots();
  }
  take_room({at.x, all.max.y}, {0, 0});
}

void draw_tabs(const TrainScene& s) {
  constexpr std::array<Choice, 2> tabs{{{"plan", "The models, their methods, the recipe and the text."},
                                        {"numbers", "Tensors and heads at the selected step."}}};
  segmented("plan or numbers", tabs, s.state.shows_numbers);
}

/// Suspects, tensors and heads at the picked step.
void draw_numbers(const TrainScene& s) {
  if (s.record() == nullptr) {
    wrapped(Face::label, colours().faint,
            "The numbers of every tensor and head at the step selected in the curves appear here.",
            ImGui::GetContentRegionAvail().x);
    return;
  }
  const TrainRecord& r = *s.record();
  const float gap = px(12);
  float room = ImGui::GetContentRegionAvail().y - px(56) - gap;  // the button is below
  const auto height_of = [](std::size_t rows) { return px(44 + 21 * static_cast<float>(rows)); };
  const auto draw = [&](void (*table)(const TrainScene&, float), float height) {
    const ImVec2 at = ImGui::GetCursorScreenPos();
    table(s, height);
    ImGui::SetCursorScreenPos({at.x, at.y + height + gap});
    room -= height + gap;
  };
  if (const std::size_t seeds = s.state.drawing.seeds.size(); seeds > 0)
    draw(draw_train_seeds, std::min(height_of(seeds + 1), 0.2f * room));
  if (r.plan.kind == TrainKind::bisect) draw(draw_train_suspects, std::min(height_of(r.pairs.size()), 0.3f * room));
  if (r.plan.kind == TrainKind::replay) draw([](const TrainScene& scene, float) { draw_train_replay(scene); }, px(5 * 18 + 4));
  const float all_heads = height_of(static_cast<std::size_t>(2 * r.plan.model.layers * r.plan.model.heads)),
              heads = std::clamp(room - gap - height_of(r.parameters.tensors.size() + 1), std::min(0.42f * room, all_heads),
                                 all_heads);
  draw(draw_train_tensors, std::max(px(80), room - gap - heads));
  draw(draw_train_heads, heads);
  draw_train_explore(s);
}

/// Notes that the next record is another training if it begins with its first step, even under the same plan.
void note_beginning(TrainPanelState& m, const TrainView& train, TrainRequest::Act act) {
  const bool begins = act == Act::restart || act == Act::open;
  const bool continues = (act == Act::run || act == Act::one_step) && !train.progress.stale;
  if (act == Act::none || act == Act::pause || act == Act::save || act == Act::explore || continues) return;
  m.branches.begins_anew = begins || act == Act::run || act == Act::one_step;
}

}  // namespace

Act next_train_act(const TrainView& train) {
  const TrainProgress& p = train.progress;
  if (p.state == State::running) return Act::pause;
  if (!p.wrong.empty() || p.vocabulary == 0) return Act::none;
  const bool over = p.state == State::done || p.state == State::stopped;
  return over && !p.stale ? Act::none : Act::run;
}

void draw_train(const Frame& frame) {
  if (!frame.state.train) frame.state.train = std::make_shared<TrainPanelState>();
  TrainPanelState& m = *frame.state.train;
  const bool anew = follow(m.branches, frame.input.train.record);
  refresh(m.drawing, frame.input.train.record, frame.session.train_look, frame.input.train.seeds);
  for (TrainBranch& b : m.branches.left) {  // the axis of steps extends to abandoned branches
    refresh(b.drawing, b.record, frame.session.train_look);
    m.drawing.last = std::max(m.drawing.last, static_cast<double>(b.record->step));
  }
  if (anew || m.zoom1 > m.drawing.last) m.zoom0 = m.zoom1 = 0;
  m.pointed = std::exchange(m.pointing, std::nullopt);
  const TrainScene scene{frame.session, frame.input, m, frame.requests};
  const PlanLayout at = plan_layout(364, 390, 448);
  constexpr ImGuiWindowFlags still = ImGuiWindowFlags_NoScrollbar | ImGuiWindowFlags_NoScrollWithMouse;
  const bool numbers = at.narrow && m.shows_numbers;
  if (!numbers)
    panel("Train plan", at.plan, ImGuiWindowFlags_None, [&] {
      if (at.narrow) draw_tabs(scene);
      draw_train_plan(scene);
    });
  panel("Train", at.middle, ImGuiWindowFlags_None, [&] {
    draw_edges(at.middle, false);
    draw_header(scene);
    draw_pictures(scene);
  });
  if (!at.narrow || numbers)
    panel("Train numbers", at.numbers, still, [&] {
      draw_edges(at.numbers, false);
      if (at.narrow) draw_tabs(scene);
      draw_numbers(scene);
    });
  note_beginning(m, frame.input.train, frame.requests.train.act);
}

}  // namespace attoscope::ui
