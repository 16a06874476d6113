/// Input of the lane code: plain data, the same for all instruction sets.
#pragma once

#include "kernels/arithmetic/block_sum.h"
#include "kernels/arithmetic/rounders.h"
#include "kernels/experiment/mask.h"
#include "kernels/experiment/measures.h"
#include "kernels/experiment/method.h"
#include "kernels/experiment/stop_sign.h"

namespace attoscope {

/// Smallest nonzero and largest magnitude of an operand: tells whether ShortRounder's domain holds.
struct Magnitudes {
  double smallest = 0, largest = 0;  ///< 0, 0 for all zeros; largest is infinity where anything is NaN, infinite or -0
  int mantissa_bits = 52;            ///< that its numbers can have
};

/// Magnitudes of Q, K and V.
struct OperandRanges {
  Magnitudes q{}, k{}, v{};
};

/// Bounds of a column of V in so many keys, for an emulated fma.
inline constexpr int keys_of_a_span = 64;
struct ValueSpan {
  double sum = 0;                                         ///< of the magnitudes, or a little more
  double unit = std::numeric_limits<double>::infinity();  ///< all are multiples of this power of two
};

/// Bounds of Q, K and V for an emulated fma: their ranges, with the mantissa bits that the numbers take, and in double the
/// spans of V, [key / keys_of_a_span * d_v + column].
struct MeasuredOperands {
  OperandRanges ranges{};
  const ValueSpan* spans = nullptr;
};

/// The quickest emulated fma for a chain of products of some numbers: where the products are exact, one that may be in doubt
/// (LikelyFma), or none.
enum class QuickFma { exact_product, likely, none };

/// The mantissa bits that numbers of T take, from all their bits by `or`.
template <class T>
ATTOSCOPE_HOST_DEVICE_INLINE int used_mantissa_bits(typename Layout<T>::Bits all) {
  constexpr int bits = Layout<T>::mantissa_bits;
  for (int unused = 0; unused < bits; ++unused)
    if ((all >> unused & 1) != 0) return bits - unused;
  return 0;
}

/// The exponents of a method that takes exp2.
template <class T>
struct JobExp2 {
  bool folded = false;  ///< the factor of the scores is folded in
  T scale = 1;          ///< c of 2^(S*c - m*c)
  T score_unit = 1;     ///< S of this job times this is the score
  T shift = 0;          ///< exponent of the power of 2 that e and l carry, if it is not in JobP::lift
};

/// Factors and offsets from the scales of stored Q, K and V (see kernels/experiment/scaling.h); null arrays: none.
template <class T>
struct JobScales {
  const T *q = nullptr, *k = nullptr;         ///< q.k times q[row] * k[key], the key as stored
  const T* bias = nullptr;                    ///< added to that: [row / bias_rows * n + key], n keys
  int bias_rows = 1;                          ///< rows of Q that share a bias
  std::int64_t bias_count = 0;                ///< numbers of `bias`
  const T *o = nullptr, *o_offset = nullptr;  ///< of each column: O times the one, plus the other, at the end

  T P_factor = 1;  ///< factor of P that l does not carry: JobP::factor

