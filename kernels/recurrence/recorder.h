/// Records of method a's run: moves of the running max in every row, and the whole recurrence of one row.
#pragma once

#include <atomic>
#include <memory>

#include "kernels/experiment/trace.h"
#include "kernels/lanes/job.h"

namespace attoscope {

/// Records a run of `job` over `rows`; `traced` is the row of Q to trace, -1: none. Each block writes only its own rows.
template <class T>
class RunRecorder final : public Recorder<T> {
 public:
  /// `golden` is the problem in double; `precise`: computes the exact values of the traced row in double-double.
  RunRecorder(const Job<T>& job, const Job<double>& golden, const std::vector<int>& rows, int traced, bool precise);
  ~RunRecorder() override;

  int kept_lane(const RowBlock& block) const override;
  void tile(const RowBlock& block, const TileView<T>& view) override;

  /// Number of tiles. The map has m of every row_step-th computed row, `held` rows in total.
  int tiles() const { return tiles_; }
  int row_step() const { return map_.row_step; }
  int held() const { return static_cast<int>(map_.m.size()) / tiles_; }
  /// Adds an engine's records of this run: rows in which m changed, [tile], and m, [tile][row / row_step].
  void take_in(const std::vector<std::int64_t>& moved, std::vector<float> m);

  /// Call after the run.
  Rescales rescales() const;
  RescaleMap take_map() { return std::move(map_); }
  Trace take_trace() { return std::move(trace_); }

 private:
  class Tracer;
  const Job<T>& job_;
  const std::vector<int>& rows_;
  int tiles_;
  std::vector<std::atomic<std::int64_t>> moved_;
  RescaleMap map_;
  Trace trace_;
  std::unique_ptr<Tracer> tracer_;  ///< null: no row is traced
};

extern template class RunRecorder<float>;
extern template class RunRecorder<double>;

}  // namespace attoscope
