/// Dependence of a row's bits on how its keys are cut: one method under several schedules, as serving engines choose them by
/// batch size.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "kernels/compute.h"
#include "kernels/experiment/experiment.h"
#include "kernels/experiment/table.h"
#include "kernels/questions/methods_apart.h"
#include "kernels/questions/schedules.h"

namespace attoscope {

/// Place at which the bits of a row first differ from those under the reference schedule.
enum class PartingPlace : std::uint8_t {
  nowhere,    ///< all elements of O have the same bits
  tile,       ///< in the state after some keys: `ScheduleRun::parting`
  merge,      ///< in no state that both have: only in the first tiles of splits, and in their merge
  end,        ///< in no state: only in the operations on O after all tiles
  no_common,  ///< unknown: the two runs have no state after the same keys
};

/// The method under one schedule, compared with the first schedule.
struct ScheduleRun {
  Schedule schedule;
  std::int64_t differing = 0;  ///< elements of O with other bits, in all computed rows; all NaN are equal
  int differing_rows = 0;
  std::int64_t differing_in_row = 0;           ///< in the traced row
  double max_ulp = 0;                          ///< of the difference, in ulps of the main format, as `Deviation::max_ulp`
  PartingPlace place = PartingPlace::nowhere;  ///< of the traced row
  RowParting parting{};                        ///< of the traced row
  double max_error = 0;                        ///< max |O - golden| over all computed rows; NaN if nothing is finite
  std::uint64_t digest = 0;                    ///< of all computed rows of O
  std::size_t group = 0;                       ///< index into `Invariance::groups`

  bool same_bits() const { return differing == 0; }
};

struct Invariance {
  Experiment experiment;          ///< as returned by `invariance_question`
  int row = 0, columns = 0;       ///< the traced row of Q; elements of O in it
  int rows = 0;                   ///< computed rows
  std::vector<ScheduleRun> runs;  ///< the first is the reference
  /// Indices into `runs`, grouped by equal bits in all computed rows; the reference is in the first group.
  std::vector<std::vector<std::size_t>> groups;
};

/// The experiment with everything that does not affect the result at its default: b, a loaded output, and the backward pass.
Experiment invariance_question(const Experiment& experiment);

/// Runs method a under each schedule of `list` (at least one), and compares each run with the first. Works in double if a does.
/// Ignores `options.cache`. Throws as `compute` does.
Invariance invariance(const Experiment& experiment, const std::vector<Schedule>& list, const Options& options = {});
/// Same for the usual schedules. Throws std::invalid_argument, too, if a has none.
Invariance invariance(const Experiment& experiment, const Options& options = {});

/// Names of `PartingPlace` in files.
inline constexpr EnumArray<PartingPlace> parting_place_names{"nowhere", "tile", "merge", "end", "no_common"};
constexpr std::string_view name(PartingPlace p) { return parting_place_names[p]; }

/// "splits 4 with block_k 64 forward".
std::string schedule_text(const Schedule& s);

/// "O after tile 1, keys 0 .. 127": the place where the traced row gets other bits; "" if it has the same bits.
std::string parting_text(const ScheduleRun& run);

/// "2 of 18 schedules give the bits of splits 1 with block_k 64 forward in the computed rows of these tensors."
std::string invariance_sentence(const Invariance& answer);

/// One row per schedule.
Table invariance_table(const Invariance& answer);

}  // namespace attoscope
