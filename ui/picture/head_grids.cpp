// All heads as a grid, layers by heads: in the colours of one measure, with the table of all measures beside it, or of the
// verdicts on a loaded output.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "kernels/experiment/letters.h"
#include "ui/picture/pictures.h"
#include "ui/widgets/colours.h"
#include "ui/widgets/table_view.h"
#include "ui/widgets/widgets.h"
#include "ui/words/numbers.h"

namespace attoscope::ui {

namespace {

/// Height of a grid's legend, at UI scale 1.
constexpr float grid_legend_height = 40;
constexpr float least_cell = 9, least_height = 6, widest_cell = 280, highest_cell = 160;
/// Larger ratios have the colour of this one.
constexpr double most_ratio = 100;

/// Colour of an error over its tolerance: blue up to 1, linearly; orange to red above, logarithmically.
Colour verdict_colour(double ratio) {
  const bool light = is_light(colours().theme);
  const auto t = static_cast<float>(ratio <= 1             ? ratio
                                    : std::isfinite(ratio) ? std::min(1.0, std::log(ratio) / std::log(most_ratio))
                                                           : 1.0);
  if (ratio <= 1) return light ? mixed(rgb(0xe8eef6), rgb(0x4c78b2), t) : mixed(rgb(0x222c3c), rgb(0x5c8ece), t);
  return light ? mixed(rgb(0xf5963c), rgb(0x780014), t) : mixed(rgb(0xf5a046), rgb(0xc40c26), t);
}

/// Content and sizes of the grid, in pixels.
struct HeadGrid {
  const TensorFileInfo& info;
  const HeadGridLook& look;
  int across = 1;               ///< cells of the longest layer
  float names = 0, header = 0;  ///< width of the layer names, height of the column labels
  float width = 1, height = 1;  ///< size of a cell
};

/// Names of the rows and of the columns.
std::string axes_of(const TensorFileInfo& info) {
  const LayerEntry& first = info.layers.front();
  const std::string rows = first.sequence < 0 ? "layer" : first.name.starts_with("sequence") ? "sequence" : "layer, sequence";
  return rows + " \\ head";
}

HeadGrid grid_of(const TensorFileInfo& info, const HeadGridLook& look, ImVec2 room) {
  HeadGrid grid{.info = info, .look = look};
  for (const LayerEntry& layer : info.layers) {
    grid.across = std::max(grid.across, layer.heads);
    grid.names = std::max(grid.names, text_width(Face::small, layer.name));
  }
  if (grid.names > 0) grid.names = std::max(grid.names, text_width(Face::small, axes_of(info)));
  grid.names = std::min(grid.names, px(110)) + (grid.names > 0 ? px(8) : 0);
  grid.header = line_height(Face::mono_small) + px(4);
  const auto rows = static_cast<float>(std::max<std::size_t>(1, info.layers.size()));
  grid.width = std::floor(std::clamp((room.x - grid.names) / static_cast<float>(grid.across), px(least_cell), px(widest_cell)));
  grid.height = std::floor(std::clamp((room.y - grid.header) / rows, px(least_height), px(highest_cell)));
  return grid;
}

/// Tooltip of a judged head.
std::string sentence_of(const std::string& name, const JudgedHead* found) {
  if (found == nullptr) return name + " is not yet judged. A click opens it.";
  if (found->incomparable) return name + ": nothing can be judged, its exact output is not finite. A click opens it.";
  const std::string row = found->first_row >= 0 ? fmt::format(" The first wrong row is {}.", found->first_row) : "";
  return name + (found->rounded ? " is rounded." : " is wrong.") + row + " A click opens it, Ctrl+Z comes back.";
}

/// The cell of a head; null: not judged yet.
GridCell cell_of(const std::string& name, const JudgedHead* found) {
  GridCell cell{.known = found != nullptr, .fill = colours().faint, .sentence = sentence_of(name, found)};
  if (found == nullptr || found->incomparable) return cell;
  cell.fill = verdict_colour(found->ratio);
  cell.number = brief_number(found->ratio);
  cell.formula = [found] { return "error / tolerance = " + times(found->ratio); };
  return cell;
}

/// Draws a cell; true if it was clicked.
bool draw_head_cell(const HeadGrid& grid, int head, ImVec2 at) {
  ImGui::SetCursorScreenPos(at);
  const bool clicked =
      ImGui::InvisibleButton(("##head " + std::to_string(head)).c_str(), {grid.width, grid.height}, ImGuiButtonFlags_EnableNav);
  const bool hovered = ImGui::IsItemHovered() || ImGui::IsItemFocused();
  const GridCell cell = grid.look.cell(head);
  if (hovered) explain(cell.sentence, cell.formula ? cell.formula() : "");
  ImDrawList* const list = ImGui::GetWindowDrawList();
  const float gap = px(1);
  const ImVec2 from{at.x + gap, at.y + gap}, to{at.x + grid.width - gap, at.y + grid.height - gap};
  cell.known ? list->AddRectFilled(from, to, cell.fill) : list->AddRect(from, to, colours().line);
  const bool lit = hovered || head == grid.look.open || head == grid.look.lit;
  if (lit) list->AddRect(at, {at.x + grid.width, at.y + grid.height}, colours().text, 0, 0, px(2));
  const bool readable = grid.width >= px(30) && grid.height >= px(15);
  if (!cell.number.empty() && readable)
    draw_text({(from.x + to.x) / 2, (from.y + to.y - line_height(Face::mono_small)) / 2}, Face::mono_small, ink_on(cell.fill),
              cell.number, 0.5f);
  return clicked;
}

/// The numbers of a head's name: "18:7" of "layer 18, head 7".
std::string numbers_in(std::string_view name) {
  std::string numbers;
  for (std::size_t i = 0; i < name.size(); ++i) {
    if (!is_digit(name[i])) continue;
    if (!numbers.empty() && !is_digit(name[i - 1])) numbers += ':';
    numbers += name[i];
  }
  return numbers;
}

/// Distance in cells between labels that do not touch.
int every(float label, float cell) { return std::max(1, static_cast<int>(std::ceil(label / cell))); }

/// The names of the axes, rows and columns, and the labels of the columns.
void draw_head_numbers(const HeadGrid& grid, ImVec2 at) {
  if (grid.names > 0) draw_fitted(at, Face::small, colours().secondary, axes_of(grid.info), grid.names - px(6));
  const int step = every(text_width(Face::mono_small, std::to_string(grid.across)) + px(6), grid.width);
  for (int i = 0; i < grid.across; i += step)
    draw_text({at.x + grid.names + (static_cast<float>(i) + 0.5f) * grid.width, at.y}, Face::mono_small, colours().secondary,
              column_label(grid.info, i, grid.width - px(6)), 0.5f);
}

/// Draws the visible layers; returns the clicked head, -1: none.
int draw_layers(const HeadGrid& grid, ImVec2 at) {
  const int step = every(line_height(Face::small), grid.height);
  const ImVec2 seen = ImGui::GetWindowPos(), size = ImGui::GetWindowSize();
  int clicked = -1;
  for (std::size_t i = 0; i < grid.info.layers.size(); ++i) {
    const LayerEntry& layer = grid.info.layers[i];
    const float y = at.y + grid.header + static_cast<float>(i) * grid.height;
    if (y + grid.height < seen.y || y > seen.y + size.y) continue;
    if (static_cast<int>(i) % step == 0)
      draw_in_line({at.x, y}, grid.height, Face::small, colours().secondary,
                   fitted(Face::small, layer.name, grid.names - px(6)));
    for (int j = 0; j < layer.heads && layer.first + j < grid.info.heads; ++j)
      if (draw_head_cell(grid, layer.first + j, {at.x + grid.names + static_cast<float>(j) * grid.width, y}))
        clicked = layer.first + j;
  }
  return clicked;
}

/// Legend of the colours.
void draw_verdict_legend(ImVec2 at, float width) {
  const float bar = std::floor(std::min(width / 2, px(220))), high = px(10);
  ImDrawList* const list = ImGui::GetWindowDrawList();
  draw_shades(at, {bar, high},
              [](double share) { return verdict_colour(share <= 0.5 ? 2 * share : std::pow(most_ratio, 2 * share - 1)); });
  const float under = at.y + high + px(2);
  draw_text({at.x, under}, Face::mono_small, colours().secondary, "0");
  draw_text({at.x + bar / 2, under}, Face::mono_small, colours().text, "1", 0.5f);
  draw_text({at.x + bar, under}, Face::mono_small, colours().secondary, fmt::format("{:.0f}", most_ratio), 1);
  float x = at.x + bar + px(12);
  draw_fitted({x, at.y - px(2)}, Face::small, colours().secondary, "error / tolerance: above 1 it is wrong", at.x + width - x);
  const float side = px(9), y = under + px(3);
  list->AddRectFilled({x, y}, {x + side, y + side}, colours().faint);
  x += side + px(5);
  x += draw_text({x, under}, Face::small, colours().secondary, "not comparable") + px(12);
  list->AddRect({x, y}, {x + side, y + side}, colours().line);
  draw_fitted({x + side + px(5), under}, Face::small, colours().secondary, "not yet judged", at.x + width - x - side - px(5));
}

}  // namespace

std::string head_name(const TensorFileInfo& info, int head) {
  const auto place = static_cast<std::size_t>(head);
  return place < info.head_names.size() ? info.head_names[place] : fmt::format("head {}", head);
}

std::string column_label(const TensorFileInfo& info, int column, float width) {
  const std::string number = std::to_string(column), name = head_name(info, column);
  const bool has_layers = std::ranges::any_of(info.layers, [](const LayerEntry& layer) { return !layer.name.empty(); });
  if (has_layers || name == "head " + number) return number;
  const auto fits = [&](const std::string& text, float gap) { return text_width(Face::mono_small, text) + gap <= width; };
  if (std::ranges::all_of(info.head_names, [&](const std::string& each) { return fits(each, px(10)); })) return name;
  const bool numbers_fit =
      std::ranges::all_of(info.head_names, [&](const std::string& each) { return fits(numbers_in(each), 0); });
  return numbers_fit ? numbers_in(name) : "";
}

std::string all_numbers(const HeadRow& row, const MethodNames& names) {
  std::string text;
  for (const HeadMeasure& m : head_measures)
    if (!std::isnan(row.*m.value))
      text += fmt::format("{}{:<22} {:.4g}", text.empty() ? "" : "\n", title_of(m, names), row.*m.value);
  return text;
}

void draw_shades(ImVec2 at, ImVec2 size, const std::function<Colour(double)>& shade) {
  constexpr int steps = 40;
  for (int i = 0; i < steps; ++i)
    ImGui::GetWindowDrawList()->AddRectFilled({at.x + std::floor(size.x * static_cast<float>(i) / steps), at.y},
                                              {at.x + std::floor(size.x * static_cast<float>(i + 1) / steps), at.y + size.y},
                                              shade((i + 0.5) / steps));
}

std::string brief_number(double x) {
  if (!std::isfinite(x)) return "∞";
  if (x >= 999.5 || (x > 0 && x < 0.05)) return scientific(x, 1);
  return fmt::format("{:.{}f}", x, x < 9.95 ? 1 : 0);
}

int draw_head_grid(const TensorFileInfo& info, const HeadGridLook& look, ImVec2 size) {
  int clicked = -1;
  if (ImGui::BeginChild("head grid", size, ImGuiChildFlags_NavFlattened, ImGuiWindowFlags_HorizontalScrollbar)) {
    const ImVec2 first = ImGui::GetCursorScreenPos(), room = ImGui::GetContentRegionAvail();
    const HeadGrid grid = grid_of(info, look, room);
    draw_head_numbers(grid, first);
    clicked = draw_layers(grid, first);
    take_room(first, {grid.names + static_cast<float>(grid.across) * grid.width,
                      grid.header + static_cast<float>(info.layers.size()) * grid.height});
  }
  ImGui::EndChild();
  return clicked;
}

namespace {

/// Least width for the table to be beside the grid; otherwise it is below.
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

/// Draws the colours' range, or only the title of a number that no head has.
void draw_measure_legend(ImVec2 at, float width, bool known, const PositiveRange& all, const std::string& title) {
  if (!known) {
    draw_fitted(at, Face::small, colours().secondary, title + ": not known", width);
    return;
  }
  const float bar = std::floor(std::min(width / 2, px(180))), high = px(10);
  draw_shades(at, {bar, high}, shade_at);
  const float under = at.y + high + px(2);
  ColumnNumbers ends;
  for (const double x : {all.least, all.most}) ends.take(x);
  draw_text({at.x, under}, Face::mono_small, colours().secondary, ends.text(all.least, 3));
  draw_text({at.x + bar, under}, Face::mono_small, colours().secondary, ends.text(all.most, 3), 1);
  draw_fitted({at.x + bar + px(12), at.y - px(2)}, Face::small, colours().secondary, title, width - bar - px(12));
}

/// Draws the grid and its legend in this room; returns the clicked head, -1: none.
int draw_coloured_grid(const HeadsState& heads, const TensorFileInfo& info, int open, ImVec2 size) {
  const HeadMeasure& measure = head_measures[shown_measure(heads.outputs.sort, info.heads)];
  PositiveRange all;
  bool known = false;
  std::vector<const HeadRow*> rows(static_cast<std::size_t>(std::max(0, info.heads)));
  for (const HeadRow* const row : heads.outputs.shown) {
    all.take(row->*measure.value);
    known = known || !is_unknown(*row, measure.value);
    if (static_cast<std::size_t>(row->head) < rows.size()) rows[static_cast<std::size_t>(row->head)] = row;
  }
  const auto cell = [&](int head) {
    const HeadRow* const row = rows[static_cast<std::size_t>(head)];
    const std::string name = head_name(info, head);
    if (row == nullptr) return GridCell{.sentence = name + " is not computed yet. A click opens it."};
    const auto numbers = [&heads, row] { return all_numbers(*row, heads.names); };
    if (is_unknown(*row, measure.value))
      return GridCell{.sentence = name + ": this number is not known. A click opens it, Ctrl+Z comes back.",
                      .formula = numbers};
    const double x = row->*measure.value;
    return GridCell{.known = true,
                    .fill = shade_of(x, all),
                    .number = std::isnan(x) ? "" : brief_number(x),
                    .sentence = name + ": a click opens it, Ctrl+Z comes back.",
                    .formula = numbers};
  };
  const ImVec2 at = ImGui::GetCursorScreenPos();
  const int clicked =
      draw_head_grid(info, {.cell = cell, .open = open, .lit = heads.hovered}, {size.x, size.y - px(grid_legend_height)});
  draw_measure_legend({at.x, at.y + size.y - px(grid_legend_height) + px(8)}, size.x, known, all,
                      title_of(measure, heads.names));
  return clicked;
}

/// Draws the table; sets the head under the mouse; returns the clicked head, -1: none.
int draw_measure_table(HeadsState& heads, int open) {
  const auto row = [&](std::size_t i) {
    const int head = heads.outputs.shown[i]->head;
    return TableRow{.id = "head row " + std::to_string(head),
                    .meaning = "A click opens it, Ctrl+Z comes back. A click on a heading orders by it.",
                    .chosen = head == open};
  };
  std::optional<std::size_t> hovered;
  const auto clicked = draw_table("heads table", heads.outputs.table, {.row = row, .hovered = &hovered});
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
                                        [value](const Row& row) -> TableCell {
                                          if (is_unknown(*row, value)) return {};
                                          return row->*value;
                                        }));
  };
  const bool judged = std::ranges::any_of(heads.outputs.shown, [](Row row) { return !std::isnan(row->tolerance); });
  using Head = HeadRow;
  const std::array order{head_measures[shown_measure(heads.outputs.sort, info.heads)].value,
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
    if (const int head = draw_measure_table(heads, open); head >= 0) clicked = head;
  ImGui::EndChild();
  return clicked;
}

