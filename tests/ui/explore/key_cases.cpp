// Keys: modifiers released in every order, within a frame and over many; the order in which Esc closes things; the label of the
// theme's button.
#include <algorithm>
#include <array>
#include <cstdlib>

#include "imgui.h"
#include "imgui_internal.h"
#include "tests/ui/cases.h"
#include "ui/commands/keys.h"
#include "ui/frame/ui_state.h"
#include "ui/widgets/theme.h"

namespace attoscope::testing {
namespace {

/// A Dear ImGui context of its own, with key events and frames at the test's commands.
class Keyboard {
 public:
  explicit Keyboard(float seconds) : before_(ImGui::GetCurrentContext()), own_(ImGui::CreateContext()) {
    ImGui::SetCurrentContext(own_);
    ImGuiIO& io = ImGui::GetIO();
    io.DisplaySize = {640, 400};
    io.DeltaTime = seconds;
    io.IniFilename = nullptr;
    io.BackendFlags |= ImGuiBackendFlags_RendererHasTextures;
  }
  ~Keyboard() {
    ImGui::DestroyContext(own_);
    ImGui::SetCurrentContext(before_);
  }
  Keyboard(const Keyboard&) = delete;
  Keyboard& operator=(const Keyboard&) = delete;

  Session session = small_session();
  UiStatePtr state = make_ui_state();

  /// C and P press, c and p release, and each "|" draws a frame; then frames until no event is left.
  void type(const std::string& events) {
    for (const char event : events) {
      if (event == '|') {
        frame();
        continue;
      }
      ImGuiIO& io = ImGui::GetIO();
      const bool control = event == 'C' || event == 'c', down = event == 'C' || event == 'P';
      if (control) io.AddKeyEvent(ImGuiMod_Ctrl, down);
      io.AddKeyEvent(control ? ImGuiKey_LeftCtrl : ImGuiKey_P, down);
    }
    for (int i = 0; i < 8; ++i) frame();
  }

 private:
  void frame() {
    ImGui::NewFrame();
    Requests requests;
    const PanelInput input;
    handle_keys({session, *state, requests, nullptr, input});
    ImGui::EndFrame();
  }

