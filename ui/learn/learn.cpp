#include <fmt/format.h>

#include <algorithm>

#include "imgui_internal.h"
#include "ui/learn/learn_state.h"
#include "ui/widgets/widgets.h"
#include "ui/words/numbers.h"

namespace attoscope::ui {
namespace {

constexpr float list_width = 252, bar_height = 40, presented_bar_height = 30;
constexpr float presented_type = 14.4f;     ///< least size of type in a hall: 20 pixels at 1280x800
constexpr float narrowest_with_list = 800;  ///< narrower windows show the page without the list

/// One lesson of the list: its number, its title, how far it was read.
void draw_lesson_row(LessonState& state, const LessonPlace& open, const Lesson& lesson, int index) {
  const int seen = steps_seen(state, lesson), all = static_cast<int>(lesson.steps.size());
  const float width = ImGui::GetContentRegionAvail().x;
  const std::string read = seen >= all ? "read" : fmt::format("{} of {} steps read", seen, all);
  if (titled_entry(lesson.title, lesson.title, read, open.index == index, width, std::to_string(index + 1)) &&
      open.index != index)
    open_lesson(state, lesson);
  explain(fmt::format("Opens {}: {} steps. {}", lesson.title, all, lesson.needs));
}

void draw_list(LessonState& state, const LessonPlace& open, const Lessons& lessons, float height) {
  ImGui::PushStyleVar(ImGuiStyleVar_WindowPadding, {0, px(16)});
  const bool is_visible = ImGui::BeginChild("Lessons", {px(list_width), height},
                                            ImGuiChildFlags_AlwaysUseWindowPadding | ImGuiChildFlags_NavFlattened);
  ImGui::PopStyleVar();  // tooltips keep their own
  if (is_visible) {
    const WithSpacing spacing({0, 0});
    for (std::size_t i = 0; i < lessons.size(); ++i) draw_lesson_row(state, open, lessons[i], static_cast<int>(i));
  }
  ImGui::EndChild();
}

/// The steps of the lesson as numbers; a click opens one.
void draw_steps(LessonState& state, const LessonPlace& open, float width) {
  const std::vector<LessonStep>& steps = open.lesson->steps;
  std::vector<std::pair<std::string, std::string>> texts;
  for (const LessonStep& step : steps) {
    const std::string number = std::to_string(texts.size() + 1);
    texts.emplace_back(number, fmt::format("Step {}: {}", number, step.title));
  }
  std::vector<Choice> choices;
  for (const auto& [number, title] : texts) choices.push_back({number, title});
  int step = open.step;
  if (segmented("step", choices, step, width)) open_lesson(state, *open.lesson, step);
}

/// Height of the bar under the page, in pixels.
float bar_of(const Session& session) { return px(is_presenting(session) ? presented_bar_height : bar_height); }

/// The bar under the page: back, the steps, next; present, and `figure`, which exports `page`.
void draw_step_bar(Session& session, const LessonPlace& open, const LearnState& learn, const PanelInput& input,
                   Requests& requests, const ExportRequest& page) {
  LessonState& state = session.lesson;
  const ImVec2 at = ImGui::GetCursorScreenPos();
  const float width = page.x1 - page.x0, height = bar_of(session), y = at.y + (height - px(26)) / 2;
  ImGui::GetWindowDrawList()->AddLine(at, {at.x + width, at.y}, colours().line);
  float x = at.x + px(8);
  const auto button = [&](const char* text, float size, const char* what) {
    ImGui::SetCursorScreenPos({x, y});
    const bool pressed = quiet_button(text, px(size));
    x += px(size);
    explain(what);
    return pressed;
  };
  if (button("‹ back###back", 64, "The previous step. Page Up; presenting, the screen before, or a stepper's step before."))
    turn_page(state, input.learn.lessons.get(), -1);
  if (button("next ›###next", 64,
             "The next step, or the next lesson. Page Down; presenting, the next screen, or a stepper's next step."))
    turn_page(state, input.learn.lessons.get(), 1);
  const PresentedStep& presented = learn.presented;
  std::string where =
      fmt::format("lesson {} of {}, step {} of {}", open.index + 1, static_cast<int>(input.learn.lessons->size()),
                  open.step + 1, static_cast<int>(open.lesson->steps.size()));
  if (state.presenting) where += fmt::format(", screen {} of {}", presented.screen + 1, presented.screens);
  const float steps = px(26) * static_cast<float>(open.lesson->steps.size());
  const float right = at.x + width - px(8 + 88 + 64 + 72),
              where_width = px(24) + text_width(Face::small, state.presenting ? "lesson 00 of 00, step 00 of 00, screen 0 of 0"
                                                                              : "lesson 00 of 00, step 00 of 00");
  if (x + where_width < right) {
    draw_in_line({x + px(8), at.y}, height, Face::small, colours().faint, where);
    x += where_width;
  }
  if (x + steps < right) {
    ImGui::SetCursorScreenPos({x, y});
    draw_steps(state, open, steps);
  }
  x = right;
  if (button("as it was###restore", 88, "Undoes everything you changed in this lesson's views."))
    std::erase_if(state.views, [&](const LessonViewEdits& v) { return v.lesson == open.lesson->name; });
  if (button("figure###figure", 64,
             "Saves the whole step, also its parts out of view, as a PNG in the pictures folder; a line at the bottom says "
             "where. A plot's own save button makes a vector figure of it."))
    requests.exports.plot = page;
  const char* const present = state.presenting ? "leave###present" : "present###present";
  if (button(present, 72, "One step at a time in large type, for a projector. Esc leaves."))
    state.presenting = !state.presenting;
}

/// Draws a new sentence of the status bar above the step bar for some seconds: presenting hides the status bar.
void tell_while_presenting(const Frame& frame, LearnState& learn, ImVec2 below, float width) {
  constexpr double seconds = 8;
  const MessagesInput& m = frame.input.messages;
  const std::string& sentence = m.error.empty() ? m.notice : m.error;
  const double now = ImGui::GetTime();
  if (sentence != learn.told) {
    learn.told = sentence;
    learn.told_until = is_presenting(frame.session) ? now + seconds : 0;
  }
  if (sentence.empty() || now >= learn.told_until || frame.input.exporting) return;
  const std::string text = fitted(Face::label, sentence, width - px(56));
  const ImVec2 size{text_width(Face::label, text) + px(24), line_height(Face::label) + px(16)},
      at{below.x + px(16), below.y - size.y - px(8)};
  ImDrawList* list = ImGui::GetForegroundDrawList();
  list->AddRectFilled(at, {at.x + size.x, at.y + size.y}, colours().raised, px(4));
  draw_text(list, {at.x + px(12), at.y + px(8)}, Face::label, m.error.empty() ? colours().good : colours().bad, text);
  frame.requests.animate = true;  // until it disappears
}

/// The state of the open lesson; resets it for another lesson and for reloaded lessons.
LearnState& state_for(UiState& all, const std::shared_ptr<const Lessons>& lessons, const std::string& name) {
  if (!all.learn) all.learn = std::make_shared<LearnState>();
  LearnState& state = *all.learn;
  if (state.lesson != name || state.lessons != lessons) {
    state.lesson = name;
    state.lessons = lessons;
    state.views.clear();
    state.texts.clear();
    state.presented.of = nullptr;
    state.stepping.playing = -1;
  }
  return state;
}

/// Draws over a presented lesson a light at the mouse while L is held, or a black screen. Hides the mouse from a key press
/// until it moves.
void draw_over_presentation(LearnState& learn) {
  const ImGuiIO& io = ImGui::GetIO();
  if (io.MouseDelta.x != 0 || io.MouseDelta.y != 0) learn.hides_mouse = false;
  if (learn.hides_mouse) ImGui::SetMouseCursor(ImGuiMouseCursor_None);
  if (ImGui::IsMouseClicked(ImGuiMouseButton_Left)) learn.is_black = false;
  ImDrawList* list = ImGui::GetForegroundDrawList();
  if (ImGui::IsKeyDown(ImGuiKey_L) && !io.WantTextInput && ImGui::IsMousePosValid()) {
    for (const auto& [radius, alpha] : {std::pair{28.0f, 0.18f}, std::pair{16.0f, 0.3f}, std::pair{7.0f, 1.0f}})
      list->AddCircleFilled(io.MousePos, px(radius), faded(IM_COL32(255, 40, 40, 255), alpha));
  }
  if (learn.is_black) list->AddRectFilled({0, 0}, io.DisplaySize, IM_COL32_BLACK);
}

void draw_lesson(const Frame& frame, const ImVec2& size) {
  const LessonPlace open = place_of(frame.session.lesson, frame.input.learn.lessons.get());
  const ImVec2 from = ImGui::GetCursorScreenPos();
  if (open.lesson == nullptr) {
    const bool read = frame.input.learn.lessons != nullptr;
    draw_text({from.x + size.x / 2, from.y + size.y / 2}, Face::body, colours().secondary,
              read ? "There are no lessons: assets/lessons holds none, or was not installed with the program." : "Loading.",
              0.5f);
    return;
  }
  see_step(frame.session.lesson, open);
  LearnState& learn = state_for(frame.state, frame.input.learn.lessons, open.lesson->name);
  const bool has_list = !is_presenting(frame.session) && size.x >= px(narrowest_with_list);
  const bool on_page = frame.input.learn.page_part > 0;
  const WithLeastType readable(is_presenting(frame.session) && !on_page ? presented_type : 0);
  const float left = has_list ? px(list_width) : 0, page_height = size.y - (on_page ? 0 : bar_of(frame.session));
  if (left > 0) {
    draw_list(frame.session.lesson, open, *frame.input.learn.lessons, size.y);
    ImGui::GetWindowDrawList()->AddLine({from.x + left, from.y}, {from.x + left, from.y + size.y}, colours().line);
  }
  ImGui::SetCursorScreenPos({from.x + left, from.y});
  learn.stepping.found = false;
  const float beyond = learn.below =
      draw_page(frame.session, open, frame.input, learn, frame.requests, {size.x - left, page_height});
  if (on_page) return;
  if (!learn.stepping.found) learn.stepping.view = -1;
  learn.stepping.by = 0;  // a key's request lasts one frame
  learn.stepping.toggles = learn.stepping.restarts = false;
  const int scrolls = std::exchange(learn.scrolls, 0);
  if (scrolls != 0 && !std::exchange(learn.scrolls_on, false))
    turn_page(frame.session.lesson, frame.input.learn.lessons.get(), scrolls);
  ImGui::SetCursorScreenPos({from.x + left, from.y + page_height});
  const std::string name = fmt::format("lesson {} step {}", open.index + 1, open.step + 1);
  ExportRequest page{name, from.x + left, from.y, from.x + size.x, from.y + page_height + beyond, ""};
  page.taller = beyond;
  draw_step_bar(frame.session, open, learn, frame.input, frame.requests, page);
  tell_while_presenting(frame, learn, {from.x + left, from.y + page_height}, size.x - left);
}

}  // namespace

void draw_learn(const Frame& frame) {
  const ImGuiViewport* view = ImGui::GetMainViewport();
  const float top = is_presenting(frame.session) ? 0 : px(36), bottom = is_presenting(frame.session) ? 0 : px(26);
  const ImVec2 size{view->Size.x, std::max(px(80), view->Size.y - top - bottom)};
  ImGui::SetNextWindowPos({view->Pos.x, view->Pos.y + top});
  ImGui::SetNextWindowSize(size);
  ImGui::PushStyleVar(ImGuiStyleVar_WindowPadding, {0, 0});
  ImGui::PushStyleVar(ImGuiStyleVar_WindowRounding, 0);
  ImGuiWindowFlags flags = ImGuiWindowFlags_NoDecoration | ImGuiWindowFlags_NoDocking | ImGuiWindowFlags_NoMove |
                           ImGuiWindowFlags_NoSavedSettings | ImGuiWindowFlags_NoBringToFrontOnFocus;
  if (is_presenting(frame.session)) flags |= ImGuiWindowFlags_NoNav;  // arrows turn pages
  const bool open = ImGui::Begin("Learn", nullptr, flags);
  ImGui::PopStyleVar(2);
  const WithoutTooltips without(is_presenting(frame.session));
  if (open) draw_lesson(frame, size);
  ImGui::End();
  if (is_presenting(frame.session) && frame.state.learn) draw_over_presentation(*frame.state.learn);
  for (const ImGuiKey key : {ImGuiKey_PageUp, ImGuiKey_PageDown}) {
    ImGui::SetKeyOwner(key, ImGui::GetID("pages"));  // they turn pages and do not move the focus
    if (is_presenting(frame.session) && ImGui::IsKeyPressed(key))
      ImGui::GetIO().MousePos = {-FLT_MAX, -FLT_MAX};  // no read-out of a picture until the mouse moves
  }
  if (is_presenting(frame.session) && !ImGui::IsMousePosValid()) ImGui::SetMouseCursor(ImGuiMouseCursor_None);
}

}  // namespace attoscope::ui