int draw_verdict_grid(const JudgedView& heads, const TensorFileInfo& info, int open) {
  const ImVec2 at = ImGui::GetCursorScreenPos(), all = ImGui::GetContentRegionAvail();
  std::vector<const JudgedHead*> judged(static_cast<std::size_t>(std::max(0, info.heads)));
  if (heads.rows)
    for (const JudgedHead& head : *heads.rows)
      if (static_cast<std::size_t>(head.head) < judged.size()) judged[static_cast<std::size_t>(head.head)] = &head;
  const HeadGridLook look{
      .cell = [&](int head) { return cell_of(head_name(info, head), judged[static_cast<std::size_t>(head)]); }, .open = open};
  const int clicked = draw_head_grid(info, look, {all.x, all.y - px(grid_legend_height)});
  draw_verdict_legend({at.x, at.y + all.y - px(grid_legend_height) + px(8)}, all.x);
  return clicked;
}

std::string verdict_grid_csv(const JudgedView& heads, const TensorFileInfo& info) {
  std::string text = "head,layer,name,error_over_tolerance,verdict,first_wrong_row\n";
  if (!heads.rows) return text;
  std::vector<JudgedHead> rows = *heads.rows;
  std::ranges::sort(rows, {}, &JudgedHead::head);
  for (const JudgedHead& row : rows) {
    const auto place = static_cast<std::size_t>(row.head);
    std::string name = place < info.head_names.size() ? info.head_names[place] : "";
    std::ranges::replace(name, ',', ';');
    text += fmt::format("{},{},{},{},{},{}\n", row.head, row.layer, name, row.ratio,
                        row.incomparable ? "incomparable"
                        : row.rounded    ? "rounded"
                                         : "wrong",
                        row.first_row >= 0 ? std::to_string(row.first_row) : "");
  }
  return text;
}

}  // namespace attoscope::ui
