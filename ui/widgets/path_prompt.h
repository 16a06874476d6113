/// A text field for a path in a popup, with the error of the last try.
#pragma once

#include "ui/widgets/theme.h"

namespace attoscope {

struct PanelInput;
struct PathPrompt;

/// Outcome of a prompt in this frame. done: close the popup, as the file is open or Esc was pressed.
struct PromptOutcome {
  bool done = false, just_failed = false;
};
/// Updates the prompt, before its field is drawn; `failed`: the file could not be opened.
PromptOutcome prompt_outcome(PathPrompt& prompt, const PanelInput& input, bool failed);

/// True once, after the prompt's panel came to the front: open the popup then.
bool is_due(PathPrompt& prompt);

/// Places the next popup under the last item.
void set_popup_place();

/// The field, `width` wide; true if Enter was pressed on a path. `focus` gives it the keyboard and selects its text.
bool path_field(const char* id, const char* hint, PathPrompt& prompt, float width, bool focus);

/// Error of the last try, in lines of `width`; nothing if it did not fail.
void path_error(const PathPrompt& prompt, const PanelInput& input, float width);

}  // namespace attoscope
