#include <algorithm>
#include <cmath>
#include <utility>

#include "ui/train/panels.h"

namespace attoscope {

namespace {

/// True if this step is the same in both records: its loss has the same bits.
bool same_step(const TrainRecord& x, const TrainRecord& y, int step) {
  if (step == 0) return true;
  if (x.runs.empty() || y.runs.empty()) return false;
  const StepReport *const one = step_at(x.runs[0], step), *const other = step_at(y.runs[0], step);
  if (one == nullptr || other == nullptr || one->step != step || other->step != step) return false;
  return one->loss == other->loss || (std::isnan(one->loss) && std::isnan(other->loss));
}

bool has_new_fork(const TrainRecord& before, const TrainRecord& now) {
  return !now.forks.empty() &&
         (now.forks.size() > before.forks.size() || now.forks.back().sentence != before.forks[now.forks.size() - 1].sentence);
}

}  // namespace

int left_after(const TrainRecord& before, const TrainRecord& now) {
  const bool forked = has_new_fork(before, now);
  const int step = forked ? now.forks.back().step : now.step;
  const bool has_more = before.step > step && (forked || step > 0);
  return has_more && same_step(before, now, step) ? step : -1;
}

bool follow(TrainBranches& b, const std::shared_ptr<const TrainRecord>& now) {
  if (now == b.seen) return false;
  const std::shared_ptr<const TrainRecord> before = std::exchange(b.seen, now);
  if (!before || !now) {
    b.left.clear();
    return true;
  }
  const bool goes_on = now->step >= before->step && now->plan == before->plan && !has_new_fork(*before, *now);
  if (goes_on) return false;
  const int from = b.begins_anew ? -1 : left_after(*before, *now);
  b.begins_anew = false;
  if (from < 0) {
    b.left.clear();
    return true;
  }
  b.left.push_back({before, from, has_new_fork(*before, *now)});
  if (b.left.size() > TrainBranches::most) b.left.erase(b.left.begin());
  return false;
}

}  // namespace attoscope
