#include "app/train/ordered_training.h"

#include <fcntl.h>
#include <sys/file.h>

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <exception>
#include <filesystem>
#include <new>
#include <utility>

#include "app/files/files.h"
#include "app/train/train_seeds.h"
#include "app/train/trained.h"
#include "kernels/experiment/letters.h"
#include "kernels/experiment/text.h"
#include "kernels/train/record.h"

namespace attoscope::app {
namespace {

using namespace std::chrono_literals;
namespace fs = std::filesystem;

/// "b-seed-2-layer-0-head-1-sequence-0-step-400": file name of a capture.
std::string file_name(const CapturePlace& p) {
  std::string name = p.run + " layer " + std::to_string(p.layer) + " head " + std::to_string(p.head) + " sequence " +
                     std::to_string(p.sequence) + " step " + std::to_string(p.step);
  std::string file;
  for (const char c : name) {
    if (is_letter_or_digit(c))
      file += c;
    else if (!file.ends_with('-'))
      file += '-';
  }
  return file;
}

/// Sentence on why a or b stopped, and on the last kept step.
std::string stopped_sentence(const TrainingHistory& history) {
  const std::string why = ended(history.record());
  const std::vector<int> kept = history.kept().steps();
  return with_full_stop(why) + " The last step that is kept is " + std::to_string(kept.back()) + ".";
}

/// True if the record has this tensor of this pair, and steps were taken.
bool has_tensor(const TrainRecord& r, const TensorAt& at) {
  const auto within = [](int i, std::size_t count) { return i >= 0 && static_cast<std::size_t>(i) < count; };
  return r.step > 0 && within(at.pair, r.pairs.size()) && within(at.tensor, r.parameters.tensors.size());
}

bool was_measured(const PairRecord& pair, int step) { return !pair.points.empty() && pair.points.back().step == step; }

}  // namespace

void merge(TrainTold& told, TrainTold newer) {
  if (newer.note.empty()) newer.note = std::move(told.note);
  if (!newer.captured) newer.captured = std::move(told.captured);
  if (!newer.opened) newer.opened = std::move(told.opened);
  told = std::move(newer);
}

TrainTold taken(TrainTold& told) {
  TrainTold all = told;
  told.note.clear();
  told.captured.reset();
  told.opened.reset();
  return all;
}

ui::WeightGap weight_gap(const TrainRecord& record, const TensorAt& at, int step, std::span<const float> x,
                         std::span<const float> y) {
  const ParameterTensor& t = record.parameters.tensors[static_cast<std::size_t>(at.tensor)];
  ui::WeightGap gap{at.pair, at.tensor, step, t.rows, t.cols, std::vector<float>(t.size())};
  for (std::size_t i = 0; i < t.size(); ++i) gap.values[i] = std::fabs(x[t.first + i] - y[t.first + i]);
  return gap;
}

std::shared_ptr<const ui::WeightGap> weight_gap(const TrainRecord& record, const TensorAt& at,
                                                const std::vector<std::vector<float>>& weights) {
  const auto pair = static_cast<std::size_t>(at.pair);
  if (!has_tensor(record, at)) return nullptr;
  const PairPlan& p = record.pairs[pair].pair;
  return std::make_shared<const ui::WeightGap>(
      weight_gap(record, at, record.step, weights[static_cast<std::size_t>(p.x)], weights[static_cast<std::size_t>(p.y)]));
}

void StepRate::mark(Clock::time_point now, int step) {
  constexpr auto window = 4s;
  marks_.push_back({now, step});
  while (marks_.size() > 2 && now - marks_.front().at > window) marks_.pop_front();
}

double StepRate::per_second() const {
  if (marks_.size() < 2) return 0;
  const double seconds = std::chrono::duration<double>(marks_.back().at - marks_.front().at).count();
  return seconds > 0 ? (marks_.back().step - marks_.front().step) / seconds : 0;
}

OwnCheckpoint::OwnCheckpoint(const std::string& directory) {
  if (directory.empty()) return;
  constexpr int most = 99;
  std::error_code ignored;
  fs::create_directories(directory, ignored);
  for (int i = 1; i <= most; ++i) {
    file_ = (fs::path(directory) / ("last-training" + (i == 1 ? "" : "-" + std::to_string(i)) + ".checkpoint")).string();
    lock_ = Descriptor(::open((file_ + ".lock").c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0666));
    if (!lock_.valid() || ::flock(lock_.get(), LOCK_EX | LOCK_NB) == 0 || errno != EWOULDBLOCK) return;
  }
}

OrderedTraining::OrderedTraining(std::function<void(TrainTold)> published, TrainKeeping keeping, MakeDevice make)
    : published_(std::move(published)), keeping_(std::move(keeping)), make_(std::move(make)), own_(keeping_.directory) {}

void OrderedTraining::obey(const TrainOrder& order, const Cancelled& outdated) {
  remark_.clear();
  attempt([&] { act_on(order, outdated); });
  publish(true);
}

void OrderedTraining::step(const Cancelled& outdated) {
  attempt([&] { take_step(outdated); });
  publish(!running_);
}

void OrderedTraining::look_at(const TensorAt& tensor) {
  looked_at_ = tensor;
  if (measured_.pair != looked_at_.pair) take_weights(false);
  picture();
  publish(!running_);
}

void OrderedTraining::keep() {
  attempt([&] { save_own(); });
}

/// Acts. After an error it sets a remark and stops training.
void OrderedTraining::attempt(const std::function<void()>& act) {
  try {
    act();
    return remark_on_takeover();
  } catch (const Stopped&) {
    return remark_on_takeover();  // a newer order takes precedence
  } catch (const DeviceFailure& failure) {
    remark_ = with_full_stop(failure.what()) + lasting();
  } catch (const std::bad_alloc&) {
    remark_ = "There is not enough memory for this.";
  } catch (const std::exception& error) {
    remark_ = error.what();
  }
  running_ = false;
}

/// Sets the remark that another device trains now, once; the record keeps it.
void OrderedTraining::remark_on_takeover() {
  if (!history_.begun() || history_.record().remark == taken_over_) return;
  taken_over_ = history_.record().remark;
  if (!taken_over_.empty()) remark_ = remark_.empty() ? taken_over_ : taken_over_ + " " + remark_;
}

/// " The last step that is kept is 8, ...": the step to continue from after a failure that repeats.
std::string OrderedTraining::lasting() const {
  if (!history_.begun()) return "";
  std::string told = " The last step that is kept is " + std::to_string(history_.kept().steps().back());
  if (own_step_ >= 0) told += "; the checkpoint " + own_checkpoint() + " is of step " + std::to_string(own_step_);
  return told + ".";
}

void OrderedTraining::act_on(const TrainOrder& order, const Cancelled& outdated) {
  using Act = ui::TrainRequest::Act;
  switch (order.request.act) {
    case Act::none:
      return;
    case Act::run:
    case Act::one_step:
      if (!history_.begun() || !(order.plan == history_.record().plan)) begin(order);
      seeds_.wanted = order.seeds;
      running_ = order.request.act == Act::run && !over();
      if (order.request.act == Act::one_step) take_step({});
      break;
    case Act::pause:
      running_ = false;
      break;
    case Act::restart:
      begin(order);
      seeds_.wanted = order.seeds;
      running_ = true;
      break;
    case Act::go_back:
      history_.go_back(order.request.step);
      renewed();
      return;
    case Act::fork:
      history_.fork(order.request.step, order.plan);
      seeds_ = {};
      renewed();
      running_ = !history_.over();
      return;
    case Act::save:
      return save(order.request.file);
    case Act::open:
      return open(order);
    case Act::explore:
      return explore(order, outdated);
  }
  if (!running_ && history_.begun()) history_.keep_newest();
  rate_.restart();
}

/// Makes the device; publishes a remark if its code must be compiled first.
TrainDevice OrderedTraining::made(const std::string& device) {
  TrainDevice made = make_(device, 0);
  if (made.compiles.empty()) return made;
  remark_ = made.compiles;
  publish(true);
  remark_.clear();
  return made;
}

/// Begins the order's plan at its first step.
void OrderedTraining::begin(const TrainOrder& order) {
  running_ = false;
  own_step_ = -1;
  seeds_ = {};
  history_.start(order.plan, made(order.device));
  renewed();
}

void OrderedTraining::open(const TrainOrder& order) {
  Checkpoint checkpoint = read_checkpoint(order.request.file);
  TrainPlan& plan = checkpoint.record.plan;
  plan.text = read_same_text(plan.text, plan.text.file);
  own_step_ = -1;
  seeds_ = {};
  history_.open(checkpoint, made(order.device));
  renewed();
  note_ = "Opened " + order.request.file + " at step " + std::to_string(history_.record().step) + ".";
  told_.opened = plan;
}

void OrderedTraining::explore(const TrainOrder& order, const Cancelled& outdated) {
  const ui::TrainRequest& w = order.request;
  if (keeping_.directory.empty()) throw std::runtime_error("There is no home directory in which Q, K and V could be kept.");
  const Captured c = history_.captured({w.run, w.layer, w.head, w.sequence, w.step}, outdated);
  const std::string file = (fs::path(keeping_.directory) / "captures" / (file_name(c.place) + ".safetensors")).string();
  write_safely(file, capture_file(c.tensors, c.place, c.run.method));
  told_.captured = CapturedFile{file, capture_title(c.place), captured_experiment(c.plan, c.run, c.place)};
}

void OrderedTraining::save(const std::string& file) {
  if (!history_.begun()) throw std::runtime_error("Nothing was trained yet, so there is nothing to save.");
  const std::string step = std::to_string(history_.record().step);
  if (wrote([&] { write_checkpoint(file, history_.record(), history_.state()); }))
    note_ = "Saved " + file + " at step " + step + ".";
}

/// True if `write` succeeded. A failure becomes the remark; training goes on.
bool OrderedTraining::wrote(const std::function<void()>& write) {
  try {
    write();
    return true;
  } catch (const std::runtime_error& error) {
    remark_ = with_full_stop(error.what());
    return false;
  }
}

/// Stops, and drops copies, rate and weights of the former state after the state was replaced.
void OrderedTraining::renewed() {
  running_ = false;
  last_.record.reset();
  rate_.restart();
  take_weights(false);
  picture();
}

/// True if no step of any seed is left. A forked training has no further seeds.
bool OrderedTraining::over() const {
  const bool all = !history_.record().forks.empty() || static_cast<int>(seeds_.done.size()) + 1 >= seeds_.wanted;
  return history_.over() && all;
}

void OrderedTraining::step_seed(const Cancelled& outdated) {
  if (!seeds_.training) {
    const int next = static_cast<int>(seeds_.done.size()) + 1;
    seeds_.training.emplace(at_seed(history_.record().plan, next), history_.device());
    rate_.restart();
  }
  if (seeds_.training->step(outdated)) return;
  seeds_.done.push_back(std::make_shared<const TrainRecord>(seeds_.training->record()));
  seeds_.training.reset();
  running_ = running_ && !over();
}

void OrderedTraining::take_step(const Cancelled& outdated) {
  if (history_.over() && !over()) return step_seed(outdated);
  const int before = history_.record().step;
  history_.step(outdated);
  last_.record.reset();
  const TrainRecord& r = history_.record();
  unsaved_ |= r.step > before;
  if (over()) running_ = false;
  if (history_.diverged()) remark_ = stopped_sentence(history_);
  if (has_tensor(r, looked_at_) && was_measured(r.pairs[static_cast<std::size_t>(looked_at_.pair)], r.step)) {
    take_weights(true);
    picture();
  }
  if (Clock::now() - saved_at_ > keeping_.every) save_own();
}

/// The weights of the selected pair. In a replay they are valid at measured steps only.
void OrderedTraining::take_weights(bool measured) {
  measured_ = {};
  if (!history_.begun() || !has_tensor(history_.record(), looked_at_)) return;
  const PairPlan& p = history_.record().pairs[static_cast<std::size_t>(looked_at_.pair)].pair;
  if (p.role == Role::direct && !measured) return;
  measured_ = {looked_at_.pair, history_.record().step, history_.weights(p.x), history_.weights(p.y)};
}

void OrderedTraining::picture() {
  std::shared_ptr<const ui::WeightGap> gap;
  if (history_.begun() && measured_.pair >= 0 && has_tensor(history_.record(), looked_at_))
    gap = std::make_shared<const ui::WeightGap>(
        weight_gap(history_.record(), looked_at_, measured_.step, measured_.x, measured_.y));
  told_.gap = std::move(gap);
}

/// Writes the unsaved training to its own file, unless it is too large to write every few minutes.
void OrderedTraining::save_own() {
  saved_at_ = Clock::now();
  if (!unsaved_ || keeping_.directory.empty() || !history_.begun()) return;
  const PairedTrainingState state = history_.state();
  if (bytes_of(state) > TrainingHistory::usual_memory) return;
  const std::string before = std::exchange(remark_, {});
  unsaved_ = !wrote([&] {
    fs::create_directories(keeping_.directory);
    write_checkpoint(own_checkpoint(), history_.record(), state);
    own_step_ = state.step;
  });
  if (!unsaved_ && before != not_kept_) remark_ = before;  // drop it if it was about a failed write
  not_kept_ = unsaved_ ? remark_ : "";
}

ui::TrainProgress OrderedTraining::progress() const {
  ui::TrainProgress p;
  p.remark = remark_;
  if (!history_.begun()) return p;
  const TrainRecord& r = history_.record();
  const bool further = history_.over() && seeds_.training;
  const int done = static_cast<int>(seeds_.done.size());
  p.step = further ? seeds_.training->record().step : r.step;
  p.steps = r.plan.recipe.steps;
  p.seed = further ? done + 2 : 1;
  p.seeds = seeds_.wanted;
  p.kept = history_.kept().steps();
  p.steps_per_second = rate_.per_second();
  const double left = p.steps - p.step + std::max(0, p.seeds - std::max(p.seed, done + 1)) * static_cast<double>(p.steps);
  if (running_ && p.steps_per_second > 0) p.seconds_left = left / p.steps_per_second;
  p.state = running_ ? State::running : history_.diverged() ? State::stopped : r.finished() ? State::done : State::paused;
  return p;
}

/// Publishes the reports about ten times a second, less often if the record takes long to copy.
void OrderedTraining::publish(bool at_once) {
  const Clock::time_point now = Clock::now();
  if (!at_once && now - last_.at < std::max<Clock::duration>(100ms, 20 * last_.took)) return;
  last_.at = now;
  if (history_.begun()) rate_.mark(now, progress().step);
  if (history_.begun() && !last_.record) {
    last_.record = std::make_shared<const TrainRecord>(history_.record());
    last_.records.push_back(last_.record);
    last_.took = Clock::now() - now;
  }
  told_.record = last_.record;
  told_.seeds = seeds_.done;
  told_.progress = progress();
  told_.note = std::exchange(note_, {});
  published_(told_);
  told_.captured.reset();
  told_.opened.reset();
  std::erase_if(last_.records, [](const auto& r) { return r.use_count() == 1; });  // no reader holds it any more
}

}  // namespace attoscope::app
