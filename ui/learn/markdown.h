/// Markdown with formulas on screen, drawn by imgui_rich_md and MicroTeX in the fonts of the program.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "ui/widgets/theme.h"

namespace attoscope::ui {

/// A formula within Markdown: `$...$`, or `$$...$$` where it is displayed.
struct FormulaPlace {
  std::size_t begin = 0, end = 0;  ///< with its signs
  std::string formula;             ///< without them
  bool displayed = false;
};
std::vector<FormulaPlace> formulas_of(std::string_view markdown);

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

}  // namespace attoscope::ui
