/// Matrix products inside a GPU: the sums of tensor cores, as one rule with parameters.
///
/// K is processed in blocks, in ascending order. Within a block all products of two factors are exact, and c, the result of the
/// previous block, is exact too. Their significands are aligned to the largest exponent among them, cut towards zero to a
/// number of bits below it, and added exactly; the sum is rounded once. `tensor_core_sum.h` implements this rule step by step;
/// `README.md` of kernels/experiment names the recorded products that check it.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>

#include "kernels/arithmetic/enum_array.h"
#include "kernels/arithmetic/format.h"

namespace attoscope {

/// GPUs whose tensor cores have a rule here.
enum class TensorCore : std::uint8_t { v100, a100, a2, ada, l40s, h100, h200, b200, rtx50 };

/// Name of a GPU in files and menus, and its architecture.
struct TensorCoreText {
  std::string_view name, what;
};
inline constexpr std::array<TensorCoreText, 9> tensor_core_texts{{
    {"v100", "Volta, sm_70"},
    {"a100", "Ampere, sm_80"},
    {"a2", "Ampere, sm_86"},
    {"ada", "Ada Lovelace, sm_89"},
    {"l40s", "Ada Lovelace, sm_89"},
    {"h100", "Hopper, sm_90"},
    {"h200", "Hopper, sm_90"},
    {"b200", "Blackwell, sm_100"},
    {"rtx50", "Blackwell of GeForce RTX 50, sm_120: a published model, not recorded"},
}};
constexpr std::string_view name(TensorCore gpu) { return tensor_core_texts[static_cast<std::size_t>(gpu)].name; }
/// Parses the name of a GPU. Throws std::invalid_argument with one sentence.
TensorCore parse_tensor_core(std::string_view text);

/// Type of the sums and of c.
enum class SumType : std::uint8_t { f32, f16 };
inline constexpr EnumArray<SumType> sum_type_names{"f32", "f16"};
/// Parses "f32" or "f16". Throws std::invalid_argument with one sentence.
SumType parse_sum_type(std::string_view text);

/// Accumulator of one of a method's two products. fma: one chain of fma in the working type, rounded as the steps say. f64: a
/// chain of fma in fp64, rounded to fp32 at the end of q.k, and in P.V after every 64 keys of a tile. All others: the tensor
/// cores of a GPU, with sums in fp32 or, with ":f16", in fp16.
enum class Accumulator : std::uint8_t {
  fma,
  f64,
  v100,
  a100,
  a2,
  ada,
  l40s,
  h100,
  h200,
  b200,
  rtx50,
  v100_f16,
  a100_f16,
  a2_f16,
  ada_f16,
  l40s_f16,
  h100_f16,
  h200_f16,
  b200_f16,
  rtx50_f16
};
inline constexpr EnumArray<Accumulator> accumulator_names{
    "fma",   "f64",      "v100",     "a100",   "a2",      "ada",      "l40s",     "h100",     "h200",     "b200",
    "rtx50", "v100:f16", "a100:f16", "a2:f16", "ada:f16", "l40s:f16", "h100:f16", "h200:f16", "b200:f16", "rtx50:f16"};
constexpr std::string_view name(Accumulator a) { return accumulator_names[a]; }
/// Parses a name of `accumulator_names`. Throws std::invalid_argument with one sentence.
Accumulator parse_accumulator(std::string_view text);

constexpr bool is_tensor_core(Accumulator a) { return a >= Accumulator::v100; }
/// GPU of a tensor-core accumulator.
constexpr TensorCore gpu_of(Accumulator a) {
  return static_cast<TensorCore>((static_cast<std::size_t>(a) - static_cast<std::size_t>(Accumulator::v100)) %
                                 tensor_core_texts.size());
}
constexpr SumType sums_of(Accumulator a) { return a >= Accumulator::v100_f16 ? SumType::f16 : SumType::f32; }

/// Rounding of a block's exact sum to its result.
enum class SumRounding : std::uint8_t {
  fp32_towards_zero,
  e8m13_towards_zero,  ///< fp32 without its last ten bits
  fp16_nearest_even
};

/// Point at which c enters the sum.
enum class CarryPlace : std::uint8_t {
  in_the_block,     ///< as one more significand of the block
  after_the_block,  ///< the block starts from 0; its result is added to c in fp32, to nearest even
  /// Factors become fp16. A block has two halves, each added as a block: products 0 and 1 modulo 4 from 0, then products 2 and
  /// 3 on top of the first result. The second result is added to c in the type of sums, to nearest even.
  after_the_halves
};

/// Evidence for a rule: recordings of products on this GPU.
enum class SumEvidence : std::uint8_t {
  recorded,        ///< the rule gives every recorded product
  recorded_to_32,  ///< every recorded product with K up to 32; beyond, where c is the previous block's result, it is a model
  recorded_to_4,   ///< every recorded product with K up to 4; beyond, where a block has more products, it is a model
  recorded_without_c,  ///< every recorded product with c = 0; for another c, so from the second block on, it is a model
  model                ///< no recording decides: "model, not recorded"
};

/// The summation rule of one GPU for one format of factors and one type of sums.
struct TensorCoreRule {
  Format factors = fp16;
  int block = 4;          ///< L, products added at once
  int aligned_bits = 23;  ///< F, bits that a significand keeps below the largest exponent of the block
  SumRounding rounding = SumRounding::fp32_towards_zero;
  CarryPlace carry = CarryPlace::in_the_block;
  SumEvidence evidence = SumEvidence::recorded;

  friend constexpr bool operator==(const TensorCoreRule&, const TensorCoreRule&) = default;
};
inline constexpr int longest_block = 32;
/// Number of `TensorCoreBlock`s for L products: 2 if the block is added in halves, else 1.
constexpr int parts_of_a_block(const TensorCoreRule& r) { return r.carry == CarryPlace::after_the_halves ? 2 : 1; }
/// The format whose min_exponent is the smallest exponent that factors are aligned by.
constexpr Format aligned_as(CarryPlace carry, const Format& factors) {
  return carry == CarryPlace::after_the_halves && factors.exponent_bits <= fp16.exponent_bits ? fp16 : factors;
}

/// Format of a block's result.
constexpr Format result_format(SumRounding r) {
  return r == SumRounding::fp16_nearest_even ? fp16 : r == SumRounding::e8m13_towards_zero ? Format{8, 13} : fp32;
}

/// One sentence: why `gpu` has no such products or sums, and which ones it has; "" if it has them.
std::string why_no_tensor_core(TensorCore gpu, const Format& factors, SumType sums);

/// The rule of these arguments. Throws std::invalid_argument with the sentence of `why_no_tensor_core` if there is none.
TensorCoreRule tensor_core_rule(TensorCore gpu, const Format& factors, SumType sums);

/// "towards zero to fp32", for people and files.
std::string_view text(SumRounding r);
/// "in the block", "after the block, in fp32 to nearest even", "after both halves of the block, in fp16 to nearest even".
std::string_view text(CarryPlace c);
/// "blocks of 16, 25 bits, towards zero to fp32; recorded".
std::string rule_text(const TensorCoreRule& rule);
/// "recorded", "recorded for K up to 32; beyond, model, not recorded", the same up to 4, "recorded for c = 0; with another c,
/// model, not recorded", "model, not recorded".
std::string_view text(SumEvidence e);

}  // namespace attoscope
