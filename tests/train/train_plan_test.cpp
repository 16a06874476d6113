/// Runs and pairs of a training plan, and its refusals.

#include <functional>
#include <limits>
#include <set>
#include <stdexcept>

#include "kernels/experiment/presets.h"
#include "kernels/train/plan/plan.h"
#include "tests/support/matchers.h"

namespace attoscope::train_plan_test {
namespace {

using namespace testing;  // attoscope::testing

std::string refusal(const TrainPlan& plan) {
  return message_of<std::invalid_argument>([&] { validate(plan); });
}

TrainPlan with(const std::function<void(TrainPlan&)>& change) {
  TrainPlan plan = default_train_plan();
  plan.with_exact = false;
  change(plan);
  return plan;
}

TEST(TrainPlan, DefaultIsFlashAgainstTheBaselineAndValid) {
  const TrainPlan plan = default_train_plan();
  EXPECT_EQ(refusal(plan), "");
  EXPECT_EQ(plan.a.method.algorithm, Algorithm::flash2);
  EXPECT_EQ(plan.b.method.algorithm, Algorithm::three_pass);
  EXPECT_EQ(policy_name(plan.a.method.precision, Algorithm::flash2), "eager");
  EXPECT_EQ(grad_policy_name(plan.a.gradient), "grad_eager");
  EXPECT_EQ(grad_policy_name(plan.b.gradient), "grad_base_eager");
}

TEST(TrainPlan, DefaultCutsTheKeysIntoEightTiles) {
  const TrainPlan plan = default_train_plan();
  for (const TrainMethod* const x : {&plan.a, &plan.b}) EXPECT_GE(plan.model.context / x->method.block_k, 8);
}

TEST(TrainPlan, SharesRunsThatAreTheSame) {
  const TrainRuns all = runs_of(with([](TrainPlan& p) { p.kind = TrainKind::reference; }));
  ASSERT_EQ(all.pairs.size(), 5u);
  ASSERT_EQ(all.runs.size(), 5u) << "b in bf16 is b";
  EXPECT_EQ(all.pairs[0].role, Role::method);
  EXPECT_EQ(all.pairs[1].role, Role::initialisation);
  EXPECT_EQ(all.runs[static_cast<std::size_t>(all.pairs[1].x)].seed, 2u);
  EXPECT_EQ(all.runs[static_cast<std::size_t>(all.pairs[1].x)].method, all.runs[1].method);
  const std::vector<std::pair<Format, Format>> formats{{fp16, fp32}, {bf16, fp32}, {fp16, bf16}};
  for (std::size_t i = 0; i < formats.size(); ++i) {
    const PairPlan& pair = all.pairs[2 + i];
    EXPECT_EQ(pair.role, Role::format);
    EXPECT_EQ(all.runs[static_cast<std::size_t>(pair.x)].method.format, formats[i].first);
    EXPECT_EQ(all.runs[static_cast<std::size_t>(pair.y)].method.format, formats[i].second);
    EXPECT_EQ(all.runs[static_cast<std::size_t>(pair.x)].seed, 1u);
  }
}

TEST(TrainPlan, ExactAttentionIsBWithEveryHeadExact) {
  const TrainPlan plan = default_train_plan();
  ASSERT_TRUE(plan.with_exact) << "by default";
  const TrainRuns all = runs_of(plan);
  ASSERT_EQ(all.runs.size(), 3u);
  EXPECT_EQ(all.runs[2].name, "exact");
  EXPECT_EQ(all.runs[2].seed, plan.recipe.seed);
  EXPECT_EQ(all.runs[2].method.method, plan.b.method);
  EXPECT_EQ(all.runs[2].method.format, plan.b.format) << "the rest of the model rounds as in b";
  for (int layer = 0; layer < plan.model.layers; ++layer)
    for (int head = 0; head < plan.model.heads; ++head) EXPECT_TRUE(all.runs[2].method.is_exact(layer, head));
  ASSERT_EQ(all.pairs.size(), 3u);
  EXPECT_EQ(all.pairs[1], (PairPlan{"a - exact", Role::from_exact, 0, 2}));
  EXPECT_EQ(all.pairs[2], (PairPlan{"b - exact", Role::from_exact, 1, 2}));
}

TEST(TrainPlan, ExactAttentionAddsNothingToABisectionOrAReplay) {
  for (const TrainKind kind : {TrainKind::bisect, TrainKind::replay}) {
    const auto runs = [&](bool with_exact) {
      return runs_of(with([&](TrainPlan& p) { p.kind = kind, p.with_exact = with_exact; })).runs;
    };
    EXPECT_EQ(runs(true), runs(false));
  }
}

TEST(TrainPlan, EqualMethodsRemainTwoRuns) {
  const TrainRuns all = runs_of(with([](TrainPlan& p) {
    p.a = p.b;
    p.kind = TrainKind::reference;
  }));
  EXPECT_EQ(all.runs[0].name, "a");
  EXPECT_EQ(all.pairs[0].x, 0);
  EXPECT_EQ(all.pairs[0].y, 1);
  for (std::size_t i = 1; i < all.pairs.size(); ++i) EXPECT_NE(all.pairs[i].x, 0) << "only the first pair contains a";
}

TEST(TrainPlan, NamesOfRunsAreUnique) {
  for (int kind = 0; kind < 4; ++kind)
    for (int by = 0; by < 4; ++by) {
      const TrainRuns all = runs_of(with([&](TrainPlan& p) {
        p.kind = static_cast<TrainKind>(kind);
        p.bisect = static_cast<BisectBy>(by);
      }));
      std::set<std::string> names;
      for (const RunPlan& run : all.runs) EXPECT_TRUE(names.insert(run.name).second) << run.name;
    }
}

TEST(TrainPlan, EverySuspectDiffersFromAInOneStepThatIsExactInIt) {
  const TrainPlan plan = with([](TrainPlan& p) { p.kind = TrainKind::bisect; });
  const TrainRuns all = runs_of(plan);
  int rounded = 0;
  for (const Rounding& r : plan.a.method.precision.steps) rounded += r == exact ? 0 : 1;
  ASSERT_EQ(all.runs.size(), static_cast<std::size_t>(2 + rounded));
  for (std::size_t i = 2; i < all.runs.size(); ++i) {
    int changed = 0;
    for (int s = 0; s < step_count; ++s) {
      const Step step = static_cast<Step>(s);
      if (all.runs[i].method.method.precision[step] == plan.a.method.precision[step]) continue;
      ++changed;
      EXPECT_EQ(all.runs[i].method.method.precision[step], exact);
      EXPECT_EQ(all.runs[i].name, "a, " + std::string(name(step)) + " exact");
    }
    EXPECT_EQ(changed, 1) << all.runs[i].name;
    EXPECT_EQ(all.pairs[i - 1].role, Role::suspect);
    EXPECT_EQ(all.pairs[i - 1].y, 1) << "compared with b";
  }
}

TEST(TrainPlan, BisectsBackwardStepsLayersAndHeads) {
  const auto suspects = [](BisectBy by) {
    return runs_of(with([&](TrainPlan& p) {
             p.kind = TrainKind::bisect;
             p.bisect = by;
           })).runs.size() -
           2;
  };
  EXPECT_EQ(suspects(BisectBy::gradient), 9u) << "grad_eager rounds nine steps";
  EXPECT_EQ(suspects(BisectBy::layer), 2u);
  EXPECT_EQ(suspects(BisectBy::head), 8u);
}

TEST(TrainPlan, ExactHeadsAreThoseThatAreNamed) {
  TrainMethod m;
  m.exact = {{0, 2}, {1, -1}};
  EXPECT_TRUE(m.is_exact(0, 2));
  EXPECT_FALSE(m.is_exact(0, 1));
  EXPECT_TRUE(m.is_exact(1, 0));
  EXPECT_TRUE(m.is_exact(1, 3));
  EXPECT_FALSE(m.is_exact(2, 2));
}

TEST(TrainPlan, AnExactHeadRoundsNothingButItsInput) {
  TrainMethod m = default_train_plan().a;
  m.method.algorithm = Algorithm::split_kv;
  m.method.partial = to_format(bf16);
  m.method.accumulator = {Accumulator::h100, Accumulator::h100};
  const TrainMethod whole = exact_beyond_input(m);
  Precision input_alone;
  input_alone[Step::input] = m.method.precision[Step::input];
  EXPECT_EQ(whole.method.precision.steps, input_alone.steps);
  EXPECT_EQ(whole.gradient.steps, GradPrecision{}.steps);
  EXPECT_EQ(whole.method.partial, exact) << "a run's output is not rounded before the merge";
  EXPECT_EQ(whole.method.accumulator, Accumulators{});
}

TEST(TrainPlan, RefusesInASentenceThatNamesKeyValueAndWhatWasExpected) {
  const auto of = [](const std::function<void(TrainPlan&)>& change) { return refusal(with(change)); };
  EXPECT_THAT(of([](TrainPlan& p) { p.model.width = 130; }),
              AllOf(HasSubstr("model.width is 130"), HasSubstr("model.heads, which is 4")));
  EXPECT_THAT(of([](TrainPlan& p) { p.model.layers = 0; }), AllOf(HasSubstr("model.layers is 0"), HasSubstr("from 1 to 12")));
  EXPECT_THAT(of([](TrainPlan& p) { p.model.context = 4; }), HasSubstr("model.context is 4"));
  EXPECT_THAT(of([](TrainPlan& p) { p.recipe.batch = 1000; }), HasSubstr("recipe.batch is 1000"));
  EXPECT_EQ(of([](TrainPlan& p) { p.recipe.loss_scale = 1.0000001; }),
            "recipe.loss_scale is 1.0000001, expected a power of two");
  EXPECT_EQ(of([](TrainPlan& p) { p.recipe.rate = 2e-8, p.recipe.final_rate = 3e-8; }),
            "recipe.final_rate is 3e-08, expected at most recipe.rate, which is 2e-08");
  EXPECT_THAT(of([](TrainPlan& p) { p.recipe.rate = std::numeric_limits<double>::quiet_NaN(); }), HasSubstr("recipe.rate"));
  EXPECT_THAT(of([](TrainPlan& p) { p.measure_every = 0; }), HasSubstr("measure_every is 0"));
  EXPECT_THAT(of([](TrainPlan& p) { p.a.method.algorithm = Algorithm::hardware; }),
              AllOf(HasSubstr("a.method.algorithm is hardware"), HasSubstr("flash2")));
  EXPECT_THAT(of([](TrainPlan& p) { p.b.format = fp64; }),
              AllOf(HasSubstr("b.format is fp64"), HasSubstr("24 significant bits")));
  EXPECT_THAT(of([](TrainPlan& p) { p.a.gradient[GradStep::dS] = to_format(fp64); }), HasSubstr("a.gradient.dS is fp64"));
  EXPECT_EQ(of([](TrainPlan& p) { p.b.gradient[GradStep::dq_sum] = to_format(bf16); }),
            "b.gradient.dq_sum is bf16, expected exact: the backward pass of training does not round it");
  EXPECT_THAT(of([](TrainPlan& p) { p.b.weights = to_format(fp64); }), HasSubstr("b.weights is fp64"));
  EXPECT_THAT(of([](TrainPlan& p) { p.a.optimiser = to_format(fp64); }), HasSubstr("a.optimiser is fp64"));
  EXPECT_THAT(of([](TrainPlan& p) { p.a.exact = {{2, 0}}; }), AllOf(HasSubstr("a.exact is 2:0"), HasSubstr("of the model")));
  EXPECT_THAT(of([](TrainPlan& p) {
                p.kind = TrainKind::bisect;
                p.a.method.precision = {};
              }),
              AllOf(HasSubstr("bisect is step"), HasSubstr("pieces that a rounds")));
}

TEST(GradPolicies, AreFoundByNameAndByValueAndListedWhereUnknown) {
  for (const GradPolicy& p : grad_policies()) {
    EXPECT_EQ(grad_policy(p.name).precision, p.precision);
    EXPECT_EQ(grad_policy_name(p.precision), p.name);
  }
  GradPrecision own = grad_policy("grad_hw").precision;
  own[GradStep::delta] = to_format(fp16);
  EXPECT_EQ(grad_policy_name(own), "");
  EXPECT_THAT(message_of<std::invalid_argument>([] { grad_policy("grad_fa9"); }),
              AllOf(HasSubstr("'grad_fa9'"), HasSubstr("grad_base_eager")));
}

TEST(GradPolicies, FollowTheForwardPolicy) {
  const auto usual = [](std::string_view forward) {
    const Policy& p = policy(forward);
    Method m;
    m.algorithm = p.algorithm;
    m.precision = p.precision;
    return usual_grad_policy(m).name;
  };
  EXPECT_EQ(usual("hw"), "grad_hw");
  EXPECT_EQ(usual("tile"), "grad_hw");
  EXPECT_EQ(usual("eager"), "grad_eager");
  EXPECT_EQ(usual("all_tile"), "grad_all");
  EXPECT_EQ(usual("all_direct"), "grad_all");
  EXPECT_EQ(usual("base_eager"), "grad_base_eager");
  EXPECT_EQ(usual("base_all"), "grad_base_all");
  Method exact_flash;
  EXPECT_EQ(usual_grad_policy(exact_flash).name, "grad_exact");
  exact_flash.algorithm = Algorithm::two_pass;
  EXPECT_EQ(usual_grad_policy(exact_flash).name, "grad_base_exact");
}

}  // namespace
}  // namespace attoscope::train_plan_test
