/// The Learn workspace: its page, text beside its view or one below the other, and what it remembers between frames.
#pragma once

#include <array>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "ui/frame/frame.h"
#include "ui/learn/lesson_steps.h"
#include "ui/learn/markdown.h"
#include "ui/learn/views/views.h"

namespace attoscope {

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
  std::shared_ptr<const Lessons> lessons;  ///< the lessons that the other members refer to
  std::string lesson;                      ///< whose views and texts are remembered
  std::map<int, LessonViewState> views;    ///< by LessonView::index
  std::map<const LessonBlock*, TextState> texts;
  std::vector<std::string> problems;  ///< the sentences that the page on screen shows
  std::array<float, 2> scrolled{};    ///< by PageColumn, in the last frame that was not exported
  bool was_kept = false;              ///< the last frame was
  std::string told;                   ///< the newest sentence of the status bar
  double told_until = 0;              ///< while it is shown although presenting hides that bar
};

/// The Learn workspace: everything between the bars.
void draw_learn(const Frame& frame);

/// Draws the step that `place` names into `size` at the cursor. Returns how many pixels of its height are scrolled out of view.
float draw_page(Session& session, const LessonPlace& place, const PanelInput& input, LearnState& state, Requests& requests,
                ImVec2 size);

}  // namespace attoscope
