#include "kernels/train/paired_training.h"

#include <algorithm>
#include <optional>
#include <stdexcept>
#include <utility>

#include "kernels/arithmetic/quoted.h"
#include "kernels/gpu/device.h"
#include "kernels/parallel/parallel.h"
#include "kernels/stop_token.h"
#include "kernels/train/plan/plan.h"
#include "kernels/train/record.h"

namespace attoscope {
namespace {

constexpr std::size_t run_a = 0, run_b = 1;

const TrainPlan& checked(const TrainPlan& plan) {
  validate(plan);
  check_text(plan);
  return plan;
}

/// The recorded plan with those settings of `plan` that change no number and therefore make no fork.
TrainPlan with_details_of(TrainPlan recorded, const TrainPlan& plan) {
  recorded.text = plan.text;
  recorded.measure_every = plan.measure_every;
  recorded.checkpoint_every = plan.checkpoint_every;
  return recorded;
}

/// Throws unless the plan has the record's text, model and batches, and starts from states that the record has.
void check_question(const TrainPlan& plan, const TrainPlan& recorded) {
  if (const std::string changes = question_changes(recorded, plan); !changes.empty())
    throw std::invalid_argument(
        "training goes on with the same text, model, batch, data seed and held-out part, and these differ: " + changes);
  if (const std::string why = untrained_start(recorded, plan); !why.empty()) throw std::invalid_argument(why);
}

bool is_direct(const std::vector<PairRecord>& pairs, std::size_t run) {
  return std::ranges::any_of(pairs, [&](const PairRecord& p) { return p.pair.role == Role::direct && at(p.pair.x) == run; });
}

/// True if a run of a record had stopped when the state was taken.
bool had_stopped(const TrainRecord& record, const PairedTrainingState& state, std::size_t run) {
  return !record.runs[run].stopped.empty() && state.runs[run].step < state.step;
}

void check_steps(const TrainPlan& plan, const TrainRecord& record, const PairedTrainingState& state) {
  if (state.step < 0 || state.step > record.step)
    throw std::invalid_argument("the state is of step " + std::to_string(state.step) +
                                ", expected one from 0 to the record's " + std::to_string(record.step));
  if (state.step > plan.recipe.steps)
    throw std::invalid_argument("recipe.steps is " + std::to_string(plan.recipe.steps) + ", expected at least " +
                                std::to_string(state.step) + ", the steps that were taken");
  for (std::size_t i = 0; i < state.runs.size(); ++i)
    if (state.runs[i].step != state.step && !had_stopped(record, state, i) && (i == run_b || !is_direct(record.pairs, i)))
      throw std::invalid_argument("the state of run " + record.runs[i].run.name + " is of step " +
                                  std::to_string(state.runs[i].step) + ", expected " + std::to_string(state.step));
}

void check_fits(const TrainPlan& plan, const TrainRecord& record, const PairedTrainingState& state) {
  check_question(plan, record.plan);
  if (state.runs.size() != record.runs.size() || state.paths.size() != record.pairs.size() || state.runs.size() <= run_b)
    throw std::invalid_argument("the state has " + std::to_string(state.runs.size()) + " runs and " +
                                std::to_string(state.paths.size()) + " comparisons, expected those of its record: " +
                                std::to_string(record.runs.size()) + " and " + std::to_string(record.pairs.size()));
  for (const auto& [pair, points] : record.pairs)
    if (at(pair.x) >= record.runs.size() || at(pair.y) >= record.runs.size())
      throw std::invalid_argument("comparison " + pair.name + " is of runs " + std::to_string(pair.x) + " and " +
                                  std::to_string(pair.y) + ", expected two of " + std::to_string(record.runs.size()));
  check_steps(plan, record, state);
}

/// The entries of `all` with steps up to `step`.
template <class T>
std::vector<T> until(std::vector<T> all, int step) {
  std::erase_if(all, [&](const T& x) { return x.step > step; });
  return all;
}

/// One sentence that says why nothing trains: both the device and its substitute failed.
std::string no_takeover(const DeviceFailure& failure, const std::runtime_error& why) {
  return with_full_stop(failure.what()) + " The CPU could not take over: " + why.what();
}

/// A run, and the recipe that it follows.
struct RunAndRecipe {
  const RunPlan& run;
  const Recipe& recipe;
};

/// A state of run `from` as the start of run `to`, with the loss scale of to's recipe if that is new or only `to` scales its
/// loss.
TrainState handed_over(TrainState state, const RunAndRecipe& from, const RunAndRecipe& to) {
  const bool was_scaled = scales_loss(from.run.method.format) && from.recipe.loss_scale == to.recipe.loss_scale;
  if (scales_loss(to.run.method.format) && !was_scaled) state.loss_scale = to.recipe.loss_scale;
  return state;
}

}  // namespace

struct PairedTraining::Parts {
  struct Run {
    Trainer trainer;
    std::vector<float> now, before;  ///< weights, and those before the last step
  };
  /// The reports of all runs on a step that is prepared but not committed; empty for idle and stopped runs.
  struct Attempt {
    std::vector<std::optional<StepReport>> reports;
    std::vector<std::string> stopped;
  };

