/// The keys of the window: one table feeds the handler, the help and README.md beside it.
#pragma once

#include <span>
#include <string_view>

#include "ui/frame/panel_input.h"
#include "ui/frame/requests.h"
#include "ui/frame/ui_state.h"
#include "ui/widgets/theme.h"

namespace attoscope {

/// State that a key's action may change.
struct KeyTarget {
  Session& session;
  UiState& state;
  Requests& requests;
  const Result* result;
  const PanelInput& input;
};

/// Scope of a key. presenting: a lesson fills the window; no other key of the table acts then.
enum class KeyScope { everywhere, explore, train, learn, presenting };

/// One line of the help. Lines without `act` stand for mouse actions or ranges of keys.
struct Key {
  std::string_view keys, what;
  int chord = 0;  ///< ImGuiKeyChord
  void (*act)(KeyTarget&) = nullptr;
  bool repeats = false;
  KeyScope scope = KeyScope::everywhere;
};

/// All keys, in the order of the help.
std::span<const Key> keys();

/// Acts on the keys pressed in this frame, unless a text is being typed.
void handle_keys(KeyTarget target);

/// The help window.
void draw_help(bool& open);

/// Gives the keyboard to the next panel on screen (`by` 1) or to the one before (-1): the top bar, then from the left to the
/// right and downwards, the status bar last.
void focus_panel(int by);

/// Frame around the panel with the keyboard focus, while keys move the focus.
void draw_panel_focus();

}  // namespace attoscope
