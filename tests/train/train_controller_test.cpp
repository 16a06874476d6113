// Messages between the Train workspace and the training thread, kept states, captured heads.
#include "app/train/train_controller.h"

#include <algorithm>
#include <atomic>
#include <cmath>
#include <filesystem>
#include <semaphore>
#include <thread>

#include "app/tensors/tensors.h"
#include "app/train/checkpoint.h"
#include "app/train/train_seeds.h"
#include "app/train/trained.h"
#include "kernels/experiment/presets.h"
#include "tests/support/eventually.h"
#include "tests/support/full_disk.h"
#include "tests/support/matchers.h"
#include "tests/support/temporary_directory.h"
#include "tests/support/train_support.h"
#include "tests/train/made_up_training.h"
#include "tests/train/small_runs.h"

namespace attoscope {
namespace {

using namespace std::chrono_literals;
using namespace testing;  // attoscope::testing
using Act = TrainRequest::Act;
using State = TrainProgress::State;

MakeDevice on_cpu() {
  return [](const std::string&, int) { return primitives_on("cpu", 2); };
}

/// A session on the Train workspace whose plan trains in milliseconds, and a controller.
class TrainControl : public ::testing::Test {
 protected:
  TrainControl() {
    session.train = tiny_training(scratch_.write("text.txt", made_text(3000)));
    session.view.workspace = Workspace::train;
    open();
  }
  /// Opens a new window.
  void open(std::chrono::milliseconds every = 5min) {
    controller.reset();
    controller.emplace([this] { ++published; }, TrainKeeping{scratch_ / "data", every}, on_cpu());
  }
  /// Updates until `done(view)`; false after a timeout.
  template <class Done>
  bool until(Done done, bool explore_computes = false) {
    return eventually([&] {
      controller->update(session, explore_computes);
      return done(controller->view());
    });
  }
  bool until_quiet() {
    const bool quiet = until([&](const TrainView&) { return !controller->busy(); });
    controller->update(session, false);  // messages from before it was quiet
    return quiet;
  }
  void request(Act act, int step = -1) { controller->handle({.act = act, .step = step}, session); }
  /// Sends the request, waits until all work is done, returns the view.
  TrainView after(const TrainRequest& asked) {
    controller->handle(asked, session);
    EXPECT_TRUE(until_quiet());
    return controller->view();
  }
  TrainView after(Act act, int step = -1) { return after({.act = act, .step = step}); }
  /// The file that Explore gets for the request.
  CapturedFile captured(const TrainRequest& asked) {
    std::optional<CapturedFile> file;
    controller->handle(asked, session);
    EXPECT_TRUE(until([&](const TrainView&) { return (file = controller->take_captured()).has_value(); }));
    return file.value();
  }
  TrainPlan plan() const {
    TrainPlan with_text = session.train;
    with_text.text = text_of({.file = session.train.text.file, .digest = 0, .corpus = nullptr});
    return with_text;
  }
  /// The same training without the controller, after `steps` steps.
  PairedTraining by_hand(int steps) const { return trained_pair(plan(), steps); }

