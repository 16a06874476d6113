#include "ui/widgets/theme.h"

#include <algorithm>
#include <cmath>

#include "imgui.h"
#include "imgui_freetype.h"
#include "imgui_internal.h"  // ImFontLoader
#include "implot.h"

namespace attoscope::ui {
namespace {

constexpr Palette dark{.theme = Theme::dark,
                       .background = rgb(0x14171c),
                       .panel = rgb(0x1b1f26),
                       .raised = rgb(0x252b34),
                       .line = rgb(0x323a46),
                       .text = rgb(0xe6e9ee),
                       .secondary = rgb(0xa3acba),
                       .faint = rgb(0x8994a5),
                       .a = rgb(0xe69f00),
                       .b = rgb(0x56b4e9),
                       .golden = rgb(0xc9d1db),
                       .moved = rgb(0xcc79a7),
                       .bad = rgb(0xff6b57),
                       .good = rgb(0x2fbf8f),
                       .accent = rgb(0x8fa7c4),
                       .others = {rgb(0x8787ff), rgb(0xf0f078), rgb(0x3cffc3), rgb(0xa5e187), rgb(0xb4965a), rgb(0xf04b78)}};
constexpr Palette light_{.theme = Theme::light,
                         .background = rgb(0xeef0f3),
                         .panel = rgb(0xffffff),
                         .raised = rgb(0xe6e9ee),
                         .line = rgb(0xcfd5dd),
                         .text = rgb(0x1b2027),
                         .secondary = rgb(0x4a5462),
                         .faint = rgb(0x5c6675),
                         .a = rgb(0x945b00),
                         .b = rgb(0x0b68a8),
                         .golden = rgb(0x59636f),
                         .moved = rgb(0xa03f79),
                         .bad = rgb(0xc2301c),
                         .good = rgb(0x0a7553),
                         .accent = rgb(0x4f6b8f),
                         .others = {rgb(0x785ae1), rgb(0x780f00), rgb(0x1e4b2d), rgb(0x2d2d96), rgb(0xa5003c), rgb(0x4b2d69)}};
/// All colours have a contrast of at least 7:1 on their panel.
constexpr Palette contrast{
    .theme = Theme::high_contrast,
    .background = rgb(0x000000),
    .panel = rgb(0x000000),
    .raised = rgb(0x202020),
    .line = rgb(0x8c8c8c),
    .text = rgb(0xffffff),
    .secondary = rgb(0xe2e2e2),
    .faint = rgb(0xc2c2c2),
    .a = rgb(0xffb000),
    .b = rgb(0x6ac6ff),
    .golden = rgb(0xd6dbe2),
    .moved = rgb(0xff95d5),
    .bad = rgb(0xff8577),
    .good = rgb(0x3fe0a8),
    .accent = rgb(0xd2e2ff),
    .others = {rgb(0x9687ff), rgb(0xf0e178), rgb(0x69a569), rgb(0xb4f0a5), rgb(0xa5963c), rgb(0xf06996)}};

/// Ascender to descender in ems: ImGui's sizes are of the whole line, the program's of the em.
constexpr float jetbrains_line = 1.32f, dejavu_line = 1.1641f;

ImFontConfig font_config(float line) {
  ImFontConfig config;
  config.SizePixels = size::body;
  config.ExtraSizeScale = line;
  config.FontLoaderFlags = ImGuiFreeTypeLoaderFlags_LightHinting;
  return config;
}

/// True for characters that some font of the machine may have: from Greek on, except private-use codes and noncharacters.
bool is_findable(ImWchar c) { return c >= 0x370 && (c < 0xe000 || c > 0xf8ff) && c != 0xfffd && (c & 0xfffe) != 0xfffe; }

/// Font loader after all fonts of the atlas: has no glyphs, and records each character that no font has.
int note_missing(ImFontAtlas* atlas, ImFontConfig*, ImWchar character) {
  if (atlas->UserData != nullptr && is_findable(character)) static_cast<MissingCharacters*>(atlas->UserData)->insert(character);
  return 0;
}
bool load_nothing(ImFontAtlas*, ImFontConfig*, ImFontBaked*, void*, int, ImFontGlyph*, float*) { return false; }
const ImFontLoader& note_loader() {
  static const ImFontLoader loader = [] {
    ImFontLoader notes;
    notes.Name = "missing characters";
    notes.FontSrcGetGlyphIndexFromCodepoint = note_missing;
    notes.FontBakedLoadGlyph = load_nothing;
    return notes;
  }();
  return loader;
}

/// Adds a font, with mathematical signs from the file `math`.
ImFont* add_font(const std::string& file, float line, const std::string& math) {
  ImFontAtlas& atlas = *ImGui::GetIO().Fonts;
  ImFontConfig config = font_config(line);
  ImFontConfig embedded;
  embedded.SizePixels = size::body;
  ImFont* font = file.empty() ? atlas.AddFontDefaultVector(&embedded) : atlas.AddFontFromFileTTF(file.c_str(), 0, &config);
  if (!math.empty() && font != nullptr) {
    ImFontConfig behind = font_config(dejavu_line);
    behind.MergeMode = true;
    atlas.AddFontFromFileTTF(math.c_str(), 0, &behind);
  }
  if (font == nullptr) return font;
  ImFontConfig last = font_config(1);
  last.MergeMode = true;
  last.FontLoader = &note_loader();
  atlas.AddFont(&last);
  constexpr ImWchar box = 0x25a1;  // drawn for characters that no font of the machine has
  if (font->IsGlyphInFont(box)) font->FallbackChar = box;
  return font;
}

/// Colours of surfaces, text and lines.
void colour_surfaces(ImVec4* c, const Palette& p) {
  c[ImGuiCol_Text] = vec(p.text);
  c[ImGuiCol_TextDisabled] = vec(p.faint);
  c[ImGuiCol_WindowBg] = c[ImGuiCol_ChildBg] = c[ImGuiCol_MenuBarBg] = vec(p.panel);
  c[ImGuiCol_TitleBg] = c[ImGuiCol_TitleBgActive] = c[ImGuiCol_TitleBgCollapsed] = vec(p.panel);
  c[ImGuiCol_PopupBg] = vec(p.raised);
  c[ImGuiCol_DockingEmptyBg] = vec(p.background);
  c[ImGuiCol_Border] = c[ImGuiCol_Separator] = c[ImGuiCol_TreeLines] = vec(p.line);
  c[ImGuiCol_BorderShadow] = vec(p.line, 0);
  c[ImGuiCol_TableHeaderBg] = c[ImGuiCol_TableRowBg] = vec(p.panel, 0);
  c[ImGuiCol_TableRowBgAlt] = vec(p.raised, 0.4f);
  c[ImGuiCol_TableBorderStrong] = c[ImGuiCol_TableBorderLight] = vec(p.line);
  c[ImGuiCol_ScrollbarBg] = vec(p.panel, 0);
  c[ImGuiCol_ScrollbarGrab] = vec(p.line);
  c[ImGuiCol_ScrollbarGrabHovered] = c[ImGuiCol_ScrollbarGrabActive] = vec(p.faint);
  c[ImGuiCol_ModalWindowDimBg] = c[ImGuiCol_NavWindowingDimBg] = vec(dark.background, 0.5f);
}

/// Colours of controls, in the muted accent.
void colour_controls(ImVec4* c, const Palette& p) {
  c[ImGuiCol_FrameBg] = c[ImGuiCol_Button] = vec(p.raised);
  c[ImGuiCol_FrameBgHovered] = c[ImGuiCol_ButtonHovered] = p.theme == Theme::high_contrast ? vec(p.accent, 0.25f) : vec(p.line);
  c[ImGuiCol_FrameBgActive] = c[ImGuiCol_ButtonActive] = vec(p.accent, 0.45f);
  c[ImGuiCol_CheckboxSelectedBg] = vec(p.raised);
  c[ImGuiCol_CheckMark] = c[ImGuiCol_SliderGrab] = c[ImGuiCol_InputTextCursor] = vec(p.accent);
  c[ImGuiCol_SliderGrabActive] = c[ImGuiCol_TextLink] = c[ImGuiCol_NavCursor] = vec(p.accent);
  c[ImGuiCol_Header] = c[ImGuiCol_TextSelectedBg] = vec(p.accent, 0.30f);
  c[ImGuiCol_HeaderHovered] = vec(p.accent, 0.20f);
  c[ImGuiCol_HeaderActive] = vec(p.accent, 0.40f);
  c[ImGuiCol_SeparatorHovered] = c[ImGuiCol_SeparatorActive] = vec(p.accent);
  c[ImGuiCol_ResizeGrip] = vec(p.line, 0);
  c[ImGuiCol_ResizeGripHovered] = c[ImGuiCol_ResizeGripActive] = vec(p.accent);
  c[ImGuiCol_Tab] = c[ImGuiCol_TabSelected] = c[ImGuiCol_TabDimmed] = c[ImGuiCol_TabDimmedSelected] = vec(p.panel);
  c[ImGuiCol_TabHovered] = vec(p.raised);
  c[ImGuiCol_TabSelectedOverline] = c[ImGuiCol_TabDimmedSelectedOverline] = vec(p.accent);
  c[ImGuiCol_DockingPreview] = c[ImGuiCol_DragDropTargetBg] = vec(p.accent, 0.25f);
  c[ImGuiCol_DragDropTarget] = c[ImGuiCol_UnsavedMarker] = c[ImGuiCol_NavWindowingHighlight] = vec(p.accent);
}

/// Lengths at scale 1 that differ from ImGui's: an 8-pixel grid, small corners, no nested boxes.
void set_lengths(ImGuiStyle& s) {
  s.WindowPadding = {12, 8};
  s.FramePadding = {8, 4};
  s.ItemSpacing = {8, 8};
  s.ItemInnerSpacing = {8, 4};
  s.IndentSpacing = 16;
  s.ScrollbarSize = 10;
  s.WindowRounding = s.PopupRounding = 4;
  s.FrameRounding = s.TabRounding = s.SelectableRounding = s.MenuItemRounding = 3;
  s.GrabRounding = s.ScrollbarRounding = 8;
  s.WindowBorderSize = s.ChildBorderSize = 0;
  s.DockingSeparatorSize = 1;
  s.TabBarOverlineSize = 2;
  s.SeparatorTextPadding = {0, 4};
  s.SeparatorTextBorderSize = 1;
  s.HoverDelayNormal = 0.45f;
}

/// Style of the parts of plots that `begin_plot` shows: faint grid, no frame, no background.
void style_plots(const Palette& p, float scale) {
  ImPlotStyle& s = ImPlot::GetStyle();
  s = ImPlotStyle();
  s.PlotDefaultSize = {240 * scale, 160 * scale};
  s.PlotMinSize = {48 * scale, 32 * scale};
  s.PlotBorderSize = 0;
  s.MinorAlpha = 0.6f;  // ImPlot treats custom ticks as minor ticks
  s.PlotPadding = {0, 0};
  s.Colors[ImPlotCol_PlotBg] = vec(p.panel, 0);
  s.Colors[ImPlotCol_AxisText] = vec(p.secondary);
  s.Colors[ImPlotCol_AxisGrid] = vec(p.line);
}

/// True if the context's style already has the theme and scale; they are stored nowhere else.
bool is_applied(const Palette& p, float scale) {
  const ImGuiStyle& s = ImGui::GetStyle();
  return s.FontScaleMain == scale && ImGui::ColorConvertFloat4ToU32(s.Colors[ImGuiCol_WindowBg]) == p.panel &&
         ImGui::ColorConvertFloat4ToU32(s.Colors[ImGuiCol_CheckMark]) == p.accent;
}

/// Relative luminance (WCAG 2.2).
double luminance(Colour c) {
  const auto linear = [&](int shift) {
    const double x = (c >> shift & 255u) / 255.0;
    return x <= 0.04045 ? x / 12.92 : std::pow((x + 0.055) / 1.055, 2.4);
  };
  return 0.2126 * linear(0) + 0.7152 * linear(8) + 0.0722 * linear(16);
}

}  // namespace

double contrast_ratio(Colour x, Colour y) {
  const auto [darker, lighter] = std::minmax({luminance(x), luminance(y)});
  return (lighter + 0.05) / (darker + 0.05);
}

Colour ink_on(Colour ground) {
  constexpr Colour black = rgb(0x000000), white = rgb(0xffffff);
  return contrast_ratio(black, ground) >= contrast_ratio(white, ground) ? black : white;
}

ImVec4 vec(Colour c, float alpha) {
  ImVec4 v = ImGui::ColorConvertU32ToFloat4(c);
  v.w *= alpha;
  return v;
}

const Palette& palette(Theme theme) {
  constexpr EnumArray<Theme, const Palette*> palettes{&dark, &light_, &contrast};
  return *palettes[theme];
}

const Palette& colours() {
  const void* const of_context = ImGui::GetCurrentContext() == nullptr ? nullptr : ImGui::GetIO().UserData;
  return of_context == nullptr ? dark : *static_cast<const Palette*>(of_context);
}

WithColours::WithColours(const Palette& palette) : palette_(palette), before_(ImGui::GetIO().UserData) {
  ImGui::GetIO().UserData = &palette_;
}
WithColours::~WithColours() { ImGui::GetIO().UserData = before_; }

void load_fonts(const FontFiles& files) {
  ImGui::GetIO().Fonts->Clear();
  add_font(files.sans, sans_line, files.math);
  add_font(files.sans_semibold.empty() ? files.sans : files.sans_semibold, sans_line, files.math);
  add_font(files.mono, jetbrains_line, files.math);
  add_font(files.sans_italic.empty() ? files.sans : files.sans_italic, sans_line, files.math);
}

Fonts fonts() {
  const ImVector<ImFont*>& loaded = ImGui::GetIO().Fonts->Fonts;
  return loaded.Size < 4 ? Fonts{} : Fonts{loaded[0], loaded[1], loaded[2], loaded[3]};
}

void add_fallback_font(const std::string& file, int index) {
  for (ImFont* const font : ImGui::GetIO().Fonts->Fonts) {
    ImFontConfig behind = font_config(sans_line);
    behind.MergeMode = true;
    behind.DstFont = font;
    behind.FontNo = static_cast<ImU32>(index);
    ImGui::GetIO().Fonts->AddFontFromFileTTF(file.c_str(), 0, &behind);
  }
}

void apply_theme(Theme theme, double ui_scale, double dpi_scale) {
  const Palette& p = palette(theme);
  ImGui::GetIO().UserData = const_cast<Palette*>(&p);  // only read, by `colours`
  const float scale = static_cast<float>(ui_scale * dpi_scale);
  if (is_applied(p, scale)) return;
  ImGuiStyle style;
  set_lengths(style);
  style.FrameBorderSize = theme == Theme::high_contrast ? 1 : 0;
  style.ScaleAllSizes(scale);
  style.FontSizeBase = size::body;
  style.FontScaleMain = scale;
  colour_surfaces(style.Colors, p);
  colour_controls(style.Colors, p);
  ImGui::GetStyle() = style;
  if (ImPlot::GetCurrentContext() != nullptr) style_plots(p, scale);
}

}  // namespace attoscope::ui
