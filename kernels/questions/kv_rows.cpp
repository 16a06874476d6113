#include "kernels/questions/kv_rows.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "kernels/experiment/csv_text.h"
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

std::string kv_csv(const std::vector<KvRow>& rows, const std::vector<std::string>& heads,
                   const std::vector<std::string>& layers) {
  std::string head = "head,name,layer";
  for (const KvStorage& s : kv_storages) head.append(",").append(s.key);
  CsvText csv(head);
  for (const KvRow& row : rows) {
    csv.add(row.head).add(heads[static_cast<std::size_t>(row.head)]).add(layers[static_cast<std::size_t>(row.layer)]);
    for (const double error : row.errors) csv.add(error);
    csv.end_line();
  }
  return csv.take();
}

}  // namespace attoscope
