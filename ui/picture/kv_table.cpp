#include "ui/picture/kv_table.h"

#include <algorithm>
#include <cmath>

#include "kernels/questions/kv_cache.h"
#include "ui/widgets/table_view.h"
#include "ui/widgets/widgets.h"

namespace attoscope {

namespace {

/// The share of its cell that the bar of an error fills.
float share_of(const HeadsState& heads, double error) {
  if (std::isnan(error) || std::isinf(error)) return 1;
  if (!(error > 0)) return 0;
  const double low = heads.kv_least / 2, range = std::log(heads.kv_most / low);
  return static_cast<float>(std::clamp(std::log(error / low) / range, 0.0, 1.0));
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

Table shown_kv_table(const HeadsState& heads, const TensorFileInfo& info) {
  std::vector<KvRow> rows;
  for (const KvRow* const row : heads.kv.shown) rows.push_back(*row);
  std::vector<std::string> layers;
  for (const LayerEntry& layer : info.layers) layers.push_back(layer.name);
  return kv_table(rows, info.head_names, layers);
}

const KvRow* draw_kv_table(const HeadsState& heads, const TensorFileInfo& info, int open) {
  const Table table = shown_kv_table(heads, info);
  const auto row = [&](std::size_t i) {
    const int head = heads.kv.shown[i]->head;
    return TableRow{
        .id = "kv head " + std::to_string(head),
        .meaning = head == open ? "It is open: a click shows it, Ctrl+Z comes back." : "A click opens it, Ctrl+Z comes back.",
        .formula =
            "RMS error over the RMS of the exact output\nbar: from the least to the largest of the table, "
            "logarithmic",
        .chosen = head == open,
        .mark = {}};
  };
  const auto bar = [&](std::size_t i, std::size_t column) {
    const auto* const error = std::get_if<double>(&table.rows[i][column]);
    return error == nullptr ? -1.0f : share_of(heads, *error);
  };
  const auto clicked = draw_table("kv", table, {.row = row, .bar = bar});
  return clicked ? heads.kv.shown[*clicked] : nullptr;
}

}  // namespace attoscope
