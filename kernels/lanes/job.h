/// Input of the lane code: plain data, the same for all instruction sets.
#pragma once

#include "kernels/arithmetic/block_sum.h"
#include "kernels/arithmetic/rounders.h"
#include "kernels/experiment/mask.h"
#include "kernels/experiment/measures.h"
#include "kernels/experiment/method.h"
#include "kernels/experiment/stop_sign.h"

namespace attoscope {

/// Smallest nonzero and largest magnitude of an operand; decides if ShortRounder may be used.
struct Magnitudes {
  double smallest = 0, largest = 0;  ///< 0, 0 for all zeros; largest is infinity if any number is NaN, infinite or -0
  int mantissa_bits = 52;            ///< upper bound of the mantissa bits of its numbers
};

/// Magnitudes of Q, K and V.
struct OperandRanges {
  Magnitudes q{}, k{}, v{};
};

/// Bounds of one column of V over keys_of_a_span keys, for an emulated fma.
inline constexpr int keys_of_a_span = 64;
struct ValueSpan {
  double sum = 0;                                         ///< sum of the magnitudes, or a little more
  double unit = std::numeric_limits<double>::infinity();  ///< all numbers are multiples of this power of two
};

/// Bounds of Q, K and V for an emulated fma: their ranges, with the mantissa bits in use, and in double the spans of V, [key /
/// keys_of_a_span * d_v + column].
struct MeasuredOperands {
  OperandRanges ranges{};
  const ValueSpan* spans = nullptr;
};

/// The fastest emulated fma for a chain of products: for exact products, LikelyFma (its results may be in doubt), or none.
enum class QuickFma { exact_product, likely, none };

/// Mantissa bits in use by numbers of T; `all` is the bitwise or of all of them.
template <class T>
ATTOSCOPE_HOST_DEVICE_INLINE int used_mantissa_bits(typename Layout<T>::Bits all) {
  constexpr int bits = Layout<T>::mantissa_bits;
  for (int unused = 0; unused < bits; ++unused)
    if ((all >> unused & 1) != 0) return bits - unused;
  return 0;
}

/// Exponents of powers of two: of a method that uses exp2, and of the rise that flash4 compares with tau.
template <class T>
struct JobExp2 {
  bool folded = false;  ///< the scale of the scores is folded into `scale`
  T scale = 1;          ///< c of 2^(S*c - m*c): log2 e, times the scale of the scores if folded
  T score_unit = 1;     ///< converts S of this job to the score
  T shift = 0;          ///< exponent of the power of 2 that e and l carry, if it is not in JobP::lift
};

/// Factors and offsets from the scales of stored Q, K and V (see kernels/experiment/scaling.h); null if there are none.
template <class T>
struct JobScales {
  const T *q = nullptr, *k = nullptr;         ///< q.k is multiplied by q[row] * k[key]; keys as stored
  const T* bias = nullptr;                    ///< then added: [row / bias_rows * n + key], n keys
  int bias_rows = 1;                          ///< number of Q's rows that share a bias
  std::int64_t bias_count = 0;                ///< length of `bias`
  const T *o = nullptr, *o_offset = nullptr;  ///< per column: O * o + o_offset at the end

  T P_factor = 1;  ///< factor of P that l does not include: JobP::factor

  /// Final output value of a column, from O after all tiles. V is a number or a vector of lanes.
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
  T factor = 1;              ///< further factor of e, not included in l
  int block = 0;             ///< number of keys that share a scale; 0: P has no block scales
  RounderPlan<T> element{};  ///< rounding of the elements of blocks
  int largest_exponent = 0;
  ScaleRule rule = ScaleRule::amax;
  ScaleFormat scale = ScaleFormat::fp32_scale;
  Quotient quotient = Quotient::divided;
  RounderPlan<T> scale_plan{};  ///< for e4m3 scales
};

/// One method on one problem, in working type T. Arrays are row-major: Q has d columns, K is n x d, V is n x d_v; n is the
/// number of keys.
template <class T>
struct Job {
  const T *q = nullptr, *k = nullptr, *v = nullptr;
  int queries = 0;     ///< rows of Q
  int n = 0;           ///< keys
  int d = 0, d_v = 0;  ///< columns of Q and K, of V and O
  int diagonal = 0;    ///< key position of row 0 of Q, used by masks and ALiBi
  T scale = 1;         ///< factor of the scores; 1 if exp2 folds it in
  JobExp2<T> exp2{};
  Mask mask{};
  MaskView mask_tensor{};         ///< indexed from key 0
  double lowest_term = -0x1p127;  ///< lower limit of the mask tensor's terms, see `lowest_term` of a method
  T softcap = 0, alibi = 0;
  bool has_sink = false;
  T sink = 0;
  EmptyRule empty_rows = EmptyRule::zeros;  ///< see Problem::empty_rows
  Method method{};                          ///< block_k is at most n
  bool reversed = false;                    ///< k and v are stored in descending order of keys
  JobScales<T> scales{};
  JobP<T> P{};
  std::uint64_t seed = 0;
  RounderPlan<T> plans[step_count];
  RounderPlan<T> partial{};     ///< for Method::partial
  BlockSum qk_sum{}, pv_sum{};  ///< summation rules; other than fma only in float
  int flush = 1;                ///< see Method::flush; 0: never
  OperandRanges ranges{};
  const MeasuredOperands* measured = nullptr;

