// The sum shown for a cell has the kernel's bits: its blocks end in the kernel's O or S.
#include "kernels/questions/product_sum.h"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <stdexcept>
#include <vector>

#include "kernels/compute.h"
#include "kernels/experiment/presets.h"
#include "kernels/experiment/result.h"
#include "kernels/experiment/rules.h"
#include "tests/support/support.h"

namespace attoscope {
namespace {

using testing::Dice;

/// Products added by GPUs, with only their factors rounded: O shows the sum, and the output shows O.
Experiment experiment(Dice& dice, Algorithm algorithm, int flush) {
  Experiment e;
  e.problem.n = dice.between(1, 150);
  e.problem.d = dice.between(1, 70);
  e.problem.seed = static_cast<std::uint64_t>(dice.between(1, 1000));
  e.problem.mask = dice.any(std::array{Mask{}, Mask{Mask::Kind::causal}, Mask{Mask::Kind::window, 37}});
  e.format = dice.any(std::array{fp16, bf16, e4m3});
  e.a.algorithm = algorithm;
  e.a.precision = {};
  e.a.precision[Step::input] = e.a.precision[Step::P] = to_main;
  e.a.precision.accumulate_in_O = dice.one_in(2);
  e.a.block_k = dice.between(1, 40);
  e.a.exponential = dice.any(std::array{ExponentialKind::natural, ExponentialKind::exp2});
  e.a.p_exponent = dice.any(std::array{0, 3});
  e.a.reverse_keys = dice.one_in(3);
  e.a.flush = flush;
  const Accumulator gpu = dice.any(std::array{Accumulator::h100, Accumulator::b200, Accumulator::ada, Accumulator::rtx50});
  e.a.accumulator = {gpu, gpu};
  e.b = e.a;
  e.b.block_k = dice.between(1, 40);
  return e;
}

ProductSumQuestion question_of(const Experiment& e, AttentionProduct product, Dice& dice) {
  return {e, dice.one_in(2), product, dice.between(0, e.problem.n - 1), dice.between(0, e.problem.d - 1)};
}

std::uint32_t bits(double x) { return std::bit_cast<std::uint32_t>(static_cast<float>(x)); }

/// The blocks follow each other, and the last one's result is the sum's.
void expect_chain(const ProductSum& s) {
  ASSERT_FALSE(s.blocks.empty());
  ASSERT_EQ(s.blocks.size(), s.first_places.size());
  EXPECT_EQ(bits(s.blocks.back().result), bits(s.result));
  if (s.earlier_blocks == 0) {
    EXPECT_EQ(s.blocks.front().carried, s.start);
  }
  for (std::size_t i = 1; i < s.blocks.size(); ++i) EXPECT_EQ(bits(s.blocks[i].carried), bits(s.blocks[i - 1].result));
}

TEST(ProductSum, OfPVEndsInTheKernelsO) {
  Dice dice(1);
  for (const Algorithm algorithm : {Algorithm::flash2, Algorithm::flash4, Algorithm::split_kv})
    for (const int flush : {0, 1, 2, 3, 7})
      for (int i = 0; i < 6; ++i) {
        const Experiment e = experiment(dice, algorithm, flush);
        const ProductSum s = product_sum(question_of(e, AttentionProduct::pv, dice));
        ASSERT_EQ(s.why_none, "");
        expect_chain(s);
        EXPECT_EQ(s.continues_O, flush == 0);
        EXPECT_EQ(bits(s.O_after), bits(s.continues_O ? s.result : s.O_before + s.result))
            << testing::describe(e) << " row " << s.question.row << " column " << s.question.column;
      }
}

/// Rounds the sum after every fma in a random way, or leaves it exact.
void round_steps(Experiment& e, Dice& dice) {
  Rounding stochastic = to_main;
  stochastic.stochastic = true;
  for (const Step step : {Step::qk_step, Step::pv_step})
    e.a.precision[step] = e.b.precision[step] = dice.any(std::array{exact, to_main, to_format(fp16), stochastic});
}

/// The steps follow each other from the start to the result, and their losses add up to its error.
void expect_steps(const ProductSum& s) {
  ASSERT_FALSE(s.chain.parts.empty());
  EXPECT_TRUE(s.blocks.empty());
  EXPECT_EQ(bits(s.chain.parts.front().before), bits(s.start));
  EXPECT_EQ(bits(s.chain.parts.back().after), bits(s.result));
  double lost = 0;
  int steps = 0, losing = 0;
  for (std::size_t i = 0; i < s.chain.parts.size(); ++i) {
    const ChainPart& part = s.chain.parts[i];
    EXPECT_EQ(part.first, steps);
    EXPECT_TRUE(part.is_exact() || part.steps == 1) << "a step that loses bits stands alone";
    if (i > 0) {
      EXPECT_EQ(bits(part.before), bits(s.chain.parts[i - 1].after));
      EXPECT_FALSE(part.is_exact() && s.chain.parts[i - 1].is_exact()) << "exact steps are one run";
    }
    steps += part.steps, losing += !part.is_exact(), lost += part.lost;
  }
  EXPECT_EQ(steps, s.chain.steps);
  EXPECT_EQ(losing, s.chain.losing);
  EXPECT_NEAR(lost, s.exact - static_cast<double>(s.result), 1e-9 * (std::abs(s.exact) + std::abs(lost)));
}

TEST(ProductSum, OfFmaEndsInTheKernelsO) {
  Dice dice(6);
  for (const Algorithm algorithm : {Algorithm::flash2, Algorithm::flash4, Algorithm::split_kv, Algorithm::three_pass})
    for (const int flush : {0, 1, 2, 3})
      for (int i = 0; i < 6; ++i) {
        Experiment e = experiment(dice, algorithm, flush);
        e.a.accumulator = e.b.accumulator = {};
        round_steps(e, dice);
        const ProductSum s = product_sum(question_of(e, AttentionProduct::pv, dice));
        ASSERT_EQ(s.why_none, "");
        expect_steps(s);
        const bool normalised = algorithm == Algorithm::three_pass;
        EXPECT_EQ(bits(s.O_after), bits(normalised || s.continues_O ? s.result : s.O_before + s.result))
            << testing::describe(e) << " row " << s.question.row << " column " << s.question.column;
      }
}

TEST(ProductSum, OfFmaIsTheKernelsScore) {
  Dice dice(7);
  for (int i = 0; i < 60; ++i) {
    Experiment e = experiment(dice, Algorithm::flash2, flush_of_policy);
    e.a.accumulator = e.b.accumulator = {};
    e.a.exponential = e.b.exponential = ExponentialKind::exp2;  // its scores are q.k itself
    round_steps(e, dice);
    const ProductSum s = product_sum(question_of(e, AttentionProduct::qk, dice));
    expect_steps(s);
    EXPECT_EQ(bits(s.result), bits(s.S)) << testing::describe(e);
    EXPECT_EQ(s.chain.steps, e.problem.d);
  }
}

/// Losses by hand: fp32 holds 2^24 + 2, but not 2^24 + 1.
TEST(FmaChain, SaysWhatEachStepLoses) {
  const auto unrounded = [](float sum, int) { return sum; };
  const std::vector<float> a{1, 2, 4, 5}, b(4, 1);
  const FmaChain chain = fma_chain(a, b, 0x1p24F, fp32, unrounded);
  ASSERT_EQ(chain.parts.size(), 3U);
  EXPECT_EQ(chain.parts[0].lost, 1);
  EXPECT_EQ(chain.parts[1].steps, 2);
  EXPECT_EQ(chain.parts[1].after, 0x1p24F + 6);
  EXPECT_EQ(chain.parts[2].lost, -1) << "11 more is rounded up to 12, an even multiple of 2";
  EXPECT_EQ(chain.losing, 2);
  const auto to_bf16 = [](float sum, int) { return round(bf16, sum); };
  const FmaChain short_chain = fma_chain(std::vector<float>{255, 2}, std::vector<float>{1, 1}, 0, bf16, to_bf16);
  ASSERT_EQ(short_chain.parts.size(), 2U);
  EXPECT_EQ(short_chain.parts[1].after, 256) << "257 needs nine bits";
  EXPECT_EQ(short_chain.parts[1].lost, 1);
  const FmaChain beyond = fma_chain(std::vector<float>{0x1p127F, 1}, std::vector<float>{2, 1}, 0, fp32, unrounded);
  EXPECT_TRUE(std::isnan(beyond.parts[0].lost)) << "infinity is no run of exact steps";
}

/// A product far below the sum is lost completely; no double and no product of floats would hold the sum of both.
TEST(FmaChain, SeesWhatADoubleCannot) {
  const auto unrounded = [](float sum, int) { return sum; };
  const FmaChain chain = fma_chain(std::vector<float>{0x1p-60F}, std::vector<float>{0x1p-60F}, 1, fp32, unrounded);
  ASSERT_EQ(chain.parts.size(), 1U);
  EXPECT_EQ(chain.parts[0].lost, 0x1p-120);
}

TEST(ProductSum, OfNormalisedPIsTheOutput) {
  Dice dice(2);
  for (const Algorithm algorithm : {Algorithm::three_pass, Algorithm::two_pass})
    for (int i = 0; i < 20; ++i) {
      const Experiment e = experiment(dice, algorithm, flush_of_policy);
      const ProductSumQuestion q = question_of(e, AttentionProduct::pv, dice);
      const ProductSum s = product_sum(q);
      expect_chain(s);
      const Result r = compute(e);
      EXPECT_EQ(bits(s.result), bits((q.of_b ? r.b : r.a)(q.row, q.column))) << testing::describe(e);
    }
}

TEST(ProductSum, OfFlash1IsAddedToWhatWasThere) {
  Dice dice(3);
  for (int i = 0; i < 10; ++i) {
    Experiment e = experiment(dice, Algorithm::flash1, flush_of_policy);
    e.a.block_k = e.b.block_k = e.problem.n;  // one tile: O = P.V / l
    e.problem.mask = {};
    e.a.p_exponent = e.b.p_exponent = 0;
    const ProductSumQuestion q = question_of(e, AttentionProduct::pv, dice);
    const ProductSum s = product_sum(q);
    expect_chain(s);
    EXPECT_EQ(s.start, 0);
    EXPECT_EQ(s.tiles_in_sum, 1);
  }
}

TEST(ProductSum, OfQKIsTheKernelsScore) {
  Dice dice(4);
  for (int i = 0; i < 60; ++i) {
    Experiment e = experiment(dice, dice.any(std::array{Algorithm::three_pass, Algorithm::flash2}), flush_of_policy);
    e.a.exponential = e.b.exponential = ExponentialKind::exp2;  // its scores are q.k itself
    const ProductSum s = product_sum(question_of(e, AttentionProduct::qk, dice));
    expect_chain(s);
    EXPECT_EQ(bits(s.result), bits(s.S)) << testing::describe(e);
    EXPECT_EQ(s.start, 0);
  }
}

/// 8 bits with sums in fp16: every block has its two halves, and ends in the kernel's score or O.
TEST(ProductSum, OfHalves) {
  Dice dice(5);
  for (int i = 0; i < 60; ++i) {
    Experiment e = experiment(dice, Algorithm::flash2, dice.any(std::array{0, 1, 2}));
    e.format = dice.any(std::array{e4m3, e5m2});
    e.a.exponential = ExponentialKind::exp2;
    e.a.p_exponent = 0;
    e.a.accumulator.qk = e.a.accumulator.pv = dice.any(std::array{Accumulator::h100_f16, Accumulator::b200_f16});
    e.b = e.a;
    const AttentionProduct product = dice.any(std::array{AttentionProduct::qk, AttentionProduct::pv});
    const ProductSum s = product_sum(question_of(e, product, dice));
    ASSERT_EQ(s.blocks.size() % 2, 0U);
    ASSERT_EQ(s.blocks.size(), s.first_places.size());
    float c = round(fp16, s.start);
    for (std::size_t k = 0; k < s.blocks.size(); k += 2) {
      EXPECT_EQ(s.blocks[k].carried, 0);
      EXPECT_EQ(s.blocks[k + 1].carried, s.blocks[k].result);
      EXPECT_EQ(s.blocks[k + 1].added, c);
      EXPECT_EQ(s.first_places[k], s.first_places[k + 1]);
      c = s.blocks[k + 1].result;
    }
    const bool qk = product == AttentionProduct::qk;
    EXPECT_EQ(bits(qk ? s.S : s.O_after), bits(qk || s.continues_O ? s.result : s.O_before + s.result)) << testing::describe(e);
  }
}

TEST(ProductSum, FindsThePlacesOfItsFactors) {
  Experiment e{.problem = {.n = 100, .d = 8, .mask = {Mask::Kind::window, 10}}};
  e.a.precision = policy("hw").precision;
  e.a.block_k = 64;
  e.a.accumulator = {Accumulator::h100, Accumulator::h100};
  const ProductSum s = product_sum({e, false, AttentionProduct::pv, 60, 3});
  EXPECT_EQ(s.tile, 0);
  EXPECT_EQ(s.first_places.front() % 16, 0) << "blocks begin at the tile's first key";
  const ProductSum k = product_sum({e, false, AttentionProduct::qk, 60, 0});
  EXPECT_EQ(k.key, 60) << "the last key of the window is the row itself";
  EXPECT_EQ(k.first_places, std::vector<int>{0});
}

TEST(ProductSum, SaysWhyThereIsNone) {
  Experiment e{.problem = {.n = 16, .d = 16}};
  e.a.precision = policy("hw").precision;
  const auto why = [&] { return product_sum({e, false, AttentionProduct::pv, 3, 3}).why_none; };
  EXPECT_EQ(why(), "");
  e.a.order = SumOrder::pairwise;
  EXPECT_EQ(why(), "a adds up P.V in pairs, and only one chain is shown step by step: choose the order sequential.");
  e.a.order = SumOrder::sequential;
  e.a.accumulator = {Accumulator::f64, Accumulator::f64};
  EXPECT_EQ(why(),
            "a adds up P.V by fma in fp64, and only sums of fp32 are shown step by step: choose fma, or a GPU, for its sums.");
  e.a.accumulator = {};
  e.format = fp64;
  EXPECT_EQ(why(), "a adds up P.V in fp64, and only sums of fp32 are shown step by step: choose a narrower format.");
  EXPECT_THROW(product_sum({e, false, AttentionProduct::pv, 16, 0}), std::invalid_argument);
  EXPECT_THROW(product_sum({e, false, AttentionProduct::pv, 0, -1}), std::invalid_argument);
}

TEST(ProductSum, KeepsTheLastBlocksOfALongOne) {
  Experiment e{.problem = {.n = 6000, .d = 4, .rows = 1}};
  e.b.precision = policy("base_hw").precision;
  e.a.precision = policy("hw").precision;
  e.b.accumulator = {Accumulator::h100, Accumulator::h100};
  const ProductSum s = product_sum({e, true, AttentionProduct::pv, 5, 2});
  EXPECT_EQ(s.blocks.size(), static_cast<std::size_t>(most_shown_blocks));
  EXPECT_EQ(s.earlier_blocks, 375 - most_shown_blocks);
  EXPECT_EQ(s.first_places.front(), (375 - most_shown_blocks) * 16);
}

}  // namespace
}  // namespace attoscope
