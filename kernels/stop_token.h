/// A StopSign that polls a function for cancellation and reports progress to another.
#pragma once

#include <algorithm>
#include <atomic>

#include "kernels/compute.h"
#include "kernels/experiment/stop_sign.h"

namespace attoscope {

/// Throws Stopped when `cancelled` returns true; an empty function never stops the work.
class StopToken final : public StopSign {
 public:
  explicit StopToken(const Cancelled& cancelled) : cancelled_(cancelled) {}
  explicit StopToken(const Options& options) : cancelled_(options.cancelled), progress_(&options.progress) {
    isa = options.isa;
  }
  void check() const override {
    if (cancelled_ && cancelled_()) throw Stopped{};
  }

  /// Sets the total work; set_row_work sets the work per following row, initially 0.
  void expect(double work) { expected_ = work; }
  void set_row_work(double row) { weight_ = row; }
  void report_rows(std::size_t rows) const override { report(weight_ * static_cast<double>(rows)); }
  /// Reports work that is not counted in rows.
  void report(double work) const {
    if (progress_ == nullptr || !*progress_ || !(expected_ > 0)) return;
    (*progress_)(std::min(1.0, (done_.fetch_add(work) + work) / expected_));
  }

 private:
  const Cancelled& cancelled_;
  const Progress* progress_ = nullptr;
  double expected_ = 0, weight_ = 0;
  mutable std::atomic<double> done_{0};
};

/// A StopSign for one part of the work; sums its time over all threads.
class PhaseTimer final : public StopSign {
 public:
  void follow(const StopSign& whole) { whole_ = &whole, isa = whole.isa; }
  void check() const override { whole_->check(); }
  void report_rows(std::size_t rows) const override { whole_->report_rows(rows); }
  void worked(double ms) const override { ms_.fetch_add(ms, std::memory_order_relaxed); }
  double ms() const { return ms_; }

 private:
  const StopSign* whole_ = nullptr;
  mutable std::atomic<double> ms_{0};
};

}  // namespace attoscope
