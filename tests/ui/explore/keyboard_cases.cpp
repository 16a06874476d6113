// Click targets, reached and pressed by keys alone.
#include <string>

#include "imgui_internal.h"
#include "tests/ui/cases.h"

namespace attoscope::testing::keyboard {
namespace {

/// Presses Tab until the item has the keyboard's focus.
void tab_to(Hand& hand, const std::string& path) {
  const ImGuiID wanted = hand.id(path);
  for (int i = 0; i < 200 && ImGui::GetCurrentContext()->NavId != wanted; ++i) hand.key(ImGuiKey_Tab);
  hand.check(ImGui::GetCurrentContext()->NavId == wanted, "Tab comes to " + path);
}

/// Focuses a window and presses Tab until `item` has the keyboard's focus.
void go_to(Hand& hand, const std::string& window, const std::string& item) {
  ImGui::FocusWindow(ImGui::FindWindowByName(window.c_str()));
  ImGui::NavInitWindow(ImGui::FindWindowByName(window.c_str()), true);
  hand.frames(2);
  tab_to(hand, "//" + window + "/" + item);
}

/// Tab goes to the lock of the colours below the colour bar.
CASE(keyboard, lock_of_the_colours) {
  hand.frames(3);
  go_to(hand, "Heat map", "pin");
  hand.key(ImGuiKey_Space, [&](Session& s) {
    s.view.range_pinned = true;
    s.view.range = hand.view().range;
  });
}

/// An arrow in the picture pins a cell of the traced row, which is the last one.
CASE(keyboard, cell_of_the_traced_row) {
  hand.frames(3);
  go_to(hand, "Heat map", "picture");
  hand.key(ImGuiKey_DownArrow, [](Session& s) {
    s.view.cell_row = s.experiment.problem.traced_row = s.experiment.problem.n - 1;
    s.view.cell_col = 0;
  });
}

/// Tab goes to the name of a curve.
CASE(keyboard, names_of_curves) {
  hand.frames(3);
  go_to(hand, "Recurrence", "legend l");
  const unsigned hidden = hand.view().hidden_curves;
  hand.key(ImGuiKey_Space);
  hand.check(hand.view().hidden_curves != hidden, "Space hides a curve");
}

/// Tab goes to the pictures of heads, Enter opens one.
CASE(keyboard, heads) {
  Session session = all_heads(96);
  session.view.heads_show = HeadsShow::outputs;
  hand.open(session);
  hand.await("there are heads", [&] { return hand.exists(heatmap + "**/##head 1"); });
  go_to(hand, "Heat map", "**/##head 0");
  tab_to(hand, heatmap + "**/##head 1");
  hand.key(ImGuiKey_Enter, settled);
  hand.check(hand.experiment().problem.input.index == 1 && hand.view().picture == PictureKind::output, "Enter opens the head");
}

/// Reaches a value of a sweep.
CASE(keyboard, values_of_a_sweep) {
  Session session = small_session(Workspace::sweep);
  session.sweep.first = {"block_k", "8,16,24"};
  hand.open(session, 4);
  go_to(hand, "Sweep plan", "first/##16");
  hand.key(ImGuiKey_Space, [](Session& s) { s.sweep.first.values = "8,24"; });
}

/// Reaches the bits of a lesson's number.
CASE(keyboard, bits_and_numbers_of_a_lesson) {
  Session session = small_session(Workspace::learn);
  session.lesson.name = "01-floats";
  hand.open(session, 6);
  go_to(hand, "Learn", "**/bits");
  const Session before = hand.session();
  hand.key(ImGuiKey_RightArrow);
  hand.key(ImGuiKey_RightArrow);
  hand.key(ImGuiKey_Space);
  hand.frames(2);
  hand.check(!(hand.session() == before), "Space flips a bit");
}

/// A number in a lesson's text: Enter opens its setting.
CASE(keyboard, live_number_of_a_lesson) {
  Session session = small_session(Workspace::learn);
  session.lesson.name = "04-online-softmax";
  hand.open(session);
  for (int turned = 0; turned < 8 && !hand.exists("//Learn/**/number"); ++turned) {
    hand.key(ImGuiKey_PageDown);
    hand.frames(6);
  }
  go_to(hand, "Learn", "**/number");
  hand.key(ImGuiKey_Enter, settled);
  hand.check(hand.view().workspace == Workspace::explore, "Enter opens its setting");
}

/// The headline above the picture of a narrow window: Enter shows the numbers.
CASE(keyboard, headline) {
  hand.resize(900, 800, 4);
  go_to(hand, "Heat map", "headline");
  hand.check(!hand.exists("//Statistics/detail/why"), "the numbers are hidden");
  hand.key(ImGuiKey_Enter);
  hand.frames(3);
  hand.check(hand.exists("//Statistics/detail/why"), "Enter shows the numbers");
}

}  // namespace
}  // namespace attoscope::testing::keyboard