  const TemporaryDirectory scratch_;
  Session session;
  std::atomic<int> published{0};
  std::optional<TrainController> controller;
};

TEST_F(TrainControl, TrainsNothingUntilItIsToldAndThenWhatAPairedTrainingDoes) {
  ASSERT_TRUE(until([](const TrainView& v) { return v.progress.vocabulary > 0; }));
  EXPECT_EQ(controller->view().progress.state, State::idle);
  EXPECT_EQ(controller->view().record, nullptr);
  EXPECT_THAT(controller->view().progress.text, HasSubstr("3,00"));
  EXPECT_EQ(controller->view().progress.steps, 12);
  const TrainView v = after(Act::run);
  EXPECT_EQ(v.progress.state, State::done);
  EXPECT_EQ(v.progress.step, 12);
  EXPECT_FALSE(v.progress.stale);
  EXPECT_THAT(v.progress.kept, ElementsAre(0, 4, 8, 12));
  ASSERT_TRUE(v.record);
  expect_same_curves(*v.record, by_hand(12).record());
  EXPECT_GT(v.record->pairs[0].points.back().deviations[0].max_abs, 0) << "methods that differ leave other weights";
  EXPECT_GT(published, 0);
}

TEST_F(TrainControl, StepsPausesGoesOnAndBeginsAnew) {
  TrainView v = after(Act::one_step);
  EXPECT_EQ(v.progress.state, State::paused);
  EXPECT_EQ(v.progress.step, 1);
  EXPECT_THAT(v.progress.kept, ElementsAre(0, 1));
  v = after(Act::one_step);
  EXPECT_THAT(v.progress.kept, ElementsAre(0, 2)) << "the state of a pause is not kept when the run goes on";
  v = after(Act::run);
  expect_same_curves(*v.record, by_hand(12).record());
  v = after(Act::run);
  EXPECT_EQ(v.progress.step, 12) << "a finished training stays finished";
  session.train.recipe.steps = 5;
  controller->update(session, false);
  EXPECT_TRUE(controller->view().progress.stale);
  EXPECT_THAT(controller->view().progress.forkable, IsEmpty());
  v = after(Act::restart);
  EXPECT_EQ(v.progress.step, 5);
  EXPECT_FALSE(v.progress.stale);
  expect_same_curves(*v.record, by_hand(5).record());
}

TEST_F(TrainControl, PausesWhileItRuns) {
  session.train.recipe.steps = 100000;
  request(Act::run);
  ASSERT_TRUE(until([](const TrainView& v) {
    return v.progress.step > 20 && v.progress.steps_per_second > 0 && v.progress.seconds_left > 0;
  }));
  EXPECT_EQ(controller->view().progress.state, State::running);
  const TrainView v = after(Act::pause);
  EXPECT_EQ(v.progress.state, State::paused);
  EXPECT_EQ(v.progress.kept.back(), v.progress.step);
  for (int i = 0; i < 100; ++i) controller->update(session, false);
  EXPECT_FALSE(controller->busy()) << "no update starts it again";
  EXPECT_EQ(controller->view().progress.step, v.progress.step);
  EXPECT_EQ(v.record->step, v.progress.step) << "at rest the record is the newest";
}

TEST_F(TrainControl, TrainsFurtherSeedsAfterTheFirst) {
  session.train_look.seeds = 3;
  TrainView v = after(Act::run);
  EXPECT_EQ(v.progress.state, State::done);
  expect_same_curves(*v.record, by_hand(12).record());
  ASSERT_EQ(v.seeds.size(), 2u);
  for (int i = 0; i < 2; ++i) {
    const TrainRecord alone = trained(at_seed(plan(), i + 1)).record;
    EXPECT_EQ(v.seeds[static_cast<std::size_t>(i)]->plan.recipe.seed, session.train.recipe.seed + static_cast<unsigned>(i) + 1);
    expect_same_curves(*v.seeds[static_cast<std::size_t>(i)], alone);
    EXPECT_EQ(v.seeds[static_cast<std::size_t>(i)]->runs[0].heldout_loss, alone.runs[0].heldout_loss);
  }
  session.train_look.seeds = 4;
  controller->update(session, false);
  EXPECT_EQ(controller->view().progress.state, State::paused) << "one more seed is requested";
  const auto second = v.seeds[1];
  v = after(Act::one_step);
  EXPECT_EQ(v.progress.step, 1);
  EXPECT_EQ(v.progress.seed, 4);
  v = after(Act::run);
  ASSERT_EQ(v.seeds.size(), 3u);
  EXPECT_EQ(v.seeds[1], second) << "a finished seed is not trained again";
  session.train.recipe.steps = 5;
  session.train_look.seeds = 2;
  v = after(Act::restart);
  ASSERT_EQ(v.seeds.size(), 1u);
  EXPECT_EQ(v.seeds[0]->step, 5) << "of the new plan";
}

TEST_F(TrainControl, PausesWithinAFurtherSeed) {
  session.train.recipe.steps = 300;
  session.train_look.seeds = 2;
  request(Act::run);
  ASSERT_TRUE(until([](const TrainView& v) { return v.progress.seed == 2 && v.progress.step > 3; }));
  TrainView v = after(Act::pause);
  EXPECT_EQ(v.progress.state, State::paused);
  EXPECT_THAT(v.seeds, IsEmpty());
  EXPECT_EQ(v.record->step, 300) << "the first seed stays shown";
  v = after(Act::run);
  ASSERT_EQ(v.seeds.size(), 1u);
  expect_same_curves(*v.seeds[0], trained(at_seed(plan(), 1)).record);
}

TEST_F(TrainControl, AForkHasNoFurtherSeeds) {
  session.train_look.seeds = 2;
  after(Act::run);
  session.train.a.method.block_k = 4;
  const TrainView v = after(Act::fork, 8);
  EXPECT_EQ(v.progress.state, State::done);
  EXPECT_THAT(v.seeds, IsEmpty());
}

TEST_F(TrainControl, GoesBackAndForks) {
  after(Act::run);
  session.train.a.method.precision = session.train.b.method.precision = policy("hw").precision;
  session.train.a.method.block_k = 4;
  TrainView v = after(Act::fork, 8);
  EXPECT_EQ(v.progress.state, State::done);
  EXPECT_THAT(v.progress.kept, ElementsAre(0, 4, 8, 12));
  ASSERT_EQ(v.record->forks.size(), 1u);
  EXPECT_EQ(v.record->forks[0].step, 8);
  EXPECT_THAT(v.record->forks[0].sentence, HasSubstr("block_k"));
  EXPECT_FALSE(v.progress.stale);
  const TrainRecord forked = *v.record;
  v = after(Act::go_back, 8);
  EXPECT_EQ(v.progress.step, 8);
  EXPECT_EQ(v.record->runs[0].steps.size(), 8u);
  v = after(Act::run);
  expect_same_curves(*v.record, forked);
  v = after(Act::go_back, 4);
  EXPECT_THAT(v.record->forks, IsEmpty());
  EXPECT_TRUE(v.progress.stale) << "steps before the fork used the earlier plan";
  v = after(Act::go_back, 7);
  EXPECT_THAT(v.progress.remark, HasSubstr("Step 7 is not kept."));
  session.train.kind = TrainKind::reference;
  controller->update(session, false);
  EXPECT_EQ(controller->view().progress.forkable,
            "Training can only restart: another initialisation, b, seed 2, must be trained from step 0.");
  session.train.model.width = 8;
  controller->update(session, false);
  EXPECT_THAT(controller->view().progress.forkable, HasSubstr("width"));
  EXPECT_THAT(after(Act::fork, 4).progress.remark, HasSubstr("width"));
}

TEST_F(TrainControl, GoesBackToStepsBeforeAForkThatTrainsOtherRuns) {
  session.train.with_exact = true;
  after(Act::run);
  const TrainRecord whole = by_hand(12).record();
  ASSERT_EQ(whole.runs.size(), 3u);
  session.train.with_exact = false;
  EXPECT_EQ(after(Act::fork, 8).record->runs.size(), 2u);
  TrainView v = after(Act::fork, 4);
  EXPECT_THAT(v.progress.remark, IsEmpty());
  EXPECT_EQ(v.record->runs.size(), 2u);
  ASSERT_EQ(v.record->forks.size(), 1u);
  EXPECT_EQ(v.record->forks[0].step, 4);
  session.train.with_exact = true;
  v = after(Act::go_back, 0);
  EXPECT_THAT(v.progress.remark, IsEmpty());
  EXPECT_EQ(v.progress.step, 0);
  expect_same_curves(*after(Act::run).record, whole);
}

TEST_F(TrainControl, GoesBackToTheCurvesOfASuspectThatAForkLeftOut) {
  session.train.kind = TrainKind::bisect;
  after(Act::run);
  const TrainRecord whole = by_hand(12).record();
  session.train.bisect = BisectBy::layer;
  EXPECT_EQ(after(Act::fork, 8).record->forks.size(), 1u);
  session.train.bisect = BisectBy::step;
  EXPECT_EQ(after(Act::go_back, 4).record->runs.back().steps.size(), 4u);
  expect_same_curves(*after(Act::run).record, whole);
}

TEST_F(TrainControl, OpensAHeadAtAnyStepInExplore) {
  after(Act::run);
  for (const int step : {0, 3, 8, 12}) {
    const CapturedFile file = captured({.act = Act::explore, .step = step, .run = 1, .layer = 1, .head = 1, .sequence = 1});
    Input input = parse_input(file.file);
    load_tensors(input);
    PairedTraining training = by_hand(step);
    const CapturedHead expected = training.captured(1, 1, 1, 1);
    ASSERT_EQ(input.tensors->n, 16);
    ASSERT_EQ(input.tensors->d, 8);
    for (std::size_t i = 0; i < expected.q.size(); ++i) {
      EXPECT_EQ(input.tensors->q[i], static_cast<double>(expected.q[i])) << "step " << step << " at " << i;
      EXPECT_EQ(input.tensors->k[i], static_cast<double>(expected.k[i]));
      EXPECT_EQ(input.tensors->v[i], static_cast<double>(expected.v[i]));
    }
    EXPECT_THAT(file.title, HasSubstr("b, layer 1, head 1, sequence 1, after " + std::to_string(step)));
    EXPECT_EQ(file.experiment.problem.mask.kind, Mask::Kind::causal);
    EXPECT_EQ(file.experiment.a, session.train.a.method);
    EXPECT_EQ(file.experiment.b, session.train.b.method);
    EXPECT_EQ(file.experiment.format, bf16);
  }
  for (const TrainRequest& wrong :
       {TrainRequest{.act = Act::explore, .step = 13}, TrainRequest{.act = Act::explore, .run = 2},
        TrainRequest{.act = Act::explore, .layer = 2}, TrainRequest{.act = Act::explore, .head = -1},
        TrainRequest{.act = Act::explore, .sequence = 2}}) {
    after(wrong);
    EXPECT_THAT(controller->view().progress.remark, ::testing::EndsWith("."));
    EXPECT_FALSE(controller->take_captured());
  }
}

TEST_F(TrainControl, HeadsOfAReplayedMethodSeeTheOthersWeights) {
  session.train.kind = TrainKind::replay;
  after(Act::run);
  Input input = parse_input(captured({.act = Act::explore, .step = 7}).file);
  load_tensors(input);
  PairedTraining training = by_hand(7);
  EXPECT_EQ(input.tensors->q[5], static_cast<double>(training.captured(0, 0, 0, 0).q[5]));
}

TEST_F(TrainControl, AnExactHeadRoundsOnlyItsInputInExplore) {
  TrainPlan p = plan();
  p.a.exact = {{1, 0}};
  p.a.method.accumulator = {Accumulator::h100, Accumulator::h100};
  p.a.method.precision.accumulate_in_O = true;
  const RunPlan run{"a", p.a, 1};
  const Experiment exact_there = captured_experiment(p, run, {.run = "a", .layer = 1, .head = 0});
  const Experiment as_elsewhere = captured_experiment(p, run, {.run = "a", .layer = 0, .head = 0});
  EXPECT_EQ(as_elsewhere.a, p.a.method);
  EXPECT_NE(exact_there.a, p.a.method);
  EXPECT_EQ(exact_there.a.precision[Step::input], p.a.method.precision[Step::input]);
  EXPECT_EQ(exact_there.a.precision[Step::S], exact);
  EXPECT_EQ(exact_there.a.accumulator, Accumulators{});
  EXPECT_TRUE(exact_there.a.precision.accumulate_in_O) << "the head adds as the others do";
  EXPECT_EQ(exact_there.b, p.b.method);
}

TEST_F(TrainControl, ShowsTheGapOfOneTensor) {
  session.train_look.picture = WeightPicture::matrix;
  session.train_look.tensor = 3;
  after(Act::run);
  ASSERT_TRUE(until([](const TrainView& v) { return v.gap != nullptr; }));
  const PairedTraining training = by_hand(12);
  const auto expect_gap = [&](const WeightGap& gap, int tensor) {
    const ParameterTensor& t = training.record().parameters.tensors[static_cast<std::size_t>(tensor)];
    EXPECT_EQ(gap.tensor, tensor);
    EXPECT_EQ(gap.step, 12);
    EXPECT_EQ(gap.rows, t.rows);
    EXPECT_EQ(gap.cols, t.cols);
    ASSERT_EQ(gap.values.size(), t.size());
    for (std::size_t i = 0; i < t.size(); ++i)
      ASSERT_EQ(gap.values[i], std::fabs(training.weights(0)[t.first + i] - training.weights(1)[t.first + i])) << i;
    EXPECT_GT(*std::ranges::max_element(gap.values), 0);
  };
  expect_gap(*controller->view().gap, 3);
  session.train_look.tensor = 0;
  ASSERT_TRUE(until([](const TrainView& v) { return v.gap && v.gap->tensor == 0; })) << "another tensor needs no step";
  expect_gap(*controller->view().gap, 0);
  session.train_look.tensor = 1000;
  ASSERT_TRUE(until([](const TrainView& v) { return v.gap == nullptr; }));
}

TEST_F(TrainControl, SavesAndOpensCheckpoints) {
  const std::string file = scratch_ / "six.checkpoint";
  for (int i = 0; i < 6; ++i) after(Act::one_step);
  after({.act = Act::save, .file = file});
  EXPECT_THAT(controller->take_note().value_or(""), HasSubstr("Saved " + file + " at step 6."));
  EXPECT_FALSE(controller->take_note()) << "once";
  open();
  Session other = session;
  session.train = default_train_plan();
  after({.act = Act::open, .file = file});
  EXPECT_EQ(session.train, other.train) << "the session has the opened checkpoint's plan";
  EXPECT_FALSE(controller->view().progress.stale);
  EXPECT_EQ(controller->view().progress.step, 6);
  EXPECT_THAT(controller->view().progress.kept, ElementsAre(6));
  const TrainView v = after(Act::run);
  expect_same_curves(*v.record, by_hand(12).record());
  after({.act = Act::open, .file = scratch_.write("no.checkpoint", "nothing")});
  EXPECT_THAT(controller->view().progress.remark, HasSubstr("no.checkpoint"));
  EXPECT_EQ(controller->view().progress.step, 12) << "existing steps stay";
  scratch_.write("text.txt", made_text(3000, 2));
  after({.act = Act::open, .file = file});
  EXPECT_THAT(controller->view().progress.remark, HasSubstr("text.txt has changed"));
}

TEST_F(TrainControl, ATrainingIsOfferedToTheNextWindow) {
  EXPECT_THAT(controller->view().progress.left_over, IsEmpty());
  for (int i = 0; i < 3; ++i) after(Act::one_step);
  open();
  const std::string left = controller->view().progress.left_over;
  ASSERT_THAT(left, HasSubstr("data"));
  after({.act = Act::open, .file = left});
  EXPECT_EQ(controller->view().progress.step, 3);
  EXPECT_THAT(controller->view().progress.left_over, IsEmpty());
  expect_same_curves(*after(Act::run).record, by_hand(12).record());
}

TEST_F(TrainControl, KeepsWhatIsTrainedNowAndThen) {
  open(1ms);
  session.train.recipe.steps = 100000;
  request(Act::run);
  ASSERT_TRUE(until([](const TrainView& v) { return v.progress.step > 3; }));
  EXPECT_TRUE(std::filesystem::exists(scratch_ / "data/last-training.checkpoint")) << "though the window is still open";
}

TEST_F(TrainControl, ACheckpointThatCannotBeWrittenStopsNoTraining) {
  open(0ms);
  std::optional<FullDisk> disk(std::in_place, 100);
  request(Act::run);
  ASSERT_TRUE(until([](const TrainView& v) { return v.progress.state == State::done; }));
  EXPECT_THAT(controller->view().progress.remark,
              AllOf(HasSubstr("last-training.checkpoint"), HasSubstr("No space left on device.")));
  after({.act = Act::save, .file = scratch_ / "c"});
  EXPECT_THAT(controller->view().progress.remark, HasSubstr("c: cannot be written: No space left on device."));
  expect_same_curves(*controller->view().record, by_hand(12).record());
  disk.reset();
  controller.reset();
  EXPECT_EQ(read_checkpoint(scratch_ / "data/last-training.checkpoint").state.step, 12) << "the disk has room again at closing";
}

TEST_F(TrainControl, TwoWindowsKeepTheirTrainingsApart) {
  for (int i = 0; i < 2; ++i) after(Act::one_step);
  std::optional<TrainController> other(std::in_place, [] {}, TrainKeeping{scratch_ / "data"}, on_cpu());
  EXPECT_THAT(other->view().progress.left_over, IsEmpty()) << "the other window still holds it";
  other->handle({.act = Act::one_step}, session);
  ASSERT_TRUE(eventually([&] {
    other->update(session, false);
    return other->view().progress.step == 1 && !other->busy();
  }));
  other.reset();
  controller.reset();
  EXPECT_EQ(read_checkpoint(scratch_ / "data/last-training.checkpoint").state.step, 2);
  EXPECT_EQ(read_checkpoint(scratch_ / "data/last-training-2.checkpoint").state.step, 1);
}

TEST_F(TrainControl, SaysWhatIsWrongWithAPlan) {
  session.train.model.heads = 3;
  ASSERT_TRUE(until([](const TrainView& v) { return !v.progress.wrong.empty(); }));
  EXPECT_THAT(controller->view().progress.wrong, HasSubstr("model.width is 16, expected a multiple of model.heads"));
  const TrainView v = after(Act::run);
  EXPECT_EQ(v.progress.state, State::idle);
  EXPECT_EQ(v.record, nullptr);
  session.train.model.heads = 2;
  session.train.text.file = scratch_ / "nowhere.txt";
  ASSERT_TRUE(until([](const TrainView& view) { return view.progress.wrong.find("nowhere.txt") != std::string::npos; }));
  scratch_.write("nowhere.txt", made_text(2500));
  request(Act::run);
  ASSERT_TRUE(until([](const TrainView& view) { return view.progress.state == State::done; }))
      << "the file is looked for again: " << controller->view().progress.wrong << controller->view().progress.remark;
}

TEST_F(TrainControl, ReadsATextAgainThatWasRewritten) {
  EXPECT_EQ(after(Act::one_step).record->plan.text.digest, plan().text.digest);
  scratch_.write("text.txt", made_text(2500, 2));
  controller->update(session, false);
  ASSERT_TRUE(until_quiet());
  EXPECT_TRUE(controller->view().progress.stale) << "the step was trained on the earlier text";
  scratch_.write("text.txt", made_text(2700, 3));
  EXPECT_EQ(after(Act::restart).record->plan.text.digest, plan().text.digest);
  EXPECT_FALSE(controller->view().progress.stale);
}

TEST_F(TrainControl, DivergenceStopsAndKeepsWhatThereWas) {
  session.train.a.format = session.train.b.format = parse_format("e2m1");
  session.train.recipe.rate = 10;
  session.train.recipe.final_rate = 0;
  session.train.recipe.warmup = 0;
  session.train.recipe.clip = 0;
  session.train.recipe.steps = 3000;
  request(Act::run);
  ASSERT_TRUE(until([](const TrainView& v) { return v.progress.state == State::stopped || v.progress.state == State::done; }));
  const TrainView v = controller->view();
  ASSERT_EQ(v.progress.state, State::stopped) << "a rate of 10 in 4 bits must diverge";
  const std::string& why = v.record->runs[0].stopped.empty() ? v.record->runs[1].stopped : v.record->runs[0].stopped;
  EXPECT_THAT(v.progress.remark, HasSubstr(why));
  EXPECT_FALSE(why.empty());
  ASSERT_FALSE(v.progress.kept.empty());
  EXPECT_LE(v.progress.kept.back(), v.progress.step);
  EXPECT_EQ(v.record->runs[1].steps.size(), static_cast<std::size_t>(v.progress.step)) << "computed steps stay";
  const TrainView back = after(Act::go_back, v.progress.kept.front());
  EXPECT_EQ(back.progress.state, State::paused);
  EXPECT_EQ(after(Act::run).progress.state, State::stopped) << "the same bits, the same end";
}

TEST_F(TrainControl, ExploreComesFirst) {
  open(0ms);  // saves every step: the file shows the progress
  const auto reached = [&] { return read_checkpoint(scratch_ / "data/last-training.checkpoint").state.step; };
  session.train.recipe.steps = 100000;
  request(Act::run);
  ASSERT_TRUE(until([](const TrainView& v) { return v.progress.step > 2; }));
  session.view.workspace = Workspace::explore;
  controller->update(session, true);
  const int held = reached() + 1;  // the step that was under way
  for (int i = 0; i < 20; ++i) {   // long enough to take as many steps
    by_hand(1);
    controller->update(session, true);
  }
  EXPECT_LE(reached(), held);
  EXPECT_TRUE(controller->busy()) << "frames must go on to report that Explore is idle";
  ASSERT_TRUE(until([&](const TrainView& v) { return v.progress.step > held; })) << "training goes on in any workspace";
}

TEST_F(TrainControl, IsNeverInTheWay) {
  session.train.recipe.steps = 100000;
  for (int round = 0; round < 4; ++round) {
    open();
    for (int i = 0; i < 60; ++i) {
      constexpr std::array acts{Act::run, Act::pause, Act::one_step, Act::run, Act::restart, Act::go_back, Act::explore};
      request(acts[static_cast<std::size_t>(i * 5 + round) % acts.size()], i % 3);
      controller->update(session, i % 7 == 0);
      if (i % 9 == 0) std::this_thread::sleep_for(1ms);
    }
  }
  controller.reset();  // while it runs
}

TEST_F(TrainControl, NoFrameWaitsForTheThreadThatTrains) {
  std::counting_semaphore<> asked{0}, answer{0};
  controller.emplace([] {}, TrainKeeping{scratch_ / "data"},
                     [&](const std::string&, int) {
                       asked.release();
                       answer.acquire();  // until all the frames below are drawn
                       return primitives_on("cpu", 2);
                     });
  request(Act::run);
  EXPECT_TRUE(until([&](const TrainView&) { return asked.try_acquire(); }));
  for (const Act act : {Act::run, Act::pause, Act::one_step, Act::restart, Act::go_back, Act::explore}) {
    request(act);
    controller->update(session, false);
    EXPECT_EQ(controller->view().record, nullptr);
  }
  answer.release(100);
  EXPECT_TRUE(until_quiet());
  controller.reset();  // before the semaphores go
}

TEST_F(TrainControl, SaysThatADriverHasToCompileFirst) {
  std::counting_semaphore<> answer(0);
  controller.emplace([] {}, TrainKeeping{scratch_ / "data"},
                     [&](const std::string&, int) {
                       TrainDevice device = primitives_on("cpu", 2);
                       device.compiles = "The driver compiles the code for NVIDIA RTX, once: about half a minute.";
                       device.make = [&answer, make = device.make] {
                         answer.acquire();  // until it was read
                         return make();
                       };
                       return device;
                     });
  const auto is_told = [](const TrainView& v) { return v.progress.remark.find("NVIDIA RTX") != std::string::npos; };
  request(Act::one_step);
  EXPECT_TRUE(until(is_told));
  EXPECT_TRUE(controller->busy());
  answer.release(100);
  EXPECT_TRUE(until_quiet());
  EXPECT_NE(controller->view().record, nullptr);
  EXPECT_FALSE(is_told(controller->view()));
  controller.reset();  // before the semaphore goes
}

TEST(KeptStates, AreThinnedEvenlyAndKeepBothEnds) {
  const auto moment = [](int step, bool lasting = true, bool pinned = false) {
    PairedTrainingState state{.step = step, .runs = {}, .paths = {}};
    state.runs.resize(1);
    state.runs[0].weights.resize(256);
    return KeptStates::Moment{nullptr, state, lasting, pinned};
  };
  KeptStates kept(8 * 1024);
  kept.keep(moment(0, true, true));
  for (int step = 10; step <= 320; step += 10) {
    kept.keep(moment(step, true, step == 30));
    EXPECT_LE(kept.bytes(), 8u * 1024);
    EXPECT_EQ(kept.steps().front(), 0);
    EXPECT_EQ(kept.steps().back(), step);
  }
  const std::vector<int> steps = kept.steps();
  EXPECT_EQ(steps.size(), 8u);
  EXPECT_THAT(steps, ::testing::Contains(30)) << "a fork's state stays";
  for (std::size_t i = 1; i < steps.size(); ++i) EXPECT_LE(steps[i] - steps[i - 1], 120) << "no long stretch without a state";
  EXPECT_EQ(kept.before(steps[3] + 1)->state.step, steps[3]);
  EXPECT_EQ(kept.at(steps[3] + 1), nullptr);
  EXPECT_EQ(kept.before(-1), nullptr);
  kept.drop_after(30);
  EXPECT_EQ(kept.steps().back(), 30);
  kept.keep(moment(33, false));
  kept.keep(moment(34, false));
  EXPECT_THAT(kept.steps(), ::testing::Not(::testing::Contains(33)));
}

TEST(StepRate, IsThatOfLate) {
  StepRate rate;
  const auto start = StepRate::Clock::now();
  EXPECT_EQ(rate.per_second(), 0);
  for (int i = 0; i <= 100; ++i) rate.mark(start + i * 100ms, i < 50 ? i : 50 + 4 * (i - 50));
  EXPECT_NEAR(rate.per_second(), 40, 1e-9) << "ten a second at first, forty since";
  rate.restart();
  EXPECT_EQ(rate.per_second(), 0);
}

}  // namespace
}  // namespace attoscope
