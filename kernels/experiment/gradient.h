/// The backward pass of attention in a method: what it rounds, in which order it adds, and its named kernels. The arithmetic is
/// written in kernels/backward/README.md.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "kernels/arithmetic/accumulator.h"
#include "kernels/arithmetic/precision.h"
#include "kernels/experiment/scaling.h"

namespace attoscope {

/// The named steps of attention's backward pass, in order of the data (FlashAttention-2, arXiv 2307.08691, Algorithm 2).
enum class GradStep : std::uint8_t {
  lse,
  scaled_K,
  delta_step,
  delta,
  probability,
  P,
  dp_step,
  dP,
  centred,
  dS,
  dv_step,
  dV,
  dk_step,
  dK,
  dq_step,
  dq_tile,
  dq_sum,
  dQ
};
inline constexpr int grad_step_count = enum_count<GradStep>();

/// A step's name in files and menus, and what it rounds.
struct GradStepInfo {
  GradStep step;
  std::string_view name, what;
};
inline constexpr std::array<GradStepInfo, grad_step_count> grad_step_infos{{
    {GradStep::lse, "lse", "L = m + ln l, as the forward pass stores it"},
    {GradStep::scaled_K, "scaled_K", "K * (scale * log2 e), where the scale is on K"},
    {GradStep::delta_step, "delta_step", "the accumulator after every fma of delta"},
    {GradStep::delta, "delta", "rowsum(dO*O), or rowsum(P*dP)"},
    {GradStep::probability, "probability", "P = exp(S - L), recomputed"},
    {GradStep::P, "P", "P as it enters P^T.dO"},
    {GradStep::dp_step, "dp_step", "the accumulator after every fma of dO.V^T"},
    {GradStep::dP, "dP", "dO.V^T"},
    {GradStep::centred, "centred", "dP - delta"},
    {GradStep::dS, "dS", "P*(dP - delta)"},
    {GradStep::dv_step, "dv_step", "the accumulator after every fma of P^T.dO"},
    {GradStep::dV, "dV", "P^T.dO"},
    {GradStep::dk_step, "dk_step", "the accumulator after every fma of dS^T.Q"},
    {GradStep::dK, "dK", "scale * dS^T.Q"},
    {GradStep::dq_step, "dq_step", "the accumulator after every fma of dS.K"},
    {GradStep::dq_tile, "dq_tile", "dS.K of a key tile, before it is added to dQ"},
    {GradStep::dq_sum, "dq_sum", "dQ as stored after every key tile"},
    {GradStep::dQ, "dQ", "scale * dS.K"},
}};
static_assert(is_in_order(grad_step_infos, &GradStepInfo::step));
constexpr const GradStepInfo& info(GradStep s) { return grad_step_infos[static_cast<std::size_t>(s)]; }
constexpr std::string_view name(GradStep s) { return info(s).name; }

/// Terms of delta: dO*O as in FlashAttention, or P*dP as in the backward pass of a softmax. They are equal in exact arithmetic;
/// a biased error of a rounded O affects only the first (arXiv 2510.04212).
enum class DeltaFrom : std::uint8_t { output, probabilities };
inline constexpr EnumArray<DeltaFrom> delta_from_names{"output", "probabilities"};

/// Roundings of the backward pass. S and its max are recomputed with the roundings of the forward steps.
struct GradPrecision {
  std::array<Rounding, grad_step_count> steps{};
  DeltaFrom delta_from = DeltaFrom::output;

  constexpr Rounding& operator[](GradStep s) { return steps[static_cast<std::size_t>(s)]; }
  constexpr const Rounding& operator[](GradStep s) const { return steps[static_cast<std::size_t>(s)]; }
  friend constexpr bool operator==(const GradPrecision&, const GradPrecision&) = default;
};

/// Place of the factor `scale`: on the finished dQ and dK (FlashAttention), on dS before its cast (memory-efficient attention),
/// or with log2 e on K before the scores are recomputed (the Triton tutorial).
enum class ScaleAt : std::uint8_t { product, dS, K };
inline constexpr EnumArray<ScaleAt> scale_at_names{"product", "dS", "K"};

/// Rule that recomputes P from S and L. natural: exp(S - L). exp2: 2^(S c - L log2 e) with one fma, c = scale log2 e.
/// exp2_twice: S, finished and rounded, times log2 e, minus L log2 e (FlexAttention).
enum class GradExponential : std::uint8_t { natural, exp2, exp2_twice };
inline constexpr EnumArray<GradExponential> grad_exponential_names{"natural", "exp2", "exp2_twice"};

/// The order in which the key tiles' products are added to dQ. shuffled: in an order drawn for every query tile, as atomic
/// additions do. buffers: tile t to buffer t mod `buffers`, each ascending, then buffer 0, 1, ... (FlashAttention-2's
/// deterministic mode).
enum class GradOrder : std::uint8_t { ascending, descending, shuffled, buffers };
inline constexpr EnumArray<GradOrder> grad_order_names{"ascending", "descending", "shuffled", "buffers"};

/// The products of the backward pass.
enum class GradProduct : std::uint8_t { dP, dV, dK, dQ };
inline constexpr EnumArray<GradProduct> grad_product_names{"dP", "dV", "dK", "dQ"};
constexpr std::string_view name(GradProduct p) { return grad_product_names[p]; }

/// Accumulators of dP, dV, dK and dQ. Recomputed scores use the accumulator of the forward pass.
struct GradAccumulators {
  Accumulator dP = Accumulator::fma, dV = Accumulator::fma, dK = Accumulator::fma, dQ = Accumulator::fma;

  Accumulator& operator[](GradProduct p) { return *std::array{&dP, &dV, &dK, &dQ}[static_cast<std::size_t>(p)]; }
  const Accumulator& operator[](GradProduct p) const { return *std::array{&dP, &dV, &dK, &dQ}[static_cast<std::size_t>(p)]; }
  friend constexpr bool operator==(const GradAccumulators&, const GradAccumulators&) = default;
};

/// The tensors of the backward pass that can be stored with scales. dS_of_dK: dS in the product of dK.
enum class GradStored : std::uint8_t { dO, P, dS, dS_of_dK };

/// Storage with scales of tensors of the backward pass; Q, K and V are stored as in the forward pass.
struct GradScalings {
  Scaling dO{}, P{}, dS{};
  Scaling dS_of_dK{};  ///< dS quantised a second time, along the queries; off: dK takes the same numbers as dQ

  Scaling& operator[](GradStored t) { return *std::array{&dO, &P, &dS, &dS_of_dK}[static_cast<std::size_t>(t)]; }
  const Scaling& operator[](GradStored t) const { return *std::array{&dO, &P, &dS, &dS_of_dK}[static_cast<std::size_t>(t)]; }
  friend bool operator==(const GradScalings&, const GradScalings&) = default;
};

/// One emulated backward pass.
struct GradMethod {
  GradPrecision precision{};
  ScaleAt scale_at = ScaleAt::product;
  GradExponential exponential = GradExponential::natural;
  int block_q = 64, block_k = 64;  ///< rows and keys of a tile
  GradOrder order = GradOrder::ascending;
  std::uint64_t order_seed = 1;     ///< seed of `shuffled`
  int buffers = 1;                  ///< number of buffers of `buffers`
  bool last_queries_first = false;  ///< dK and dV take query tiles from the last to the first (FlashAttention-2)
  GradAccumulators accumulator{};
  GradScalings scaling{};

  friend bool operator==(const GradMethod&, const GradMethod&) = default;
};
inline constexpr int max_grad_buffers = 1024;

}  // namespace attoscope
