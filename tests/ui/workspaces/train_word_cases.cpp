// A training record as curves, words and tables.
#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <string>

#include "tests/ui/cases.h"
#include "tests/ui/workspaces/made_record.h"
#include "ui/train/series.h"
#include "ui/widgets/panel_plot.h"
#include "ui/widgets/plot.h"
#include "ui/words/numbers.h"

namespace attoscope::testing::train_word_cases {
namespace {

constexpr double nan = std::numeric_limits<double>::quiet_NaN();

TrainPlan plan_of(TrainKind kind = TrainKind::methods) {
  TrainPlan plan = default_train_plan();
  plan.kind = kind;
  plan.with_exact = false;
  return plan;
}

CASE(train, growing) {
  Series curve = series_of("", Ink::a, Shape::line);
  constexpr int count = 100'000;
  for (int i = 1; i <= count; ++i) {
    curve.x.push_back(i), curve.y.push_back(i == 70'001 ? 9.0 : i == 30'002 ? -9.0 : i % 2);
    curve.low.push_back(i == 20'000 ? -7 : 0), curve.high.push_back(i == 20'001 ? 8 : 1);
  }
  const Series few = decimated(curve, 0, count, 400);
  hand.check(few.x.size() <= 800 && std::ranges::is_sorted(few.x), "very many points are thinned");
  hand.check(std::ranges::max(few.y) == 9 && std::ranges::min(few.y) == -9, "the peaks stay");
  hand.check(few.x[static_cast<std::size_t>(std::ranges::max_element(few.y) - few.y.begin())] == 70'001, "at their steps");
  hand.check(std::ranges::min(few.low) == -7 && std::ranges::max(few.high) == 8, "the band's peaks stay");
  const Series part = decimated(curve, 10.5, 20.5, 400);
  hand.check(part.x.front() == 10 && part.x.back() == 21 && part.x.size() == 12, "a part with its neighbours");
}

/// The article is not taken for the method a.
CASE(train, names_in_the_words_of_a_kind) {
  const std::string words = named(plan_of(), kind_words(TrainKind::reference));
  hand.check(has(words, "three-pass from another seed") && !has(words, "flash2"), words);
}

CASE(train, drawings) {
  const TrainPlan plan = plan_of(TrainKind::reference);
  auto record = made_record(plan, 100), longer = made_record(plan, 200);
  TrainDrawing d;
  TrainLook look;
  const auto newest = [&](std::size_t i) { return d.pairs.series[i].y.back(); };
  hand.check(refresh(d, record, look) && !refresh(d, record, look), "a drawing is made once");
  hand.check(d.pairs.series.size() == 5 && newest(0) == record->pairs[0].points.back().deviations[0].rel_l2,
             "a curve ends with the newest number");
  hand.check(d.last == 100, "the axis is a quarter of all steps");
  hand.check(refresh(d, longer, look) && d.taken_points[0] == 21 && d.pairs.series[0].x.size() == 21 && d.last == 200,
             "further steps extend the curve");
  look.relative = true;
  look.tensor = 2;
  refresh(d, longer, look);
  const auto number = [&](std::size_t pair) { return longer->pairs[pair].points.back().deviations[3].rel_l2; };
  hand.check(d.reference == 1 && newest(0) == number(0) / number(1) && newest(1) == 1, "relative to another initialisation");
  hand.check(reference_of(*made_record(plan_of(), 10), TrainMeasure::max_abs, -1) == -1, "without such a pair none");
  longer->forks.push_back({100, "a: policy eager -> hw"});
  hand.check(refresh(d, std::make_shared<TrainRecord>(*longer), look), "a fork is drawn anew");
  hand.check(refresh(d, record, look) && d.pairs.series[0].x.size() == 11, "going back shortens");
  hand.check(refresh(d, nullptr, look) && !d.record, "without a record there is no drawing");
  const auto direct = made_record(plan_of(TrainKind::replay), 100);
  look = {};
  refresh(d, direct, look);
  double sum = 0;
  for (const PairPoint& p : direct->pairs[0].points) sum += p.deviations[0].rel_l2;
  hand.check(d.pairs.series.size() == 2 && newest(1) == sum, "direct effects are added up");
  const HeadHealth head{{1000, 10, 500, 5, 50, 7, 1, -0.5, 2.0}, 3};
  hand.check(measure_of(head, RunMeasure::ties) == 0.01 && measure_of(head, RunMeasure::saturated) == 0.01 &&
                 measure_of(head, RunMeasure::underflowed) == 0.1 && measure_of(head, RunMeasure::delta_bias) == -0.25 &&
                 measure_of(head, RunMeasure::query_norm) == 3,
             "shares of heads");
  RunHealth health{1, {head, head}};
  health.heads[1].statistics.delta_error = 0.25;
  hand.check(measure_of(health, RunMeasure::delta_bias, -1) == -0.25 && measure_of(health, RunMeasure::delta_bias, 1) == 0.125,
             "the worst keeps its sign");
}

/// The picture of weights between two steps holds no number measured before them.
CASE(train, weights_of_some_steps) {
  std::vector<PairPoint> points;
  for (const auto& [step, change] : {std::pair{10, 9.0F}, {20, static_cast<float>(nan)}, {30, 1.0F}, {40, 2.0F}})
    points.push_back({step, 0, {}, {{change}}});
  const WeightCells cells = weight_cells(points, 0, {34, 44}, 10);
  hand.check(cells.columns == 10 && cells.values == std::vector<float>{1, 1, 1, 1, 1, 1, 2, 2, 2, 2},
             "each column shows the newest number of its step");
}

CASE(train, exact_attention) {
  TrainPlan plan = plan_of();
  plan.with_exact = true;
  auto r = made_record(plan, 400);
  for (const auto& [pair, rel_l2] : {std::pair{0, 4e-3}, {1, 3e-3}, {2, 2e-3}})
    r->pairs[static_cast<std::size_t>(pair)].points.back().deviations[0] = {1, 4e-5, rel_l2, 1, 1};
  const std::string sentence = train_words(made_view(r)).sentence;
  hand.expect_text(sentence, "flash2 − exact is 0.75× flash2 − three-pass, three-pass − exact 0.50×.");
  TrainDrawing d;
  refresh(d, r, {});
  const std::vector<Series>& curves = d.pairs.series;
  hand.check(curves.size() == 3 && curves[1].y.back() == 3e-3 && curves[2].y.back() == 2e-3,
             "a and b each have a curve from exact attention");
  hand.check(curves[1].label == "a - exact" && curves[2].label == "b - exact", "named");
  hand.check(curves[1].ink != curves[2].ink && curves[0].ink == Ink::a && curves[1].ink != Ink::a, "with different colours");
  const Series* const exact_run = find_series(d.runs, "exact");
  hand.check(exact_run != nullptr && exact_run->ink == Ink::golden, "the run with exact attention has golden's colour");
  hand.check(reference_of(*r, TrainMeasure::rel_l2, -1) == -1, "exact attention is no unit");
}

CASE(train, words_before_a_measure) {
  const auto r = made_record(plan_of(), 1);
  for (PairRecord& pair : r->pairs) pair.points.clear();
  hand.expect_text(train_words(made_view(r)).headline, "1 step taken");
}

CASE(train, words) {
  const std::string long_name(3000, 'x');
  hand.check(fmt::format("{} is {}", long_name, 7) == long_name + " is 7", "nothing is cut, however long it is");
  const auto say = [](const TrainRecord& r) { return train_words(made_view(std::make_shared<TrainRecord>(r))); };
  const auto is = [&](const std::string& found, const std::string& expected) { hand.expect_text(found, expected); };
  auto r = made_record(plan_of(TrainKind::reference), 400);
  const auto plant = [&](std::size_t pair, double rel_l2, double wasserstein, double max_abs = 1) {
    r->pairs[pair].points.back().deviations[0] = {max_abs, wasserstein, rel_l2, 1, 12.5};
  };
  plant(0, 3.1e-3, 4e-5), plant(1, 0.155, 0), plant(2, 1e-3, 0), plant(3, 1.24e-2, 0), plant(4, 1e-2, 0);
  is(say(*r).headline, "After 400 steps flash2 and three-pass differ by 3.1e-3 in relative L2, 4.0e-5 in Wasserstein-1");
  is(say(*r).sentence, "flash2 − three-pass is 0.02× another seed, 3.10× fp16 − fp32, 0.25× bf16 − fp32. ");
  plant(0, 0, 0, 0);
  is(say(*r).headline, "After 400 steps flash2 and three-pass are the same, bit for bit");
  plant(0, nan, nan, nan);
  hand.check(say(*r).bad, "a number that is not finite is bad");
  r->runs[0].stopped = "Run a diverged at step 401: the loss is NaN.";
  is(say(*r).headline, "Training stopped after 400 steps");
  is(say(*r).sentence,
     "The run of flash2 diverged at step 401: the loss is NaN. All steps until then are kept; the last kept state is of "
     "step 400.");
  r = made_record(plan_of(), 400);
  plant(0, 3.1e-3, 4e-5);
  r->pairs[0].points.back().loss_difference = -0.012;
  is(say(*r).sentence, "Loss flash2 − three-pass -1.2e-2; directionality 12 (random steps: 1, steps in one direction: 20).");
  is(train_words(ready_view(r->plan)).headline, "Does the deviation matter?");
  r = made_record(plan_of(TrainKind::replay), 20);
  for (PairPoint& p : r->pairs[0].points) p.deviations[0] = {1, 2e-8, p.step == 10 ? 4e-6 : 1e-6, 1, 1};
  is(say(*r).headline, "Step 20 alone: flash2 and three-pass differ by 1.0e-6 in relative L2, 2.0e-8 in Wasserstein-1");
  is(say(*r).sentence, "Mean over 3 measured steps 2.0e-6, largest 4.0e-6; feedback from step to step is excluded.");
  r = made_record(plan_of(TrainKind::bisect), 10);
  for (std::size_t p = 0; p < r->pairs.size(); ++p)
    r->pairs[p].points.back().deviations[0].rel_l2 = p == 0 ? 1.0 : p == 3 ? 0.1 : 0.5 + 0.01 * double(p);
  is(say(*r).sentence, "Deviation left: 0.10 with " + r->pairs[3].pair.name + ", 0.51 with " + r->pairs[1].pair.name +
                           fmt::format(", more with the other {}.", r->pairs.size() - 3));
  r = made_record(plan_of(), 10);
  is(runs_text(*r), "");
  r->plan.b.format = r->runs[1].run.method.format = fp16;
  for (const std::size_t step : {2u, 5u}) r->runs[1].steps[step].skipped = true;
  is(runs_text(*r), "skipped steps three-pass in fp16 2");
  r->runs[0].heldout_loss = 1.5, r->runs[1].heldout_loss = 0.67214;
  is(runs_text(*r), "held-out loss flash2 in bf16 1.500, three-pass in fp16 0.672; skipped steps three-pass in fp16 2");
  hand.check(runs_csv(*r).starts_with("run,step,loss,gradient_norm,rate,loss_scale,skipped\na,1,"), runs_csv(*r).substr(0, 80));
  hand.check(has(deviation_csv(*r), "\na - b,10,layer 0 W_Q,"), "every tensor is a line");
  hand.check(has(tensors_csv(*r, 0, -1), "\nlayer 1 W_2,512,128,"), tensors_csv(*r, 0, -1));
  hand.check(heads_csv(*r, 5).starts_with(health_csv(*r).substr(0, 200)), "the heads of the first measured step");
}

}  // namespace

}  // namespace attoscope::testing::train_word_cases
