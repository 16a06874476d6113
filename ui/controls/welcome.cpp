#include "ui/controls/welcome.h"

#include <array>
#include <string>

#include "imgui.h"
#include "ui/session/session.h"
#include "ui/widgets/widgets.h"

namespace attoscope {
namespace {

/// A part of the line, and its colour.
struct Piece {
  const char* text;
  Colour colour;
};

constexpr const char* whole =
    "a (orange) against b (blue), both against the truth in fp64: drag mantissa, drop your kernel's O, or begin with lesson 1.";

/// The sentence up to its button, as far as there is room; returns where it ends.
float draw_sentence(ImVec2 at, float width, const Palette& c) {
  const std::array pieces{Piece{"a (orange)", c.a},    Piece{" against ", c.text},
                          Piece{"b (blue)", c.b},      Piece{", both against the truth in fp64: drag ", c.text},
                          Piece{"mantissa", c.accent}, Piece{", drop your kernel's O, or", c.text}};
  float x = at.x;
  for (const Piece& piece : pieces) {
    const std::string text = fitted(Face::label, piece.text, at.x + width - x);
    x += draw_text({x, at.y}, Face::label, piece.colour, text);
    if (text != piece.text) break;
  }
  return x;
}

void open_first_lesson(Session& session) {
  session.view.workspace = Workspace::learn;
  session.lesson.name.clear();
  session.lesson.step = 0;
}

}  // namespace

void draw_welcome(Session& session, const Palette& colours) {
  if (!session.view.welcome) return;
  const ImVec2 at = ImGui::GetCursorScreenPos();
  const float width = ImGui::GetContentRegionAvail().x, height = px(control_height + 8), pad = px(8), close = px(24),
              lesson = px(150);
  ImGui::GetWindowDrawList()->AddRectFilled(at, {at.x + width, at.y + height}, colours.raised, px(3));
  const float room = width - lesson - close - 4 * pad;
  ImGui::Dummy({room, height});
  explain(whole);
  const float end = draw_sentence({at.x + pad, at.y + (height - line_height(Face::label)) / 2}, room - pad, colours);
  ImGui::SetCursorScreenPos({end + pad, at.y + px(4)});
  if (push_button("begin with lesson 1###first lesson", colours, false, {lesson, 0})) open_first_lesson(session);
  explain("The first lesson: why attention's arithmetic needs care, each number computed while you read.");
  ImGui::SetCursorScreenPos({at.x + width - close - px(4), at.y + px(4)});
  if (push_button("×###dismiss welcome", colours, false, {close, 0})) session.view.welcome = false;
  explain("Hides this line for good; find … brings it back as \"welcome\".");
  ImGui::SetCursorScreenPos({at.x, at.y + height + px(4)});
}

}  // namespace attoscope
