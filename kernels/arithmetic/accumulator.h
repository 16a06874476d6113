/// Matrix products inside a GPU: the sums of tensor cores, as one rule with parameters.
///
/// K is taken in blocks, in ascending order. In a block every product of two factors is exact, and so is c, the result of the
/// block before. Their significands are aligned under the largest of their exponents, cut towards zero to a number of bits
/// below it, and added exactly; the sum is rounded once. `tensor_core_sum.h` is this rule, step by step; `README.md` of
/// kernels/experiment names the recorded products that check it.
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

/// A GPU's name in files and menus, and its architecture.
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
/// The GPU of that name. Throws std::invalid_argument with one sentence.
TensorCore parse_tensor_core(std::string_view text);

/// The type that sums have, and c with them.
enum class SumType : std::uint8_t { f32, f16 };
inline constexpr EnumArray<SumType> sum_type_names{"f32", "f16"};
/// The type of that name. Throws std::invalid_argument with one sentence.
SumType parse_sum_type(std::string_view text);

/// Accumulator of one of a method's two products. fma: one chain in the working type, rounded as the steps say. f64: a chain of
/// fma in fp64, rounded to fp32 at the end of q.k, and in P.V after every 64 keys of a tile. Otherwise the tensor cores of a
/// GPU, with sums in fp32 or, with ":f16", in fp16.
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
/// The accumulator of that name. Throws std::invalid_argument with one sentence.
Accumulator parse_accumulator(std::string_view text);

constexpr bool is_tensor_core(Accumulator a) { return a >= Accumulator::v100; }
/// The GPU, and the type of sums, of an accumulator that is a tensor core.
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

/// Place at which c enters the sum.
enum class CarryPlace : std::uint8_t {
  in_the_block,     ///< as one more significand of the block
  after_the_block,  ///< the block starts from 0; its result is added to c in fp32, to nearest even
  /// Factors become fp16, and a block has two halves, each added as a block: the products at places 0 and 1 modulo 4 from 0,
  /// those at places 2 and 3 on top of them. The second sum is added to c in the type of sums, to nearest even.
  after_the_halves
};

/// Evidence for a rule.
enum class SumEvidence : std::uint8_t {
  recorded,        ///< it gives every product that was recorded on this GPU
  recorded_to_32,  ///< the same of products with K up to 32; beyond, where c is the result of the block before, it is a model
  recorded_without_c,  ///< the same of products with c = 0; with another c, so from the second block on, it is a model
  model                ///< nothing recorded decides it: "model, not recorded"
};

/// The rule of one GPU for one format of factors and one type of sums.
struct TensorCoreRule {
  Format factors = fp16;
  int block = 4;          ///< L, products that are added at once
  int aligned_bits = 23;  ///< F, bits that a significand keeps below the largest exponent of its block
  SumRounding rounding = SumRounding::fp32_towards_zero;
  CarryPlace carry = CarryPlace::in_the_block;
  SumEvidence evidence = SumEvidence::recorded;

  friend constexpr bool operator==(const TensorCoreRule&, const TensorCoreRule&) = default;
};
inline constexpr int longest_block = 32;
/// Blocks in the sense of `TensorCoreBlock` in a block of L products.
constexpr int parts_of_a_block(const TensorCoreRule& r) { return r.carry == CarryPlace::after_the_halves ? 2 : 1; }
/// The format whose smallest exponent factors of this format have at least, as they are aligned.
constexpr Format aligned_as(CarryPlace carry, const Format& factors) {
  return carry == CarryPlace::after_the_halves && factors.exponent_bits <= fp16.exponent_bits ? fp16 : factors;
}

/// The format that a block's result has.
constexpr Format result_format(SumRounding r) {
  return r == SumRounding::fp16_nearest_even ? fp16 : r == SumRounding::e8m13_towards_zero ? Format{8, 13} : fp32;
}

/// One sentence that says why `gpu` has no such products or sums, and which would work; "": it has them.
std::string why_no_tensor_core(TensorCore gpu, const Format& factors, SumType sums);

/// The rule; throws std::invalid_argument with that sentence where there is none.
TensorCoreRule tensor_core_rule(TensorCore gpu, const Format& factors, SumType sums);

/// "towards zero to fp32", for people and files.
std::string_view text(SumRounding r);
/// "in the block", "after the block, in fp32 to nearest even", "after both halves of the block, in fp16 to nearest even".
std::string_view text(CarryPlace c);
/// "blocks of 16, 25 bits, towards zero to fp32; recorded".
std::string rule_text(const TensorCoreRule& rule);
/// "recorded", "recorded for K up to 32; beyond, model, not recorded", "recorded for c = 0; with another c, model, not
/// recorded", "model, not recorded".
std::string_view text(SumEvidence e);

}  // namespace attoscope
