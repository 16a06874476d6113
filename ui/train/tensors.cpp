// Every tensor's numbers at the picked step.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>
#include <vector>

#include "imgui.h"
#include "kernels/train/record.h"
#include "ui/train/panels.h"
#include "ui/train/words.h"
#include "ui/widgets/widgets.h"
#include "ui/words/numbers.h"

namespace attoscope {

namespace {

constexpr float row_height = 18;
constexpr int columns = 5;
constexpr std::array<const char*, columns> heads{"max", "W1", "rel. L2", "cos", "direct."};

double number_of(const WeightDeviation& d, int column) { return d.*weight_numbers[static_cast<std::size_t>(column)].second; }

std::string number_text(const WeightDeviation& d, int column) {
  const double x = number_of(d, column);
  if (column < 3 || !std::isfinite(x)) return scientific(x, 2);
  return fmt::format("{:.{}f}", x, column == 3 ? 3 : 2);
}

/// Right edges of the numbers.
struct Columns {
  float left, step, right;
  float edge(int column) const { return right - static_cast<float>(columns - 1 - column) * step; }
};

/// Column headings. A click sorts the rows, the largest number first; a second click restores the order of the model.
void draw_heads(const TrainScene& s, const Columns& c, float y) {
  for (int i = 0; i < columns; ++i) {
    const float edge = c.edge(i);
    ImGui::SetCursorScreenPos({edge - c.step, y});
    if (ImGui::InvisibleButton((std::string("sort by ") + heads[static_cast<std::size_t>(i)]).c_str(), {c.step, px(18)}))
      s.state.sorted_by = s.state.sorted_by == i ? -1 : i;
    const MeasureText& text = text_of(static_cast<TrainMeasure>(i));
    explain(std::string(text.what) + " A click sorts by it; a second click restores the order of the model.", text.formula);
    const bool sorted = s.state.sorted_by == i, hot = ImGui::IsItemHovered();
    draw_text({edge, y + px(2)}, Face::small,
              sorted ? s.colours.accent
              : hot  ? s.colours.text
                     : s.colours.faint,
              fitted(Face::small, heads[static_cast<std::size_t>(i)], c.step - px(4)), 1);
  }
}

std::vector<std::size_t> order_of(const PairPoint& point, int sorted_by) {
  std::vector<std::size_t> order(point.deviations.empty() ? 0 : point.deviations.size() - 1);
  std::iota(order.begin(), order.end(), std::size_t{0});
  if (sorted_by < 0) return order;
  const auto key = [&](std::size_t t) {
    const double x = number_of(point.deviations[t + 1], sorted_by);
    return std::isnan(x) ? -1e308 : -x;  // NaN comes first, then the largest
  };
  std::ranges::stable_sort(order, {}, key);
  return order;
}

/// A line; a click chooses the tensor for the curves and the picture.
void draw_row(const TrainScene& s, const Columns& c, const WeightDeviation& d, int tensor) {
  const ParameterTensor* const t = tensor >= 0 ? &s.record()->parameters.tensors[static_cast<std::size_t>(tensor)] : nullptr;
  const std::string text = t != nullptr ? short_name(*t) : "all", id = "##tensor " + (t != nullptr ? t->name : "all");
  const ImVec2 at = ImGui::GetCursorScreenPos(), size{c.right - c.left, px(row_height)};
  if (ImGui::InvisibleButton(id.c_str(), size)) s.look().tensor = tensor;
  light_row(at, size, s.look().tensor == tensor, s.colours);
  explain(t != nullptr ? t->name + fmt::format(", {} × {}. A click shows its curves and its picture.", t->rows, t->cols)
                       : "Over all tensors. A click shows their curves and picture.");
  const float y = at.y + (size.y - line_height(Face::mono_small)) / 2;
  draw_text({at.x, y - px(1)}, Face::small, s.colours.text, fitted(Face::small, text, c.edge(0) - c.step + px(4) - c.left));
  for (int i = 0; i < columns; ++i) {
    const bool good = std::isfinite(number_of(d, i)) || i == 3;  // the cosine of zero updates is NaN, which is no fault
    draw_text({c.edge(i), y}, Face::mono_small,
              !good    ? s.colours.bad
              : i == 0 ? s.colours.text
                       : s.colours.secondary,
              number_text(d, i), 1);
  }
}

}  // namespace

void draw_train_tensors(const TrainScene& s, float height) {
  const TrainRecord& r = *s.record();
  const ImVec2 at = ImGui::GetCursorScreenPos();
  const float width = ImGui::GetContentRegionAvail().x;
  const auto p = std::min(r.pairs.empty() ? 0 : r.pairs.size() - 1, static_cast<std::size_t>(s.look().pair));
  const PairPoint* const point = r.pairs.empty() ? nullptr : point_at(r.pairs[p], s.look().step);
  const std::string title =
      r.pairs.empty() ? "Weights" : r.pairs[p].pair.name + (point != nullptr ? fmt::format(", step {}", point->step) : "");
  draw_text(at, Face::label, s.colours.text, fitted(Face::label, title, width));
  const Columns c{at.x, std::floor(std::min(px(50), (width - px(80)) / columns)), at.x + width - px(10)};
  draw_heads(s, c, at.y + px(19));
  const bool known = point != nullptr && !point->deviations.empty();
  const std::vector<std::size_t> order = known ? order_of(*point, s.state.sorted_by) : std::vector<std::size_t>{};
  draw_rows(
      s, "tensors", at, {width, height}, px(38), px(row_height),
      known ? 1 + std::min(order.size(), r.parameters.tensors.size()) : 0,
      [&](std::size_t i) {
        const std::size_t place = i == 0 ? 0 : 1 + order[i - 1];  // the first row is about all tensors
        draw_row(s, c, point->deviations[place], static_cast<int>(place) - 1);
      },
      [&] { return tensors_csv(r, s.look().pair, s.look().step); });
}

}  // namespace attoscope
