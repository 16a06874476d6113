// The recurrence strip with its scrubber, the bars, the keys, the help.
#include <algorithm>
#include <array>

#include "tests/ui/cases.h"
#include "ui/memory.h"

namespace attoscope::testing {
namespace {

std::function<void(Session&)> scrubbed(int tile) {
  return [tile](Session& s) { s.view.scrubbed_tile = tile; };
}

void buttons(Hand& hand) {  // six tiles, 0 .. 5
  const auto back = [&] { hand.click(strip + "###previous tile"); };
  const auto on = [&] { hand.click(strip + "###next tile"); };
  hand.leaves("next of the last", on);
  for (const int tile : {4, 3, 2, 1, 0}) hand.changes("previous", back, scrubbed(tile));
  hand.leaves("previous of the first", back);
  for (const int tile : {1, 2, 3, 4, -1}) hand.changes("next", on, scrubbed(tile));
}

void track(Hand& hand) {
  const std::string path = strip + "##tile";
  hand.changes(
      "to the left", [&] { hand.drag(hand.place(path, 0.9f), hand.place(path, 0)); }, scrubbed(0));
  hand.changes(
      "to the right", [&] { hand.drag(hand.place(path, 0.1f), hand.place(path, 1)); }, scrubbed(-1));
  hand.changes(
      "typed", [&] { hand.type(path, "3"); }, scrubbed(3));
  hand.changes(
      "typed beyond", [&] { hand.type(path, "77"); }, scrubbed(-1));
}

void plots(Hand& hand) {
  for (const char* plot : {"running max", "rescales", "row sum", "error so far"}) {
    const std::string path = strip + plot;
    const auto press = [&](float x) { return [&hand, path, x] { hand.press(hand.place(path, x, 0.4f)); }; };
    hand.changes(std::string(plot) + " at its right edge", press(0.97f), scrubbed(-1));
    hand.changes(std::string(plot) + " at its left edge", press(0.18f), scrubbed(0));
    const ImVec2 from = hand.place(path, 0.3f, 0.5f), to = hand.place(path, 1.5f, 0.5f);
    hand.changes(
        std::string(plot) + " dragged out", [&] { hand.drag(from, to); }, scrubbed(-1));
  }
}

void theme_and_scale(Hand& hand) {
  hand.changes(
      "light", [&] { hand.click(top_bar + "###theme"); }, [](Session& s) { s.view.theme = Theme::light; });
  hand.changes(
      "contrast", [&] { hand.click(top_bar + "###theme"); }, [](Session& s) { s.view.theme = Theme::high_contrast; });
  hand.changes(
      "dark", [&] { hand.click(top_bar + "###theme"); }, [](Session& s) { s.view.theme = Theme::dark; });
  hand.changes(
      "larger", [&] { hand.click(top_bar + "###larger"); }, [](Session& s) { s.view.ui_scale = 1.125; });
  hand.changes(
      "100 %", [&] { hand.click(top_bar + "###UI scale"); }, [](Session& s) { s.view.ui_scale = 1; });
  hand.changes(
      "smaller", [&] { hand.click(top_bar + "###smaller"); }, [](Session& s) { s.view.ui_scale = 0.875; });
  for (int i = 0; i < 30; ++i) hand.click(top_bar + "###larger");
  hand.check(hand.view().ui_scale == 3, "no larger than three times");
  for (int i = 0; i < 30; ++i) hand.key(ImGuiKey_Minus);
  hand.check(hand.view().ui_scale == 0.75, "no smaller than three quarters");
}

void help(Hand& hand) {
  hand.leaves("help", [&] { hand.click(top_bar + "###help"); });
  hand.check(hand.stage.memory->show_help, "the button shows it");
  hand.leaves("close", [&] { hand.click("//Help/close"); });
  hand.check(!hand.stage.memory->show_help, "its button closes it");
  hand.key(ImGuiKey_H);
  hand.check(hand.stage.memory->show_help, "H shows it");
  hand.key(ImGuiKey_H);
  hand.check(!hand.stage.memory->show_help, "and closes it");
}

void keys(Hand& hand) {
  for (int i = 8; i >= 0; --i)
    hand.changes(
        "a digit", [&] { hand.key(ImGuiKey_1 + i); }, [&](Session& s) { s.view.field = static_cast<Field>(i); });
  for (int i = 0; i < 3; ++i)
    hand.changes(
        "Shift and a digit", [&] { hand.key(ImGuiMod_Shift | (ImGuiKey_1 + i)); },
        [&](Session& s) { s.view.field = static_cast<Field>(9 + i); });
  hand.changes(
      "L", [&] { hand.key(ImGuiKey_L); }, [](Session& s) { s.view.scale = ValueScale::linear; });
  hand.changes(
      "G", [&] { hand.key(ImGuiKey_G); }, [](Session& s) { s.view.show_tiles = true; });
  hand.changes(
      "T", [&] { hand.key(ImGuiKey_T); }, [](Session& s) { s.view.theme = Theme::light; });
  hand.changes(
      "+", [&] { hand.key(ImGuiKey_Equal); }, [](Session& s) { s.view.ui_scale = 1.125; });
  hand.changes(
      "-", [&] { hand.key(ImGuiKey_Minus); }, [](Session& s) { s.view.ui_scale = 1; });
  hand.changes(
      "P", [&] { hand.key(ImGuiKey_P); }, [&](Session& s) { s.view.range_pinned = true, s.view.range = hand.view().range; });
  hand.view().zoom = {2, 2, 8, 8};
  hand.view().cell_row = hand.view().cell_col = 3;
  hand.changes(
      "0", [&] { hand.key(ImGuiKey_0); }, [](Session& s) { s.view.zoom = {}; });
  hand.changes(
      "Esc", [&] { hand.key(ImGuiKey_Escape); }, [](Session& s) { s.view.cell_row = s.view.cell_col = -1; });
}

void tile_keys(Hand& hand) {
  hand.changes(
      "comma", [&] { hand.key(ImGuiKey_Comma); }, scrubbed(4));
  hand.changes(
      "comma again", [&] { hand.key(ImGuiKey_Comma); }, scrubbed(3));
  hand.changes(
      "Shift and comma", [&] { hand.key(ImGuiMod_Shift | ImGuiKey_Comma); }, scrubbed(0));
  hand.changes(
      "period", [&] { hand.key(ImGuiKey_Period); }, scrubbed(1));
  hand.changes(
      "Shift and period", [&] { hand.key(ImGuiMod_Shift | ImGuiKey_Period); }, scrubbed(-1));
  hand.leaves("arrows and Tab", [&] {
    for (const int key : {ImGuiKey_LeftArrow, ImGuiKey_DownArrow, ImGuiKey_Tab, ImGuiKey_RightArrow, ImGuiKey_Home})
      hand.key(key);
  });
  hand.changes(
      "comma after them", [&] { hand.key(ImGuiKey_Comma); }, scrubbed(4));
}

void keys_while_typing(Hand& hand) {
  hand.leaves("letters in a text field", [&] {
    hand.click(controls + "##input");
    hand.pick("open a file ...");
    hand.fill("//$FOCUSED/##path", "");
    hand.key(ImGuiKey_T);
    hand.key(ImGuiKey_5);
    hand.key(ImGuiKey_Escape);
    hand.key(ImGuiKey_Escape);
  });
}

void quit(Hand& hand) {
  hand.leaves("Ctrl+Q", [&] {
    hand.check(!hand.stage.asked_to_quit, "not yet");
    hand.key(ImGuiMod_Ctrl | ImGuiKey_Q);
    hand.check(hand.stage.asked_to_quit, "the window is asked to close");
  });
}

constexpr std::array cases{
    Case{"strip", "buttons", buttons}, Case{"strip", "track", track},
    Case{"strip", "plots", plots},     Case{"bars", "theme and scale", theme_and_scale},
    Case{"bars", "help", help},        Case{"keys", "all keys", keys},
    Case{"keys", "tiles", tile_keys},  Case{"keys", "not while typing", keys_while_typing},
    Case{"keys", "quit", quit},
};

}  // namespace

std::span<const Case> strip_cases() { return cases; }

}  // namespace attoscope::testing
