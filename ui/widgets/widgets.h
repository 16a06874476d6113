/// Controls and text that all panels use, so that they look alike.
#pragma once

#include <concepts>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>

#include "imgui.h"
#include "ui/widgets/theme.h"

namespace attoscope {

/// A length of the drawing at UI scale 1, in pixels.
float px(float length);

/// Faces of the program: numbers and step names are mono, everything else is sans.
enum class Face { body, label, small, section, headline, mono, mono_small };

/// Height of buttons, combos and fields at scale 1.
inline constexpr float control_height = 24;

/// Uses a face for the widgets within a scope.
class WithFace {
 public:
  explicit WithFace(Face face);
  ~WithFace();
  WithFace(const WithFace&) = delete;
  WithFace& operator=(const WithFace&) = delete;
};

/// Height of a face's line, width of a text in it.
float line_height(Face face);
float text_width(Face face, std::string_view text);

/// Text at a place of a draw list; `align` 0 puts its left edge there, 0.5 its middle, 1 its right edge. Returns its width.
float draw_text(ImDrawList* list, ImVec2 at, Face face, Colour colour, std::string_view text, float align = 0);
/// The same in the current window. Takes no room in the layout.
float draw_text(ImVec2 at, Face face, Colour colour, std::string_view text, float align = 0);
/// As much of the text as fits, "…" after it.
std::string fitted(Face face, std::string_view text, float width);

/// Text in the layout.
void label(Face face, Colour colour, std::string_view text);
/// Section head: small capitals with air above.
void section(const Palette& colours, std::string_view title);
/// A colour with its alpha multiplied.
Colour faded(Colour colour, float alpha);
/// Between two colours, in sRGB.
Colour mixed(Colour x, Colour y, float t);

/// The layout within a scope ends `width` right of the cursor: what fills the line fills that much.
class WithWidth {
 public:
  explicit WithWidth(float width);
  ~WithWidth();
  WithWidth(const WithWidth&) = delete;
  WithWidth& operator=(const WithWidth&) = delete;

 private:
  float right_;  ///< where it ends outside
};

/// Text in lines of at most `width`.
void wrapped(Face face, std::string_view text, float width);
void wrapped(Face face, Colour colour, std::string_view text, float width);

/// How high a text is in lines of at most `width`.
float wrapped_height(Face face, std::string_view text, float width);

/// A line of a list with a sentence under its title; true if it was chosen. Its label is "##" and `name`.
bool titled_entry(std::string_view name, std::string_view title, std::string_view sentence, bool chosen, float width,
                  const Palette& colours);

/// Explains the item before: what it changes, and the formula in mono.
void explain(std::string_view what, std::string_view formula = {});

/// Buttons, tracks, menus and fields that were drawn so far: on a page without a program there are none.
int controls_drawn();

/// One text and one explanation per choice.
struct Choice {
  std::string_view label, what;
};
/// A row of buttons of which one (or none, -1) is pressed; `width` 0 takes what there is.
bool segmented(const char* id, const Palette& colours, std::span<const Choice> choices, int& chosen, float width = 0);
/// The same of an enumeration whose values are the choices, or of false and true.
template <class E>
  requires std::is_enum_v<E> || std::same_as<E, bool>
bool segmented(const char* id, const Palette& colours, std::span<const Choice> choices, E& value, float width = 0) {
  int chosen = static_cast<int>(value);
  const bool pressed = segmented(id, colours, choices, chosen, width);
  if (pressed) value = static_cast<E>(chosen);
  return pressed;
}
/// A push button, lit while `on`.
bool push_button(const char* label, const Palette& colours, bool on = false, ImVec2 size = {0, 0});
/// A button without a box, for the bar above.
bool quiet_button(const char* label, const Palette& colours, float width);
/// A square check box drawn inside a button.
bool toggle(const char* label, const Palette& colours, bool& on, float width = 0);

/// A labelled slider: name at the left, thin track, value at the right. A click on the value, or Ctrl+click
/// on the track, types any value within [least, most].
struct Slider {
  const char* name;     ///< also its test label: "##name"
  int from, to;         ///< what the track covers
  int least, most;      ///< what may be typed
  bool powers = false;  ///< the track is logarithmic and snaps to powers of two and to its end
};
bool slider(const Slider& spec, const Palette& colours, int& value);
/// The track alone, `size` large.
bool track(const Slider& spec, const Palette& colours, int& value, ImVec2 size);

/// Combos and text fields within a scope are `height` high and written in `face`.
class WithField {
 public:
  explicit WithField(Face face, float height = control_height);
  ~WithField();
  WithField(const WithField&) = delete;
  WithField& operator=(const WithField&) = delete;

 private:
  WithFace face_;
};

/// A combo as wide as told; ImGui::EndCombo() if it returns true.
bool begin_combo(const char* label, const std::string& preview, float width);

/// A small button in the upper (or lower) right corner of [min, max], seen while the mouse is over that rectangle. True if it
/// was clicked: the rectangle is then to be kept as a picture, with its numbers, by way of `Requests::exports::plot`.
bool save_button(const char* name, ImVec2 min, ImVec2 max, const Palette& colours, bool low = false);

/// A dashed horizontal or vertical line.
void draw_dashed(ImDrawList* list, ImVec2 from, ImVec2 to, Colour colour, float dash, float gap);

}  // namespace attoscope
