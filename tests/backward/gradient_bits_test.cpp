// gradients<T> against the plain rule, number by number and bit by bit, on every instruction set and number of threads.
#include <gtest/gtest.h>

#include <limits>
#include <memory>
#include <utility>

#include "kernels/compute.h"
#include "kernels/experiment/grad_kernels.h"
#include "kernels/experiment/presets.h"
#include "kernels/experiment/result.h"
#include "kernels/parallel/parallel.h"
#include "tests/backward/backward_dice.h"

namespace attoscope {
namespace {

using namespace testing;  // attoscope::testing

std::string text_of(const Experiment& e, const GradMethod& g) { return describe(e) + describe(g, e.format); }

/// Expects that the gradients of a, or b, are plain's on every instruction set, the first with 1 thread, the others with 3.
template <class T>
void expect_plain(const Experiment& e, const Method& m, const GradMethod& g, const OutputGradients& d) {
  const Operands<T> x = operands<T>(*raw_inputs(e.problem), e.a.precision[Step::input], e.format, e.problem.seed);
  const Gradients plain = plain::backward(e, m, g, *as_tensors(x, shape_of(e.problem)), d);
  int threads = 1;
  for (const char* isa : own_instruction_sets()) {
    if (::testing::Test::HasFatalFailure()) return;
    on_threads(threads,
               [&] { ASSERT_TRUE(same_gradients(gradients_on<T>(isa, e, m, g, d), plain)) << isa << ", " << text_of(e, g); });
    threads = 3;
  }
}

void expect_plain(const Experiment& e, const Method& m, const GradMethod& g, const OutputGradients& d) {
  in_working_type(e, [&](auto t) { expect_plain<decltype(t)>(e, m, g, d); });
}

/// Expects the plain rule's gradients in random experiments, with backward passes changed by add(gradient, dice, e, method);
/// one in `nasty_one_in` incoming gradients may be nasty.
void expect_plain_in_random(int first_seed, int count, int nasty_one_in, auto add) {
  with_seeds(first_seed, count, [&](Dice& dice) {
    const Experiment e = random_backward_experiment(dice);
    const Method& m = dice.one_in(2) ? e.a : e.b;
    GradMethod g = random_gradient(dice, e, m);
    add(g, dice, e, m);
    expect_plain(e, m, g, random_incoming(dice, e, dice.one_in(nasty_one_in)));
  });
}

TEST(GradientBits, AreThePlainRuleInRandomExperiments) {
  expect_plain_in_random(1, experiments(1000), 3, [](auto&&...) {});
}

TEST(GradientBits, AreThePlainRuleOnTensorCores) { expect_plain_in_random(5001, experiments(300), 3, add_grad_accumulators); }

TEST(GradientBits, AreThePlainRuleWithScalesOfTheirOwn) {
  expect_plain_in_random(10001, experiments(300), 4, [](GradMethod& g, Dice& dice, auto&&...) { add_grad_scalings(g, dice); });
}

/// The problem with a mask tensor that adds numbers; every third row adds the lowest number to all keys.
Problem with_lowest_rows(Problem p, Dice& dice) {
  Tensors t = *raw_inputs(p);
  const std::size_t keys = static_cast<std::size_t>(key_count(p));
  std::vector<double> terms(static_cast<std::size_t>(p.n) * keys);
  for (std::size_t i = 0; i < terms.size(); ++i)
    terms[i] = i / keys % 3 == 1 ? -std::numeric_limits<float>::max() : static_cast<float>(dice.normal());
  t.mask = std::make_shared<const MaskTensor>(mask_of_terms(p.n, key_count(p), std::move(terms)));
  p.input = given(std::move(t));
  p.input.digest ^= 77;
  return p;
}

/// Rows that add the lowest number to all keys: P is 1/n_k in the backward pass, as in golden, by each algorithm and rule of P.
TEST(GradientBits, AreThePlainRuleInRowsOfTheLowestNumber) {
  int lowest_rows = 0;
  with_seeds(30001, experiments(80), [&](Dice& dice) {
    Experiment e = random_backward_experiment(dice);
    e.problem.mask = {}, e.problem.rows = 0;
    drop_impossible_accumulators(e);
    e.problem = with_lowest_rows(e.problem, dice);
    GradMethod g = random_gradient(dice, e, e.a);
    if (g.scale_at == ScaleAt::K) g.scale_at = ScaleAt::product;
    lowest_rows += e.problem.n / 3;
    expect_plain(e, e.a, g, random_incoming(dice, e, false));
  });
  EXPECT_GT(lowest_rows, experiments(100));
}

TEST(GradientBits, AreThePlainRuleOfEveryNamedKernel) {
  Dice dice(3);
  for (const Format& format : {bf16, fp16})
    for (const GradKernel& kernel : grad_kernels())
      for (const int n : {70, 140}) {
        Experiment e{.problem = {.seed = dice.bits(), .n = n, .d = 8}, .format = format};
        e.problem.mask.kind = n == 70 ? Mask::Kind::none : Mask::Kind::causal;
        const bool base = kernel.name.starts_with("grad_base") || kernel.name == "grad_math";
        e.a = {.algorithm = base ? Algorithm::three_pass : Algorithm::flash2,
               .exponential = base ? ExponentialKind::natural : ExponentialKind::exp2,
               .precision = policy(base ? "base_eager" : "hw").precision};
        SCOPED_TRACE(kernel.name);
        expect_plain(e, e.a, grad_method(kernel.name, e.problem.d, e.problem.mask), random_incoming(dice, e, false));
        if (HasFatalFailure()) return;
      }
}

// Half of the rounding steps round stochastically, with random bits from the seed.
TEST(GradientBits, OfStochasticRoundingAreTheSameOnEverySetAndAnyThreads) {
  int changed = 0;
  with_seeds(20001, experiments(100), [&](Dice& dice) {
    Experiment e = random_backward_experiment(dice);
    make_stochastic(e.a, dice, 2);
    GradMethod g = random_gradient(dice, e, e.a);
    for (Rounding& r : g.precision.steps) r.stochastic = r.kind != Rounding::Kind::exact && dice.one_in(2);
    const OutputGradients d = random_incoming(dice, e, false);
    in_working_type(e, [&](auto t) {
      using T = decltype(t);
      const Gradients first = on_threads(1, [&] { return gradients_on<T>("sse2", e, e.a, g, d); });
      for (const char* isa : own_instruction_sets()) {
        const Gradients again = on_threads(3, [&] { return gradients_on<T>(isa, e, e.a, g, d); });
        ASSERT_TRUE(same_gradients(again, first)) << isa << ", " << text_of(e, g);
      }
      Experiment other = e;
      ++other.problem.seed;
      other.problem.input = given(*raw_inputs(e.problem));
      changed += !same_gradients(gradients_on<T>("sse2", other, other.a, g, d), first);
    });
  });
  EXPECT_GT(changed, experiments(100) / 4);  // the seed decides
}

// `compute` computes gradients from each method's own forward pass.
TEST(GradientBits, AreTheSameFromTheForwardPassOfAnAnswer) {
  with_seeds(40001, experiments(300), [&](Dice& dice) {
    Experiment e = random_backward_experiment(dice);
    if (dice.one_in(2)) e.problem.rows = 0;
    e.backward = {.on = true, .a = random_gradient(dice, e, e.a), .b = random_gradient(dice, e, e.b)};
    const Result r = compute(e);
    in_working_type(e, [&](auto t) {
      const auto alone = [&](const Method& m, const GradMethod& g) {
        return gradients_on<decltype(t)>({}, e, m, g, *r.backward->incoming);
      };
      ASSERT_TRUE(same_gradients(r.backward->a, alone(e.a, e.backward.a))) << text_of(e, e.backward.a);
      ASSERT_TRUE(same_gradients(r.backward->b, alone(e.b, e.backward.b))) << text_of(e, e.backward.b);
    });
  });
}

TEST(GradientBits, HaveRowsAndKeysOfAllTheirGradients) {
  with_seeds(30001, experiments(60), [&](Dice& dice) {
    Experiment e = random_backward_experiment(dice);
    e.problem.rows = 0;
    const GradMethod g = random_gradient(dice, e, e.a);
    const OutputGradients d = random_incoming(dice, e, false);
    Experiment some = e;
    some.problem.rows = dice.between(1, e.problem.n);
    in_working_type(e, [&](auto t) {
      using T = decltype(t);
      const Gradients all = gradients_on<T>("sse2", e, e.a, g, d), part = gradients_on<T>({}, some, e.a, g, d);
      const std::vector<int> rows = computed_rows(some.problem), keys = computed_keys(some.problem);
      ASSERT_EQ(keys, plain::keys_of_backward(some.problem));
      for (std::size_t i = 0; i < rows.size(); ++i)
        for (int c = 0; c < all.dq.cols; ++c)
          ASSERT_TRUE(same(part.dq(static_cast<int>(i), c), all.dq(rows[i], c))) << text_of(some, g);
      for (std::size_t i = 0; i < keys.size(); ++i)
        for (int c = 0; c < all.dk.cols; ++c)
          ASSERT_TRUE(same(part.dk(static_cast<int>(i), c), all.dk(keys[i], c))) << text_of(some, g);
    });
  });
}

}  // namespace
}  // namespace attoscope
