#include "app/sweep/sweeper.h"

#include <algorithm>
#include <array>
#include <exception>
#include <thread>

#include "app/files/paths.h"
#include "app/sweep/point_cache.h"
#include "app/sweep/runner.h"
#include "app/threads/job.h"
#include "app/words/devices.h"
#include "kernels/experiment/rules.h"
#include "kernels/experiment/settings.h"
#include "kernels/parallel/parallel.h"

namespace attoscope::app {
namespace {

using namespace std::chrono_literals;

constexpr std::array<std::string_view, 7> plain_quantities{
    "rescales", "expected_rescales", "nominal_rescales", "golden_rms", "algorithm0_bytes", "flash1_bytes", "flash2_bytes"};

void add_steps(ui::SweepOffer& offer, const std::string& method) {
  for (const StepInfo& step : step_infos) {
    const std::string key = method + "." + std::string(step.name);
    offer.parameters.push_back({key, key, std::string(step.what), "rounding of " + method, "exact,fp32,bf16,fp16", false});
  }
}

/// "a.mean_abs/golden", or the plain name of a measure without a method.
std::string measure_name(const ui::SweepPlan& plan, ui::SweepSubject subject) {
  const DeviationMeasure* const field = deviation_measure(plan.measure);
  if (field == nullptr) return plan.measure;
  if (plan.relation == ui::SweepRelation::ratio) return "ratio." + plan.measure;
  const std::string name = std::string(ui::sweep_subject_names[subject]) + "." + plan.measure;
  return plan.relation == ui::SweepRelation::golden && is_divisible(*field) ? name + "/golden" : name;
}

/// The base with the first value of a parameter, if that is valid.
Experiment with_first_value(const Experiment& base, const ui::VariedParameter& varied) try {
  const Axis axis = parse_axis(varied.key + "=" + varied.values);
  Experiment e = base;
  vary(e, axis.key, axis.values.front());
  return e;
} catch (const std::exception&) {
  return base;
}

/// The parameter with valid values. Throws with one sentence.
Axis axis_of(const ui::VariedParameter& varied, const Experiment& base) {
  Axis axis = parse_axis(varied.key + "=" + varied.values);
  for (const std::string& value : axis.values) {
    Experiment e = base;
    vary(e, axis.key, value);
  }
  return axis;
}

/// The base with the axes' first values, and without the traced row unless it matters to summaries.
Experiment settled_base(const Sweep& s) {
  Experiment e = with_values(s, {});
  if (e.problem.rows == 0) e.problem.traced_row = -1;
  return e;
}

/// All threads but one, which draws.
int sweep_threads() { return std::max(1, default_concurrency() - 1); }

/// Points of one question; its answers are published together.
constexpr std::size_t batch = 4096;

/// Calls finished() for cached points, and for invalid ones.
void look_up(const Sweep& sweep, const std::vector<std::size_t>& points, const PointCache& cache, const Cancelled& cancelled,
             const std::function<void(const SweepAnswer&)>& finished) {
  for (const std::size_t index : points) {
    if (cancelled()) return;
    try {
      if (auto known = cache.find(experiment_of(sweep, index))) finished({index, true, std::move(known), "", 0});
    } catch (const std::exception& error) {
      finished({index, false, std::nullopt, error.what(), 0});
    }
  }
}

/// Removes the points that are among the answers.
std::vector<std::size_t> without(std::vector<std::size_t> points, const std::vector<SweepAnswer>& found) {
  std::erase_if(points, [&](std::size_t index) { return std::ranges::find(found, index, &SweepAnswer::index) != found.end(); });
  return points;
}

}  // namespace

std::shared_ptr<const ui::SweepOffer> sweep_offer() {
  auto offer = std::make_shared<ui::SweepOffer>();
  for (const Parameter& p : experiment_parameters())
    if (!p.sweep.group.empty())
      offer->parameters.push_back({p.key, std::string(p.label), std::string(p.what), std::string(p.sweep.group),
                                   std::string(p.sweep.example), p.sweep.numeric});
  add_steps(*offer, "a");
  add_steps(*offer, "b");
  for (const DeviationMeasure& m : deviation_measures)
    offer->quantities.push_back({std::string(m.key), std::string(m.title), true, is_divisible(m)});
  for (const std::string_view name : plain_quantities)
    offer->quantities.push_back({std::string(name), title_of(Measure{std::string(name)}), false, false});
  return offer;
}

PlannedSweep planned(const ui::SweepPlan& plan, const Experiment& base) {
  PlannedSweep p;
  Sweep sweep{.base = base, .axes = {}, .seeds = plan.seeds, .measure = {}};
  const std::array<const ui::VariedParameter*, 2> varied{&plan.first, &plan.second};
  for (std::size_t i = 0; i < varied.size(); ++i) {
    if (varied[i]->key.empty()) continue;
    p.about.wrong_values[i] = failure_of([&] {
      sweep.axes.push_back(axis_of(*varied[i], with_first_value(base, *varied[1 - i])));
      p.about.values[i] = sweep.axes.back().values;
    });
  }
  const bool well = p.about.wrong_values[0].empty() && p.about.wrong_values[1].empty();
  p.about.wrong = failure_of([&] {
    sweep.measure = parse_measure(measure_name(plan, plan.subject));
    if (deviation_measure(plan.measure) != nullptr && plan.relation != ui::SweepRelation::ratio)
      p.rival = rival_of(sweep, sweep.measure);
    if (well) p.about.no_seeds = why_no_seeds(sweep);
    if (!p.about.no_seeds.empty()) sweep.seeds = 1;
    if (base.problem.input.kind == InputKind::tensors && plan.over != ui::SweepOver::seed) {
      sweep.over = {plan.over, plan.over == ui::SweepOver::window ? plan.window : 0};
      sweep.seeds = repetitions(sweep.over, base);
    }
    p.about.repeats = count_text(sweep.over, sweep.seeds);
    p.about.count = sweep.seeds;
    if (well) {
      p.about.points = point_count(sweep);
      with_values(sweep, {});
    }
  });
  if (well && p.about.wrong.empty()) p.sweep = std::move(sweep);
  return p;
}

bool same_points(const Sweep& x, const Sweep& y) {
  return x.axes == y.axes && x.seeds == y.seeds && x.over == y.over && settled_base(x) == settled_base(y);
}

ui::SweepView computed_sweep(const ui::Session& session, const Cancelled& cancelled) {
  PlannedSweep p = planned(session.sweep, session.experiment);
  ui::SweepView view{sweep_offer(), nullptr, p.about};
  if (!p.sweep) return view;
  SweepLedger ledger(*p.sweep);
  PointCache cache(default_point_cache());
  const std::vector<SweepAnswer> answers = run_sweep(*p.sweep, {.cancelled = cancelled,
                                                                .cache = &cache,
                                                                .device = usable_device(session.device).spec,
                                                                .finished = [&](const SweepAnswer& a) { ledger.add(a); }});
  if (cancelled && cancelled()) throw Stopped();
  const auto table = ledger.table(p.sweep->measure, p.rival);
  table->digest = points_digest(answers);
  view.table = table;
  view.progress.state = ui::SweepProgress::State::done;
  view.progress.done = ledger.done();
  view.progress.failed = ledger.failed();
  view.progress.remark = cache.remark();
  return view;
}

/// Function of the thread that finds points. It also opens the cache, as reading a large directory takes time.
Worker<Sweeper::PointsQuestion, Sweeper::PointsAnswer>::Work Sweeper::finder(std::shared_ptr<std::atomic<bool>> held,
                                                                             std::string directory) {
  return [held = std::move(held), directory = std::move(directory), opened = std::make_shared<std::optional<PointCache>>()](
             const PointsQuestion& q, const Cancelled& cancelled, const std::function<void(PointsAnswer)>& publish) {
    if (!*opened) opened->emplace(directory);
    PointCache& cache = **opened;
    if (q.is_first) cache.begin_sweep();
    PointsAnswer answer{.number = q.number};
    Clock::time_point told{};
    const auto finished = [&](const SweepAnswer& point) {
      answer.found.push_back(point);
      if (Clock::now() - told < 100ms) return;
      told = Clock::now();
      publish(answer);
    };
    if (!q.computes) look_up(q.sweep, q.points, cache, cancelled, finished);
    std::vector<std::size_t> missing = q.computes ? q.points : std::vector<std::size_t>();
    for (; !missing.empty() && !cancelled(); missing = without(std::move(missing), answer.found)) {
      run_sweep(q.sweep, {.cancelled = [&] { return *held || cancelled(); },
                          .cache = &cache,
                          .threads = sweep_threads(),
                          .device = q.device,
                          .only = missing,
                          .finished = finished});
      while (*held && !cancelled()) std::this_thread::sleep_for(5ms);
    }
    answer.remark = cache.remark();
    return answer;
  };
}

Sweeper::Sweeper(std::function<void()> published, std::string cache)
    : points_(finder(held_, std::move(cache)), std::move(published)) {}

void Sweeper::update(const ui::Session& session, bool explore_computes) {
  const Clock::time_point now = Clock::now();
  if (explore_computes) explored_at_ = now;
  *held_ = now - explored_at_ < 200ms;
  if (session.view.workspace == ui::Workspace::sweep) plan(session);
  take_points();
  make_table();
}

void Sweeper::plan(const ui::Session& session) {
  if (read_ && plan_ == session.sweep && base_ == session.experiment && device_ == session.device) return;
  read_ = true;
  plan_ = session.sweep;
  base_ = session.experiment;
  device_ = session.device;
  message_.clear();
  planned_ = planned(plan_, base_);
  if (!planned_.sweep || (ledger_ && same_points(ledger_->sweep(), *planned_.sweep))) return;
  ledger_ = std::make_shared<SweepLedger>(*planned_.sweep);
  if (wanted_ == State::paused) wanted_ = State::idle;
  ask();
}

void Sweeper::ask() {
  begun_at_ = Clock::now();
  begun_share_ = ledger_->computed_share();
  ask_from(0);
}

void Sweeper::ask_from(std::size_t first) {
  points_.cancel();
  taken_ = 0;
  last_ = ledger_->missing(batch, first);
  asking_ = !last_.empty();
  if (asking_)
    points_.submit({++number_, ledger_->sweep(), last_, std::exchange(asked_of_, ledger_) != ledger_, wanted_ == State::running,
                    usable_device(device_).spec});
  else if (wanted_ == State::running)
    wanted_ = State::idle;
}

/// Takes found points, and asks for the next ones.
void Sweeper::take_points() {
  const bool was_busy = points_.busy();  // before `take`: an answer taken while idle is the last
  std::optional<PointsAnswer> answer;
  try {
    if (std::string failure = failure_of([&] { answer = points_.take(); }, "this sweep"); !failure.empty())
      message_ = std::move(failure);
  } catch (const Stopped&) {  // a newer question
  }
  if (answer && answer->number == number_) {
    for (; taken_ < answer->found.size(); ++taken_) ledger_->add(answer->found[taken_]);
    remark_ = answer->remark;
  }
  if (was_busy || !std::exchange(asking_, false)) return;
  if (answer)
    ask_from(wanted_ == State::running ? 0 : last_.back() + 1);
  else
    wanted_ = State::idle;
}

Sweeper::TableOf Sweeper::wanted_table() const {
  return {ledger_, planned_.sweep->measure, planned_.rival, ledger_->changes()};
}

bool Sweeper::is_table_old() const { return ledger_ && planned_.sweep && (!shown_ || shown_of_ != wanted_table()); }

/// Makes a new table of the same measure only after four times the time that the last one took.
void Sweeper::make_table() {
  if (!is_table_old()) return;
  TableOf wanted = wanted_table();
  const Clock::time_point now = Clock::now();
  const bool same = shown_of_.ledger == wanted.ledger && shown_of_.measure == wanted.measure && shown_of_.rival == wanted.rival;
  if (shown_ && same && now - tabled_at_ < 4 * tabled_in_) return;
  shown_ = ledger_->table(wanted.measure, wanted.rival);
  shown_of_ = std::move(wanted);
  tabled_at_ = Clock::now();
  tabled_in_ = tabled_at_ - now;
}

ui::SweepProgress::State Sweeper::state() const {
  if (ledger_ && ledger_->done() == ledger_->points()) return State::done;
  return wanted_;
}

ui::SweepView Sweeper::view() const {
  ui::SweepView view{offer_, shown_, planned_.about};
  ui::SweepProgress& p = view.progress;
  p.state = state();
  p.waits = p.state == State::running && *held_;
  p.stale = !planned_.sweep || !shown_ || shown_of_.ledger != ledger_ || shown_of_.measure != planned_.sweep->measure;
  p.remark = message_;
  if (ledger_) {
    p.points = ledger_->points();
    p.done = ledger_->done();
    p.failed = ledger_->failed();
    const double fresh = ledger_->computed_share() - begun_share_,
                 spent = std::chrono::duration<double>(Clock::now() - begun_at_).count();
    if (p.state == State::running && fresh > 0) p.seconds_left = spent / fresh * (1 - ledger_->share());
  }
  if (p.remark.empty()) p.remark = remark_;
  return view;
}

std::string Sweeper::handle(const ui::Requests& requests, ui::Session& session) {
  switch (requests.sweep) {
    case ui::SweepRequest::none:
      break;
    case ui::SweepRequest::run:
      if (!ledger_ || !planned_.sweep) break;
      if (state() != State::paused) ledger_->forget_failures();
      wanted_ = State::running;
      ask();
      break;
    case ui::SweepRequest::pause:
    case ui::SweepRequest::cancel:
      wanted_ = requests.sweep == ui::SweepRequest::pause ? State::paused : State::idle;
      points_.cancel();
      asking_ = false;
      break;
  }
  if (!requests.open_point || !shown_) return "";
  const SweepLedger& ledger = *shown_of_.ledger;
  const std::optional<std::size_t> point = ledger.point_at(*requests.open_point);
  if (!point) return "This point is not computed yet.";
  std::string failure = failure_of([&] { session.experiment = experiment_of(ledger.sweep(), *point); });
  if (!failure.empty()) return failure;
  session.view.square_tiles &= has_square_tiles(session.experiment.a);
  session.view.workspace = ui::Workspace::explore;
  look_at_all(session.view);
  return "";
}

}  // namespace attoscope::app
