/// Files that other programs rewrite, seen from a thread of its own.
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
#include <vector>

namespace attoscope {

/// Tells which files were rewritten, once they have not changed for a moment. Destruction ends its thread.
class FileWatch {
 public:
  using Period = std::chrono::milliseconds;

  /// `published` is called from the other thread whenever `take` has something to say.
  explicit FileWatch(std::function<void()> published, Period period = Period(250));

  /// From now on these and no others. What is new among them counts as it is now, though the thread looks at it later: one that
  /// was written since, or within the coarseness of file times before, is told as rewritten.
  void watch(const std::vector<std::string>& files);
  /// The files that were rewritten since the last call.
  std::vector<std::string> take();

 private:
  /// When a file was written and how long it is; all zero where there is none.
  struct Stamp {
    std::filesystem::file_time_type written{};
    std::uintmax_t size = 0;
    friend bool operator==(const Stamp&, const Stamp&) = default;
  };
  struct Watched {
    std::filesystem::file_time_type since;  ///< what was written before is known to who asked
    Stamp told{}, last{};
    bool known = false, changed = false;
  };
  static Stamp stamp_of(const std::string& file);
  bool look(std::unique_lock<std::mutex>& lock);
  void run(const std::stop_token& stop);

  std::function<void()> published_;
  Period period_;
  std::mutex mutex_;
  std::condition_variable_any wake_;
  std::map<std::string, Watched> files_;
  bool added_ = false;   ///< some of them are not known yet
  std::jthread thread_;  ///< last, so it joins before anything it uses goes away
};

}  // namespace attoscope
