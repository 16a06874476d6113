#include "kernels/train/ending.h"

#include <algorithm>

namespace attoscope {

std::string ended(const TrainRecord& record) {
  const std::vector<RunRecord>& runs = record.runs;
  const auto goes_on = [](const RunRecord& run) { return run.stopped.empty(); };
  if (!goes_on(runs[1])) return runs[1].stopped;
  const bool suspects_left = record.plan.kind == TrainKind::bisect && std::any_of(runs.begin() + 2, runs.end(), goes_on);
  return suspects_left ? std::string() : runs[0].stopped;
}

}  // namespace attoscope
