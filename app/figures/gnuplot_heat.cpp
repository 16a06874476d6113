// Heat maps in gnuplot scripts: coloured cells, colour bar, names of markers.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <span>

#include "app/figures/gnuplot_text.h"
#include "ui/frame/pixel_image.h"

namespace attoscope::app {
namespace {

/// Ratio of the range to the size below which the log scale is linear.
double range_over_knee(const ui::FigureHeat& h) { return h.knee > 0 ? h.range / h.knee : 300; }

/// Maps -range .. range to -1 .. 1.
double shown(double value, const ui::FigureHeat& h) {
  const double share = std::clamp(value / h.range, -1.0, 1.0);
  return h.log ? std::asinh(share * range_over_knee(h)) / std::asinh(range_over_knee(h)) : share;
}

std::uint32_t mixed(std::uint32_t from, std::uint32_t to, double t) {
  std::uint32_t colour = 0;
  for (const int shift : {16, 8, 0}) {
    const double x = from >> shift & 255U, y = to >> shift & 255U;
    colour |= static_cast<std::uint32_t>(std::lround(x + (y - x) * t)) << shift;
  }
  return colour;
}

/// The map's colour at t = 0 .. 1.
std::uint32_t map_colour(const ui::FigureHeat& h, double t) {
  std::span<const std::uint32_t> map = h.colours.map;
  if (map.size() < 2)
    map = h.diverging ? std::span<const std::uint32_t>(ui::light_diverging) : std::span<const std::uint32_t>(ui::light_ramp);
  const double place = t * static_cast<double>(map.size() - 1);
  const std::size_t i = std::min(static_cast<std::size_t>(place), map.size() - 2);
  return mixed(map[i], map[i + 1], place - static_cast<double>(i));
}

std::uint32_t cell_colour(float value, const ui::FigureHeat& h) {
  if (std::isnan(value)) return h.colours.nan;
  if (std::isinf(value)) return value > 0 ? h.colours.plus_infinity : h.colours.minus_infinity;
  if (value == ui::FigureHeat::nothing || value == ui::FigureHeat::masked) return h.colours.nothing;
  const double at = shown(h.diverging ? static_cast<double>(value) : std::fabs(static_cast<double>(value)), h);
  return map_colour(h, h.diverging ? (at + 1) / 2 : at);
}

/// A marker: its name, its colour, and true if it occurs in the map.
struct Marker {
  const char* name;
  std::uint32_t colour;
  bool seen;
};
std::array<Marker, 3> markers(const ui::FigureHeat& h) {
  constexpr float infinity = std::numeric_limits<float>::infinity();
  const auto any = [&](auto is) { return std::ranges::any_of(h.values, is); };
  return {{{"NaN", h.colours.nan, any([](float v) { return std::isnan(v); })},
           {"+infinity", h.colours.plus_infinity, any([](float v) { return v == infinity; })},
           {"-infinity", h.colours.minus_infinity, any([](float v) { return v == -infinity; })}}};
}

bool has_masked(const ui::FigureHeat& h) { return std::ranges::find(h.values, ui::FigureHeat::masked) != h.values.end(); }

/// Hatch of masked cells: segments of slanted lines as text lines "x y dx dy".
std::string hatch_lines(const ui::FigureHeat& h) {
  constexpr int lines = 96, steps = 1536;  ///< lines that begin on the panel's upper and right edge; samples of each
  std::string text;
  const auto is_masked = [&](double across, double down) {
    if (across < 0 || across >= 1 || down >= 1) return false;
    const auto x = static_cast<std::ptrdiff_t>(across * h.width), y = static_cast<std::ptrdiff_t>(down * h.height);
    return h.values[static_cast<std::size_t>(y * h.width + x)] == ui::FigureHeat::masked;
  };
  for (int line = 1; line < lines; ++line) {
    const double right = 2.0 * line / lines;
    int first = -1;
    for (int i = 0; i <= steps; ++i) {
      const double down = static_cast<double>(i) / steps;
      const bool is_on = i < steps && is_masked(right - down, down);
      if (is_on && first < 0) first = i;
      if (is_on || first < 0) continue;
      const double from = static_cast<double>(first) / steps, length = down - from;
      text += fmt::format("{:.6g} {:.6g} {:.6g} {:.6g}\n", h.x0 + (right - from) * (h.x1 - h.x0), h.y0 + from * (h.y1 - h.y0),
                          -length * (h.x1 - h.x0), length * (h.y1 - h.y0));
      first = -1;
    }
  }
  return text;
}

/// The map as a gnuplot palette, with enough colours that gnuplot's interpolation is invisible.
std::string palette_words(const ui::FigureHeat& h) {
  constexpr int colours = 65;
  std::string text;
  for (int i = 0; i < colours; ++i) {
    const double t = i / (colours - 1.0);
    text += fmt::format("{}{:.5g} {}", i == 0 ? "" : ", ", h.diverging ? 2 * t - 1 : t, gnuplot_colour(map_colour(h, t)));
  }
  return text;
}

/// Ticks of the colour bar: decades of the range if logarithmic, else halves; without those too near to 0 for their numbers.
std::string bar_ticks(const ui::FigureHeat& h) {
  constexpr double least_apart = 0.1;
  std::string text;
  for (const double share : {-1.0, h.log ? -0.1 : -0.5, h.log ? -0.01 : 0.0, 0.0, h.log ? 0.01 : 0.0, h.log ? 0.1 : 0.5, 1.0}) {
    if ((!h.diverging && share < 0) || (share == 0 && text.ends_with(" 0"))) continue;
    const double at = shown(share * h.range, h);
    if (share != 0 && std::fabs(at) < least_apart) continue;
    std::string name = fmt::format("{:.3g}", share * h.range);
    if (const std::size_t e = name.find('e'); e != std::string::npos && name[e + 2] == '0') name.erase(e + 2, 1);
    text += fmt::format("{}{} {}", text.empty() ? "" : ", ", gnuplot_literal(name), gnuplot_number(at));
  }
  return text;
}

}  // namespace

std::string heat_block(const std::string& name, const ui::FigureHeat& h) {
  std::string text = name + " << EOD\n";
  for (int y = 0; y < h.height; ++y) {
    const auto row = h.values.begin() + static_cast<std::ptrdiff_t>(y) * h.width;
    for (int x = 0; x < h.width; ++x) text.append(x == 0 ? "" : " ").append(std::to_string(cell_colour(row[x], h)));
    text += '\n';
  }
  text += "EOD\n";
  return has_masked(h) ? text + name + "m << EOD\n" + hatch_lines(h) + "EOD\n" : text;
}

std::string heat_settings(const ui::FigureHeat& h, const std::string& label) {
  std::string text = fmt::format("set xrange [{}:{}]\nset yrange [{}:{}]\nunset grid\nset border 15\n", gnuplot_number(h.x0),
                                 gnuplot_number(h.x1), gnuplot_number(h.y1), gnuplot_number(h.y0));
  if (h.two_valued) return text + "unset colorbox\n";
  // gnuplot leaves too little room between the bar's numbers and its label
  text += fmt::format("set palette defined ({})\nset cbrange [{}:1]\nset cblabel {} noenhanced offset 1,0\nset rmargin 11\n",
                      palette_words(h), h.diverging ? -1 : 0, label);
  return text + "set colorbox\nset cbtics (" + bar_ticks(h) + ") noenhanced\n";
}

std::string heat_plot(const std::string& name, const ui::FigureHeat& h) {
  const double right = (h.x1 - h.x0) / h.width, down = (h.y1 - h.y0) / h.height;
  std::string text = fmt::format(
      "{} matrix using ({}+($1+0.5)*{}):({}+($2+0.5)*{}):(int($3)>>16&255):(int($3)>>8&255):(int($3)&255) with rgbimage "
      "notitle",
      name, gnuplot_number(h.x0), gnuplot_number(right), gnuplot_number(h.y0), gnuplot_number(down));
  if (!h.two_valued) text += ", \\\n  NaN with lines lc palette notitle";
  if (has_masked(h))
    text += fmt::format(", \\\n  {}m using 1:2:3:4 with vectors nohead lw 0.6 lc rgb {} title 'masked'", name,
                        gnuplot_colour(h.colours.hatch));
  for (const Marker& m : markers(h))
    if (m.seen)
      text += fmt::format(", \\\n  NaN with points pt 5 ps 1 lc rgb {} title {}", gnuplot_colour(m.colour),
                          gnuplot_literal(m.name));
  return text;
}

bool has_markers(const ui::FigureHeat& h) {
  return has_masked(h) || std::ranges::any_of(markers(h), [](const Marker& m) { return m.seen; });
}

}  // namespace attoscope::app
