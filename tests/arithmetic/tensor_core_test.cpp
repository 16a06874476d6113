// The tensor cores' rule against every recorded product, wrong parameters, NaN and infinities, and first principles.

#include <atomic>
#include <cstdlib>
#include <stdexcept>

#include "kernels/arithmetic/accumulator.h"
#include "kernels/arithmetic/tensor_core_sum.h"
#include "tests/reference/plain_tensor_core.h"
#include "tests/support/matchers.h"
#include "tests/support/recorded_products.h"
#include "tests/support/support.h"
#include "tests/support/temporary_directory.h"

namespace attoscope::testing {
namespace {

constexpr float infinity = std::numeric_limits<float>::infinity();
using Floats = std::vector<float>;

TensorCoreRule rule_of(const RecordedProducts& p) {
  return tensor_core_rule(parse_tensor_core(p.gpu), parse_format(p.format), parse_sum_type(p.result));
}

/// Result of the last block; c in the type of sums if there is none.
float sum_of_blocks(const TensorCoreRule& rule, std::span<const float> a, std::span<const float> b, float c) {
  const std::vector<TensorCoreBlock> blocks = tensor_core_blocks(rule, a, b, c);
  return blocks.empty() ? round(rule.rounding == SumRounding::fp16_nearest_even ? fp16 : fp32, c) : blocks.back().result;
}

/// Number of rows for which `dot` does not give the recorded result.
int missed_rows(const RecordedProducts& p, auto dot) {
  int missed = 0;
  for (int row = 0; row < p.rows; ++row) {
    const auto at = static_cast<std::size_t>(row);
    missed += same_but_for_sign_of_zero(dot(p.a_row(row), p.b_row(row), p.c[at]), p.d[at]) ? 0 : 1;
  }
  return missed;
}
int missed_rows(const RecordedProducts& p, const TensorCoreRule& rule) {
  return missed_rows(p, [&](auto a, auto b, float c) { return sum_of_blocks(rule, a, b, c); });
}

TEST(Recorded, SetsAreAllThere) {
  EXPECT_EQ(recorded_products().size(), 48U);
  EXPECT_EQ(std::ranges::count(recorded_products(), "f32", &RecordedProducts::result), 32);
  for (const RecordedProducts& p : recorded_products()) {
    EXPECT_EQ(p.rows, 1000) << p.name();
    EXPECT_NE(rule_of(p).evidence, SumEvidence::model) << p.name();
  }
}

TEST(Recorded, EveryRowBitForBit) {
  for (const RecordedProducts& p : recorded_products()) {
    const TensorCoreRule rule = rule_of(p);
    EXPECT_EQ(missed_rows(p, rule), 0) << p.name();
    EXPECT_EQ(missed_rows(p, [&](auto a, auto b, float c) { return tensor_core_dot(rule, a, b, c); }), 0) << p.name();
    EXPECT_EQ(missed_rows(p, [&](auto a, auto b, float c) { return plain::tensor_core_dot(rule, a, b, c); }), 0) << p.name();
  }
}

/// The recorded sets whose blocks have two halves.
std::vector<const RecordedProducts*> sets_with_halves() {
  std::vector<const RecordedProducts*> sets;
  for (const RecordedProducts& p : recorded_products())
    if (rule_of(p).carry == CarryPlace::after_the_halves) sets.push_back(&p);
  return sets;
}

/// The 32 products of a row in another order: the i-th moves to to[i].
std::vector<float> moved(std::span<const float> x, auto to) {
  std::vector<float> y(x.size());
  for (std::size_t i = 0; i < x.size(); ++i) y[to(i)] = x[i];
  return y;
}

/// Halves of other products, the halves in the other order, and c in another place change hundreds of 1,000 rows.
TEST(Recorded, OtherHalvesAndAnotherPlaceOfCMissHundredsOfRows) {
  const auto lower_first = [](std::size_t i) { return i % 16 / 2 * 4 + i / 16 * 2 + i % 2; };  // 0-15, then 16-31
  const auto even_first = [](std::size_t i) { return i / 4 * 4 + i % 2 * 2 + i % 4 / 2; };  // 0, 2, 4, ..., then 1, 3, 5, ...
  const auto others_first = [](std::size_t i) { return i ^ 2; };
  const auto missed_after = [](const RecordedProducts& p, auto to) {
    return missed_rows(p, [&](auto a, auto b, float c) { return sum_of_blocks(rule_of(p), moved(a, to), moved(b, to), c); });
  };
  EXPECT_EQ(sets_with_halves().size(), 6U);
  for (const RecordedProducts* p : sets_with_halves()) {
    EXPECT_EQ(missed_after(*p, [](std::size_t i) { return i; }), 0) << p->name();
    EXPECT_GT(missed_after(*p, lower_first), 100) << p->name();
    EXPECT_GT(missed_after(*p, even_first), 100) << p->name();
    EXPECT_GT(missed_after(*p, others_first), 100) << p->name();
    TensorCoreRule wrong = rule_of(*p);
    wrong.carry = CarryPlace::in_the_block;
    EXPECT_GT(missed_rows(*p, wrong), 200) << p->name();
    EXPECT_GT(missed_rows(*p, [&](auto a, auto b, float) { return sum_of_blocks(rule_of(*p), a, b, 0); }), 900)
        << p->name() << " with c left out";
  }
}

/// True if one bit more or less of the aligned significands changes a set; false if the result has far fewer bits or products
/// of few bits lie close together.
bool shows_a_bit(const RecordedProducts& p) {
  const bool few_bits_of_result = p.result == "f16" && (p.format == "fp16" || p.gpu != "ada"),
             few_bits_of_products = p.gpu == "b200" && p.format[0] == 'e';
  return !few_bits_of_result && !few_bits_of_products;
}

TEST(Recorded, OtherNumbersOfAlignedBitsMissRows) {
  for (const RecordedProducts& p : recorded_products())
    for (const int change : {-1, 1, -14}) {
      TensorCoreRule wrong = rule_of(p);
      if (change == -14 && wrong.carry != CarryPlace::after_the_halves)
        wrong.aligned_bits -= 8;
      else
        wrong.aligned_bits += change;
      if (shows_a_bit(p) || change == -14) {
        EXPECT_GT(missed_rows(p, wrong), 0) << p.name() << ", " << wrong.aligned_bits << " bits";
      } else {
        EXPECT_EQ(missed_rows(p, wrong), 0) << p.name() << " does show a bit";
      }
    }
}

TEST(Recorded, OtherBlockLengthsMissRows) {
  for (const RecordedProducts& p : recorded_products())
    for (const int length : {rule_of(p).block / 2, rule_of(p).block * 2}) {
      TensorCoreRule wrong = rule_of(p);
      const bool same_blocks = std::min(length, wrong.block) >= p.k;  // one, of all products
      if (length > longest_block || same_blocks) continue;
      wrong.block = length;
      EXPECT_GT(missed_rows(p, wrong), 0) << p.name() << ", blocks of " << length;
    }
}

TEST(Recorded, OtherRoundingsAndPlacesOfCMissRows) {
  for (const RecordedProducts& p : recorded_products()) {
    TensorCoreRule wrong = rule_of(p);
    wrong.rounding =
        wrong.rounding == SumRounding::fp32_towards_zero ? SumRounding::e8m13_towards_zero : SumRounding::fp32_towards_zero;
    EXPECT_GT(missed_rows(p, wrong), 0) << p.name() << ", rounded " << text(wrong.rounding);
    wrong = rule_of(p);
    if (wrong.carry == CarryPlace::in_the_block) continue;
    wrong.carry = CarryPlace::in_the_block;
    EXPECT_GT(missed_rows(p, wrong), 0) << p.name() << ", c in the block";
  }
}

TEST(Rule, OfHopper) {
  const TensorCoreRule half = tensor_core_rule(TensorCore::h100, bf16, SumType::f32);
  EXPECT_EQ(half.block, 16);
  EXPECT_EQ(half.aligned_bits, 25);
  EXPECT_EQ(half.evidence, SumEvidence::recorded);
  const TensorCoreRule eight = tensor_core_rule(TensorCore::h100, e4m3, SumType::f32);
  EXPECT_EQ(eight.block, 32);
  EXPECT_EQ(eight.aligned_bits, 13);
  EXPECT_EQ(eight.rounding, SumRounding::e8m13_towards_zero);
  EXPECT_EQ(eight.evidence, SumEvidence::recorded_without_c);
  const TensorCoreRule halves = tensor_core_rule(TensorCore::h100, e4m3, SumType::f16);
  EXPECT_EQ(halves.block, 32);
  EXPECT_EQ(halves.aligned_bits, 25);
  EXPECT_EQ(halves.rounding, SumRounding::fp16_nearest_even);
  EXPECT_EQ(halves.carry, CarryPlace::after_the_halves);
  EXPECT_EQ(halves.evidence, SumEvidence::recorded_to_32);
  EXPECT_EQ(rule_text(halves),
            "blocks of 32 in halves, 25 bits, to nearest even in fp16, c after both halves of the block, in fp16 to nearest "
            "even; recorded for K up to 32; beyond, model, not recorded");
}

/// Products of tf32 were recorded with K = 4 alone.
TEST(Rule, OfTf32InBlocksOfEightIsRecordedForHalfABlock) {
  for (const TensorCore gpu : {TensorCore::h100, TensorCore::h200, TensorCore::b200})
    EXPECT_EQ(rule_text(tensor_core_rule(gpu, tf32, SumType::f32)),
              "blocks of 8, 25 bits, towards zero to fp32; recorded for K up to 4; beyond, model, not recorded");
  EXPECT_EQ(tensor_core_rule(TensorCore::ada, tf32, SumType::f32).evidence, SumEvidence::recorded);
}

/// The rule of rtx50 comes from a published model alone, for all formats.
TEST(Rule, OfRtx50IsNeverRecorded) {
  for (const Format& f : {fp16, bf16, tf32, e4m3, e5m2})
    for (const SumType sums : {SumType::f32, SumType::f16})
      if (why_no_tensor_core(TensorCore::rtx50, f, sums).empty()) {
        EXPECT_EQ(tensor_core_rule(TensorCore::rtx50, f, sums).evidence, SumEvidence::model);
      }
  EXPECT_THAT(tensor_core_texts.back().what, HasSubstr("not recorded"));
}

TEST(Rule, APairThatDoesNotExistIsASentenceThatSaysWhatWould) {
  EXPECT_EQ(why_no_tensor_core(TensorCore::a100, e4m3, SumType::f32),
            "a100 multiplies no e4m3, expected fp16, bf16 or tf32, or for e4m3 ada, l40s, h100, h200, b200 or rtx50");
  EXPECT_EQ(why_no_tensor_core(TensorCore::v100, bf16, SumType::f32),
            "v100 multiplies no bf16, expected fp16, or for bf16 a100, a2, ada, l40s, h100, h200, b200 or rtx50");
  EXPECT_EQ(why_no_tensor_core(TensorCore::h100, fp32, SumType::f32),
            "tensor cores multiply no fp32 here, expected fp16, bf16, tf32, e4m3 or e5m2");
  EXPECT_EQ(why_no_tensor_core(TensorCore::h100, bf16, SumType::f16),
            "h100 adds products of bf16 in f32 alone, expected f32, or for f16 products of fp16, e4m3 or e5m2");
  EXPECT_EQ(why_no_tensor_core(TensorCore::h100, bf16, SumType::f32), "");
  EXPECT_EQ(sentence_of<std::invalid_argument>([] { tensor_core_rule(TensorCore::a2, e5m2, SumType::f32); }),
            why_no_tensor_core(TensorCore::a2, e5m2, SumType::f32));
  EXPECT_THAT(sentence_of<std::invalid_argument>([] { parse_tensor_core("h800"); }), HasSubstr("GPU 'h800' is unknown"));
  EXPECT_THAT(sentence_of<std::invalid_argument>([] { parse_sum_type("f64"); }), HasSubstr("expected f32 or f16"));
}

/// One GPU's products of fp16, a block at a time.
float h100(const Floats& a, const Floats& b, float c = 0, SumType sums = SumType::f32, const Format& f = fp16) {
  return sum_of_blocks(tensor_core_rule(TensorCore::h100, f, sums), a, b, c);
}

void expect_bits(float found, std::uint32_t bits) { EXPECT_EQ(std::bit_cast<std::uint32_t>(found), bits) << found; }

TEST(Special, NaN) {
  const float nan = std::numeric_limits<float>::quiet_NaN();
  expect_bits(h100({1, nan}, {1, 1}), 0x7fffffff);
  expect_bits(h100({1, 2}, {-nan, 1}), 0x7fffffff);
  expect_bits(h100({1, 2}, {1, 1}, nan), 0x7fffffff);
  expect_bits(h100({infinity}, {0}), 0x7fffffff);
  expect_bits(h100({infinity, infinity}, {1, -1}), 0x7fffffff);
  expect_bits(h100({infinity}, {1}, -infinity), 0x7fffffff);
}

TEST(Special, Infinities) {
  EXPECT_EQ(h100({infinity, 5}, {-2, 1}), -infinity);
  EXPECT_EQ(h100({1, 5}, {-2, 1}, infinity), infinity);
  EXPECT_EQ(h100({infinity, infinity}, {2, 3}, infinity), infinity);
  EXPECT_EQ(h100(Floats(17, infinity), Floats(17, -1)), -infinity) << "carried into the next block";
}

/// The first half is a separate fp16 sum: it may overflow although the second half or c would make the total finite.
TEST(Special, OfHalves) {
  const auto halves = [](const Floats& a, const Floats& b, float c) {
    const TensorCoreRule rule = tensor_core_rule(TensorCore::h100, e5m2, SumType::f16);
    const float sum = sum_of_blocks(rule, a, b, c);
    expect_bits(tensor_core_dot(rule, a, b, c), std::bit_cast<std::uint32_t>(sum));
    expect_bits(plain::tensor_core_dot(rule, a, b, c), std::bit_cast<std::uint32_t>(sum));
    return sum;
  };
  EXPECT_EQ(halves({49152, 49152, -49152}, {1, 1, 1}, 0), infinity);
  EXPECT_EQ(halves({49152, 0, 49152, 0, -49152}, {1, 1, 1, 1, 1}, 0), 49152) << "products 0 and 4 first";
  EXPECT_EQ(halves({49152}, {1}, 49152), infinity);
  EXPECT_EQ(halves({49152, 49152}, {1, 1}, -49152), infinity);
  EXPECT_EQ(halves({1}, {1}, -1), 0);
  EXPECT_EQ(halves({1}, {1}, infinity), infinity);
  EXPECT_EQ(halves({infinity, 1, -1}, {1, 1, 1}, 3), infinity);
  const float nan = std::numeric_limits<float>::quiet_NaN();
  expect_bits(halves({49152, 49152}, {1, 1}, -infinity), 0x7fffffff);
  expect_bits(halves({1, 1, 1, nan}, {1, 1, 1, 1}, 0), 0x7fffffff);
  expect_bits(halves({infinity, 1, -infinity}, {1, 1, 1}, 3), 0x7fffffff);
  expect_bits(halves({1}, {1}, nan), 0x7fffffff);
}

TEST(Special, OverflowIsInfinity) {
  const float large = 3e38F, top = std::numeric_limits<float>::max();
  EXPECT_EQ(h100({large, large}, {1, 1}, 0, SumType::f32, bf16), infinity);
  EXPECT_EQ(h100({large, large}, {-1, -1}, 0, SumType::f32, bf16), -infinity);
  EXPECT_EQ(h100({1}, {1}, top), top) << "truncated bits do not round up to infinity";
  EXPECT_EQ(h100({256}, {256}, 0, SumType::f16), infinity);
  EXPECT_EQ(h100({256, 16}, {255, 14}, 0, SumType::f16), 65504) << "65504 + half an ulp less 0";
  EXPECT_EQ(h100({256, 15}, {255, 16}, 0, SumType::f16), infinity) << "65520 is the tie";
}

TEST(Special, SubnormalsAreExact) {
  const float smallest = std::ldexp(1.0F, -24);
  EXPECT_EQ(h100({smallest}, {smallest}), std::ldexp(1.0F, -48));
  EXPECT_EQ(h100({smallest}, {1}, 0, SumType::f16), smallest);
  EXPECT_EQ(h100({std::ldexp(1.0F, -133)}, {std::ldexp(1.0F, -10)}, 0, SumType::f32, bf16), std::ldexp(1.0F, -143));
  expect_bits(h100({std::ldexp(1.0F, -100)}, {std::ldexp(1.0F, -60)}, 0, SumType::f32, bf16), 0);
  expect_bits(h100({std::ldexp(1.0F, -100)}, {-std::ldexp(1.0F, -60)}, 0, SumType::f32, bf16), 0);
}

/// A subnormal factor is aligned by its format's smallest exponent, which leaves fewer bits of the other terms.
TEST(Special, SubnormalFactorsCountWithTheSmallestExponent) {
  const TensorCoreRule rule = tensor_core_rule(TensorCore::h100, fp16, SumType::f32);
  const TensorCoreBlock block =
      tensor_core_blocks(rule, Floats{std::ldexp(1.0F, -24)}, Floats{std::ldexp(1.0F, 10)}, std::ldexp(1.0F, -30)).front();
  ASSERT_EQ(block.count, 2);
  EXPECT_EQ(block.terms()[0].exponent, -4);
  EXPECT_EQ(block.unit, -29);
  EXPECT_EQ(block.result, std::ldexp(1.0F, -14)) << "c, of 2^-30, was cut off";
}

TEST(Special, ZerosOfBothSigns) {
  expect_bits(h100({0, 0}, {1, -1}), 0);
  expect_bits(h100({-0.0F}, {1}, -0.0F), 0);
  expect_bits(h100({}, {}, 3), 0x40400000);
  expect_bits(h100({1, -1}, {3, 3}), 0);
  expect_bits(h100({-1}, {3}, 3), 0);
  expect_bits(h100({0, 0}, {0, 0}, -1.5F), 0xbfc00000);
  const TensorCoreRule b200 = tensor_core_rule(TensorCore::b200, e4m3, SumType::f32);
  expect_bits(sum_of_blocks(b200, Floats{0}, Floats{1}, -0.0F), 0);
  expect_bits(sum_of_blocks(b200, Floats{-2}, Floats{2}, 4), 0);
  const TensorCoreRule half = tensor_core_rule(TensorCore::h100, fp16, SumType::f16);
  const Floats tiny{std::ldexp(-1.0F, -24)}, small{std::ldexp(1.0F, -10)};
  expect_bits(sum_of_blocks(half, tiny, small, 0), 0);
  expect_bits(tensor_core_dot(half, tiny, small, 0), 0);
}

TEST(Block, TermsAddUpToTheirSumAndWhatIsLostIsLessThanAUnit) {
  Dice dice(7);
  const TensorCoreRule rule = tensor_core_rule(TensorCore::a100, fp16, SumType::f32);
  for (int i = 0; i < 1000; ++i) {
    Floats a, b;
    for (int k = 0; k < 8; ++k) a.push_back(round(fp16, static_cast<float>(dice.normal())));
    for (int k = 0; k < 8; ++k) b.push_back(round(fp16, static_cast<float>(dice.normal())));
    const TensorCoreBlock block = tensor_core_blocks(rule, a, b, static_cast<float>(dice.normal())).front();
    std::int64_t sum = 0;
    for (const TensorCoreTerm& t : block.terms()) {
      sum += t.aligned;
      EXPECT_LE(t.exponent, block.exponent);
      EXPECT_LT(std::fabs(lost(block, t)), std::ldexp(1.0, block.unit));
      EXPECT_GE(lost(block, t) * value(t), 0) << "towards zero";
      EXPECT_EQ(t.index < 0 ? static_cast<double>(block.carried)
                            : double{a[static_cast<std::size_t>(t.index)]} * b[static_cast<std::size_t>(t.index)],
                value(t));
    }
    EXPECT_EQ(sum, block.sum);
    EXPECT_EQ(block.count, 9);
  }
}

/// Both halves are blocks: the second starts from the first one's result; c, the previous block's result, is added after both.
TEST(Block, HasHalves) {
  const TensorCoreRule rule = tensor_core_rule(TensorCore::b200, e4m3, SumType::f16);
  const Floats ones(37, 1.0F);
  const std::vector<TensorCoreBlock> blocks = tensor_core_blocks(rule, ones, ones, 0.5F);
  ASSERT_EQ(blocks.size(), 4U);
  EXPECT_EQ(blocks[0].carried, 0);
  EXPECT_EQ(blocks[0].result, 16);
  EXPECT_FALSE(blocks[0].added.has_value());
  EXPECT_EQ(blocks[1].carried, 16);
  EXPECT_EQ(blocks[1].added, 0.5F);
  EXPECT_EQ(blocks[1].result, 32.5F);
  EXPECT_EQ(blocks[2].count, 3) << "products 32, 33 and 36";
  EXPECT_EQ(blocks[2].terms()[2].index, 4);
  EXPECT_EQ(blocks[3].added, 32.5F);
  EXPECT_EQ(blocks[3].result, 37.5F);
  EXPECT_EQ(sum_of_blocks(rule, ones, ones, 0.5F), 37.5F);
}

TEST(Block, CarriesItsResultIntoTheNext) {
  const TensorCoreRule rule = tensor_core_rule(TensorCore::v100, fp16, SumType::f32);
  const Floats ones(10, 1.0F);
  const std::vector<TensorCoreBlock> blocks = tensor_core_blocks(rule, ones, ones, 0.5F);
  ASSERT_EQ(blocks.size(), 3U);
  EXPECT_EQ(blocks[0].carried, 0.5F);
  EXPECT_EQ(blocks[1].carried, 4.5F);
  EXPECT_EQ(blocks[2].count, 3);
  EXPECT_EQ(blocks[2].result, 10.5F);
  EXPECT_EQ(blocks[2].result, sum_of_blocks(rule, ones, ones, 0.5F));
}

/// Kinds of random products, by the special cases that they meet.
enum class Kind { normal, any_bits, near_cancellation, few };

float any_number(Dice& dice, const Format& f, int reach) {
  const int low = min_exponent(f) - f.mantissa_bits, high = max_exponent(f);
  const int exponent = std::clamp(dice.between(-reach, reach), low, high);
  const auto x = static_cast<float>(round(f, std::ldexp(1 + dice.unit(), exponent)));
  return std::isfinite(x) ? (dice.one_in(2) ? -x : x) : 1.0F;
}

float number_of(Dice& dice, const Format& f, Kind kind) {
  if (kind == Kind::any_bits) return any_number(dice, f, 160);
  if (kind == Kind::few && dice.one_in(2)) return 0;
  const double x = kind == Kind::near_cancellation ? 1 + std::ldexp(dice.unit(), -3) : dice.normal();
  return round(f, static_cast<float>(dice.one_in(2) ? -x : x));
}

/// Number of random products of one rule for which one of its two functions differs from first principles.
int differing(const TensorCoreRule& rule, std::uint64_t count, std::uint64_t seed) {
  Dice dice(seed);
  int differing = 0;
  for (std::uint64_t i = 0; i < count; ++i) {
    const auto kind = static_cast<Kind>(dice.between(0, 3));
    const auto k = static_cast<std::size_t>(dice.between(1, 2 * rule.block + 3));
    Floats a(k), b(k);
    for (float& x : a) x = number_of(dice, rule.factors, kind);
    for (float& x : b) x = number_of(dice, rule.factors, kind);
    const float c = dice.one_in(4) ? 0.0F : number_of(dice, fp32, kind);
    const float sum = sum_of_blocks(rule, a, b, c);
    const bool as_bits = std::bit_cast<std::uint32_t>(tensor_core_dot(rule, a, b, c)) == std::bit_cast<std::uint32_t>(sum);
    differing += same(sum, plain::tensor_core_dot(rule, a, b, c)) && as_bits ? 0 : 1;
  }
  return differing;
}

/// Products of each format, from ATTOSCOPE_PRODUCTS; a release has a million.
std::uint64_t products_of_a_format() {
  const char* const wanted = std::getenv("ATTOSCOPE_PRODUCTS");
  return wanted == nullptr ? (sanitized ? 2'000 : 40'000) : std::strtoull(wanted, nullptr, 10);
}

/// Every rule of a format.
std::vector<TensorCoreRule> rules_of(const Format& f) {
  std::vector<TensorCoreRule> rules;
  for (std::size_t gpu = 0; gpu < tensor_core_texts.size(); ++gpu)
    for (const SumType sums : {SumType::f32, SumType::f16})
      if (why_no_tensor_core(static_cast<TensorCore>(gpu), f, sums).empty())
        rules.push_back(tensor_core_rule(static_cast<TensorCore>(gpu), f, sums));
  return rules;
}

/// The fast function equals the plain one if a factor or c is NaN, infinite or 0.
TEST(Random, SpecialNumbersAreThoseOfThePlainFunction) {
  const std::array<float, 8> numbers{0, -0.0F, 1, -1, infinity, -infinity, std::numeric_limits<float>::quiet_NaN(), 2e38F};
  Dice dice(11);
  for (const Format& f : {fp16, bf16, e4m3})
    for (const TensorCoreRule& rule : rules_of(f))
      for (int i = 0; i < 500; ++i) {
        Floats a(static_cast<std::size_t>(dice.between(0, 2 * rule.block))), b = a;
        for (Floats* const factors : {&a, &b})
          for (float& x : *factors) x = dice.one_in(8) ? round(f, dice.any(numbers)) : 1.0F;
        const float c = dice.any(numbers);
        ASSERT_EQ(std::bit_cast<std::uint32_t>(tensor_core_dot(rule, a, b, c)),
                  std::bit_cast<std::uint32_t>(sum_of_blocks(rule, a, b, c)));
      }
}

TEST(Random, ProductsAreThoseOfFirstPrinciples) {
  for (const Format& f : {fp16, bf16, tf32, e4m3, e5m2}) {
    const std::vector<TensorCoreRule> rules = rules_of(f);
    std::atomic<int> wrong = 0;
    in_parallel(rules.size(), [&](std::uint64_t begin, std::uint64_t end) {
      for (std::uint64_t i = begin; i < end; ++i)
        wrong += differing(rules[i], products_of_a_format() / rules.size() + 1, 100 + i);
    });
    EXPECT_EQ(wrong, 0) << name(f);
  }
}

}  // namespace
}  // namespace attoscope::testing