  /// O of a column after all tiles, as it leaves the kernel; V is a number or a vector of lanes.
  template <class V>
  ATTOSCOPE_HOST_DEVICE_INLINE V output(V x, int column) const {
    if (o != nullptr || P_factor != 1) x = x * ((o != nullptr ? o[column] : T(1)) / P_factor);
    return o_offset != nullptr ? x + o_offset[column] : x;
  }
};

/// Scaling of P before it is rounded.
template <class T>
struct JobP {
  T lift = 1, log_lift = 0;  ///< factor of e and l, and its logarithm
  T factor = 1;              ///< further factor of e, which l sums without
  int block = 0;             ///< keys that share a scale; 0: none do
  RounderPlan<T> element{};  ///< of blocks
  int largest_exponent = 0;
  ScaleRule rule = ScaleRule::amax;
  ScaleFormat scale = ScaleFormat::fp32_scale;
  Quotient quotient = Quotient::divided;
  RounderPlan<T> scale_plan{};  ///< of e4m3
};

/// One method on one problem, in working type T. Arrays are row-major: Q has d columns, K n x d, V n x d_v; n is the number of
/// keys.
template <class T>
struct Job {
  const T *q = nullptr, *k = nullptr, *v = nullptr;
  int queries = 0;     ///< rows of Q
  int n = 0;           ///< keys
  int d = 0, d_v = 0;  ///< columns of Q and K, of V and O
  int diagonal = 0;    ///< the key that row 0 of Q stands at: masks and ALiBi count from there
  T scale = 1;         ///< of the scores; 1 where exp2 folds it in
  JobExp2<T> exp2{};
  Mask mask{};
  MaskView mask_tensor{};         ///< its keys count from key 0
  double lowest_term = -0x1p127;  ///< of the mask tensor's, see `lowest_term` of a method
  T softcap = 0, alibi = 0;
  bool has_sink = false;
  T sink = 0;
  EmptyRule empty_rows = EmptyRule::zeros;  ///< see Problem::empty_rows
  Method method{};                          ///< with block_k at most n
  bool reversed = false;                    ///< k and v are stored from the last key to the first
  JobScales<T> scales{};
  JobP<T> P{};
  std::uint64_t seed = 0;
  RounderPlan<T> plans[step_count];
  RounderPlan<T> partial{};     ///< of Method::partial
  BlockSum qk_sum{}, pv_sum{};  ///< other than fma in float alone
  int flush = 1;                ///< see Method::flush; 0: never
  OperandRanges ranges{};
  const MeasuredOperands* measured = nullptr;

  ATTOSCOPE_HOST_DEVICE_INLINE const RounderPlan<T>& operator[](Step s) const { return plans[static_cast<int>(s)]; }
  ATTOSCOPE_HOST_DEVICE_INLINE bool is_scaled_at_the_end() const {
    return scales.o != nullptr || scales.o_offset != nullptr || scales.P_factor != 1;
  }
  /// O of a row that sees no key; `merges`: its runs are merged.
  ATTOSCOPE_HOST_DEVICE_INLINE double output_without_keys(bool merges) const {
    const bool is_nan = empty_rows == EmptyRule::nan || (merges && method.empty == EmptyRule::nan);
    return is_nan ? std::numeric_limits<double>::quiet_NaN() : 0;
  }
  /// The keys that a row sees, as stored.
  ATTOSCOPE_HOST_DEVICE_INLINE Keys keys_of(int row) const {
    const Keys keys = mask_tensor.within(row, visible_keys(mask, row + diagonal, n));
    return reversed ? Keys{n - keys.end, n - keys.first} : keys;
  }
};

/// The term that the mask tensor adds to S of a row and a key as stored; there is one with terms.
template <class T>
ATTOSCOPE_HOST_DEVICE_INLINE double mask_term(const Job<T>& job, int row, int key) {
  return job.mask_tensor.term(row, job.reversed ? job.n - 1 - key : key);
}

/// Query rows that are computed together, one in each lane.
struct RowBlock {
  const int* rows = nullptr;  ///< rows of Q
  int count = 0;              ///< at most the lanes' rows
  int first = 0;              ///< index of rows[0] among the computed rows

  /// The row in a lane: the last one again in lanes without a row. A block without any still names one.
  ATTOSCOPE_HOST_DEVICE_INLINE int row_of(int lane) const { return rows[lane < count ? lane : (count > 0 ? count - 1 : 0)]; }
};

/// The part of a block's work that one launch does, in units of about one fma per row (see work_cursor.h).
struct WorkRange {
  std::int64_t from = 0, to = std::numeric_limits<std::int64_t>::max();
};

/// Work of a warp, in units of about one fma per row: in all, and in its longest work item, which no launch can split.
struct WorkEstimate {
  std::int64_t whole = 1, item = 1;
};

/// The state after a tile, as a recorder sees it.
template <class T>
struct TileView {
  int tile = 0, first_key = 0, end_key = 0;  ///< keys that some row of the block sees
  int stride = 0, lane_stride = 1;           ///< from a column to the next, and from a lane to the next
  const T *m_old = nullptr, *m = nullptr, *l = nullptr,
          *alpha = nullptr;       ///< [lane * lane_stride]; m_old is -infinity before the first tile
  const T* takes_part = nullptr;  ///< [lane * lane_stride]: 0 where the row sees no key of the tile, else 1
  const T* o = nullptr;           ///< [column * stride + lane * lane_stride]
  bool restarts = false;          ///< the state was empty before this tile in every row: a new run of split_kv begins
  const T *S = nullptr, *e = nullptr, *P = nullptr;  ///< [(key - first_key) * lane_stride] of the kept lane; null without one

