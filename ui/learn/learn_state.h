/// The Learn workspace: its page, text beside its view or one below the other, and what it remembers between frames.
#pragma once

#include <array>
#include <functional>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "ui/frame/frame.h"
#include "ui/learn/lesson_steps.h"
#include "ui/learn/views/views.h"
#include "ui/widgets/theme.h"

namespace attoscope::ui {

/// Owns the renderer and what it caches. Belongs to the current ImGui context and goes away before its backend does.
class MarkdownText {
 public:
  MarkdownText();
  ~MarkdownText();
  MarkdownText(MarkdownText&&) = delete;

  /// The text without the formulas that cannot be drawn, of each of which `problems` gets a sentence, and with formulas that
  /// are wider than `width` pixels made smaller.
  std::string fitted(std::string_view markdown, float width, std::vector<std::string>& problems) const;
  /// The pixels that the widest displayed formula needs; 0 where there is none that can be drawn.
  float widest_formula(std::string_view markdown) const;
  /// Draws in the width that there is; `number(i)` draws in the line what stands for `<numI/>`.
  void draw(const std::string& markdown, const std::function<void(int)>& number);

 private:
  struct Renderer;
  std::unique_ptr<Renderer> renderer_;
};

/// Draws a number in the line of Markdown at the cursor, on its baseline, and explains it; to be called from `number`. True if
/// it was pressed.
bool draw_in_line(const std::string& text, Colour colour, std::string_view what, std::string_view formula);

/// A part of a step that stays whole while it is presented: the title, a paragraph, a question or a view.
struct ScreenItem {
  const LessonBlock* block = nullptr;  ///< null: the title
  std::string paragraph{};             ///< of the block's text; empty: the block is a view
  int index = 0;                       ///< of the paragraph in its block
  bool alone = false;                  ///< it fills a screen
  float height = -1;                   ///< in pixels; negative: not measured
  float shrink = 1;                    ///< factor of its type, so that it fits on a screen
};

/// A step as it is presented: screen after screen, each of items that fit together.
struct PresentedStep {
  const LessonStep* of = nullptr;
  bool is_split = false;       ///< its views stand beside its text
  float width = 0, scale = 0;  ///< for which the items were measured
  std::vector<ScreenItem> items;
  int screen = 0, screens = 1;
  std::vector<std::size_t> starts;  ///< the items that begin a screen
  bool from_end = false;            ///< the next step that is opened begins with its last screen
  bool shows_view = false;          ///< the stepper on screen is the one that keys move before they turn the screen
};
/// The items of a step; `is_split`: without the views beside them.
std::vector<ScreenItem> screen_items(const LessonStep& step, bool is_split);
/// Indices of the items that begin a screen of this height, in pixels.
std::vector<std::size_t> screen_starts(std::span<const ScreenItem> items, float height);

/// A run of Markdown, made ready to be drawn.
struct TextState {
  float width = -1, scale = 0;           ///< that it was laid out for
  std::string text;                      ///< without the formulas that cannot be drawn
  std::vector<std::string> problems;     ///< one sentence for each of those
  float formula = 0, formula_scale = 0;  ///< width and scale of its widest displayed formula; 0: never measured
};

/// The parts of a page that scroll separately.
enum class PageColumn { text, views };

struct LearnState {
  MarkdownText markdown;
  std::shared_ptr<const Lessons> lessons;                         ///< the lessons that the other members refer to
  std::string lesson;                                             ///< whose views and texts are remembered
  std::map<int, LessonViewState> views;                           ///< by LessonView::index
  std::map<std::pair<const LessonBlock*, int>, TextState> texts;  ///< by block and paragraph; -1: all of it
  PresentedStep presented;
  Stepping stepping;
  bool is_black = false;              ///< the screen, while a lesson is presented
  bool hides_mouse = false;           ///< a key was pressed since the mouse moved
  int scrolls = 0;                    ///< a key asks for the next part of the page (1) or the one before (-1)
  bool scrolls_on = false;            ///< it was not at its end
  float below = 0;                    ///< pixels of the page that are scrolled out of view
  std::vector<std::string> problems;  ///< the sentences that the page on screen shows
  std::array<float, 2> scrolled{};    ///< by PageColumn, in the last frame that was not exported
  bool was_kept = false;              ///< the last frame was
  std::string told;                   ///< the newest sentence of the status bar
  double told_until = 0;              ///< while it is shown although presenting hides that bar
};

/// The Learn workspace: everything between the bars.
void draw_learn(const Frame& frame);

/// A presented lesson goes on (`by` 1) or back (-1): by a step of the stepper on screen unless `past_steps`, else by a screen,
/// else by a step of the lesson.
void go_on(LessonState& lesson, const Lessons* lessons, LearnState& state, int by, bool past_steps);

/// The screen to which the space bar goes in a presented step whose views have screens of their own: from text
/// to the next view, else the one before, and from a view to the text before it, else after it; -1: there is none.
int other_screen(const PresentedStep& step);

/// Draws the step that `place` names into `size` at the cursor. Returns how many pixels of its height are scrolled out of view.
float draw_page(Session& session, const LessonPlace& place, const PanelInput& input, LearnState& state, Requests& requests,
                ImVec2 size);

}  // namespace attoscope::ui
