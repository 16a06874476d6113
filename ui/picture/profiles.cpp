#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "ui/picture/pictures.h"
#include "ui/widgets/colours.h"
#include "ui/widgets/widgets.h"
#include "ui/words/numbers.h"
#include "ui/words/sentences.h"

namespace attoscope::ui {

namespace {

/// Fields whose curves are drawn beside `field`.
std::vector<Field> fields_beside(Field field) {
  using enum Field;
  if (field == golden || field == a || field == b) return {golden, b, a};
  for (const auto& [of_a, of_b] : {std::pair{a_error, b_error}, {a_abs, b_abs}, {a_ulps, b_ulps}, {a_relative, b_relative}})
    if (field == of_a || field == of_b) return {of_b, of_a};
  if (field == a_storage || field == a_arithmetic) return {a_error, a_arithmetic, a_storage};
  if (field == b_storage || field == b_arithmetic) return {b_error, b_arithmetic, b_storage};
  return {field};
}

Colour curve_colour(Field field) {
  if (field == Field::a_storage || field == Field::b_storage) return colours().moved;
  if (field == Field::a_arithmetic || field == Field::b_arithmetic) return colours().secondary;
  return field_colour(field);
}

/// Calls `draw(pixel, low, high)` with the scale shares of the smallest and the largest value of each pixel, joined with the
/// pixel before.
template <class Draw>
void draw_band(const std::vector<Extremes>& e, const Colouring& how, Draw draw) {
  const Mapping map = mapping(how);
  bool joined = false;
  float low_before = 0, high_before = 0;
  for (std::size_t i = 0; i < e.size(); ++i) {
    if (e[i].least > e[i].largest) {
      joined = false;
      continue;
    }
    const float low = bar_position(e[i].least, map), high = bar_position(e[i].largest, map);
    draw(static_cast<float>(i), joined ? std::min(low, high_before) : low, joined ? std::max(high, low_before) : high);
    joined = true;
    low_before = low;
    high_before = high;
  }
}

/// Draws a curve; `at(pixel, share)` returns the point of a share of the scale.
template <class At>
void draw_curve(const std::vector<Extremes>& e, const Colouring& how, Colour colour, At at) {
  ImDrawList* list = ImGui::GetWindowDrawList();
  const Mapping map = mapping(how);
  for (std::size_t i = 0; i < e.size(); ++i) {
    if (e[i].least <= e[i].largest) {
      const float low = bar_position(e[i].least, map), high = bar_position(e[i].largest, map);
      const auto pixel = static_cast<float>(i) + 0.5f;
      list->PathLineTo(at(pixel, i % 2 == 0 ? low : high));
      if (low != high) list->PathLineTo(at(pixel, i % 2 == 0 ? high : low));
    }
    if (e[i].least > e[i].largest || i + 1 == e.size()) list->PathStroke(faded(colour, 0.8f), 0, px(1.2f));
  }
}

/// Value at an end of the scale, beside the curves; inside if it is too long for the left margin.
void name_end(const Places& p, float y, double value, bool at_right) {
  const std::string text = compact(value);
  const float width = text_width(Face::mono_small, text), height = line_height(Face::mono_small), top = y - height / 2;
  if (at_right) {
    draw_text({p.max.x + px(7), top}, Face::mono_small, colours().secondary, text);
  } else if (width <= px(50)) {
    draw_text({p.min.x - px(7), top}, Face::mono_small, colours().secondary, text, 1);
  } else {
    const ImVec2 at{p.min.x + px(2), top};
    ImGui::GetWindowDrawList()->AddRectFilled(at, {at.x + width + px(4), at.y + height}, faded(colours().panel, 0.85f));
    draw_text({at.x + px(2), top}, Face::mono_small, colours().secondary, text);
  }
}

/// Names of the curves in their colours, from `at` rightwards.
void draw_names(ImVec2 at, const std::string& title, std::span<const ProfileCurve> curves, float end) {
  at.x += draw_text(at, Face::small, colours().secondary, title) + px(12);
  for (std::size_t i = curves.size(); i-- > 0;) {
    if (at.x + text_width(Face::small, curves[i].name) > end) return;
    at.x += draw_text(at, Face::small, curves[i].colour, curves[i].name) + px(12);
  }
}

}  // namespace

float column_alpha(std::size_t curves) { return curves > 1 ? 0.5f : 0.9f; }

void refresh_profiles(ProfileState& state, const std::shared_ptr<const Result>& result, const ProfilePlace& place,
                      const MethodNames& names) {
  const auto& [field, row, col, alone] = place;
  if (state.result == result && state.field == field && state.row == row && state.col == col &&
      state.theme == colours().theme && state.alone == alone)
    return;
  state = {.result = result,
           .field = field,
           .row = row,
           .col = col,
           .theme = colours().theme,
           .alone = alone,
           .along_row = {},
           .along_col = {}};
  for (const Field f : alone ? std::vector{field} : fields_beside(field)) {
    ProfileCurve across{curve_colour(f), field_title(f, names), {}}, down = across;
    for (int c = 0; c < result->a.cols; ++c) across.values.push_back(static_cast<float>(field_value(*result, f, row, c)));
    for (int r = 0; r < result->a.rows; ++r) down.values.push_back(static_cast<float>(field_value(*result, f, r, col)));
    state.along_row.push_back(std::move(across));
    state.along_col.push_back(std::move(down));
  }
}

std::vector<Extremes> extremes(std::span<const float> values, double from, double to, int pixels) {
  constexpr float infinity = std::numeric_limits<float>::infinity();
  std::vector<Extremes> all;
  all.reserve(static_cast<std::size_t>(std::max(0, pixels)));
  const double step = (to - from) / pixels, size = static_cast<double>(values.size());
  for (int i = 0; i < pixels; ++i) {
    const double low = std::floor(from + i * step + 1e-9), high = std::max(low + 1, std::ceil(from + (i + 1) * step - 1e-9));
    Extremes e{infinity, -infinity};
    for (auto j = static_cast<std::size_t>(std::clamp(low, 0.0, size)),
              end = static_cast<std::size_t>(std::clamp(high, 0.0, size));
         j < end; ++j) {
      const float v = values[j];
      if (v < e.least) e.least = v;
      if (v > e.largest) e.largest = v;
    }
    all.push_back(e);
  }
  return all;
}

void draw_along_row(const Places& p, const CellRect& rect, const CellPicture& picture, std::span<const ProfileCurve> curves,
                    const Colouring& how, const std::string& title, bool named_at_right) {
  const Box& box = p.below;
  const float top = box.min.y + px(16), height = box.max.y - px(8) - top;
  if (height < px(16)) return;
  const auto y_of = [&](float share) { return top + (1 - share) * height; };
  ImDrawList* list = ImGui::GetWindowDrawList();
  for (const float share : {0.0f, bar_position(0, how), 1.0f})
    list->AddLine({box.min.x, std::floor(y_of(share)) + 0.5f}, {box.max.x, std::floor(y_of(share)) + 0.5f}, colours().line);
  for (const ProfileCurve& curve : curves)
    draw_curve(
        extremes(curve.values, rect.col0 - picture.first_col, rect.col1 - picture.first_col, static_cast<int>(p.width())), how,
        curve.colour, [&](float pixel, float share) { return ImVec2{p.min.x + pixel, y_of(share)}; });
  name_end(p, y_of(1), static_cast<double>(how.range), named_at_right);
  if (how.diverging) name_end(p, y_of(0), -static_cast<double>(how.range), named_at_right);
  draw_names({box.min.x, box.min.y - px(1)}, title, curves, box.max.x);
}

void draw_along_col(const Places& p, const CellRect& rect, const CellPicture& picture, std::span<const ProfileCurve> curves,
                    const Colouring& how, const std::string& title) {
  const Box& box = p.side;
  const float width = box.width();
  const auto x_of = [&](float share) { return box.min.x + share * width; };
  ImDrawList* list = ImGui::GetWindowDrawList();
  for (const float share : {0.0f, bar_position(0, how), 1.0f})
    list->AddLine({std::floor(x_of(share)) + 0.5f, box.min.y}, {std::floor(x_of(share)) + 0.5f, box.max.y}, colours().line);
  for (const ProfileCurve& curve : curves)
    draw_band(extremes(curve.values, (rect.row0 - picture.first_row) * picture.per_row,
                       (rect.row1 - picture.first_row) * picture.per_row, static_cast<int>(p.height())),
              how, [&](float pixel, float low, float high) {
                const float y = p.min.y + pixel, middle = (x_of(low) + x_of(high)) / 2,
                            half = std::max(px(0.7f), (x_of(high) - x_of(low)) / 2);
                list->AddRectFilled({middle - half, y}, {middle + half, y + 1},
                                    faded(curve.colour, column_alpha(curves.size())));
              });
  draw_text({(box.min.x + box.max.x) / 2, box.max.y + px(4)}, Face::small, colours().secondary, title, 0.5f);
}

}  // namespace attoscope::ui
