/// Watches for files that other programs rewrite, on a thread.
#pragma once

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <mutex>
#include <string>
#include <thread>
#include <utility>
#include <vector>

namespace attoscope::app {

/// Reports rewritten files once they have not changed for a period. Destruction ends its thread.
class FileWatch {
 public:
  static constexpr std::chrono::milliseconds period{250};

  /// The other thread calls `published` whenever `take` has something to return.
  explicit FileWatch(std::function<void()> published) : published_(std::move(published)) {}

  /// Watches exactly these files. A new one is reported if it is written after the call, or less than the granularity of file
  /// times before.
  void watch(const std::vector<std::string>& files);
  /// Files that were rewritten since the last call.
  std::vector<std::string> take();

 private:
  /// Time of writing and size of a file; all zero if it does not exist.
  struct Stamp {
    std::filesystem::file_time_type written{};
    std::uintmax_t size = 0;
    friend bool operator==(const Stamp&, const Stamp&) = default;
  };
  struct Watched {
    std::filesystem::file_time_type since;  ///< changes before this are known to the caller
    Stamp told{}, last{};
    bool known = false, changed = false;
  };
  static Stamp stamp_of(const std::string& file);
  bool look(std::unique_lock<std::mutex>& lock);
  void run(const std::stop_token& stop);

  std::function<void()> published_;
  std::mutex mutex_;
  std::condition_variable_any wake_;
  std::map<std::string, Watched> files_;
  bool added_ = false;   ///< some files have not been looked at yet
  std::jthread thread_;  ///< last, so that it joins before anything it uses is destroyed
};

}  // namespace attoscope::app
