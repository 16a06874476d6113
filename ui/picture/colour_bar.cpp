#include "ui/picture/colour_bar.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "ui/widgets/colours.h"
#include "ui/widgets/widgets.h"
#include "ui/words/numbers.h"

namespace attoscope {

namespace {

/// Values to label, the most important first; drawing skips those too close to an earlier one.
std::vector<double> tick_values(const Colouring& c) {
  std::vector<double> ticks{c.range};
  const auto both = [&](double x) {
    ticks.push_back(x);
    if (c.diverging) ticks.push_back(-x);
  };
  if (c.diverging) ticks.push_back(-c.range);
  ticks.push_back(0);
  if (!c.log) {
    for (const double t : {0.5, 0.25, 0.75}) both(t * c.range);
    return ticks;
  }
  const int top = static_cast<int>(std::floor(std::log10(static_cast<double>(c.range)) - 1e-9));
  for (int e = top; e > top - 3; --e) both(std::pow(10.0, e));
  return ticks;
}

struct Marker {
  bool present;
  float value;
  const char* name;
};

}  // namespace

void draw_colour_bar(const Box& box, const Colouring& c, const CellPicture& state) {
  constexpr float inf = std::numeric_limits<float>::infinity();
  const Marker markers[] = {{state.has_nan, std::numeric_limits<float>::quiet_NaN(), "NaN"},
                            {state.has_infinity, inf, "+inf"},
                            {state.has_minus_infinity, -inf, "-inf"}};
  ImDrawList* list = ImGui::GetWindowDrawList();
  const float line = line_height(Face::mono_small), width = box.max.x - box.min.x;
  float bottom = box.max.y;
  for (const Marker& m : markers) {
    if (!m.present) continue;
    const float top = bottom - width;
    list->AddRectFilled({box.min.x, top}, {box.max.x, bottom}, colour(m.value, c));
    draw_text({box.max.x + px(8), top + (width - line) / 2}, Face::mono_small, colours().text, m.name);
    bottom = top - px(6);
  }
  const float height = bottom - box.min.y;
  if (height < px(40)) return;
  constexpr int parts = 96;
  Colour above = colour(c.range, c);
  for (int i = 0; i < parts; ++i) {
    const Colour below = colour(bar_value(1 - static_cast<float>(i + 1) / parts, c), c);
    list->AddRectFilledMultiColor({box.min.x, box.min.y + height * static_cast<float>(i) / parts},
                                  {box.max.x, box.min.y + height * static_cast<float>(i + 1) / parts}, above, above, below,
                                  below);
    above = below;
  }
  std::vector<float> taken;
  for (const double value : tick_values(c)) {
    const float y = box.min.y + (1 - bar_position(static_cast<float>(value), c)) * height;
    const float text_y = std::clamp(y - line / 2, box.min.y - px(2), bottom - line + px(2));
    if (std::any_of(taken.begin(), taken.end(), [&](float other) { return std::abs(other - text_y) < 1.3f * line; })) continue;
    taken.push_back(text_y);
    list->AddLine({box.max.x, y}, {box.max.x + px(4), y}, colours().secondary);
    const bool end = std::abs(value) == static_cast<double>(c.range);
    draw_text({box.max.x + px(8), text_y}, Face::mono_small, end ? colours().text : colours().secondary, compact(value));
  }
}

}  // namespace attoscope
