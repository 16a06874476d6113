/// Loss of a head that keeps K and V in fewer bits, with everything else as in bf16; and the table of all heads of a file.
#pragma once

#include <array>
#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "kernels/compute.h"
#include "kernels/experiment/input.h"
#include "kernels/experiment/table.h"

namespace attoscope {

/// A way to keep K and V.
struct KvStorage {
  std::string_view key;         ///< in files and of --sort
  std::string_view what;        ///< in a few words
  std::string_view text;        ///< text of `parse_scaling`, without the format of reading back; empty: bf16 itself
  bool over_all_heads = false;  ///< one scale for K, and one for V, of all heads of the layer
};
inline constexpr std::array<KvStorage, 7> kv_storages{{
    {"bf16", "bf16", ""},
    {"fp8_tensor", "e4m3, one scale for all heads", "e4m3", true},
    {"fp8_head", "e4m3, a scale a head", "e4m3/head"},
    {"fp8_token", "e4m3, a scale a token", "e4m3/token"},
    {"int8", "int8, a scale a token", "int8/token"},
    {"int4", "int4, a scale for 32 numbers of a token", "int4/columns:32"},
    {"nvfp4", "e2m1, NVFP4's scales for 16 numbers of a token", "e2m1/columns:16/nvfp4"},
}};
/// The storage that orders the table by default: one scale for all heads, in e4m3.
inline constexpr std::size_t usual_kv_order = 1;
static_assert(kv_storages[usual_kv_order].key == "fp8_tensor");

/// The largest magnitudes of K and of V.
struct KvRange {
  double K = 0, V = 0;
};
KvRange kv_range(const Tensors& tensors);

/// The experiment with everything that `kv_errors` does not depend on at its default.
Experiment kv_question(const Experiment& experiment);

/// For each of `kv_storages` the RMS error of flash2 in bf16 on the stored numbers, over the RMS of the golden value on the
/// given ones; NaN if nothing is finite. `layer` is of all heads of the layer. Inputs, mask and tiles are the experiment's.
/// Throws as `compute` does.
std::vector<double> kv_errors(const Experiment& experiment, const KvRange& layer, const Options& options = {});

/// A head's row of the table.
struct KvRow {
  int head = 0, layer = 0;
  AttentionShape shape;
  std::vector<double> errors;  ///< as `kv_errors`
};

/// Order from the worst on by this storage: heads without a finite error first, equal ones by their places.
bool is_worse(const KvRow& x, const KvRow& y, std::size_t by);
/// Sorts the heads by their loss under this storage, the largest first.
void sort_worst_first(std::vector<KvRow>& rows, std::size_t by);

/// A row for each head: its number, name and layer, and the error of each storage. The names of all heads of the file, and of
/// its layers.
Table kv_table(const std::vector<KvRow>& rows, const std::vector<std::string>& heads, const std::vector<std::string>& layers);

}  // namespace attoscope
