/// Font files of this machine, by fontconfig.
#pragma once

#include <string>

#include "ui/widgets/theme.h"

namespace attoscope {

/// Inter, JetBrains Mono and DejaVu Sans; empty if not installed.
FontFiles find_fonts();

/// One sentence with the packages to install, or "" if no family is missing.
std::string missing_fonts(const FontFiles& files);

}  // namespace attoscope
