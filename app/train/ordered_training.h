/// A training that executes orders between steps and reports its record.
#pragma once

#include <chrono>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "app/files/files.h"
#include "app/train/training_history.h"
#include "ui/frame/train_answer.h"

namespace attoscope::app {

/// The selected tensor of a pair; tensor < 0: none.
struct TensorAt {
  int pair = 0, tensor = -1;

  friend bool operator==(const TensorAt&, const TensorAt&) = default;
};

/// A request with its plan, device and seeds.
struct TrainOrder {
  ui::TrainRequest request;
  TrainPlan plan;  ///< the session's, with its corpus
  std::string device;
  int seeds = 1;  ///< number of seeds, trained one after the other
};

/// A file of Q, K, V, and the experiment of Explore on it.
struct CapturedFile {
  std::string file, title;
  Experiment experiment;  ///< without tensors
};

/// The reports of the thread at one moment.
struct TrainTold {
  std::shared_ptr<const TrainRecord> record;
  std::shared_ptr<const ui::WeightGap> gap;
  ui::TrainProgress progress;                             ///< without the plan's text and the fields that depend on the session
  std::string note;                                       ///< one sentence about a finished action
  std::vector<std::shared_ptr<const TrainRecord>> seeds;  ///< as in TrainView
  std::optional<CapturedFile> captured;                   ///< returned once
  std::optional<TrainPlan> opened;                        ///< plan of an opened checkpoint, returned once
};

/// Replaces `told` by newer reports; notes, captures and opened plans stay until they are taken.
void merge(TrainTold& told, TrainTold newer);
/// Returns the reports, and clears note, capture and opened plan.
TrainTold taken(TrainTold& told);

/// |x - y| of a tensor, for its picture.
ui::WeightGap weight_gap(const TrainRecord& record, const TensorAt& at, int step, std::span<const float> x,
                         std::span<const float> y);
/// The same from all runs' newest weights; null if there is no such pair or tensor.
std::shared_ptr<const ui::WeightGap> weight_gap(const TrainRecord& record, const TensorAt& at,
                                                const std::vector<std::vector<float>>& weights);

/// Steps per second over the last 4 s.
class StepRate {
 public:
  using Clock = std::chrono::steady_clock;
  /// Forgets the steps before a pause.
  void restart() { marks_.clear(); }
  void mark(Clock::time_point now, int step);
  /// Steps per second; 0 if unknown.
  double per_second() const;

 private:
  struct Mark {
    Clock::time_point at;
    int step;
  };
  std::deque<Mark> marks_;
};

/// The directory (empty: none) and the interval of the automatic saves.
struct TrainKeeping {
  std::string directory;
  std::chrono::milliseconds every = std::chrono::minutes(5);
};

/// The file of a window's automatic saves: last-training.checkpoint in the directory, or last-training-2.checkpoint and so on
/// if another open window has the first. The file is locked as long as this object lives.
class OwnCheckpoint {
 public:
  explicit OwnCheckpoint(const std::string& directory);
  /// Path of the file; empty without a directory.
  const std::string& file() const { return file_; }

 private:
  std::string file_;
  Descriptor lock_;
};

/// A training and its actions, on one thread.
class OrderedTraining {
 public:
  /// Calls `published` with the reports about ten times a second; notes, captures and opened plans once.
  OrderedTraining(std::function<void(TrainTold)> published, TrainKeeping keeping, MakeDevice make);

  /// Executes an order until it is `outdated`; a failure becomes the remark, and stops training.
  void obey(const TrainOrder& order, const Cancelled& outdated);
  /// Takes the next step of a running training, until it is `outdated`.
  void step(const Cancelled& outdated);
  /// Selects the tensor whose picture is reported.
  void look_at(const TensorAt& tensor);
  /// Keeps the training in its own file.
  void keep();

  /// True while it should take further steps.
  bool running() const { return running_; }
  const TensorAt& looked_at() const { return looked_at_; }
  /// Path of the automatic checkpoint; empty if there is none.
  const std::string& own_checkpoint() const { return own_.file(); }

 private:
  using Clock = std::chrono::steady_clock;
  using State = ui::TrainProgress::State;

  void attempt(const std::function<void()>& act);
  void remark_on_takeover();
  std::string lasting() const;
  void act_on(const TrainOrder& order, const Cancelled& outdated);
  TrainDevice made(const std::string& device);
  void begin(const TrainOrder& order);
  void open(const TrainOrder& order);
  void explore(const TrainOrder& order, const Cancelled& outdated);
  void save(const std::string& file);
  bool wrote(const std::function<void()>& write);
  void renewed();
  bool over() const;
  void take_step(const Cancelled& outdated);
  void step_seed(const Cancelled& outdated);
  void take_weights(bool measured);
  void picture();
  void save_own();
  void publish(bool at_once);
  ui::TrainProgress progress() const;

  const std::function<void(TrainTold)> published_;
  const TrainKeeping keeping_;
  const MakeDevice make_;
  const OwnCheckpoint own_;

  TrainingHistory history_;
  struct Seeds {
    int wanted = 1;  ///< number of seeds, with the history's
    std::optional<PairedTraining> training;
    std::vector<std::shared_ptr<const TrainRecord>> done;
  } seeds_;  ///< further seeds of the history's plan, trained when the history is over
  bool running_ = false;
  bool unsaved_ = false;  ///< steps were taken since the own checkpoint was written
  std::string remark_, note_;
  std::string taken_over_;  ///< the record's remark that was reported last
  int own_step_ = -1;       ///< step of this training in its own checkpoint; negative: none
  std::string not_kept_;    ///< remark that the own checkpoint could not be written; "" if it could
  StepRate rate_;
  Clock::time_point saved_at_ = Clock::now();
  struct Published {
    Clock::time_point at{};
    Clock::duration took{};
    std::shared_ptr<const TrainRecord> record;  ///< null: the record has changed since
    std::vector<std::shared_ptr<const TrainRecord>>
        records;  ///< records that readers may still hold; destroyed here, so that no frame waits for it
  } last_;
  TensorAt looked_at_;
  struct Measured {
    int pair = -1, step = 0;
    std::vector<float> x, y;
  } measured_;  ///< weights of the selected pair when last measured
  TrainTold told_;
};

}  // namespace attoscope::app
