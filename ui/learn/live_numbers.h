/// Live numbers of a lesson's text: computed values in the notation of the lesson.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "ui/frame/lesson.h"

namespace attoscope {

/// The value with as many digits as `written` has, in its notation, with its sign and unit: "1.62e-3", "+0.25", "3.0×", "12 %",
/// "1.5 MB" (of a value in bytes).
std::string live_text(std::string_view written, double value);

}  // namespace attoscope
