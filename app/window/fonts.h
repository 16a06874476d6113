/// Finds font files of this machine by fontconfig.
#pragma once

#include <string>

#include "ui/widgets/theme.h"

namespace attoscope::app {

/// Inter, JetBrains Mono and DejaVu Sans; empty if not installed.
ui::FontFiles find_fonts();

/// A face of a font file.
struct FontFace {
  std::string file;  ///< empty: none
  int index = 0;     ///< index of the face in the file
  ui::MissingCharacters has{};
};
/// The installed regular face that has most of these characters.
FontFace find_font_with(const ui::MissingCharacters& characters);

/// One sentence with the packages to install, or "" if no family is missing.
std::string missing_fonts(const ui::FontFiles& files);

}  // namespace attoscope::app
