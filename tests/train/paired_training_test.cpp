/// Runs side by side: comparisons, continuing, forks, bisecting, replaying, stopping.
#include "kernels/train/paired_training.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <tuple>

#include "kernels/experiment/presets.h"
#include "kernels/train/plan/plan.h"
#include "kernels/train/record.h"
#include "tests/support/matchers.h"
#include "tests/support/support.h"
#include "tests/train/failing_primitives.h"
#include "tests/train/made_up_training.h"
#include "tests/train/small_runs.h"

namespace attoscope::paired_training_test {
namespace {

using namespace testing;  // attoscope::testing

TrainDevice cpu() { return primitives_on("cpu", 1); }

/// True if the models are equal and took the same steps.
bool is_nothing(const WeightDeviation& d) { return d.step_size > 0 && same_deviation(d, {0, 0, 0, 1, 0, d.step_size}); }

/// True if both states are the same; before the first step there is no first loss: NaN.
bool same_state(const PairedTrainingState& x, const PairedTrainingState& y) {
  return x.step == y.step && x.paths == y.paths && std::ranges::equal(x.runs, y.runs, [](TrainState p, TrainState q) {
           const bool same_first = same(p.first_loss, q.first_loss);
           p.first_loss = q.first_loss = 0;
           return same_first && p == q;
         });
}

void expect_same(const PairedTraining& x, const PairedTraining& y) {
  expect_same_curves(x.record(), y.record());
  EXPECT_TRUE(same_state(x.state(), y.state()));
  for (int i = 0; i < static_cast<int>(x.record().runs.size()); ++i) EXPECT_EQ(x.weights(i), y.weights(i));
}

/// The deviation over all weights at the last measured step.
const WeightDeviation& last(const PairedTraining& training, std::size_t pair = 0) {
  return training.record().pairs.at(pair).points.back().deviations.front();
}

std::vector<int> steps_of(const auto& all) {
  std::vector<int> steps;
  for (const auto& x : all) steps.push_back(x.step);
  return steps;
}

TEST(PairedTraining, IdenticalMethodsDeviateByNothing) {
  TrainPlan plan = tiny_plan();
  plan.recipe.steps = 40;
  plan.a = plan.b;
  const PairedTraining training = trained_pair(plan);
  const PairRecord& pair = training.record().pairs.front();
  EXPECT_EQ(pair.points.size(), 15u);
  for (const PairPoint& point : pair.points) {
    EXPECT_EQ(point.loss_difference, 0);
    for (const WeightDeviation& d : point.deviations) EXPECT_TRUE(is_nothing(d)) << point.step;
    for (const auto& profile : point.profiles) EXPECT_EQ(std::ranges::count(profile, 0), std::ssize(profile));
  }
  EXPECT_EQ(training.weights(0), training.weights(1));
}

TEST(PairedTraining, DifferentMethodsDeviateAndTheRecordSaysWhen) {
  const TrainPlan plan = tiny_plan();
  const PairedTraining training = trained_pair(plan);
  const TrainRecord& record = training.record();
  EXPECT_TRUE(record.finished());
  EXPECT_GT(last(training).max_abs, 0);
  EXPECT_GT(last(training).rel_l2, 0);
  EXPECT_LT(last(training).update_cosine, 1);
  EXPECT_THAT(steps_of(record.pairs.front().points), ElementsAre(1, 3, 6, 8));
  for (const RunRecord& run : record.runs) {
    EXPECT_THAT(steps_of(run.steps), ElementsAre(1, 2, 3, 4, 5, 6, 7, 8));
    EXPECT_THAT(steps_of(run.health), ElementsAre(1, 3, 6, 8));
    EXPECT_EQ(run.health.back().heads.size(), 4u);
    EXPECT_EQ(run.health.back().heads[3].statistics.rows, 2 * 16) << "sequences times rows";
    EXPECT_TRUE(run.steps.front().heads.empty());
    EXPECT_LT(run.steps.back().loss, run.steps.front().loss);
  }
  EXPECT_EQ(record.pairs.front().points.back().loss_difference,
            record.runs[0].steps.back().loss - record.runs[1].steps.back().loss);
  EXPECT_EQ(record.runs[1].health.back().heads[3].query_norm,
            query_norm(record.parameters, plan.model, training.weights(1), 1, 1));
  EXPECT_GT(record.seconds, 0);
}

/// Relative L2, Wasserstein-1 and max |dW| of two weight vectors, summed plainly.
WeightDeviation by_hand(const std::vector<float>& x, const std::vector<float>& y) {
  std::vector<float> sorted_x = x, sorted_y = y;
  std::ranges::sort(sorted_x), std::ranges::sort(sorted_y);
  WeightDeviation d;
  double squares = 0, size = 0;
  for (std::size_t i = 0; i < x.size(); ++i) {
    const double off = x[i] - y[i];  // in fp32, as the meter follows it
    squares += off * off, size += double{y[i]} * double{y[i]};
    d.max_abs = std::max(d.max_abs, std::abs(off));
    d.wasserstein += std::abs(double{sorted_x[i]} - double{sorted_y[i]}) / static_cast<double>(x.size());
  }
  d.rel_l2 = std::sqrt(squares / size);
  return d;
}

TEST(PairedTraining, DistancesFromExactAttentionAreThoseOfTheThreeModelsWeights) {
  TrainPlan plan = tiny_plan();
  plan.with_exact = true;
  const PairedTraining training = trained_pair(plan);
  ASSERT_EQ(training.record().runs.size(), 3u);
  for (const auto& [pair, x, y] : {std::tuple{0u, 0, 1}, std::tuple{1u, 0, 2}, std::tuple{2u, 1, 2}}) {
    const WeightDeviation expected = by_hand(training.weights(x), training.weights(y)), &found = last(training, pair);
    EXPECT_GT(expected.rel_l2, 0);
    EXPECT_NEAR(found.rel_l2 / expected.rel_l2, 1, 1e-9) << pair;
    EXPECT_NEAR(found.wasserstein / expected.wasserstein, 1, 1e-9) << pair;
    EXPECT_EQ(found.max_abs, expected.max_abs) << pair;
  }
  TrainPlan of_exact = plan;
  of_exact.with_exact = false;
  of_exact.b.exact = {{0, -1}, {1, -1}};
  EXPECT_EQ(training.weights(2), trained_pair(of_exact).weights(1)) << "b with every head exact";
}

TEST(PairedTraining, AThirdModelChangesNoBitOfTheOtherTwo) {
  TrainPlan plan = tiny_plan(TrainKind::reference);
  const PairedTraining without = trained_pair(plan);
  plan.with_exact = true;
  const PairedTraining with = trained_pair(plan);
  ASSERT_EQ(with.record().runs.size(), without.record().runs.size() + 1);
  for (int run = 0; run < static_cast<int>(without.record().runs.size()); ++run)
    EXPECT_EQ(with.weights(run), without.weights(run)) << run;
}

TEST(PairedTraining, ExactAttentionThatIsAddedLaterStartsFromB) {
  TrainPlan plan = tiny_plan();
  PairedTraining first = trained_pair(plan, 4);
  plan.with_exact = true;
  PairedTraining second(plan, first.record(), first.state(), cpu());
  EXPECT_EQ(second.weights(2), first.weights(1));
  run_until(second, 8);
  EXPECT_THAT(steps_of(second.record().pairs[1].points), ElementsAre(6, 8));
  ASSERT_EQ(second.record().forks.size(), 1u);
  EXPECT_EQ(second.record().forks[0].sentence, "with_exact off -> on");
}

TEST(PairedTraining, SameBitsFromOneThreadAndTwo) {
  const TrainPlan plan = tiny_plan();
  PairedTraining two(plan, primitives_on("cpu", 2));
  run_until(two, plan.recipe.steps);
  expect_same(trained_pair(plan), two);
}

TEST(PairedTraining, WorksOnTheThreadsOfItsDevice) {
  EXPECT_EQ(primitives_on("cpu", 3).threads, 3);
  for (const int threads : {1, 3}) {
    FailingGpu gpu;
    TrainDevice device = lost(gpu);
    device.threads = threads;
    PairedTraining training(tiny_plan(), device);
    run_until(training, 8);
    training.captured(0, 0, 0, 0);
    EXPECT_EQ(gpu.threads, threads);
  }
}

/// Stops after every step and continues from the kept state.
void expect_resumes(const TrainPlan& plan) {
  PairedTraining whole(plan, cpu());
  std::vector<std::pair<TrainRecord, PairedTrainingState>> kept;
  do kept.emplace_back(whole.record(), whole.state());
  while (whole.step());
  ASSERT_EQ(kept.size(), static_cast<std::size_t>(plan.recipe.steps) + 1);
  for (const auto& [record, state] : kept) {
    PairedTraining resumed(plan, record, state, cpu());
    EXPECT_TRUE(resumed.record().forks.empty());
    run_until(resumed, plan.recipe.steps);
    expect_same(whole, resumed);
    PairedTraining back(plan, whole.record(), state, cpu());
    expect_same_curves(back.record(), record);
    EXPECT_TRUE(same_state(back.state(), state));
  }
}

TEST(PairedTraining, GoesOnBitForBitFromAnyStep) { expect_resumes(tiny_plan()); }

TEST(PairedTraining, GoesOnBitForBitWithReferences) {
  TrainPlan plan = tiny_plan(TrainKind::reference);
  plan.recipe.steps = 4;
  plan.recipe.loss_scale = 0x1p30;  // fp16 skips steps
  expect_resumes(plan);
}

TEST(PairedTraining, GoesOnBitForBitWhileReplaying) { expect_resumes(tiny_plan(TrainKind::replay)); }

TEST(PairedTraining, AForkIsNotedAndGoesItsOwnWay) {
  TrainPlan plan = tiny_plan();
  PairedTraining training = trained_pair(plan, 4);
  const TrainRecord record = training.record();
  const PairedTrainingState state = training.state();
  run_until(training, 8);
  plan.a.method.precision = policy("hw").precision;
  plan.a.method.block_k = 8;
  PairedTraining fork(plan, record, state, cpu());
  ASSERT_EQ(fork.record().forks.size(), 1u);
  EXPECT_EQ(fork.record().forks.front().step, 4);
  EXPECT_EQ(fork.record().forks.front().sentence, "a: block_k 32 -> 8, policy eager -> hw");
  run_until(fork, 8);
  EXPECT_EQ(fork.weights(1), training.weights(1)) << "b goes on as it was";
  EXPECT_NE(fork.weights(0), training.weights(0));
  EXPECT_EQ(fork.record().pairs.front().points.size(), 4u);
  EXPECT_TRUE(same_deviation(fork.record().pairs[0].points[1].deviations[0], record.pairs[0].points[1].deviations[0]));
}

TEST(PairedTraining, NewRunsOfAForkStartFromB) {
  TrainPlan plan = tiny_plan(TrainKind::replay);
  PairedTraining training = trained_pair(plan, 5);
  plan.kind = TrainKind::bisect;
  plan.a.format = fp16;
  const PairedTraining fork(plan, training.record(), training.state(), cpu());
  EXPECT_THAT(fork.record().forks.front().sentence, HasSubstr("kind replay -> bisect"));
  const std::size_t runs = fork.record().runs.size();
  ASSERT_GT(runs, 2u);
  for (std::size_t run = 0; run < runs; ++run) {
    const std::string& name = fork.record().runs[run].run.name;
    EXPECT_EQ(fork.weights(static_cast<int>(run)), training.weights(1)) << name;
    EXPECT_EQ(fork.state().runs[run].loss_scale, run == 1 ? 1 : plan.recipe.loss_scale) << name;
  }
}

TEST(PairedTraining, AForkToAFormatThatScalesTheLossBeginsWithTheRecipesScale) {
  TrainPlan plan = tiny_plan();
  PairedTraining training = trained_pair(plan, 4);
  EXPECT_EQ(training.state().runs[0].loss_scale, 1) << "bf16";
  plan.a.format = fp16;
  PairedTraining fork(plan, training.record(), training.state(), cpu());
  EXPECT_EQ(fork.state().runs[0].loss_scale, plan.recipe.loss_scale);
  EXPECT_EQ(fork.state().runs[1].loss_scale, 1);
  run_until(fork, 5);
  plan.a.format = bf16;
  const PairedTraining back(plan, fork.record(), fork.state(), cpu());
  EXPECT_EQ(back.state().runs[0].loss_scale, 1);
}

TEST(PairedTraining, AForkWithANewLossScaleBeginsWithIt) {
  TrainPlan plan = tiny_plan();
  plan.a.format = fp16;
  PairedTraining training = trained_pair(plan, 4);
  plan.recipe.rate = 1e-4;
  EXPECT_EQ(PairedTraining(plan, training.record(), training.state(), cpu()).state().runs[0].loss_scale,
            training.state().runs[0].loss_scale);
  plan.recipe.loss_scale = 64;
  const PairedTraining fork(plan, training.record(), training.state(), cpu());
  EXPECT_EQ(fork.state().runs[0].loss_scale, 64);
  EXPECT_EQ(fork.state().runs[1].loss_scale, 1) << "bf16";
}

TEST(PairedTraining, AComparisonOfANewRunStartsAnew) {
  TrainPlan plan = tiny_plan();
  PairedTraining training = trained_pair(plan, 3);
  plan.with_exact = true;
  const PairedTraining fork(plan, training.record(), training.state(), cpu());
  EXPECT_EQ(fork.record().pairs[1].pair.name, "a - exact");
  EXPECT_TRUE(fork.record().pairs[1].points.empty());
  EXPECT_EQ(fork.record().pairs[0].points.size(), 2u);
  EXPECT_EQ(fork.record().pairs[2].pair.name, "b - exact");
  EXPECT_EQ(fork.state().paths[2], std::vector<double>(fork.record().parameters.tensors.size())) << "it starts from b";
  EXPECT_EQ(fork.state().paths[0], training.state().paths[0]);
}

TEST(PairedTraining, AForkHasNoInitialisationThatWasNotTrained) {
  TrainPlan plan = tiny_plan();
  PairedTraining training = trained_pair(plan, 3);
  plan.kind = TrainKind::reference;
  const auto refusal = [&](const TrainPlan& changed, PairedTraining& of) {
    return message_of<std::invalid_argument>([&] { PairedTraining(changed, of.record(), of.state(), cpu()); });
  };
  EXPECT_EQ(refusal(plan, training), "another initialisation, b, seed 2, must be trained from step 0");
  PairedTraining references = trained_pair(plan, 3);
  plan.a.method.block_k = 8;
  EXPECT_EQ(refusal(plan, references), "");
  plan.recipe.seed = 7;
  EXPECT_EQ(refusal(plan, references), "another initialisation, b, seed 8, must be trained from step 0");
}

TEST(PairedTraining, AForkHasANewSeedForStochasticRoundingOnly) {
  TrainPlan plan = tiny_plan();
  plan.a.weights = {Rounding::Kind::format, bf16, false};
  PairedTraining training = trained_pair(plan, 3);
  plan.recipe.seed = 7;
  const auto refusal = [&] {
    return message_of<std::invalid_argument>([&] { PairedTraining(plan, training.record(), training.state(), cpu()); });
  };
  EXPECT_THAT(refusal(), HasSubstr("recipe.seed is 7, expected 1"));
  plan.a.weights.stochastic = true;
  EXPECT_EQ(refusal(), "");
}

TEST(PairedTraining, AForkKeepsItsQuestion) {
  const TrainPlan plan = tiny_plan();
  PairedTraining training = trained_pair(plan, 3);
  const TrainRecord record = training.record();
  const PairedTrainingState state = training.state();
  const auto refusal = [&](const std::function<void(TrainPlan&, PairedTrainingState&)>& change) {
    TrainPlan changed = plan;
    PairedTrainingState other = state;
    change(changed, other);
    return message_of<std::invalid_argument>([&] { PairedTraining(changed, record, other, cpu()); });
  };
  EXPECT_THAT(refusal([](auto& p, auto&) { p.model.context = 12; }), HasSubstr("model: context 16 -> 12"));
  EXPECT_THAT(refusal([](auto& p, auto&) { p.recipe.batch = 3; }), HasSubstr("recipe: batch 2 -> 3"));
  EXPECT_THAT(refusal([](auto& p, auto&) { p.recipe.data_seed = 7; }), HasSubstr("data_seed 1 -> 7"));
  EXPECT_THAT(refusal([](auto& p, auto&) { p.recipe.held_out = 0; }), HasSubstr("held_out 0.1 -> 0"));
  EXPECT_THAT(refusal([](auto& p, auto&) { p.text.digest = 255; }), HasSubstr("text: digest 1 -> ff"));
  EXPECT_THAT(refusal([](auto& p, auto&) { p.recipe.steps = 2; }), HasSubstr("recipe.steps is 2, expected at least 3"));
  EXPECT_THAT(refusal([](auto&, auto& s) { s.step = 4; }), HasSubstr("step 4, expected one from 0 to the record's 3"));
  EXPECT_THAT(refusal([](auto&, auto& s) { s.step = 2; }), HasSubstr("run a is of step 3, expected 2"));
  EXPECT_THAT(refusal([](auto&, auto& s) { s.runs.pop_back(); }), HasSubstr("1 runs"));
  EXPECT_THAT(refusal([](auto&, auto& s) { s.paths.clear(); }), HasSubstr("0 comparisons"));
  EXPECT_THAT(message_of<std::invalid_argument>([&] {
                TrainRecord odd = record;
                odd.pairs[0].pair.y = 2;
                PairedTraining(plan, odd, state, cpu());
              }),
              HasSubstr("comparison a - b is of runs 0 and 2"));
  EXPECT_THAT(refusal([](auto&, auto& s) { s.paths[0].pop_back(); }), HasSubstr("paths"));
  EXPECT_THAT(refusal([](auto&, auto& s) { s.runs[1].m.pop_back(); }), HasSubstr("run b"));
}

TEST(PairedTraining, ReferencesAreFiveComparisonsOfFiveRuns) {
  TrainPlan plan = tiny_plan(TrainKind::reference);
  const PairedTraining training = trained_pair(plan);
  const TrainRecord& record = training.record();
  ASSERT_EQ(record.pairs.size(), 5u);
  EXPECT_EQ(record.runs.size(), 5u) << "b in bf16 is b";
  EXPECT_EQ(record.pairs[3].pair.name, "bf16 - fp32");
  EXPECT_EQ(record.pairs[3].pair.x, 1);
  for (const PairRecord& pair : record.pairs) EXPECT_GT(pair.points.back().deviations[0].max_abs, 0) << pair.pair.name;
  EXPECT_GT(last(training, 1).max_abs, 10 * last(training, 0).max_abs) << "another initialisation is far away";
  EXPECT_GT(last(training, 3).rel_l2, last(training, 2).rel_l2) << "bf16 has fewer bits than fp16";
}

/// A plan in fp32 in which a is b but for `change`.
TrainPlan but_for(BisectBy by, const std::function<void(TrainMethod& a)>& change) {
  TrainPlan plan = tiny_plan(TrainKind::bisect);
  plan.bisect = by;
  plan.b.format = fp32;
  plan.b.method.precision = {};
  plan.b.method.algorithm = Algorithm::flash2;
  plan.b.gradient = grad_policy("grad_exact").precision;
  plan.a = plan.b;
  change(plan.a);
  return plan;
}

TEST(PairedTraining, BisectTakesAwayTheOneRoundingThatMatters) {
  for (const BisectBy by : {BisectBy::step, BisectBy::gradient}) {
    const PairedTraining training = trained_pair(but_for(by, [&](TrainMethod& a) {
      if (by == BisectBy::step) a.method.precision[Step::S] = to_format(bf16);
      if (by == BisectBy::gradient) a.gradient[GradStep::dS] = to_format(bf16);
    }));
    ASSERT_EQ(training.record().pairs.size(), 2u);
    EXPECT_EQ(training.record().pairs[1].pair.role, Role::suspect);
    EXPECT_GT(last(training, 0).max_abs, 0);
    EXPECT_EQ(last(training, 1).max_abs, 0) << training.record().pairs[1].pair.name;
  }
}

TEST(PairedTraining, BisectByLayerAndHeadFindsThePlace) {
  for (const BisectBy by : {BisectBy::layer, BisectBy::head}) {
    const PairedTraining training = trained_pair(but_for(by, [](TrainMethod& a) {
      a.method.precision[Step::P] = to_format(bf16);
      a.exact = {{0, -1}, {1, 0}};  // the rest is head 1 of layer 1
    }));
    ASSERT_EQ(training.record().pairs.size(), 2u);
    EXPECT_EQ(training.record().pairs[1].pair.name, by == BisectBy::layer ? "layer 1 exact" : "layer 1 head 1 exact");
    EXPECT_GT(last(training, 0).max_abs, 0);
    EXPECT_TRUE(is_nothing(last(training, 1)));
  }
}

TEST(PairedTraining, BisectLeavesWhatItDoesNotTakeAway) {
  const PairedTraining training =
      trained_pair(but_for(BisectBy::head, [](TrainMethod& a) { a.method.precision[Step::P] = to_format(bf16); }));
  ASSERT_EQ(training.record().pairs.size(), 5u);
  for (std::size_t pair = 1; pair < 5; ++pair) {
    EXPECT_GT(last(training, pair).max_abs, 0);
    EXPECT_NE(training.weights(static_cast<int>(pair) + 1), training.weights(0)) << "one head is exact";
  }
}

TEST(PairedTraining, ReplayMeasuresTheDirectEffectOfOneStep) {
  const TrainPlan plan = tiny_plan(TrainKind::replay);
  const PairedTraining training = trained_pair(plan);
  const TrainRecord& record = training.record();
  EXPECT_THAT(steps_of(record.runs[0].steps), ElementsAre(1, 3, 6, 8));
  EXPECT_THAT(steps_of(record.runs[0].health), ElementsAre(1, 3, 6, 8));
  EXPECT_EQ(record.runs[1].steps.size(), 8u);
  Trainer a(plan, record.runs[0].run, cpu().make()), b(plan, record.runs[1].run, cpu().make());
  for (int step = 1; step <= 6; ++step) {
    const std::vector<float> before = b.weights();
    a.restore(b.state());
    const double loss = a.step(false).loss - b.step(false).loss;
    if (step != 6) continue;
    DeviationMeter meter(b.parameters());
    meter.follow(a.weights(), b.weights());
    const auto direct = meter.deviations(a.weights(), b.weights(), before, before);
    const PairPoint& point = record.pairs[0].points[2];
    EXPECT_EQ(point.loss_difference, loss);
    EXPECT_TRUE(std::ranges::equal(point.deviations, direct, same_deviation));
    EXPECT_GT(direct[0].max_abs, 0);
  }
}

TEST(PairedTraining, ReplayOfIdenticalMethodsIsNothing) {
  TrainPlan plan = tiny_plan(TrainKind::replay);
  plan.a = plan.b;
  const PairedTraining training = trained_pair(plan);
  for (const PairPoint& point : training.record().pairs[0].points)
    for (const WeightDeviation& d : point.deviations) EXPECT_TRUE(is_nothing(d));
}

/// A training after three steps in which NaN gets into the weights of `run`.
PairedTraining poisoned(const TrainPlan& plan, std::size_t run) {
  PairedTraining training = trained_pair(plan, 3);
  PairedTrainingState state = training.state();
  state.runs[run].weights[training.record().parameters.tensors[2].first] = std::numeric_limits<float>::quiet_NaN();
  return {plan, training.record(), state, cpu()};
}

TEST(PairedTraining, ADivergingRunStopsThePairAndKeepsWhatThereIs) {
  for (const std::size_t run : {0u, 1u}) {
    PairedTraining training = poisoned(tiny_plan(), run);
    const PairedTrainingState before = training.state();
    EXPECT_FALSE(training.step());
    EXPECT_FALSE(training.step());
    const TrainRecord& record = training.record();
    EXPECT_THAT(record.runs[run].stopped,
                AllOf(HasSubstr(run == 0 ? "Run a" : "Run b"), HasSubstr("step 4"), HasSubstr("layer 0")));
    EXPECT_EQ(record.runs[1 - run].stopped, "");
    EXPECT_EQ(record.step, 3);
    EXPECT_THAT(steps_of(record.pairs[0].points), ElementsAre(1, 3));
    EXPECT_EQ(training.state().runs[1 - run], before.runs[1 - run]) << "no run took the step";
    PairedTraining again(tiny_plan(), record, training.state(), cpu());
    EXPECT_EQ(again.record().runs[run].stopped, "") << "it may continue under another plan";
    EXPECT_FALSE(again.step());
    EXPECT_EQ(again.record().runs[run].stopped, record.runs[run].stopped);
  }
}

TEST(PairedTraining, TooHighARateEndsInASentence) {
  TrainPlan plan = tiny_plan();
  plan.recipe.steps = 100;
  plan.recipe.rate = plan.recipe.final_rate = 10;
  plan.recipe.clip = 0;
  const PairedTraining training = trained_pair(plan);
  const TrainRecord& record = training.record();
  EXPECT_LT(record.step, 100);
  const std::string why = record.runs[0].stopped + record.runs[1].stopped;
  EXPECT_THAT(why, AllOf(HasSubstr("diverged at step " + std::to_string(record.step + 1)), HasSubstr("three times the first")));
  EXPECT_EQ(record.runs[0].steps.size(), static_cast<std::size_t>(record.step));
}

TEST(PairedTraining, ADivergingSuspectStopsAlone) {
  const TrainPlan plan = tiny_plan(TrainKind::reference);
  PairedTraining training = poisoned(plan, 2);
  run_until(training, 6);
  EXPECT_NE(training.record().runs[2].stopped, "");
  EXPECT_EQ(training.record().step, 6);
  EXPECT_THAT(steps_of(training.record().pairs[1].points), ElementsAre(1, 3));
  EXPECT_THAT(steps_of(training.record().pairs[0].points), ElementsAre(1, 3, 6));
  const PairedTraining resumed(plan, training.record(), training.state(), cpu());
  EXPECT_EQ(resumed.record().runs[2].stopped, training.record().runs[2].stopped);
}

TEST(PairedTraining, SuspectsLiveOnWithoutABisectedA) {
  TrainPlan plan = tiny_plan(TrainKind::bisect);
  plan.bisect = BisectBy::layer;
  PairedTraining training = poisoned(plan, 0);
  run_until(training, 6);
  const TrainRecord& record = training.record();
  EXPECT_EQ(ended(record), "") << "the suspects show whether the failure is gone";
  EXPECT_EQ(record.runs[0].steps.size() + 3, record.runs[2].steps.size());
  EXPECT_THAT(steps_of(record.pairs[0].points), ElementsAre(1, 3));
  EXPECT_THAT(steps_of(record.pairs[1].points), ElementsAre(1, 3, 6));
  EXPECT_FALSE(poisoned(plan, 1).step()) << "no model is left to compare with b";
}

TEST(PairedTraining, ACancelledStepBeginsAnew) {
  for (const TrainKind kind : {TrainKind::reference, TrainKind::replay}) {
    TrainPlan plan = tiny_plan(kind);
    plan.recipe.steps = 5;
    PairedTraining training(plan, cpu());
    for (int polls = 0; training.record().step < plan.recipe.steps; polls = (polls + 1) % 6) {
      const int step = training.record().step;
      const PairedTrainingState before = training.state();
      int left = polls;
      try {
        training.step([&] { return left-- == 0; });
      } catch (const Stopped&) {
        EXPECT_EQ(training.record().step, step);
        EXPECT_TRUE(same_state(training.state(), before));
      }
    }
    expect_same(trained_pair(plan), training);
  }
}

TEST(PairedTraining, InputsOfAHeadAreLookedAtWithoutATrace) {
  for (const TrainKind kind : {TrainKind::methods, TrainKind::replay}) {
    const TrainPlan plan = tiny_plan(kind);
    PairedTraining training = trained_pair(plan, 5);
    const PairedTrainingState before = training.state();
    const CapturedHead a = training.captured(0, 0, 1, 1), b = training.captured(1, 0, 1, 1);
    EXPECT_TRUE(same_state(training.state(), before));
    EXPECT_EQ(a.n, 16);
    EXPECT_EQ(a.d, 8);
    EXPECT_EQ(a.q.size(), 16u * 8);
    EXPECT_EQ(a.q == b.q, kind == TrainKind::replay) << "a starts from b's state there";
    run_until(training, 8);
    expect_same(trained_pair(plan), training);
  }
}

TEST(PairedTraining, RefusesWhatItCannotTrain) {
  const auto refusal = [](const std::function<void(TrainPlan&)>& change) {
    TrainPlan plan = tiny_plan();
    change(plan);
    return message_of<std::invalid_argument>([&] { PairedTraining(plan, cpu()); });
  };
  EXPECT_THAT(refusal([](auto& p) { p.text.corpus = nullptr; }), HasSubstr("text.file is 'words', expected a text"));
  EXPECT_THAT(refusal([](auto& p) { p.text.corpus = std::make_shared<Corpus>(Corpus{{U'a', U'b'}, {0, 1, 0}}); }),
              HasSubstr("model.context is 16, expected less than the text's 3 characters"));
  EXPECT_THAT(refusal([](auto& p) { p.recipe.held_out = 0.004; }),
              HasSubstr("recipe.held_out is 0.004, expected a share of the text's 40"));
  EXPECT_THAT(refusal([](auto& p) { p.model.width = 17; }), HasSubstr("model.width"));
}

TEST(PairedTraining, TheLossOnHeldOutTextIsMeasuredAfterTheLastStep) {
  for (const TrainKind kind : {TrainKind::methods, TrainKind::replay}) {
    TrainPlan plan = tiny_plan(kind);
    PairedTraining training = trained_pair(plan, 7);
    for (const RunRecord& run : training.record().runs) EXPECT_TRUE(std::isnan(run.heldout_loss)) << run.run.name;
    training.step();
    const TrainRecord record = training.record();
    for (const RunRecord& run : record.runs) EXPECT_NEAR(run.heldout_loss, std::log(19.), 1) << run.run.name;
    EXPECT_TRUE(
        same(PairedTraining(plan, record, training.state(), cpu()).record().runs[1].heldout_loss, record.runs[1].heldout_loss));
    plan.recipe.steps = 9;
    const PairedTraining longer(plan, record, training.state(), cpu());
    EXPECT_TRUE(std::isnan(longer.record().runs[1].heldout_loss));
    plan.recipe.held_out = 0;
    EXPECT_TRUE(std::isnan(trained_pair(plan).record().runs[1].heldout_loss));
  }
}

TEST(PairedTraining, DevicesAreNamed) {
  EXPECT_THAT(primitives_on("auto", 1).make()->name(), AnyOf(HasSubstr("cpu"), HasSubstr("cuda")));
  EXPECT_THAT(primitives_on("cpu", 1).make()->name(), HasSubstr("cpu"));
  EXPECT_THAT(message_of<std::invalid_argument>([] { primitives_on("abacus", 1); }), HasSubstr("device is abacus"));
}

TEST(PairedTraining, ChangesAreReadable) {
  const TrainPlan from = default_train_plan();
  const auto change = [&](const std::function<void(TrainPlan&)>& edit) {
    TrainPlan to = from;
    edit(to);
    return plan_changes(from, to);
  };
  EXPECT_EQ(change([](auto&) {}), "");
  EXPECT_EQ(change([](auto& p) { p.a.method.precision = policy("hw").precision; }), "a: policy eager -> hw");
  EXPECT_EQ(change([](auto& p) { p.a.method.precision[Step::O] = to_format(fp32); }), "a: O main -> fp32");
  EXPECT_EQ(change([](auto& p) { p.b.gradient = grad_policy("grad_hw").precision; }),
            "b: gradient policy grad_base_eager -> grad_hw");
  EXPECT_EQ(change([](auto& p) { p.b.gradient[GradStep::dS] = exact; }), "b: gradient dS main -> exact");
  EXPECT_EQ(change([](auto& p) { p.a.exact = {{1, -1}}; }), "a: exact none -> layer 1 head -1");
  EXPECT_EQ(change([](auto& p) {
              p.a.format = fp16;
              p.recipe.rate = 0.002;
              p.kind = TrainKind::replay;
            }),
            "recipe: rate 0.001 -> 0.002; kind methods -> replay; a: format bf16 -> fp16");
}

}  // namespace
}  // namespace attoscope::paired_training_test
