/// Replaces the training thread by turns in a Web Worker.
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "app/threads/worker.h"
#include "app/train/ordered_training.h"
#include "app/web/far/far.h"

namespace attoscope::app {

/// The class of app/train/train_thread.h for a page. Nothing interrupts a step. The training lives in one Web Worker.
class TrainThread {
 public:
  TrainThread(std::function<void()> published, TrainKeeping keeping, MakeDevice make)
      : turns_(work(std::move(keeping), std::move(make)), std::move(published), FarWork::endless) {}

  void give(TrainOrder order) {
    orders_.push_back(std::move(order));
    turn();
  }
  void hold(bool held) {
    held_ = held;
    turn();
  }
  void look_at(const TensorAt& tensor) {
    wanted_ = tensor;
    turn();
  }
  TrainTold told() {
    if (std::optional<Turned> turned = turns_.take()) {
      merge(told_, std::move(turned->told));
      runs_ = turned->runs;
    }
    turn();
    return taken(told_);
  }
  bool busy() const { return turns_.busy() || !orders_.empty(); }
  const std::string& own_checkpoint() const { return no_file_; }

 private:
  struct Turn {
    std::vector<TrainOrder> orders{};
    TensorAt wanted{};
    bool steps = false;
  };
  struct Turned {
    TrainTold told{};
    bool runs = false;
  };

  /// Sends pending orders or steps if the Web Worker is idle.
  void turn() {
    const bool steps = runs_ && !held_;
    if (turns_.busy() || (orders_.empty() && wanted_ == looked_at_ && !steps)) return;
    looked_at_ = wanted_;
    turns_.submit({std::exchange(orders_, {}), wanted_, steps});
  }

  /// Executes the orders, then steps for 50 ms.
  static Worker<Turn, Turned>::Work work(TrainKeeping keeping, MakeDevice make) {
    using Clock = std::chrono::steady_clock;
    struct State {
      TrainTold told;
      OrderedTraining training;
      State(TrainKeeping keeping, MakeDevice make)
          : training([this](TrainTold newer) { merge(told, std::move(newer)); }, std::move(keeping), std::move(make)) {}
    };
    return [keeping, make, state = std::make_shared<std::unique_ptr<State>>()](const Turn& turn, const auto&, const auto&) {
      if (!*state) *state = std::make_unique<State>(keeping, make);
      OrderedTraining& training = (*state)->training;
      for (const TrainOrder& order : turn.orders) training.obey(order, {});
      if (turn.wanted != training.looked_at()) training.look_at(turn.wanted);
      const Clock::time_point end = Clock::now() + std::chrono::milliseconds(50);
      while (turn.steps && training.running() && Clock::now() < end) training.step({});
      return Turned{taken((*state)->told), training.running()};
    };
  }

  const std::string no_file_;
  std::vector<TrainOrder> orders_;
  TensorAt wanted_, looked_at_;
  bool held_ = false, runs_ = false;
  TrainTold told_;
  Worker<Turn, Turned> turns_;
};

}  // namespace attoscope::app
