/// One row of a method with all its scores, tile by tile, recorded from the lanes.
#pragma once

#include <vector>

#include "kernels/cpu/scaled_operands.h"

namespace attoscope {

struct RoundingLog;

/// One tile of one row, with its keys from the first to the last that the row sees; keys are numbered in storage order.
template <class T>
struct RowTile {
  int tile = 0, first_key = 0;
  bool restarts = false;          ///< no state before it: the row's first tile, or the first tile of a run of split_kv
  T m = 0, l = 0, alpha = 1;      ///< after the tile
  std::vector<T> S, before_P, P;  ///< before_P: the number that P is rounded from, e or e/l
  std::vector<T> O;               ///< after the tile
};

/// Everything recorded from the run of one row.
template <class T>
struct RowRun {
  std::vector<RowTile<T>> tiles;
  std::vector<double> output;
  int keys = 0;           ///< keys of the problem
  bool reversed = false;  ///< stored from the last key to the first
};

/// The tiles in which `row` sees a key, in the order of the run; three_pass has one tile. P is the one in P.V; for two_pass the
/// P of the second pass. With a log, uses `recorded_run`.
template <class T>
RowRun<T> row_run(const Job<T>& job, int row, const StopSign& stop, RoundingLog* log = nullptr);
/// Runs one row through the lanes of the kernels, built with a single lane whose rounder logs every number; returns the output.
/// All keys of a tile must fit in a chunk of the lanes (key_chunk).
template <class T>
std::vector<double> recorded_run(const Job<T>& job, int row, Recorder<T>& recorder, RoundingLog& log);
/// The inputs of all methods, rounded by a's input step.
template <class T>
Operands<T> common_operands(const Experiment& experiment, const StopSign& stop);

/// Method a or b of an experiment, ready to run row by row.
template <class T>
class MethodRows {
 public:
  MethodRows(const Experiment& experiment, bool of_b, const StopSign& stop);
  MethodRows(MethodRows&&) = delete;

  const Job<T>& job() const { return job_; }
  const Operands<T>& given() const { return given_; }  ///< rounded by the input step

 private:
  Operands<T> given_;
  MethodOperands<T> taken_;
  Job<T> job_;
};

}  // namespace attoscope
