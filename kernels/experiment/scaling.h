/// Scaled storage of Q, K, V and P: formats and scales of low-precision kernels.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>

#include "kernels/arithmetic/element.h"
#include "kernels/arithmetic/enum_array.h"
#include "kernels/arithmetic/precision.h"

namespace attoscope {

/// Elements that share a scale. head: all of a tensor's head. rows: `block` rows. token: each row. thread: the elements of one
/// thread of an int8 mma (SageAttention 2): in every `block` rows, rows of Q that are equal modulo 8, rows of K with equal (row
/// mod 8) div 2. channel: each column. columns: `block` columns of a row. block: `block` elements along the contraction, which
/// is d for Q and K, keys for V and P. tensor: all heads of the call as given (`Tensors::all_heads`); the same as `head` if
/// there is one head.
enum class Granularity : std::uint8_t { head, rows, token, thread, channel, columns, block, tensor };
inline constexpr EnumArray<Granularity> granularity_names{"head",    "rows",    "token", "thread",
                                                          "channel", "columns", "block", "tensor"};
constexpr std::string_view name(Granularity g) { return granularity_names[g]; }
/// True if the granularity has a block size.
constexpr bool has_block(Granularity g) {
  return g == Granularity::rows || g == Granularity::thread || g == Granularity::columns || g == Granularity::block;
}

/// True if all elements of a head share one scale.
constexpr bool has_one_scale(Granularity g) { return g == Granularity::head || g == Granularity::tensor; }

/// Storage of a scale. nvfp4: e4m3 on top of an fp32 scale of the whole head, amax / (448 * largest element).
enum class ScaleFormat : std::uint8_t { fp32_scale, e8m0_scale, e4m3_scale, nvfp4_scale };
inline constexpr EnumArray<ScaleFormat> scale_format_names{"fp32", "e8m0", "e4m3", "nvfp4"};

/// Rule for a scale s; x is stored as an element near x / s. amax: the largest magnitude over the largest element. floor:
/// 2^(floor(log2 amax) - the largest element's exponent), OCP MX 1.0: the largest saturate. ceil: the next power of two above
/// amax / largest, NVIDIA's: nothing saturates. fixed: 1 / `factor`.
enum class ScaleRule : std::uint8_t { amax, floor, ceil, fixed };
inline constexpr EnumArray<ScaleRule> scale_rule_names{"amax", "floor", "ceil", "fixed"};

/// Number that is rounded to an element. divided: x / s. reciprocal: x * (1/s). ratio: x * (largest / amax). unrounded: x / s,
/// s before its rounding to the scale's format.
enum class Quotient : std::uint8_t { divided, reciprocal, ratio, unrounded };
inline constexpr EnumArray<Quotient> quotient_names{"divided", "reciprocal", "ratio", "unrounded"};

/// One tensor's storage. Amax is the largest finite magnitude; where it is 0, s = 1; a scale that would be 0 is its format's
/// smallest positive number. Infinity becomes the largest element, NaN stays NaN.
struct Scaling {
  Element element{};
  Granularity granularity = Granularity::head;
  int block = 0;  ///< see `has_block`; else 0
  ScaleFormat scale = ScaleFormat::fp32_scale;
  ScaleRule rule = ScaleRule::amax;
  double most = 0;    ///< replaces the largest element in amax and ceil, as 2.25 in SageAttention 2++; 0: the largest element
                      ///< itself
  double factor = 1;  ///< of `fixed`; of P in blocks it comes on top
  Quotient quotient = Quotient::divided;
  Tie tie = Tie::even;       ///< rounding of ties of integers
  double added = 0;          ///< added to s
  bool shifts = false;       ///< of P: e and l carry the factor too, as -log2(factor) in the exponent
  bool in_operand = false;   ///< elements are multiplied by their scales before the product
  Rounding operand = exact;  ///< rounding of those products

