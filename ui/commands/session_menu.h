/// Session files in the window: their names, the menu, and what was not understood of one.
#pragma once

#include <string>

#include "ui/frame/entries.h"
#include "ui/frame/panel_input.h"
#include "ui/frame/requests.h"
#include "ui/frame/ui_state.h"
#include "ui/widgets/theme.h"

namespace attoscope {

/// What is open, in a word: its file without folder and ending, or "untitled".
std::string session_name(const SessionFiles& files);
/// The title of the window: a dot where something is unsaved, the session, the program.
std::string window_title(const SessionFiles& files);

/// Asks for what is to be done with the session's file. Where a file must be named and no desktop can ask for it, the menu
/// opens for one to be typed.
void ask_session(SessionRequest::Act act, const PanelInput& input, UiState& state, Requests& requests);

inline constexpr float session_button_width = 108;
/// A button that shows what is open, with the menu: new, open, save, recent files, the session as text.
void session_button(const PanelInput& input, UiState& state, const Palette& colours, Requests& requests);

/// What was not understood of the session that was opened, line by line, until it is read.
void draw_remarks(const PanelInput& input, const Palette& colours, Requests& requests);
/// True if that list is on screen.
bool shows_remarks(const PanelInput& input);

}  // namespace attoscope
