/// A path that is typed into a popup: selected at first, and what is wrong with it beside it.
#pragma once

#include "ui/widgets/theme.h"

namespace attoscope {

struct PanelInput;
struct PathPrompt;

/// What a prompt came to in this frame. done: its popup may close, because the file is open or Esc was pressed.
struct PromptOutcome {
  bool done = false, just_failed = false;
};
/// Brings the prompt up to date, before its field is drawn; `failed` tells whether what was asked for went wrong.
PromptOutcome prompt_outcome(PathPrompt& prompt, const PanelInput& input, bool failed);

/// True, once, where the prompt is wanted and its panel is in front: its popup is then to be opened.
bool is_due(PathPrompt& prompt);

/// The popup that follows opens under the item before.
void set_popup_place();

/// The field, `width` wide. True where Enter was pressed on a path. The keyboard is in it, with all of its text selected, where
/// `focus` is true.
bool path_field(const char* id, const char* hint, PathPrompt& prompt, float width, bool focus);

/// Why the file could not be opened, in lines of `width`; nothing where it was not tried or did not fail.
void path_error(const PathPrompt& prompt, const PanelInput& input, float width, const Palette& colours);

}  // namespace attoscope
