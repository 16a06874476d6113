/// Options of a popup, one per line: name at the left, field at the right.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <string_view>

#include "kernels/experiment/setting.h"
#include "ui/widgets/widgets.h"

namespace attoscope {

/// At UI scale 1, in pixels.
inline constexpr float option_name_width = 118, option_field_width = 196;

/// Name of an option at the left, with a dot if it differs from the default; places the cursor for its control at the right.
void begin_option(const char* name, bool differs);
/// A whole number with buttons that count; true if it changed.
bool whole_field(const char* id, int& value, int least, int most, float width = option_field_width);
/// A 64-bit whole number; true if it changed.
bool seed_field(const char* id, std::uint64_t& value, float width = option_field_width);
/// Looks of a setting's control, each for one kind.
struct SettingLook {
  double step = 0;                    ///< of the buttons beside a real number; 0: none
  const char* on = "";                ///< text of a switch
  std::span<const Choice> choices{};  ///< of an enumeration; empty: its names
  /// One sentence why an enumeration cannot have the value of this name; "": it can.
  std::function<std::string(std::string_view name)> why_not{};
};
/// Name of a setting, its control by its kind, and its tooltip. True if it changed.
bool edit_setting(const Setting& s, bool differs, const SettingLook& look = {});
/// A number; values out of range are ignored. True if it changed.
bool real_field(const char* id, double& value, const RealRange& range, double step, float width = option_field_width);

struct PanelInput;
struct PathPrompt;

/// Outcome of a prompt in this frame. done: close the popup, as the file is open or Esc was pressed.
struct PromptOutcome {
  bool done = false, just_failed = false;
};
/// Updates the prompt, before its field is drawn; `failed`: the file could not be opened.
PromptOutcome prompt_outcome(PathPrompt& prompt, const PanelInput& input, bool failed);

/// Texts of a popup that asks for a path: the line above its field, the field's tooltip, and the button's.
struct PathTexts {
  const char* above;
  std::string_view what, formula, button;
};
/// The popup `id`, if it is open. True once the path that was typed is to be opened; `below`: drawn under the field.
bool path_popup(const char* id, PathPrompt& prompt, const PanelInput& input, const PathTexts& texts,
                const std::function<void()>& below = {});

/// True once, after the prompt's panel came to the front: open the popup then.
bool is_due(PathPrompt& prompt);

/// Places the next popup under the last item.
void set_popup_place();

/// The field, `width` wide; true if Enter was pressed on a path. `focus` gives it the keyboard and selects its text.
bool path_field(const char* id, const char* hint, PathPrompt& prompt, float width, bool focus);

/// Error of the last try, in lines of `width`; nothing if it did not fail.
void path_error(const PathPrompt& prompt, const PanelInput& input, float width);

}  // namespace attoscope
