// Figures of trainings: their numbers are the record's, and their JSON makes them again.
#include "app/train/train_figures.h"

#include <nlohmann/json.hpp>

#include "app/papers/named_bundle.h"
#include "app/train/trained.h"
#include "tests/app/outcome.h"
#include "tests/support/figure_support.h"
#include "tests/support/matchers.h"
#include "tests/support/temporary_directory.h"
#include "tests/support/train_support.h"

namespace attoscope {
namespace {

using namespace testing;  // attoscope::testing

class TrainFigures : public ::testing::Test {
 protected:
  TrainFigures() : plan(tiny_training(scratch_.write("text.txt", made_text(3000)))) {}
  std::string bundle(const std::string& name) const {
    AskedFigure asked;
    asked.name = name;
    asked.plan = plan;
    return scratch_.write(name + ".json", json_text(asked_json(asked)));
  }
  const TemporaryDirectory scratch_;
  TrainPlan plan;
};

TEST_F(TrainFigures, HoldTheRecordsNumbers) {
  const TrainRecord r = trained(plan).record;
  const Figure f = train_weights_figure(r);
  ASSERT_EQ(f.panels.size(), 2u);
  const PairRecord& pair = r.pairs[0];
  ASSERT_EQ(f.panels[0].series.size(), 1u);
  ASSERT_EQ(f.panels[0].series[0].y.size(), pair.points.size());
  for (std::size_t i = 0; i < pair.points.size(); ++i) {
    EXPECT_EQ(f.panels[0].series[0].x[i], pair.points[i].step);
    EXPECT_EQ(f.panels[0].series[0].y[i], pair.points[i].deviations[0].wasserstein);
    EXPECT_EQ(f.panels[1].series[0].y[i], pair.points[i].deviations[0].rel_l2);
  }
  EXPECT_TRUE(f.panels[0].y.log);
  EXPECT_THAT(f.caption, HasSubstr("2 layers x 16"));
  EXPECT_THROW(train_reference_figure(r), std::invalid_argument);
}

TEST_F(TrainFigures, OfReferencesAreSharesOfAnotherInitialisation) {
  plan.kind = TrainKind::reference;
  const TrainRecord r = trained(plan).record;
  const Figure f = train_figure(r);
  ASSERT_EQ(f.panels[0].series.size(), r.pairs.size());
  EXPECT_EQ(f.panels[0].series[0].label, "a - b");
  EXPECT_EQ(f.panels[0].series[0].ink, Ink::a);
  for (std::size_t p = 0; p < r.pairs.size(); ++p)
    for (std::size_t i = 0; i < r.pairs[p].points.size(); ++i)
      EXPECT_DOUBLE_EQ(f.panels[0].series[p].y[i],
                       r.pairs[p].points[i].deviations[0].wasserstein / r.pairs[1].points[i].deviations[0].wasserstein);
  EXPECT_EQ(f.panels[0].series[1].y.back(), 1) << "the unit itself";
  EXPECT_LT(f.panels[0].series[0].y.back(), 1) << "a method matters less than a seed";
}

TEST(TrainFiguresOverSeeds, CutTheKeysIntoEightTiles) {
  for (const auto& trainings : {weights_trainings({}), reference_trainings({})})
    for (const FigureTraining& t : trainings) {
      EXPECT_GE(t.plan.model.context / t.plan.a.method.block_k, 8) << t.line;
      EXPECT_GE(t.plan.model.context / t.plan.b.method.block_k, 8) << t.line;
      EXPECT_NO_THROW(validate(t.plan));
    }
}

TEST_F(TrainFigures, HoldTheMeanOfTheirSeeds) {
  std::vector<FigureRecord> records;
  double mean = 0;
  for (std::uint64_t seed = 1; seed <= 3; ++seed) {
    TrainPlan one = plan;
    one.recipe.seed = seed;
    for (const char* const line : {"a - b", "a - exact", "b - exact", "other tiles"})
      records.push_back({line, trained(one).record});
    mean += records.back().record.pairs[0].points.back().deviations[0].wasserstein / 3;
  }
  const Figure f = weights_over_seeds({.seeds = 3}, records);
  ASSERT_EQ(f.panels.at(0).series.size(), 4u);
  const Series& s = f.panels[0].series[0];
  EXPECT_DOUBLE_EQ(s.y.back(), mean);
  EXPECT_GE(s.high.back(), s.y.back());
  EXPECT_LE(s.low.back(), s.y.back());
  EXPECT_THAT(f.caption, HasSubstr("1 times at the end, so that much of a - b is not the attention's own rounding"));
  EXPECT_THAT(f.caption, HasSubstr("mean, least and greatest over seeds 1 to 3"));
}

/// The figure of references in a short form, with a loss scale under which fp16 skips the first step.
TEST(TrainFiguresOverSeeds, MarkTheStepsThatFp16Skips) {
  std::vector<FigureRecord> records;
  int skipped = 0, control = 0;
  for (FigureTraining& t : reference_trainings({.seeds = 2})) {
    EXPECT_EQ(t.plan.recipe.steps, 1500);
    t.plan.recipe.steps = 20;
    t.plan.measure_every = 5;
    if (t.plan.recipe.loss_scale != 64) t.plan.recipe.loss_scale = 0x1p34;
    records.push_back({t.line, trained(t.plan).record});
    const TrainRecord& r = records.back().record;
    if (t.line == "fp16 - fp32, loss scale 64") control += skipped_steps(r.runs[0]);
    if (t.line == "a - b")
      for (const RunRecord& run : r.runs) skipped += run.run.name == "b in fp16" ? skipped_steps(run) : 0;
  }
  ASSERT_GT(skipped, 2);
  EXPECT_EQ(control, 0);
  const Figure f = references_over_seeds({.seeds = 2}, records);
  for (const FigurePanel& panel : f.panels) {
    const Series &curve = *std::ranges::find(panel.series, "fp16 - fp32", &Series::label),
                 &marks = *std::ranges::find(panel.series, "step that fp16 skipped", &Series::label);
    EXPECT_EQ(marks.shape, Shape::marks);
    ASSERT_EQ(marks.x.size(), static_cast<std::size_t>(skipped)) << "all seeds";
    EXPECT_EQ(marks.x[0], 1) << "the first step overflows";
    EXPECT_EQ(marks.y[0], curve.y[0]) << "a mark lies on the curve";
  }
  EXPECT_THAT(f.caption, HasSubstr("The loss scale of fp16 skips " + std::to_string(skipped) + " steps over all seeds"));
  EXPECT_THAT(f.caption, HasSubstr("(marked), the first at step 1; ")) << "at both seeds";
  EXPECT_THAT(f.caption, HasSubstr("with a loss scale of 64, which skips 0, "));
}

TEST_F(TrainFigures, AreDrawnAgainFromTheirJson) {
  if (!has_gnuplot()) GTEST_SKIP() << "there is no gnuplot";
  for (const char* const name : {"train-weights", "train-reference"}) {
    plan.kind = std::string_view(name) == "train-weights" ? TrainKind::methods : TrainKind::reference;
    succeed({"figure", bundle(name), "--out", scratch_ / "one.svg", "--quiet"});
    const nlohmann::json json = nlohmann::json::parse(bytes_of_file(scratch_ / "one.json"));
    EXPECT_EQ(json["digests"].size(), trained(plan).weights.size());
    EXPECT_EQ(json["plan"]["model"]["width"], 16);
    succeed({"figure", scratch_ / "one.json", "--out", scratch_ / "two.svg", "--quiet"});
    EXPECT_EQ(bytes_of_file(scratch_ / "one.csv"), bytes_of_file(scratch_ / "two.csv"));
    EXPECT_EQ(bytes_of_file(scratch_ / "one.json"), bytes_of_file(scratch_ / "two.json"));
  }
}

TEST_F(TrainFigures, SayWhenTheyAreNotWhatTheyWere) {
  if (!has_gnuplot()) GTEST_SKIP() << "there is no gnuplot";
  succeed({"figure", bundle("train-weights"), "--out", scratch_ / "one.svg", "--quiet"});
  nlohmann::ordered_json json = nlohmann::ordered_json::parse(bytes_of_file(scratch_ / "one.json"));
  json["digests"][1]["weights"] = "00000000000000ab";
  const std::string file = scratch_.write("changed.json", json.dump());
  const Outcome changed = attoscope({"figure", file, "--out", scratch_ / "two.svg", "--quiet"});
  EXPECT_EQ(changed.code, 1);
  EXPECT_THAT(changed.err, HasSubstr("the weights of b are not those"));
  scratch_.write("text.txt", made_text(3000, 9));
  EXPECT_THAT(attoscope({"figure", scratch_ / "one.json", "--out", scratch_ / "three.svg", "--quiet"}).err,
              HasSubstr("text.txt has changed"));
}

TEST_F(TrainFigures, RefuseWhatTheyCannotUse) {
  const auto refused = [&](const std::vector<std::string>& more) {
    const Outcome o = attoscope(with({"figure", "train-weights", "--out", scratch_ / "f.svg", "--quiet"}, more));
    EXPECT_EQ(o.code, 2) << o.out;
    return o.err;
  };
  EXPECT_THAT(refused({"--n", "64"}), HasSubstr("--n is '64'"));
  EXPECT_THAT(refused({"--all-policies"}), HasSubstr("--policy and --seeds alone"));
  EXPECT_THAT(attoscope({"figure", "train-weights", "--seeds", "2", "--out", scratch_ / "none/f.svg"}).err,
              HasSubstr("there is no directory"))
      << "the option is taken";
  EXPECT_THAT(attoscope({"figure", bundle("train-weights"), "--seeds", "2", "--out", scratch_ / "f.svg"}).err,
              HasSubstr("a training's plan takes --policy alone"));
  EXPECT_THAT(refused({"--policy", "base_eager"}), HasSubstr("a policy of Flash Attention"));
  plan.model.heads = 3;
  EXPECT_THAT(attoscope({"figure", bundle("train-weights"), "--out", scratch_ / "f.svg"}).err, HasSubstr("model.width is 16"));
  EXPECT_EQ(named_figures().size(), 26u);
  EXPECT_EQ(point_count({.name = "train-reference"}), 5u * 4 * 1500) << "four trainings of 1,500 steps at five seeds";
}

}  // namespace
}  // namespace attoscope
