/// Input of the backward pass's lane code: plain data, the same for all instruction sets.
#pragma once

#include <cstdint>
#include <vector>

#include "kernels/arithmetic/double_double.h"
#include "kernels/arithmetic/random.h"
#include "kernels/experiment/experiment.h"
#include "kernels/experiment/gradient.h"
#include "kernels/lanes/job.h"

namespace attoscope {

/// Step number in `random_bits` of a step of the backward pass. Numbers are fixed: a new step must not change the bits of
/// stochastic trainings. Add a new GradStep after dQ and give it a number above 18, the number of partial outputs.
ATTOSCOPE_HOST_DEVICE_INLINE constexpr Step random_step(GradStep s) {
  switch (s) {
    case GradStep::dQ:
      return other_step(13);
    case GradStep::lse:
      return other_step(14);
    case GradStep::scaled_K:
      return other_step(15);
    case GradStep::dq_tile:
      return other_step(16);
    case GradStep::dq_sum:
      return other_step(17);
    default:
      return other_step(static_cast<int>(s) + (s < GradStep::dQ ? -static_cast<int>(GradStep::delta_step) : 1));
  }
}

/// Factors of the backward pass; 1: no factor.
template <class T>
struct GradientFactors {
  T dS = 1;          ///< multiplies dS before its cast
  T dQ = 1, dK = 1;  ///< multiply the finished sums
};

/// One backward pass in working type T. Matrices are row-major and padded to whole vectors: a row has `width` numbers for d
/// columns, `width_v` for d_v; keys count from key 0.
template <class T>
struct GradientRule {
  Job<T> job{};  ///< of the scores that P is made from; its keys as the forward pass stores them
  RounderPlan<T> grad[grad_step_count]{};
  DeltaFrom delta_from = DeltaFrom::output;
  ScaleAt scale_at = ScaleAt::product;
  GradExponential exponential = GradExponential::natural;
  bool finds_state = false;  ///< golden with all rows and keys: finds m and l while it computes P, and delta from P and dP
  bool normalises = false;   ///< P = e/l as in the forward pass, instead of an exponential of S - L
  bool is_merged = false;    ///< m + ln l is the log-sum-exp (see RowStates)
  bool rounds_m = false;     ///< L is round(m unit) + (ln l - ...), as trainings have it, instead of one fma
  GradientFactors<T> factors{};
  int block_k = 1;
  GradOrder order = GradOrder::ascending;
  std::uint64_t order_seed = 0;
  int buffers = 1;
  int width = 0, width_v = 0;
  BlockSum dp_sum{}, dv_sum{}, dk_sum{}, dq_sum{};                   ///< default, but in float with other accumulators
  const T *q = nullptr, *k = nullptr, *v = nullptr, *d_o = nullptr;  ///< k: as dQ reads it, d_o: as stored
  const T *m = nullptr, *l = nullptr;                                ///< [row], of the forward pass
  const double* o = nullptr;                                         ///< n x d_v without gaps
  const T* given_d_o = nullptr;                                      ///< dO as delta reads it
  const double* d_lse = nullptr;                                     ///< [row]; null: 0
  const double* known_delta = nullptr;                               ///< [row]; null: computed
  const T* column_numbers = nullptr;                                 ///< 0, 1, ... up to the larger of both widths

  ATTOSCOPE_HOST_DEVICE_INLINE const RounderPlan<T>& operator[](GradStep s) const { return grad[static_cast<int>(s)]; }
  /// Range of the keys that a row sees, from key 0.
  ATTOSCOPE_HOST_DEVICE_INLINE Keys keys_of(int row) const {
    return job.mask_tensor.within(row, visible_keys(job.mask, row + job.diagonal, job.n));
  }
};

/// Sets tiles to the permutation of 0 .. count - 1 for query tile u.
template <class Tiles>
ATTOSCOPE_HOST_DEVICE inline void shuffle_tiles(Tiles tiles, int count, int query_tile, std::uint64_t seed) {
  for (int i = 0; i < count; ++i) tiles[i] = i;
  for (int x = count - 1; x >= 0; --x) {
    const Philox<std::uint64_t> p =
        philox<std::uint64_t>(static_cast<std::uint32_t>(x), static_cast<std::uint32_t>(query_tile), 0, seed);
    const int other = static_cast<int>(p.x[0] % (static_cast<std::uint64_t>(x) + 1)), tile = tiles[x];
    tiles[x] = tiles[other];
    tiles[other] = tile;
  }
}

/// Tiles 0 .. count - 1 in order `order`; shuffled: the permutation of the query tile.
class TileOrder {
 public:
  TileOrder(GradOrder order, std::uint64_t seed, int query_tile, int count)
      : descends_from_(order == GradOrder::descending ? count - 1 : -1) {
    if (order != GradOrder::shuffled) return;
    shuffled_.resize(static_cast<std::size_t>(count));
    shuffle_tiles(shuffled_.data(), count, query_tile, seed);
  }

