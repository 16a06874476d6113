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

std::string text_of(const Experiment& e, const GradMethod& g) { return testing::describe(e) + testing::describe(g, e.format); }

/// Expects that the gradients of a, or b, are plain's on every instruction set, the first with 1 thread, the others with 3.
template <class T>
void expect_plain(const Experiment& e, const Method& m, const GradMethod& g, const OutputGradients& d) {
  const Operands<T> x = operands<T>(*raw_inputs(e.problem), e.a.precision[Step::input], e.format, e.problem.seed);
  const Gradients plain = plain::backward(e, m, g, *as_tensors(x, shape_of(e.problem)), d);
  int threads = 1;
  for (const std::string_view isa : testing::instruction_sets) {
    if (!has_instruction_set(isa) || ::testing::Test::HasFatalFailure()) continue;
    on_threads(threads, [&] {
      ASSERT_TRUE(testing::same_gradients(testing::gradients_on<T>(isa, e, m, g, d), plain)) << isa << ", " << text_of(e, g);
    });
    threads = 3;
  }
}

void expect_plain(const Experiment& e, const Method& m, const GradMethod& g, const OutputGradients& d) {
  testing::in_working_type(e, [&](auto t) { expect_plain<decltype(t)>(e, m, g, d); });
}

TEST(GradientBits, AreThePlainRuleInRandomExperiments) {
  for (int seed = 1; seed <= experiments(1000); ++seed) {
    Dice dice(static_cast<std::uint64_t>(seed));
    const Experiment e = testing::random_backward_experiment(dice);
    const Method& m = dice.one_in(2) ? e.a : e.b;
    const GradMethod g = testing::random_gradient(dice, e, m);
    SCOPED_TRACE("seed " + std::to_string(seed));
    expect_plain(e, m, g, testing::random_incoming(dice, e, dice.one_in(3)));
    if (HasFatalFailure()) return;
  }
}

TEST(GradientBits, AreThePlainRuleOnTensorCores) {
  for (int seed = 1; seed <= experiments(300); ++seed) {
    Dice dice(static_cast<std::uint64_t>(5000 + seed));
    const Experiment e = testing::random_backward_experiment(dice);
    const Method& m = dice.one_in(2) ? e.a : e.b;
    GradMethod g = testing::random_gradient(dice, e, m);
    testing::add_grad_accumulators(g, dice, e, m);
    SCOPED_TRACE("seed " + std::to_string(seed));
    expect_plain(e, m, g, testing::random_incoming(dice, e, dice.one_in(3)));
    if (HasFatalFailure()) return;
  }
}

TEST(GradientBits, AreThePlainRuleWithScalesOfTheirOwn) {
  for (int seed = 1; seed <= experiments(300); ++seed) {
    Dice dice(static_cast<std::uint64_t>(10000 + seed));
    const Experiment e = testing::random_backward_experiment(dice);
    const Method& m = dice.one_in(2) ? e.a : e.b;
    GradMethod g = testing::random_gradient(dice, e, m);
    testing::add_grad_scalings(g, dice);
    SCOPED_TRACE("seed " + std::to_string(seed));
    expect_plain(e, m, g, testing::random_incoming(dice, e, dice.one_in(4)));
    if (HasFatalFailure()) return;
  }
}

/// The problem with a mask tensor that adds numbers, in every third row the lowest one to all keys.
Problem with_lowest_rows(Problem p, Dice& dice) {
  Tensors t = *raw_inputs(p);
  const std::size_t keys = static_cast<std::size_t>(key_count(p));
  std::vector<double> terms(static_cast<std::size_t>(p.n) * keys);
  for (std::size_t i = 0; i < terms.size(); ++i)
    terms[i] = i / keys % 3 == 1 ? -std::numeric_limits<float>::max() : static_cast<float>(dice.normal());
  t.mask = std::make_shared<const MaskTensor>(mask_of_terms(p.n, key_count(p), std::move(terms)));
  p.input = testing::given(std::move(t));
  p.input.digest ^= 77;
  return p;
}

/// Rows of the lowest number alone in the backward pass: P is 1/n_k, as in golden, in every algorithm and rule of P.
TEST(GradientBits, AreThePlainRuleInRowsOfTheLowestNumber) {
  int lowest_rows = 0;
  for (std::uint64_t seed = 1; seed <= static_cast<std::uint64_t>(testing::experiments(80)); ++seed) {
    Dice dice(30000 + seed);
    Experiment e = testing::random_backward_experiment(dice);
    e.problem.mask = {}, e.problem.rows = 0;
    testing::drop_impossible_accumulators(e);
    e.problem = with_lowest_rows(e.problem, dice);
    GradMethod g = testing::random_gradient(dice, e, e.a);
    if (g.scale_at == ScaleAt::K) g.scale_at = ScaleAt::product;
    lowest_rows += e.problem.n / 3;
    SCOPED_TRACE("seed " + std::to_string(seed));
    expect_plain(e, e.a, g, testing::random_incoming(dice, e, false));
    if (HasFatalFailure()) return;
  }
  EXPECT_GT(lowest_rows, testing::experiments(100));
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
        expect_plain(e, e.a, grad_method(kernel.name, e.problem.d, e.problem.mask), testing::random_incoming(dice, e, false));
        if (HasFatalFailure()) return;
      }
}

