#include "app/sweep/point_scheduler.h"

#include <algorithm>

namespace attoscope {

PointScheduler::PointScheduler(const std::vector<std::size_t>& points, int workers)
    : waiting_(points.begin(), points.end()),
      with_(static_cast<std::size_t>(workers)),
      finished_(points.empty() ? 0 : *std::ranges::max_element(points) + 1, true),
      unfinished_(points.size()),
      longest_(std::clamp<std::size_t>(points.size() / (8 * with_.size()), 1, 32)) {
  for (const std::size_t p : points) finished_[p] = false;
}

std::vector<std::size_t> PointScheduler::next(int worker) {
  lost(worker);  // returns unfinished points of its last run
  std::vector<std::size_t>& run = with_[static_cast<std::size_t>(worker)];
  while (!waiting_.empty() && run.size() < longest_) {
    if (!finished_[waiting_.front()]) run.push_back(waiting_.front());
    waiting_.pop_front();
  }
  return run;
}

bool PointScheduler::finished(std::size_t point) {
  if (point >= finished_.size() || finished_[point]) return false;
  finished_[point] = true;
  --unfinished_;
  return true;
}

void PointScheduler::lost(int worker) {
  std::vector<std::size_t>& run = with_[static_cast<std::size_t>(worker)];
  std::erase_if(run, [&](std::size_t p) { return finished_[p]; });
  waiting_.insert(waiting_.begin(), run.begin(), run.end());
  run.clear();
}

}  // namespace attoscope
