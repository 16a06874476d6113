/// Error of a head that stores K and V in fewer bits, everything else as in bf16; and the table of all heads of a file.
#pragma once

#include <array>
#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "kernels/compute.h"
#include "kernels/experiment/table.h"

namespace attoscope {

/// A way to store K and V.
struct KvStorage {
  std::string_view key;         ///< name in files and for --sort
  std::string_view what;        ///< short description
  std::string_view text;        ///< argument of `parse_scaling`, without the read-back format; empty: plain bf16
  bool over_all_heads = false;  ///< one scale for K, and one for V, over all heads of the layer
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
/// The storage by which the table is sorted by default: e4m3 with one scale for all heads.
inline constexpr std::size_t usual_kv_order = 1;
static_assert(kv_storages[usual_kv_order].key == "fp8_tensor");

/// Largest magnitudes of K and of V.
struct KvRange {
  double K = 0, V = 0;
};

/// The experiment with everything that does not affect `kv_errors` at its default.
Experiment kv_question(const Experiment& experiment);

/// RMS error of flash2 in bf16 on the stored K and V over the RMS of golden on the given ones, for each of `kv_storages`; NaN
/// if nothing is finite. `layer` is the range over all heads of the layer. Uses the inputs, mask and tiles of `experiment`.
/// Throws as `compute` does.
std::vector<double> kv_errors(const Experiment& experiment, const KvRange& layer, const Options& options = {});

/// One head's row of the table.
struct KvRow {
  int head = 0, layer = 0;
  std::vector<double> errors;  ///< as `kv_errors`
};

/// Compares by the error with this storage: larger first, a head without a finite error before all others, equal ones by head.
bool is_worse(const KvRow& x, const KvRow& y, std::size_t by);
/// Sorts heads by the error with this storage, largest first.
void sort_worst_first(std::vector<KvRow>& rows, std::size_t by);

/// One row per head: number, name, layer, and the error with each storage. `heads` and `layers` are the names of all heads and
/// layers of the file.
Table kv_table(const std::vector<KvRow>& rows, const std::vector<std::string>& heads, const std::vector<std::string>& layers);

}  // namespace attoscope
