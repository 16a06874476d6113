/// The Learn workspace: its page, with text and views side by side or one below the other, and its state between frames.
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

/// Owns the renderer and its caches. Belongs to the current ImGui context; destroy it before the context's backend.
class MarkdownText {
 public:
  MarkdownText();
  ~MarkdownText();
  MarkdownText(MarkdownText&&) = delete;

  /// The text without formulas that cannot be drawn, and with formulas wider than `width` pixels scaled down. Appends a
  /// sentence to `problems` for each removed formula.
  std::string fitted(std::string_view markdown, float width, std::vector<std::string>& problems) const;
  /// Width in pixels of the widest displayed formula that can be drawn; 0: none.
  float widest_formula(std::string_view markdown) const;
  /// Draws in the available width; `number(i)` draws the number of the tag `<numI/>` in its line.
  void draw(const std::string& markdown, const std::function<void(int)>& number);

 private:
  struct Renderer;
  std::unique_ptr<Renderer> renderer_;
};

/// Draws a number in the line of Markdown at the cursor, on its baseline, and explains it. Call it from `number`. True if it
/// was pressed.
bool inline_button(const std::string& text, Colour colour, std::string_view what, std::string_view formula);

/// A part of a step that stays whole while it is presented: the title, a paragraph, a question or a view.
struct ScreenItem {
  const LessonBlock* block = nullptr;  ///< null: the title
  std::string paragraph{};             ///< part of the block's text; empty: the block is a view
  int index = 0;                       ///< index of the paragraph in its block
  bool alone = false;                  ///< it fills a screen
  float height = -1;                   ///< in pixels; negative: not measured
  float shrink = 1;                    ///< scale of its type to fit on a screen
};

/// A presented step: a sequence of screens, each of items that fit together.
struct PresentedStep {
  const LessonStep* of = nullptr;
  bool is_split = false;       ///< its views are beside its text
  float width = 0, scale = 0;  ///< width and scale of the page when the items were measured
  std::vector<ScreenItem> items;
  int screen = 0, screens = 1;
  std::vector<std::size_t> starts;  ///< the items that begin a screen
  bool from_end = false;            ///< the next opened step begins with its last screen
  bool shows_view = false;          ///< keys move the stepper on screen before they turn the screen
};
/// The items of a step; `is_split`: without the views beside them.
std::vector<ScreenItem> screen_items(const LessonStep& step, bool is_split);
/// Indices of the items that begin a screen of this height, in pixels.
std::vector<std::size_t> screen_starts(std::span<const ScreenItem> items, float height);

/// A run of Markdown, prepared for drawing.
struct TextState {
  float width = -1, scale = 0;           ///< width and scale of the layout
  std::string text;                      ///< without formulas that cannot be drawn
  std::vector<std::string> problems;     ///< one sentence for each removed formula
  float formula = 0, formula_scale = 0;  ///< width and scale of its widest displayed formula; 0: never measured
  int drawn = 0;                         ///< the frames in which it was drawn, counted while its tables find their widths
};

/// The parts of a page that scroll separately.
enum class PageColumn { text, views };

struct LearnState {
  MarkdownText markdown;
  std::shared_ptr<const Lessons> lessons;                         ///< the lessons that the other members refer to
  std::string lesson;                                             ///< the lesson of `views` and `texts`
  std::map<int, LessonViewState> views;                           ///< states by LessonView::index
  std::map<std::pair<const LessonBlock*, int>, TextState> texts;  ///< states by block and paragraph; -1: all of it
  PresentedStep presented;
  Stepping stepping;
  bool is_black = false;              ///< the screen of a presented lesson is black
  bool hides_mouse = false;           ///< a key was pressed since the mouse moved
  int scrolls = 0;                    ///< a key requested the next part of the page (1) or the previous one (-1)
  bool scrolls_on = false;            ///< a column scrolled: it was not at its end
  float below = 0;                    ///< pixels of the page that are scrolled out of view
  std::vector<std::string> problems;  ///< the sentences that the page on screen shows
  std::array<float, 2> scrolled{};    ///< position by PageColumn, in the last frame that was not exported
  bool was_kept = false;              ///< the last frame was exported
  std::string told;                   ///< the newest sentence of the status bar
  double told_until = 0;              ///< end of the time in which it is shown although presenting hides that bar
};

/// Draws the Learn workspace between the bars.
void draw_learn(const Frame& frame);

/// Moves a presented lesson on (`by` 1) or back (-1): by a step of the stepper on screen unless `past_steps`, else by a screen,
/// else by a step of the lesson.
void go_on(LessonState& lesson, const Lessons* lessons, LearnState& state, int by, bool past_steps);

/// The screen that the space bar shows in a presented step whose views have screens of their own. From text: the next view,
/// else the previous one. From a view: the text before it, else after it. -1: none.
int other_screen(const PresentedStep& step);

/// Draws the step that `place` names into `size` at the cursor. Returns the number of pixels of its height that are scrolled
/// out of view.
float draw_page(Session& session, const LessonPlace& place, const PanelInput& input, LearnState& state, Requests& requests,
                ImVec2 size);

}  // namespace attoscope::ui