  ATTOSCOPE_HOST_DEVICE_INLINE const RounderPlan<T>& operator[](Step s) const { return plans[static_cast<int>(s)]; }
  ATTOSCOPE_HOST_DEVICE_INLINE bool is_scaled_at_the_end() const {
    return scales.o != nullptr || scales.o_offset != nullptr || scales.P_factor != 1;
  }
  /// O of a row that sees no key. `merges`: runs of split_kv are merged.
  ATTOSCOPE_HOST_DEVICE_INLINE double output_without_keys(bool merges) const {
    const bool is_nan = empty_rows == EmptyRule::nan || (merges && method.empty == EmptyRule::nan);
    return is_nan ? std::numeric_limits<double>::quiet_NaN() : 0;
  }
  /// The keys that a row sees, in stored order.
  ATTOSCOPE_HOST_DEVICE_INLINE Keys keys_of(int row) const {
    const Keys keys = mask_tensor.within(row, visible_keys(mask, row + diagonal, n));
    return reversed ? Keys{n - keys.end, n - keys.first} : keys;
  }
};

/// The mask tensor's term for S of a row and a key in stored order. The mask tensor must have terms.
template <class T>
ATTOSCOPE_HOST_DEVICE_INLINE double mask_term(const Job<T>& job, int row, int key) {
  return job.mask_tensor.term(row, job.reversed ? job.n - 1 - key : key);
}

/// Query rows that are computed together, one per lane.
struct RowBlock {
  const int* rows = nullptr;  ///< rows of Q
  int count = 0;              ///< at most Lanes::rows
  int first = 0;              ///< index of rows[0] among the computed rows

  /// The row in a lane; lanes without a row repeat the last one. An empty block still returns rows[0].
  ATTOSCOPE_HOST_DEVICE_INLINE int row_of(int lane) const { return rows[lane < count ? lane : (count > 0 ? count - 1 : 0)]; }
};

/// The part of a block's work that one launch does, in units of about one fma per row (see work_cursor.h).
struct WorkRange {
  std::int64_t from = 0, to = std::numeric_limits<std::int64_t>::max();
};

/// Work of a warp, in units of about one fma per row: in total, and of its longest work item, which launches cannot split.
struct WorkEstimate {
  std::int64_t whole = 1, item = 1;
};

/// State after a tile, for a recorder.
template <class T>
struct TileView {
  int tile = 0, first_key = 0, end_key = 0;  ///< keys that some row of the block sees
  int stride = 0, lane_stride = 1;           ///< distance between columns, and between lanes
  const T *m_old = nullptr, *m = nullptr, *l = nullptr,
          *alpha = nullptr;       ///< [lane * lane_stride]; m_old is -infinity before the first tile
  const T* takes_part = nullptr;  ///< [lane * lane_stride]: 0 if the row sees no key of the tile, else 1
  const T* o = nullptr;           ///< [column * stride + lane * lane_stride]
  bool restarts = false;          ///< true if the state was empty in every row before this tile: a new run of split_kv begins
  const T *S = nullptr, *e = nullptr, *P = nullptr;  ///< [(key - first_key) * lane_stride] of the kept lane; else null

