// All heads as a grid, layers by heads, in the colours of one measure, and the table of all measures beside it.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <vector>

#include "ui/frame/frame.h"
#include "ui/picture/pictures.h"
#include "ui/widgets/colours.h"
#include "ui/widgets/table_view.h"
#include "ui/widgets/widgets.h"

namespace attoscope::ui {

namespace {

/// Width from which the table stands beside the grid.
constexpr float least_beside = 480;

/// Colour at a place of a measure's range, 0 .. 1.
Colour shade_at(double place) {
  return colour(static_cast<float>(place), {.diverging = false, .log = false, .range = 1, .theme = colours().theme});
}

/// Colour of a measure, logarithmic over the range.
Colour shade_of(double x, const PositiveRange& all) {
  if (!std::isfinite(x)) return colours().bad;
  const double range = std::log(all.most / all.least);
  return shade_at(!(x > 0) ? 0 : range > 0 ? std::clamp(std::log(x / all.least) / range, 0.0, 1.0) : 1.0);
}

/// Every measure of a head, for a tooltip.
std::string all_numbers(const HeadRow& row, const MethodNames& names) {
  std::string text;
  for (const HeadMeasure& m : head_measures)
    if (!std::isnan(row.*m.value))
      text += fmt::format("{}{:<22} {:.4g}", text.empty() ? "" : "\n", title_of(m, names), row.*m.value);
  return text;
}

void draw_measure_legend(ImVec2 at, float width, const PositiveRange& all, const std::string& title) {
  const float bar = std::floor(std::min(width / 2, px(180))), high = px(10);
  constexpr int steps = 40;
  for (int i = 0; i < steps; ++i)
    ImGui::GetWindowDrawList()->AddRectFilled({at.x + std::floor(bar * static_cast<float>(i) / steps), at.y},
                                              {at.x + std::floor(bar * static_cast<float>(i + 1) / steps), at.y + high},
                                              shade_at((i + 0.5) / steps));
  const float under = at.y + high + px(2);
  draw_text({at.x, under}, Face::mono_small, colours().secondary, fmt::format("{:.3g}", all.least));
  draw_text({at.x + bar, under}, Face::mono_small, colours().secondary, fmt::format("{:.3g}", all.most), 1);
  draw_text({at.x + bar + px(12), at.y - px(2)}, Face::small, colours().secondary,
            fitted(Face::small, title, width - bar - px(12)));
}

/// The grid and its legend in this room.
int draw_coloured_grid(const HeadsState& heads, const TensorFileInfo& info, int open, ImVec2 size) {
  const HeadMeasure& measure = head_measures[heads.outputs.sort];
  PositiveRange all;
  std::vector<const HeadRow*> rows(static_cast<std::size_t>(std::max(0, info.heads)));
  for (const HeadRow* const row : heads.outputs.shown) {
    all.take(row->*measure.value);
    if (static_cast<std::size_t>(row->head) < rows.size()) rows[static_cast<std::size_t>(row->head)] = row;
  }
  const auto cell = [&](int head) {
    const HeadRow* const row = rows[static_cast<std::size_t>(head)];
    const std::string name = head_name(info, head);
    if (row == nullptr) return GridCell{.sentence = name + " is not computed yet. A click opens it."};
    const double x = row->*measure.value;
    return GridCell{.known = true,
                    .fill = shade_of(x, all),
                    .number = std::isnan(x) ? "" : brief_number(x),
                    .sentence = name + ": a click opens it, Ctrl+Z comes back.",
                    .formula = all_numbers(*row, heads.names)};
  };
  const ImVec2 at = ImGui::GetCursorScreenPos();
  const int clicked =
      draw_head_grid(info, {.cell = cell, .open = open, .lit = heads.hovered}, {size.x, size.y - px(grid_legend_height)});
  draw_measure_legend({at.x, at.y + size.y - px(grid_legend_height) + px(8)}, size.x, all, title_of(measure, heads.names));
  return clicked;
}

/// The table; sets the head under the mouse.
int draw_measure_table(HeadsState& heads, const TensorFileInfo& info, int open) {
  const Table table = shown_heads_table(heads, info);
  const auto row = [&](std::size_t i) {
    const int head = heads.outputs.shown[i]->head;
    return TableRow{.id = "head row " + std::to_string(head),
                    .meaning = "A click opens it, Ctrl+Z comes back. A click on a heading orders by it.",
                    .chosen = head == open};
  };
  std::optional<std::size_t> hovered;
  const auto clicked = draw_table("heads table", table, {.row = row, .hovered = &hovered});
  heads.hovered = hovered ? heads.outputs.shown[*hovered]->head : -1;
  return clicked ? heads.outputs.shown[*clicked]->head : -1;
}

}  // namespace

Table shown_heads_table(const HeadsState& heads, const TensorFileInfo& info) {
  using Row = const HeadRow*;
  std::vector<TableColumn<Row>> columns{
      table_column<Row>({.key = "name", .title = "head"}, [&](const Row& row) { return head_name(info, row->head); })};
  const auto add = [&](double HeadRow::* value, bool minor) {
    const HeadMeasure& m = *std::ranges::find(head_measures, value, &HeadMeasure::value);
    columns.push_back(table_column<Row>({.key = std::string(m.key),
                                         .title = title_of(m, heads.names),
                                         .digits = 3,
                                         .meaning = named_text(m, m.what, heads.names),
                                         .minor = minor},
                                        m.value));
  };
  const bool judged = std::ranges::any_of(heads.outputs.shown, [](Row row) { return !std::isnan(row->tolerance); });
  using Head = HeadRow;
  const std::array order{head_measures[heads.outputs.sort].value,
                         &Head::tolerance,
                         &Head::largest_score,
                         &Head::a_rel,
                         &Head::largest_V,
                         &Head::b_rel,
                         &Head::a_max,
                         &Head::b_max,
                         &Head::ratio,
                         &Head::unusual,
                         &Head::a_rms,
                         &Head::b_rms,
                         &Head::rescales,
                         &Head::nonfinite};
  constexpr std::size_t minor = 10;  // from here on
  for (std::size_t i = 0; i < order.size(); ++i)
    if (i == 0 || order[i] != order[0]) add(order[i], i >= minor || (i == 1 && !judged));
  return table_of(columns, std::span<const Row>(heads.outputs.shown));
}

int draw_measure_grid(HeadsState& heads, const TensorFileInfo& info, int open) {
  const ImVec2 at = ImGui::GetCursorScreenPos(), all = ImGui::GetContentRegionAvail();
  const float gap = px(12);
  const bool beside = all.x >= px(least_beside);
  const ImVec2 size = beside ? ImVec2{std::floor(all.x * (all.x < px(700) ? 0.33f : 0.5f)), all.y}
                             : ImVec2{all.x, std::floor(std::max(all.y * 0.6f, px(180)))};
  int clicked = draw_coloured_grid(heads, info, open, size);
  ImGui::SetCursorScreenPos(beside ? ImVec2{at.x + size.x + gap, at.y} : ImVec2{at.x, at.y + size.y + gap});
  if (ImGui::BeginChild("heads table", {0, beside ? 0 : std::max(all.y - size.y - gap, px(140))}, ImGuiChildFlags_NavFlattened))
    if (const int head = draw_measure_table(heads, info, open); head >= 0) clicked = head;
  ImGui::EndChild();
  return clicked;
}

}  // namespace attoscope::ui
