/// The answer of `compute`, immutable once made.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "kernels/experiment/experiment.h"
#include "kernels/experiment/gradients.h"
#include "kernels/experiment/matrix.h"
#include "kernels/experiment/measures.h"
#include "kernels/experiment/trace.h"
#include "kernels/experiment/traffic.h"

namespace attoscope {

/// Parts that are computed only if they are wanted; nothing else of the answer depends on them.
struct Wanted {
  bool wasserstein = true;  ///< `Deviation::wasserstein`, for which all values are sorted
  bool trace = true;        ///< `Result::trace`

  bool covers(const Wanted& other) const { return (wasserstein || !other.wasserstein) && (trace || !other.trace); }
  friend bool operator==(const Wanted&, const Wanted&) = default;
};

/// Parts of an update that the CPU's threads work on.
enum class UpdatePart : std::uint8_t { drawn, rounded, golden, a, b, recurrence, moments, sorted, deviations, distances, kept };
inline constexpr EnumArray<UpdatePart> update_part_names{"inputs drawn",
                                                         "inputs rounded",
                                                         "golden",
                                                         "a, recorded and traced",
                                                         "b",
                                                         "rescales, quantiles, a row traced alone",
                                                         "moments and digests",
                                                         "values sorted",
                                                         "errors, ulps, histograms",
                                                         "Wasserstein-1",
                                                         "kept for the next update"};

/// Times of a backward pass, in ms; 0 if cached.
struct BackwardTiming {
  double golden = 0, a = 0, b = 0, deviation = 0;
};

struct Timing {
  double inputs = 0, golden = 0, a = 0, b = 0, deviation = 0, total = 0;  ///< ms; 0 if cached
  BackwardTiming backward{};
  std::array<double, update_part_names.size()> busy{};  ///< of each `UpdatePart`: ms, summed over the threads of the CPU
};

/// Further comparisons of a real kernel's output: of two runs with each other, and of the kernel with its emulation (flash2
/// `hw` with the same tile and exp2).
struct HardwareCheck {
  std::string instruction;       ///< "mma.sync.m16n8k16"
  std::int64_t changed = 0;      ///< elements in which a second run gave other bits
  double run_to_run_ulp = 0;     ///< max |first - second run| in ulps of fp32
  double emulator_max_ulp = 0;   ///< max |kernel - emulation| in ulps of the main format, as `Deviation::max_ulp`
  double emulator_mean_ulp = 0;  ///< mean of the same; NaN if nothing is finite
};

/// Sources of the error of a method that stores Q, K and V with scales. Element by element, output - golden = (output - golden
/// of the stored) + (golden of the stored - golden): the arithmetic, and the storage.
struct ErrorParts {
  std::shared_ptr<const Matrix> stored_golden;  ///< golden of the dequantised Q, K and V
  Deviation storage;                            ///< stored_golden against golden; no Wasserstein-1 here, nor in `arithmetic`
  Deviation arithmetic;                         ///< the output against stored_golden
};

class DeviceMatrices;

struct Result {
  Experiment experiment;
  std::string device;                     ///< "cpu avx512, 2 threads", "cuda:0 NVIDIA H200"
  std::string remark;                     ///< one sentence that says why the requested device was not used; empty: it was
  std::vector<int> rows;                  ///< row of Q for each row of the matrices
  int rows_without_keys = 0;              ///< number of these rows that see no key (see Problem::empty_rows)
  std::shared_ptr<const Tensors> inputs;  ///< Q, K, V as rounded for all methods
  std::shared_ptr<const Matrix> golden;
  Matrix a, b;
  /// The log-sum-exp of each row: natural for golden; for a and b in the base that they store. Empty for a
  /// method that is not emulated.
  std::vector<double> golden_lse, a_lse, b_lse;
  std::shared_ptr<const DeviceMatrices> on_device;  ///< the same matrices on a GPU; null: computed on the CPU
  double golden_rms = 0;
  std::int64_t golden_nonfinite = 0;
  Deviation a_error, b_error, a_minus_b;       ///< a and b against golden; a against b
  std::optional<ErrorParts> a_parts, b_parts;  ///< of methods that store Q, K or V with scales
  std::shared_ptr<const Matrix> shares;        ///< error over tolerance of each element of a judged loaded output; else null
  std::optional<HardwareCheck> hardware;       ///< of a if it is `hardware`, else of b if it is
  Rescales rescales;
  RescaleMap rescale_map;
  Trace trace;
  Wanted holds;  ///< optional parts that were computed; others are NaN, or a trace without tiles
  Traffic traffic;
  std::optional<BackwardResult> backward;  ///< of experiments with a backward pass
  Timing timing;
  Digests digests;
};

/// The row of Q in which the running max of a moved most often, among the rows of the rescale map; the last of equal ones. -1
/// if the map is empty.
int busiest_row(const Result& result);

/// Error of a log-sum-exp, natural, over the rows in which it is finite; NaN without such a row.
struct LseError {
  double max_abs = 0, rms = 0, bias = 0;
  std::int64_t nonfinite = 0;  ///< rows left out: golden's or the method's is not finite; rows without keys do not count
};
/// `base_2`: `lse` is in base 2.
LseError lse_error(const std::vector<double>& golden, const std::vector<double>& lse, bool base_2);

}  // namespace attoscope
