/// Choosing a file: in the desktop's dialog, or by a path that is typed, completed or recent.
#pragma once

#include <optional>
#include <string_view>

#include "ui/frame/requests.h"

namespace attoscope::ui {

struct PanelInput;
struct PathPrompt;

/// Requests the desktop's file dialog. True if the desktop has none; the caller then opens a popup.
bool must_type(FileUse use, const PanelInput& input, Requests& requests);
/// Draws the list entries that choose a file, with the tooltip `what`. True if the caller must open the popup.
bool file_entries(FileUse use, const PanelInput& input, Requests& requests, std::string_view what);

/// Begins the drag of files held over the window by another program; fields can then accept them. Call it in each such frame.
void hold_files();
/// Makes the last item accept dropped files, and highlights it while files are over it.
void takes_files(FileUse use);
/// The use of the field under the held files; {}: none. Call it after the panels are drawn.
std::optional<FileUse> held_over();

/// Outcome of a prompt in this frame. done: close the popup; the file is open, or Esc was pressed.
struct PromptOutcome {
  bool done = false, just_failed = false;
};
/// Updates the prompt. Call it before drawing the field. `failed`: the file could not be opened.
PromptOutcome prompt_outcome(PathPrompt& prompt, const PanelInput& input, bool failed);

/// Use and texts of a path popup: the line above its field, the tooltips of the field and of the button.
struct PathTexts {
  FileUse use;
  const char* above;
  std::string_view what, formula, button;
};
/// Draws the popup `id` under the last item if it is open; opens it if it is wanted and its panel has the focus. Requests the
/// entered file; an output becomes b if `as_b`.
void path_popup(const char* id, PathPrompt& prompt, const PanelInput& input, const PathTexts& texts, Requests& requests,
                bool as_b = false);

/// Places the next popup, a menu of the top bar, under the last item; it scrolls if it is higher than the window between the
/// bars.
void set_menu_place();

/// The field, `width` wide; true if Enter was pressed on a path. Tab completes the path. `focus` gives the field the keyboard
/// and selects its text.
bool path_field(const char* id, const char* hint, PathPrompt& prompt, const PanelInput& input, float width, bool focus);

/// Draws below the field, `width` wide: completions of the typed path, the tensors of its file, and the recent files if nothing
/// is typed. True if a file was clicked; its path is then in the prompt.
bool path_suggestions(PathPrompt& prompt, const PanelInput& input, FileUse use, float width, Requests& requests);

}  // namespace attoscope::ui