  Parts(const TrainPlan& plan, const MakePrimitives& make) {
    const TrainRuns all = runs_of(checked(plan));
    record.plan = plan;
    for (const RunPlan& run : all.runs) {
      Trainer trainer(plan, run, make());
      std::vector<float> first = trainer.weights();
      runs.push_back({std::move(trainer), std::move(first), {}});
      record.runs.push_back({run, {}, {}, {}});
      order.push_back(order.size());
    }
    record.parameters = runs[run_a].trainer.parameters();
    record.device = runs[run_a].trainer.device();
    for (const PairPlan& pair : all.pairs) {
      record.pairs.push_back({pair, {}});
      meters.push_back(fresh_meter(pair));
    }
    std::stable_partition(order.begin(), order.end(), [&](std::size_t run) { return !direct(run); });
  }

  /// A meter that starts from the present weights of the pair.
  DeviationMeter fresh_meter(const PairPlan& pair) const {
    DeviationMeter meter(record.parameters);
    meter.follow(runs[at(pair.x)].now, runs[at(pair.y)].now);
    return meter;
  }

  void go_on_from(const TrainRecord& old, const PairedTrainingState& state) {
    for (std::size_t i = 0; i < runs.size(); ++i) take_over_run(i, old, state);
    for (std::size_t i = 0; i < meters.size(); ++i) take_over_pair(i, old, state);
    record.step = state.step;
    record.seconds = old.seconds;
    record.forks = until(old.forks, state.step);
    const std::string changes = plan_changes(with_details_of(old.plan, record.plan), record.plan);
    if (!changes.empty()) record.forks.push_back({state.step, changes});
    measure_held_out();
  }

  void take_over_run(std::size_t i, const TrainRecord& old, const PairedTrainingState& state) {
    Run& run = runs[i];
    RunRecord& known = record.runs[i];
    const auto place = std::ranges::find(old.runs, known.run.name, [](const RunRecord& r) { return r.run.name; });
    std::size_t was = static_cast<std::size_t>(place - old.runs.begin());
    if (place == old.runs.end() || (is_direct(old.pairs, was) && !direct(i))) {
      was = run_b;
    } else {
      known.steps = until(place->steps, state.step);
      known.health = until(place->health, state.step);
      if (had_stopped(old, state, was)) known.stopped = place->stopped;
    }
    run.trainer.restore(handed_over(state.runs[was], {old.runs[was].run, old.plan.recipe}, {known.run, record.plan.recipe}));
    run.now = run.trainer.weights();
  }

