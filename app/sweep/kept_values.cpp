#include "app/sweep/kept_values.h"

#define XXH_INLINE_ALL
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>
#include <xxhash.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <mutex>
#include <system_error>
#include <unordered_map>
#include <unordered_set>

#include "app/files/files.h"
#include "app/words/numbers.h"

namespace attoscope::app {

/// Key of a value: 128 bits of a hash of its question.
struct PackKey {
  std::uint64_t low = 0, high = 0;
  friend bool operator==(const PackKey&, const PackKey&) = default;
};

struct PackKeyHash {
  std::size_t operator()(const PackKey& key) const { return key.low; }
};

namespace {
namespace fs = std::filesystem;

PackKey question_key(std::string_view question) {
  const XXH128_hash_t hash = XXH3_128bits(question.data(), question.size());
  return {hash.low64, hash.high64};
}

[[noreturn]] void fail(int error) { throw std::system_error(error, std::generic_category()); }

std::string record_of(const PackKey& key, std::string_view value) {
  std::string record(sizeof key, '\0');
  std::memcpy(record.data(), &key, sizeof key);
  record += value;
  const std::uint64_t digest = XXH3_64bits(record.data(), record.size());
  record.append(reinterpret_cast<const char*>(&digest), sizeof digest);
  return record;
}

/// Key of a record; none if it is damaged.
std::optional<PackKey> key_of(std::string_view record) {
  std::uint64_t digest = 0;
  PackKey key;
  const std::size_t body = record.size() - sizeof digest;
  std::memcpy(&digest, record.data() + body, sizeof digest);
  std::memcpy(&key, record.data(), sizeof key);
  return XXH3_64bits(record.data(), body) == digest ? std::optional(key) : std::nullopt;
}

/// Bytes of the file; fewer at its end or after an error.
std::string bytes_at(int fd, std::uint64_t offset, std::size_t count) {
  std::string bytes(count, '\0');
  std::size_t done = 0;
  while (done < count) {
    const ssize_t n = ::pread(fd, bytes.data() + done, count - done, static_cast<off_t>(offset + done));
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) break;
    done += static_cast<std::size_t>(n);
  }
  bytes.resize(done);
  return bytes;
}

std::uint64_t size_of(int fd) {
  struct stat status{};
  return ::fstat(fd, &status) == 0 ? static_cast<std::uint64_t>(status.st_size) : 0;
}

}  // namespace

std::string answered_by(int arithmetic) { return ATTOSCOPE_VERSION " arithmetic " + std::to_string(arithmetic) + "\n"; }

/// A file of many values of one size, shared by several programs. Each record is a key, a value and the XXH3 digest of both;
/// the newest is last. Torn or damaged records count as absent; the next writer cuts off a torn record at the end, left by a
/// killed program. Thread-safe.
class KeptValues::File {
 public:
  File(std::string path, std::size_t value_bytes, std::uint64_t limit_bytes)
      : path_(std::move(path)), record_(record_bytes(value_bytes)), limit_(limit_bytes), trimmed_at_(limit_bytes) {}

  /// The newest value of the key; `keep` then spares it.
  std::optional<std::string> find(const PackKey& key);
  /// Appends a value. If the file then exceeds its limit, removes its oldest values, but none that this object found or kept
  /// since `spare_none`. Throws std::system_error on failure; the file is then unchanged.
  void keep(const PackKey& key, std::string_view value);
  void spare_none();

