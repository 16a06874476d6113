/// Controls and text of all panels, in one style.
#pragma once

#include <concepts>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>

#include "imgui.h"
#include "ui/widgets/theme.h"

namespace attoscope::ui {

/// Pixels of a length at UI scale 1.
float px(float length);

/// Faces: mono for numbers and step names, sans for everything else.
enum class Face { body, label, small, section, headline, mono, mono_large, mono_small };

/// Height of buttons, combos and fields at scale 1.
inline constexpr float control_height = 24;

/// Sets the face of the widgets within a scope.
class WithFace {
 public:
  explicit WithFace(Face face);
  ~WithFace();
  WithFace(WithFace&&) = delete;
};

/// Begins the ids of the controls within a scope with `id`.
class WithId {
 public:
  explicit WithId(const char* id);
  explicit WithId(int id);
  ~WithId();
  WithId(WithId&&) = delete;
};

/// Sets the distances between the items within a scope.
class WithSpacing {
 public:
  explicit WithSpacing(ImVec2 spacing);
  ~WithSpacing();
  WithSpacing(WithSpacing&&) = delete;
};

/// Line height of a face, and width of a text in it.
float line_height(Face face);
float text_width(Face face, std::string_view text);

/// Draws text at a place of a draw list; `align` 0, 0.5, 1: `at` is its left edge, middle, right edge. Returns its width.
float draw_text(ImDrawList* list, ImVec2 at, Face face, Colour colour, std::string_view text, float align = 0);
/// Draws text in the current window. Takes no room in the layout.
float draw_text(ImVec2 at, Face face, Colour colour, std::string_view text, float align = 0);
/// Draws text in the vertical middle of a line of `height` whose top is at `at`.
float draw_in_line(ImVec2 at, float height, Face face, Colour colour, std::string_view text, float align = 0);
/// The text, shortened with "…" to fit `width`.
std::string fitted(Face face, std::string_view text, float width);
/// The text in at most so many lines of `width`, the last one `fitted`.
std::string fitted_lines(Face face, std::string_view text, float width, std::size_t lines);

/// Draws the text, shortened to fit `width`. Returns the width that it takes.
float draw_fitted(ImVec2 at, Face face, Colour colour, std::string_view text, float width, float align = 0);

/// Reserves room in the layout for what the caller drew at its own positions.
void take_room(ImVec2 from, ImVec2 size);

/// Text in the layout.
void label(Face face, Colour colour, std::string_view text);
/// Section heading: small capitals with space above.
void section(std::string_view title);
/// A colour with its alpha multiplied.
Colour faded(Colour colour, float alpha);
/// Mixes two colours in sRGB.
Colour mixed(Colour x, Colour y, float t);

/// Ends the layout `width` right of the cursor within a scope, for items that fill the line.
class WithWidth {
 public:
  explicit WithWidth(float width);
  ~WithWidth();
  WithWidth(WithWidth&&) = delete;

 private:
  float right_;  ///< end of the line outside the scope
};

/// Text in lines of at most `width`.
void wrapped(Face face, std::string_view text, float width);
void wrapped(Face face, Colour colour, std::string_view text, float width);
/// `wrapped` as a single item.
void paragraph(Face face, Colour colour, std::string_view text, float width);

/// Largest `height` of an answer's words at this `width` since the window appeared: the items below keep their places while
/// a run's numbers change. A window has one answer.
float kept_height(float width, float height);

/// Draws an answer's headline and sentence at the top of a panel, with both in a tooltip; in a low panel one line each, or, if
/// the headline needs it and the sentence is neither an error nor a notice, two lines of the headline. Its height never
/// shrinks.
void draw_words(std::string_view headline, Colour colour, std::string_view sentence, Colour of_sentence);

/// Draws a text in lines of at most `width`, as no item; and its height.
void draw_wrapped(ImVec2 at, Face face, Colour colour, std::string_view text, float width);
float wrapped_height(Face face, std::string_view text, float width);
/// Number of lines of `draw_wrapped` that fit `height`, at least 1.
std::size_t lines_within(Face face, float height);

/// Colour on a list's entry, the last item: `otherwise`, or the text's where the entry is chosen or under the mouse.
Colour ink_of_entry(bool chosen, Colour otherwise);

/// A list item with a title and a sentence, both behind its number if it has one; true if it was clicked. Its label is "##" and
/// `name`.
bool titled_entry(std::string_view name, std::string_view title, std::string_view sentence, bool chosen, float width,
                  std::string_view number = {});

/// Tooltip of the last item: a sentence, and a formula in mono.
void explain(std::string_view what, std::string_view formula = {});

/// A place of a grid, counted from its top left corner.
struct GridPlace {
  int column = 0, row = 0;