  int operator[](int i) const {
    return !shuffled_.empty() ? shuffled_[static_cast<std::size_t>(i)] : descends_from_ >= 0 ? descends_from_ - i : i;
  }

 private:
  int descends_from_;
  std::vector<int> shuffled_;
};

/// Keys in ascending order: the list's, or all from 0 if there is no list.
struct KeyList {
  const int* keys = nullptr;
  int count = 0;
  ATTOSCOPE_HOST_DEVICE_INLINE int operator[](int i) const { return keys != nullptr ? keys[i] : i; }
};

/// Query rows in the lanes of one block, and the destinations of their results.
template <class T>
struct RowsTask {
  RowBlock block{};
  int query_tile = 0;                       ///< query tile of all its rows, if the order is shuffled
  KeyList keys{};                           ///< keys whose P and dS are computed
  T *p = nullptr, *ds = nullptr;            ///< P for dV (null: not stored), and dS: [key of the list][lane]
  T *dp = nullptr, *lost = nullptr;         ///< dP, and 1 for each lost dS, else 0; null: not stored
  double* d_q = nullptr;                    ///< rows x d; then the keys are all keys
  const int* places = nullptr;              ///< [lane]: the row of d_q; negative: none
  int first_tile = 0, end_tile = max_n;     ///< range within the order: the key tiles that dQ sums
  double *delta = nullptr, *lse = nullptr;  ///< [row]; null: not wanted
  std::int64_t* lost_count = nullptr;       ///< [row]: number of keys whose dS is lost; null: not wanted
  DD<double>* sinks = nullptr;              ///< [row]: terms of dsink, in double-double only
};

/// Blocks of adjacent rows in the order in which dK and dV add them, and the keys whose sums run over them.
template <class T>
struct KeysTask {
  const RowBlock* blocks = nullptr;
  const int* first_rows = nullptr;  ///< [block]: the first row of its query tile
  int block_count = 0;
  KeyList keys{};
  int first = 0, end = 0;               ///< keys of this task, as a range of the list
  const T *p = nullptr, *ds = nullptr;  ///< of all blocks: [block][key of the list][lane]
  T *d_k = nullptr, *d_v = nullptr;     ///< [key of the list], rows as in the rule
};

/// Functions of an instruction set for one working type.
template <class T>
struct GradientLanes {
  int rows = 0;   ///< rows of a block
  int parts = 1;  ///< numbers of T per element of P, dS and the sums of dK and dV
  std::size_t (*scratch)(const GradientRule<T>&) = nullptr;
  void (*rows_of_block)(const GradientRule<T>&, const RowsTask<T>&, const StopSign&, void* scratch) = nullptr;
  /// Computes dQ from the task's dS.
  void (*queries_of_block)(const GradientRule<T>&, const RowsTask<T>&, const StopSign&, void* scratch) = nullptr;
  void (*sums_of_keys)(const GradientRule<T>&, const KeysTask<T>&, const StopSign&) = nullptr;
  /// Rounds the finished dK and dV of the task's keys into rows of d and d_v numbers.
  void (*finish_keys)(const GradientRule<T>&, const KeysTask<T>&, double* d_k, double* d_v) = nullptr;
};
struct GradientCode {
  GradientLanes<float> single{};
  GradientLanes<double> twice{}, precise{};  ///< precise: golden in double-double
};

namespace sse2 {
GradientCode gradient_code();
}
namespace avx2 {
GradientCode gradient_code();
}
namespace avx512 {
GradientCode gradient_code();
}
/// A GPU's lanes, run by the CPU; no double-double.
namespace simt {
GradientCode gradient_code();
}

}  // namespace attoscope