  constexpr bool is_on() const { return element.kind != Element::Kind::none; }
  friend constexpr bool operator==(const Scaling& x, const Scaling& y) {
    if (!x.is_on() || !y.is_on()) return x.is_on() == y.is_on();
    return x.element == y.element && x.granularity == y.granularity && x.block == y.block && x.scale == y.scale &&
           x.rule == y.rule && x.most == y.most && x.factor == y.factor && x.quotient == y.quotient && x.tie == y.tie &&
           x.added == y.added && x.shifts == y.shifts && x.in_operand == y.in_operand && x.operand == y.operand;
  }
};

/// The tensors that can be scaled.
enum class ScaledTensor : std::uint8_t { Q, K, V, P };
inline constexpr EnumArray<ScaledTensor> scaled_tensor_names{"Q", "K", "V", "P"};

/// The scaled storage of one method, and the changes of the tensors before they are stored.
struct Scalings {
  Scaling Q{}, K{}, V{}, P{};
  bool hadamard = false;  ///< Q and K are multiplied by H diag(+-1) / sqrt(d), d a power of 2 (FlashAttention-3, section 3.3)
  bool smooth_K = false;  ///< K loses its mean over the keys, which softmax does not see (SageAttention)
  int smooth_Q = 0;       ///< Q loses its mean over this many rows; mean . K is added to S (SageAttention 2); 0: off
  bool smooth_V = false;  ///< V loses its mean over the keys; it is added to O (SageAttention 2)
  /// Rounds the means, the tensors less their means, and mean . K. Q's mean is subtracted before it is rounded.
  Rounding smoothed = exact;

  constexpr Scaling& operator[](ScaledTensor t) {
    return t == ScaledTensor::Q ? Q : t == ScaledTensor::K ? K : t == ScaledTensor::V ? V : P;
  }
  constexpr const Scaling& operator[](ScaledTensor t) const {
    return t == ScaledTensor::Q ? Q : t == ScaledTensor::K ? K : t == ScaledTensor::V ? V : P;
  }
  /// True if tensors are rotated or lose their means before they are stored.
  constexpr bool smooths() const { return hadamard || smooth_K || smooth_Q > 0 || smooth_V; }
  /// True if the tensors that enter the products differ from those given.
  constexpr bool stores() const { return Q.is_on() || K.is_on() || V.is_on() || smooths(); }
  constexpr bool any() const { return stores() || P.is_on(); }
  friend constexpr bool operator==(const Scalings&, const Scalings&) = default;
};

/// True if a scale of this storage multiplies S or O after the product; else it is in the operand.
constexpr bool is_factored(const Scaling& s, ScaledTensor t) {
  if (!s.is_on() || s.in_operand) return false;
  if (t == ScaledTensor::V) return has_one_scale(s.granularity) || s.granularity == Granularity::channel;
  return s.granularity != Granularity::channel && s.granularity != Granularity::columns && s.granularity != Granularity::block;
}
/// The number that the largest magnitude is scaled to.
constexpr double target(const Scaling& s) { return s.most != 0 ? s.most : largest(s.element); }

/// Bits of an element and its share of the scale, for a tensor of n x d.
double bits_per_element(const Scaling& s, ScaledTensor t, int n, int d);

/// Texts that `parse_scaling` reads, for messages.
inline constexpr std::string_view scalings_expected =
    "off, or an element such as int8, e4m3 or e2m1 and after slashes its granularity, scale and rule: int8/token, "
    "e4m3/channel, e2m1/block:16/nvfp4, e4m3/block:32/e8m0/ceil";

/// "off", "int8/token", "e2m1/block:16/nvfp4", "e4m3/head/x256/shift", and back. After the element, in any order: a
/// granularity, "rows:128"; a scale's format other than fp32; floor or ceil; xF, a factor (of a head: a fixed scale 1/F);
/// most:M; reciprocal, ratio or unrounded; away; plus:A; shift; to:ROUNDING, how element * scale is rounded before the product.
/// Throws std::invalid_argument in a sentence.
std::string scaling_text(const Scaling& s);
Scaling parse_scaling(std::string_view text);

/// The storage with one part replaced: "element", "granularity", "scale", "rule", "factor" or "quotient", each as in the text
/// ("rows:128", "e8m0", "ceil", "448", "ratio"; rule "amax", quotient "divided"). Throws std::invalid_argument in a sentence.
inline constexpr std::array<std::string_view, 6> scaling_parts{"element", "granularity", "scale", "rule", "factor", "quotient"};
Scaling with_part(const Scaling& s, std::string_view part, std::string_view value);

struct Problem;
struct Method;
/// The reason why the scalings of `m` are refused: one sentence without a full stop; "": they are valid.
std::string why_not_scaled(const Method& m, const Problem& p);

}  // namespace attoscope