  friend bool operator==(const GridPlace&, const GridPlace&) = default;
};
/// Direction of the arrow key pressed while the last item has the keyboard's focus; the focus stays. {}: no arrow key.
std::optional<GridPlace> taken_arrow();
/// The grid place in the last item, moved by arrow keys while the item has the keyboard's focus; {}: no focus.
std::optional<GridPlace> keyed_place(int columns, int rows);
/// `keyed_place`, or else the place under the mouse in a grid at `at`; {}: none.
std::optional<GridPlace> pointed_place(ImVec2 at, ImVec2 cell, int columns, int rows);

/// Shows no tooltips within a scope.
class WithoutTooltips {
 public:
  explicit WithoutTooltips(bool without = true);
  ~WithoutTooltips();
  WithoutTooltips(WithoutTooltips&&) = delete;

 private:
  bool before_;
};

/// Raises faces smaller than `size` (pixels at scale 1) to `size` within a scope.
class WithLeastType {
 public:
  explicit WithLeastType(float size);
  ~WithLeastType();
  WithLeastType(WithLeastType&&) = delete;

 private:
  float before_;
};

/// Multiplies the scale of type and lengths within a scope.
class WithScale {
 public:
  explicit WithScale(float factor);
  ~WithScale();
  WithScale(WithScale&&) = delete;

 private:
  float before_;
};

/// Number of buttons, tracks, menus and fields drawn so far; static pages must have none.
int controls_drawn();

/// Calls `draw`, which draws a control; the control is disabled unless `possible`. Returns the result of `draw`.
template <class Draw>
auto if_possible(bool possible, const Draw& draw) {
  struct End {
    ~End() { ImGui::EndDisabled(); }
  };
  ImGui::BeginDisabled(!possible);
  const End end;
  return draw();
}

/// Text and tooltip of a choice.
struct Choice {
  std::string_view label, what;
};
/// Size of a row of buttons, in pixels, and index of the disabled button, or -1. width 0: the available width.
struct SegmentedLook {
  float width = 0, height = 0;  ///< height 0: `control_height`
  int disabled = -1;
};
/// A row of buttons; button `chosen` is pressed, none if -1. True if the choice changed.
bool segmented(const char* id, std::span<const Choice> choices, int& chosen, const SegmentedLook& look);
/// A row of buttons for the values of an enumeration, or for false and true.
template <class E>
  requires std::is_enum_v<E> || std::same_as<E, bool>
bool segmented(const char* id, std::span<const Choice> choices, E& value, const SegmentedLook& look) {
  int chosen = static_cast<int>(value);
  const bool pressed = segmented(id, choices, chosen, look);
  if (pressed) value = static_cast<E>(chosen);
  return pressed;
}
template <class Value>
bool segmented(const char* id, std::span<const Choice> choices, Value& value, float width = 0) {
  return segmented(id, choices, value, SegmentedLook{.width = width});
}
/// A push button, lit while `on`; disabled unless `possible`.
bool push_button(const char* label, bool on = false, ImVec2 size = {0, 0}, bool possible = true);
/// A button without a box, for the top bar; `width` 0: as wide as its text with the same room at both sides.
bool quiet_button(const char* label, float width = 0);
/// Width of such a button in pixels.
float quiet_width(const char* label);
/// A square check box drawn inside a button.
bool toggle(const char* label, bool& on, float width = 0);

/// A labelled slider: name at the left, thin track, value at the right. A click on the value, or Ctrl+click on the track, types
/// any value within [least, most].
struct Slider {
  const char* name;     ///< also its test label: "##name"
  int from, to;         ///< ends of the track
  int least, most;      ///< range of typed values
  bool powers = false;  ///< the track is logarithmic and snaps to powers of two and to its end
};
bool slider(const Slider& spec, int& value);
/// Only the track of a slider, `size` large.
bool track(const Slider& spec, int& value, ImVec2 size);

/// Sets height and face of combos and text fields within a scope.
class WithField {
 public:
  explicit WithField(Face face, float height = control_height);
  ~WithField();
  WithField(WithField&&) = delete;

 private:
  WithFace face_;
};

/// A popup in the colour and with the padding of a panel; call ImGui::EndPopup() if it returns true.
bool begin_panel_popup(const char* id, ImGuiWindowFlags flags = 0);

/// Draws the popup in the colour of a panel if it is open.
void in_popup(const char* id, const std::function<void()>& draw);

/// A combo of `width`; call ImGui::EndCombo() if it returns true. `colour` is of the preview; none: the usual one.
bool begin_combo(const char* label, const std::string& preview, float width, std::optional<Colour> colour = {});

/// A dashed horizontal or vertical line.
void draw_dashed(ImDrawList* list, ImVec2 from, ImVec2 to, Colour colour, float dash, float gap);

enum class TransportIcon { first, previous, play, pause, next, last };

/// A small button with an icon, highlighted while `on`.
bool transport_button(const char* id, TransportIcon icon, bool on);
/// A button to the next (or previous) marked place; shows a dot in the colour `mark`.
bool mark_button(const char* id, bool forward, Colour mark);
/// Width of a transport button, in pixels.
float transport_width();

}  // namespace attoscope::ui
