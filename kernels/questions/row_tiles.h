/// One row of a method with all its scores, tile by tile, as the lanes ran it.
#pragma once

#include <memory>
#include <vector>

#include "kernels/cpu/simulate.h"

namespace attoscope {

struct Experiment;
struct Tensors;

/// One tile of one row; keys are numbered as they are stored.
template <class T>
struct RowTile {
  int tile = 0, first_key = 0;
  bool restarts = false;          ///< the row had no state before: its first tile, or the first of a run of split_kv
  T m = 0, l = 0, alpha = 1;      ///< after the tile
  std::vector<T> S, before_P, P;  ///< before_P: the number that P is rounded from, e or e/l
  std::vector<T> O;               ///< after the tile
};

/// Everything recorded of the run of one row.
template <class T>
struct RowRun {
  std::vector<RowTile<T>> tiles;
  std::vector<double> output;
};

/// The tiles in which `row` sees a key, in the order in which they are taken; three_pass has one. P is the one that enters P.V:
/// of two_pass that of its second pass.
template <class T>
RowRun<T> row_run(const Job<T>& job, int row, const StopSign& stop);
/// The tiles alone.
template <class T>
std::vector<RowTile<T>> row_tiles(const Job<T>& job, int row, const StopSign& stop);

/// The inputs as a's input step rounds them for all.
template <class T>
Operands<T> common_operands(const Experiment& experiment, const StopSign& stop);

/// Method a or b of an experiment, ready to run row by row.
template <class T>
class MethodRows {
 public:
  MethodRows(const Experiment& experiment, bool of_b, const StopSign& stop);
  MethodRows(const MethodRows&) = delete;
  MethodRows& operator=(const MethodRows&) = delete;

  const Job<T>& job() const { return job_; }

 private:
  Operands<T> operands_;
  Job<T> job_;
};

/// Method a of an experiment, ready to run row by row, and the problem in double for the golden value.
template <class T>
class SingleRowRuns {
 public:
  SingleRowRuns(const Experiment& experiment, const StopSign& stop);

  const Job<T>& a() const { return a_; }
  const Job<double>& golden() const { return golden_; }

 private:
  Operands<T> operands_;
  std::shared_ptr<const Tensors> inputs_;  ///< as rounded for all methods
  Job<T> a_;
  Job<double> golden_;
};

extern template Operands<float> common_operands(const Experiment&, const StopSign&);
extern template Operands<double> common_operands(const Experiment&, const StopSign&);
extern template class MethodRows<float>;
extern template class MethodRows<double>;
extern template class SingleRowRuns<float>;
extern template class SingleRowRuns<double>;
extern template RowRun<float> row_run(const Job<float>&, int, const StopSign&);
extern template RowRun<double> row_run(const Job<double>&, int, const StopSign&);
extern template std::vector<RowTile<float>> row_tiles(const Job<float>&, int, const StopSign&);
extern template std::vector<RowTile<double>> row_tiles(const Job<double>&, int, const StopSign&);

}  // namespace attoscope
