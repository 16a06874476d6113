/// Section 3 of the design as plainly as it can be written: one query at a time, double loops, nothing shared with kernels/ but
/// the value types and the scalar exp, 2^x, ln and soft-capping, which *are* their definitions. Slow; the tests compare
/// compute() with it. Without stochastic rounding.
#pragma once

#include <vector>

#include "kernels/experiment/experiment.h"

namespace attoscope::plain {

/// The number of f nearest to x, by scaling to an integer in long double and back.
template <class T>
T nearest(const Format& f, T x);

/// One row's state after a tile was taken in.
struct Tile {
  int tile = 0;         ///< index, from the first key taken on
  Keys seen{};          ///< keys in the state, from the first key of the row or run on
  double max_true = 0;  ///< largest S so far; -infinity if all are NaN
  double m = 0, alpha = 1, l = 0;
  std::vector<double> O;                  ///< empty in two_pass, which has none yet
  std::vector<double> output;             ///< rounded, if the loop ended here
  std::vector<double> S, e, before_P, P;  ///< of the tile's keys; before_P: the numbers that P is rounded from. two_pass: P is
                                          ///< e
  bool moved = false;
  bool restarts = false;  ///< the first of its run
};

/// A method's answer for one row of Q. three_pass has one tile: all keys. A row without keys has zeros and no tile.
struct Row {
  std::vector<double> output;
  std::vector<Tile> tiles;
  double score_unit = 1;  ///< m and max_true times this are scores
  double m = 0, l = 0;    ///< at the end, l with the sink's share; split_kv: m + ln l is the log-sum-exp
};

/// `method` of the experiment applied to `row`, or to every one of `rows`; `inputs` as rounded for all methods.
Row attend(const Experiment& experiment, const Method& method, const Tensors& inputs, int row);
std::vector<Row> attend(const Experiment& experiment, const Method& method, const Tensors& inputs,
                        const std::vector<int>& rows);

/// flash2 with its order of operations, starting from the row's final max: no tile moves m, alpha is always 1.
std::vector<Row> attend_without_rescales(const Experiment& experiment, const Method& method, const Tensors& inputs,
                                         const std::vector<int>& rows);

/// Attention of `row` over `keys` without a method's roundings: in 113 bits if the compiler has them, else in 64.
std::vector<long double> softmax(const Problem& problem, const Tensors& inputs, int row, Keys keys);

}  // namespace attoscope::plain
