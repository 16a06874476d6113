/// Cache on disk: values of one size, keyed by the text of their question.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace attoscope::app {

/// Prefix of every question, so that only programs of the same version and arithmetic find its value.
std::string answered_by(int arithmetic);

/// Several threads and processes may use one directory. It has a few files of many values each: "3f-472.points" has the values
/// whose hash begins with 3f, in records of 472 bytes. Torn or damaged records count as absent.
class KeptValues {
 public:
  /// Largest number of files.
  static constexpr std::size_t files = 64;

  /// `directory` empty: caches nothing. If the cache exceeds `limit_bytes`, a write removes the oldest values of its file
  /// except values that this object found or kept since `spare_none`.
  KeptValues(std::string directory, std::size_t value_bytes, std::uint64_t limit_bytes);
  ~KeptValues();

  /// Bytes of a record: key, value and digest.
  static constexpr std::size_t record_bytes(std::size_t value_bytes) { return value_bytes + 3 * sizeof(std::uint64_t); }
  /// True if there is a directory.
  bool keeps() const { return !directory_.empty(); }
  std::optional<std::string> find(std::string_view question) const;
  /// A failure, such as a full or read-only disk, only sets `remark`.
  void keep(std::string_view question, std::string_view value);
  /// Allows removing values found or kept so far.
  void spare_none();
  /// One sentence on the first failure; "" if none.
  std::string remark() const;

 private:
  class File;

  std::string directory_;
  std::vector<std::unique_ptr<File>> files_;
  std::atomic<int> failure_{0};  ///< errno of the first failure
};

}  // namespace attoscope::app
