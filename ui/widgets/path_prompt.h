/// Asking for a file: by the desktop's dialog, or by a path that is typed, completed or chosen among recent ones.
#pragma once

#include <optional>
#include <string_view>

#include "ui/frame/requests.h"

namespace attoscope::ui {

struct PanelInput;
struct PathPrompt;

/// The value that asks for a file by the desktop's dialog; true if there is none, and a popup must ask.
bool must_type(FileUse use, const PanelInput& input, Requests& requests);
/// The entries of a list that ask for a file, with their tooltip. True if the popup is to be opened.
bool file_entries(FileUse use, const PanelInput& input, Requests& requests, std::string_view what);

/// In a frame in which another program holds files over the window: fields can take them.
void hold_files();
/// Makes the last item a field that takes files which are let go over it, and marks it while they are there.
void takes_files(FileUse use);
/// The place of the field under files that are held over the window, after the panels were drawn; {}: none.
std::optional<FileUse> held_over();

/// Outcome of a prompt in this frame. done: close the popup, as the file is open or Esc was pressed.
struct PromptOutcome {
  bool done = false, just_failed = false;
};
/// Updates the prompt, before its field is drawn; `failed`: the file could not be opened.
PromptOutcome prompt_outcome(PathPrompt& prompt, const PanelInput& input, bool failed);

/// Use and texts of a popup that asks for a path: the line above its field, the field's tooltip, and the button's.
struct PathTexts {
  FileUse use;
  const char* above;
  std::string_view what, formula, button;
};
/// The popup `id` under the last item, if it is open; it opens if it is wanted and its panel came to the front. Requests the
/// file whose path is entered; an output becomes b if `as_b`.
void path_popup(const char* id, PathPrompt& prompt, const PanelInput& input, const PathTexts& texts, Requests& requests,
                bool as_b = false);

/// Places the next popup under the last item: a menu of the top bar, which scrolls where it is higher than the window between
/// the bars.
void set_menu_place();

/// The field, `width` wide; true if Enter was pressed on a path, which Tab completes. `focus` gives it the keyboard and selects
/// its text.
bool path_field(const char* id, const char* hint, PathPrompt& prompt, const PanelInput& input, float width, bool focus);

/// Below the field, `width` wide: how a path that is being typed may go on, the tensors of its file, and before anything is
/// typed the recent files. True if a file was clicked, whose path is then the typed one.
bool path_suggestions(PathPrompt& prompt, const PanelInput& input, FileUse use, float width, Requests& requests);

/// Error of the last try, in lines of `width`; nothing if it did not fail.
void path_error(const PathPrompt& prompt, const PanelInput& input, float width);

}  // namespace attoscope::ui
