/// The answer: what `compute` found, immutable once made.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "kernels/experiment.h"

namespace attoscope {

/// Row-major matrix of double; values of a float computation are held exactly.
struct Matrix {
  int rows = 0, cols = 0;
  std::vector<double> values;

  double operator()(int r, int c) const { return values[static_cast<std::size_t>(r) * cols + c]; }
};

/// Bins of the histogram of signed ulps: quarter ulps from -8 to 8, and one bin beyond either end.
struct UlpHistogram {
  static constexpr int per_ulp = 4, reach = 8, inner = 2 * reach * per_ulp;
  std::array<std::int64_t, inner + 2> counts{};  ///< [0]: below -reach; [1 + k]: from -reach + k/per_ulp; last: from reach on
};

/// How far x is from a reference y, over the elements in which both are finite. Where none is: NaN, and `nonfinite` says why.
struct Deviation {
  double max_abs = 0;      ///< max |x - y|
  double mean_abs = 0;     ///< mean |x - y|
  double rms = 0;          ///< sqrt(mean (x - y)^2)
  double std = 0;          ///< standard deviation of x - y
  double bias = 0;         ///< mean (x - y)
  double rel_rms = 0;      ///< rms / RMS of y
  double cosine = 0;       ///< x.y / (|x| |y|)
  double wasserstein = 0;  ///< Wasserstein-1: mean |sorted x - sorted y|
  double max_ulp = 0;      ///< max |x - y| in ulps of the main format at |y|, no ulp finer than at 1 % of the RMS of y
  std::int64_t nonfinite = 0;
  int worst_row = 0, worst_col = 0;  ///< where max_abs is: row of the matrix (not of Q), column
  UlpHistogram ulps{};
};

/// One tile of the traced row, after the tile was taken in.
struct TraceTile {
  int tile = 0;         ///< index of the tile, from key 0 on
  double max_true = 0;  ///< largest score so far
  double max_used = 0;  ///< m, which exp sees
  double alpha = 1;     ///< exp(m_old - m_new); 1 on the row's first tile
  double l = 0;         ///< running row sum
  double o_norm = 0;    ///< Euclidean norm of the running O
  double p_max = 0;     ///< largest P of the tile
  int saturated = 0;    ///< P beyond the largest number of its format
  int underflowed = 0;  ///< e > 0 whose P is 0
  int ties = 0;         ///< keys whose score equals the max in use, beyond the first such key of the row so far
  bool moved = false;   ///< m changed, and it was not the row's first tile
  double error = 0;     ///< max |O/l - golden of the same keys| if the loop ended here
};

struct Trace {
  int row = 0;                   ///< of Q
  std::vector<TraceTile> tiles;  ///< of method a; only tiles in which the row sees a key
};

/// How often the running max of method a moved, over the computed rows.
struct Rescales {
  int tiles = 0;                          ///< T = ceil(N / block_k)
  double nominal = 0;                     ///< mean over rows of (its tiles - 1): what an unconditional rescale would cost
  double effective_mean = 0;              ///< mean over rows of the tiles in which m moved
  double expected = 0;                    ///< mean over rows of H_T - 1, for exchangeable scores
  std::vector<std::int64_t> per_tile;     ///< rows in which m moved at this tile
  std::vector<double> expected_per_tile;  ///< sum over rows of 1/t, t the row's own count of tiles so far (0 for t = 1)
  std::vector<std::array<float, 5>>
      max_quantiles;  ///< 5, 25, 50, 75, 95 % of m over (256 of) the rows, per tile; NaN where no row has it
};

/// m after every tile of (a sample of) the rows: the rescale map. Method a.
struct RescaleMap {
  int tiles = 0;
  int row_step = 1;      ///< every row_step-th computed row is held
  std::vector<float> m;  ///< [tile][row / row_step]; NaN where the row has no key in the tile
};

/// Bytes between HBM and on-chip memory, counted from the loops of each algorithm for the experiment's N, d, mask, tiles.
struct Traffic {
  int element_bytes = 2;
  std::int64_t on_chip_elements = 0;  ///< M: what the tile needs on chip
  double algorithm0 = 0, flash1 = 0, flash2 = 0;
  std::int64_t tiles = 0, skipped_tiles = 0;  ///< block_q x block_k tiles in all, and wholly masked ones
};

struct Timing {
  double inputs = 0, golden = 0, a = 0, b = 0, deviation = 0, total = 0;  ///< ms; 0 where it was remembered
};

struct Digests {
  std::uint64_t golden = 0, a = 0, b = 0;  ///< of the bit patterns, row-major; every NaN counts as one
};

/// What is known of a real kernel's output beside its deviation: how far two runs of it are from each other, and it from the
/// emulation of the same kernel (flash2 `hw` with its tile and exp2).
struct HardwareCheck {
  std::string instruction;       ///< "mma.sync.m16n8k16"
  std::int64_t changed = 0;      ///< elements in which a second run gave other bits
  double run_to_run_ulp = 0;     ///< max |first - second run| in ulps of fp32
  double emulator_max_ulp = 0;   ///< max |kernel - emulation| in ulps of the main format, as `Deviation::max_ulp`
  double emulator_mean_ulp = 0;  ///< mean of the same; NaN where nothing is finite
};

class DeviceMatrices;

struct Result {
  Experiment experiment;
  std::string device;                     ///< "cpu avx512, 2 threads", "cuda:0 NVIDIA H200"
  std::string remark;                     ///< why it is not the device that was asked for: one sentence; empty: it is
  std::vector<int> rows;                  ///< row of Q for each row of the matrices
  int rows_without_keys = 0;              ///< of these: they see no key, and their output is 0 in golden, a and b
  std::shared_ptr<const Tensors> inputs;  ///< Q, K, V as rounded for everybody
  std::shared_ptr<const Matrix> golden;
  Matrix a, b;
  std::shared_ptr<const DeviceMatrices> on_device;  ///< the same matrices on a GPU; null: computed on the CPU
  double golden_rms = 0;
  std::int64_t golden_nonfinite = 0;
  Deviation a_error, b_error, a_minus_b;  ///< a and b against golden; a against b
  std::optional<HardwareCheck> hardware;  ///< of a where a is `hardware`, else of b where b is
  Rescales rescales;
  RescaleMap rescale_map;
  Trace trace;
  Traffic traffic;
  Timing timing;
  Digests digests;
};

}  // namespace attoscope
