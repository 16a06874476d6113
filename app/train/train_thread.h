/// The training thread.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <deque>
#include <functional>
#include <mutex>
#include <stop_token>
#include <string>
#include <thread>

#include "app/train/ordered_training.h"

namespace attoscope::app {

/// Runs an OrderedTraining. The destructor stops within a step and writes the training to its own file.
class TrainThread {
 public:
  /// `published` is called from this thread whenever `told` has changed.
  TrainThread(std::function<void()> published, TrainKeeping keeping, MakeDevice make);

  /// Queues an order; orders run in turn, between two steps. The first one starts the thread.
  void give(TrainOrder order);
  /// While `held`, no step begins.
  void hold(bool held);
  void look_at(const TensorAt& tensor);
  /// The reports so far; notes, captures and opened plans are returned once.
  TrainTold told();
  /// True while a step, or an order, is under way.
  bool busy() const;

  /// Path of the automatic checkpoint; empty if there is none.
  const std::string& own_checkpoint() const { return training_.own_checkpoint(); }

 private:
  enum class Task : std::uint8_t { end, order, step };

  void work(const std::stop_token& stop);
  Task next(const std::stop_token& stop, TrainOrder& order);

  const std::function<void()> published_;
  OrderedTraining training_;  ///< used by the thread only

  mutable std::mutex mutex_;  ///< guards the following members
  std::condition_variable_any wake_;
  std::deque<TrainOrder> orders_;
  TensorAt wanted_;
  bool held_ = false, working_ = false;
  TrainTold told_;
  std::jthread thread_;  ///< last, so it joins before anything it uses goes away
};

}  // namespace attoscope::app
