// Golden gradients against finite differences of the forward pass, and against the same formulas in 113 bits.
#include <gtest/gtest.h>

#include <algorithm>

#include "kernels/parallel/parallel.h"
#include "tests/backward/backward_dice.h"

namespace attoscope {
namespace {

using testing::Dice;
using testing::with_seeds;

/// A problem with any mask, shape, soft cap, sink and slope, and normal inputs.
Problem random_problem(Dice& dice) {
  static constexpr double caps[] = {1, 3, 30}, slopes[] = {0.125, -0.3, 2};
  Problem p;
  p.n = dice.between(1, 9), p.n_k = dice.between(1, 9), p.d = dice.between(1, 5), p.d_v = dice.between(1, 5);
  p.seed = dice.bits();
  p.scale = dice.one_in(2) ? 2 * dice.unit() + 0.01 : 0;
  p.mask.kind = static_cast<Mask::Kind>(dice.between(0, 6));
  p.mask.window = dice.between(1, 6);
  p.mask.right = dice.between(0, 3);
  p.mask.top_left = dice.one_in(2);
  if (dice.one_in(2)) p.sink = 2 * dice.normal();
  if (dice.one_in(3)) p.softcap = dice.any(caps);
  if (dice.one_in(3)) p.alibi = dice.any(slopes);
  return p;
}

OutputGradients incoming_of(Dice& dice, const Problem& p) {
  Experiment e{.problem = p, .format = fp32};
  return testing::random_incoming(dice, e, false);
}

/// d loss / d x by two central differences, extrapolated to remove the h^2 error.
long double slope(double& x, auto loss) {
  const double old = x, h = 0x1p-10;
  const auto central = [&](double step) {
    x = old + step;
    const long double above = loss();
    x = old - step;
    const long double below = loss(), width = (old + step) - static_cast<long double>(old - step);
    x = old;
    return (above - below) / width;
  };
  return (4 * central(h / 2) - central(h)) / 3;
}

std::string what_of(const Problem& p) { return testing::describe(Experiment{.problem = p}); }

TEST(GoldenGradients, AreFiniteDifferencesOfTheForwardPass) {
  with_seeds(1, testing::experiments(200), [&](Dice& dice) {
    Problem p = random_problem(dice);
    Tensors x = *raw_inputs(p);
    const OutputGradients d = incoming_of(dice, p);
    const bool precise = dice.one_in(2);
    const Gradients golden = golden_gradients(p, x, d, precise);
    const auto loss = [&] { return plain::loss(p, x, d); };
    const auto expect = [&](const char* tensor, std::vector<double>& of, const std::vector<double>& got) {
      ASSERT_EQ(of.size(), got.size());
      for (int probe = 0; probe < 5; ++probe) {
        const auto i = static_cast<std::size_t>(dice.bits() % of.size());
        const auto expected = static_cast<double>(slope(of[i], loss));
        ASSERT_NEAR(got[i], expected, 1e-8 * (1 + std::fabs(expected))) << tensor << " at " << i << ", " << what_of(p);
      }
    };
    expect("dQ", x.q, golden.dq.values);
    expect("dK", x.k, golden.dk.values);
    expect("dV", x.v, golden.dv.values);
    if (p.sink) {
      const auto expected = static_cast<double>(slope(*p.sink, loss));
      ASSERT_NEAR(golden.dsink, expected, 1e-8 * (1 + std::fabs(expected))) << what_of(p);
    }
  });
}

/// Calls check(name, got, truth) for every number of every golden gradient of the problem.
void for_each_number(const Problem& p, Dice& dice, bool precise, auto check) {
  const Tensors x = *raw_inputs(p);
  const OutputGradients d = incoming_of(dice, p);
  const plain::TrueGradients truth = plain::true_gradients(p, x, d);
  const Gradients g = golden_gradients(p, x, d, precise);
  const std::vector<int> rows = computed_rows(p), keys = plain::keys_of_backward(p);
  const auto of = [&](const char* name, const Matrix& m, const std::vector<int>& places, const std::vector<long double>& all) {
    ASSERT_EQ(m.rows, static_cast<int>(places.size()));
    for (int i = 0; i < m.rows; ++i)
      for (int c = 0; c < m.cols && !::testing::Test::HasFatalFailure(); ++c)
        check(name, m(i, c), all[static_cast<std::size_t>(places[static_cast<std::size_t>(i)] * m.cols + c)]);
  };
  of("dQ", g.dq, rows, truth.dq);
  of("dK", g.dk, keys, truth.dk);
  of("dV", g.dv, keys, truth.dv);
  ASSERT_EQ(g.lse.size(), truth.lse.size());
  for (std::size_t i = 0; i < g.lse.size(); ++i) {
    if (truth.lse[i] < -1e300L)
      ASSERT_EQ(g.lse[i], -HUGE_VAL);
    else
      check("lse", g.lse[i], truth.lse[i]);
    check("delta", g.delta[i], truth.delta[i]);
  }
  check("dsink", g.dsink, truth.dsink);
}

TEST(GoldenGradients, AreTheFormulasToAFewRoundings) {
  with_seeds(1, 200, [&](Dice& dice) {
    Problem p = random_problem(dice);
    p.n *= 5, p.n_k *= 7, p.d *= 3;
    if (dice.one_in(2)) p.rows = dice.between(1, p.n);
    for_each_number(p, dice, false, [&](const char* name, double got, long double expected) {
      ASSERT_NEAR(got, static_cast<double>(expected), 2e-13 * (1 + std::fabs(static_cast<double>(expected))))
          << name << ", " << what_of(p);
    });
  });
}

TEST(GoldenGradients, InDoubleDoubleAreTheFormulasRoundedOnce) {
  with_seeds(1, 100, [&](Dice& dice) {
    Problem p = random_problem(dice);
    p.n *= 3, p.n_k *= 3;
    // long double's own roundings: its sums over rows
    for_each_number(p, dice, true, [&](const char* name, double got, long double expected) {
      const auto ulp = static_cast<long double>(std::nextafter(std::fabs(got), HUGE_VAL) - std::fabs(got));
      ASSERT_LE(std::fabs(got - expected), 0.5L * ulp + 1e-17L) << name << ", " << what_of(p);
    });
  });
}

TEST(GoldenGradients, HaveTheSameBitsOnEverySetAndAnyThreads) {
  Dice dice(7);
  for (int i = 0; i < 40; ++i) {
    const Problem p = random_problem(dice);
    const Tensors x = *raw_inputs(p);
    const OutputGradients d = incoming_of(dice, p);
    const bool precise = i % 2 == 0;
    const Gradients best = golden_gradients(p, x, d, precise);
    for (const char* isa : testing::own_instruction_sets())
      ASSERT_TRUE(testing::same_gradients(golden_gradients(p, x, d, precise, testing::OnSet(isa)), best)) << isa;
    on_threads(3, [&] { ASSERT_TRUE(testing::same_gradients(golden_gradients(p, x, d, precise), best)); });
  }
}

// pytorch/torchtitan#4796: an attention sink by sigmoid(lse - sink) whose backward drops dLSE gives 0 here.
TEST(GoldenGradients, OfOneKeyWithASinkAreNotZero) {
  Problem p{.n = 1, .d = 1, .scale = 1, .sink = 0};
  const Tensors x{.n = 1, .n_k = 1, .d = 1, .d_v = 1, .q = {1}, .k = {1}, .v = {2}};
  const Gradients g = golden_gradients(p, x, {.d_o = {1}, .d_lse = {}}, false);
  EXPECT_NEAR(g.dq(0, 0), 0.39322387, 5e-9);
  EXPECT_NEAR(g.dk(0, 0), 0.39322387, 5e-9);
  EXPECT_NEAR(g.dv(0, 0), 0.73105858, 5e-9);
  EXPECT_NEAR(g.dsink, -0.39322387, 5e-9);  // the sink's value is 0, P (1 - P) (0 - 2)
}

// K's only column is 1: dQ is scale times the sum of dS over the keys, and this sum is 0 in exact arithmetic without dL.
TEST(GoldenGradients, HaveADSWhoseRowsSumToZero) {
  with_seeds(1, 60, [&](Dice& dice) {
    Problem p = random_problem(dice);
    p.sink.reset();
    p.softcap = 0;
    Tensors x = *raw_inputs(p);
    std::ranges::fill(x.k, 1.0);
    OutputGradients d = incoming_of(dice, p);
    d.d_lse.clear();
    for (const double dq : golden_gradients(p, x, d, false).dq.values) ASSERT_NEAR(dq, 0, 1e-13) << what_of(p);
  });
}

}  // namespace
}  // namespace attoscope
