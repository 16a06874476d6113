/// The check of a GPU: its products, their registers, and texts about GPUs that add by each rule, by no rule, wrongly in one
/// place, or not at all. The plain rule of the reference replaces the GPU.
#include "kernels/questions/gpu_check.h"

#include <bit>
#include <cmath>
#include <limits>
#include <map>
#include <stdexcept>
#include <string>
#include <vector>

#include "kernels/experiment/text.h"
#include "kernels/tensor_core/products.h"
#include "tests/reference/plain_tensor_core.h"
#include "tests/support/matchers.h"
#include "tests/support/recorded_products.h"
#include "tests/support/support.h"

namespace attoscope::testing {
namespace {

constexpr float nan = std::numeric_limits<float>::quiet_NaN(), huge = std::numeric_limits<float>::infinity();

/// Sums of a GPU that adds by this rule.
std::vector<float> answers_by(const TensorCoreRule& rule, const ProductQuestions& q) {
  std::vector<float> sums(static_cast<std::size_t>(q.count));
  in_parallel(sums.size(), [&](std::uint64_t begin, std::uint64_t end) {
    for (auto i = static_cast<int>(begin); i < static_cast<int>(end); ++i)
      sums[static_cast<std::size_t>(i)] = plain::tensor_core_dot(rule, q.a_of(i), q.b_of(i), q.c_of(i));
  });
  return sums;
}
std::vector<float> answers_of(TensorCore gpu, const ProductQuestions& q) {
  return answers_by(tensor_core_rule(gpu, q.kind.factors, q.kind.sums), q);
}

/// A GPU with the capability 10 * major + minor that computes as the CPU does.
CheckedGpu gpu_that(int capability, std::function<std::vector<float>(const ProductQuestions&)> products) {
  return {.info = {0, "NVIDIA Test", capability / 10, capability % 10, 0},
          .digests = [](const Experiment& e, const Options& options) { return compute(e, options).digests; },
          .products = std::move(products)};
}
CheckedGpu gpu_of_kind(int capability, TensorCore gpu) {
  return gpu_that(capability, [gpu](const ProductQuestions& q) { return answers_of(gpu, q); });
}

/// A check without digests, which take most of the time.
GpuCheck check_of(CheckedGpu gpu, int count = 1300,
                  std::vector<ProductKind> kinds = {product_kinds.begin(), product_kinds.end()}) {
  gpu.digests = [](const Experiment& e, const Options&) {
    static std::map<std::string, Digests> known;
    const std::string what = describe(e);
    if (!known.contains(what)) known[what] = compute(e).digests;
    return known[what];
  };
  return gpu_check({.count = count, .kinds = std::move(kinds)}, gpu);
}

bool is_number_of(const Format& f, float x) { return same(static_cast<float>(round(f, x)), x); }

// --- the questions ----------------------------------------------------------------------------------------------------

TEST(ProductQuestions, AreTheSameForTheSameSeedAlone) {
  const ProductQuestions q = product_questions({bf16}, 2, 700, 5), again = product_questions({bf16}, 2, 700, 5),
                         other = product_questions({bf16}, 2, 700, 6);
  const auto bits = [](const std::vector<float>& x) {
    std::vector<std::uint32_t> all;
    for (const float number : x) all.push_back(std::bit_cast<std::uint32_t>(number));
    return all;
  };
  EXPECT_EQ(bits(q.a), bits(again.a));
  EXPECT_EQ(bits(q.b), bits(again.b));
  EXPECT_EQ(bits(q.c), bits(again.c));
  EXPECT_NE(bits(q.a), bits(other.a));
  EXPECT_EQ(q.tiles(), 6);
  EXPECT_EQ(q.k(), 32);
  EXPECT_EQ(q.a.size(), 6U * 16 * 32);
  EXPECT_EQ(q.b.size(), 6U * 8 * 32);
  EXPECT_EQ(q.c.size(), 6U * 128);
}

TEST(ProductQuestions, HoldNumbersOfTheFormatAndEveryCase) {
  for (const ProductKind& kind : product_kinds) {
    const ProductQuestions q = product_questions(kind, 1, 2560, 1);
    int subnormals = 0, specials = 0;
    for (const std::vector<float>* x : {&q.a, &q.b})
      for (const float number : *x) {
        EXPECT_TRUE(is_number_of(kind.factors, number)) << name(kind) << " " << number;
        subnormals += number != 0 && std::fabs(number) < smallest_normal(kind.factors);
        specials += !std::isfinite(number);
      }
    for (const float c : q.c) EXPECT_TRUE(is_number_of(kind.sums == SumType::f16 ? fp16 : fp32, c)) << name(kind) << " " << c;
    EXPECT_GT(subnormals, 100) << name(kind);
    EXPECT_GT(specials, 5) << name(kind);
    for (std::size_t i = 0; i < product_case_names.size(); ++i)
      EXPECT_EQ(std::ranges::count(q.cases, static_cast<ProductCase>(i)), 2) << product_case_names[i];
  }
}

TEST(ProductQuestions, SumsAreRowsTimesColumns) {
  const ProductQuestions q = product_questions({tf32}, 1, 300, 3);
  const int k = q.k(), sum = 128 + 5 * 8 + 3;
  EXPECT_EQ(q.a_of(sum).data(), q.a.data() + (16 + 5) * k);
  EXPECT_EQ(q.b_of(sum).data(), q.b.data() + (8 + 3) * k);
  EXPECT_EQ(q.c_of(sum), q.c[static_cast<std::size_t>(sum)]);
  EXPECT_EQ(q.case_of(sum), ProductCase::wide);
}

/// Any two rules differ in many of the sums, so the check never takes one rule for the other.
TEST(ProductQuestions, TellEveryTwoRulesApart) {
  for (const ProductKind& kind : product_kinds) {
    const ProductQuestions q = product_questions(kind, 4, 1280, 1);
    const std::vector<ProductRule> rules = product_rules(kind);
    for (std::size_t i = 0; i < rules.size(); ++i)
      for (std::size_t j = i + 1; j < rules.size(); ++j) {
        int differ = 0;
        for (int s = 0; s < q.count; ++s)
          differ += !same_sum(product_sum(rules[i], q.a_of(s), q.b_of(s), q.c_of(s)),
                              product_sum(rules[j], q.a_of(s), q.b_of(s), q.c_of(s)));
        EXPECT_GT(differ, 12) << name(kind) << ": " << name(rules[i]) << " and " << name(rules[j]);
      }
  }
}

// --- computations -----------------------------------------------------------------------------------------------------

TEST(ProductWords, EveryCodeIsItsNumbers) {
  for (const Format& f : {fp16, bf16, e4m3, e5m2, tf32}) {
    const std::uint32_t codes = 1U << (1 + f.exponent_bits + f.mantissa_bits);
    for (std::uint32_t code = 0; code < codes; ++code) {
      const double x = number_of(f, code);
      if (std::isnan(x)) {
        EXPECT_TRUE(std::isnan(number_of(f, factor_code(f, x)))) << name(f) << " " << code;
      } else {
        ASSERT_EQ(factor_code(f, x), code) << name(f);
      }
    }
  }
  EXPECT_EQ(factor_code(bf16, 1.0), 0x3f80);
  EXPECT_EQ(factor_code(fp16, -1.5), 0xbe00);
  EXPECT_EQ(factor_code(fp16, 65504.0), 0x7bff);
  EXPECT_EQ(factor_code(e4m3, 1.0), 0x38);
  EXPECT_EQ(factor_code(e4m3, -448.0), 0xfe);
  EXPECT_EQ(factor_code(e4m3, std::numeric_limits<double>::quiet_NaN()), 0x7f);
}

TEST(ProductWords, HoldFactorsInOrder) {
  for (const ProductKind& kind : product_kinds) {
    const ProductQuestions q = product_questions(kind, 3, 128, 1);
    const ProductWords w = product_words(q);
    const int bits = register_bits(kind.factors), in_word = 32 / bits;
    ASSERT_EQ(w.a.size(), q.a.size() / static_cast<std::size_t>(in_word)) << name(kind);
    ASSERT_EQ(w.a.size(), 16U * 3 * step_words);
    ASSERT_EQ(w.b.size(), 8U * 3 * step_words);
    for (std::size_t i = 0; i < q.a.size(); ++i) {
      const std::uint32_t slot =
          w.a[i / static_cast<std::size_t>(in_word)] >> bits * static_cast<int>(i % static_cast<std::size_t>(in_word));
      const std::uint32_t code = kind.factors == tf32 ? slot >> 13 : bits == 8 ? slot & 0xff : slot & 0xffff;
      EXPECT_TRUE(same(static_cast<float>(number_of(kind.factors, code)), q.a[i]) || std::isnan(q.a[i])) << name(kind) << i;
    }
    const bool half = kind.sums == SumType::f16;
    for (std::size_t i = 0; i < q.c.size(); ++i)
      EXPECT_TRUE(std::isnan(q.c[i]) ||
                  same(half ? static_cast<float>(number_of(fp16, w.c[i])) : bit_as<float>(w.c[i]), q.c[i]));
  }
}

TEST(Products, NeedAGpuThatHasThem) {
  EXPECT_EQ(why_no_products({fp16}, 7, 5), "");
  EXPECT_EQ(why_no_products({fp16}, 7, 0), "Products of fp16 need compute capability 7.5, and this GPU has 7.0.");
  EXPECT_EQ(why_no_products({bf16}, 7, 5), "Products of bf16 need compute capability 8.0, and this GPU has 7.5.");
  EXPECT_EQ(why_no_products({tf32}, 8, 0), "");
  EXPECT_EQ(why_no_products({e4m3}, 8, 6), "Products of e4m3 need compute capability 8.9, and this GPU has 8.6.");
  EXPECT_EQ(why_no_products({e5m2}, 8, 9), "");
  EXPECT_EQ(why_no_products({e5m2}, 12, 0), "");
}

TEST(Products, KindsHaveNames) {
  for (const ProductKind& kind : product_kinds) EXPECT_EQ(parse_product_kind(name(kind)), kind);
  EXPECT_THROW(parse_product_kind("fp8"), std::invalid_argument);
  EXPECT_THROW(parse_product_kind("bf16:f16"), std::invalid_argument);
}

TEST(Products, SumsAgreeButForTheSignOfZeroAndNanBits) {
  EXPECT_TRUE(same_sum(0.0F, -0.0F));
  EXPECT_TRUE(same_sum(nan, std::bit_cast<float>(0x7fffffffU)));
  EXPECT_FALSE(same_sum(nan, 1));
  EXPECT_FALSE(same_sum(1, nan));
  EXPECT_FALSE(same_sum(1, std::nextafter(1.0F, 2.0F)));
  EXPECT_TRUE(same_sum(huge, huge));
  EXPECT_FALSE(same_sum(huge, -huge));
}

TEST(Products, EveryRuleIsListedOnce) {
  for (const ProductKind& kind : product_kinds) {
    std::map<TensorCore, int> own;
    for (const ProductRule& r : product_rules(kind))
      for (const TensorCore gpu : r.gpus) {
        if (r.as_fp16) continue;
        ++own[gpu];
        TensorCoreRule rule = tensor_core_rule(gpu, kind.factors, kind.sums);
        rule.evidence = r.rule.evidence;
        EXPECT_EQ(rule, r.rule);
      }
    for (std::size_t i = 0; i < tensor_core_texts.size(); ++i) {
      const auto gpu = static_cast<TensorCore>(i);
      EXPECT_EQ(own[gpu], why_no_tensor_core(gpu, kind.factors, kind.sums).empty() ? 1 : 0) << name(kind) << " " << name(gpu);
    }
  }
}

/// Code of ptxas for mma.sync of 8 bits on Hopper, written plainly: two instructions of fp16 from 0, then an addition.
float two_halves(std::span<const float> a, std::span<const float> b, float c) {
  const TensorCoreRule rule = tensor_core_rule(TensorCore::h100, fp16, SumType::f32);
  for (std::size_t at = 0; at < a.size(); at += 32) {
    std::vector<float> first[2], second[2];
    for (std::size_t i = at; i < at + 32; ++i) {
      (i % 4 < 2 ? first : second)[0].push_back(a[i]);
      (i % 4 < 2 ? first : second)[1].push_back(b[i]);
    }
    c = c + plain::tensor_core_dot(rule, second[0], second[1], plain::tensor_core_dot(rule, first[0], first[1], 0));
  }
  return c;
}

/// Recorded products of 8 bits on B200 do not distinguish the recorded rule from products of fp16.
TEST(Products, RecordedOnB200AreAlsoThoseAsFp16) {
  int sets = 0;
  for (const RecordedProducts& p : recorded_products()) {
    if (p.gpu != "b200" || p.format[0] != 'e' || p.result != "f32") continue;
    ++sets;
    int missed = 0;
    for (int row = 0; row < p.rows; ++row) {
      const float sum = two_halves(p.a_row(row), p.b_row(row), p.c[static_cast<std::size_t>(row)]);
      missed += !same_sum(sum, p.d[static_cast<std::size_t>(row)]);
    }
    EXPECT_EQ(missed, 0) << p.name() << " k " << p.k;
  }
  EXPECT_EQ(sets, 2);
}

// --- words about a GPU ------------------------------------------------------------------------------------------------

TEST(GpuCheck, NamesEveryGpuThatAddsAsOneOfThese) {
  const std::map<TensorCore, int> capabilities{{TensorCore::a100, 80},  {TensorCore::a2, 86},    {TensorCore::ada, 89},
                                               {TensorCore::l40s, 89},  {TensorCore::h100, 90},  {TensorCore::h200, 90},
                                               {TensorCore::b200, 100}, {TensorCore::rtx50, 120}};
  for (const auto& [gpu, capability] : capabilities) {
    const GpuCheck check = check_of(gpu_of_kind(capability, gpu));
    EXPECT_TRUE(check.as_written()) << name(gpu);
    EXPECT_THAT(gpu_check_sentence(check), AllOf(HasSubstr("This GPU adds as "), HasSubstr(std::string(name(gpu))),
                                                 HasSubstr("1,300 of 1,300 products of each of fp16")));
    for (const ProductsCheck& k : check.kinds)
      EXPECT_EQ(k.left_out.empty(), why_no_tensor_core(gpu, k.kind.factors, k.kind.sums).empty()) << products_line(k);
  }
  EXPECT_THAT(gpu_check_sentence(check_of(gpu_of_kind(90, TensorCore::h200))), HasSubstr("adds as h100 and h200: 1,300"));
  EXPECT_THAT(gpu_check_sentence(check_of(gpu_of_kind(100, TensorCore::b200))), HasSubstr("adds as b200: 1,300"));
}

TEST(GpuCheck, LeavesOutWhatAnOldGpuLacks) {
  const GpuCheck check = check_of(gpu_of_kind(75, TensorCore::v100));
  EXPECT_TRUE(check.as_written());
  EXPECT_EQ(products_line(check.kinds[0]), "fp16: adds as v100: 1,300 of 1,300");
  EXPECT_EQ(products_line(check.kinds[2]),
            "bf16: left out. Products of bf16 need compute capability 8.0, and this GPU has 7.5.");
  EXPECT_EQ(gpu_check_sentence(check), "This GPU adds as v100: 1,300 of 1,300 products of each of fp16 and fp16:f16.");
}

TEST(GpuCheck, SaysThatNoRuleFits) {
  const auto products = [](const ProductQuestions& q) {
    TensorCoreRule rule = tensor_core_rule(TensorCore::h100, bf16, SumType::f32);
    rule.aligned_bits = 21;
    return answers_by(rule, q);
  };
  const GpuCheck check = check_of(gpu_that(90, products), 4000, {{bf16}});
  EXPECT_FALSE(check.as_written());
  const ProductsCheck& k = check.kinds[0];
  EXPECT_EQ(k.count, 4000);
  EXPECT_TRUE(k.fitting().empty());
  for (const RuleAgreement& r : k.rules) {
    ASSERT_TRUE(r.first.has_value());
    EXPECT_LT(r.agree, 4000);
    EXPECT_GT(r.agree, 500);
    const ProductDifference& d = *r.first;
    EXPECT_TRUE(same_sum(plain::tensor_core_dot(r.rule.rule, d.a, d.b, d.c), d.expected));
    EXPECT_FALSE(same_sum(d.expected, d.got));
  }
  EXPECT_THAT(gpu_check_sentence(check), HasSubstr("No written rule gives this GPU's sums of bf16; nearest of bf16 is "));
  EXPECT_THAT(products_line(k), AllOf(HasSubstr("bf16: no rule gives all; nearest is "), HasSubstr(", expected 0x")));
}

TEST(GpuCheck, FindsOneSumOfAHundredThousand) {
  const auto products = [](const ProductQuestions& q) {
    std::vector<float> sums = answers_of(TensorCore::a100, q);
    if (q.steps > 1) {
      float& one = sums.at(20'000);
      one = std::bit_cast<float>(std::bit_cast<std::uint32_t>(one) ^ 1U);
    }
    return sums;
  };
  const GpuCheck check = check_of(gpu_that(80, products), usual_product_count, {{fp16}});
  EXPECT_FALSE(check.as_written());
  const RuleAgreement& best = *check.kinds[0].best();
  EXPECT_EQ(best.agree, 99'999);
  ASSERT_TRUE(best.first.has_value());
  EXPECT_EQ(best.first->sum, 70'000) << "after the 50,000 of one instruction";
  EXPECT_EQ(std::bit_cast<std::uint32_t>(best.first->expected) ^ std::bit_cast<std::uint32_t>(best.first->got), 1U);
  EXPECT_EQ(best.first->a.size(), 64U);
  EXPECT_THAT(products_line(check.kinds[0]),
              AllOf(HasSubstr("nearest is a100, a2, ada and l40s, 99,999 of 100,000"), HasSubstr("sum 70000 (")));
  EXPECT_THAT(gpu_check_sentence(check), HasSubstr("99,999 of 100,000"));
}

TEST(GpuCheck, ANanIsNoNumber) {
  const GpuCheck check = check_of(gpu_that(90, [](const ProductQuestions& q) {
    std::vector<float> sums = answers_of(TensorCore::h100, q);
    if (q.kind == ProductKind{tf32}) std::ranges::fill(sums, nan);
    return sums;
  }));
  EXPECT_FALSE(check.as_written());
  EXPECT_THAT(gpu_check_sentence(check),
              HasSubstr("rule gives this GPU's sums of tf32, though one gives those of fp16, fp16:f16, bf16, e4m3 and e5m2"));
  EXPECT_THAT(difference_text(*check.kinds[3].best()), HasSubstr("got 0x7fc00000"));
}

TEST(GpuCheck, EightBitsMayBeMultipliedAsFp16) {
  const GpuCheck check = check_of(gpu_that(90, [](const ProductQuestions& q) {
    std::vector<float> sums = answers_of(TensorCore::h100, q);
    if (register_bits(q.kind.factors) == 8)
      for (int i = 0; i < q.count; ++i) sums[static_cast<std::size_t>(i)] = two_halves(q.a_of(i), q.b_of(i), q.c_of(i));
    return sums;
  }));
  EXPECT_TRUE(check.as_written());
  EXPECT_EQ(products_line(check.kinds[4]), "e4m3: adds as h100, h200, b200 and rtx50 as fp16: 1,300 of 1,300");
  EXPECT_THAT(gpu_check_sentence(check), HasSubstr("; it multiplies e4m3 and e5m2 as fp16."));
}

TEST(GpuCheck, SaysWhereItIsNoOneGpus) {
  const auto products = [](const ProductQuestions& q) {
    return answers_of(q.kind.factors == fp16 ? TensorCore::v100 : TensorCore::b200, q);
  };
  const GpuCheck check = check_of(gpu_that(90, products), 1300, {{fp16}, {e4m3}});
  EXPECT_TRUE(check.as_written());
  EXPECT_EQ(gpu_check_sentence(check),
            "This GPU adds by written rules, but not by those of one GPU: fp16 as v100 and e4m3 as b200.");
}

TEST(GpuCheck, AFailureInTheMiddleIsASentence) {
  const CheckedGpu lost = gpu_that(90, [](const ProductQuestions& q) -> std::vector<float> {
    if (q.kind == ProductKind{bf16} && q.steps > 1) throw DeviceFailure("The GPU was lost.");
    return answers_of(TensorCore::h100, q);
  });
  int told = 0;
  const auto check = [&] { gpu_check({.count = 300}, lost, {.known = [&](const GpuCheck&) { ++told; }}); };
  EXPECT_EQ(testing::message_of<DeviceFailure>(check), "The GPU was lost.");
  EXPECT_EQ(told, 3) << "the digests, fp16 and fp16:f16";
}

TEST(GpuCheck, TooFewAnswersAreAFailure) {
  const CheckedGpu poor = gpu_that(90, [](const ProductQuestions&) { return std::vector<float>(3); });
  EXPECT_THROW(check_of(poor), std::runtime_error);
}

TEST(GpuCheck, CodeForOlderGpusIsLeftOut) {
  const GpuCheck check = check_of(gpu_that(90, [](const ProductQuestions& q) -> std::vector<float> {
    if (q.kind.factors == e4m3) throw NoProducts("This program's code for this GPU has no products of e4m3.");
    return answers_of(TensorCore::h100, q);
  }));
  EXPECT_TRUE(check.as_written());
  EXPECT_EQ(products_line(check.kinds[4]), "e4m3: left out. This program's code for this GPU has no products of e4m3.");
}

TEST(GpuCheck, CountsDigests) {
  CheckedGpu gpu = gpu_of_kind(90, TensorCore::h100);
  int asked = 0;
  gpu.digests = [&](const Experiment& e, const Options& options) {
    Digests d = compute(e, options).digests;
    if (++asked == 2) d.a ^= 1;
    return d;
  };
  const GpuCheck check = gpu_check({.count = 10, .kinds = {{fp16}}}, gpu);
  EXPECT_EQ(check.digests.count, static_cast<int>(digest_experiments().size()));
  EXPECT_EQ(check.digests.agree, check.digests.count - 1);
  EXPECT_EQ(check.digests.first, digest_experiments()[1].name + ": a");
  EXPECT_FALSE(check.as_written());
  EXPECT_THAT(gpu_check_sentence(check),
              AllOf(HasSubstr("This GPU adds as h100"), HasSubstr("1 of 40 experiments have other bits")));
  EXPECT_THAT(digests_line(check.digests), HasSubstr("39 of 40 experiments have the CPU's bits; first that differs: "));
}

TEST(GpuCheck, Stops) {
  CheckedGpu gpu = gpu_of_kind(90, TensorCore::h100);
  std::string last;
  const auto watch =
      GpuCheckWatch{.cancelled = [&] { return last == "bf16"; }, .doing = [&](const std::string& x) { last = x; }};
  EXPECT_THROW(gpu_check({.count = 200}, gpu, watch), Stopped);
  EXPECT_EQ(last, "bf16");
}

TEST(GpuCheck, OneSumIsEnough) {
  const GpuCheck check = check_of(gpu_of_kind(90, TensorCore::h100), 1);
  for (const ProductsCheck& k : check.kinds) EXPECT_EQ(k.count, 1);
}

TEST(GpuCheck, RefusesWhatIsNoGpu) {
  EXPECT_THROW(checked_gpu("cpu"), std::invalid_argument);
  if (!cuda_devices().empty()) return;
  EXPECT_THROW(checked_gpu("cuda"), std::invalid_argument);
}

TEST(GpuCheck, ThousandsAreGrouped) {
  EXPECT_EQ(grouped(0), "0");
  EXPECT_EQ(grouped(999), "999");
  EXPECT_EQ(grouped(1000), "1,000");
  EXPECT_EQ(grouped(100'000), "100,000");
  EXPECT_EQ(grouped(1'234'567), "1,234,567");
  EXPECT_EQ(grouped(-12'345), "-12,345");
  EXPECT_EQ(grouped(-123), "-123");
}

TEST(GpuCheck, OneThingHasNoPlural) {
  EXPECT_EQ(counted(0, "row"), "0 rows");
  EXPECT_EQ(counted(1, "row"), "1 row");
  EXPECT_EQ(counted(12, "row"), "12 rows");
  EXPECT_EQ(counted(1, "query", "queries"), "1 query");
  EXPECT_EQ(counted(2, "query", "queries"), "2 queries");
}

/// Checks this machine's GPU, if there is one.
TEST(GpuCheck, OfThisMachine) {
  if (cuda_devices().empty()) GTEST_SKIP() << why_no_cuda();
  const GpuCheck check = gpu_check({}, checked_gpu("cuda"));
  EXPECT_EQ(check.digests.agree, check.digests.count) << check.digests.first;
  for (const ProductsCheck& k : check.kinds) EXPECT_TRUE(!k.left_out.empty() || !k.fitting().empty()) << products_line(k);
}

}  // namespace
}  // namespace attoscope::testing
