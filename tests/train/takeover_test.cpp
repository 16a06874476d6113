// A GPU that fails while it trains: the CPU continues with the same bits, and one sentence says so.

#include <sstream>

#include "app/commands/train_command.h"
#include "app/train/checkpoint.h"
#include "app/train/train_controller.h"
#include "app/train/trained.h"
#include "tests/support/eventually.h"
#include "tests/support/matchers.h"
#include "tests/support/temporary_directory.h"
#include "tests/support/train_support.h"
#include "tests/train/failing_primitives.h"
#include "tests/train/made_up_training.h"
#include "tests/train/small_runs.h"

namespace attoscope::takeover_test {
namespace {

using namespace testing;  // attoscope::testing

MakePrimitives on_cpu() { return primitives_on("cpu", 1).make; }
MakePrimitives out_of_memory() {
  return []() -> std::unique_ptr<Primitives<float>> { throw DeviceFailure("The CPU has no 7 bytes left to train with."); };
}

/// Expects equal numbers and weights, bit for bit; the time and the device may differ.
void expect_same_training(const PairedTraining& x, const PairedTraining& y) {
  expect_same_curves(x.record(), y.record());
  for (int run = 0; run < static_cast<int>(x.record().runs.size()); ++run) EXPECT_EQ(x.weights(run), y.weights(run)) << run;
  EXPECT_EQ(x.state().paths, y.state().paths);
}

/// Number of calls of a training that is not lost.
int calls_of(const TrainPlan& plan) {
  FailingGpu gpu;
  PairedTraining training(plan, lost(gpu));
  run_until(training, plan.recipe.steps);
  EXPECT_EQ(training.record().device, "cuda:0 stand-in");
  EXPECT_EQ(training.record().remark, "");
  return gpu.calls;
}

TEST(Takeover, WhereNoPrimitivesCanBeMadeTheCpuTrains) {
  const TrainPlan plan = tiny_plan(TrainKind::methods, 5);
  FailingGpu gpu{.fails_at = 0};
  PairedTraining training(plan, lost(gpu));
  EXPECT_EQ(gpu.made, 0);
  EXPECT_EQ(training.record().remark, "The GPU was lost. The CPU took over.");
  EXPECT_THAT(training.record().device, StartsWith("cpu"));
  run_until(training, plan.recipe.steps);
  expect_same_training(training, trained_pair(plan));
}

/// The GPU fails at each call in turn: making a run, a step's forward or backward pass, its update, a copy of its state.
TEST(Takeover, AGpuThatIsLostAtAnyCallChangesNoBit) {
  for (const TrainKind kind : {TrainKind::methods, TrainKind::replay, TrainKind::reference}) {
    const TrainPlan plan = tiny_plan(kind, 22);
    const PairedTraining expected = trained_pair(plan);
    const int calls = calls_of(plan);
    Dice dice(static_cast<std::uint64_t>(kind));
    for (int i = 0; i < experiments(16); ++i) {
      FailingGpu gpu{.fails_at = dice.between(0, calls - 1)};
      PairedTraining training(plan, lost(gpu));
      run_until(training, plan.recipe.steps);
      EXPECT_THAT(training.record().remark, StartsWith("The GPU was lost")) << gpu.fails_at;
      EXPECT_THAT(training.record().device, StartsWith("cpu"));
      expect_same_training(training, expected);
      if (::testing::Test::HasFailure()) FAIL() << "call " << gpu.fails_at << " of " << calls;
    }
  }
}

/// Every step fails on the GPU: each restarts from a checkpoint of the step before.
TEST(Takeover, WhereEveryStepFailsEachIsTakenByTheCpu) {
  const TrainPlan plan = tiny_plan(TrainKind::methods, 6);
  const PairedTraining expected = trained_pair(plan);
  TrainRecord record = PairedTraining(plan, {on_cpu()}).record();
  PairedTrainingState state = PairedTraining(plan, {on_cpu()}).state();
  for (int step = 1; step <= plan.recipe.steps; ++step) {
    FailingGpu gpu;
    PairedTraining training(plan, record, state, lost(gpu));
    EXPECT_EQ(training.record().remark, "") << "a remark about an earlier device is gone";
    gpu.fails_at = gpu.calls;
    EXPECT_TRUE(training.step());
    record = training.record();
    state = training.state();
    EXPECT_EQ(record.step, step);
    EXPECT_EQ(record.remark, step == 1 ? "The GPU was lost. The CPU took over."
                                       : "The GPU was lost after step " + std::to_string(step - 1) + ". The CPU took over.");
  }
  EXPECT_EQ(state.runs.front().weights, expected.state().runs.front().weights);
  EXPECT_EQ(record.runs[1].steps.back().loss, expected.record().runs[1].steps.back().loss);
}

/// The substitute repeats some steps; a stop during these leaves the record unchanged, and nothing is lost.
TEST(Takeover, RepeatingStepsCanBeStoppedAndGoesOn) {
  const TrainPlan plan = tiny_plan(TrainKind::methods, 40);
  FailingGpu gpu;
  PairedTraining training(plan, lost(gpu));
  for (int i = 0; i < 30; ++i) training.step();
  gpu.fails_at = gpu.calls;
  int polls = 0, stops = 0;
  const auto impatient = [&] { return ++polls % 3 == 0; };
  while (training.record().step == 30) {
    try {
      training.step(impatient);
    } catch (const Stopped&) {
      EXPECT_EQ(training.record().step, 30);
      EXPECT_EQ(training.record().runs[0].steps.size(), 30u);
      ++stops;
    }
  }
  EXPECT_GT(stops, 3);
  EXPECT_EQ(training.record().remark, "The GPU was lost after step 30. The CPU took over.");
  run_until(training, plan.recipe.steps);
  expect_same_training(training, trained_pair(plan));
}

TEST(Takeover, AStateOrAHeadThatIsAskedForIsGivenByTheCpu) {
  const TrainPlan plan = tiny_plan(TrainKind::replay, 9);
  PairedTraining plain = trained_pair(plan, 5);
  for (const bool state : {true, false}) {
    FailingGpu gpu;
    PairedTraining training(plan, lost(gpu));
    for (int i = 0; i < 5; ++i) training.step();
    gpu.fails_at = gpu.calls;
    if (state)
      EXPECT_EQ(training.state().runs[1].m, plain.state().runs[1].m);
    else
      EXPECT_EQ(training.captured(0, 1, 1, 0).k, plain.captured(0, 1, 1, 0).k);
    EXPECT_EQ(training.record().remark, "The GPU was lost after step 5. The CPU took over.");
    run_until(training, plan.recipe.steps);
    expect_same_training(training, trained_pair(plan));
  }
}

TEST(Takeover, WithoutAnythingBehindItAFailureIsTold) {
  const TrainPlan plan = tiny_plan(TrainKind::methods, 5);
  FailingGpu gpu;
  PairedTraining training(plan, {primitives_of(gpu)});
  training.step();
  gpu.fails_at = gpu.calls;
  EXPECT_EQ(message_of<DeviceFailure>([&] { training.step(); }), "The GPU was lost");
  gpu.fails_at = 0;
  EXPECT_EQ(message_of<DeviceFailure>([&] { PairedTraining(plan, {primitives_of(gpu)}); }), "The GPU was lost");
  EXPECT_EQ(message_of<DeviceFailure>([&] { PairedTraining(plan, lost(gpu, out_of_memory())); }),
            "The GPU was lost. The CPU could not take over: The CPU has no 7 bytes left to train with.");
}

/// `attoscope train` of a tiny model on a device that is lost.
class LostCommand : public ::testing::Test {
 protected:
  LostCommand() {
    arguments.text = scratch.write("text.txt", made_text(4000));
    arguments.of_model = {"1", "16", "2", "16", {}};
    arguments.of_recipe = {"2", "6", {}, {}, "1", {}, {}, {}, {}, {}, {}};
    arguments.measure_every = "2";
    arguments.checkpoint_every = "2";
    arguments.device = "auto";
  }
  /// Output of the command; `at_step` 0: no run can be made.
  std::string shown(int at_step, MakePrimitives instead = on_cpu()) {
    std::ostringstream out, warnings;
    gpu = {};
    train(arguments, {out, warnings, nullptr}, [&](const std::string& device, int) {
      EXPECT_EQ(device, "auto");
      return TrainDevice{lost_at(at_step), instead, ""};
    });
    return out.str();
  }

