#include "ui/picture/kv_table.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "kernels/questions/kv_cache.h"
#include "ui/widgets/widgets.h"

namespace attoscope {

namespace {

constexpr float row_height = 24, head_height = 22, bar_height = 3, air = 6;

/// Columns of the table, in pixels from its left edge.
struct Columns {
  float name = 0;                                    ///< width of the first column
  std::array<float, kv_storages.size() + 1> left{};  ///< edges of the other columns
  float width() const { return left.back(); }
};

/// Parameters of the rows.
struct Table {
  HeadsState& heads;
  const TensorFileInfo& info;
  int open;
  const Palette& colours;
  Columns columns;
};

std::string name_of(const KvRow& row, const TensorFileInfo& info) {
  const auto place = static_cast<std::size_t>(row.head);
  return place < info.head_names.size() ? info.head_names[place] : fmt::format("head {}", row.head);
}

/// Fits columns to their texts and spreads the remaining width evenly.
Columns columns_of(const HeadsState& heads, const TensorFileInfo& info, float room) {
  Columns c;
  for (const KvRow* const row : heads.kv.shown) c.name = std::max(c.name, text_width(Face::small, name_of(*row, info)));
  c.name = std::clamp(c.name, px(48), px(160)) + px(2 * air);
  std::array<float, kv_storages.size()> widths{};
  float wanted = c.name;
  for (std::size_t i = 0; i < widths.size(); ++i) {
    const float head = text_width(Face::small, kv_storages[i].key) + px(10);  // with the triangle that marks the order
    wanted += widths[i] = std::max(head, text_width(Face::mono_small, "0.00123")) + px(2 * air);
  }
  const float more = std::max(0.0f, room - wanted) / static_cast<float>(widths.size());
  c.left[0] = c.name;
  for (std::size_t i = 0; i < widths.size(); ++i) c.left[i + 1] = std::floor(c.left[i] + widths[i] + more);
  return c;
}

/// Heading of a storage; a click orders by it.
void draw_head(const Table& t, std::size_t i, ImVec2 table) {
  const KvStorage& storage = kv_storages[i];
  const ImVec2 at{table.x + t.columns.left[i], table.y}, size{t.columns.left[i + 1] - t.columns.left[i], px(head_height)};
  ImGui::SetCursorScreenPos(at);
  if (ImGui::InvisibleButton(("##kv by " + std::string(storage.key)).c_str(), size)) t.heads.kv.sort = i;
  const bool hovered = ImGui::IsItemHovered(), ordered = t.heads.kv.sort == i;
  explain(std::string(storage.what) + ". A click puts the heads first that lose most by it.",
          "RMS error over the RMS of the exact output\nbar: from the least to the largest of the table, logarithmic");
  const float y = at.y + (size.y - line_height(Face::small)) / 2, right = at.x + size.x - px(air);
  draw_text({right, y}, Face::small, ordered || hovered ? t.colours.text : t.colours.secondary, storage.key, 1);
  if (!ordered) return;
  const float x = right - text_width(Face::small, storage.key) - px(9), top = at.y + size.y / 2 - px(2);
  ImGui::GetWindowDrawList()->AddTriangleFilled({x, top}, {x + px(7), top}, {x + px(3.5f), top + px(5)}, t.colours.accent);
}

/// Length of an error's bar as a share of its cell, logarithmic.
float share_of(const HeadsState& heads, double error) {
  if (std::isnan(error) || std::isinf(error)) return 1;
  if (!(error > 0)) return 0;
  const double low = heads.kv_least / 2, range = std::log(heads.kv_most / low);
  return static_cast<float>(std::clamp(std::log(error / low) / range, 0.0, 1.0));
}

void draw_error(const Table& t, const KvRow& row, std::size_t i, ImVec2 at) {
  const double error = row.errors[i];
  const bool ordered = t.heads.kv.sort == i, finite = std::isfinite(error);
  const float left = at.x + t.columns.left[i] + px(air), right = at.x + t.columns.left[i + 1] - px(air);
  const float foot = at.y + px(row_height - 2);
  ImDrawList* const list = ImGui::GetWindowDrawList();
  list->AddRectFilled({left, foot - px(bar_height)}, {right, foot}, t.colours.raised);
  list->AddRectFilled({left, foot - px(bar_height)}, {left + share_of(t.heads, error) * (right - left), foot},
                      !finite   ? t.colours.bad
                      : ordered ? t.colours.accent
                                : faded(t.colours.accent, 0.55f));
  draw_text({right, at.y + px(2)}, Face::mono_small,
            !finite   ? t.colours.bad
            : ordered ? t.colours.text
                      : t.colours.secondary,
            std::isnan(error) ? "NaN" : fmt::format("{:.3g}", error), 1);
}

/// Draws a row; true if it was clicked.
bool draw_row(const Table& t, const KvRow& row) {
  const ImVec2 at = ImGui::GetCursorScreenPos(), size{t.columns.width(), px(row_height)};
  const bool clicked = ImGui::InvisibleButton(("##kv head " + std::to_string(row.head)).c_str(), size);
  const bool hovered = ImGui::IsItemHovered(), open = row.head == t.open;
  const std::string name = name_of(row, t.info);
  explain(name + (open ? ", which is open: a click shows it, Ctrl+Z comes back." : ": a click opens it, Ctrl+Z comes back."));
  ImDrawList* const list = ImGui::GetWindowDrawList();
  const ImVec2 end{at.x + size.x, at.y + size.y};
  if (open || hovered) list->AddRectFilled(at, end, open ? faded(t.colours.accent, 0.18f) : faded(t.colours.raised, 0.6f));
  if (open) list->AddRectFilled(at, {at.x + px(3), end.y}, t.colours.accent);
  draw_text({at.x + px(air), at.y + px(3)}, Face::small, open || hovered ? t.colours.text : t.colours.secondary,
            fitted(Face::small, name, t.columns.name - px(2 * air)));
  for (std::size_t i = 0; i < std::min(row.errors.size(), kv_storages.size()); ++i) draw_error(t, row, i, at);
  return clicked;
}

const KvRow* draw_rows(const Table& t) {
  const std::vector<const KvRow*>& shown = t.heads.kv.shown;
  const KvRow* clicked = nullptr;
  ImGuiListClipper clipper;
  clipper.Begin(static_cast<int>(shown.size()), px(row_height));
  while (clipper.Step())
    for (int i = clipper.DisplayStart; i < clipper.DisplayEnd; ++i)
      if (const KvRow* const row = shown[static_cast<std::size_t>(i)]; draw_row(t, *row)) clicked = row;
  return clicked;
}

}  // namespace

void measure_kv(HeadsState& heads) {
  heads.kv_least = heads.kv_most = 0;
  if (!heads.kv.found) return;
  for (const KvRow& row : *heads.kv.found)
    for (const double x : row.errors) {
      if (!(x > 0) || std::isinf(x)) continue;
      heads.kv_least = heads.kv_least > 0 ? std::min(heads.kv_least, x) : x;
      heads.kv_most = std::max(heads.kv_most, x);
    }
}

const KvRow* draw_kv_table(HeadsState& heads, const TensorFileInfo& info, int open, const Palette& colours) {
  const KvRow* clicked = nullptr;
  ImGui::PushStyleVar(ImGuiStyleVar_ItemSpacing, {0, 0});
  if (ImGui::BeginChild("kv", {0, 0}, ImGuiChildFlags_NavFlattened, ImGuiWindowFlags_HorizontalScrollbar)) {
    const float scrollbar = ImGui::GetStyle().ScrollbarSize;
    const Table table{heads, info, open, colours, columns_of(heads, info, ImGui::GetContentRegionAvail().x - scrollbar)};
    const ImVec2 at = ImGui::GetCursorScreenPos();
    draw_text({at.x + px(air), at.y + (px(head_height) - line_height(Face::small)) / 2}, Face::small, colours.secondary,
              "head");
    for (std::size_t i = 0; i < kv_storages.size(); ++i) draw_head(table, i, at);
    ImGui::SetCursorScreenPos({at.x, at.y + px(head_height)});
    if (ImGui::BeginChild("kv rows", {table.columns.width() + scrollbar, 0}, ImGuiChildFlags_NavFlattened))
      clicked = draw_rows(table);
    ImGui::EndChild();
  }
  ImGui::EndChild();
  ImGui::PopStyleVar();
  return clicked;
}

std::string kv_table_csv(const HeadsState& heads, const TensorFileInfo& info) {
  std::vector<KvRow> rows;
  for (const KvRow* const row : heads.kv.shown) rows.push_back(*row);
  std::vector<std::string> names = info.head_names, layers;
  for (const LayerEntry& layer : info.layers) layers.push_back(layer.name);
  return kv_csv(rows, names, layers);
}

}  // namespace attoscope
