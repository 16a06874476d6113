#include "app/train/training_history.h"

#include <algorithm>
#include <limits>
#include <stdexcept>
#include <utility>

#include "kernels/train/plan/plan.h"
#include "kernels/train/record.h"

namespace attoscope::app {
namespace {

void check_index(const char* what, int index, int count) {
  if (index >= 0 && index < count) return;
  throw std::invalid_argument(std::string("There is no ") + what + " " + std::to_string(index) + ", expected 0 to " +
                              std::to_string(count - 1) + ".");
}

/// Index of the run called `name` among a plan's runs.
std::size_t place_of(const TrainRuns& all, const std::string& name, int step) {
  for (std::size_t i = 0; i < all.runs.size(); ++i)
    if (all.runs[i].name == name) return i;
  throw std::invalid_argument("The run \u201c" + name + "\u201d began after step " + std::to_string(step) +
                              ", where training was forked.");
}

/// Trains one run alone from `state` to `step`; returns its state.
TrainState trained_to(int step, const TrainPlan& plan, const RunPlan& run, const TrainState& state, const MakePrimitives& make,
                      const Cancelled& cancelled) {
  Trainer trainer(plan, run, make());
  trainer.restore(state);
  while (trainer.step_count() < step) {
    if (cancelled && cancelled()) throw Stopped();
    trainer.step(false);
  }
  return trainer.state();
}

}  // namespace

std::size_t bytes_of(const PairedTrainingState& state) {
  std::size_t bytes = 0;
  for (const TrainState& run : state.runs) bytes += (run.weights.size() + run.m.size() + run.v.size()) * sizeof(float);
  return bytes;
}

std::string why_no_fork(const TrainRecord& record, const TrainPlan& plan) {
  const std::string changes = question_changes(record.plan, plan);
  if (!changes.empty()) return "The model or its batches differ, so training can only restart: " + changes + ".";
  const std::string start = untrained_start(record.plan, plan);
  return start.empty() ? "" : "Training can only restart: " + start + ".";
}

void KeptStates::keep(Moment moment) {
  const int step = moment.state.step;
  if (!moments_.empty() && !moments_.back().lasting && moments_.back().state.step < step) moments_.pop_back();
  const auto place = std::ranges::lower_bound(moments_, step, {}, [](const Moment& m) { return m.state.step; });
  if (place != moments_.end() && place->state.step == step) {
    moment.lasting |= place->lasting;
    moment.pinned |= place->pinned;
    *place = std::move(moment);
  } else {
    moments_.insert(place, std::move(moment));
  }
  thin();
}

void KeptStates::thin() {
  while (bytes() > most_bytes_) {
    std::size_t least = 0;
    int least_gap = std::numeric_limits<int>::max();
    for (std::size_t i = 1; i + 1 < moments_.size(); ++i) {
      const int gap = moments_[i + 1].state.step - moments_[i - 1].state.step;
      if (!moments_[i].pinned && gap < least_gap) {
        least = i;
        least_gap = gap;
      }
    }
    if (least == 0) return;
    moments_.erase(moments_.begin() + static_cast<std::ptrdiff_t>(least));
  }
}

void KeptStates::end_plan(const std::shared_ptr<const TrainRecord>& record) {
  for (Moment& m : moments_)
    if (!m.record) m.record = record;
}

void KeptStates::drop_after(int step) {
  std::erase_if(moments_, [step](const Moment& m) { return m.state.step > step; });
}

const KeptStates::Moment* KeptStates::at(int step) const {
  const Moment* const found = before(step);
  return found && found->state.step == step ? found : nullptr;
}

const KeptStates::Moment* KeptStates::before(int step) const {
  const auto later = std::ranges::upper_bound(moments_, step, {}, [](const Moment& m) { return m.state.step; });
  return later == moments_.begin() ? nullptr : &*std::prev(later);
}

std::vector<int> KeptStates::steps() const {
  std::vector<int> steps;
  for (const Moment& m : moments_) steps.push_back(m.state.step);
  return steps;
}

std::size_t KeptStates::bytes() const {
  std::size_t bytes = 0;
  for (const Moment& m : moments_) bytes += bytes_of(m.state);
  return bytes;
}

void TrainingHistory::start(const TrainPlan& plan, const TrainDevice& device) {
  begin_with(std::make_unique<PairedTraining>(plan, device), plan, nullptr, device);
}

void TrainingHistory::open(const Checkpoint& checkpoint, const TrainDevice& device) {
  const auto& [record, state] = checkpoint;
  begin_with(std::make_unique<PairedTraining>(record.plan, record, state, device), record.plan, &state, device);
}

/// Begins with `state`; null: with the training's own.
void TrainingHistory::begin_with(std::unique_ptr<PairedTraining> training, const TrainPlan& plan,
                                 const PairedTrainingState* state, const TrainDevice& device) {
  training_ = std::move(training);
  device_ = device;
  plan_ = std::make_shared<const TrainPlan>(plan);
  kept_.drop_after(-1);
  kept_.keep({plan_, state ? *state : training_->state(), true, true});
}

/// Goes back to a kept step; continues under its own plan (`fork` null) or under `fork`.
void TrainingHistory::go_on_from(int step, const TrainPlan* fork) {
  const KeptStates::Moment* const moment = begun() ? kept_.at(step) : nullptr;
  if (!moment) throw std::invalid_argument("Step " + std::to_string(step) + " is not kept.");
  TrainRecord record = moment->record ? *moment->record : training_->record();
  record.seconds = training_->record().seconds;
  const TrainPlan plan = fork ? *fork : record.plan;
  training_ = std::make_unique<PairedTraining>(plan, record, moment->state, device_);
  plan_ = std::make_shared<const TrainPlan>(plan);
  kept_.drop_after(step);
  if (!fork) return;
  kept_.end_plan(std::make_shared<const TrainRecord>(std::move(record)));
  kept_.keep({plan_, training_->state(), true, true});
}

void TrainingHistory::go_back(int step) { go_on_from(step, nullptr); }

void TrainingHistory::fork(int step, const TrainPlan& plan) { go_on_from(step, &plan); }

bool TrainingHistory::diverged() const { return !ended(record()).empty(); }

bool TrainingHistory::over() const { return record().finished() || diverged(); }

void TrainingHistory::step(const Cancelled& cancelled) {
  if (over()) return;
  training_->step(cancelled);
  const int step = record().step;
  if (over())
    keep_newest();
  else if (step % plan_->checkpoint_every == 0)
    kept_.keep({plan_, training_->state(), true, false});
}

void TrainingHistory::keep_newest() {
  if (!kept_.at(record().step)) kept_.keep({plan_, training_->state(), false, false});
}

Captured TrainingHistory::captured(const HeadAt& at, const Cancelled& cancelled) const {
  if (!begun()) throw std::invalid_argument("Nothing was trained yet, so there is no head to look into.");
  const TrainRecord& r = record();
  check_index("run", at.run, static_cast<int>(r.runs.size()));
  check_index("layer", at.layer, r.plan.model.layers);
  check_index("head", at.head, r.plan.model.heads);
  check_index("sequence", at.sequence, r.plan.recipe.batch);
  const int step = at.step < 0 ? r.step : at.step;
  const KeptStates::Moment* const from = kept_.before(step);
  if (!from || step > r.step)
    throw std::invalid_argument("Step " + std::to_string(step) + " was not taken, or is not kept any more.");
  const TrainRuns all = runs_of(*from->plan);
  const std::size_t run = place_of(all, r.runs[static_cast<std::size_t>(at.run)].run.name, step);
  const std::size_t living = from->plan->kind == TrainKind::replay ? 1 : run;  // a replayed step begins from b's state
  const auto seen_on = [&](const MakePrimitives& make) {
    const TrainState state = trained_to(step, *from->plan, all.runs[living], from->state.runs[living], make, cancelled);
    Trainer trainer(*from->plan, all.runs[run], make());
    trainer.restore(state);
    return trainer.captured(at.layer, at.head, at.sequence);
  };
  return {
      with_either(device_, seen_on), {all.runs[run].name, at.layer, at.head, at.sequence, step}, all.runs[run], *from->plan};
}

}  // namespace attoscope::app
