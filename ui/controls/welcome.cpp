#include "ui/controls/welcome.h"

#include <algorithm>
#include <array>
#include <string>

#include "imgui.h"
#include "kernels/experiment/rules.h"
#include "ui/session/session.h"
#include "ui/widgets/widgets.h"

namespace attoscope {
namespace {

/// A text and its colour.
struct Piece {
  const char* text;
  Colour colour;
};

/// The sentence before its button, in two parts: the comparison, and the first steps. `loaded`: an output is loaded already.
std::array<std::array<Piece, 4>, 2> sentence(bool loaded) {
  return {{{Piece{"a (orange)", colours().a}, Piece{" against ", colours().text}, Piece{"b (blue)", colours().b},
            Piece{", both against the truth in fp64: ", colours().text}},
           {Piece{"drag ", colours().text}, Piece{"mantissa", colours().accent},
            Piece{loaded ? ", or begin with" : ", drop your kernel's O, or begin with", colours().text},
            Piece{"", colours().text}}}};
}

/// Text of both parts.
std::string whole(const std::array<std::array<Piece, 4>, 2>& parts) {
  std::string text;
  for (const auto& part : parts)
    for (const Piece& piece : part) text += piece.text;
  return text + " lesson 1.";
}

float width_of(const std::array<Piece, 4>& part) {
  float width = 0;
  for (const Piece& piece : part) width += text_width(Face::label, piece.text);
  return width;
}

/// Draws a part; returns its right end.
float draw_part(const std::array<Piece, 4>& part, ImVec2 at, float end) {
  for (const Piece& piece : part)
    at.x += draw_text(at, Face::label, piece.colour, fitted(Face::label, piece.text, std::max(0.0f, end - at.x)));
  return at.x;
}

void open_first_lesson(Session& session) {
  session.view.workspace = Workspace::learn;
  session.lesson.name.clear();
  session.lesson.step = 0;
}

}  // namespace

void draw_welcome(Session& session) {
  if (!session.view.welcome) return;
  const auto parts = sentence(has_loaded(session.experiment));
  const ImVec2 at = ImGui::GetCursorScreenPos();
  const float width = ImGui::GetContentRegionAvail().x, pad = px(8), close = px(24), lesson = px(72), line = px(18);
  const float room = width - lesson - close - 4 * pad;
  const bool two_lines = width_of(parts[0]) + width_of(parts[1]) + pad > room;
  const float height = px(control_height + 8) + (two_lines ? line : 0);
  ImGui::GetWindowDrawList()->AddRectFilled(at, {at.x + width, at.y + height}, colours().raised, px(3));
  ImGui::Dummy({room, height});
  explain(whole(parts));
  const float last = at.y + height - px(control_height + 4), text = last + (px(control_height) - line_height(Face::label)) / 2;
  const float first_end = draw_part(parts[0], {at.x + pad, text - (two_lines ? line : 0)}, at.x + room);
  const float end = draw_part(parts[1], {two_lines ? at.x + pad : first_end, text}, at.x + room);
  ImGui::SetCursorScreenPos({end + pad, last});
  if (push_button("lesson 1###first lesson", true, {lesson, 0})) open_first_lesson(session);
  explain("The first lesson: why attention's arithmetic needs care, each number computed while you read.");
  ImGui::SetCursorScreenPos({at.x + width - close - px(4), at.y + px(4)});
  if (push_button("×###dismiss welcome", false, {close, 0})) session.view.welcome = false;
  explain("Hides this line for good; find … brings it back as \"welcome\".");
  ImGui::SetCursorScreenPos({at.x, at.y + height + px(4)});
}

}  // namespace attoscope