  void take_over_pair(std::size_t i, const TrainRecord& old, const PairedTrainingState& state) {
    PairRecord& known = record.pairs[i];
    const auto name_in = [](const TrainRecord& r, int run) -> const std::string& { return r.runs[at(run)].run.name; };
    const auto place = std::ranges::find_if(old.pairs, [&](const PairRecord& p) {
      return p.pair.name == known.pair.name && p.pair.role == known.pair.role &&
             name_in(old, p.pair.x) == name_in(record, known.pair.x) && name_in(old, p.pair.y) == name_in(record, known.pair.y);
    });
    if (place == old.pairs.end()) {
      meters[i] = fresh_meter(known.pair);
      return;
    }
    known.points = until(place->points, state.step);
    meters[i].restore(state.paths[static_cast<std::size_t>(place - old.pairs.begin())], runs[at(known.pair.x)].now,
                      runs[at(known.pair.y)].now);
  }

  bool direct(std::size_t run) const { return is_direct(record.pairs, run); }
  bool over() const { return record.finished() || !ended(record).empty(); }
  bool measured(int step) const {
    return step == 1 || step == record.plan.recipe.steps || step % record.plan.measure_every == 0;
  }

  TrainState state_of_b(std::size_t run) const {
    const Recipe& recipe = record.plan.recipe;
    return handed_over(runs[run_b].trainer.state(), {record.runs[run_b].run, recipe}, {record.runs[run].run, recipe});
  }

  bool step(const Cancelled& cancelled) {
    if (over()) return false;
    const AddedTime timed(record.seconds);
    const bool measures = measured(record.step + 1);
    const Attempt made = attempt(measures, cancelled);
    for (std::size_t i = 0; i < runs.size(); ++i)
      if (!made.stopped[i].empty()) record.runs[i].stopped = made.stopped[i];
    if (over()) return false;
    commit(made);
    follow(made);
    if (measures) measure(made);
    return true;
  }

  PairedTrainingState state() const {
    PairedTrainingState state{.step = record.step, .runs = {}, .paths = {}};
    for (const Run& run : runs) state.runs.push_back(run.trainer.state());
    for (const DeviationMeter& meter : meters) state.paths.push_back(meter.paths());
    return state;
  }

  CapturedHead captured(std::size_t run, int layer, int head, int sequence) {
    Trainer& trainer = runs[run].trainer;
    if (!direct(run)) return trainer.captured(layer, head, sequence);
    const TrainState own = trainer.state();
    trainer.restore(state_of_b(run));
    CapturedHead seen = trainer.captured(layer, head, sequence);
    trainer.restore(own);
    return seen;
  }

  Attempt attempt(bool measures, const Cancelled& cancelled) {
    Attempt made{std::vector<std::optional<StepReport>>(runs.size()), std::vector<std::string>(runs.size())};
    for (const std::size_t i : order) {
      if (!record.runs[i].stopped.empty() || (direct(i) && !measures)) continue;
      if (cancelled && cancelled()) throw Stopped{};
      if (direct(i)) runs[i].trainer.restore(state_of_b(i));
      try {
        made.reports[i] = runs[i].trainer.prepare(measures);
      } catch (const Diverged& diverged) {
        made.stopped[i] = diverged.what();
        if (i == run_b || (i == run_a && record.plan.kind != TrainKind::bisect)) break;
      }
    }
    return made;
  }

  /// Commits the steps on the device; if a commit fails, the host keeps the weights of the last whole step.
  void commit(const Attempt& attempt) {
    for (const std::size_t i : order) {
      if (!attempt.reports[i]) continue;
      runs[i].trainer.commit();
      runs[i].before.resize(runs[i].now.size());
      runs[i].trainer.read_weights(runs[i].before);
    }
    for (const std::size_t i : order) {
      if (!attempt.reports[i]) continue;
      runs[i].now.swap(runs[i].before);
      if (direct(i)) runs[i].before = runs[run_b].before;
      StepReport report = *attempt.reports[i];
      report.heads.clear();
      record.runs[i].steps.push_back(std::move(report));
    }
    ++record.step;
  }