  /// True if the row sees a key of the tile.
  ATTOSCOPE_HOST_DEVICE_INLINE bool sees(int lane) const { return takes_part[lane * lane_stride] != 0; }
  /// True if the row already had a max and it changed.
  ATTOSCOPE_HOST_DEVICE_INLINE bool moved(int lane) const {
    const T old = m_old[lane * lane_stride];
    return old > -std::numeric_limits<T>::infinity() && m[lane * lane_stride] != old;
  }
};

/// Receives the state after every tile of every block; may be called by many threads at once, for different rows.
template <class T>
struct Recorder {
  virtual ~Recorder() = default;
  /// The lane of the block whose S, e and P the recorder needs, or -1.
  virtual int kept_lane(const RowBlock& block) const = 0;
  virtual void tile(const RowBlock& block, const TileView<T>& view) = 0;
};

/// Recorder and stop sign of a block on the CPU.
template <class T>
struct CpuObserver {
  static constexpr bool keeps = true, is_partial = false;
  Recorder<T>* recorder;
  const StopSign& stop;
  const T* products = nullptr;   ///< q.k of the block's only row by key, if known; else null
  T *m = nullptr, *l = nullptr;  ///< [row]: receive the final max and sum; may be null

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

/// Parameters of a comparison.
struct DeviationRule {
  Format format{};             ///< format whose ulps are counted
  double floor = 0;            ///< ulps are at least those of this magnitude
  double centre = 0;           ///< centre of the differences in `centred`
  bool centred_alone = false;  ///< no other sum is needed
  bool all_finite = false;     ///< all elements of both arrays are finite
};

/// Sums over one chunk of x and a reference y for their deviation, in interleaved chains (element i in chain i mod chains).
struct DeviationSums {
  static constexpr int chains = 8;
  double absolute[chains] = {}, plain[chains] = {}, square[chains] = {}, centred[chains] = {}, xy[chains] = {}, xx[chains] = {},
         yy[chains] = {};
  double max_abs = -1, max_ulp = 0;
  std::int64_t worst = 0;   ///< index of the first element with max_abs
  std::int64_t finite = 0;  ///< number of elements finite in both
  UlpHistogram ulps{};
};

/// Adds the sums of other chains of the same chunk to `whole`.
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

/// Digest term of element `place` with these bits: splitmix64's finaliser of both. Callers pass the same bits for every NaN.
/// The digest is the sum of all terms, which does not depend on their order.
template <class U>
ATTOSCOPE_HOST_DEVICE_INLINE U digest_term_of(U bits, U place) {
  U z = bits + (place + 1) * std::uint64_t{0x9E3779B97F4A7C15u};
  z = (z ^ (z >> 30)) * std::uint64_t{0xBF58476D1CE4E5B9u};
  z = (z ^ (z >> 27)) * std::uint64_t{0x94D049BB133111EBu};
  return z ^ (z >> 31);
}
inline constexpr std::uint64_t digested_nan = 0x7ff8000000000000u;

/// Sums over one chunk of an array for its moments and its digest.
struct MomentSums {
  double squares[DeviationSums::chains] = {};  ///< of the finite elements, in interleaved chains
  std::int64_t nonfinite = 0;
  std::uint64_t digest = 0;  ///< the sum of the elements' terms (see `digest_term`)
};

/// Bounds of the bit patterns of some numbers, without signs.
struct BitsOfMagnitudes {
  std::uint64_t all = 0;                         ///< bitwise or of all patterns
  std::uint64_t below = ~std::uint64_t{0} >> 1;  ///< the smallest nonzero pattern, less 1
  std::uint64_t greatest = 0;
};

/// Lane code of one instruction set in one working type.
template <class T>
struct LaneCode {
  int rows = 0;                                     ///< rows per block
  std::size_t (*scratch)(const Job<T>&) = nullptr;  ///< bytes of scratch per thread for `run`
  /// Writes the output of the block's rows, row-major count x d_v. The recorder and the products may be null (see CpuObserver).
  /// `scratch` is 64-byte aligned.
  void (*run)(const Job<T>&, const RowBlock&, const CpuObserver<T>&, void* scratch, double* out) = nullptr;
  /// Writes q.k of a row of Q and these keys, unrounded, to out[key]; null in a GPU's lane code.
  void (*products)(const Job<T>&, int row, Keys, T* out) = nullptr;
  /// Rounds x to the nearest numbers of the plan's format.
  void (*rounded)(const double* x, std::int64_t count, const RounderPlan<T>&, T* out) = nullptr;
  /// Floating-point operations per second of one thread that runs only fma for about `seconds`.
  double (*fma_rate)(double seconds) = nullptr;
};

/// One instruction set's lane code.
struct InstructionSet {
  const char* name = "";
  bool emulates_fma = false;  ///< uses Job::measured
  LaneCode<float> in_float{};
  LaneCode<double> in_double{};
  int dd_rows = 0;
  std::size_t (*dd_scratch)(const Job<double>&) = nullptr;
  /// Three-pass softmax in double-double, rounded to double at the end.
  void (*run_dd)(const Job<double>&, const RowBlock&, const StopSign&, void* scratch, double* out) = nullptr;
  /// Writes count standard normal numbers: elements first .. of stream `stream` of `seed`; first and count are even.
  void (*normals)(std::uint64_t seed, std::uint32_t stream, std::uint64_t first, std::int64_t count, double* out) = nullptr;
  DeviationSums (*deviation)(const double* x, const double* y, int count, const DeviationRule&) = nullptr;
  /// Moments of x[0] .. x[count - 1]; x[0] is element `first` of the array, a multiple of the number of chains.
  MomentSums (*moments)(const double* x, std::size_t first, int count) = nullptr;
  /// Sums |x - y| in interleaved chains.
  void (*gaps)(const double* x, const double* y, int count, double* chains) = nullptr;
  BitsOfMagnitudes (*magnitudes)(const double* x, std::size_t count) = nullptr;
  /// y = exp(x); count is a multiple of 16.
  void (*exponentials)(const float* x, std::int64_t count, float* y) = nullptr;

  template <class T>
  const LaneCode<T>& in() const {
    if constexpr (std::is_same_v<T, float>)
      return in_float;
    else
      return in_double;
  }
};

/// The instruction set of that name. An empty name selects the value of ATTOSCOPE_ISA=sse2|avx2|avx512|simt in the environment,
/// or else the best of this machine. simt is the GPU's lane code, run by the CPU. Throws std::invalid_argument with one
/// sentence if this machine does not run it.
InstructionSet instruction_set(std::string_view name = {});
/// True if this program contains the instruction set of that name and this machine runs it.
bool has_instruction_set(std::string_view name);

}  // namespace attoscope
