/// The Train workspace's input from the app, and its requests.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace attoscope {
struct TrainRecord;
}  // namespace attoscope

namespace attoscope::ui {

/// |x - y| of one tensor of a pair at its newest measured step, row-major.
struct WeightGap {
  int pair = 0, tensor = 0, step = 0;
  int rows = 0, cols = 0;
  std::vector<float> values;
};

/// Progress of a training.
struct TrainProgress {
  enum class State : std::uint8_t { idle, running, paused, done, stopped };
  State state = State::idle;  ///< stopped: a or b diverged
  int step = 0, steps = 0;
  int seed = 1, seeds = 1;      ///< number of the current seed, from 1, and number of seeds
  double steps_per_second = 0;  ///< steps of the training, all runs together
  double seconds_left = -1;     ///< negative: unknown
  bool stale = false;           ///< the record belongs to an earlier plan: running restarts, forking continues
  std::string forkable;         ///< one sentence why the plan cannot continue from the record's states; empty: it can
  std::vector<int> kept;        ///< ascending steps with kept states, to resume, fork or inspect
  std::string wrong;            ///< one sentence on an error in the plan; empty: valid
  std::string remark;           ///< one sentence on a failure
  std::string text;             ///< "the chronicle, 400,315 characters, 65 different"
  int vocabulary = 0;           ///< 0: no text was read
  std::string left_over;        ///< checkpoint of the previous window's training, to be opened; empty: none
};

struct TrainView {
  std::shared_ptr<const TrainRecord> record;  ///< null: no training yet
  std::shared_ptr<const WeightGap> gap;       ///< newest; null: none
  TrainProgress progress;
  std::vector<std::shared_ptr<const TrainRecord>> seeds{};  ///< records of the same plan with the following seeds
};

/// An action on the training.
struct TrainRequest {
  enum class Act : std::uint8_t {
    none,
    run,
    pause,
    one_step,  ///< one step, then pause
    restart,   ///< from step 0 with the session's plan
    go_back,   ///< to the kept step `step`, with the record's plan
    fork,      ///< from the kept step `step`, with the session's plan
    save,      ///< write a checkpoint of the newest step to `file`
    open,      ///< read the checkpoint `file`
    explore    ///< open Q, K, V of `run`, `layer`, `head`, `sequence` at `step` in Explore
  };
  Act act = Act::none;
  int step = -1, run = 0, layer = 0, head = 0, sequence = 0;
  std::string file{};  ///< for save and open; empty: open a file dialog

  friend bool operator==(const TrainRequest&, const TrainRequest&) = default;
};

}  // namespace attoscope::ui
