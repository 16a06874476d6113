// All combinations with their numbers, one line each.
#include <algorithm>
#include <array>
#include <cmath>
#include <vector>

#include "ui/sweep/panels.h"
#include "ui/widgets/widgets.h"
#include "ui/words/numbers.h"

namespace attoscope {

namespace {

constexpr float row_height = 20;
constexpr std::array<const char*, 4> number_heads{"mean", "std", "min", "max"};

/// Right edges of the columns: values, numbers, seeds. A narrow table has no minimum and maximum.
struct Columns {
  std::vector<float> values, numbers;
  float seeds, left;
};

Columns columns_of(const SweepDrawing& d, float left, float width) {
  const SweepTable& t = *d.table;
  Columns c{{}, {}, left + width, left};
  const float number = text_width(Face::mono_small, "-1.23e-9") + px(4),
              seeds = std::max(text_width(Face::mono_small, std::to_string(t.seeds)), text_width(Face::small, "n")) + px(12);
  float wanted = 0, x = left;
  std::array<float, 2> widths{};
  for (std::size_t i = 0; i < t.axes.size(); ++i)
    wanted += widths[i] =
        std::max(text_width(Face::mono_small, d.longest[i]), std::min(px(48), text_width(Face::small, t.axes[i].key))) + px(8);
  const int count = wanted <= width - seeds - 4 * number ? 4 : 2;
  const float room = std::max(px(34), width - seeds - static_cast<float>(count) * number);
  const float apart = std::clamp((room - wanted) / static_cast<float>(t.axes.size()), 0.0f, px(12));
  for (std::size_t i = 0; i < t.axes.size(); ++i) c.values.push_back(x += widths[i] * std::min(1.0f, room / wanted) + apart);
  const float step = (left + width - seeds - x) / static_cast<float>(count);
  for (int i = 0; i < count; ++i) c.numbers.push_back(x += step);
  return c;
}

void draw_head(const SweepTable& t, const Columns& c, float y, const Palette& colours) {
  float left = c.left;
  for (std::size_t i = 0; i < t.axes.size(); ++i) {
    draw_text({left, y}, Face::small, colours.faint, fitted(Face::small, t.axes[i].key, c.values[i] - left - px(6)));
    left = c.values[i];
  }
  for (std::size_t i = 0; i < c.numbers.size(); ++i)
    draw_text({c.numbers[i], y}, Face::small, colours.faint, number_heads[i], 1);
  draw_text({c.seeds, y}, Face::small, colours.faint, "n", 1);
}

void draw_numbers(const SweepScene& s, const SweepCell& cell, const Columns& c, float y) {
  const std::array<double, 4> numbers{cell.mean, cell.std, cell.min, cell.max};
  const Palette& colours = s.colours;
  if (cell.count == 0) {
    const float left = c.values.back() + px(4);
    const bool failed = cell.error >= 0;
    const std::string text = failed ? s.state.drawing.table->errors[static_cast<std::size_t>(cell.error)] : "·";
    draw_text({left, y}, Face::small, failed ? colours.bad : colours.faint, fitted(Face::small, text, c.seeds - px(16) - left));
  } else {
    for (std::size_t i = 0; i < c.numbers.size(); ++i)
      draw_text({c.numbers[i], y}, Face::mono_small,
                !std::isfinite(numbers[i]) ? colours.bad
                : i == 0                   ? colours.text
                                           : colours.secondary,
                mean_text(s.state.drawing.extremes, numbers[i]), 1);
  }
  draw_text({c.seeds, y}, Face::mono_small, cell.error >= 0 ? colours.bad : colours.faint, std::to_string(cell.count), 1);
}

/// A line; under the mouse it is highlighted in the plot too; a click opens it in Explore.
void draw_row(const SweepScene& s, const Columns& c, int index) {
  const SweepTable& t = *s.state.drawing.table;
  const auto across = static_cast<int>(t.across());
  const SweepPlace place{index / across, index % across};
  const SweepCell& cell = t.cells[static_cast<std::size_t>(index)];
  const ImVec2 at = ImGui::GetCursorScreenPos();
  const ImVec2 size{c.seeds - c.left, px(row_height)};
  if (ImGui::InvisibleButton(("##row " + std::to_string(index)).c_str(), size) && cell.count > 0) s.requests.open_point = place;
  if (ImGui::IsItemHovered()) s.state.pointing = place;
  explain(cell.error >= 0  ? t.errors[static_cast<std::size_t>(cell.error)]
          : cell.count > 0 ? "A click opens this experiment in Explore; Ctrl+Z returns."
                           : "Not computed yet.");
  if (s.state.pointed == place)
    ImGui::GetWindowDrawList()->AddRectFilled({at.x - px(4), at.y}, {at.x + size.x + px(4), at.y + size.y}, s.colours.raised,
                                              px(2));
  const float y = at.y + (size.y - line_height(Face::mono_small)) / 2;
  float left = c.left;
  for (std::size_t i = 0; i < t.axes.size(); ++i) {
    draw_text({left, y}, Face::mono_small, s.colours.text,
              fitted(Face::mono_small, t.axes[i].names[static_cast<std::size_t>(place[i])], c.values[i] - left - px(6)));
    left = c.values[i];
  }
  draw_numbers(s, cell, c, y);
}

}  // namespace

void draw_sweep_rows(const SweepScene& s) {
  const ImVec2 at = ImGui::GetCursorScreenPos();
  const float width = ImGui::GetContentRegionAvail().x - px(12);
  if (!s.state.drawing.table) {
    wrapped(Face::label, "The table of all combinations: mean over seeds, standard deviation, least and largest value.", width);
    return;
  }
  const SweepTable& t = *s.state.drawing.table;
  draw_text(at, Face::label, s.colours.text, fitted(Face::label, t.measure, width));
  const Columns c = columns_of(s.state.drawing, at.x, width);
  draw_head(t, c, at.y + px(22), s.colours);
  ImGui::SetCursorScreenPos({at.x, at.y + px(40)});
  ImGui::PushStyleVar(ImGuiStyleVar_ItemSpacing, {0, 0});
  ImGui::BeginChild("rows", {0, 0}, ImGuiChildFlags_NavFlattened);
  ImGuiListClipper clipper;
  clipper.Begin(static_cast<int>(t.cells.size()), px(row_height));
  while (clipper.Step())
    for (int i = clipper.DisplayStart; i < clipper.DisplayEnd; ++i) draw_row(s, c, i);
  ImGui::EndChild();
  ImGui::PopStyleVar();
}

}  // namespace attoscope
