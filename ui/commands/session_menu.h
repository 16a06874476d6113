/// Session files in the window: name, menu, and remarks on an opened session.
#pragma once

#include <string>

#include "ui/frame/entries.h"
#include "ui/frame/panel_input.h"
#include "ui/frame/requests.h"
#include "ui/frame/ui_state.h"
#include "ui/widgets/theme.h"

namespace attoscope {

/// The session's file name without folder and ending, or "untitled".
std::string session_name(const SessionFiles& files);
/// Window title: a dot if unsaved, the session, the program.
std::string window_title(const SessionFiles& files);

/// Requests an action on the session's file. Opens the menu to type a path if one is needed and the desktop has no file dialog.
void ask_session(SessionRequest::Act act, const PanelInput& input, UiState& state, Requests& requests);

inline constexpr float session_button_width = 108;
/// A button with the session's name and the menu: new, open, save, recent files, the session as text.
void session_button(const PanelInput& input, UiState& state, Requests& requests);

/// Lines of the opened session that were not understood, until dismissed.
void draw_remarks(const PanelInput& input, Requests& requests);
/// True while the remarks are on screen.
bool shows_remarks(const PanelInput& input);

}  // namespace attoscope
