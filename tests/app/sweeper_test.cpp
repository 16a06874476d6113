// The sweeper of the Sweep workspace: plans, tables, cached points, and priority of Explore over the sweep.
#include "app/sweep/sweeper.h"

#include <algorithm>
#include <atomic>
#include <cmath>
#include <thread>

#include "app/sweep/point_cache.h"
#include "kernels/compute.h"
#include "kernels/experiment/presets.h"
#include "tests/app/own_cache.h"
#include "tests/support/eventually.h"
#include "tests/support/matchers.h"
#include "tests/support/temporary_directory.h"

namespace attoscope::sweeper_test {
namespace {

using namespace testing;  // attoscope::testing
using State = SweepProgress::State;

Session small_session() {
  Session s;
  s.experiment.problem.n = 64;
  s.experiment.problem.d = 16;
  s.view.workspace = Workspace::sweep;
  s.sweep.first = {"block_k", "8:32:x2"};
  s.sweep.second = {"format", "bf16,fp16"};
  s.sweep.seeds = 2;
  return s;
}

/// A sweep that takes seconds.
Session long_session() {
  Session s = small_session();
  s.experiment.problem.n = 256;
  s.sweep.seeds = 400;
  return s;
}

/// Updates the sweeper until `done(view)`; false after the timeout.
template <class Done>
bool until(Sweeper& sweeper, const Session& session, Done done, bool explore_computes = false) {
  return eventually([&] {
    sweeper.update(session, explore_computes);
    return done(sweeper.view());
  });
}

Requests request(SweepRequest what) {
  Requests requests;
  requests.sweep = what;
  return requests;
}

bool same_cells(const SweepTable& x, const SweepTable& y) {
  return std::ranges::equal(x.cells, y.cells, [](const SweepCell& a, const SweepCell& b) {
    const auto same = [](double p, double q) { return p == q || (std::isnan(p) && std::isnan(q)); };
    return a.count == b.count && same(a.mean, b.mean) && same(a.std, b.std) && same(a.min, b.min) && same(a.max, b.max) &&
           same(a.rival, b.rival);
  });
}

bool complete(const SweepView& v) {
  return v.progress.state == State::done && !v.progress.stale && v.table &&
         std::ranges::all_of(v.table->cells, [&](const SweepCell& c) { return c.count == v.table->seeds; });
}

TEST(SweepOffer, EveryExampleIsAPlanAndEveryQuantityAMeasure) {
  const auto offer = sweep_offer();
  SweepPlan plan;
  for (const SweepParameter& p : offer->parameters) {
    plan.first = {p.key, p.example};
    Experiment base = default_experiment();
    if (p.key == "head") base.problem.input.kind = InputKind::tensors;
    const PlannedSweep planned_sweep = planned(plan, base);
    EXPECT_TRUE(planned_sweep.sweep) << p.key << ": " << planned_sweep.about.wrong_values[0] << planned_sweep.about.wrong;
    EXPECT_GE(planned_sweep.about.values[0].size(), 2u) << p.key;
    EXPECT_FALSE(p.what.empty() || p.title.empty() || p.group.empty()) << p.key;
  }
  EXPECT_EQ(offer->parameters.size(), axis_keys().size() + 2 * step_count);
  plan.first = {"n", "64"};
  for (const SweepQuantity& q : offer->quantities)
    for (int relation = 0; relation < 3; ++relation) {
      plan.measure = q.name;
      plan.relation = static_cast<SweepRelation>(relation);
      EXPECT_TRUE(planned(plan, default_experiment()).sweep) << q.name << relation;
    }
}

TEST(SweepPlan, CapturedInputsHaveNoSeedsToVary) {
  SweepPlan plan;
  plan.seeds = 5;
  Experiment base = default_experiment();
  const auto seeds = [&] {
    const PlannedSweep p = planned(plan, base);
    EXPECT_TRUE(p.sweep) << p.about.wrong << p.about.wrong_values[0];
    EXPECT_EQ(p.about.no_seeds.empty(), p.sweep->seeds == 5);
    EXPECT_EQ(p.about.points, p.about.values[0].size() * static_cast<std::size_t>(p.sweep->seeds));
    return p.sweep->seeds;
  };
  plan.first = {"block_k", "16:64:x2"};
  EXPECT_EQ(seeds(), 5);
  base.problem.input.kind = InputKind::tensors;
  EXPECT_EQ(seeds(), 1);
  EXPECT_THAT(planned(plan, base).about.no_seeds, HasSubstr("come from a file"));
  plan.first = {"input", "normal,uniform"};
  EXPECT_EQ(seeds(), 5);
  plan.first = {"a.O", "exact,bf16"};
  EXPECT_EQ(seeds(), 1);
  plan.first = {"a.O", "exact,bf16/stochastic"};
  EXPECT_EQ(seeds(), 5);
  plan.first = {"block_k", "16:64:x2"};
  base.b.precision[Step::P] = {Rounding::Kind::main, {}, true};
  EXPECT_EQ(seeds(), 5);
}

TEST(SweepPlan, SaysWhatIsMeasured) {
  SweepPlan plan;
  const auto measured = [&] { return planned(plan, default_experiment()).sweep->measure.name; };
  EXPECT_EQ(measured(), "a.mean_abs");
  EXPECT_EQ(planned(plan, default_experiment()).rival, Measure{"b.mean_abs"});
  plan.relation = SweepRelation::golden;
  EXPECT_EQ(measured(), "a.mean_abs/golden");
  EXPECT_EQ(planned(plan, default_experiment()).rival, Measure{"b.mean_abs/golden"});
  plan.subject = SweepSubject::a_minus_b;
  EXPECT_EQ(measured(), "a_minus_b.mean_abs/golden");
  EXPECT_FALSE(planned(plan, default_experiment()).rival);
  plan.measure = "cosine";
  EXPECT_EQ(measured(), "a_minus_b.cosine");
  plan.relation = SweepRelation::ratio;
  EXPECT_EQ(measured(), "ratio.cosine");
  plan.measure = "rescales";
  EXPECT_EQ(measured(), "rescales");
}

TEST(SweepPlan, SaysWhatIsWrongAndWhere) {
  SweepPlan plan;
  plan.first = {"block_k", "16:8:x2"};
  plan.second = {"format", "bf17"};
  PlannedSweep p = planned(plan, default_experiment());
  EXPECT_FALSE(p.sweep);
  EXPECT_THAT(p.about.wrong_values[0], HasSubstr("16:8:x2"));
  EXPECT_THAT(p.about.wrong_values[1], HasSubstr("bf17"));
  plan.first = plan.second = {"format", "bf16"};
  EXPECT_THAT(planned(plan, default_experiment()).about.wrong, HasSubstr("format twice"));
  plan.first = {"n", "1:4096"}, plan.second = {"block_k", "1:4096"};
  EXPECT_THAT(planned(plan, default_experiment()).about.wrong, HasSubstr("points"));
  plan = SweepPlan{};
  plan.measure = "beauty";
  EXPECT_THAT(planned(plan, default_experiment()).about.wrong, HasSubstr("beauty"));
  plan = SweepPlan{};
  plan.first = {};
  EXPECT_THAT(planned(plan, default_experiment()).about.wrong, HasSubstr("0 parameters"));
  for (const char* const values : {"", ",", ":", "x", "1:2:3:4", "nan", "1e999", "-1", "16;", "\xff"}) {
    plan.first = {"block_k", values};
    EXPECT_FALSE(planned(plan, default_experiment()).about.wrong_values[0].empty() && std::string_view(values) != "16;")
        << values;
  }
}

TEST(SweepPlan, AValueMayNeedTheOtherParameter) {
  SweepPlan plan;
  plan.first = {"tile_area", "48,96"}, plan.second = {"block_q", "48,24"};  // 64 rows of the base do not divide these
  const PlannedSweep p = planned(plan, default_experiment());
  ASSERT_TRUE(p.sweep) << p.about.wrong_values[0] << p.about.wrong;
  EXPECT_TRUE(same_points(*p.sweep, *p.sweep));
  EXPECT_EQ(with_values(*p.sweep, {1, 1}).a.block_k, 4);
  plan.second.values = "128";
  EXPECT_THAT(planned(plan, default_experiment()).about.wrong_values[0], HasSubstr("a multiple of block_q, which is 128"));
}

TEST(SweepPlan, PointsStayWhenWhatIsVariedChangesInTheBase) {
  const Session s = small_session();
  const Sweep sweep = *planned(s.sweep, s.experiment).sweep;
  Experiment other = s.experiment;
  other.a.block_k = other.b.block_k = 32;
  other.format = fp16;
  other.problem.traced_row = 7;
  EXPECT_TRUE(same_points(sweep, *planned(s.sweep, other).sweep));
  other.problem.seed = 5;
  EXPECT_FALSE(same_points(sweep, *planned(s.sweep, other).sweep));
  other = s.experiment;
  other.a.block_q = 8;
  EXPECT_FALSE(same_points(sweep, *planned(s.sweep, other).sweep));
  SweepPlan more = s.sweep;
  more.seeds = 3;
  EXPECT_FALSE(same_points(sweep, *planned(more, s.experiment).sweep));
  more = s.sweep;
  more.measure = "rms";
  EXPECT_TRUE(same_points(sweep, *planned(more, s.experiment).sweep));
}

TEST(SweepLedger, ItsTableIsTheCommandLinesWhoeverComesFirst) {
  const Session s = small_session();
  const Sweep sweep = *planned(s.sweep, s.experiment).sweep;
  std::vector<SweepAnswer> answers = run_sweep(sweep, {});
  SweepLedger ledger(sweep);
  const std::vector<SweepRow> expected = rows(sweep, sweep.measure, answers);
  std::ranges::reverse(answers);
  for (std::size_t i = 0; i < answers.size(); ++i) {
    ledger.add(answers[i]);
    ledger.add(answers[i]);  // the second answer of a point is ignored
    EXPECT_EQ(ledger.done(), i + 1);
    EXPECT_EQ(ledger.missing(99).size(), answers.size() - i - 1);
    if (i == 4) ledger.table({"b.rms"}, std::nullopt);
  }
  const auto table = ledger.table(sweep.measure, Measure{"b.mean_abs"});
  ASSERT_EQ(table->cells.size(), 6u);
  for (std::size_t i = 0; i < table->cells.size(); ++i) {
    const SweepCell& found = table->cells[i];
    EXPECT_THAT(expected[i].values,
                ElementsAre(table->axes[0].names[i / table->across()], table->axes[1].names[i % table->across()]));
    EXPECT_EQ(found.mean, expected[i].mean);
    EXPECT_EQ(found.std, expected[i].std);
    EXPECT_EQ(found.min, expected[i].min);
    EXPECT_EQ(found.max, expected[i].max);
    EXPECT_EQ(found.rival, rows(sweep, {"b.mean_abs"}, answers)[i].mean);
  }
  EXPECT_DOUBLE_EQ(ledger.share(), 1);
  EXPECT_THAT(table->axes[0].numbers, ElementsAre(8, 16, 32));
  EXPECT_TRUE(table->axes[1].numbers.empty());
  EXPECT_EQ(table->quantity, "mean |error|");
  EXPECT_EQ(table->of, "a");
}

TEST(SweepLedger, LongerSequencesAreMoreWork) {
  Session s = small_session();
  s.sweep.first = {"n", "64,128"};
  s.sweep.second = {};
  s.sweep.seeds = 1;
  SweepLedger ledger(*planned(s.sweep, s.experiment).sweep);
  ledger.add({0, true, PointSummary{}, "", 0});
  EXPECT_DOUBLE_EQ(ledger.share(), 0.2);
  EXPECT_EQ(ledger.computed_share(), 0);
  ledger.add({1, false, std::nullopt, "no room", 0});
  EXPECT_DOUBLE_EQ(ledger.computed_share(), 0.8);
  EXPECT_EQ(ledger.failed(), 1u);
  const auto table = ledger.table({"a.rms"}, std::nullopt);
  EXPECT_THAT(table->errors, ElementsAre("no room"));
  EXPECT_EQ(table->cells[1].error, 0);
  EXPECT_EQ(table->cells[1].count, 0);
  EXPECT_TRUE(std::isnan(table->cells[1].mean));
}

TEST(Sweeper, LooksUpAndComputesNothingUntilItIsTold) {
  const TemporaryDirectory scratch;
  Session s = small_session();
  Sweeper sweeper({}, scratch / "points");
  ASSERT_TRUE(until(sweeper, s, [](const SweepView& v) { return v.table && !v.progress.stale; }));
  ASSERT_TRUE(until(sweeper, s, [&](const SweepView&) { return !sweeper.busy(); }));
  EXPECT_EQ(sweeper.view().progress.done, 0u);
  EXPECT_EQ(sweeper.view().progress.points, 12u);
  sweeper.handle(request(SweepRequest::run), s);
  ASSERT_TRUE(until(sweeper, s, complete));
  const auto table = sweeper.view().table;
  const Sweep sweep = *planned(s.sweep, s.experiment).sweep;
  for (std::size_t point = 0; point < 12; ++point) {
    const PointPlace p = place_of(sweep, point);
    const Result r = compute(experiment_of(sweep, point));
    const SweepCell& c = table->cells[static_cast<std::size_t>(p.at[0] * 2 + p.at[1])];
    EXPECT_TRUE(c.min == r.a_error.mean_abs || c.max == r.a_error.mean_abs) << point;
  }
  Sweeper later({}, scratch / "points");
  ASSERT_TRUE(until(later, s, complete)) << "a new sweeper finds the finished points without a run";
  EXPECT_TRUE(same_cells(*later.view().table, *table));
  s.sweep.measure = "rms";
  ASSERT_TRUE(until(later, s, [&](const SweepView& v) { return complete(v) && v.table->quantity == "RMS error"; }))
      << "another measure needs no run, either";
}

TEST(Sweeper, PausesResumesAndCancels) {
  Session s = long_session();
  Sweeper sweeper({}, "");
  sweeper.update(s, false);
  sweeper.handle(request(SweepRequest::run), s);
  ASSERT_TRUE(until(sweeper, s, [](const SweepView& v) { return v.progress.done > 5 && v.progress.seconds_left > 0; }));
  EXPECT_EQ(sweeper.view().progress.state, State::running);
  sweeper.handle(request(SweepRequest::pause), s);
  ASSERT_TRUE(until(sweeper, s, [&](const SweepView&) { return !sweeper.busy(); }));
  const std::size_t at_pause = sweeper.view().progress.done;
  EXPECT_EQ(sweeper.view().progress.state, State::paused);
  for (int i = 0; i < 100; ++i) sweeper.update(s, false);
  // the table of the last points may still be in progress
  ASSERT_TRUE(until(sweeper, s, [&](const SweepView&) { return !sweeper.busy(); }));
  EXPECT_EQ(sweeper.view().progress.state, State::paused);
  EXPECT_EQ(sweeper.view().progress.done, at_pause) << "updates do not resume a paused sweep";
  sweeper.handle(request(SweepRequest::run), s);
  ASSERT_TRUE(until(sweeper, s, [&](const SweepView& v) { return v.progress.done > at_pause; }));
  sweeper.handle(request(SweepRequest::cancel), s);
  ASSERT_TRUE(until(sweeper, s, [&](const SweepView&) { return !sweeper.busy(); }));
  EXPECT_EQ(sweeper.view().progress.state, State::idle);
  EXPECT_GT(sweeper.view().progress.done, at_pause) << "finished points stay";
}

TEST(ComputedSweep, StopsAtOnceWhenItIsAskedTo) {
  const OwnCache own;
  std::atomic<int> polls{0};
  EXPECT_THROW(computed_sweep(long_session(), [&] { return ++polls > 100; }), Stopped);
  EXPECT_LT(polls, 10000);
}

TEST(Sweeper, TheNewestPlanComesFirst) {
  Session s = long_session();
  Sweeper sweeper({}, "");
  sweeper.update(s, false);
  sweeper.handle(request(SweepRequest::run), s);
  ASSERT_TRUE(until(sweeper, s, [](const SweepView& v) { return v.progress.done > 2; }));
  s.experiment.problem.n = 64;
  s.sweep = small_session().sweep;
  ASSERT_TRUE(until(sweeper, s, complete)) << "the sweep goes on with the new plan";
  EXPECT_EQ(sweeper.view().progress.points, 12u);
}

TEST(Sweeper, ExploreComesFirst) {
  Session s = long_session();
  Sweeper sweeper({}, "");
  sweeper.update(s, false);
  sweeper.handle(request(SweepRequest::run), s);
  ASSERT_TRUE(until(sweeper, s, [](const SweepView& v) { return v.progress.done > 2; }));
  s.view.workspace = Workspace::explore;
  s.experiment.problem.n = 96;  // a change in Explore leaves the sweep's plan as it is
  ASSERT_TRUE(until(sweeper, s, [](const SweepView& v) { return v.progress.waits; }, true));
  const std::size_t in_progress = std::thread::hardware_concurrency(), held = sweeper.view().progress.done + in_progress;
  Experiment point = long_session().experiment;
  for (std::size_t i = 0; i < 4 * in_progress; ++i) {  // time in which so many points could be computed
    compute(point);
    sweeper.update(s, true);
  }
  EXPECT_LE(sweeper.view().progress.done, held) << "only points in progress may finish";
  ASSERT_TRUE(until(sweeper, s, [&](const SweepView& v) { return v.progress.done > held; }))
      << "the sweep goes on when Explore is idle";
  EXPECT_EQ(sweeper.view().progress.state, State::running);
}

TEST(Sweeper, OpensAPointAndFindsItsSweepAgain) {
  Session s = small_session();
  Sweeper sweeper({}, "");
  sweeper.update(s, false);
  sweeper.handle(request(SweepRequest::run), s);
  ASSERT_TRUE(until(sweeper, s, complete));
  Requests open;
  open.open_point = SweepPlace{2, 1};
  Session expected = s;
  EXPECT_EQ(sweeper.handle(open, s), "");
  expected.experiment.a.block_k = expected.experiment.b.block_k = 32;
  expected.experiment.format = fp16;
  expected.view.workspace = Workspace::explore;
  expected.view.square_tiles = false;
  EXPECT_EQ(s, expected);
  s.view.workspace = Workspace::sweep;
  sweeper.update(s, false);
  EXPECT_EQ(sweeper.view().progress.state, State::done) << "the same points: nothing is computed again";
  open.open_point = SweepPlace{9, 9};
  EXPECT_FALSE(sweeper.handle(open, s).empty());
}

TEST(Sweeper, APlanThatIsWrongStopsNothingAndNothingCrashes) {
  Session s = small_session();
  Sweeper sweeper({}, "/proc/attoscope");
  for (const char* const values : {"", "x", "1:2:3:4", "8:32:x2"}) {
    s.sweep.first.values = values;
    sweeper.update(s, false);
    sweeper.handle(request(SweepRequest::run), s);
  }
  ASSERT_TRUE(until(sweeper, s, complete));
  EXPECT_TRUE(until(sweeper, s, [](const SweepView& v) {
    return v.progress.remark.find("not kept in /proc/attoscope") != std::string::npos;
  }));
  s.sweep.first.values = "0";
  sweeper.update(s, false);
  EXPECT_FALSE(sweeper.view().progress.wrong_values[0].empty());
  EXPECT_TRUE(sweeper.view().progress.stale);
}

}  // namespace
}  // namespace attoscope::sweeper_test
