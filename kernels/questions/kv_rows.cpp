#include "kernels/questions/kv_rows.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "kernels/questions/kv_cache.h"

namespace attoscope {

bool is_worse(const KvRow& x, const KvRow& y, std::size_t by) {
  const auto size = [by](const KvRow& r) {
    return std::isnan(r.errors[by]) ? std::numeric_limits<double>::infinity() : r.errors[by];
  };
  return size(x) != size(y) ? size(x) > size(y) : x.head < y.head;
}

void sort_worst_first(std::vector<KvRow>& rows, std::size_t by) {
  std::ranges::sort(rows, [by](const KvRow& x, const KvRow& y) { return is_worse(x, y, by); });
}

Table kv_table(const std::vector<KvRow>& rows, const std::vector<std::string>& heads, const std::vector<std::string>& layers) {
  const auto named = [](const std::vector<std::string>& names, int place, const char* kind) {
    const auto at = static_cast<std::size_t>(place);
    return at < names.size() ? names[at] : kind + std::to_string(place);
  };
  std::vector<TableColumn<KvRow>> columns{
      table_column<KvRow>({.key = "head", .minor = true}, &KvRow::head),
      table_column<KvRow>({.key = "name"}, [&](const KvRow& row) { return named(heads, row.head, "head "); }),
      table_column<KvRow>({.key = "layer", .shown = ColumnFor::files},
                          [&](const KvRow& row) { return named(layers, row.layer, "layer "); })};
  for (std::size_t i = 0; i < kv_storages.size(); ++i)
    columns.push_back(table_column<KvRow>(
        {.key = std::string(kv_storages[i].key), .digits = 3, .meaning = std::string(kv_storages[i].what) + "."},
        [i](const KvRow& row) { return i < row.errors.size() ? TableCell{row.errors[i]} : TableCell{}; }));
  return table_of(columns, std::span<const KvRow>(rows));
}

}  // namespace attoscope
