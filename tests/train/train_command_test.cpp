// `attoscope train`: plans from options, its files, checkpoints that it continues, signals.
#include "app/commands/train_command.h"

#include <signal.h>
#include <unistd.h>

#include <chrono>
#include <nlohmann/json.hpp>
#include <optional>
#include <sstream>
#include <thread>

#include "app/tensors/tensors.h"
#include "app/train/checkpoint.h"
#include "app/train/train_tables.h"
#include "app/train/trained.h"
#include "app/words/numbers.h"
#include "kernels/experiment/presets.h"
#include "kernels/train/plan/plan.h"
#include "tests/app/disk_full.h"
#include "tests/app/outcome.h"
#include "tests/support/gnuplot_stand_in.h"
#include "tests/support/matchers.h"
#include "tests/support/temporary_directory.h"
#include "tests/train/made_up_training.h"
#include "tests/train/small_runs.h"

namespace attoscope {
namespace {

using namespace testing;  // attoscope::testing

/// Arguments of `train` that continue a checkpoint.
std::vector<std::string> resumed(const std::string& file, const std::vector<std::string>& options = {}) {
  return with({"train", "--resume", file, "--device", "cpu", "--threads", "2", "--quiet"}, options);
}

nlohmann::json json_of_file(const std::string& path) { return nlohmann::json::parse(bytes_of_file(path)); }

/// The JSON without measured times.
nlohmann::json timeless(nlohmann::json json) {
  json.erase("seconds");
  return json;
}

class TrainCommand : public ScratchTest {
 protected:
  /// `train` of a model that takes milliseconds, on a text of this test, with these options.
  std::vector<std::string> tiny(const std::vector<std::string>& options = {}) const {
    const std::string text = scratch_ / "text.txt";
    if (!std::filesystem::exists(text))
      scratch_.write("text.txt", made_text(4000));  // once only: the disk may be full when later calls of a test come
    const std::string usual[] = {"--text",          text, "--layers", "1",   "--width",   "16", "--heads",  "2",
                                 "--context",       "16", "--batch",  "2",   "--steps",   "6",  "--warmup", "1",
                                 "--measure-every", "2",  "--device", "cpu", "--threads", "2"};
    std::vector<std::string> all{"train", "--quiet"};
    for (std::size_t i = 0; i < std::size(usual); i += 2)
      if (std::ranges::find(options, usual[i]) == options.end()) all.insert(all.end(), {usual[i], usual[i + 1]});
    return with(all, options);
  }
  /// The training of `tiny()` after `steps` steps; writes its text first.
  PairedTraining by_hand(int steps) const {
    TrainArguments x;
    x.of_model = {"1", "16", "2", "16", {}};
    x.of_recipe = {"2", "6", {}, {}, "1", {}, {}, {}, {}, {}, {}};
    x.measure_every = "2";
    TrainPlan plan = train_plan_of(x);
    plan.text = read_text(scratch_ / "text.txt");
    return trained_pair(plan, steps);
  }
};

TEST_F(TrainCommand, OptionsBecomeThePlan) {
  TrainArguments x;
  x.of_model = {"3", "48", "6", "24", "rms"};
  x.of_recipe = {"5", "77", "0.01", {}, "7", "0", "0.2", "18446744073709551615", "9", "1024", "0.25", "0.8", "0.99", "1e-6"};
  x.methods.typed["format"] = "fp16";
  x.methods.typed["policy"] = "hw";
  x.methods.typed["block_k"] = "8";
  x.methods.set = {"a.O=fp32", "a.grad.dS=fp32", "b.grad.delta_from=output", "a.tau=4"};
  x.baseline_format = "fp32";
  x.exact = {"1", "2:5"};
  x.kind = "bisect";
  x.bisect = "gradient";
  x.measure_every = "3";
  x.checkpoint_every = "11";
  const TrainPlan p = train_plan_of(x);
  EXPECT_EQ(p.model, (ModelShape{.layers = 3, .width = 48, .heads = 6, .context = 24, .norm = Norm::rms}));
  EXPECT_EQ(p.recipe, (Recipe{.batch = 5,
                              .steps = 77,
                              .rate = 0.01,
                              .final_rate = 0.001,
                              .warmup = 7,
                              .beta1 = 0.8,
                              .beta2 = 0.99,
                              .epsilon = 1e-6,
                              .weight_decay = 0.2,
                              .clip = 0,
                              .seed = UINT64_MAX,
                              .data_seed = 9,
                              .loss_scale = 1024,
                              .held_out = 0.25}));
  EXPECT_EQ(p.a.format, fp16);
  EXPECT_EQ(p.b.format, fp32);
  Precision hw = policy("hw").precision;
  hw[Step::O] = to_format(fp32);
  EXPECT_EQ(p.a.method.precision, hw);
  EXPECT_EQ(p.a.method.block_k, 8);
  EXPECT_EQ(p.b.method.block_k, 8);
  EXPECT_EQ(p.a.method.tau, 4);
  GradPrecision backward = grad_policy("grad_hw").precision, rival = grad_policy("grad_base_eager").precision;
  backward[GradStep::dS] = to_format(fp32);
  rival.delta_from = DeltaFrom::output;
  EXPECT_EQ(p.a.gradient, backward);
  EXPECT_EQ(p.b.gradient, rival);
  EXPECT_THAT(p.a.exact, ElementsAre(HeadPlace{1, -1}, HeadPlace{2, 5}));
  EXPECT_EQ(p.kind, TrainKind::bisect);
  EXPECT_EQ(p.bisect, BisectBy::gradient);
  EXPECT_EQ(p.measure_every, 3);
  EXPECT_EQ(p.checkpoint_every, 11);
}

TEST_F(TrainCommand, TrainsExactAttentionTooUnlessToldNotTo) {
  const std::string with = output_of(tiny({"--json", scratch_ / "with.json", "--csv", scratch_ / "with.csv"})),
                    without = output_of(tiny({"--with-exact", "false", "--json", scratch_ / "without.json"}));
  const nlohmann::json three = json_of_file(scratch_ / "with.json"), two = json_of_file(scratch_ / "without.json");
  ASSERT_EQ(three["runs"].size(), 3U);
  EXPECT_EQ(three["runs"][2]["name"], "exact");
  EXPECT_EQ(three["pairs"][1]["name"], "a - exact");
  EXPECT_EQ(three["pairs"][1]["role"], "exact");
  EXPECT_EQ(three["pairs"][2]["name"], "b - exact");
  EXPECT_EQ(two["runs"].size(), 2U);
  EXPECT_EQ(two["pairs"].size(), 1U);
  EXPECT_EQ(two["pairs"][0], three["pairs"][0]) << "a - b is the same with a third model beside them";
  EXPECT_EQ(two["runs"][0], three["runs"][0]);
  EXPECT_THAT(with, AllOf(HasSubstr("beside exact attention"), HasSubstr("  a - exact"), HasSubstr("  b - exact")));
  EXPECT_THAT(without, Not(HasSubstr("exact attention")));
  EXPECT_THAT(bytes_of_file(scratch_ / "with.csv"),
              AllOf(HasSubstr(",a - exact,all,rel_l2,"), HasSubstr(",b - exact,all,wasserstein,")));
}

TEST_F(TrainCommand, OptionsThatChangeNothingAreNamed) {
  const Outcome o = attoscope(tiny({"--tau", "4", "--set", "b.merge=sigmoid", "--set", "a.grad.dS=fp32"}));
  EXPECT_EQ(o.code, 0);
  EXPECT_EQ(o.err,
            "attoscope: --tau changes nothing: a does not use it with its other settings\n"
            "attoscope: --set b.merge changes nothing: b does not use it with its other settings\n");
  EXPECT_EQ(attoscope(tiny({"--kind", "replay", "--with-exact", "true"})).err,
            "attoscope: --with-exact changes nothing: the kind is replay\n");
  EXPECT_EQ(attoscope(tiny({"--bisect", "head"})).err, "attoscope: --bisect changes nothing: the kind is methods\n");
}

TEST_F(TrainCommand, WithoutOptionsIsTheDefaultPlan) { EXPECT_EQ(train_plan_of({}), default_train_plan()); }

TEST_F(TrainCommand, OnTopOfACheckpointOnlyWhatIsTypedChanges) {
  const TrainPlan earlier = odd_plan(TrainKind::methods);
  EXPECT_EQ(train_plan_of({}, &earlier), earlier);
  TrainArguments x;
  x.methods.typed["policy"] = "hw";
  TrainPlan expected = earlier;
  expected.a.method.precision = policy("hw").precision;
  expected.a.gradient = grad_policy("grad_hw").precision;
  EXPECT_EQ(train_plan_of(x, &earlier), expected);
  x = {};
  x.gradient = "grad_all";
  expected = earlier;
  expected.a.gradient = grad_policy("grad_all").precision;
  EXPECT_EQ(train_plan_of(x, &earlier), expected);
}

TEST_F(TrainCommand, WrongUsageIsOneSentence) {
  const auto refused = [&](const std::vector<std::string>& options, const std::string& sentence) {
    expect_refused(tiny(options), 2, sentence);
    EXPECT_EQ(scratch_.count(), 1);  // the text
  };
  refused({"--width", "17"}, "model.width is 17, expected a multiple of model.heads");
  refused({"--layers", "0"}, "--layers is '0', expected a whole number from 1 to 12");
  refused({"--steps", "many"}, "--steps is 'many'");
  refused({"--rate", "nan"}, "--rate is 'nan'");
  refused({"--rate", "inf"}, "--rate is 'inf'");
  refused({"--final-rate", "1"}, "recipe.final_rate");
  refused({"--loss-scale", "1000"}, "recipe.loss_scale");
  refused({"--held-out", "0.6"}, "--held-out is '0.6'");
  refused({"--norm", "batch"}, "--norm is 'batch', expected layer or rms");
  refused({"--kind", "duel"}, "--kind is 'duel', expected methods, reference, bisect or replay");
  refused({"--bisect", "word"}, "--bisect is 'word'");
  refused({"--with-exact", "perhaps"}, "--with-exact is 'perhaps', expected true or false");
  refused({"--kind", "bisect", "--policy", "all_tile", "--algorithm", "three_pass", "--set", "a.grad.nothing=exact"},
          "'nothing' is unknown, expected delta_step, delta,");
  for (const char* const step : {"lse", "scaled_K", "dq_tile", "dq_sum"})
    refused({"--set", "b.grad." + std::string(step) + "=exact"}, "'" + std::string(step) + "' is unknown, expected delta_step");
  refused({"--policy", "nobody"}, "--policy: ");
  refused({"--gradient", "nobody"}, "--gradient: 'nobody' is no backward policy");
  refused({"--baseline-gradient", "nobody"}, "--baseline-gradient: ");
  refused({"--format", "fp64"}, "a.format is fp64");
  refused({"--baseline-format", "wide"}, "--baseline-format: ");
  refused({"--set", "a.grad.dS=rough"}, "--set a.grad.dS");
  refused({"--set", "c.O=fp32"}, "--set is 'c.O=fp32'");
  refused({"--exact", "first"}, "--exact is 'first'");
  refused({"--exact", "0:2"}, "a.exact is 0:2");
  refused({"--exact", "1"}, "a.exact is 1:-1");
  refused({"--until", "7"}, "--until is '7', expected a whole number from 0 to 6");
  refused({"--measure-every", "0"}, "--measure-every is '0'");
  refused({"--save-qkv", "a:0:0"}, "--save-qkv is 'a:0:0', expected RUN:LAYER:HEAD=");
  refused({"--save-qkv", "c:0:0=x.safetensors"}, "--save-qkv: run is 'c', expected a, b or exact");
  refused({"--save-qkv", "a:1:0=x.safetensors"}, "--save-qkv: layer is '1'");
  refused({"--save-qkv", "a:0:0:2=x.safetensors"}, "--save-qkv: sequence is '2'");
  refused({"--save-qkv", "a:0:0:0:0=x.safetensors"}, "--save-qkv is");
  refused({"--json", "-", "--csv", "-"}, "--json and --csv are both -");
  refused({"--figure", "picture.txt"}, "picture.txt");
  refused({"--device", "abacus"}, "--device is 'abacus'");
  refused({"--context", "1025"}, "--context is '1025', expected a whole number from 8 to 1024");
}

TEST_F(TrainCommand, FilesThatCannotBeUsedAreOneSentence) {
  const auto refused = [&](std::vector<std::string> arguments, const std::string& sentence) {
    expect_refused(std::move(arguments), 1, sentence);
  };
  refused({"train", "--text", scratch_ / "none.txt"}, "none.txt: cannot be opened");
  refused({"train", "--text", scratch_.write("short.txt", "abc")}, "short.txt");
  refused({"train", "--resume", scratch_.write("c", "no checkpoint")}, "c: is no checkpoint of attoscope train");
  refused(tiny({"--checkpoint", scratch_ / "deep/c"}), "--checkpoint " + (scratch_ / "deep/c") + ": there is no directory");
  refused(tiny({"--csv", scratch_ / ""}), "is a directory, expected a file");
  refused(tiny({"--save", scratch_ / "c"}), "--save " + (scratch_ / "c") + ": is a file, expected a directory");
  refused(tiny({"--save", scratch_ / "c/w"}), "--save " + (scratch_ / "c/w") + ": cannot be made a directory: Not a directory");
  EXPECT_EQ(scratch_.count(), 3);  // two texts and c
}

TEST_F(TrainCommand, WritesTheSameTrainingAsJsonAndTable) {
  const std::string out = output_of(tiny({"--kind", "reference", "--json", scratch_ / "t.json", "--csv", scratch_ / "t.csv"}));
  const nlohmann::json json = json_of_file(scratch_ / "t.json");
  EXPECT_EQ(json["schema"], "attoscope.train/1");
  EXPECT_EQ(json["text"]["name"], scratch_ / "text.txt");
  EXPECT_EQ(json["plan"]["recipe"]["held_out"], 0.1);
  for (const nlohmann::json& run : json["runs"]) EXPECT_GT(run["heldout_loss"], 1) << run["name"];
  EXPECT_THAT(out, HasSubstr("\nheld-out loss of a " + json["runs"][0]["heldout_loss"].dump().substr(0, 4)));
  EXPECT_EQ(json["runs"].size(), 6U);
  EXPECT_EQ(json["pairs"].size(), 7U);
  EXPECT_EQ(json["step"], 6);
  const TrainRecord record = train_record(json);
  for (const char* const name : {"another initialisation", "fp16 - fp32", "a - b over it"}) EXPECT_THAT(out, HasSubstr(name));
  std::size_t found = 0;
  for (const std::vector<std::string>& line : csv_lines(bytes_of_file(scratch_ / "t.csv"))) {
    ASSERT_EQ(line.size(), 5U);
    if (line[1] == "a - b" && line[2] == "layer 0 W_Q" && line[3] == "max_abs") {
      const PairPoint& point = record.pairs[0].points.at(found++);
      EXPECT_EQ(line[0], std::to_string(point.step));
      EXPECT_EQ(to_number<double>(line[4]),
                point.deviations[1 + static_cast<std::size_t>(record.parameters.index(0, Weight::W_Q))].max_abs);
    }
  }
  EXPECT_EQ(found, record.pairs[0].points.size());
  EXPECT_THAT(bytes_of_file(scratch_ / "t.csv"),
              AllOf(StartsWith("step,pair,tensor,measure,value\n"), HasSubstr("run b in fp16,layer 0 head 1,query_norm,"),
                    HasSubstr("6,run b,all,heldout_loss,")));
}

TEST_F(TrainCommand, StoresWeightsAndMomentsAsAsked) {
  const std::string out = output_of(tiny(
      {"--weights", "bf16/stochastic", "--optimiser", "bf16", "--baseline-weights", "exact", "--json", scratch_ / "t.json"}));
  const nlohmann::json plan = json_of_file(scratch_ / "t.json")["plan"];
  EXPECT_EQ(plan["a"]["weights"], "bf16/stochastic");
  EXPECT_EQ(plan["b"]["weights"], "exact");
  EXPECT_EQ(plan["a"]["optimiser"], "bf16");
  EXPECT_EQ(plan["b"]["optimiser"], "bf16");
  EXPECT_THAT(out, HasSubstr("bf16, weights bf16/stochastic, optimiser bf16\nb: "));
  expect_refused(tiny({"--weights", "bf17"}), 2, "--weights");
}

TEST_F(TrainCommand, ANamedPlanIsChangedByTheOtherOptions) {
  TrainArguments x;
  x.plan = "spike";
  TrainPlan expected = named_plan("spike");
  EXPECT_EQ(train_plan_of(x), expected);
  x.of_model[3] = "48";
  x.optimiser = "bf16/stochastic";
  expected.model.context = 48;
  expected.a.optimiser = expected.b.optimiser;
  EXPECT_EQ(train_plan_of(x), expected);
  EXPECT_THROW(train_plan_of(x, &expected), std::invalid_argument) << "a checkpoint has its own plan";
  expect_refused({"train", "--plan", "peak"}, 2, "--plan: 'peak' is no plan, expected spike");
}

TEST_F(TrainCommand, TrainsEverySeedAsItIsTrainedAlone) {
  const std::vector<std::string> half{"--format", "fp16", "--loss-scale", "1099511627776", "--kind", "reference"};
  const std::vector<std::string> options = with(half, {"--seeds", "3", "--seed", "5", "--data-seed", "2", "--json",
                                                       scratch_ / "all.json", "--csv", scratch_ / "all.csv"});
  const std::string all = output_of(tiny(options));
  const nlohmann::json json = json_of_file(scratch_ / "all.json");
  EXPECT_EQ(json["schema"], "attoscope.train_seeds/1");
  ASSERT_EQ(json["seeds"].size(), 3U);
  double least = 1e9, sum = 0, most = 0, distance = 0;
  for (int i = 0; i < 3; ++i) {
    const std::string file = scratch_ / "one.json";
    const std::vector<std::string> own{"--seed", std::to_string(5 + i), "--data-seed", std::to_string(2 + i), "--json", file};
    succeed(tiny(with(half, own)));
    const nlohmann::json one = json_of_file(file), &seed = json["seeds"][static_cast<std::size_t>(i)];
    EXPECT_EQ(seed["seed"], 5 + i);
    EXPECT_GT(seed["skipped_steps"], 0) << "the loss scale overflows fp16 from the first step on";
    EXPECT_EQ(seed["skipped_steps"], one["runs"][0]["skipped_steps"]);
    EXPECT_EQ(seed["heldout_loss"], one["runs"][0]["heldout_loss"]);
    EXPECT_EQ(seed["runs"].size(), one["runs"].size());
    EXPECT_EQ(seed["runs"].back()["heldout_loss"], one["runs"].back()["heldout_loss"]);
    const double loss = one["runs"][0]["steps"]["loss"].back();
    least = std::min(least, loss), most = std::max(most, loss), sum += loss;
    distance = std::max(distance, one["pairs"][1]["points"]["wasserstein"].back()[0].get<double>());
  }
  const nlohmann::json& losses = json["bands"]["runs"][0]["loss"];
  EXPECT_EQ(losses["least"].back(), least);
  EXPECT_EQ(losses["greatest"].back(), most);
  EXPECT_NEAR(losses["mean"].back(), sum / 3, 1e-12);
  EXPECT_EQ(json["bands"]["pairs"][1]["name"], "another seed") << "of every seed, whatever the other seed is called";
  EXPECT_EQ(json["bands"]["pairs"][1]["wasserstein"]["greatest"].back(), distance);
  EXPECT_THAT(bytes_of_file(scratch_ / "all.csv"),
              AllOf(StartsWith("seed,step,pair,"), HasSubstr("\n7,6,run b,all,heldout_loss,")));
  EXPECT_THAT(all, AllOf(HasSubstr("over 3 seeds"), HasSubstr("skipped steps of a"), HasSubstr("held-out loss of b")));
}

TEST_F(TrainCommand, TheFigureOfSeedsHasTheTypedStyle) {
  attoscope(tiny({"--seeds", "2", "--figure", scratch_ / "f.pdf", "--columns", "1", "--font", "Times", "--font-size", "9"}));
  EXPECT_THAT(bytes_of_file(scratch_ / "f.gp"), HasSubstr("font 'Times,9' size 3.3"));
}

TEST_F(TrainCommand, TheFigureOfSeedsIsDrawnAgainFromItsJson) {
  attoscope(tiny({"--seeds", "2", "--figure", scratch_ / "f.svg", "--columns", "1"}));
  const nlohmann::json json = json_of_file(scratch_ / "f.json");
  EXPECT_EQ(json["plan_seeds"], 2);
  EXPECT_THAT(json["caption"].get<std::string>(), HasSubstr("mean, least and greatest over 2 seeds"));
  EXPECT_EQ(json["plan"]["recipe"]["seed"], 1);
  ASSERT_EQ(json["digests"].size(), 6U);
  EXPECT_EQ(json["digests"][3]["run"], "seed 2: a");
  const Outcome again = attoscope({"figure", scratch_ / "f.json", "--out", scratch_ / "again.svg", "--quiet"});
  EXPECT_THAT(again.err, ::testing::Not(HasSubstr("are not those")));
  EXPECT_EQ(bytes_of_file(scratch_ / "again.csv"), bytes_of_file(scratch_ / "f.csv"));
  EXPECT_EQ(bytes_of_file(scratch_ / "again.json"), bytes_of_file(scratch_ / "f.json"));
}

TEST_F(TrainCommand, SeedsAreNoSingleTraining) {
  for (const char* const option : {"--checkpoint", "--resume", "--save"})
    expect_refused(tiny({"--seeds", "2", option, scratch_ / "c"}), 2,
                   std::string("--seeds is '2', expected it without ") + option + ", which is about one training");
  expect_refused(tiny({"--seeds", "0"}), 2, "--seeds is '0', expected");
  expect_refused(tiny({"--seeds", "2", "--until", "0"}), 2, "--until is '0', expected a whole number from 1 to 6");
}

TEST_F(TrainCommand, BeforeTheFirstStepThereIsNoLoss) {
  const std::string out = output_of(tiny({"--until", "0"}));
  EXPECT_THAT(out, HasSubstr("\n1 layer x 16, 2 heads, "));
  EXPECT_THAT(out, AllOf(HasSubstr("step 0 of 6"), HasSubstr("nothing was measured yet"), Not(HasSubstr("loss of a"))));
}

TEST_F(TrainCommand, ACheckpointThatCannotBeWrittenWarnsAndTrainingGoesOn) {
  const std::vector<std::string> options{"--checkpoint",      "/dev/full", "--checkpoint-every", "2", "--json",
                                         scratch_ / "t.json", "--csv",     scratch_ / "t.csv"};
  const Outcome outcome = attoscope(tiny(options));
  EXPECT_EQ(outcome.code, 1);
  EXPECT_THAT(outcome.err, HasSubstr("attoscope: warning: the checkpoint of step 2 could not be written (/dev/full: cannot be "
                                     "written: No space left on device); training goes on\n"));
  EXPECT_THAT(outcome.err, HasSubstr("\nattoscope: the checkpoint of step 6 could not be written"));
  EXPECT_EQ(std::count(outcome.err.begin(), outcome.err.end(), '\n'), 4);
  EXPECT_EQ(json_of_file(scratch_ / "t.json")["step"], 6);
  EXPECT_THAT(bytes_of_file(scratch_ / "t.csv"), StartsWith("step,pair,"));
  EXPECT_THAT(outcome.out, HasSubstr("a - b"));
}

TEST_F(TrainCommand, ItsFilesAreWholeWheneverTheDiskIsFull) {
  Dice dice(9);
  const TrainRecord record = made_up_record(TrainKind::methods, dice);
  expect_whole_whenever_full(
      {"checkpoint", {scratch_ / "c"}, [&](int) { write_checkpoint(scratch_ / "c", record, made_up_state(record, dice)); }},
      experiments(40), dice);
  const std::vector<std::string> files{scratch_ / "t.json", scratch_ / "t.csv", scratch_ / "qkv.safetensors",
                                       scratch_ / "w/a/head.npy"};
  const auto train = [&](int version) {
    succeed(tiny({"--seed", std::to_string(version), "--json", files[0], "--csv", files[1], "--save-qkv", "a:0:0=" + files[2],
                  "--save", scratch_ / "w"}));
  };
  scratch_.write("text.txt", made_text(4000));
  expect_whole_whenever_full({"training", files, train}, experiments(16), dice);
}

TEST_F(TrainCommand, TheTrainingIsShownThoughTheDiskIsFull) {
  const std::vector<std::string> command = tiny({"--json", scratch_ / "t.json"});
  const FullDisk disk(100);
  const Outcome outcome = attoscope(command);
  EXPECT_EQ(outcome.code, 1);
  EXPECT_THAT(outcome.err, HasSubstr("t.json: cannot be written: No space left on device"));
  EXPECT_THAT(outcome.out, HasSubstr("a - b"));
}

TEST_F(TrainCommand, AFullDiskThatHasRoomAgainGetsTheNextCheckpoint) {
  TrainArguments x;
  std::ostringstream out, warnings;
  std::optional<FullDisk> disk;
  const std::string text = scratch_.write("text.txt", made_text(4000));
  disk.emplace(1000);
  x.text = text;
  x.of_model = {"1", "16", "2", "16", {}};
  x.of_recipe = {"2", "6", {}, {}, "1", {}, {}, {}, {}, {}, {}};
  x.checkpoint_every = "2";
  x.checkpoint = scratch_ / "c";
  x.device = "cpu";
  x.threads = "2";
  // the first warning frees the disk
  struct MakesRoom : std::stringbuf {
    std::optional<FullDisk>& disk;
    explicit MakesRoom(std::optional<FullDisk>& d) : disk(d) {}
    int sync() override {
      disk.reset();
      return 0;
    }
  } room(disk);
  std::ostream told(&room);
  train(x, {out, told, nullptr});
  EXPECT_THAT(room.str(), HasSubstr("the checkpoint of step 2 could not be written"));
  EXPECT_EQ(read_checkpoint(scratch_ / "c").state.step, 6);
}

TEST_F(TrainCommand, TwoOutputsOfOneNameAreRefused) {
  const std::string x = scratch_ / "x.json";
  expect_refused(tiny({"--json", x, "--csv", x}), 2, "--csv " + x + ": --json writes this file, too");
  expect_refused(tiny({"--checkpoint", x, "--json", scratch_ / "./x.json"}), 2, "--checkpoint writes this file, too");
}

TEST_F(TrainCommand, ResumingIsAsIfNothingHadHappened) {
  succeed(tiny({"--json", scratch_ / "whole.json", "--save", scratch_ / "whole"}));
  succeed(tiny({"--until", "3", "--checkpoint", scratch_ / "c"}));
  EXPECT_EQ(read_checkpoint(scratch_ / "c").state.step, 3);
  succeed(
      resumed(scratch_ / "c", {"--json", scratch_ / "rest.json", "--save", scratch_ / "rest", "--checkpoint", scratch_ / "d"}));
  EXPECT_EQ(timeless(json_of_file(scratch_ / "rest.json")), timeless(json_of_file(scratch_ / "whole.json")));
  EXPECT_EQ(read_checkpoint(scratch_ / "c").state.step, 3);
  EXPECT_EQ(read_checkpoint(scratch_ / "d").state.step, 6);
  for (const char* const file : {"a/layer_0_W_Q.npy", "b/embedding.npy", "a/head.npy"}) {
    const std::string bytes = bytes_of_file((scratch_ / "whole/") + file);
    EXPECT_GT(bytes.size(), 128U) << file;
    EXPECT_EQ(bytes_of_file((scratch_ / "rest/") + file), bytes) << file;
  }
  EXPECT_NE(bytes_of_file(scratch_ / "whole/a/layer_0_W_Q.npy"), bytes_of_file(scratch_ / "whole/b/layer_0_W_Q.npy"));
  // a finished training can be written once more, on another copy of the text
  succeed(resumed(scratch_ / "d", {"--text", scratch_.write("copy.txt", made_text(4000)), "--json", scratch_ / "again.json"}));
  EXPECT_EQ(timeless(json_of_file(scratch_ / "again.json"))["runs"], json_of_file(scratch_ / "whole.json")["runs"]);
  expect_refused(resumed(scratch_ / "c", {"--text", scratch_.write("other.txt", made_text(5000))}), 1, "other.txt has changed");
  expect_refused(resumed(scratch_ / "c", {"--width", "32"}), 2, "width");
}

TEST_F(TrainCommand, AnotherPolicyOnTheWayIsAFork) {
  succeed(tiny({"--until", "3", "--checkpoint", scratch_ / "c"}));
  const std::string out = output_of(resumed(scratch_ / "c", {"--policy", "hw", "--json", scratch_ / "fork.json"}));
  const nlohmann::json json = json_of_file(scratch_ / "fork.json");
  ASSERT_EQ(json["forks"].size(), 1U);
  EXPECT_EQ(json["forks"][0]["step"], 3);
  EXPECT_THAT(json["forks"][0]["sentence"].get<std::string>(), AllOf(HasSubstr("eager"), HasSubstr("hw")));
  EXPECT_EQ(json["runs"][0]["policy"], "hw");
  EXPECT_THAT(out, HasSubstr("changed at step 3: "));
}

TEST_F(TrainCommand, SavedQueriesAreWhatTheHeadSaw) {
  const std::string file = scratch_ / "qkv.safetensors";
  succeed(tiny({"--save-qkv", "b:0:1:1=" + file, "--until", "2"}));
  PairedTraining training = by_hand(2);
  const CapturedHead seen = training.captured(1, 0, 1, 1);
  Input input;
  input.kind = InputKind::tensors;
  input.file = file;
  load_tensors(input);
  ASSERT_EQ(input.tensors->n, 16);
  ASSERT_EQ(input.tensors->d, 8);
  EXPECT_EQ(input.tensors->q, std::vector<double>(seen.q.begin(), seen.q.end()));
  EXPECT_EQ(input.tensors->k, std::vector<double>(seen.k.begin(), seen.k.end()));
  EXPECT_EQ(input.tensors->v, std::vector<double>(seen.v.begin(), seen.v.end()));
  EXPECT_THAT(bytes_of_file(file), AllOf(HasSubstr("three_pass"), HasSubstr("\"step\":\"2\"")));
  succeed({"run", "--input", file, "--mask", "causal"});
}

TEST_F(TrainCommand, SavedQueriesOfAStoppedRunNameItsOwnStep) {
  tiny();  // writes the text
  TrainPlan plan = by_hand(0).record().plan;
  plan.kind = TrainKind::bisect;
  plan.bisect = BisectBy::head;
  const PairedTraining training = trained_pair(plan, 3);
  TrainRecord record = training.record();
  PairedTrainingState state = training.state();
  record.runs[0].stopped = "Run a diverged at step 3.";
  record.runs[0].steps.pop_back();
  state.runs[0] = trained_pair(plan, 2).state().runs[0];
  write_checkpoint(scratch_ / "c", record, state);
  const std::string of_a = scratch_ / "a.safetensors", of_b = scratch_ / "b.safetensors";
  attoscope(resumed(scratch_ / "c", {"--save-qkv", "a:0:0=" + of_a, "--save-qkv", "b:0:0=" + of_b}));
  EXPECT_THAT(bytes_of_file(of_a), HasSubstr("\"step\":\"2\""));
  EXPECT_THAT(bytes_of_file(of_b), HasSubstr("\"step\":\"6\""));
}

TEST_F(TrainCommand, LossesAreComparedAtTheSameStep) {
  const TrainRecord r = trained_pair(tiny_plan(TrainKind::replay), 5).record();
  ASSERT_EQ(r.runs[0].steps.back().step, 3);
  const double a = r.runs[0].steps.back().loss, b = r.runs[1].steps[2].loss;
  EXPECT_THAT(train_report(r), HasSubstr("\nat step 3: loss of a "));
  EXPECT_THAT(train_report(r), HasSubstr("difference " + short_number(a - b) + "\n"));
  EXPECT_THAT(train_report(trained_pair(tiny_plan(TrainKind::replay), 6).record()), HasSubstr("\nloss of a "));
}

TEST_F(TrainCommand, BisectingRanksAndReplayingMeasuresASingleStep) {
  EXPECT_THAT(output_of(tiny({"--kind", "bisect", "--bisect", "head"})),
              AllOf(HasSubstr("a with this made exact"), HasSubstr("layer 0 head 0 exact"), HasSubstr("layer 0 head 1 exact")));
  EXPECT_THAT(output_of(tiny({"--kind", "replay", "--json", scratch_ / "t.json"})),
              AllOf(HasSubstr("a from b's state"), HasSubstr("share of b's own step")));
  const nlohmann::json points = json_of_file(scratch_ / "t.json")["pairs"][0]["points"];
  EXPECT_GT(points["step_size"].back()[0], 0);
  EXPECT_GT(points["rel_l2"].back()[0], 0);
}

TEST_F(TrainCommand, BsOwnStepIsMeasuredByItsWeights) {
  scratch_.write("text.txt", made_text(4000));
  PairedTraining training = by_hand(1);
  const std::vector<float> before = training.weights(1);
  training.step();
  const std::vector<float>& after = training.weights(1);
  double step = 0, size = 0;
  for (std::size_t i = 0; i < after.size(); ++i) {
    step += std::pow(double{after[i]} - double{before[i]}, 2);
    size += std::pow(double{after[i]}, 2);
  }
  EXPECT_GT(step, 0);
  EXPECT_NEAR(training.record().pairs[0].points.back().deviations[0].step_size / std::sqrt(step / size), 1, 1e-9);
}

TEST_F(TrainCommand, DivergenceSaysWhereAndKeepsWhatThereWas) {
  const Outcome outcome = attoscope(tiny({"--rate", "10", "--final-rate", "10", "--clip", "0", "--steps", "400", "--checkpoint",
                                          scratch_ / "c", "--checkpoint-every", "1", "--json", scratch_ / "t.json"}));
  EXPECT_EQ(outcome.code, 1);
  EXPECT_THAT(outcome.err,
              AllOf(HasSubstr("diverged at step"), HasSubstr("; the last checkpoint is " + (scratch_ / "c") + " at step ")));
  const nlohmann::json json = json_of_file(scratch_ / "t.json");
  EXPECT_THAT(json["runs"][0]["stopped"].get<std::string>() + json["runs"][1]["stopped"].get<std::string>(),
              HasSubstr("diverged"));
  EXPECT_EQ(read_checkpoint(scratch_ / "c").state.step, json["step"]);
}

TEST_F(TrainCommand, ASignalStopsBetweenStepsAndKeepsTheState) {
  const pid_t self = getpid();
  sigset_t set, before;  // other threads of this test must not take the signal
  sigemptyset(&set);
  sigaddset(&set, SIGINT);
  pthread_sigmask(SIG_BLOCK, &set, &before);
  const std::vector<std::string> arguments = tiny({"--steps", "1000000", "--checkpoint", scratch_ / "c"});
  std::jthread sender([self](const std::stop_token& stop) {
    std::this_thread::sleep_for(std::chrono::milliseconds(300));
    if (!stop.stop_requested()) kill(self, SIGINT);
  });
  const Outcome outcome = attoscope(arguments);
  sender.request_stop();
  sender.join();
  const timespec soon{};
  sigtimedwait(&set, nullptr, &soon);
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
  EXPECT_EQ(outcome.code, 1);
  EXPECT_THAT(outcome.err, AllOf(HasSubstr("stopped at step "), HasSubstr("--resume " + (scratch_ / "c") + " goes on")));
  EXPECT_THAT(outcome.out, HasSubstr("a - b"));
  EXPECT_THAT(outcome.err,
              HasSubstr("stopped at step " + std::to_string(read_checkpoint(scratch_ / "c").state.step) + " of 1000000"));
}

TEST_F(TrainCommand, ASignalStopsTheDrawingAlone) {
  const GnuplotStandIn gnuplot("kill -TERM $$");
  const std::string picture = scratch_.write("f.svg", "old");
  const Outcome outcome = attoscope(tiny({"--figure", picture, "--json", scratch_ / "t.json"}));
  EXPECT_EQ(outcome.code, 1);
  EXPECT_THAT(outcome.err, HasSubstr("stopped before " + picture + " was drawn; nothing of the figure was written"));
  EXPECT_EQ(bytes_of_file(picture), "old");
  EXPECT_EQ(json_of_file(scratch_ / "t.json")["step"], 6);
  const Outcome seeds = attoscope(tiny({"--seeds", "2", "--figure", picture, "--csv", scratch_ / "t.csv"}));
  EXPECT_THAT(seeds.err, HasSubstr("stopped before " + picture + " was drawn"));
  EXPECT_EQ(bytes_of_file(picture), "old");
  EXPECT_NE(bytes_of_file(scratch_ / "t.csv"), "");
}

TEST_F(TrainCommand, TheFigureStandsBesideItsData) {
  attoscope(tiny({"--figure", scratch_ / "f.svg"}));
  EXPECT_THAT(bytes_of_file(scratch_ / "f.csv"), AllOf(HasSubstr("a - b"), HasSubstr("a - exact"), HasSubstr("b - exact")));
  const nlohmann::json json = json_of_file(scratch_ / "f.json");
  EXPECT_EQ(json["figure"], "train-weights");
  EXPECT_EQ(json["plan"]["recipe"]["steps"], 6);
  EXPECT_EQ(json["digests"].size(), 3U);
}

}  // namespace
}  // namespace attoscope