  void follow(const Attempt& attempt) {
    for (std::size_t i = 0; i < meters.size(); ++i) {
      const PairPlan& pair = record.pairs[i].pair;
      const std::size_t x = at(pair.x), y = at(pair.y);
      if (!attempt.reports[x] || !attempt.reports[y]) continue;
      if (pair.role == Role::direct) meters[i] = DeviationMeter(record.parameters);  // x started from y
      meters[i].follow(runs[x].now, runs[y].now);
    }
  }

  void measure(const Attempt& attempt) {
    for (std::size_t i = 0; i < runs.size(); ++i)
      if (attempt.reports[i]) record.runs[i].health.push_back(health(i, *attempt.reports[i]));
    for (std::size_t i = 0; i < meters.size(); ++i)
      if (attempt.reports[at(record.pairs[i].pair.x)] && attempt.reports[at(record.pairs[i].pair.y)])
        record.pairs[i].points.push_back(point(i, attempt));
  }

  /// After the last step, measures every run that took it.
  void measure_held_out() {
    if (!record.finished()) return;
    for (std::size_t i = 0; i < runs.size(); ++i)
      if (record.runs[i].stopped.empty()) record.runs[i].heldout_loss = runs[i].trainer.heldout_loss();
  }

  PairPoint point(std::size_t pair, const Attempt& attempt) const {
    const std::size_t x = at(record.pairs[pair].pair.x), y = at(record.pairs[pair].pair.y);
    PairPoint p{.step = record.step,
                .loss_difference = attempt.reports[x]->loss - attempt.reports[y]->loss,
                .deviations = meters[pair].deviations(runs[x].now, runs[y].now, runs[x].before, runs[y].before),
                .profiles = std::vector<std::vector<float>>(record.parameters.tensors.size())};
    parallel_for(std::size_t{0}, p.profiles.size(), [&](std::size_t t) {
      p.profiles[t] = profile(record.parameters.tensors[t], runs[x].now, runs[y].now, profile_height);
    });
    return p;
  }

  RunHealth health(std::size_t run, const StepReport& report) const {
    const ModelShape& shape = record.plan.model;
    RunHealth known{record.step, std::vector<HeadHealth>(report.heads.size())};
    parallel_for(std::size_t{0}, known.heads.size(), [&](std::size_t i) {
      const int layer = static_cast<int>(i) / shape.heads, head = static_cast<int>(i) % shape.heads;
      known.heads[i] = {report.heads[i], query_norm(record.parameters, shape, runs[run].now, layer, head)};
    });
    return known;
  }

  TrainRecord record;
  std::vector<Run> runs;
  std::vector<DeviationMeter> meters;  ///< of each pair
  std::vector<std::size_t> order;      ///< order in which the runs take a step: a run that starts from b's state comes after b
};

/// The substitute for a device that fails.
struct PairedTraining::Spare {
  static constexpr int most_repeated = 16;  ///< steps

  MakePrimitives make;           ///< empty: there is no substitute
  PairedTrainingState state;     ///< of one of the last steps
  std::unique_ptr<Parts> parts;  ///< the substitute, while it repeats the steps after `state`

