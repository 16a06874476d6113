#include "app/explore/file_watch.h"

#include <algorithm>
#include <chrono>
#include <system_error>
#include <utility>

namespace attoscope::app {
namespace {

/// Granularity of file times, which advance with the kernel's tick.
constexpr std::chrono::milliseconds coarseness(20);

}  // namespace

FileWatch::Stamp FileWatch::stamp_of(const std::string& file) {
  std::error_code error;
  Stamp stamp;
  stamp.written = std::filesystem::last_write_time(file, error);
  if (error) return {};
  stamp.size = std::filesystem::file_size(file, error);
  return error ? Stamp{} : stamp;
}

void FileWatch::watch(const std::vector<std::string>& files) {
  const std::scoped_lock lock(mutex_);
  std::erase_if(files_, [&](const auto& entry) { return std::ranges::find(files, entry.first) == files.end(); });
  const auto since = std::filesystem::file_time_type::clock::now() - coarseness;
  for (const std::string& file : files) added_ |= files_.try_emplace(file, Watched{since}).second;
  wake_.notify_one();
  if (files_.empty() || thread_.joinable()) return;
  try {
    thread_ = std::jthread([this](const std::stop_token& stop) { run(stop); });
  } catch (const std::system_error&) {  // no threads available: rewritten files are not noticed
  }
}

std::vector<std::string> FileWatch::take() {
  const std::scoped_lock lock(mutex_);
  std::vector<std::string> changed;
  for (auto& [file, watched] : files_)
    if (std::exchange(watched.changed, false)) changed.push_back(file);
  return changed;
}

/// True if a file changed and then stayed the same for a period. Reads file times without the lock: disks may be slow, and the
/// window may wait for the lock.
bool FileWatch::look(std::unique_lock<std::mutex>& lock) {
  std::map<std::string, Stamp> seen;
  for (const auto& [file, watched] : files_) seen[file];
  lock.unlock();
  for (auto& [file, stamp] : seen) stamp = stamp_of(file);
  lock.lock();
  bool found = false;
  for (auto& [file, watched] : files_) {
    if (!seen.contains(file)) continue;
    const Stamp now = seen[file];
    if (!std::exchange(watched.known, true)) {
      watched.last = now;
      if (now.written < watched.since) watched.told = now;
    }
    const bool rests = now == watched.last, is_there = now != Stamp{};
    watched.last = now;
    if (!rests || !is_there || now == watched.told) continue;
    watched.told = now;
    watched.changed = found = true;
  }
  return found;
}

void FileWatch::run(const std::stop_token& stop) {
  std::unique_lock lock(mutex_);
  while (!stop.stop_requested()) {
    if (files_.empty())
      wake_.wait(lock, stop, [&] { return !files_.empty(); });
    else
      wake_.wait_for(lock, stop, period, [&] { return added_; });
    added_ = false;
    if (stop.stop_requested() || !look(lock)) continue;
    lock.unlock();
    published_();
    lock.lock();
  }
}

}  // namespace attoscope::app
