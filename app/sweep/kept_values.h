/// Values of one size on disk, found again by the text of their question: nothing is computed twice.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "app/sweep/point_pack.h"

namespace attoscope {

/// What every question begins with: an answer is known only to programs of the version and the arithmetic that computed it.
std::string answered_by(int arithmetic);

/// Many threads and many processes may use one directory. It holds a few files of many values each: "3f-472.points" those whose
/// hash begins with 3f, in records of 472 bytes. What is torn or damaged counts as absent.
class KeptValues {
 public:
  /// How many files there are at most.
  static constexpr std::size_t files = 64;

  /// `directory` empty: remembers nothing. Older values go away, file by file as these are written, where all together exceed
  /// `limit_bytes`; but none that this object found or kept since `spare_none`. `prepare` is called before a file is first
  /// written.
  KeptValues(std::string directory, std::size_t value_bytes, std::uint64_t limit_bytes,
             std::function<void(std::size_t file)> prepare = {});
  ~KeptValues();

  /// Whether there is a directory.
  bool keeps() const { return !directory_.empty(); }
  std::optional<std::string> find(std::string_view question) const;
  /// A disk that is full or read-only is remembered in `remark`, and nothing else happens.
  void keep(std::string_view question, std::string_view value);
  /// What was found and kept until now may go away.
  void spare_none();
  /// One sentence about the first thing that went wrong; empty: nothing did.
  std::string remark() const;

 private:
  struct File;
  File& file_of(const PackKey& key) const { return *files_[key.high % files]; }

  std::string directory_;
  std::function<void(std::size_t file)> prepare_;
  std::vector<std::unique_ptr<File>> files_;
  std::atomic<int> failure_{0};  ///< errno of the first failure
};

}  // namespace attoscope