  /// Keeps a newer state if the last one is too old; reading a state takes as long as reading the weights of some steps.
  void keep_up(const Parts& running) {
    if (make && running.record.step - state.step >= most_repeated) state = running.state();
  }
  void begin(const TrainRecord& record, const DeviceFailure& failure) {
    const std::string after = record.step > 0 ? " after step " + std::to_string(record.step) : "";
    try {
      parts = std::make_unique<Parts>(record.plan, make);
      parts->go_on_from(record, state);
    } catch (const std::runtime_error& error) {
      parts.reset();
      throw DeviceFailure(no_takeover(failure, error));
    }
    parts->record.remark = cpu_took_over(failure, after);
  }
  void repeat(int step, const Cancelled& cancelled) {
    while (parts->record.step < step && parts->step(cancelled)) {
    }
  }
};

TrainDevice primitives_on(const std::string& device, int threads) {
  const std::vector<int> gpus = devices_of(device);
  if (gpus.size() > 1) throw std::invalid_argument("device is " + device + ", expected one device: a run is trained by one");
  const MakePrimitives cpu = [threads] { return cpu_primitives(threads); };
  if (gpus.empty()) return {cpu, {}, device == "auto" ? why_no_cuda() : "", "", threads};
  const MakePrimitives on_gpu = [gpus] {
    gpu_code().load(gpus, training_code);
    return gpu_primitives(gpus.front());
  };
  return {on_gpu, cpu, "", gpu_code().sentence(gpus, training_code), threads};
}

/// Sets the parts to begin(make), which are at their first step, with the device or its substitute.
template <class Begin>
void PairedTraining::begin(const TrainDevice& device, Begin begin) {
  spare_ = std::make_unique<Spare>();
  threads_ = device.threads;
  on_threads(threads_, [&] {
    try {
      parts_ = begin(device.make);
      if (!device.instead) return;
      spare_->state = parts_->state();
      spare_->make = device.instead;
    } catch (const DeviceFailure& failure) {
      if (!device.instead) throw;
      parts_.reset();
      try {
        parts_ = begin(device.instead);
      } catch (const std::runtime_error& error) {
        throw DeviceFailure(no_takeover(failure, error));
      }
      parts_->record.remark = cpu_took_over(failure);
    }
  });
}

PairedTraining::PairedTraining(const TrainPlan& plan, const TrainDevice& device) {
  begin(device, [&](const MakePrimitives& make) { return std::make_unique<Parts>(plan, make); });
}

PairedTraining::PairedTraining(const TrainPlan& plan, const TrainRecord& record, const PairedTrainingState& state,
                               const TrainDevice& device) {
  check_fits(checked(plan), record, state);
  begin(device, [&](const MakePrimitives& make) {
    auto parts = std::make_unique<Parts>(plan, make);
    parts->go_on_from(record, state);
    return parts;
  });
}

PairedTraining::~PairedTraining() = default;
PairedTraining::PairedTraining(PairedTraining&&) noexcept = default;
PairedTraining& PairedTraining::operator=(PairedTraining&&) noexcept = default;

/// Returns work() on the device. If it fails, work() on the substitute after it has repeated the steps up to the last whole
/// one; cancelled calls continue in the next call.
template <class Work>
auto PairedTraining::surviving(const Cancelled& cancelled, Work work) const {
  return on_threads(threads_, [&] {
    Spare& spare = *spare_;
    if (!spare.parts) {
      try {
        return work();
      } catch (const DeviceFailure& failure) {
        if (!spare.make) throw;
        spare.begin(parts_->record, failure);
      }
    }
    spare.repeat(parts_->record.step, cancelled);
    parts_ = std::move(spare.parts);
    spare = Spare{};
    return work();
  });
}

bool PairedTraining::step(const Cancelled& cancelled) {
  const bool taken = surviving(cancelled, [&] { return parts_->step(cancelled); });
  if (!taken) return false;
  surviving({}, [&] { parts_->measure_held_out(); });
  surviving({}, [&] { spare_->keep_up(*parts_); });
  return true;
}

const TrainRecord& PairedTraining::record() const { return parts_->record; }

PairedTrainingState PairedTraining::state() const {
  return surviving({}, [&] { return parts_->state(); });
}

const std::vector<float>& PairedTraining::weights(int run) const { return parts_->runs[at(run)].now; }

CapturedHead PairedTraining::captured(int run, int layer, int head, int sequence) {
  return surviving({}, [&] { return parts_->captured(at(run), layer, head, sequence); });
}

}  // namespace attoscope
