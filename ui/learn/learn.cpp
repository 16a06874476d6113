#include "ui/learn/learn.h"

#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <utility>

#include "imgui.h"
#include "ui/learn/learn_state.h"
#include "ui/learn/lesson_steps.h"
#include "ui/widgets/widgets.h"
#include "ui/words/numbers.h"

namespace attoscope {
namespace {

constexpr float list_width = 252, bar_height = 40, row_height = 36;
constexpr float narrowest_with_list = 800;  ///< narrower windows show the page without the list

/// A tick, as wide as a digit.
void draw_tick(ImVec2 at, Colour colour) {
  const float side = px(9);
  const ImVec2 tick[3] = {
      {at.x, at.y + side * 0.55f}, {at.x + side * 0.35f, at.y + side * 0.9f}, {at.x + side, at.y + side * 0.1f}};
  ImGui::GetWindowDrawList()->AddPolyline(tick, 3, colour, 0, px(1.6f));
}

/// A title in at most two lines.
std::pair<std::string, std::string> two_lines(const std::string& title, float width) {
  if (text_width(Face::label, title) <= width) return {title, {}};
  std::size_t cut = title.find(' ');
  for (std::size_t next = cut; next != std::string::npos && text_width(Face::label, title.substr(0, next)) <= width;
       next = title.find(' ', next + 1))
    cut = next;
  if (cut == std::string::npos) return {fitted(Face::label, title, width), {}};
  return {title.substr(0, cut), fitted(Face::label, title.substr(cut + 1), width)};
}

/// One lesson of the list: its number or a tick, its title, how far it was read.
void draw_lesson_row(LessonState& state, const LessonPlace& open, const Lesson& lesson, int index, const Palette& colours) {
  const ImVec2 at = ImGui::GetCursorScreenPos();
  const float width = ImGui::GetContentRegionAvail().x;
  const auto [first, second] = two_lines(lesson.title, width - px(40 + 12 + 34));
  const float height = px(row_height) + (second.empty() ? 0 : px(18));
  if (ImGui::InvisibleButton(lesson.title.c_str(), {width, height}) && open.index != index) open_lesson(state, lesson);
  const bool current = open.index == index, hovered = ImGui::IsItemHovered();
  const int seen = steps_seen(state, lesson), all = static_cast<int>(lesson.steps.size());
  explain(fmt::format("Opens this lesson: {} steps, {} of them read. {}", all, seen, lesson.needs));
  ImDrawList* list = ImGui::GetWindowDrawList();
  if (current || hovered)
    list->AddRectFilled(at, {at.x + width, at.y + height}, current ? colours.raised : faded(colours.raised, 0.5f));
  if (current) list->AddRectFilled(at, {at.x + px(2), at.y + height}, colours.accent);
  const float label_y = at.y + (px(row_height) - line_height(Face::label)) / 2,
              mono_y = at.y + (px(row_height) - line_height(Face::mono_small)) / 2;
  if (seen >= all)
    draw_tick({at.x + px(18), at.y + px(row_height) / 2 - px(5)}, colours.good);
  else
    draw_text({at.x + px(28), mono_y}, Face::mono_small, colours.faint, std::to_string(index + 1), 1);
  const std::string progress = seen > 0 && seen < all ? fmt::format("{}/{}", seen, all) : "";
  draw_text({at.x + width - px(12), mono_y}, Face::mono_small, colours.faint, progress, 1);
  const Colour ink = current ? colours.text : colours.secondary;
  draw_text({at.x + px(40), label_y}, Face::label, ink, first);
  draw_text({at.x + px(40), label_y + px(18)}, Face::label, ink, second);
}

void draw_list(LessonState& state, const LessonPlace& open, const Lessons& lessons, const Palette& colours, float height) {
  ImGui::PushStyleVar(ImGuiStyleVar_WindowPadding, {0, px(16)});
  if (ImGui::BeginChild("Lessons", {px(list_width), height}, ImGuiChildFlags_AlwaysUseWindowPadding)) {
    ImGui::PushStyleVar(ImGuiStyleVar_ItemSpacing, {0, 0});
    for (std::size_t i = 0; i < lessons.size(); ++i) draw_lesson_row(state, open, lessons[i], static_cast<int>(i), colours);
    ImGui::PopStyleVar();
  }
  ImGui::EndChild();
  ImGui::PopStyleVar();
}

/// The steps of the lesson as dots; a click opens one. Returns where they end.
void draw_dots(LessonState& state, const LessonPlace& open, ImVec2 at, float height, const Palette& colours) {
  const float pitch = px(20);
  for (int i = 0; i < static_cast<int>(open.lesson->steps.size()); ++i) {
    const LessonStep& step = open.lesson->steps[static_cast<std::size_t>(i)];
    ImGui::SetCursorScreenPos({at.x + static_cast<float>(i) * pitch, at.y});
    if (ImGui::InvisibleButton(fmt::format("step {}", i + 1).c_str(), {pitch, height})) open_lesson(state, *open.lesson, i);
    const bool hovered = ImGui::IsItemHovered();
    explain(fmt::format("Step {}: {}", i + 1, step.title));
    const ImVec2 centre{at.x + (static_cast<float>(i) + 0.5f) * pitch, at.y + height / 2};
    const bool read = i < steps_seen(state, *open.lesson);
    const Colour colour = i == open.step ? colours.accent : hovered ? colours.text : read ? colours.faint : colours.line;
    ImGui::GetWindowDrawList()->AddCircleFilled(centre, px(i == open.step ? 5.0f : 3.5f), colour);
  }
}

/// The bar under the page: back, the steps, next; present, and `figure`, which keeps `page`.
void draw_step_bar(Session& session, const LessonPlace& open, const PanelInput& input, const Palette& colours,
                   Requests& requests, const ExportRequest& page) {
  LessonState& state = session.lesson;
  const ImVec2 at = ImGui::GetCursorScreenPos();
  const float width = page.x1 - page.x0, height = px(bar_height), y = at.y + (height - px(26)) / 2;
  ImGui::GetWindowDrawList()->AddLine(at, {at.x + width, at.y}, colours.line);
  float x = at.x + px(8);
  const auto button = [&](const char* text, float size, const char* what) {
    ImGui::SetCursorScreenPos({x, y});
    const bool pressed = quiet_button(text, colours, px(size));
    x += px(size);
    explain(what);
    return pressed;
  };
  if (button("‹ back###back", 64, "The previous step. Page Up; presenting also the left arrow."))
    turn_page(state, input.learn.lessons.get(), -1);
  if (button("next ›###next", 64, "The next step, or the next lesson. Page Down; presenting also Space and the right arrow."))
    turn_page(state, input.learn.lessons.get(), 1);
  const std::string where =
      fmt::format("lesson {} of {}, step {} of {}", open.index + 1, static_cast<int>(input.learn.lessons->size()),
                  open.step + 1, static_cast<int>(open.lesson->steps.size()));
  const float dots = px(20) * static_cast<float>(open.lesson->steps.size());
  const float right = at.x + width - px(8 + 88 + 64 + 72),
              where_width = px(24) + text_width(Face::small, "lesson 00 of 00, step 00 of 00");
  if (x + where_width < right) {
    draw_text({x + px(8), at.y + (height - line_height(Face::small)) / 2}, Face::small, colours.faint, where);
    x += where_width;
  }
  if (x + dots < right) draw_dots(state, open, {x, at.y}, height, colours);
  x = right;
  if (button("as it was###restore", 88, "Undoes everything you changed in this lesson's views."))
    std::erase_if(state.views, [&](const LessonViewEdits& v) { return v.lesson == open.lesson->name; });
  if (button("figure###figure", 64, "Saves the whole step as a PNG in the pictures folder, with what is scrolled out of view."))
    requests.exports.plot = page;
  const char* const present = state.presenting ? "leave###present" : "present###present";
  if (button(present, 72, "One step at a time in large type, for a projector. Esc leaves."))
    state.presenting = !state.presenting;
}

/// The state of the open lesson; drops that of another lesson, or of lessons that were loaded again.
LearnState& state_for(UiState& all, const std::shared_ptr<const Lessons>& lessons, const std::string& name) {
  if (!all.learn) all.learn = std::make_shared<LearnState>();
  LearnState& state = *all.learn;
  if (state.lesson != name || state.lessons != lessons) {
    state.lesson = name;
    state.lessons = lessons;
    state.views.clear();
    state.texts.clear();
  }
  return state;
}

void draw_no_lessons(const Palette& colours, const ImVec2& size) {
  const std::string sentence = "There are no lessons: assets/lessons holds none, or was not installed with the program.";
  const ImVec2 at = ImGui::GetCursorScreenPos();
  draw_text({at.x + size.x / 2, at.y + size.y / 2}, Face::body, colours.secondary, sentence, 0.5f);
}

void draw_lesson(Session& session, const PanelInput& input, UiState& state, const Palette& colours, Requests& requests,
                 const ImVec2& size) {
  const LessonPlace open = place_of(session.lesson, input.learn.lessons.get());
  if (open.lesson == nullptr) return draw_no_lessons(colours, size);
  see_step(session.lesson, open);
  LearnState& learn = state_for(state, input.learn.lessons, open.lesson->name);
  const ImVec2 from = ImGui::GetCursorScreenPos();
  const bool has_list = !is_presenting(session) && size.x >= px(narrowest_with_list);
  const bool on_page = input.learn.page_part > 0;
  const float left = has_list ? px(list_width) : 0, page_height = size.y - (on_page ? 0 : px(bar_height));
  if (left > 0) {
    draw_list(session.lesson, open, *input.learn.lessons, colours, size.y);
    ImGui::GetWindowDrawList()->AddLine({from.x + left, from.y}, {from.x + left, from.y + size.y}, colours.line);
  }
  ImGui::SetCursorScreenPos({from.x + left, from.y});
  const float beyond = draw_page(session, open, input, learn, colours, requests, {size.x - left, page_height});
  if (on_page) return;
  ImGui::SetCursorScreenPos({from.x + left, from.y + page_height});
  ExportRequest page{fmt::format("lesson {} step {}", open.index + 1, open.step + 1),
                     from.x + left,
                     from.y,
                     from.x + size.x,
                     from.y + page_height + beyond,
                     ""};
  page.taller = beyond;
  draw_step_bar(session, open, input, colours, requests, page);
}

}  // namespace

void draw_learn(Session& session, const PanelInput& input, UiState& state, const Palette& colours, Requests& requests) {
  const ImGuiViewport* view = ImGui::GetMainViewport();
  const float top = is_presenting(session) ? 0 : px(36), bottom = is_presenting(session) ? 0 : px(26);
  const ImVec2 size{view->Size.x, std::max(px(80), view->Size.y - top - bottom)};
  ImGui::SetNextWindowPos({view->Pos.x, view->Pos.y + top});
  ImGui::SetNextWindowSize(size);
  ImGui::PushStyleVar(ImGuiStyleVar_WindowPadding, {0, 0});
  ImGui::PushStyleVar(ImGuiStyleVar_WindowRounding, 0);
  ImGuiWindowFlags flags = ImGuiWindowFlags_NoDecoration | ImGuiWindowFlags_NoDocking | ImGuiWindowFlags_NoMove |
                           ImGuiWindowFlags_NoSavedSettings | ImGuiWindowFlags_NoBringToFrontOnFocus;
  if (is_presenting(session)) flags |= ImGuiWindowFlags_NoNav;  // arrows turn pages
  const bool open = ImGui::Begin("Learn", nullptr, flags);
  ImGui::PopStyleVar(2);
  if (open) draw_lesson(session, input, state, colours, requests, size);
  ImGui::End();
}

}  // namespace attoscope