  std::once_flag has_directory{};  ///< for making the directory before the first write

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

std::optional<std::string> KeptValues::File::find(const PackKey& key) {
  const std::lock_guard lock(mutex_);
  auto place = places_.find(key);
  if (place == places_.end()) {
    look(O_RDONLY);
    place = places_.find(key);
  }
  if (place == places_.end()) return std::nullopt;
  std::optional<std::string> value = value_at(place->second, key);
  if (value)
    spared_.insert(key);
  else
    places_.erase(place);
  return value;
}

void KeptValues::File::keep(const PackKey& key, std::string_view value) {
  const std::lock_guard lock(mutex_);
  spared_.insert(key);
  const std::string record = record_of(key, value);
  constexpr int tries = 100;
  for (int i = 0; i < tries; ++i) {
    if (const int error = look(O_RDWR | O_CREAT); error != 0) fail(error);
    const FileLock held(file_.get());
    struct stat status{};
    if (::stat(path_.c_str(), &status) != 0 || status.st_ino != inode_ || status.st_dev != device_) continue;  // was replaced
    append(record);
    read_new();
    if (read_ > trimmed_at_) trim();
    return;
  }
  fail(EBUSY);
}

void KeptValues::File::spare_none() {
  const std::lock_guard lock(mutex_);
  spared_.clear();
  trimmed_at_ = limit_;
}

/// Opens the file again if it was replaced, and reads new records. Returns an errno; if writing is not possible, the file stays
/// open for reading.
int KeptValues::File::look(int flags) {
  struct stat status{};
  const bool is_same =
      ::stat(path_.c_str(), &status) == 0 && file_.valid() && status.st_ino == inode_ && status.st_dev == device_;
  const bool writable = is_same && (::fcntl(file_.get(), F_GETFL) & O_ACCMODE) == O_RDWR;
  int error = 0;
  if (!is_same || (flags != O_RDONLY && !writable)) {
    const int fd = ::open(path_.c_str(), flags | O_CLOEXEC, 0666);
    error = fd < 0 ? errno : 0;
    if (!is_same) {
      places_.clear();
      read_ = 0;
    }
    if (!is_same || fd >= 0) file_ = Descriptor(fd);
    if (fd >= 0 && ::fstat(fd, &status) == 0) {
      device_ = status.st_dev;
      inode_ = status.st_ino;
    }
  }
  if (file_.valid()) read_new();
  return error;
}

void KeptValues::File::read_new() {
  const std::uint64_t size = size_of(file_.get());
  if (size < read_) {
    places_.clear();
    read_ = 0;
  }
  const std::size_t piece = std::max<std::size_t>(1, (1 << 20) / record_) * record_;
  while (size - read_ >= record_) {
    const std::string bytes = bytes_at(file_.get(), read_, std::min<std::uint64_t>(piece, size - read_));
    if (bytes.size() < record_) return;
    for (std::size_t at = 0; at + record_ <= bytes.size(); at += record_, read_ += record_)
      if (const auto key = key_of(std::string_view(bytes).substr(at, record_))) places_[*key] = read_;
  }
}

std::optional<std::string> KeptValues::File::value_at(std::uint64_t offset, const PackKey& key) const {
  const std::string record = bytes_at(file_.get(), offset, record_);
  if (record.size() < record_ || key_of(record) != key) return std::nullopt;
  return record.substr(sizeof key, record_ - record_bytes(0));
}

/// Appends a record, after cutting off a torn one of a killed program. The caller holds the file's lock.
void KeptValues::File::append(const std::string& record) {
  const std::uint64_t end = size_of(file_.get()) / record_ * record_;
  if (::ftruncate(file_.get(), static_cast<off_t>(end)) != 0) fail(errno);
  std::size_t done = 0;
  while (done < record.size()) {
    const ssize_t n = ::pwrite(file_.get(), record.data() + done, record.size() - done, static_cast<off_t>(end + done));
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) {
      const int error = errno;
      if (::ftruncate(file_.get(), static_cast<off_t>(end)) != 0) fail(errno);
      fail(error);
    }
    done += static_cast<std::size_t>(n);
  }
}

/// Replaces the file by one with the spared records and the newest others, up to three quarters of the limit. On failure the
/// file stays unchanged.
void KeptValues::File::trim() try {
  std::vector<std::pair<std::uint64_t, bool>> records;  // offset; true if spared
  for (const auto& [key, place] : places_) records.emplace_back(place, spared_.contains(key));
  std::ranges::sort(records);
  std::uint64_t size = records.size() * record_;
  std::string bytes;
  for (const auto& [place, stays] : records) {
    if (!stays && size > limit_ / 4 * 3)
      size -= record_;
    else
      bytes += bytes_at(file_.get(), place, record_);
  }
  trimmed_at_ = std::max<std::uint64_t>(limit_, bytes.size() / 4 * 5);
  write_file(path_, bytes);
} catch (const std::exception&) {
  trimmed_at_ = read_ / 4 * 5;  // no room for the new file: do not try at every point
}

KeptValues::KeptValues(std::string directory, std::size_t value_bytes, std::uint64_t limit_bytes)
    : directory_(std::move(directory)) {
  for (std::size_t i = 0; i < files && keeps(); ++i) {
    const std::string name = hex16(i).substr(14) + "-" + std::to_string(record_bytes(value_bytes)) + ".points";
    files_.push_back(std::make_unique<File>((fs::path(directory_) / name).string(), value_bytes, limit_bytes / files));
  }
}

KeptValues::~KeptValues() = default;

void KeptValues::spare_none() {
  for (const auto& file : files_) file->spare_none();
}

std::optional<std::string> KeptValues::find(std::string_view question) const {
  if (!keeps()) return std::nullopt;
  const PackKey key = question_key(question);
  return files_[key.high % files]->find(key);
}

void KeptValues::keep(std::string_view question, std::string_view value) try {
  if (!keeps()) return;
  const PackKey key = question_key(question);
  File& file = *files_[key.high % files];
  std::call_once(file.has_directory, [&] { fs::create_directories(directory_); });
  file.keep(key, value);
} catch (const std::system_error& error) {  // includes fs::filesystem_error
  int none = 0;
  failure_.compare_exchange_strong(none, error.code().value() == 0 ? EIO : error.code().value());
}

std::string KeptValues::remark() const {
  if (failure_ == 0) return "";
  return "Points are not kept in " + directory_ + ": " + std::generic_category().message(failure_) + ".";
}

}  // namespace attoscope::app
