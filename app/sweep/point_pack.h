/// Many small values of one size in a file shared by several programs.
#pragma once

#include <cstdint>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>

#include "app/files/files.h"

namespace attoscope::app {

/// Key of a value: 128 bits of a hash.
struct PackKey {
  std::uint64_t low = 0, high = 0;
  friend bool operator==(const PackKey&, const PackKey&) = default;
};

struct PackKeyHash {
  std::size_t operator()(const PackKey& key) const { return key.low; }
};

/// The file: records of one size, each a key, a value and the XXH3 digest of both, the newest last. Torn or damaged records
/// count as absent; a torn one at the end, left by a killed program, is cut off by the next writer. Thread-safe.
class PointPack {
 public:
  PointPack(std::string path, std::size_t value_bytes, std::uint64_t limit_bytes);

  /// Bytes of a record with such a value.
  static constexpr std::size_t record_bytes(std::size_t value_bytes) {
    return sizeof(PackKey) + value_bytes + sizeof(std::uint64_t);
  }

  /// The newest value of the key, which is then spared by `keep`.
  std::optional<std::string> find(const PackKey& key);
  /// Appends a value. If the file then exceeds its limit, its oldest values are removed, but none that this object found or
  /// kept since `spare_none`. Throws std::system_error on failure; the file is then unchanged.
  void keep(const PackKey& key, std::string_view value);
  /// Values found and kept so far may be removed.
  void spare_none();

 private:
  int look(int flags);
  void read_new();
  std::optional<std::string> value_at(std::uint64_t offset, const PackKey& key) const;
  void append(const std::string& record);
  void trim();

  const std::string path_;
  const std::size_t record_;
  const std::uint64_t limit_;
  std::mutex mutex_;
  Descriptor file_;
  std::uint64_t device_ = 0, inode_ = 0;                            ///< identity of `file_`, which another program may replace
  std::uint64_t read_ = 0;                                          ///< bytes of the file read so far
  std::uint64_t trimmed_at_;                                        ///< size above which the file is trimmed
  std::unordered_map<PackKey, std::uint64_t, PackKeyHash> places_;  ///< offsets of the newest records
  std::unordered_set<PackKey, PackKeyHash> spared_;
};

}  // namespace attoscope::app
