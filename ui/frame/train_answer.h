/// What the app tells the Train workspace, and what it is asked to do.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace attoscope {

struct TrainRecord;

/// |x - y| of one tensor of a pair at its newest measured step, row-major.
struct WeightGap {
  int pair = 0, tensor = 0, step = 0;
  int rows = 0, cols = 0;
  std::vector<float> values;
};

/// Where training stands.
struct TrainProgress {
  enum class State : std::uint8_t { idle, running, paused, done, stopped };
  State state = State::idle;  ///< stopped: a or b diverged
  int step = 0, steps = 0;
  int seed = 1, seeds = 1;      ///< the one under way, from 1 on, and how many were asked for
  double steps_per_second = 0;  ///< of all runs together: steps of the training
  double seconds_left = -1;     ///< negative: unknown
  bool stale = false;           ///< the record answers an earlier plan: running begins anew, forking goes on
  std::string forkable;         ///< why the plan cannot go on from the record's states: one sentence; empty: it can
  std::vector<int> kept;        ///< steps whose states are held: to resume, to fork, to look into, ascending
  std::string wrong;            ///< one sentence about the plan; empty: it can be trained
  std::string remark;           ///< one sentence about what could not be done
  std::string text;             ///< "the chronicle, 400,315 characters, 65 different"
  int vocabulary = 0;           ///< 0: the text was not read
  std::string left_over;        ///< checkpoint of what the window before this one trained, to be opened; empty: none
};

struct TrainView {
  std::shared_ptr<const TrainRecord> record;  ///< null: nothing was trained
  std::shared_ptr<const WeightGap> gap;       ///< newest; null: none
  TrainProgress progress;
  std::vector<std::shared_ptr<const TrainRecord>> seeds{};  ///< of the record's plan at the seeds that follow its own
};

/// What is to become of the training.
struct TrainRequest {
  enum class Act : std::uint8_t {
    none,
    run,
    pause,
    one_step,  ///< take one, then pause
    restart,   ///< from the first step, with the session's plan
    go_back,   ///< to the kept step, under the record's plan
    fork,      ///< from the kept step `step` on, under the session's plan
    save,      ///< a checkpoint of the newest step to `file`
    open,      ///< the checkpoint in `file`
    explore    ///< Q, K, V of `run`, `layer`, `head`, `sequence` at `step`, in Explore
  };
  Act act = Act::none;
  int step = -1, run = 0, layer = 0, head = 0, sequence = 0;
  std::string file{};  ///< of save and open; empty: the desktop asks for it

  friend bool operator==(const TrainRequest&, const TrainRequest&) = default;
};

}  // namespace attoscope
