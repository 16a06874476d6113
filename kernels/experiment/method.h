/// One emulated kernel: algorithm, tiles, options, and roundings.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <string_view>

#include "kernels/arithmetic/accumulator.h"
#include "kernels/experiment/algorithm.h"
#include "kernels/experiment/scaling.h"

namespace attoscope {

/// natural: exp(S - m). exp2: 2^(S*c - m*c), c = scale*log2 e, as one fma of the unscaled S, as in FlashAttention-2; m*c is
/// rounded once, so that the exponent at the max is not exactly 0.
enum class ExponentialKind : std::uint8_t { natural, exp2 };
inline constexpr EnumArray<ExponentialKind> exponential_names{"natural", "exp2"};

/// The order in which q.k, the row sum and P.V add their terms. interleaved: `sum_lanes` chains, then their sum in order.
enum class SumOrder : std::uint8_t { sequential, pairwise, interleaved };
inline constexpr EnumArray<SumOrder> sum_order_names{"sequential", "pairwise", "interleaved"};

/// The two matrix products of attention.
enum class AttentionProduct : std::uint8_t { qk, pv };
inline constexpr EnumArray<AttentionProduct> attention_product_names{"qk", "pv"};
constexpr std::string_view name(AttentionProduct p) { return attention_product_names[p]; }

/// Accumulators of q.k and P.V. Tensor cores take K, and P.V's keys, in blocks in ascending order; the blocks of P.V begin at a
/// tile's first key. A key that a row does not see has P = 0; a row that sees no key of a tile keeps its sums.
struct Accumulators {
  Accumulator qk = Accumulator::fma, pv = Accumulator::fma;

  constexpr Accumulator& operator[](AttentionProduct p) { return p == AttentionProduct::qk ? qk : pv; }
  constexpr const Accumulator& operator[](AttentionProduct p) const { return p == AttentionProduct::qk ? qk : pv; }
  friend constexpr bool operator==(const Accumulators&, const Accumulators&) = default;
};

/// The base of the log-sum-exp of a row, and of each run of split_kv, as stored and as the merge reads it. two_as_e,
/// last_two_as_e: emulated mistakes: all runs, or the last alone, are stored in base 2 and read as natural.
enum class StoredBase : std::uint8_t { e, two, two_as_e, last_two_as_e };
inline constexpr EnumArray<StoredBase> stored_base_names{"e", "2", "2_as_e", "last_2_as_e"};

/// True if a row's log-sum-exp leaves the kernel in base 2.
constexpr bool is_base_2(StoredBase base) { return base == StoredBase::two || base == StoredBase::two_as_e; }

/// The rule that merges the runs of split_kv. weights: all at once, w_i = exp(lse_i - max lse). sigmoid: one after the other,
/// as in ring attention: s = sigmoid(lse_i - L), O = O - s (O - O_i), L = max(L, lse_i) + ln(1 + exp(-|lse_i - L|)).
enum class MergeRule : std::uint8_t { weights, sigmoid };
inline constexpr EnumArray<MergeRule> merge_rule_names{"weights", "sigmoid"};

/// Output of a row that sees no key, and of a merge of such runs: zeros, or NaN, the value of exp(-infinity - -infinity).
enum class EmptyRule : std::uint8_t { zeros, nan };
inline constexpr EnumArray<EmptyRule> empty_rule_names{"zeros", "nan"};

/// Value of Method::flush that follows the policy: 0 if P.V is accumulated in O, else 1.
inline constexpr int flush_of_policy = -1;

/// One emulated kernel. Tile sizes start at 1; sizes above N act as N. three_pass has no tiles.
struct Method {
  Algorithm algorithm = Algorithm::flash2;
  int block_q = 64;  ///< Br: rows of a tile; changes traffic, never a bit of the output
  int block_k = 64;  ///< Bc: keys of a tile
  int splits = 2;    ///< split_kv: runs of equally many tiles, the last ones shorter
  double tau = 8;    ///< flash4: the stale max stays while (m_new - m_old) log2 e <= tau
  double tie_beta =
      0;  ///< tie mitigation of arXiv 2510.04212: a tied tile max is scaled by beta if positive, set to 0 if negative; 0: off
  ExponentialKind exponential = ExponentialKind::natural;
  int exp2_degree = 0;   ///< exp2 by a polynomial of degree 1..5 on [0, 1) (FlashAttention-4); 0: full precision
  int p_exponent = 0;    ///< e and l carry a factor 2^p_exponent, so that 8-bit P underflows later (FlashAttention-3: 8)
  bool kahan_l = false;  ///< the row sum carries its rounding error along (Kahan 1965), within and between tiles
  SumOrder order = SumOrder::sequential;
  int sum_lanes = 8;          ///< chains of `interleaved`
  bool reverse_keys = false;  ///< keys are taken from the last to the first
  Accumulators accumulator{};
  /// flash2, flash4, split_kv: number of tiles, counted from the first tile of the row or run, after which the sum of P.V is
  /// added to O and restarts at 0; the last tile always adds it. 0: never, P.V is accumulated in O.
  int flush = flush_of_policy;
  Rounding partial = exact;  ///< split_kv: O/l of each run, as it is stored before the merge
  StoredBase lse_base = StoredBase::e;
  MergeRule merge = MergeRule::weights;
  EmptyRule empty = EmptyRule::zeros;
  Scalings scaling{};
  Precision precision{};

  friend bool operator==(const Method&, const Method&) = default;
};
inline constexpr int max_tile = 1 << 30, max_splits = 64, max_sum_lanes = 64, max_p_exponent = 64, max_exp2_degree = 5;
inline constexpr double max_tau = 64, max_tie_beta = 64;

/// Lower bound of the mask terms that a method adds: the lowest fp32 number, or -2^127 if scores or log-sum-exps are multiplied
/// by log2 e or rounded, which would turn the lowest fp32 number into an infinity.
inline double lowest_term(const Method& m) {
  const bool grows =
      m.exponential == ExponentialKind::exp2 || m.lse_base != StoredBase::e ||
      std::ranges::any_of(step_infos, [&m](const StepInfo& s) { return s.is_score && m.precision[s.step] != exact; });
  return grows ? -0x1p127 : -0x1.fffffep127;
}

/// Method::flush with flush_of_policy resolved; 1 for algorithms without the option.
constexpr int flush_interval(const Method& m) {
  if (!divides_at_the_end(m.algorithm)) return 1;
  return m.flush == flush_of_policy ? (m.precision.accumulate_in_O ? 0 : 1) : m.flush;
}

/// The tau of FlashAttention-4 for a main format: 8, or 0 (no stale max) for formats of 8 bits or fewer.
constexpr double usual_tau(const Format& main) { return 1 + main.exponent_bits + main.mantissa_bits > 8 ? 8 : 0; }

}  // namespace attoscope
