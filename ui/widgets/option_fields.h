/// Options of a popup, one per line: name at the left, field at the right.
#pragma once

#include <functional>
#include <span>
#include <string>
#include <string_view>

#include "kernels/experiment/setting.h"
#include "ui/widgets/widgets.h"

namespace attoscope::ui {

/// At UI scale 1, in pixels.
inline constexpr float option_name_width = 118, option_field_width = 196;

/// Name of an option at the left, with a dot if it differs from the default; places the cursor for its control at the right.
void begin_option(const char* name, bool differs);
/// A whole number with buttons that add or subtract; true if it changed.
bool whole_field(const char* id, int& value, int least, int most, float width = option_field_width);
/// Appearance of a setting's control; each member applies to one kind of setting.
struct SettingLook {
  double step = 0;                    ///< step of the buttons of a real number; 0: no buttons
  const char* on = "";                ///< text of a switch
  std::span<const Choice> choices{};  ///< choices of an enumeration; empty: its names
  /// One sentence why the enumeration's value with this name cannot be chosen; "": it can.
  std::function<std::string(std::string_view name)> why_not{};
};
/// Draws a setting's name, the control for its kind, and its tooltip.
void edit_setting(const Setting& s, bool differs, const SettingLook& look = {});
/// A number; values out of range are ignored. True if it changed.
bool real_field(const char* id, double& value, const RealRange& range, double step, float width = option_field_width);

}  // namespace attoscope::ui
