/// Dependence of a row's bits on the cutting of its keys: one method under several schedules, as serving engines choose them by
/// the size of the batch.
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

/// Place at which a row under a schedule gets other bits than under the reference.
enum class PartingPlace : std::uint8_t {
  nowhere,    ///< all its numbers of O have the same bits
  tile,       ///< in the state after some keys: `ScheduleRun::parting`
  merge,      ///< not in any state that both have: only in the first tiles of splits, and in their merge
  end,        ///< not in any state: only in the operations on O after all tiles
  no_common,  ///< not known: they have no state of the same keys
};

/// The method under one schedule, against the first one.
struct ScheduleRun {
  Schedule schedule;
  std::int64_t differing = 0;  ///< numbers of O with other bits, in all computed rows; every NaN counts as one
  int differing_rows = 0;
  std::int64_t differing_in_row = 0;           ///< in the traced row
  double max_ulp = 0;                          ///< of the difference, in ulps of the main format as `Deviation::max_ulp`
  PartingPlace place = PartingPlace::nowhere;  ///< of the traced row
  RowParting parting{};                        ///< of the traced row
  double max_error = 0;                        ///< max |O - golden| over all computed rows; NaN if nothing is finite
  std::uint64_t digest = 0;                    ///< of all computed rows of O

  bool same_bits() const { return differing == 0; }
};

struct Invariance {
  Experiment experiment;          ///< as `invariance_question` makes it
  int row = 0, columns = 0;       ///< the traced row of Q; numbers of O in it
  int rows = 0;                   ///< computed
  std::vector<ScheduleRun> runs;  ///< the first is the reference
  /// The places of runs whose bits are the same in all computed rows, in their order; the reference is in the first.
  std::vector<std::vector<std::size_t>> groups;
};

/// The index of a run's group.
std::size_t group_of(const Invariance& answer, std::size_t run);

/// The experiment with everything that the answer does not depend on at its default: b, and a loaded output.
Experiment invariance_question(const Experiment& experiment);

/// Computes a's arithmetic under each of the schedules, at least one, and compares each with the first. They work in double if
/// a does. `options.cache` is not used. Throws as `compute` does.
Invariance invariance(const Experiment& experiment, const std::vector<Schedule>& list, const Options& options = {});
/// The same under the usual schedules. Throws std::invalid_argument, too, if a has none.
Invariance invariance(const Experiment& experiment, const Options& options = {});

/// Names of `PartingPlace` in files.
inline constexpr EnumArray<PartingPlace> parting_place_names{"nowhere", "tile", "merge", "end", "no_common"};
constexpr std::string_view name(PartingPlace p) { return parting_place_names[p]; }

/// "splits 4 with block_k 64 forward".
std::string schedule_text(const Schedule& s);

/// "O after tile 1, keys 0 .. 127": the place where the traced row gets other bits; "": it has the same.
std::string parting_text(const ScheduleRun& run);

/// "2 of 18 schedules give the bits of splits 1 with block_k 64 forward in the computed rows of these tensors."
std::string invariance_sentence(const Invariance& answer);

/// A row for each schedule.
Table invariance_table(const Invariance& answer);

}  // namespace attoscope
