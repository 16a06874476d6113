// The numbers of a format along a line: about one number, and from the smallest to the largest.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "ui/learn/views/view_parts.h"
#include "ui/widgets/plot.h"
#include "ui/widgets/widgets.h"
#include "ui/words/numbers.h"

namespace attoscope::ui {

namespace {

constexpr float names = 64;  ///< width of the column of names

/// A line from `low` to `high` over [left, right].
struct Axis {
  double low, high;
  float left, right;
  float at(double value) const {
    const double t = std::clamp((value - low) / (high - low), -0.5, 1.5);
    return left + static_cast<float>(t) * (right - left);
  }
};

/// Draws x as a diamond in golden's colour.
void draw_diamond(ImDrawList* list, ImVec2 c, Colour colour) {
  const float r = px(5);
  list->AddQuadFilled({c.x, c.y - r}, {c.x + r, c.y}, {c.x, c.y + r}, {c.x - r, c.y}, colour);
}

/// A number of the format on the line: the stored one is a disc.
void draw_tick(const Axis& axis, float y, double value, bool stored) {
  ImDrawList* list = ImGui::GetWindowDrawList();
  const float x = axis.at(value);
  list->AddLine({x, y - px(7)}, {x, y + px(7)}, stored ? colours().text : colours().secondary, px(1.4f));
  if (stored) list->AddCircleFilled({x, y}, px(4), colours().text);
  const std::string text = in_full(value);
  const float half = text_width(Face::mono_small, text) / 2;
  draw_text({std::clamp(x, axis.left + half, std::max(axis.left + half, axis.right - half)), y + px(9)}, Face::mono_small,
            stored ? colours().text : colours().secondary, text, 0.5f);
}

void draw_between(const Rounded& n, double below, double above, ImVec2 at, float width) {
  ImDrawList* list = ImGui::GetWindowDrawList();
  const double span = above - below;
  const Axis axis{below - 0.14 * span, above + 0.14 * span, at.x, at.x + width};
  const float y = at.y + px(22);
  const double from = below + (n.stored - below) / 2, to = n.stored + (above - n.stored) / 2;
  list->AddRectFilled({axis.at(from), y - px(7)}, {axis.at(to), y + px(7)}, faded(colours().accent, 0.28f));
  list->AddLine({axis.left, y}, {axis.right, y}, colours().line, px(1.4f));
  for (const double value : {below, above}) draw_tick(axis, y, value, false);
  draw_tick(axis, y, n.stored, true);
  const float x = axis.at(n.x);
  list->AddLine({x, y - px(12)}, {x, y}, colours().golden, px(1.4f));
  draw_diamond(list, {x, y - px(14)}, colours().golden);
  draw_text({x + px(8), y - px(22)}, Face::mono_small, colours().golden, "x");
}

constexpr float bar_height = 14;

/// One format's bar: subnormals pale, normal numbers full.
void draw_bar(const Format& f, const Axis& axis, float top) {
  ImDrawList* list = ImGui::GetWindowDrawList();
  const float height = px(bar_height), left = axis.left, right = axis.right;
  const double low = std::log10(smallest_subnormal(f)), normal = std::log10(smallest_normal(f)), high = std::log10(largest(f));
  const auto x = [&](double v) { return std::clamp(axis.at(v), left, right); };
  list->AddRectFilled({x(low), top}, {x(normal), top + height}, mixed(colours().panel, colours().good, 0.3f));
  list->AddRectFilled({x(normal), top}, {x(high), top + height}, mixed(colours().panel, colours().good, 0.7f));
}

/// Writes the ends of the bar beside it, on a filled background.
void draw_ends(const Format& f, const Axis& axis, float top) {
  const auto write = [&](double end, const std::string& words, float side) {
    const float x = std::clamp(axis.at(std::log10(end)), axis.left, axis.right) + side * px(6);
    const float y = top + (px(bar_height) - line_height(Face::mono_small)) / 2, width = text_width(Face::mono_small, words);
    const float left = side < 0 ? x - width : x;
    ImGui::GetWindowDrawList()->AddRectFilled({left - px(2), y}, {left + width + px(2), y + line_height(Face::mono_small)},
                                              colours().panel);
    draw_text({left, y}, Face::mono_small, colours().secondary, words);
  };
  if (axis.at(std::log10(smallest_subnormal(f))) > axis.left)
    write(smallest_subnormal(f), scientific(smallest_subnormal(f), 2), -1);
  write(largest(f), compact(largest(f)), 1);
}

void draw_decades(const Axis& axis, float top, float bottom) {
  const double room = static_cast<double>((axis.right - axis.left) / px(64));
  for (const double e : round_ticks(axis.low, axis.high, std::min(room, axis.high - axis.low))) {
    const float x = std::floor(axis.at(e)) + 0.5f;
    ImGui::GetWindowDrawList()->AddLine({x, top}, {x, bottom}, faded(colours().line, 0.6f));
    const std::string text = fmt::format("1e{:.0f}", e);
    if (x + text_width(Face::mono_small, text) / 2 <= axis.right)
      draw_text({x, bottom + px(3)}, Face::mono_small, colours().faint, text, 0.5f);
  }
}

/// x among the formats: coral where it overflows or vanishes.
void draw_x(const Axis& axis, double magnitude, float top, float bottom) {
  const float x = axis.at(std::clamp(std::log10(magnitude), axis.low, axis.high));
  ImDrawList* list = ImGui::GetWindowDrawList();
  list->AddLine({x, top - px(4)}, {x, bottom}, colours().golden, px(1.4f));
  draw_diamond(list, {x, top - px(8)}, colours().golden);
  draw_text({x + px(8), top - px(15)}, Face::mono_small, colours().golden, "|x|");
}

Axis range_axis(std::span<const Format> formats, double magnitude, bool upper, float left, float right) {
  double low = std::numeric_limits<double>::infinity(), high = -low;
  for (const Format& f : formats) {
    low = std::min(low, upper ? 0 : std::log10(smallest_subnormal(f)));
    high = std::max(high, std::log10(largest(f)));
  }
  if (upper) {
    double nearest = high;
    for (const Format& f : formats) nearest = std::min(nearest, std::log10(largest(f)));
    high = std::max(nearest + 4, std::min(high, 10.0));
  }
  const bool seen = magnitude > 0 && std::isfinite(magnitude);
  if (seen) low = std::min(low, std::max(std::log10(magnitude), low - 0.1 * (high - low)));
  if (seen) high = std::max(high, std::min(std::log10(magnitude), high + 0.1 * (high - low)));
  const double margin = (high - low) * static_cast<double>(px(76) / (right - left - px(152)));
  return {low - (upper ? 0 : margin), high + margin, left, right};
}

}  // namespace

void draw_neighbours(const Rounded& n, float width) {
  const ImVec2 at = ImGui::GetCursorScreenPos();
  ImGui::InvisibleButton((std::string("neighbours ") + std::string(n.name)).c_str(), {width, px(48)});
  const double below = neighbour(n.format, n.stored, false), above = neighbour(n.format, n.stored, true);
  if (std::isfinite(n.stored) && std::isfinite(n.x) && std::isfinite(below) && std::isfinite(above) &&
      std::abs(n.x) <= largest(n.format)) {
    draw_between(n, below, above, {at.x + px(names), at.y}, width - px(names));
  } else {
    const std::string most = "The largest number is " + in_full(largest(n.format)) + "; the one before it is " +
                             in_full(neighbour(n.format, largest(n.format), false)) + ".";
    draw_text({at.x + px(names), at.y + px(16)}, Face::label, colours().secondary,
              fitted(Face::label, most, width - px(names)));
  }
  explain(
      "The stored number and its neighbours on either side. Everything in the band is rounded to the stored number; a point "
      "exactly halfway goes to the neighbour whose last bit is 0.",
      std::isfinite(n.stored) ? fmt::format("ulp = {:g}: 2^{}", ulp(n.format, n.stored), std::ilogb(ulp(n.format, n.stored)))
                              : std::string());
}

void draw_ranges(std::span<const Format> formats, double x, bool upper, float width) {
  const ImVec2 at = ImGui::GetCursorScreenPos();
  const float row = px(24), header = px(20), rows = row * static_cast<float>(formats.size());
  ImGui::InvisibleButton("range", {width, header + rows + px(20)});
  const Axis axis = range_axis(formats, std::abs(x), upper, at.x + px(names), at.x + width);
  const float top = at.y + header, bottom = top + rows;
  draw_decades(axis, top, bottom);
  const auto y_of = [&](std::size_t i) { return top + row * static_cast<float>(i) + px(5); };
  for (std::size_t i = 0; i < formats.size(); ++i) {
    draw_text({at.x, y_of(i) + (px(bar_height) - line_height(Face::mono)) / 2}, Face::mono, colours().text, name(formats[i]));
    draw_bar(formats[i], axis, y_of(i));
  }
  if (x != 0 && std::isfinite(x)) draw_x(axis, std::abs(x), top, bottom);
  for (std::size_t i = 0; i < formats.size(); ++i) draw_ends(formats[i], axis, y_of(i));
  explain(
      "From the smallest subnormal number (pale, where bits are lost one by one) over the normal numbers to the largest. Right "
      "of a bar "
      "x overflows; left of it, it becomes 0.",
      "2^(2 - 2^(E-1) - M)  ..  2^(2 - 2^(E-1))  ..  (2 - 2^-M) 2^(2^(E-1) - 1)");
}

}  // namespace attoscope::ui