  ImGuiContext *before_, *own_;
};

/// The events with frames between them according to the bits of `frames`.
std::string with_frames(const std::string& events, unsigned frames) {
  std::string all;
  for (std::size_t i = 0; i < events.size(); ++i) {
    all += events[i];
    if ((frames >> i & 1) != 0) all += '|';
  }
  return all;
}

/// Ctrl+P is Ctrl+P whenever its keys are released, and P is P.
void modifiers(Hand& hand) {
  for (const float seconds : {1.0f / 60, 1.0f / 5})
    for (unsigned frames = 0; frames < 16; ++frames) {
      for (const char* order : {"CPpc", "CPcp"}) {
        Keyboard keyboard(seconds);
        keyboard.type(with_frames(order, frames));
        hand.check(keyboard.state->popups.palette.asked && keyboard.session == small_session(),
                   "the palette by " + with_frames(order, frames));
      }
      for (const char* order : {"PpCc", "PCpc", "PCcp"}) {
        Keyboard keyboard(seconds);
        keyboard.type(with_frames(order, frames));
        hand.check(!keyboard.state->popups.palette.asked && keyboard.session.view.range_pinned,
                   "the range of the colours by " + with_frames(order, frames));
      }
    }
}

/// Esc closes the keys, then the sum, then unpins the cell: one at a time.
void escape(Hand& hand) {
  hand.view().cell_row = 3, hand.view().cell_col = 2;
  hand.view().show_sum = true;
  hand.frames(2);
  hand.key(ImGuiKey_H);
  hand.check(hand.stage.state->popups.help, "the keys are shown");
  hand.leaves("Esc closes the keys alone", [&] { hand.key(ImGuiKey_Escape); });
  hand.check(!hand.stage.state->popups.help, "they are closed");
  hand.changes("then the sum", [&] { hand.key(ImGuiKey_Escape); }, [](Session& s) { s.view.show_sum = false; });
  hand.changes(
      "then it unpins the cell", [&] { hand.key(ImGuiKey_Escape); },
      [](Session& s) { s.view.cell_row = s.view.cell_col = -1; });
  hand.click(controls + "##kernel");
  hand.pick("open a file ...");
  hand.frames(3);
  hand.check(ImGui::GetIO().WantTextInput, "a path is typed");
  hand.leaves("Esc closes its prompt at once", [&] { hand.key(ImGuiKey_Escape); });
  hand.check(!ImGui::IsPopupOpen(nullptr, ImGuiPopupFlags_AnyPopup), "it is closed");
  for (const char* popup : {"###session", "###presets"}) {
    hand.click(top_bar + popup);
    hand.frames(2);
    hand.check(ImGui::IsPopupOpen(nullptr, ImGuiPopupFlags_AnyPopup), std::string(popup) + " is open");
    hand.leaves("Esc closes it", [&] { hand.key(ImGuiKey_Escape); });
    hand.check(!ImGui::IsPopupOpen(nullptr, ImGuiPopupFlags_AnyPopup), std::string(popup) + " is closed");
  }
}

/// The panel that has the keyboard.
std::string focused() {
  const ImGuiWindow* const at = ImGui::GetCurrentContext()->NavWindow;
  return at != nullptr ? at->RootWindow->Name : "";
}

/// F6 goes through these panels, the last of which is the status bar, Shift+F6 back.
void go_through(Hand& hand, const std::vector<std::string>& order) {
  for (int i = 0; i < 9 && focused() != "Status bar"; ++i) hand.key(ImGuiKey_F6), hand.frames(2);
  for (const std::string& name : order) {
    hand.leaves("F6", [&] { hand.key(ImGuiKey_F6); });
    hand.frames(2);
    hand.check(focused() == name, "F6 comes to " + name + ": " + focused());
  }
  for (auto name = order.rbegin() + 1; name != order.rend(); ++name) {
    hand.leaves("Shift+F6", [&] { hand.key(ImGuiMod_Shift | ImGuiKey_F6); });
    hand.frames(2);
    hand.check(focused() == *name, "Shift+F6 comes to " + *name + ": " + focused());
  }
}

/// F6 goes through all panels, also one that is a tab behind another; the panel with the keyboard is framed, and Tab begins in
/// it.
void between_panels(Hand& hand) {
  hand.view().show_pins = true;
  hand.frames(4);
  go_through(hand, {"Top bar", "Controls", "Statistics", "Pins", "Heat map", "Recurrence", "Status bar"});
  hand.stage.resize(1600, 1000);
  hand.frames(4);
  go_through(hand, {"Top bar", "Controls", "Pins", "Heat map", "Recurrence", "Statistics", "Status bar"});
  hand.key(ImGuiKey_F6);
  const Picture picture = hand.picture();
  const Colour accent = palette(hand.view().theme).accent;
  const ImGuiWindow* const panel = ImGui::FindWindowByName("Controls");
  const auto is_framed = [&](float x, float y) {
    const auto at = static_cast<std::size_t>((static_cast<int>(y) * picture.width + static_cast<int>(x)) * 3);
    const auto near = [&](std::size_t c) {
      return std::abs(picture.rgb[at + c] - static_cast<int>(accent >> (8 * c) & 255)) < 60;
    };
    return near(0) && near(1) && near(2);
  };
  hand.check(is_framed(panel->Pos.x + 1, panel->Pos.y + panel->Size.y / 2), "the controls are framed");
  hand.leaves("Tab", [&] { hand.key(ImGuiKey_Tab); });
  hand.check(focused() == "Controls", "Tab stays in the panel");
  hand.view().workspace = Workspace::train;
  hand.frames(3);
  std::vector<std::string> seen;
  for (int i = 0; i < 5; ++i) hand.key(ImGuiKey_F6), seen.push_back(focused());
  for (const char* name : {"Train plan", "Train", "Train numbers"})
    hand.check(std::ranges::find(seen, name) != seen.end(), std::string(name) + " is reached in its workspace");
}

/// The theme's button names the theme that is on.
void theme_named(Hand& hand) {
  for (const auto& [theme, words] :
       {std::pair{Theme::dark, "dark"}, std::pair{Theme::light, "light"}, std::pair{Theme::high_contrast, "contrast"}}) {
    hand.view().theme = theme;
    hand.frames(2);
    const auto items = hand.items(top_bar);
    const bool named = std::ranges::any_of(items, [&](const auto& item) { return item.second.starts_with(words); });
    hand.check(named, std::string("the button says ") + words);
  }
}

constexpr std::array cases{
    Case{"keys", "modifiers", modifiers},
    Case{"keys", "escape", escape},
    Case{"keys", "between panels", between_panels},
    Case{"keys", "theme named", theme_named},
};

}  // namespace

std::span<const Case> key_cases() { return cases; }

}  // namespace attoscope::testing
