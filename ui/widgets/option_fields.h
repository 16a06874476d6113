/// Options of a popup, one a line: a name at the left, a field at the right.
#pragma once

#include <cstdint>

#include "kernels/experiment/experiment_fields.h"
#include "ui/widgets/theme.h"

namespace attoscope {

/// At UI scale 1, in pixels.
inline constexpr float option_name_width = 118, option_field_width = 196;

/// The name of an option at the left, with a dot where it differs from the default; the control that follows stands at the
/// right.
void begin_option(const char* name, bool differs, const Palette& colours);
/// A whole number with buttons that count; true if it changed.
bool whole_field(const char* id, int& value, int least, int most, float width = option_field_width);
/// Any number of 64 bits; true if it changed.
bool seed_field(const char* id, std::uint64_t& value, float width = option_field_width);
/// A number. Those out of range are not taken. True if it changed.
bool real_field(const char* id, double& value, const RealRange& range, double step, float width = option_field_width);

}  // namespace attoscope
