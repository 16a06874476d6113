/// The heads of a file as rows of a table: the loss of each under every storage of the KV cache.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "kernels/experiment/shape.h"
#include "kernels/experiment/table.h"

namespace attoscope {

/// A head's row of the table.
struct KvRow {
  int head = 0, layer = 0;
  AttentionShape shape;
  std::vector<double> errors;  ///< as `kv_errors`
};

/// The storage that orders the table by default: one scale for all heads, in e4m3.
inline constexpr std::size_t usual_kv_order = 1;

/// Order from the worst on by this storage: heads without a finite error first, equal ones by their places.
bool is_worse(const KvRow& x, const KvRow& y, std::size_t by);
/// Sorts the heads by their loss under this storage, the largest first.
void sort_worst_first(std::vector<KvRow>& rows, std::size_t by);

/// A row for each head: its number, name and layer, and the error of each storage. The names of all heads of the file, and of
/// its layers.
Table kv_table(const std::vector<KvRow>& rows, const std::vector<std::string>& heads, const std::vector<std::string>& layers);

}  // namespace attoscope
