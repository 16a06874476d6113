/// Many small values of one size in one file, which several programs read and write at once.
#pragma once

#include <cstdint>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>

#include "app/files/files.h"

namespace attoscope {

/// What a value is found by: 128 bits of a hash.
struct PackKey {
  std::uint64_t low = 0, high = 0;
  friend bool operator==(const PackKey&, const PackKey&) = default;
};

struct PackKeyHash {
  std::size_t operator()(const PackKey& key) const { return key.low; }
};

/// The file: records of one size, each its key, its value and the XXH3 digest of both, the newest last. A record that is torn
/// or damaged counts as absent; a torn one at the end, which a program that was killed has left, is cut off by the next that
/// writes. All may be called from any thread.
class PointPack {
 public:
  PointPack(std::string path, std::size_t value_bytes, std::uint64_t limit_bytes);

  /// The bytes of a record of such values.
  static constexpr std::size_t record_bytes(std::size_t value_bytes) {
    return sizeof(PackKey) + value_bytes + sizeof(std::uint64_t);
  }

  /// The newest value of the key; it is then spared by `keep`.
  std::optional<std::string> find(const PackKey& key);
  /// Appends a value. Where the file then exceeds its limit, the oldest go away, but none that was found or kept by this object
  /// since `spare_none`. Throws std::system_error where it cannot be written; the file is then as it was.
  void keep(const PackKey& key, std::string_view value);
  /// What was found and kept so far may go away.
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
  std::uint64_t device_ = 0, inode_ = 0;  ///< of `file_`: another program may have put a new one in its place
  std::uint64_t read_ = 0;                ///< so far the file was looked through
  std::uint64_t trimmed_at_;              ///< the size from which it is trimmed
  std::unordered_map<PackKey, std::uint64_t, PackKeyHash> places_;  ///< of the newest records
  std::unordered_set<PackKey, PackKeyHash> spared_;
};

}  // namespace attoscope