  const TemporaryDirectory scratch;
  TrainArguments arguments;
  FailingGpu gpu;

 private:
  /// Fails from the loss of this step on; each run has one loss a step.
  MakePrimitives lost_at(int step) {
    if (step == 0) gpu.fails_at = 0;
    return [this, step, make = primitives_of(gpu)] {
      auto primitives = make();
      if (step > 0) gpu.fails_at = gpu.calls + calls_of_steps(step - 1);
      return primitives;
    };
  }
  /// Number of calls for making both runs and `steps` steps.
  int calls_of_steps(int steps) {
    TrainPlan plan = train_plan_of(arguments);
    plan.text = text_of({.file = *arguments.text, .digest = 0, .corpus = nullptr});
    FailingGpu counted;
    PairedTraining training(plan, lost(counted));
    for (int i = 0; i < steps; ++i) training.step();
    return counted.calls;
  }
};

TEST_F(LostCommand, TheReportAndTheJsonSayWhoTookOver) {
  arguments.json = scratch / "t.json";
  EXPECT_THAT(shown(4), AllOf(HasSubstr("step 6 of 6, cpu"), HasSubstr("\nThe GPU was lost after step ")));
  EXPECT_THAT(bytes_of_file(scratch / "t.json"), HasSubstr("\"remark\":\"The GPU was lost after step "));
  EXPECT_THAT(shown(0), HasSubstr("\nThe GPU was lost. The CPU took over.\n"));
}

TEST_F(LostCommand, AFinalFailureNamesTheKeptCheckpoint) {
  const auto told = [&](int at_step) { return message_of<std::runtime_error>([&] { shown(at_step, out_of_memory()); }); };
  const std::string both = "The GPU was lost. The CPU could not take over: The CPU has no 7 bytes left to train with; ";
  EXPECT_EQ(told(0), both + "nothing was kept to go on from, expected --checkpoint FILE");
  arguments.checkpoint = scratch / "c";
  EXPECT_EQ(told(6), both + "the last checkpoint is " + (scratch / "c") + " at step 4, from which --resume " + (scratch / "c") +
                         " goes on");
  EXPECT_EQ(read_checkpoint(scratch / "c").state.step, 4);
  arguments.resume = scratch / "c";
  arguments.of_model = {};
  arguments.of_recipe = {};
  EXPECT_EQ(told(0), both + "nothing was kept since step 4, from which --resume " + (scratch / "c") + " goes on");
}

TEST_F(LostCommand, AutoSaysWhichDeviceTrainsAndWhyItIsNoGpu) {
  std::ostringstream out, warnings;
  train(arguments, {out, warnings, nullptr},
        [](const std::string&, int) { return TrainDevice{on_cpu(), {}, "This machine has no NVIDIA GPU."}; });
  EXPECT_THAT(out.str(), HasSubstr("\nTrained on cpu"));
  EXPECT_THAT(out.str(), HasSubstr(": This machine has no NVIDIA GPU.\n"));
  EXPECT_THAT(primitives_on("cpu", 1).why, IsEmpty());
}

/// The Train workspace on a GPU that is lost.
class LostDevice : public ::testing::Test {
 protected:
  LostDevice() {
    session.train = tiny_training(scratch.write("text.txt", made_text(3000)));
    session.view.workspace = Workspace::train;
  }
  void open(MakePrimitives instead, std::chrono::milliseconds every) {
    controller.emplace([] {}, TrainKeeping{scratch / "data", every},
                       [this, instead](const std::string&, int) { return lost(gpu, instead); });
  }
  TrainView after(TrainRequest::Act act) {
    controller->handle({.act = act}, session);
    EXPECT_TRUE(eventually([&] {
      controller->update(session, false);
      return !controller->busy();
    }));
    controller->update(session, false);
    return controller->view();
  }