// Roundings everywhere, drawn by dice.
TEST(GradientBits, OfStochasticRoundingAreTheSameOnEverySetAndAnyThreads) {
  int changed = 0;
  for (int seed = 1; seed <= experiments(100); ++seed) {
    Dice dice(static_cast<std::uint64_t>(20000 + seed));
    Experiment e = testing::random_backward_experiment(dice);
    testing::make_stochastic(e.a, dice, 2);
    GradMethod g = testing::random_gradient(dice, e, e.a);
    for (Rounding& r : g.precision.steps) r.stochastic = r.kind != Rounding::Kind::exact && dice.one_in(2);
    const OutputGradients d = testing::random_incoming(dice, e, false);
    testing::in_working_type(e, [&](auto t) {
      using T = decltype(t);
      const Gradients first = on_threads(1, [&] { return testing::gradients_on<T>("sse2", e, e.a, g, d); });
      for (const std::string_view isa : testing::instruction_sets) {
        if (!has_instruction_set(isa)) continue;
        const Gradients again = on_threads(3, [&] { return testing::gradients_on<T>(isa, e, e.a, g, d); });
        ASSERT_TRUE(testing::same_gradients(again, first)) << "seed " << seed << ' ' << isa << ", " << text_of(e, g);
      }
      Experiment other = e;
      ++other.problem.seed;
      other.problem.input = testing::given(*raw_inputs(e.problem));
      changed += !testing::same_gradients(testing::gradients_on<T>("sse2", other, other.a, g, d), first);
    });
    if (HasFatalFailure()) return;
  }
  EXPECT_GT(changed, experiments(100) / 4);  // the seed decides
}

// compute hands each method's forward pass over to its gradients.
TEST(GradientBits, AreTheSameFromTheForwardPassOfAnAnswer) {
  for (int seed = 1; seed <= experiments(300); ++seed) {
    Dice dice(static_cast<std::uint64_t>(40000 + seed));
    Experiment e = testing::random_backward_experiment(dice);
    if (dice.one_in(2)) e.problem.rows = 0;
    e.backward = {.on = true, .a = testing::random_gradient(dice, e, e.a), .b = testing::random_gradient(dice, e, e.b)};
    const Result r = compute(e);
    testing::in_working_type(e, [&](auto t) {
      const auto alone = [&](const Method& m, const GradMethod& g) {
        return testing::gradients_on<decltype(t)>({}, e, m, g, *r.backward->incoming);
      };
      ASSERT_TRUE(testing::same_gradients(r.backward->a, alone(e.a, e.backward.a))) << seed << text_of(e, e.backward.a);
      ASSERT_TRUE(testing::same_gradients(r.backward->b, alone(e.b, e.backward.b))) << seed << text_of(e, e.backward.b);
    });
    if (HasFatalFailure()) return;
  }
}

TEST(GradientBits, HaveRowsAndKeysOfAllTheirGradients) {
  for (int seed = 1; seed <= experiments(60); ++seed) {
    Dice dice(static_cast<std::uint64_t>(30000 + seed));
    Experiment e = testing::random_backward_experiment(dice);
    e.problem.rows = 0;
    const GradMethod g = testing::random_gradient(dice, e, e.a);
    const OutputGradients d = testing::random_incoming(dice, e, false);
    Experiment some = e;
    some.problem.rows = dice.between(1, e.problem.n);
    testing::in_working_type(e, [&](auto t) {
      using T = decltype(t);
      const Gradients all = testing::gradients_on<T>("sse2", e, e.a, g, d),
                      part = testing::gradients_on<T>({}, some, e.a, g, d);
      const std::vector<int> rows = computed_rows(some.problem), keys = computed_keys(some.problem);
      ASSERT_EQ(keys, plain::keys_of_backward(some.problem));
      for (std::size_t i = 0; i < rows.size(); ++i)
        for (int c = 0; c < all.dq.cols; ++c)
          ASSERT_TRUE(testing::same(part.dq(static_cast<int>(i), c), all.dq(rows[i], c))) << text_of(some, g);
      for (std::size_t i = 0; i < keys.size(); ++i)
        for (int c = 0; c < all.dk.cols; ++c)
          ASSERT_TRUE(testing::same(part.dk(static_cast<int>(i), c), all.dk(keys[i], c))) << text_of(some, g);
    });
    if (HasFatalFailure()) return;
  }
}

}  // namespace
}  // namespace attoscope