  /// True if the row sees a key of the tile.
  ATTOSCOPE_HOST_DEVICE_INLINE bool sees(int lane) const { return takes_part[lane * lane_stride] != 0; }
  /// True if the row had a max before and it moved.
  ATTOSCOPE_HOST_DEVICE_INLINE bool moved(int lane) const {
    const T old = m_old[lane * lane_stride];
    return old > -std::numeric_limits<T>::infinity() && m[lane * lane_stride] != old;
  }
};

/// Told after every tile of every block; may run in many threads at once, for different rows.
template <class T>
struct Recorder {
  virtual ~Recorder() = default;
  /// The lane of the block whose S, e and P are wanted, or -1.
  virtual int kept_lane(const RowBlock& block) const = 0;
  virtual void tile(const RowBlock& block, const TileView<T>& view) = 0;
};

/// Recorder and stop sign of a block on the CPU.
template <class T>
struct CpuObserver {
  static constexpr bool keeps = true, is_partial = false;
  Recorder<T>* recorder;
  const StopSign& stop;
  const T* products = nullptr;   ///< q.k of the block's only row, by key, where they are known
  T *m = nullptr, *l = nullptr;  ///< [row]: get the final max and sum where they are wanted

  WorkRange work_range() const { return {}; }
  void check() const { stop.check(); }
  bool wanted() const { return recorder != nullptr; }
  int kept_lane(const RowBlock& block) const { return recorder ? recorder->kept_lane(block) : -1; }
  void tile(const RowBlock& block, const TileView<T>& view) const { recorder->tile(block, view); }
  void state(const RowBlock& block, const T* row_m, const T* row_l) const {
    for (int lane = 0; m != nullptr && lane < block.count; ++lane) {
      m[block.rows[lane]] = row_m[lane];
      l[block.rows[lane]] = row_l[lane];
    }
  }
};

/// Rule of a comparison.
struct DeviationRule {
  Format format{};             ///< whose ulps count
  double floor = 0;            ///< ulps are at least those of this magnitude
  double centre = 0;           ///< centre of the differences in `centred`
  bool centred_alone = false;  ///< no other sum is wanted
  bool all_finite = false;     ///< every element of both is known to be finite
};

/// Terms of a chunk of x and a reference y in their deviation; sums in interleaved chains (element i into chain i mod chains).
struct DeviationSums {
  static constexpr int chains = 8;
  double absolute[chains] = {}, plain[chains] = {}, square[chains] = {}, centred[chains] = {}, xy[chains] = {}, xx[chains] = {},
         yy[chains] = {};
  double max_abs = -1, max_ulp = 0;
  std::int64_t worst = 0;   ///< first element with max_abs
  std::int64_t finite = 0;  ///< elements in which both are finite
  UlpHistogram ulps{};
};

/// Adds the sums of other chains of the same chunk.
ATTOSCOPE_HOST_DEVICE inline void join(DeviationSums& whole, const DeviationSums& other) {
  for (int c = 0; c < DeviationSums::chains; ++c) {
    whole.absolute[c] += other.absolute[c];
    whole.plain[c] += other.plain[c];
    whole.square[c] += other.square[c];
    whole.centred[c] += other.centred[c];
    whole.xy[c] += other.xy[c];
    whole.xx[c] += other.xx[c];
    whole.yy[c] += other.yy[c];
  }
  if (other.max_abs > whole.max_abs || (other.max_abs == whole.max_abs && other.worst < whole.worst)) {
    whole.max_abs = other.max_abs;
    whole.worst = other.worst;
  }
  whole.max_ulp = other.max_ulp > whole.max_ulp ? other.max_ulp : whole.max_ulp;
  whole.finite += other.finite;
  for (std::size_t i = 0; i < whole.ulps.counts.size(); ++i) whole.ulps.counts[i] += other.ulps.counts[i];
}

/// The term of element `place` with these bits in a digest: splitmix64's finaliser of both, which every NaN enters with the
/// same bits. The digest is the sum of all terms, which does not depend on their order.
template <class U>
ATTOSCOPE_HOST_DEVICE_INLINE U digest_term_of(U bits, U place) {
  U z = bits + (place + 1) * std::uint64_t{0x9E3779B97F4A7C15u};
  z = (z ^ (z >> 30)) * std::uint64_t{0xBF58476D1CE4E5B9u};
  z = (z ^ (z >> 27)) * std::uint64_t{0x94D049BB133111EBu};
  return z ^ (z >> 31);
}
inline constexpr std::uint64_t digested_nan = 0x7ff8000000000000u;

/// Terms of a chunk of one array in its moments and its digest.
struct MomentSums {
  double squares[DeviationSums::chains] = {};  ///< of the finite elements, in interleaved chains
  std::int64_t nonfinite = 0;
  std::uint64_t digest = 0;  ///< the sum of the elements' terms (see `digest_term`)
};

/// Bounds of the bits of some numbers, signs aside.
struct BitsOfMagnitudes {
  std::uint64_t all = 0;                         ///< all bits, by `or`
  std::uint64_t below = ~std::uint64_t{0} >> 1;  ///< the least that is not 0, less 1
  std::uint64_t greatest = 0;
};

/// An instruction set's lane code in a working type.
template <class T>
struct LaneCode {
  int rows = 0;                                     ///< of a block
  std::size_t (*scratch)(const Job<T>&) = nullptr;  ///< bytes that a thread needs for `run`
  /// Output of the block's rows, row-major count x d. The recorder may be null, as may the products (see CpuObserver).
  /// `scratch` is 64-byte aligned.
  void (*run)(const Job<T>&, const RowBlock&, const CpuObserver<T>&, void* scratch, double* out) = nullptr;
  /// q.k of a row of Q and these keys, unrounded, into out[key].
  void (*products)(const Job<T>&, int row, Keys, T* out) = nullptr;
  /// x rounded to the nearest number of the plan's format.
  void (*rounded)(const double* x, std::int64_t count, const RounderPlan<T>&, T* out) = nullptr;
  /// Floating-point operations a second of one thread doing nothing but fma for about `seconds`.
  double (*fma_rate)(double seconds) = nullptr;
};

/// One instruction set's lane code.
struct InstructionSet {
  const char* name = "";
  bool emulates_fma = false;  ///< it wants Job::measured
  LaneCode<float> in_float{};
  LaneCode<double> in_double{};
  int dd_rows = 0;
  std::size_t (*dd_scratch)(const Job<double>&) = nullptr;
  /// Three-pass softmax in double-double, rounded to double at the end.
  void (*run_dd)(const Job<double>&, const RowBlock&, const StopSign&, void* scratch, double* out) = nullptr;
  /// count standard normal numbers, elements first .. of stream `stream` of `seed`; first and count even.
  void (*normals)(std::uint64_t seed, std::uint32_t stream, std::uint64_t first, std::int64_t count, double* out) = nullptr;
  DeviationSums (*deviation)(const double* x, const double* y, int count, const DeviationRule&) = nullptr;
  /// Moments of x[0] .. x[count - 1], which are elements first .. of the array; first is a multiple of the chains.
  MomentSums (*moments)(const double* x, std::size_t first, int count) = nullptr;
  /// The sums of |x - y|, in interleaved chains.
  void (*gaps)(const double* x, const double* y, int count, double* chains) = nullptr;
  BitsOfMagnitudes (*magnitudes)(const double* x, std::size_t count) = nullptr;
  /// y = exp(x), count a multiple of 16.
  void (*exponentials)(const float* x, std::int64_t count, float* y) = nullptr;

  template <class T>
  const LaneCode<T>& in() const {
    if constexpr (std::is_same_v<T, float>)
      return in_float;
    else
      return in_double;
  }
};

/// The instruction set of that name; if empty, the one that ATTOSCOPE_ISA=sse2|avx2|avx512|simt in the environment names, or
/// the best of this machine. simt is the GPU's lane code, run by the CPU. Throws std::invalid_argument in one sentence if this
/// machine does not run it.
InstructionSet instruction_set(std::string_view name = {});
/// True if this program holds the instruction set of that name and this machine runs it.
bool has_instruction_set(std::string_view name);

}  // namespace attoscope
