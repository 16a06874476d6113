/// A GPU's code, loaded part by part on a thread of its own: half a minute if the driver has to compile it.
#pragma once

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <mutex>
#include <stop_token>
#include <string>
#include <thread>
#include <vector>

#include "kernels/experiment/stop_sign.h"

namespace attoscope {

/// Kernels that are loaded, and compiled, together: those of a file.
struct CodePart {
  std::string name;            ///< "attention in float"
  std::function<void()> load;  ///< returns once they are on the GPU; throws DeviceFailure
};

/// Progress of loading.
struct CodeProgress {
  enum class State : std::uint8_t { waiting, loading, stopping, stopped, ready, failed };
  State state = State::waiting;  ///< stopping: after the present part, which a driver does not interrupt
  int done = 0, all = 0;
  std::string part{};     ///< part that is being loaded, or is next; empty: all are loaded
  double seconds = 0;     ///< that loading took so far, without pauses
  std::string failure{};  ///< one sentence
};

/// May be used from many threads. Destruction waits for the part that is being loaded.
class CodeLoader {
 public:
  using State = CodeProgress::State;

  /// `gpu` is the GPU's name.
  CodeLoader(std::string gpu, std::vector<CodePart> parts);

  const std::string& gpu() const { return gpu_; }
  /// Begins loading, or continues after a stop or a failure.
  void start();
  /// Ends loading after the present part.
  void stop();
  CodeProgress progress() const;
  bool ready() const { return progress().state == State::ready; }
  /// Waits until nothing is being loaded, or so long; returns the state. Throws what `stop` throws.
  State wait(std::chrono::milliseconds longest, const StopSign& stop) const;

 private:
  using Clock = std::chrono::steady_clock;

  bool runs() const { return progress_.state == State::loading || progress_.state == State::stopping; }
  void run(const std::stop_token& ending);
  void end(State state);

  const std::string gpu_;
  const std::vector<CodePart> parts_;
  mutable std::mutex mutex_;
  mutable std::condition_variable ended_;
  CodeProgress progress_;
  Clock::time_point begun_{};
  std::jthread thread_;  ///< last, so it joins before anything it uses goes away
};

}  // namespace attoscope
