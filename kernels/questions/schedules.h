/// Schedules: cuttings of a row's keys, which serving engines choose by the size of the batch.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "kernels/experiment/method.h"

namespace attoscope {

struct Experiment;

/// Settings that may change from one batch size to another while the kernel rounds at the same places.
struct Schedule {
  int splits = 1;    ///< runs of equally many tiles, merged by their log-sum-exp; 1: no merge
  int block_k = 64;  ///< keys of a tile
  bool reverse_keys = false;
  Accumulators accumulator{};

  friend bool operator==(const Schedule&, const Schedule&) = default;
};

/// "forward" or "reverse".
constexpr std::string_view order_name(const Schedule& s) { return s.reverse_keys ? "reverse" : "forward"; }

/// Accumulator of both products, or q.k and P.V if they differ: "h100", "h100/fma".
std::string sums_name(const Schedule& s);

/// The method under another schedule. With splits it is split_kv, without flash2; any other algorithm stays.
Method with_schedule(Method m, const Schedule& s);
/// Values whose combinations are the schedules; empty lists: the usual ones, the method's own first.
struct ScheduleLists {
  std::vector<int> splits{}, block_k{};
  std::vector<bool> reverse_keys{};
  std::vector<Accumulator> sums{};  ///< of both products

  friend bool operator==(const ScheduleLists&, const ScheduleLists&) = default;
};

/// Half a sentence that says why the method cannot have schedules, or not those of the lists, and what is expected; "": it can.
std::string why_no_schedules(const Method& m, const ScheduleLists& lists = {});

/// All combinations for the experiment's method a, that of the first values first. Usual splits are 1, 2, 4, ... 64 with a tile
/// for each, usual tiles 32, 64 and 128 keys; values that the method does not have, and repeated schedules, are left out. All
/// have a's own sums unless there is a list of them; without any list the first one comes again with fma chains and with the
/// tensor cores of usual GPUs that have sums for the formats of a's products. Throws std::invalid_argument if there is a reason
/// against the lists.
std::vector<Schedule> schedules(const Experiment& e, const ScheduleLists& lists = {});

}  // namespace attoscope
