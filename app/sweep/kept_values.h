/// Cache on disk of values of one size, by the text of their question.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace attoscope::app {

/// Prefix of every question: only programs of the same version and arithmetic find an answer.
std::string answered_by(int arithmetic);

/// Several threads and processes may use one directory. It has a few files of many values each: "3f-472.points" has the values
/// whose hash begins with 3f, in records of 472 bytes. Torn or damaged records count as absent.
class KeptValues {
 public:
  /// Largest number of files.
  static constexpr std::size_t files = 64;

  /// `directory` empty: caches nothing. Writing a file removes its oldest values if the cache exceeds `limit_bytes`, but none
  /// that this object found or kept since `spare_none`. `prepare` is called before a file is first written.
  KeptValues(std::string directory, std::size_t value_bytes, std::uint64_t limit_bytes,
             std::function<void(std::size_t file)> prepare = {});
  ~KeptValues();

  /// Bytes of a record: a key, such a value, and a digest.
  static constexpr std::size_t record_bytes(std::size_t value_bytes) { return value_bytes + 3 * sizeof(std::uint64_t); }
  /// True if there is a directory.
  bool keeps() const { return !directory_.empty(); }
  std::optional<std::string> find(std::string_view question) const;
  /// A failure, such as a full or read-only disk, only sets `remark`.
  void keep(std::string_view question, std::string_view value);
  /// Values found and kept so far may be removed.
  void spare_none();
  /// One sentence on the first failure; empty: none.
  std::string remark() const;

 private:
  class File;

  std::string directory_;
  std::function<void(std::size_t file)> prepare_;
  std::vector<std::unique_ptr<File>> files_;
  std::atomic<int> failure_{0};  ///< errno of the first failure
};

}  // namespace attoscope::app
