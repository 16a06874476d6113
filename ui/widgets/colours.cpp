#include "ui/widgets/colours.h"

#include <algorithm>
#include <cmath>
#include <span>

namespace attoscope::ui {
namespace {

/// Lightness and two opponent axes (Ottosson 2020, "A perceptual color space for image processing").
struct OkLab {
  float l, a, b;
};

struct Linear {
  float r, g, b;
};

constexpr float channel(Colour c, int shift) { return static_cast<float>((c >> shift) & 255u) / 255.0f; }

float to_linear(float x) { return x <= 0.04045f ? x / 12.92f : std::pow((x + 0.055f) / 1.055f, 2.4f); }

Colour to_byte(float x) {
  const float y = x <= 0.0031308f ? 12.92f * x : 1.055f * std::pow(x, 1 / 2.4f) - 0.055f;
  return static_cast<Colour>(std::lround(255 * std::clamp(y, 0.0f, 1.0f)));
}

OkLab to_oklab(Colour c) {
  const Linear x{to_linear(channel(c, 0)), to_linear(channel(c, 8)), to_linear(channel(c, 16))};
  const float l = std::cbrt(0.4122214708f * x.r + 0.5363325363f * x.g + 0.0514459929f * x.b);
  const float m = std::cbrt(0.2119034982f * x.r + 0.6806995451f * x.g + 0.1073969566f * x.b);
  const float s = std::cbrt(0.0883024619f * x.r + 0.2817188376f * x.g + 0.6299787005f * x.b);
  return {0.2104542553f * l + 0.7936177850f * m - 0.0040720468f * s, 1.9779984951f * l - 2.4285922050f * m + 0.4505937099f * s,
          0.0259040371f * l + 0.7827717662f * m - 0.8086757660f * s};
}

Colour to_colour(const OkLab& c) {
  const float l = std::pow(c.l + 0.3963377774f * c.a + 0.2158037573f * c.b, 3.0f);
  const float m = std::pow(c.l - 0.1055613458f * c.a - 0.0638541728f * c.b, 3.0f);
  const float s = std::pow(c.l - 0.0894841775f * c.a - 1.2914855480f * c.b, 3.0f);
  const Colour r = to_byte(4.0767416621f * l - 3.3077115913f * m + 0.2309699292f * s);
  const Colour g = to_byte(-1.2684380046f * l + 2.6097574011f * m - 0.3413193965f * s);
  const Colour b = to_byte(-0.0041960863f * l - 0.7034186147f * m + 1.7076147010f * s);
  return 0xff000000u | b << 16 | g << 8 | r;
}

/// `from` at t = 0, `to` at t = 1, on a straight line in OKLab.
Colour mixed_in_oklab(Colour from, Colour to, float t) {
  if (t <= 0) return from;
  if (t >= 1) return to;
  const OkLab x = to_oklab(from), y = to_oklab(to);
  return to_colour({std::lerp(x.l, y.l, t), std::lerp(x.a, y.a, t), std::lerp(x.b, y.b, t)});
}

template <std::size_t N>
constexpr std::array<Colour, N> packed(const std::array<std::uint32_t, N>& hex) {
  std::array<Colour, N> colours{};
  for (std::size_t i = 0; i < N; ++i) colours[i] = rgb(hex[i]);
  return colours;
}

/// Signed values: negative green, zero the panel's background, positive violet. No method has these colours; they differ under
/// every colour-vision deficiency.
constexpr std::array diverging_dark{rgb(0xd8f8dc), rgb(0x4cb663), rgb(0x155a2b), rgb(0x0f1216),
                                    rgb(0x642d80), rgb(0xbd7ce0), rgb(0xf4eafb)};
constexpr std::array diverging_light = packed(light_diverging);
constexpr std::array diverging_contrast{rgb(0xddffdd), rgb(0x40d85a), rgb(0x0b8023), rgb(0x000000),
                                        rgb(0x8a2fae), rgb(0xd98bff), rgb(0xf9ecff)};
/// Magnitudes: zero is the panel's background.
constexpr std::array ramp_dark{rgb(0x0f1216), rgb(0x32255e), rgb(0x2b5687), rgb(0x238c8a), rgb(0x6fc276), rgb(0xf3f4cc)};
constexpr std::array ramp_light = packed(light_ramp);
constexpr std::array ramp_contrast{rgb(0x000000), rgb(0x41298a), rgb(0x2a6fb8), rgb(0x22a9a0), rgb(0x8fdc7a), rgb(0xffffd8)};

/// Both maps of a theme and its marker colours.
struct Maps {
  std::span<const Colour> diverging, ramp;
  Colour nan, plus_infinity, minus_infinity;
};
Maps maps(Theme theme) {
  switch (theme) {
    case Theme::light:
      return {diverging_light, ramp_light, palette(theme).bad, rgb(0xf0b400), rgb(0x2f3cff)};
    case Theme::high_contrast:
      return {diverging_contrast, ramp_contrast, rgb(0xff4040), rgb(0xffff00), rgb(0x3f7bff)};
    case Theme::dark:
      break;
  }
  return {diverging_dark, ramp_dark, palette(theme).bad, rgb(0xffd800), rgb(0x5468ff)};
}

/// Colour of a map at t = 0 .. 1.
Colour map_colour(std::span<const Colour> anchors, float t) {
  const float place = t * static_cast<float>(anchors.size() - 1);
  const std::size_t i = std::min(static_cast<std::size_t>(place), anchors.size() - 2);
  return mixed_in_oklab(anchors[i], anchors[i + 1], place - static_cast<float>(i));
}

/// Colour of a table entry.
Colour entry_colour(int index, bool diverging, Theme theme) {
  const Maps m = maps(theme);
  switch (index) {
    case entry::nan:
      return m.nan;
    case entry::plus_infinity:
      return m.plus_infinity;
    case entry::minus_infinity:
      return m.minus_infinity;
    case entry::nothing:
      return palette(theme).panel;
    case entry::hatch:
      return mixed_in_oklab(palette(theme).panel, palette(theme).text, 0.3f);
    default:
      return map_colour(diverging ? m.diverging : m.ramp, static_cast<float>(index) / (entry::map_size - 1));
  }
}

/// Maps -range .. range to -1 .. 1.
float signed_share(float value, const Mapping& m) {
  const float v = std::clamp(m.diverging ? value : std::fabs(value), -m.range, m.range);
  return std::clamp((m.log ? std::asinh(v * m.inverse_knee) : v) * m.factor, -1.0f, 1.0f);
}

}  // namespace

ColourTable colour_table(bool diverging, Theme theme) {
  ColourTable table;
  for (int i = 0; i < entry::count; ++i) table[i] = entry_colour(i, diverging, theme);
  return table;
}

Mapping mapping(const Colouring& c) {
  Mapping m{};
  m.log = c.log;
  m.diverging = c.diverging;
  m.range = c.range > 1e-30f && c.range < 1e30f ? c.range : (c.range > 1 ? 1e30f : 1e-30f);
  const float knee = std::clamp(c.knee > 0 ? c.knee : 0.0f, m.range * 1e-7f, m.range * 1e3f);
  m.inverse_knee = 1 / knee;
  m.factor = c.log ? 1 / std::asinh(m.range * m.inverse_knee) : 1 / m.range;
  m.centre = c.diverging ? (entry::map_size - 1) / 2 : 0;
  m.reach = c.diverging ? (entry::map_size - 1) / 2 : entry::map_size - 1;
  return m;
}

int colour_entry(float value, const Mapping& m) {
  if (std::isnan(value)) return entry::nan;
  if (std::isinf(value)) return value > 0 ? entry::plus_infinity : entry::minus_infinity;
  if (value == PixelImage::nothing) return entry::nothing;
  if (value == PixelImage::masked) return entry::hatch;
  return static_cast<int>(m.centre + m.reach * signed_share(value, m) + 0.5f);
}

Colour colour(float value, const Colouring& c) { return entry_colour(colour_entry(value, mapping(c)), c.diverging, c.theme); }

float bar_position(float value, const Mapping& m) {
  return (m.centre + m.reach * signed_share(value, m)) / (entry::map_size - 1);
}

float bar_position(float value, const Colouring& c) { return bar_position(value, mapping(c)); }

float bar_value(float position, const Colouring& c) {
  const Mapping m = mapping(c);
  const float share = (position * (entry::map_size - 1) - m.centre) / m.reach;
  return c.log ? std::sinh(share / m.factor) / m.inverse_knee : share / m.factor;
}

}  // namespace attoscope::ui
