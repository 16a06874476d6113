// Relations of backward passes to one another and to golden, and properties of the named kernels, independent of plain.

#include <array>
#include <set>
#include <stdexcept>

#include "kernels/backward/gradient_rule.h"
#include "kernels/experiment/grad_kernels.h"
#include "kernels/experiment/presets.h"
#include "tests/backward/backward_dice.h"
#include "tests/support/matchers.h"

namespace attoscope {
namespace {

using namespace testing;  // attoscope::testing

/// The experiment with nothing rounded, in double.
Experiment without_roundings(Experiment e) {
  e.format = fp64;
  e.problem.rows = 0;
  e.problem.input = {};
  for (Method* m : {&e.a, &e.b}) {
    m->precision.steps = {};
    m->exp2_degree = 0;
    m->scaling = {};
    m->accumulator = {};
  }
  if (e.problem.softcap != 0) e.problem.softcap = 3;
  if (e.problem.sink) e.problem.sink = 0.7;
  return e;
}

TEST(GradientProperties, InExactArithmeticEveryMethodIsGolden) {
  with_seeds(1, experiments(200), [&](Dice& dice) {
    const Experiment e = without_roundings(random_backward_experiment(dice));
    GradMethod g = random_gradient(dice, e, e.a);
    g.precision.steps = {};
    const OutputGradients d = random_incoming(dice, e, false);
    const Gradients x = gradients_on<double>({}, e, e.a, g, d),
                    golden = golden_gradients(e.problem, *raw_inputs(e.problem), d, true);
    const auto expect = [&](const char* what, const Matrix& got, const Matrix& wanted) {
      ASSERT_EQ(got.values.size(), wanted.values.size());
      for (std::size_t i = 0; i < got.values.size(); ++i)
        ASSERT_NEAR(got.values[i], wanted.values[i], 1e-10 * (1 + std::fabs(wanted.values[i])))
            << what << " at " << i << ": " << describe(e) << describe(g, e.format);
    };
    expect("dQ", x.dq, golden.dq);
    expect("dK", x.dk, golden.dk);
    expect("dV", x.dv, golden.dv);
    expect("delta", column(x.delta), column(golden.delta));
    expect("dsink", column({x.dsink}), column({golden.dsink}));
  });
}

/// A causal experiment in bf16 that rounds as tensor cores do.
Experiment small_causal() {
  Experiment e{.problem = {.n = 60, .d = 8}, .format = bf16};
  e.problem.mask.kind = Mask::Kind::causal;
  e.a.block_k = 16;
  e.a.precision = policy("hw").precision;
  return e;
}
GradMethod in_tiles(int block_q, int block_k) {
  GradMethod g = grad_method("grad_hw", 8, {});
  g.block_q = block_q, g.block_k = block_k;
  return g;
}
Gradients answer(const Experiment& e, const GradMethod& g, const OutputGradients& d) {
  return gradients_on<float>({}, e, e.a, g, d);
}

TEST(GradientProperties, ARowOfdOThatIsNotFiniteReachesItsdQAndTheKeysThatItSees) {
  Dice dice(1);
  for (const auto mask : {Mask::Kind::causal, Mask::Kind::window}) {
    Experiment e = small_causal();
    e.problem.mask = {.kind = mask, .window = 9};
    const OutputGradients clean = random_incoming(dice, e, false);
    OutputGradients d = clean;
    const int row = 30;
    for (int c = 0; c < 8; ++c) d.d_o[static_cast<std::size_t>(row * 8 + c)] = HUGE_VAL;
    for (const GradMethod& g : {in_tiles(16, 16), in_tiles(7, 64), grad_method("grad_fa2", 8, {})}) {
      const auto expect = [&](const Gradients& x, const Gradients& without) {
        const Keys seen = visible_keys(e.problem, row);
        for (int i = 0; i < 60; ++i)
          for (int c = 0; c < 8; ++c) {
            EXPECT_EQ(std::isfinite(x.dq(i, c)), i != row) << i;
            EXPECT_TRUE(i == row || same(x.dq(i, c), without.dq(i, c))) << i;
            const bool reached = i >= seen.first && i < seen.end;
            EXPECT_EQ(std::isfinite(x.dv(i, c)), !reached) << i;
            EXPECT_TRUE(reached || (same(x.dk(i, c), without.dk(i, c)) && same(x.dv(i, c), without.dv(i, c)))) << i;
          }
      };
      expect(answer(e, g, d), answer(e, g, clean));
      const Tensors x = *raw_inputs(e.problem);
      expect(golden_gradients(e.problem, x, d, false), golden_gradients(e.problem, x, clean, false));
    }
  }
}

TEST(GradientProperties, RowsWithoutKeysAndKeysWithoutRowsHaveZeros) {
  Dice dice(2);
  Experiment e = small_causal();
  e.problem.mask = {.kind = Mask::Kind::padding, .window = 20};
  e.problem.sink = 0.5;
  const OutputGradients d = random_incoming(dice, e, false);
  const Tensors inputs = *raw_inputs(e.problem);
  for (const Gradients& x : {answer(e, in_tiles(16, 16), d), golden_gradients(e.problem, inputs, d, false)})
    for (int i = 0; i < 20; ++i) {
      EXPECT_EQ(x.lse[static_cast<std::size_t>(i)], -HUGE_VAL);
      EXPECT_EQ(x.delta[static_cast<std::size_t>(i)], 0);
      for (int c = 0; c < 8; ++c) {
        EXPECT_EQ(x.dq(i, c), 0);
        EXPECT_EQ(x.dk(i, c), 0);
        EXPECT_EQ(x.dv(i, c), 0);
      }
      EXPECT_TRUE(std::isfinite(x.dsink));
    }
}

TEST(GradientProperties, OrdersAndTilesChangeWhatTheyMay) {
  Dice dice(3);
  const Experiment e = small_causal();
  const OutputGradients d = random_incoming(dice, e, false);
  const auto with = [&](int block_q, int block_k, GradOrder order, int buffers = 1, std::uint64_t seed = 1) {
    GradMethod g = in_tiles(block_q, block_k);
    g.order = order, g.buffers = buffers, g.order_seed = seed;
    g.precision[GradStep::dQ] = exact;  // in fp32 every other order shows
    return answer(e, g, d);
  };
  const auto same = [](const Gradients& x, const Gradients& y) { return same_gradients(x, y); };
  using enum GradOrder;
  const Gradients ascends = with(16, 8, ascending);
  EXPECT_TRUE(same(with(16, 64, shuffled), with(16, 64, ascending))) << "one tile";
  EXPECT_TRUE(same(with(16, 8, buffers, 1), ascends));
  EXPECT_TRUE(same(with(5, 8, ascending), ascends));
  EXPECT_TRUE(same(with(5, 8, descending), with(16, 8, descending)));
  EXPECT_FALSE(same(with(16, 8, descending), ascends));
  EXPECT_FALSE(same(with(16, 8, buffers, 3), ascends));
  EXPECT_FALSE(same(with(16, 8, shuffled), with(16, 8, shuffled, 1, 2)));
  EXPECT_FALSE(same(with(16, 7, ascending), ascends));
  const Gradients shuffles = with(16, 8, shuffled);
  EXPECT_TRUE(same_bits("dK", shuffles.dk, ascends.dk) && same_bits("dV", shuffles.dv, ascends.dv));
  GradMethod backwards = in_tiles(16, 8);
  backwards.precision[GradStep::dK] = backwards.precision[GradStep::dV] = backwards.precision[GradStep::dQ] = exact;
  backwards.last_queries_first = true;
  const Gradients turned = answer(e, backwards, d);
  EXPECT_TRUE(same_bits("dQ", turned.dq, ascends.dq));
  EXPECT_FALSE(same_bits("dV", turned.dv, ascends.dv));
}

// pytorch/torchtitan#4796
TEST(GradientProperties, OfOneKeyWithASinkAreNotZero) {
  Experiment e{.problem = {.n = 1, .d = 1, .scale = 1, .sink = 0}, .format = fp32};
  Tensors x = Tensors::shaped(AttentionShape::square(1, 1));
  x.q = x.k = {1}, x.v = {2};
  e.problem.input = given(x);
  for (const Algorithm algorithm : emulated_algorithms) {
    e.a.algorithm = algorithm;
    e.a.precision = {};
    const Gradients g = answer(e, {}, {.d_o = {1}, .d_lse = {}});
    EXPECT_NEAR(g.dq(0, 0), 0.39322387, 3e-7);
    EXPECT_NEAR(g.dk(0, 0), 0.39322387, 3e-7);
    EXPECT_NEAR(g.dv(0, 0), 0.73105858, 3e-7);
    EXPECT_NEAR(g.dsink, -0.39322387, 3e-7);
  }
}

TEST(OutputGradients, AreDrawnFromAStreamOfTheirOwn) {
  Experiment e = small_causal();
  e.problem.n = 500;
  e.backward.on = true;
  const std::vector<double> d_o = output_gradients(e).d_o;
  ASSERT_EQ(d_o.size(), 4000u);
  double sum = 0, squares = 0;
  for (const double x : d_o) {
    EXPECT_EQ(x, plain::nearest(bf16, x));
    sum += x, squares += x * x;
  }
  EXPECT_NEAR(sum / 4000, 0, 0.06);
  EXPECT_NEAR(squares / 4000, 1, 0.09);
  const Tensors inputs = *raw_inputs(e.problem);
  for (const std::vector<double>* tensor : {&inputs.q, &inputs.k, &inputs.v}) {
    double together = 0;
    for (std::size_t i = 0; i < d_o.size(); ++i) together += d_o[i] * (*tensor)[i];
    EXPECT_NEAR(together / 4000, 0, 0.07);
  }
  Experiment other = e;
  ++other.problem.seed;
  EXPECT_NE(output_gradients(other).d_o, d_o);
  e.backward.d_o = OutputGradient::ones;
  EXPECT_EQ(output_gradients(e).d_o, std::vector<double>(4000, 1.0));
}

TEST(GradKernels, AreFoundByNameAndByValue) {
  for (const int d : {32, 64, 96, 128, 192, 256})
    for (const auto kind : {Mask::Kind::none, Mask::Kind::causal}) {
      const Mask mask{.kind = kind};
      for (const GradKernel& k : grad_kernels()) {
        EXPECT_FALSE(k.what.empty() || k.source.empty()) << k.name;
        const GradMethod m = grad_method(k.name, d, mask);  // equals grad_fa3's for grad_fa4 if their tiles are equal
        EXPECT_EQ(grad_method(grad_kernel_name(m, d, mask), d, mask), m) << k.name;
        EXPECT_TRUE(k.name == "grad_fa4" || grad_kernel_name(m, d, mask) == k.name) << k.name;
      }
    }
  GradMethod own = grad_method("grad_fa3", 64, {});
  own.buffers = 7;
  EXPECT_EQ(grad_kernel_name(own, 64, {}), "");
  EXPECT_EQ(grad_kernels().size(), 17u);
}

TEST(GradKernels, HaveTheTilesOfTheirSources) {
  const auto tiles = [](std::string_view name, int d, Mask::Kind kind) {
    const GradMethod m = grad_method(name, d, {.kind = kind});
    return std::pair(m.block_q, m.block_k);
  };
  using enum Mask::Kind;
  EXPECT_EQ(tiles("grad_fa2", 64, none), std::pair(128, 128));
  EXPECT_EQ(tiles("grad_fa2", 128, causal), std::pair(64, 128));
  EXPECT_EQ(tiles("grad_fa2", 256, causal), std::pair(64, 64));
  EXPECT_EQ(tiles("grad_fa3", 128, none), std::pair(80, 128));
  EXPECT_EQ(tiles("grad_fa3", 128, causal), std::pair(64, 128));
  EXPECT_EQ(tiles("grad_fa3", 256, none), std::pair(64, 80));
  EXPECT_EQ(tiles("grad_fa4", 128, causal), std::pair(128, 128));
}

TEST(GradKernels, OfUnknownNamesAreRefusedWithAllNames) {
  EXPECT_THAT(message_of<std::invalid_argument>([] { return grad_method("grad_fa9", 64, {}); }),
              AllOf(HasSubstr("'grad_fa9'"), HasSubstr("grad_base_eager"), HasSubstr("grad_sage")));
  EXPECT_THAT(message_of<std::invalid_argument>([] { return grad_policy("grad_fa3"); }),
              AllOf(HasSubstr("'grad_fa3'"), HasSubstr("training"), HasSubstr("grad_base_all")));
}

// Training's policies leave out steps that training does not have: plans and their names do not change.
TEST(GradKernels, OfTrainingRoundItsOwnStepsAlone) {
  for (const GradPolicy& p : grad_policies())
    for (const GradStepInfo& s : grad_step_infos)
      EXPECT_TRUE(is_of_training(s.step) || p.precision[s.step] == exact) << p.name << ' ' << s.name;
  EXPECT_EQ(grad_method("grad_all", 64, {}).precision[GradStep::dq_sum], to_main);
}

TEST(RandomBits, HaveANumberForEachStep) {
  std::set<std::uint32_t> numbers;
  for (int i = 0; i < 256; ++i) numbers.insert(random_number(static_cast<Step>(i)));
  EXPECT_EQ(numbers.size(), 256U);
  // Recorded results depend on these numbers.
  for (int i = 0; i < 16; ++i) EXPECT_EQ(random_number(static_cast<Step>(i)), static_cast<std::uint32_t>(i));
  constexpr std::array of_gradient{30, 31, 16, 17, 18, 19, 20, 21, 22, 23, 24, 25, 26, 27, 28, 32, 33, 29};
  for (std::size_t i = 0; i < of_gradient.size(); ++i)
    EXPECT_EQ(random_number(random_step(static_cast<GradStep>(i))), static_cast<std::uint32_t>(of_gradient[i])) << i;
  EXPECT_EQ(random_number(other_step(18)), 34U) << "the number of partial outputs";
  std::set<Step> steps{other_step(18)};
  for (int i = 0; i < 100; ++i) EXPECT_TRUE(steps.insert(random_step(static_cast<GradStep>(i))).second) << i;
}

}  // namespace
}  // namespace attoscope
