/// Options of a popup, one per line: name at the left, field at the right.
#pragma once

#include <cstdint>

#include "kernels/experiment/experiment_fields.h"
#include "ui/widgets/theme.h"

namespace attoscope {

/// At UI scale 1, in pixels.
inline constexpr float option_name_width = 118, option_field_width = 196;

/// Name of an option at the left, with a dot if it differs from the default; places the cursor for its control at the right.
void begin_option(const char* name, bool differs, const Palette& colours);
/// A whole number with buttons that count; true if it changed.
bool whole_field(const char* id, int& value, int least, int most, float width = option_field_width);
/// A 64-bit whole number; true if it changed.
bool seed_field(const char* id, std::uint64_t& value, float width = option_field_width);
/// A number; values out of range are ignored. True if it changed.
bool real_field(const char* id, double& value, const RealRange& range, double step, float width = option_field_width);

}  // namespace attoscope
