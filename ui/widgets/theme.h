/// Colours, fonts and style. A colour has one meaning everywhere.
#pragma once

#include <array>
#include <set>
#include <string>

#include "ui/session/session.h"

struct ImFont;
struct ImVec4;

namespace attoscope::ui {

/// 0xRRGGBB in ImGui's packing.
constexpr Colour rgb(unsigned hex) { return 0xff000000u | (hex & 255u) << 16 | (hex & 0xff00u) | hex >> 16; }

/// A colour in the form of ImGui's styles, with its alpha multiplied.
ImVec4 vec(Colour c, float alpha = 1);

/// Contrast ratio of two opaque colours (WCAG 2.2), 1 to 21.
double contrast_ratio(Colour x, Colour y);
/// Black or white, whichever has more contrast on `ground`: at least 4.5.
Colour ink_on(Colour ground);

/// Colours of a theme by their role.
struct Palette {
  Theme theme;
  Colour background, panel, raised, line;
  Colour text, secondary, faint;
  Colour a, b, golden, moved, bad, good, accent;
  std::array<Colour, 6>
      others;  ///< of curves without a role: apart from a, b, golden and moved under each deficiency of colour vision
};
const Palette& palette(Theme theme);

/// Colours of the current ImGui context: the innermost `WithColours`, else the theme set by `apply_theme`, else dark.
const Palette& colours();

/// Replaces the colours of the current context within a scope.
class WithColours {
 public:
  explicit WithColours(const Palette& palette);
  ~WithColours();
  WithColours(WithColours&&) = delete;

 private:
  Palette palette_;
  void* before_;
};

/// Files of the font families; empty if the system has none (ImGui's embedded font is used then).
struct FontFiles {
  std::string sans, sans_semibold, mono, math, sans_italic;
};

/// Fonts, loaded once per context. Sizes are of the em and set when text is drawn (ImGui::PushFont(font, size::label)), in
/// pixels at UI scale 1, multiplied by ImGui.
struct Fonts {
  ImFont *sans = nullptr, *semibold = nullptr, *mono = nullptr, *italic = nullptr;
};
/// Loads the fonts into the current context's atlas (ImGui 1.92+: any size on demand).
void load_fonts(const FontFiles& files);

/// Fonts of the current context, set by `load_fonts`; null (the current font) before.
Fonts fonts();

/// Characters drawn although no font has them; the loaded fonts add to the set at the atlas's UserData, if not null.
using MissingCharacters = std::set<unsigned>;
/// Adds face `index` of the file as a fallback of all fonts of the current context. Call it between frames.
void add_fallback_font(const std::string& file, int index);

/// Line height of the sans face in ems; ImGui's sizes are of a line, the program's of the em.
inline constexpr float sans_line = 1.2102f;

/// Sizes in pixels at UI scale 1.
namespace size {
inline constexpr float body = 15, label = 13, headline = 19, section = 11, mono = 13;
}

/// Sets ImGui's and ImPlot's style for the theme and scale if they changed. ImGuiStyle::FontScaleMain becomes the product of
/// both scales and multiplies all lengths.
void apply_theme(Theme theme, double ui_scale, double dpi_scale = 1);

}  // namespace attoscope::ui
