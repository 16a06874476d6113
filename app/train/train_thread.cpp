#include "app/train/train_thread.h"

#include <utility>

namespace attoscope::app {

TrainThread::TrainThread(std::function<void()> published, TrainKeeping keeping, MakeDevice make)
    : published_(std::move(published)),
      training_(
          [this](TrainTold told) {
            {
              const std::lock_guard lock(mutex_);
              merge(told_, std::move(told));
            }
            if (published_) published_();
          },
          std::move(keeping), std::move(make)) {}

void TrainThread::give(TrainOrder order) {
  const std::lock_guard lock(mutex_);
  orders_.push_back(std::move(order));
  if (!thread_.joinable()) thread_ = std::jthread([this](const std::stop_token& stop) { work(stop); });
  wake_.notify_one();
}

void TrainThread::hold(bool held) {
  const std::lock_guard lock(mutex_);
  held_ = held;
  wake_.notify_one();
}

void TrainThread::look_at(const TensorAt& tensor) {
  const std::lock_guard lock(mutex_);
  wanted_ = tensor;
  wake_.notify_one();
}

TrainTold TrainThread::told() {
  const std::lock_guard lock(mutex_);
  return taken(told_);
}

bool TrainThread::busy() const {
  const std::lock_guard lock(mutex_);
  return working_ || !orders_.empty();
}

void TrainThread::work(const std::stop_token& stop) {
  TrainOrder order;
  for (Task task = next(stop, order); task != Task::end; task = next(stop, order)) {
    const auto outdated = [&] {
      const std::lock_guard lock(mutex_);
      return stop.stop_requested() || !orders_.empty() || (held_ && task == Task::step);
    };
    if (task == Task::order) training_.obey(order, outdated);
    if (task == Task::step) training_.step(outdated);
  }
  training_.keep();
}

/// Waits for the next task.
TrainThread::Task TrainThread::next(const std::stop_token& stop, TrainOrder& order) {
  std::unique_lock lock(mutex_);
  while (true) {
    working_ = false;
    const bool some = wake_.wait(
        lock, stop, [this] { return !orders_.empty() || wanted_ != training_.looked_at() || (training_.running() && !held_); });
    if (!some || stop.stop_requested()) return Task::end;
    working_ = true;
    if (!orders_.empty()) {
      order = std::move(orders_.front());
      orders_.pop_front();
      return Task::order;
    }
    if (wanted_ == training_.looked_at()) return Task::step;
    const TensorAt tensor = wanted_;
    lock.unlock();
    training_.look_at(tensor);
    lock.lock();
  }
}

}  // namespace attoscope::app
