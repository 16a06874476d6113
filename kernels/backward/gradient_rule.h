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

/// The step of `random_bits` for a step of the backward pass. Numbers are fixed: a new step must not change the bits of
/// stochastic trainings. It comes behind dQ, and its number behind that of partial outputs, 18.
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

/// Factors of the backward pass; 1 where there is none.
template <class T>
struct GradientFactors {
  T dS = 1;          ///< of dS before its cast
  T dQ = 1, dK = 1;  ///< of the finished sums
};

/// One backward pass in working type T. Matrices are row-major with whole vectors in a row, `width` numbers where they have d
/// columns and `width_v` where they have d_v; keys count from key 0.
template <class T>
struct GradientRule {
  Job<T> job{};  ///< of the scores as P takes them; its keys as the forward pass stores them
  RounderPlan<T> grad[grad_step_count]{};
  DeltaFrom delta_from = DeltaFrom::output;
  ScaleAt scale_at = ScaleAt::product;
  GradExponential exponential = GradExponential::natural;
  bool finds_state = false;  ///< golden's of all rows and keys: m and l are found beside P, delta from P and dP
  bool normalises = false;   ///< P = e/l as the forward pass has it, instead of an exponential of S - L
  bool is_merged = false;    ///< m + ln l is the log-sum-exp (see RowStates)
  bool rounds_m = false;     ///< L is round(m unit) + (ln l - ...), as trainings have it, instead of one fma
  GradientFactors<T> factors{};
  int block_k = 1;
  GradOrder order = GradOrder::ascending;
  std::uint64_t order_seed = 0;
  int buffers = 1;
  int width = 0, width_v = 0;
  BlockSum dp_sum{}, dv_sum{}, dk_sum{}, dq_sum{};                   ///< other than fma in float alone
  const T *q = nullptr, *k = nullptr, *v = nullptr, *d_o = nullptr;  ///< k: as dQ takes it, d_o: as stored
  const T *m = nullptr, *l = nullptr;                                ///< [row], of the forward pass
  const double* o = nullptr;                                         ///< n x d_v without gaps
  const T* given_d_o = nullptr;                                      ///< as delta takes it
  const double* d_lse = nullptr;                                     ///< [row]; null: 0
  const double* known_delta = nullptr;                               ///< [row]; null: it is computed
  const T* column_numbers = nullptr;                                 ///< 0, 1, ... as far as the wider width

  ATTOSCOPE_HOST_DEVICE_INLINE const RounderPlan<T>& operator[](GradStep s) const { return grad[static_cast<int>(s)]; }
  /// The keys that a row sees, from key 0.
  ATTOSCOPE_HOST_DEVICE_INLINE Keys keys_of(int row) const {
    return job.mask_tensor.within(row, visible_keys(job.mask, row + job.diagonal, job.n));
  }
};

/// tiles = the permutation of 0 .. count - 1 for query tile u.
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

/// Tiles 0 .. count - 1 in the order of `order`; shuffled: the permutation of query tile u.
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

/// Keys in ascending order: those of the list, or without one all from 0.
struct KeyList {
  const int* keys = nullptr;
  int count = 0;
  ATTOSCOPE_HOST_DEVICE_INLINE int operator[](int i) const { return keys != nullptr ? keys[i] : i; }
};

/// Query rows in the lanes of one block, and where their numbers go.
template <class T>
struct RowsTask {
  RowBlock block{};
  int query_tile = 0;                       ///< of all its rows, where the order is shuffled
  KeyList keys{};                           ///< whose P and dS are wanted
  T *p = nullptr, *ds = nullptr;            ///< P for dV, which null leaves out, and dS: [key of the list][lane]
  T *dp = nullptr, *lost = nullptr;         ///< dP, and 1 for each dS that is lost, else 0; null leaves them out
  double* d_q = nullptr;                    ///< rows x d; then keys are all
  const int* places = nullptr;              ///< [lane]: the row of d_q; negative: none
  int first_tile = 0, end_tile = max_n;     ///< of the order: the key tiles that dQ has
  double *delta = nullptr, *lse = nullptr;  ///< [row]; null: not wanted
  std::int64_t* lost_count = nullptr;       ///< [row]: the keys whose dS is lost; null: not wanted
  DD<double>* sinks = nullptr;              ///< [row], in double-double: terms of dsink
};

/// Blocks of adjacent rows in the order in which dK and dV take them, and keys whose sums go on over them.
template <class T>
struct KeysTask {
  const RowBlock* blocks = nullptr;
  const int* first_rows = nullptr;  ///< [block]: the first row of its query tile
  int block_count = 0;
  KeyList keys{};
  int first = 0, end = 0;               ///< of the list: the keys of this task
  const T *p = nullptr, *ds = nullptr;  ///< of all blocks, [block][key of the list][lane]
  T *d_k = nullptr, *d_v = nullptr;     ///< [key of the list], rows as in the rule
};

/// An instruction set's functions for a working type.
template <class T>
struct GradientLanes {
  int rows = 0;   ///< of a block
  int parts = 1;  ///< numbers of T that P, dS and the sums of dK and dV have
  std::size_t (*scratch)(const GradientRule<T>&) = nullptr;
  void (*rows_of_block)(const GradientRule<T>&, const RowsTask<T>&, const StopSign&, void* scratch) = nullptr;
  /// dQ from the task's dS.
  void (*queries_of_block)(const GradientRule<T>&, const RowsTask<T>&, const StopSign&, void* scratch) = nullptr;
  void (*sums_of_keys)(const GradientRule<T>&, const KeysTask<T>&, const StopSign&) = nullptr;
  /// Rounds the finished dK and dV of the task's keys into rows of d and d_v numbers.
  void (*finish_keys)(const GradientRule<T>&, const KeysTask<T>&, double* d_k, double* d_v) = nullptr;
};
struct GradientCode {
  GradientLanes<float> single{};
  GradientLanes<double> twice{}, precise{};  ///< precise: golden's in double-double
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
/// A GPU's lanes, run by the CPU; without double-double.
namespace simt {
GradientCode gradient_code();
}

}  // namespace attoscope
