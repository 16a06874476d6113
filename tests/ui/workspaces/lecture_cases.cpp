// A lecture of the shipped lessons, held with the keys of a presenter's remote control.
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <map>
#include <string>
#include <thread>
#include <vector>

#include "app/explore/lessons.h"
#include "app/files/png.h"
#include "imgui_internal.h"
#include "tests/ui/cases.h"
#include "ui/frame/ui_state.h"
#include "ui/learn/learn_state.h"
#include "ui/learn/lesson_steps.h"
#include "ui/widgets/theme.h"

namespace attoscope::testing {
namespace {

LearnState& learn_of(Hand& hand) { return *hand.stage.state->learn; }
const LessonState& lesson_of(Hand& hand) { return hand.session().lesson; }

/// Opens a shipped lesson, and presents it by F5.
void open_lecture(Hand& hand, const std::string& lesson, int width, int height) {
  Session session = small_session(Workspace::learn);
  session.lesson.name = lesson;
  hand.open(session);
  hand.resize(width, height);
  hand.key(ImGuiKey_F5);
  hand.check(lesson_of(hand).presenting, "F5 presents");
}

/// "03-three-passes, step 2, screen 1".
std::string place(Hand& hand) {
  return lesson_of(hand).name + ", step " + std::to_string(lesson_of(hand).step + 1) + ", screen " +
         std::to_string(learn_of(hand).presented.screen + 1);
}

/// Under sanitizers an answer takes minutes and the layout is the same: there the walks begin late and wait for no answers.
#ifdef ATTOSCOPE_SANITIZED
constexpr bool walks_all = false;
#else
constexpr bool walks_all = true;
#endif

/// True while a view of the step on screen waits for a number.
bool is_computing(Hand& hand) {
  return walks_all && std::ranges::any_of(learn_of(hand).presented.of->blocks, [&](const LessonBlock& block) {
           if (block.view.empty() || !learn_of(hand).views.contains(block.view.front().index)) return false;
           const auto& latest = learn_of(hand).views.at(block.view.front().index).latest;
           return latest && *latest == nullptr;
         });
}

/// Waits until the page has its answers and its final layout.
void come_to_rest(Hand& hand) {
  using Clock = std::chrono::steady_clock;
  const auto known = [&] {
    const auto answers = hand.stage.panel_input().learn.answers;
    return answers ? answers->size() : 0;
  };
  const Clock::time_point last = Clock::now() + std::chrono::minutes(1);
  std::size_t before = known();
  for (int still = 0; still < 5 || is_computing(hand); ++still) {
    hand.frames(1);
    std::this_thread::sleep_for(std::chrono::milliseconds(2));
    if (known() != before || is_computing(hand)) still = 0;
    before = known();
    if (!hand.check(Clock::now() < last, place(hand) + " is answered within a minute")) return;
  }
}

/// Keeps a picture of the screen in the directory that ATTOSCOPE_LECTURE names.
void keep_picture(Hand& hand) {
  const char* const directory = std::getenv("ATTOSCOPE_LECTURE");
  if (directory == nullptr) return;
  const Picture picture = hand.picture();
  write_png(fmt::format("{}/{} {}.png", directory, picture.width, place(hand)), picture);
}

/// True if the step on screen has a view of numbers with scales, whose tables need smaller type to fit.
bool shows_scales(Hand& hand) {
  return std::ranges::any_of(learn_of(hand).presented.of->blocks, [](const LessonBlock& block) {
    const auto is_scaled = [](const LessonParameter& p) { return p.key.starts_with("scaling.") || p.key == "storage"; };
    return !block.view.empty() && std::ranges::any_of(block.view.front().parameters, is_scaled);
  });
}

/// The type sizes on screen below `least` pixels, without formulas.
std::string small_type(float least) {
  const ImFontAtlas& atlas = *ImGui::GetIO().Fonts;
  const Fonts text = fonts();
  std::string all;
  for (int i = 0; i < atlas.Builder->BakedPool.Size; ++i) {
    const ImFontBaked& baked = atlas.Builder->BakedPool[i];
    const bool is_text = baked.OwnerFont == text.sans || baked.OwnerFont == text.semibold || baked.OwnerFont == text.mono ||
                         baked.OwnerFont == text.italic;
    if (is_text && baked.LastUsedFrame == ImGui::GetFrameCount() && baked.Size < least) all += fmt::format(" {}", baked.Size);
  }
  return all;
}

/// A line for each item on screen that lies outside its column, and for each type size that is too small.
std::string complaints(Hand& hand) {
  std::string all;
  const auto expect = [&](bool truth, const std::string& what) {
    if (!truth) all += "\n" + place(hand) + ": " + what;
  };
  expect(learn_of(hand).below <= 0, fmt::format("{} pixels lie below the fold", learn_of(hand).below));
  int columns = 0;
  for (const ImGuiWindow* w : ImGui::GetCurrentContext()->Windows) {
    const std::string name = w->Name, own = name.substr(std::min(name.size(), name.rfind('/') + 1));
    if (!w->WasActive || !(own.starts_with("text_") || own.starts_with("views_"))) continue;
    ++columns;
    expect(w->ContentSize.x <= w->WorkRect.GetWidth() + 2,
           fmt::format("{} is wider than {}", w->ContentSize.x, w->WorkRect.GetWidth()));
    expect(w->Pos.y + w->Size.y <= ImGui::GetIO().DisplaySize.y, "the column lies below the window");
  }
  expect(columns > 0, "there is no page");
  const PresentedStep& p = learn_of(hand).presented;
  expect(p.screen > 0 || p.starts.size() < 2 || p.starts[1] > 1 || p.items[1].alone, "the title stands alone");
  for (const ScreenItem& item : learn_of(hand).presented.items) expect(item.shrink == 1, "small text: " + item.paragraph);
  const std::string small = small_type(shows_scales(hand) ? 16 : 20);
  expect(small.empty(), "type of" + small + " pixels");
  return all;
}

/// The steppers of all lessons: "lesson view 3".
std::vector<std::string> steppers(const Lessons& lessons) {
  std::vector<std::string> all;
  for (const Lesson& lesson : lessons)
    for (const LessonStep& step : lesson.steps)
      for (const LessonBlock& block : step.blocks)
        for (const LessonView& view : block.view)
          if (view.kind == LessonViewKind::recurrence || written(view, "kind") == "loop")
            all.push_back(lesson.name + " view " + std::to_string(view.index));
  return all;
}

/// Goes by Page Down or the down arrow from the first step of lesson 1 to the last step of the last lesson: all is on screen,
/// in type readable in a hall. Page Down runs every stepper to its end.
void walk(Hand& hand, int width, int height, ImGuiKey key) {
  open_lecture(hand, walks_all ? "01-floats" : "15-backward", width, height);
  hand.check(16 * ImGui::GetStyle().FontScaleMain >= 22, "text of 22 pixels");
  hand.check(14.5f * ImGui::GetStyle().FontScaleMain >= 20, "code of 20 pixels");
  const std::shared_ptr<const Lessons> lessons = hand.stage.panel_input().learn.lessons;
  std::map<std::string, bool> at_its_end;  // by stepper: it was at its end when the walk left it
  std::string screen, wrong;
  for (int presses = 0; presses < 6000 && hand.well(); ++presses) {
    if (screen == place(hand) && key == ImGuiKey_DownArrow) break;
    if (screen != place(hand)) {
      screen = place(hand);
      come_to_rest(hand);
      keep_picture(hand);
      wrong += complaints(hand);
    }
    const Stepping s = learn_of(hand).stepping;
    if (s.view >= 0) at_its_end[lesson_of(hand).name + " view " + std::to_string(s.view)] = s.at == s.last;
    const Session before = hand.session();
    hand.key(key);
    if (hand.session() == before && screen == place(hand)) break;
  }
  hand.check(wrong.empty(), wrong);
  hand.check(lesson_of(hand).name == lessons->back().name &&
                 lesson_of(hand).step + 1 == static_cast<int>(lessons->back().steps.size()),
             "the lecture ends: " + place(hand));
  if (key != ImGuiKey_PageDown || !walks_all) return;
  for (const auto& [stepper, ended] : at_its_end) hand.check(ended, stepper + " was left at its end");
  for (const std::string& stepper : steppers(*lessons)) hand.check(at_its_end.contains(stepper), stepper + " ran");
}

CASE(lecture, all_lessons_by_a_remote_control) {
  walk(hand, 1280, 800, ImGuiKey_PageDown);
  open_lecture(hand, "07-rounding", 1280, 800);
  hand.key(ImGuiKey_PageUp);
  hand.check(lesson_of(hand).name.starts_with("06") && learn_of(hand).presented.screen + 1 == learn_of(hand).presented.screens,
             "Page Up shows the screen before: " + place(hand));
  hand.key(ImGuiKey_Escape);
  hand.check(!lesson_of(hand).presenting, "Esc ends the presentation");
}

/// Walks through the steps by the down arrow, in the smallest and the largest window.
CASE(lecture, every_screen_lies_in_the_window) {
  for (const auto& [width, height] : {std::pair{1024, 768}, {1920, 1080}}) walk(hand, width, height, ImGuiKey_DownArrow);
}

/// The tables on the screen.
std::vector<const ScreenItem*> tables_on_screen(const PresentedStep& p) {
  std::vector<const ScreenItem*> all;
  const auto screen = static_cast<std::size_t>(p.screen);
  const std::size_t end = screen + 1 < p.starts.size() ? p.starts[screen + 1] : p.items.size();
  for (std::size_t i = p.starts[screen]; i < end; ++i)
    if (p.items[i].paragraph.starts_with('|')) all.push_back(&p.items[i]);
  return all;
}

/// At 225 % every table lies on its screen, in type no smaller than at 100 %.
CASE(lecture, tables_at_225_percent) {
  open_lecture(hand, "01-floats", 1280, 800);
  const float usual = ImGui::GetStyle().FontScaleMain;
  hand.show(&View::ui_scale, 2.25);
  int tables = 0;
  for (const Lesson& lesson : *hand.stage.panel_input().learn.lessons)
    for (const LessonStep& step : lesson.steps) {
      if (std::ranges::none_of(step.blocks, [](const LessonBlock& b) { return b.markdown.find("\n|") != std::string::npos; }))
        continue;
      hand.session().lesson.name = lesson.name;
      hand.session().lesson.step = static_cast<int>(&step - lesson.steps.data());
      hand.frames(2);
      PresentedStep& p = learn_of(hand).presented;
      for (p.screen = 0; p.screen < p.screens; ++p.screen) {
        hand.frames(60);
        for (const ScreenItem* const table : tables_on_screen(p)) {
          ++tables;
          hand.check(learn_of(hand).below <= 1,
                     fmt::format("{}: {} pixels lie below the fold", place(hand), learn_of(hand).below));
          hand.check(table->shrink * ImGui::GetStyle().FontScaleMain >= usual,
                     fmt::format("{}: {}", place(hand), table->shrink));
        }
      }
    }
  hand.check(tables >= 10, fmt::format("{} tables were shown", tables));
}

/// The space bar changes between text and view if each has its own screen; the stepper stays at its step. If both share a
/// screen, or a step has no view, it goes one step on.
CASE(lecture, space_changes_between_text_and_view) {
  for (const auto& [width, height] : {std::pair{1280, 800}, {1024, 768}}) {
    open_lecture(hand, "04-online-normaliser", width, height);
    while (learn_of(hand).stepping.view < 0) hand.key(ImGuiKey_PageDown);
    const std::string view = place(hand);
    hand.key(ImGuiKey_PageDown);
    hand.key(ImGuiKey_PageDown);
    const int at = learn_of(hand).stepping.at;
    hand.check(at == 2, "two steps on");
    hand.key(ImGuiKey_Space);
    hand.frames(1);
    hand.check(learn_of(hand).stepping.view < 0 && place(hand) != view, "the text: " + place(hand));
    hand.key(ImGuiKey_Space);
    hand.frames(1);
    hand.check(learn_of(hand).stepping.at == at && place(hand) == view, "the view again, at its step: " + place(hand));
  }
  open_lecture(hand, "04-online-normaliser", 1920, 1080);
  while (learn_of(hand).stepping.view < 0) hand.key(ImGuiKey_PageDown);
  const int at = learn_of(hand).stepping.at;
  hand.key(ImGuiKey_Space);
  hand.frames(1);
  hand.check(learn_of(hand).stepping.at == at + 1, "side by side, a step on");
}

bool is_all_black(const Picture& picture) {
  return std::ranges::all_of(picture.rgb, [](std::uint8_t value) { return value == 0; });
}

CASE(lecture, black_screen_and_light) {
  open_lecture(hand, "04-online-normaliser", 1280, 800);
  const Session before = hand.session();
  const Picture page = hand.picture();
  hand.key(ImGuiKey_B);
  hand.check(is_all_black(hand.picture()), "B makes the screen black");
  hand.key(ImGuiKey_PageDown);
  hand.check(hand.picture().rgb == page.rgb && hand.session() == before, "the next key only brings the page back");
  hand.key(ImGuiKey_B);
  hand.key(ImGuiKey_B);
  hand.check(hand.picture().rgb == page.rgb, "B brings the page back, too");
  hand.move({640, 300});
  const Picture plain = hand.picture();
  hand.hold_key(ImGuiKey_L, true);
  const Picture lit = hand.picture();
  hand.hold_key(ImGuiKey_L, false);
  const auto red_at = [](const Picture& p, int x, int y) {
    const std::uint8_t* c = p.rgb.data() + 3 * (static_cast<std::ptrdiff_t>(y) * p.width + x);
    return c[0] > 200 && c[1] < 90;
  };
  hand.check(red_at(lit, 640, 300) && !red_at(plain, 640, 300), "L held lights the place of the mouse");
  hand.check(hand.picture().rgb == plain.rgb, "released, the light is gone");
}

/// No tooltip opens while presenting; turning a page by key does not move the keyboard's focus or a tooltip.
CASE(lecture, tooltips_and_focus) {
  open_lecture(hand, "04-online-normaliser", 1280, 800);
  while (learn_of(hand).stepping.view < 0) hand.key(ImGuiKey_PageDown);
  const std::string next = "//Learn/###next", step = "//Learn/**/###step";
  hand.check(!hand.explained(hand.id(next)) && !hand.explained(hand.id(step)), "presenting, there is no tooltip");
  hand.key(ImGuiKey_Escape);
  hand.frames(3);
  hand.check(hand.explained(hand.id(next)), "reading, there is a tooltip");
  hand.move({2, 300});
  hand.key(ImGuiKey_PageDown);
  hand.frames(3);
  hand.check(!ImGui::GetCurrentContext()->NavCursorVisible && ImGui::GetCurrentContext()->NavId != hand.id("//Learn/###back"),
             "Page Down moves no focus");
}

/// A stepper that was run before the lecture restarts when the lecture comes to it, and stays at its end when the
/// lecture comes back to it.
CASE(lecture, steppers_begin_anew) {
  open_lecture(hand, "04-online-normaliser", 1280, 800);
  const auto to_stepper = [&](ImGuiKey key) {
    do hand.key(key);
    while (learn_of(hand).stepping.view < 0);
  };
  to_stepper(ImGuiKey_DownArrow);
  hand.key(ImGuiMod_Shift | ImGuiKey_Period);
  const int last = learn_of(hand).stepping.last;
  hand.check(learn_of(hand).stepping.at == last && last > 20, "the stepper is at its end");
  hand.key(ImGuiKey_PageDown);
  to_stepper(ImGuiKey_UpArrow);
  hand.check(learn_of(hand).stepping.at == last, "going back, the stepper is at its end");
  hand.key(ImGuiKey_UpArrow);
  to_stepper(ImGuiKey_DownArrow);
  hand.check(learn_of(hand).stepping.at == 0, "going forward, the stepper restarts");
}

/// Items share a screen as long as they fit; a view has its own screen; a leading item stays with the next one.
CASE(lecture, screens_of_items) {
  const LessonBlock text, view{.markdown = {}, .numbers = {}, .view = {LessonView{}}, .line = 0};
  const auto paragraph = [&](const char* words, float height) {
    return ScreenItem{.block = &text, .paragraph = words, .height = height};
  };
  const std::vector<ScreenItem> items{{.height = 40},
                                      paragraph("one\n", 50),
                                      paragraph("this formula:\n", 20),
                                      paragraph("$$x$$\n", 60),
                                      {.block = &view, .alone = true, .height = 0},
                                      paragraph("last\n", 10)};
  using Starts = std::vector<std::size_t>;
  hand.check(screen_starts(items, 1000) == Starts{0, 4, 5}, "one screen of text, the view, the rest");
  hand.check(screen_starts(items, 120) == Starts{0, 2, 4, 5}, "a formula stays with the sentence before it");
  const std::vector<ScreenItem> sources{
      {.height = 40}, paragraph("one\n", 50), paragraph("**Sources**\n", 10), paragraph("- x\n", 20)};
  hand.check(screen_starts(sources, 110) == Starts{0, 2}, "a title in bold stays with its list");
  hand.check(screen_starts(items, 30) == Starts{0, 1, 2, 3, 4, 5}, "an item too high for a screen has its own screen");
}

}  // namespace
}  // namespace attoscope::testing
