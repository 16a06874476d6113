/// Schedules: ways to cut a row's keys, which serving engines choose by batch size.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "kernels/experiment/method.h"

namespace attoscope {

struct Experiment;

/// Settings that may change with the batch size while the kernel rounds at the same steps.
struct Schedule {
  int splits = 1;    ///< runs of equally many tiles, merged by their log-sum-exps; 1: no merge
  int block_k = 64;  ///< keys per tile
  bool reverse_keys = false;
  Accumulators accumulator{};

  friend bool operator==(const Schedule&, const Schedule&) = default;
};

/// "forward" or "reverse".
constexpr std::string_view order_name(const Schedule& s) { return s.reverse_keys ? "reverse" : "forward"; }

/// Accumulators: one name if both products have the same, else q.k's and P.V's: "h100", "h100/fma".
std::string sums_name(const Schedule& s);

/// The method under another schedule: split_kv with splits, flash2 without. Any other algorithm stays.
Method with_schedule(Method m, const Schedule& s);
/// Values whose combinations are the schedules. Empty lists stand for the usual values, the method's own first.
struct ScheduleLists {
  std::vector<int> splits{}, block_k{};
  std::vector<bool> reverse_keys{};
  std::vector<Accumulator> sums{};  ///< for both products

  friend bool operator==(const ScheduleLists&, const ScheduleLists&) = default;
};

/// Half a sentence: the reason why the method cannot have schedules, or not with these lists, and the expected method; "" if it
/// can.
std::string why_no_schedules(const Method& m, const ScheduleLists& lists = {});

/// All combinations for method a, starting with the first values. Usual splits are 1, 2, 4, ... 64 with at least one tile each,
/// usual tiles 32, 64 and 128 keys. Omits values that the method does not have, and repeated schedules. All schedules have a's
/// own sums unless `lists.sums` is given; without any list the first schedule is repeated with fma chains and with the tensor
/// cores of usual GPUs that have sums for the formats of a's products. Throws std::invalid_argument if `why_no_schedules`
/// returns a reason.
std::vector<Schedule> schedules(const Experiment& e, const ScheduleLists& lists = {});

}  // namespace attoscope
