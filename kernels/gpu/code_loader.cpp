#include "kernels/gpu/code_loader.h"

#include <algorithm>
#include <exception>
#include <utility>

namespace attoscope {
namespace {

double seconds_since(std::chrono::steady_clock::time_point begin) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
}

/// One sentence that says why the part could not be loaded; "": it is loaded.
std::string failure_of(const CodePart& part) {
  try {
    part.load();
    return "";
  } catch (const std::exception& error) {
    return error.what();
  }
}

}  // namespace

CodeLoader::CodeLoader(std::string gpu, std::vector<CodePart> parts) : gpu_(std::move(gpu)), parts_(std::move(parts)) {
  progress_.all = static_cast<int>(parts_.size());
  if (parts_.empty()) progress_.state = State::ready;
}

void CodeLoader::start() {
  const std::lock_guard lock(mutex_);
  if (progress_.state == State::loading || progress_.state == State::ready) return;
  const bool still_runs = std::exchange(progress_.state, State::loading) == State::stopping;
  if (still_runs) return;
  progress_.failure.clear();
  begun_ = Clock::now();
  thread_ = std::jthread([this](const std::stop_token& ending) { run(ending); });
}

void CodeLoader::stop() {
  const std::lock_guard lock(mutex_);
  if (progress_.state == State::loading) progress_.state = State::stopping;
}

CodeProgress CodeLoader::progress() const {
  const std::lock_guard lock(mutex_);
  CodeProgress now = progress_;
  if (now.done < now.all) now.part = parts_[static_cast<std::size_t>(now.done)].name;
  if (runs()) now.seconds += seconds_since(begun_);
  return now;
}

CodeLoader::State CodeLoader::wait(std::chrono::milliseconds longest, const StopSign& stop) const {
  constexpr std::chrono::milliseconds between_checks{20};
  const Clock::time_point end = Clock::now() + longest;
  std::unique_lock lock(mutex_);
  while (runs() && Clock::now() < end) {
    lock.unlock();
    stop.check();
    lock.lock();
    ended_.wait_until(lock, std::min(end, Clock::now() + between_checks), [this] { return !runs(); });
  }
  return progress_.state;
}

void CodeLoader::run(const std::stop_token& ending) {
  std::unique_lock lock(mutex_);
  while (progress_.done < progress_.all) {
    if (progress_.state == State::stopping || ending.stop_requested()) return end(State::stopped);
    const CodePart& part = parts_[static_cast<std::size_t>(progress_.done)];
    lock.unlock();
    std::string failure = failure_of(part);
    lock.lock();
    progress_.failure = std::move(failure);
    if (!progress_.failure.empty()) return end(State::failed);
    ++progress_.done;
  }
  end(State::ready);
}

/// Ends the thread's work, under the lock: from then on another thread may begin.
void CodeLoader::end(State state) {
  progress_.state = state;
  progress_.seconds += seconds_since(begun_);
  ended_.notify_all();
}

}  // namespace attoscope