  const TemporaryDirectory scratch;
  Session session;
  FailingGpu gpu;
  std::optional<TrainController> controller;
};

TEST_F(LostDevice, SaysThatTheCpuTookOverAndTrainsOn) {
  open(on_cpu(), std::chrono::minutes(5));
  EXPECT_EQ(after(TrainRequest::Act::one_step).progress.remark, "");
  gpu.fails_at = gpu.calls;
  const TrainView v = after(TrainRequest::Act::run);
  EXPECT_EQ(v.progress.state, TrainProgress::State::done);
  EXPECT_EQ(v.progress.remark, "The GPU was lost after step 1. The CPU took over.");
  EXPECT_THAT(v.record->device, StartsWith("cpu"));
  session.train.recipe.seed = 9;
  EXPECT_EQ(after(TrainRequest::Act::restart).progress.remark, "The GPU was lost. The CPU took over.")
      << "the lost device is tried again and still fails";
}

TEST_F(LostDevice, NamesWhatWasKeptWhereNothingTakesOver) {
  open(out_of_memory(), std::chrono::milliseconds(0));
  after(TrainRequest::Act::one_step);
  after(TrainRequest::Act::one_step);
  gpu.fails_at = gpu.calls;
  const TrainView v = after(TrainRequest::Act::one_step);
  EXPECT_EQ(v.progress.state, TrainProgress::State::paused);
  EXPECT_EQ(v.progress.step, 2);
  EXPECT_EQ(v.progress.remark,
            "The GPU was lost. The CPU could not take over: The CPU has no 7 bytes left to train with. The last step that is "
            "kept is 2; the checkpoint " +
                (scratch / "data/last-training.checkpoint") + " is of step 2.");
}

}  // namespace
}  // namespace attoscope::takeover_test
