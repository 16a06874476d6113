#include "app/sweep/sweeper.h"

#include <algorithm>
#include <array>
#include <exception>
#include <new>
#include <thread>

#include "app/files/paths.h"
#include "app/sweep/point_cache.h"
#include "app/sweep/runner.h"
#include "app/words/devices.h"
#include "kernels/experiment/rules.h"
#include "kernels/experiment/settings.h"
#include "kernels/parallel/parallel.h"

namespace attoscope {
namespace {

using namespace std::chrono_literals;

constexpr std::array<std::string_view, 7> plain_quantities{
    "rescales", "expected_rescales", "nominal_rescales", "golden_rms", "algorithm0_bytes", "flash1_bytes", "flash2_bytes"};

void add_steps(SweepOffer& offer, const std::string& method) {
  for (const StepInfo& step : step_infos) {
    const std::string key = method + "." + std::string(step.name);
    offer.parameters.push_back({key, key, std::string(step.what), "rounding of " + method, "exact,fp32,bf16,fp16", false});
  }
}

/// "a.mean_abs/golden", or the plain name of a measure without a method.
std::string measure_name(const SweepPlan& plan, SweepSubject subject) {
  const DeviationMeasure* const field = deviation_measure(plan.measure);
  if (field == nullptr) return plan.measure;
  if (plan.relation == SweepRelation::ratio) return "ratio." + plan.measure;
  const std::string name = std::string(sweep_subject_names[subject]) + "." + plan.measure;
  return plan.relation == SweepRelation::golden && is_divisible(*field) ? name + "/golden" : name;
}

/// The parameter with valid values. Throws with one sentence.
Axis axis_of(const VariedParameter& varied, const Experiment& base) {
  Axis axis = parse_axis(varied.key + "=" + varied.values);
  for (const std::string& value : axis.values) {
    Experiment e = base;
    vary(e, axis.key, value);
  }
  return axis;
}

/// The base with the axes' first values, and without the traced row unless it matters to summaries.
Experiment settled_base(const Sweep& s) {
  Experiment e = s.base;
  if (e.problem.rows == 0) e.problem.traced_row = -1;
  for (const Axis& axis : s.axes) vary(e, axis.key, axis.values.front());
  return e;
}

/// All threads but one, which draws.
int sweep_threads() { return std::max(1, default_concurrency() - 1); }

/// Records cached points, and invalid ones; false if it was stopped.
bool look_up(const SweepLedger& ledger, const PointCache& cache, const std::function<bool()>& stopped,
             const std::function<void(const SweepAnswer&)>& finished) {
  for (const std::size_t index : ledger.missing(ledger.points())) {
    if (stopped()) return false;
    try {
      if (auto known = cache.find(experiment_of(ledger.sweep(), index))) finished({index, true, std::move(known), "", 0});
    } catch (const std::exception& error) {
      finished({index, false, std::nullopt, error.what(), 0});
    }
  }
  return true;
}

/// Takes the worker's answer; on failure sets `message`.
template <class W>
auto taken(W& worker, std::string& message) -> decltype(worker.take()) {
  try {
    return worker.take();
  } catch (const std::bad_alloc&) {
    message = "There is not enough memory for this sweep.";
  } catch (const std::exception& error) {
    message = error.what();
  }
  return std::nullopt;
}

}  // namespace

std::shared_ptr<const SweepOffer> sweep_offer() {
  auto offer = std::make_shared<SweepOffer>();
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

PlannedSweep planned(const SweepPlan& plan, const Experiment& base) {
  PlannedSweep p;
  Sweep sweep{.base = base, .axes = {}, .seeds = plan.seeds, .measure = {}};
  const std::array<const VariedParameter*, 2> varied{&plan.first, &plan.second};
  bool well = true;
  for (std::size_t i = 0; i < varied.size(); ++i) {
    if (varied[i]->key.empty()) continue;
    try {
      sweep.axes.push_back(axis_of(*varied[i], base));
      p.about.values[i] = sweep.axes.back().values;
    } catch (const std::exception& error) {
      p.about.wrong_values[i] = error.what();
      well = false;
    }
  }
  try {
    sweep.measure = parse_measure(measure_name(plan, plan.subject));
    if (deviation_measure(plan.measure) != nullptr && plan.relation != SweepRelation::ratio)
      p.rival = rival_of(sweep, sweep.measure);
    if (well) p.about.no_seeds = why_no_seeds(sweep);
    if (!p.about.no_seeds.empty()) sweep.seeds = 1;
    if (base.problem.input.kind == InputKind::tensors && plan.over != SweepOver::seed) {
      sweep.over = {plan.over, plan.over == SweepOver::window ? plan.window : 0};
      sweep.seeds = repetitions(sweep.over, base);
    }
    p.about.repeats = count_text(sweep.over, sweep.seeds), p.about.count = sweep.seeds;
    if (well) p.about.points = point_count(sweep);
  } catch (const std::exception& error) {
    p.about.wrong = error.what();
    well = false;
  }
  if (well) p.sweep = std::move(sweep);
  return p;
}

bool same_points(const Sweep& x, const Sweep& y) {
  return x.axes == y.axes && x.seeds == y.seeds && x.over == y.over && settled_base(x) == settled_base(y);
}

SweepView computed_sweep(const Session& session, const Cancelled& cancelled) {
  PlannedSweep p = planned(session.sweep, session.experiment);
  SweepView view{sweep_offer(), nullptr, p.about};
  if (!p.sweep) return view;
  SweepLedger ledger(*p.sweep);
  PointCache cache(default_point_cache());
  run_sweep(*p.sweep, {.cancelled = cancelled,
                       .cache = &cache,
                       .device = usable_device(session.device).spec,
                       .finished = [&](const SweepAnswer& a) { ledger.add(a); }});
  if (cancelled && cancelled()) throw Stopped();
  view.table = ledger.table(p.sweep->measure, p.rival);
  view.progress.state = SweepProgress::State::done;
  view.progress.done = ledger.done();
  view.progress.failed = ledger.failed();
  view.progress.remark = cache.remark();
  return view;
}

/// Function of the thread that fills the ledger. It also opens the cache, as reading a large directory takes time.
std::function<bool(const Sweeper::PointsQuestion&, const std::function<bool()>&)> Sweeper::finder(
    std::shared_ptr<Shared> shared, std::function<void()> published, std::string directory) {
  struct Own {
    std::optional<PointCache> cache;
    std::weak_ptr<SweepLedger> ledger;  ///< of the last question
    Clock::time_point told{};
  };
  return [shared = std::move(shared), published = std::move(published), directory = std::move(directory),
          own = std::make_shared<Own>()](const PointsQuestion& q, const std::function<bool()>& cancelled) {
    constexpr std::size_t batch = 4096;
    if (!own->cache) own->cache.emplace(directory);
    PointCache& cache = *own->cache;
    if (own->ledger.lock() != q.ledger) cache.begin_sweep();
    own->ledger = q.ledger;
    const auto stopped = [&] { return cancelled() || shared->question != q.number; };
    const auto finished = [&](const SweepAnswer& answer) {
      q.ledger->add(answer);
      if (Clock::now() - own->told < 100ms) return;
      own->told = Clock::now();
      if (published) published();
    };
    if (!q.computes) return look_up(*q.ledger, cache, stopped, finished);
    for (std::vector<std::size_t> missing; !(missing = q.ledger->missing(batch)).empty() && !stopped();) {
      run_sweep(q.ledger->sweep(), {.cancelled = [&] { return shared->held || stopped(); },
                                    .cache = &cache,
                                    .threads = sweep_threads(),
                                    .device = q.device,
                                    .only = std::move(missing),
                                    .finished = finished});
      while (shared->held && !stopped()) std::this_thread::sleep_for(5ms);
    }
    const std::lock_guard lock(shared->mutex);
    shared->remark = cache.remark();
    return true;
  };
}

Sweeper::Sweeper(std::function<void()> published, std::string cache)
    : points_(finder(shared_, published, std::move(cache)), published),
      tables_([](const TableQuestion& q,
                 const std::function<bool()>&) { return TableAnswer{q, q.ledger->table(q.measure, q.rival)}; },
              published) {}

void Sweeper::update(const Session& session, bool explore_computes) {
  const Clock::time_point now = Clock::now();
  if (explore_computes) explored_at_ = now;
  shared_->held = now - explored_at_ < 200ms;
  if (session.view.workspace == Workspace::sweep) plan(session);
  taken(points_, message_);
  if (wanted_ == State::running && !points_.busy()) wanted_ = State::idle;
  take_table();
}

void Sweeper::plan(const Session& session) {
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
  points_.submit({++shared_->question, ledger_, wanted_ == State::running, usable_device(device_).spec});
}

/// Takes a new table and requests the next one, after four times the time that the last one took.
void Sweeper::take_table() {
  if (std::optional<TableAnswer> answer = taken(tables_, message_)) {
    shown_ = std::move(*answer);
    tabled_in_ = Clock::now() - tabled_at_;
  }
  if (!ledger_ || !planned_.sweep || tables_.busy()) return;
  TableQuestion wanted{ledger_, planned_.sweep->measure, planned_.rival, ledger_->changes()};
  const bool same = shown_ && shown_->question.ledger == wanted.ledger && shown_->question.measure == wanted.measure &&
                    shown_->question.rival == wanted.rival;
  if (same && (shown_->question.changes == wanted.changes || Clock::now() - tabled_at_ < 4 * tabled_in_)) return;
  tabled_at_ = Clock::now();
  tables_.submit(std::move(wanted));
}

SweepProgress::State Sweeper::state() const {
  if (ledger_ && ledger_->done() == ledger_->points()) return State::done;
  return wanted_;
}

SweepView Sweeper::view() const {
  SweepView view{offer_, shown_ ? shown_->table : nullptr, planned_.about};
  SweepProgress& p = view.progress;
  p.state = state();
  p.waits = p.state == State::running && shared_->held;
  p.stale =
      !planned_.sweep || !shown_ || shown_->question.ledger != ledger_ || shown_->question.measure != planned_.sweep->measure;
  p.remark = message_;
  if (ledger_) {
    p.points = ledger_->points();
    p.done = ledger_->done();
    p.failed = ledger_->failed();
    const double fresh = ledger_->computed_share() - begun_share_,
                 spent = std::chrono::duration<double>(Clock::now() - begun_at_).count();
    if (p.state == State::running && fresh > 0) p.seconds_left = spent / fresh * (1 - ledger_->share());
  }
  if (p.remark.empty() && !points_.busy()) {
    const std::lock_guard lock(shared_->mutex);
    p.remark = shared_->remark;
  }
  return view;
}

std::string Sweeper::handle(const Requests& requests, Session& session) {
  switch (requests.sweep) {
    case SweepRequest::none:
      break;
    case SweepRequest::run:
      if (!ledger_ || !planned_.sweep) break;
      if (state() != State::paused) ledger_->forget_failures();
      wanted_ = State::running;
      ask();
      break;
    case SweepRequest::pause:
    case SweepRequest::cancel:
      wanted_ = requests.sweep == SweepRequest::pause ? State::paused : State::idle;
      ++shared_->question;
      break;
  }
  if (!requests.open_point || !shown_) return "";
  const SweepLedger& ledger = *shown_->question.ledger;
  const std::optional<std::size_t> point = ledger.point_at(*requests.open_point);
  if (!point) return "This point is not computed yet.";
  try {
    session.experiment = experiment_of(ledger.sweep(), *point);
  } catch (const std::exception& error) {
    return error.what();
  }
  session.view.square_tiles &= has_square_tiles(session.experiment.a);
  session.view.workspace = Workspace::explore;
  look_at_all(session.view);
  return "";
}

}  // namespace attoscope
