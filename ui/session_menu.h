/// Session files in the window: their names, the menu, and what was not understood of one.
#pragma once

#include <string>

#include "ui/memory.h"
#include "ui/theme.h"
#include "ui/ui.h"

namespace attoscope {

/// What is open, in a word: its file without folder and ending, or "untitled".
std::string session_name(const SessionFiles& files);
/// What the desktop writes over the window: a dot where something is unsaved, the session, the program.
std::string window_title(const SessionFiles& files);

/// Wishes for what is to be done with the session's file. Where a file must be named and no desktop can ask for it, the menu
/// opens for one to be typed.
void ask_session(SessionWish::Act act, const Frame& frame, UiMemory& memory, Wishes& wishes);

inline constexpr float session_button_width = 108;
/// A button that shows what is open, with the menu: new, open, save, recent files, the session as text.
void session_button(const Frame& frame, UiMemory& memory, const Palette& colours, Wishes& wishes);

/// What was not understood of the session that was opened, line by line, until it is read.
void draw_remarks(const Frame& frame, const Palette& colours, Wishes& wishes);
/// True if that list is on screen.
bool shows_remarks(const Frame& frame);

}  // namespace attoscope
