/// Section 3 of the design as plainly as it can be written: one query at a time, double loops, nothing shared with kernels/
/// but the value types and the scalar exp, which *is* the definition of exp. Slow; the tests hold compute() against it.
#pragma once

#include <vector>

#include "kernels/experiment.h"

namespace attoscope::plain {

/// The number of f nearest to x, by scaling to an integer in long double and back.
template <class T>
T nearest(const Format& f, T x);

/// One row's state after a tile was taken in.
struct Tile {
  int tile = 0;         ///< index from key 0 on
  double max_true = 0;  ///< largest score so far; -infinity where all are NaN
  double m = 0, alpha = 1, l = 0;
  std::vector<double> O;
  std::vector<double> output;             ///< O/l rounded, if the loop ended here
  std::vector<double> S, e, before_P, P;  ///< of the tile's keys; before_P: what P is rounded from
  bool moved = false;
};

/// What a method makes of one row of Q. three_pass has one tile: all keys.
struct Row {
  std::vector<double> output;
  std::vector<Tile> tiles;
};

/// `method` of the experiment applied to `row`; `inputs` as rounded for everybody.
Row attend(const Experiment& experiment, const Method& method, const Tensors& inputs, int row);

/// Softmax attention of `row` over `keys` without roundings of ours: in 113 bits where the compiler has them, else in 64.
std::vector<long double> softmax(const Tensors& inputs, double scale, int row, Keys keys);

}  // namespace attoscope::plain
