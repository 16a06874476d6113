// The top bar and the status bar.
#include "ui/commands/bars.h"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <vector>

#include "kernels/experiment/result.h"
#include "ui/controls/controls.h"
#include "ui/learn/lesson_steps.h"
#include "ui/picture/heatmap_view.h"
#include "ui/sweep/panels.h"
#include "ui/train/series.h"
#include "ui/widgets/path_prompt.h"
#include "ui/widgets/progress.h"
#include "ui/widgets/widgets.h"
#include "ui/words/numbers.h"
#include "ui/words/sentences.h"

namespace attoscope::ui {

namespace {

constexpr float bar_height = 36;

constexpr ImGuiWindowFlags bar_flags = ImGuiWindowFlags_NoDecoration | ImGuiWindowFlags_NoDocking | ImGuiWindowFlags_NoMove |
                                       ImGuiWindowFlags_NoSavedSettings | ImGuiWindowFlags_NoScrollWithMouse |
                                       ImGuiWindowFlags_NoBringToFrontOnFocus;

bool begin_bar(const char* name, float y, float height) {
  const ImGuiViewport* view = ImGui::GetMainViewport();
  ImGui::SetNextWindowPos({view->Pos.x, y});
  ImGui::SetNextWindowSize({view->Size.x, height});
  ImGui::PushStyleVar(ImGuiStyleVar_WindowPadding, {px(12), 0});
  ImGui::PushStyleVar(ImGuiStyleVar_WindowRounding, 0);
  ImGui::PushStyleVar(ImGuiStyleVar_WindowMinSize, {1, 1});
  const bool open = ImGui::Begin(name, nullptr, bar_flags);
  ImGui::PopStyleVar(3);
  return open;
}

void scale_buttons(View& view) {
  if (quiet_button("−###smaller", px(26))) scale_ui(view, -1);
  explain("Everything smaller. Key −.");
  ImGui::SameLine(0, 0);
  const WithFace f(Face::mono);
  if (quiet_button(fmt::format("{:.0f} %###UI scale", view.ui_scale * 100).c_str(), px(52))) view.ui_scale = 1;
  explain("The size of text and controls. Click: 100 %.");
  ImGui::SameLine(0, 0);
  if (quiet_button("+###larger", px(26))) scale_ui(view, 1);
  explain("Everything larger. Key +.");
}

/// A quiet button with a tooltip.
bool bar_button(const char* label, const char* what, bool possible = true) {
  const bool pressed = if_possible(possible, [&] { return quiet_button(label); });
  explain(what);
  return pressed;
}

/// The look of the window, its picture, and its keys.
void view_menu(const Frame& frame) {
  constexpr EnumArray<Theme, Choice> themes{Choice{"dark", "Key T: the next theme."}, Choice{"light", "Key T: the next theme."},
                                            Choice{"contrast", "High contrast. Key T: the next theme."}};
  const WithSpacing spacing({px(8), px(8)});
  segmented("theme", themes, frame.session.view.theme, {.width = px(240)});
  const ImVec2 at = ImGui::GetCursorScreenPos();
  draw_in_line(at, px(control_height), Face::label, colours().secondary, "size");
  ImGui::SetCursorScreenPos({at.x + px(240 - 26 - 52 - 26), at.y});
  scale_buttons(frame.session.view);
  ImGui::Separator();
  if (ImGui::MenuItem("save the window###save", "F12")) frame.requests.exports.plot = ExportRequest{.name = "window"};
  explain("Saves the window as a PNG in the pictures folder. Every plot has its own button, shown under the mouse.");
  if (ImGui::MenuItem("all keys###help", "H")) frame.state.popups.help = !frame.state.popups.help;
  explain("Shows or hides the list of keys.");
}

void view_button(const Frame& frame) {
  if (bar_button("view###view", "Theme and size of the window, its picture as a PNG, and the list of all keys."))
    ImGui::OpenPopup("view menu");
  set_menu_place();
  if (!begin_panel_popup("view menu")) return;
  view_menu(frame);
  ImGui::EndPopup();
}

/// A button of the bar; `draw` draws it with its label. A bar that is too short for all leaves out those of the lowest ranks.
struct BarEntry {
  std::string label;
  int rank;
  std::function<void(const char* label)> draw;
  float width = quiet_width(label.c_str());
};

/// The buttons at the right end of the bar.
std::vector<BarEntry> bar_entries(const Frame& frame) {
  Session& session = frame.session;
  Popups& popups = frame.state.popups;
  History& history = frame.state.history;
  return {
      {"", 11, [&](const char*) { session_button(frame.input, frame.state, frame.requests); }, px(session_button_width)},
      {"find …  Ctrl+P###find", 7,
       [&](const char* label) {
         if (bar_button(label, "Finds any control or action by name. Ctrl+P or /.")) popups.palette.asked = true;
       }},
      {"questions###questions", 9,
       [&](const char* label) {
         if (bar_button(label, "Questions that the window answers, each with the way there.")) popups.questions_asked = true;
       }},
      {"presets", 6, [&](const char*) { presets_button(session, frame.input, frame.state); }},
      {figures_label(frame.input), 5, [&](const char*) { figures_button(session.view, frame.input, frame.requests); }},
      {fmt::format("pins {}###pins", session.pins.size()), 4,
       [&](const char* label) {
         if (bar_button(label, "Pinned experiments with their numbers, beside the controls. Shift+K shows them; K pins one."))
           session.view.show_pins = !session.view.show_pins;
       }},
      {"undo###undo", 8,
       [&](const char* label) {
         if (bar_button(label, "Undoes the last change of anything. A drag is one change. Ctrl+Z.", history.can_undo(session)))
           history.undo(session);
       }},
      {"redo###redo", 8,
       [&](const char* label) {
         if (bar_button(label, "Repeats the change that was undone. Ctrl+Shift+Z or Ctrl+Y.", history.can_redo(session)))
           history.redo(session);
       }},
      {"view", 10, [&](const char*) { view_button(frame); }},
  };
}

/// True if the window is narrow: gaps between tabs are smaller then.
bool is_narrow_bar() { return ImGui::GetWindowWidth() < px(1440); }

/// Draws the entries that fit, at the right end of the bar.
void draw_entries(std::vector<BarEntry> entries, float right, float room, float y) {
  const auto total = [&] {
    float sum = 0;
    for (const BarEntry& e : entries) sum += e.width;
    return sum;
  };
  while (!entries.empty() && total() > room)
    std::erase_if(entries, [lowest = std::ranges::min(entries, {}, &BarEntry::rank).rank](const BarEntry& e) {
      return e.rank == lowest;
    });
  float x = right - total();
  for (const BarEntry& e : entries) {
    ImGui::SetCursorScreenPos({x, y});
    e.draw(e.label.c_str());
    x += e.width;
  }
}

/// The workspaces as tabs; returns their right end.
float draw_tabs(View& view, float x) {
  const ImVec2 at = ImGui::GetWindowPos();
  const float text_y = at.y + (px(bar_height) - px(15)) / 2;
  const float beside = px(is_narrow_bar() ? 14 : 24);
  for (std::size_t i = 0; i < workspaces.size(); ++i) {
    const bool current = i == static_cast<std::size_t>(view.workspace);
    const float width = text_width(Face::body, workspaces[i].label) + beside;
    ImGui::SetCursorScreenPos({x, at.y});
    if (ImGui::InvisibleButton(std::string(workspaces[i].label).c_str(), {width, px(bar_height)}, ImGuiButtonFlags_EnableNav))
      view.workspace = static_cast<Workspace>(i);
    const bool hovered = ImGui::IsItemHovered();
    explain(workspaces[i].what);
    draw_text({x + width / 2, text_y}, Face::body, current || hovered ? colours().text : colours().secondary,
              workspaces[i].label, 0.5f);
    if (current)
      ImGui::GetWindowDrawList()->AddRectFilled({x, at.y + px(bar_height - 2)}, {x + width, at.y + px(bar_height)},
                                                colours().accent);
    x += width;
  }
  return x;
}

/// The program's name, if room is left beside tabs and buttons; returns its right end.
float draw_title() {
  constexpr float roomy = 720;
  const ImVec2 at = ImGui::GetWindowPos();
  const float x = at.x + px(12);
  if (ImGui::GetWindowWidth() < px(roomy)) return x;
  ImGui::PushFont(fonts().semibold, size::body);
  const ImVec2 extent = ImGui::CalcTextSize("Attoscope");
  ImGui::GetWindowDrawList()->AddText({x, at.y + (px(bar_height) - px(15)) / 2}, colours().text, "Attoscope");
  ImGui::PopFont();
  return x + extent.x + px(24);
}

/// Rows, time and digest of the answer.
std::vector<StatusNumber> answer_numbers(const PanelInput& input) {
  if (!input.answer.result) return {};
  const Result& r = *input.answer.result;
  return {{rows_text(r), 140, "Query rows in the picture and in the statistics.", is_first_answer(r)},
          {fmt::format("update {:6.1f} ms", r.timing.total), 120,
           r.backward ? "Time of the last answer: inputs, golden value, a, b, deviations, trace, and the backward pass of each."
                      : "Time of the last answer: inputs, golden value, a, b, deviations, trace."},
          {"digest a " + hex16(r.digests.a), 180,
           "Hash of the bits of a's output: the same on every machine for the same experiment."}};
}

std::vector<StatusNumber> sweep_numbers(const SweepView& sweep) {
  if (sweep.progress.points == 0) return {};
  std::vector<StatusNumber> numbers{
      {progress_text(sweep.progress), 260, "Finished points of the sweep, and all points of its plan."}};
  if (sweep.table) numbers.push_back({measure_title(*sweep.table), 140, "The number that the sweep measures."});
  if (sweep.progress.failed > 0)
    numbers.push_back({fmt::format("{} failed", sweep.progress.failed), 80, "Points that could not be computed.", true});
  return numbers;
}

std::vector<StatusNumber> train_numbers(const TrainView& train) {
  std::vector<StatusNumber> numbers{{progress_words(train.progress), 260, "Steps of the training, and how many a second."}};
  if (!train.record) return numbers;
  numbers.push_back({fmt::format("{} models, {} tensors", train.record->runs.size(), train.record->parameters.tensors.size()),
                     160, "Models and tensors that are trained side by side."});
  if (train.progress.seconds_left >= 0 && train.progress.state == TrainProgress::State::running)
    numbers.push_back({time_left(train.progress.seconds_left), 110, "Time until the last step."});
  return numbers;
}

std::vector<StatusNumber> model_numbers(const ModelView& model) {
  if (!model.found) return {};
  const ModelFound& f = *model.found;
  return {{counted(std::ssize(f.reading->tokens), "token"), 90, "Tokens that the model read."},
          {f.times, 240, "Times of the last run's models, their logits included."}};
}

std::vector<StatusNumber> lesson_numbers(const Session& session, const LearnInput& learn) {
  const LessonPlace open = place_of(session.lesson, learn.lessons.get());
  if (open.lesson == nullptr) return {};
  int read = 0;
  for (const Lesson& lesson : *learn.lessons)
    read += steps_seen(session.lesson, lesson) >= static_cast<int>(lesson.steps.size());
  return {{fmt::format("lesson {} of {}", open.index + 1, learn.lessons->size()), 120, "The lesson that is open."},
          {fmt::format("step {} of {}", open.step + 1, open.lesson->steps.size()), 110, "The step of the lesson on this page."},
          {counted(read, "lesson") + " read", 110, "Lessons whose steps were all on screen."}};
}

/// Device that computed the numbers of the workspace on show.
const std::string& shown_device(const Session& session, const PanelInput& input) {
  const bool trains = session.view.workspace == Workspace::train && input.train.record;
  return trains ? input.train.record->device : input.answer.device;
}

}  // namespace

void draw_top_bar(const Frame& frame) {
  const ImGuiViewport* view = ImGui::GetMainViewport();
  if (begin_bar("Top bar", view->Pos.y, px(bar_height))) {
    const ImVec2 at = ImGui::GetWindowPos();
    ImGui::GetWindowDrawList()->AddLine({at.x, at.y + px(bar_height) - 1}, {at.x + view->Size.x, at.y + px(bar_height) - 1},
                                        colours().line);
    const float left = draw_tabs(frame.session.view, draw_title());
    const float right = at.x + view->Size.x - px(4);
    draw_entries(bar_entries(frame), right, right - left - px(16), at.y + px(4));
  }
  ImGui::End();
}

std::vector<StatusNumber> status_numbers(const Session& session, const PanelInput& input) {
  switch (session.view.workspace) {
    case Workspace::explore:
      return answer_numbers(input);
    case Workspace::sweep:
      return sweep_numbers(input.sweep);
    case Workspace::train:
      return train_numbers(input.train);
    case Workspace::model:
      return model_numbers(input.model);
    case Workspace::learn:
      return lesson_numbers(session, input.learn);
  }
  return {};
}

void draw_status_bar(const Session& session, const PanelInput& input, Requests& requests) {
  const ImGuiViewport* view = ImGui::GetMainViewport();
  const float height = px(26);
  if (begin_bar("Status bar", view->Pos.y + view->Size.y - height, height)) {
    const ImVec2 at = ImGui::GetWindowPos();
    ImGui::GetWindowDrawList()->AddLine(at, {at.x + view->Size.x, at.y}, colours().line);
    float left = at.x + px(12);
    const auto add = [&](Face face, Colour colour, const std::string& text, float least, const std::string& what) {
      const float width = std::max(least, text_width(face, text));  // nothing moves when a text changes
      take_room({left, at.y}, {width, height});
      explain(what);
      draw_in_line({left, at.y}, height, face, colour, text);
      left += width + px(22);
    };
    add(Face::small, colours().secondary, shown_device(session, input), 0, "The device that computes.");
    const bool slow = input.answer.computing && input.answer.computing_seconds > shown_after;
    const float end = at.x + view->Size.x - px(12), right = end - (slow ? px(progress_width + 16) : 0);
    const std::string& sentence = input.messages.error.empty() ? input.messages.notice : input.messages.error;
    const std::vector<StatusNumber> numbers = status_numbers(session, input);
    float width = 0;
    for (const StatusNumber& n : numbers) width += std::max(px(n.width), text_width(Face::mono_small, n.text)) + px(22);
    if (left + width < right - text_width(Face::small, input.messages.error))  // else no room beside the message
      for (const StatusNumber& n : numbers)
        add(Face::mono_small, n.lit ? colours().accent : colours().secondary, n.text, px(n.width), n.what);
    const std::string hint = "drop a .safetensors or .npy file anywhere";
    const float hint_left = right - text_width(Face::small, hint);
    if (!sentence.empty())
      add(Face::small, input.messages.error.empty() ? colours().good : colours().bad,
          fitted(Face::small, sentence, std::max(px(40), right - left)), 0, sentence);
    else if (hint_left > left && !slow)
      draw_in_line({hint_left, at.y}, height, Face::small, colours().faint, hint);
    if (slow) {
      ImGui::SetCursorScreenPos({end - px(progress_width), at.y});
      draw_progress(input, height, requests);
    }
  }
  ImGui::End();
}

}  // namespace attoscope::ui
