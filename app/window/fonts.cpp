#include "app/window/fonts.h"

#include <fontconfig/fontconfig.h>

#include <memory>
#include <string>

#include "app/files/paths.h"

namespace attoscope::app {
namespace {

template <auto destroy>
struct With {
  template <class T>
  void operator()(T* handle) const {
    destroy(handle);
  }
};
using Config = std::unique_ptr<FcConfig, With<FcConfigDestroy>>;
using Pattern = std::unique_ptr<FcPattern, With<FcPatternDestroy>>;

std::string text_of(FcPattern* pattern, const char* key) {
  FcChar8* text = nullptr;
  if (FcPatternGetString(pattern, key, 0, &text) != FcResultMatch) return {};
  return reinterpret_cast<const char*>(text);
}

/// Font file of `family` in `weight`; "" unless exactly that family is installed, as face 0 of a file.
std::string find_font(FcConfig* config, const char* family, int weight, int slant = FC_SLANT_ROMAN) {
  const Pattern wanted(FcPatternCreate());
  FcPatternAddString(wanted.get(), FC_FAMILY, reinterpret_cast<const FcChar8*>(family));
  FcPatternAddInteger(wanted.get(), FC_WEIGHT, weight);
  FcPatternAddInteger(wanted.get(), FC_SLANT, slant);
  FcPatternAddInteger(wanted.get(), FC_WIDTH, FC_WIDTH_NORMAL);
  FcPatternAddBool(wanted.get(), FC_SCALABLE, FcTrue);
  FcPatternAddBool(wanted.get(), FC_VARIABLE, FcFalse);
  FcConfigSubstitute(config, wanted.get(), FcMatchPattern);
  FcDefaultSubstitute(wanted.get());
  FcResult result = FcResultNoMatch;
  const Pattern found(FcFontMatch(config, wanted.get(), &result));
  if (!found || text_of(found.get(), FC_FAMILY) != family) return {};
  int index = 0;
  FcPatternGetInteger(found.get(), FC_INDEX, 0, &index);
  return index == 0 ? text_of(found.get(), FC_FILE) : std::string();
}

/// Adds fonts shipped with the program; installed fonts have priority.
void add_shipped_fonts(FcConfig* config) {
  const std::string assets = assets_directory();
  if (assets.empty()) return;
  FcConfigAppFontAddDir(config, reinterpret_cast<const FcChar8*>((assets + "/fonts").c_str()));
}

}  // namespace

ui::FontFiles find_fonts() {
  const Config config(FcInitLoadConfigAndFonts());
  if (!config) return {};
  add_shipped_fonts(config.get());
  return {.sans = find_font(config.get(), "Inter", FC_WEIGHT_REGULAR),
          .sans_semibold = find_font(config.get(), "Inter", FC_WEIGHT_DEMIBOLD),
          .mono = find_font(config.get(), "JetBrains Mono", FC_WEIGHT_REGULAR),
          .math = find_font(config.get(), "DejaVu Sans", FC_WEIGHT_REGULAR),
          .sans_italic = find_font(config.get(), "Inter", FC_WEIGHT_REGULAR, FC_SLANT_ITALIC)};
}

FontFace find_font_with(const ui::MissingCharacters& characters) {
  const Config config(FcInitLoadConfigAndFonts());
  const std::unique_ptr<FcCharSet, With<FcCharSetDestroy>> wanted(FcCharSetCreate());
  for (const unsigned c : characters) FcCharSetAddChar(wanted.get(), c);
  const Pattern pattern(FcPatternCreate());
  FcPatternAddCharSet(pattern.get(), FC_CHARSET, wanted.get());
  FcPatternAddBool(pattern.get(), FC_SCALABLE, FcTrue);
  FcPatternAddBool(pattern.get(), FC_COLOR, FcFalse);
  FcPatternAddString(pattern.get(), FC_FAMILY, reinterpret_cast<const FcChar8*>("sans-serif"));
  FcConfigSubstitute(config.get(), pattern.get(), FcMatchPattern);
  FcDefaultSubstitute(pattern.get());
  FcResult result = FcResultNoMatch;
  const Pattern found(FcFontMatch(config.get(), pattern.get(), &result));
  FcCharSet* has = nullptr;
  if (!found || FcPatternGetCharSet(found.get(), FC_CHARSET, 0, &has) != FcResultMatch) return {};
  FontFace face{text_of(found.get(), FC_FILE)};
  for (const unsigned c : characters)
    if (FcCharSetHasChar(has, c)) face.has.insert(c);
  if (face.has.empty()) return {};
  FcPatternGetInteger(found.get(), FC_INDEX, 0, &face.index);
  face.index &= 0xffff;  // the upper bits are the instance of a variable font
  return face;
}

std::string missing_fonts(const ui::FontFiles& files) {
  std::string packages;
  if (files.sans.empty() || files.sans_semibold.empty()) packages += " fonts-inter";
  if (files.mono.empty()) packages += " fonts-jetbrains-mono";
  if (files.math.empty()) packages += " fonts-dejavu-core";
  return packages.empty()
             ? packages
             : "Some fonts are missing, so the text looks different; Debian and Ubuntu have them in" + packages + ".";
}

}  // namespace attoscope::app
