#include "app/sweep/kept_values.h"

#define XXH_INLINE_ALL
#include <xxhash.h>

#include <cerrno>
#include <filesystem>
#include <mutex>
#include <system_error>

#include "app/words/numbers.h"

namespace attoscope::app {
namespace {
namespace fs = std::filesystem;

PackKey question_key(std::string_view question) {
  const XXH128_hash_t hash = XXH3_128bits(question.data(), question.size());
  return {hash.low64, hash.high64};
}

}  // namespace

std::string answered_by(int arithmetic) { return ATTOSCOPE_VERSION " arithmetic " + std::to_string(arithmetic) + "\n"; }

/// A file, and a flag for the preparation before its first writing.
struct KeptValues::File {
  File(std::string path, std::size_t value_bytes, std::uint64_t limit_bytes)
      : pack(std::move(path), value_bytes, limit_bytes) {}
  PointPack pack;
  std::once_flag prepared{};
};

KeptValues::KeptValues(std::string directory, std::size_t value_bytes, std::uint64_t limit_bytes,
                       std::function<void(std::size_t file)> prepare)
    : directory_(std::move(directory)), prepare_(std::move(prepare)) {
  for (std::size_t i = 0; i < files && keeps(); ++i) {
    const std::string name = hex16(i).substr(14) + "-" + std::to_string(PointPack::record_bytes(value_bytes)) + ".points";
    files_.push_back(std::make_unique<File>((fs::path(directory_) / name).string(), value_bytes, limit_bytes / files));
  }
}

KeptValues::~KeptValues() = default;

void KeptValues::spare_none() {
  for (const auto& file : files_) file->pack.spare_none();
}

std::optional<std::string> KeptValues::find(std::string_view question) const {
  if (!keeps()) return std::nullopt;
  const PackKey key = question_key(question);
  return file_of(key).pack.find(key);
}

void KeptValues::keep(std::string_view question, std::string_view value) try {
  if (!keeps()) return;
  const PackKey key = question_key(question);
  File& file = file_of(key);
  std::call_once(file.prepared, [&] {
    fs::create_directories(directory_);
    if (prepare_) prepare_(key.high % files);
  });
  file.pack.keep(key, value);
} catch (const std::system_error& error) {  // includes fs::filesystem_error
  int none = 0;
  failure_.compare_exchange_strong(none, error.code().value() == 0 ? EIO : error.code().value());
}

std::string KeptValues::remark() const {
  if (failure_ == 0) return "";
  return "Points are not kept in " + directory_ + ": " + std::generic_category().message(failure_) + ".";
}

}  // namespace attoscope::app
