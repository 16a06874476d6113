/// Colours, fonts and style. One colour means one thing everywhere.
#pragma once

#include <string>

#include "ui/session/session.h"

struct ImFont;

namespace attoscope {

/// The roles of colours, for one theme.
struct Palette {
  Colour background, panel, raised, line;
  Colour text, secondary, faint;
  Colour a, b, golden, moved, bad, good, accent;
};
const Palette& palette(Theme theme);

/// Files of the families; empty where the system has none (ImGui's embedded font then stands in).
struct FontFiles {
  std::string sans, sans_semibold, mono, math, sans_italic;
};

/// Fonts, made once per context. Sizes are those of the em, set where text is drawn (ImGui::PushFont(font, size::label)):
/// pixels at UI scale 1, which ImGui multiplies by the scale.
struct Fonts {
  ImFont *sans = nullptr, *semibold = nullptr, *mono = nullptr, *italic = nullptr;
};
/// Loads the fonts into the current context's atlas (ImGui 1.92+: any size on demand).
Fonts load_fonts(const FontFiles& files);

/// The fonts of the current context, set by `load_fonts`; null (the font in use) where it was not called.
Fonts fonts();

/// Sizes in pixels at UI scale 1.
/// ImGui's sizes are those of a line, ours those of the em: a line of the sans face, in ems.
inline constexpr float sans_line = 1.2102f;

namespace size {
inline constexpr float body = 15, label = 13, headline = 19, section = 11, mono = 13;
}

/// Sets ImGui's and ImPlot's style for the theme and scale, when they changed. Their product is
/// ImGuiStyle::FontScaleMain, by which every length of the drawing is multiplied.
void apply_theme(Theme theme, double ui_scale, double dpi_scale = 1);

}  // namespace attoscope
