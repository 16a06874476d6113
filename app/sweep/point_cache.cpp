#include "app/sweep/point_cache.h"

#define XXH_INLINE_ALL
#include <xxhash.h>

#include <bit>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <mutex>
#include <nlohmann/json.hpp>
#include <system_error>

#include "app/files/paths.h"
#include "app/json/json.h"
#include "app/json/json_place.h"
#include "app/session/session.h"
#include "app/words/numbers.h"

namespace attoscope {
namespace {
namespace fs = std::filesystem;

constexpr std::string_view schema = "attoscope.point/3";
constexpr int most_nested = 4;

Json value_json(double x) { return number_json(x); }
Json value_json(std::uint64_t digest) { return hex16(digest); }
void read(const JsonPlace& json, double& x) { x = json.number(); }
void read(const JsonPlace& json, std::uint64_t& digest) { digest = from_hex16(json.text()).value(); }

/// A summary as the 8 bytes of every number, and back.
std::string packed(const PointSummary& s) {
  std::string bytes;
  visit_summary(s, [&](const std::string&, auto x) {
    const auto bits = std::bit_cast<std::uint64_t>(x);
    bytes.append(reinterpret_cast<const char*>(&bits), sizeof bits);
  });
  return bytes;
}
PointSummary unpacked(const std::string& bytes) {
  PointSummary s;
  std::size_t at = 0;
  visit_summary(s, [&]<class T>(const std::string&, T& x) {
    std::uint64_t bits = 0;
    std::memcpy(&bits, bytes.data() + at, sizeof bits);
    x = std::bit_cast<T>(bits);
    at += sizeof bits;
  });
  return s;
}

std::string environment(const char* name) {
  const char* const value = std::getenv(name);
  return value == nullptr ? "" : value;
}

}  // namespace

std::string default_point_cache() {
  const fs::path relative = fs::path("attoscope") / "points", cache = environment("XDG_CACHE_HOME");
  if (cache.is_absolute()) return (cache / relative).string();
  const std::string home = environment("HOME");
  return home.empty() ? "" : (fs::path(home) / ".cache" / relative).string();
}

std::string summary_text(const PointSummary& s) {
  Json json;
  visit_summary(s, [&](const std::string& name, auto x) { json[name] = value_json(x); });
  return json.dump();
}

std::optional<PointSummary> parse_summary(std::string_view text) try {
  const nlohmann::json json = parse_json(text, most_nested);
  const JsonPlace place(json, "");
  PointSummary s;
  visit_summary(s, [&](const std::string& name, auto& x) { read(place.at(name), x); });
  return s;
} catch (const std::exception&) {
  return std::nullopt;
}

/// One of the files, and what there is to do once before it is written.
struct PointCache::File {
  File(std::string path, std::size_t value_bytes, std::uint64_t limit_bytes)
      : pack(std::move(path), value_bytes, limit_bytes) {}
  PointPack pack;
  std::once_flag prepared{};
};

PointCache::PointCache(std::string directory, std::uint64_t limit_bytes, int arithmetic)
    : directory_(std::move(directory)), arithmetic_(arithmetic) {
  const std::size_t value = packed({}).size();
  for (std::size_t i = 0; i < files && !directory_.empty(); ++i) {
    const std::string name = hex16(i).substr(14) + "-" + std::to_string(PointPack::record_bytes(value)) + ".points";
    files_.push_back(std::make_unique<File>((fs::path(directory_) / name).string(), value, limit_bytes / files));
  }
}

PointCache::~PointCache() = default;

PointCache::File& PointCache::file_of(const PackKey& key) const { return *files_[key.high % files]; }

void PointCache::begin_sweep() {
  for (const auto& file : files_) file->pack.spare_none();
}

/// What the answer depends on, and the rules that it was computed by.
PackKey PointCache::key_of(const Experiment& experiment) const {
  Experiment e = experiment;
  e.problem.traced_row = e.problem.rows == 0 ? -1 : traced_row(e.problem);  // with all rows it changes no summary
  const std::string text = std::string(schema) + " " + ATTOSCOPE_VERSION + " arithmetic " + std::to_string(arithmetic_) + "\n" +
                           json_text(experiment_json(e), -1);
  const XXH128_hash_t hash = XXH3_128bits(text.data(), text.size());
  return {hash.low64, hash.high64};
}

bool PointCache::keeps(const Experiment& e) const {
  return !directory_.empty() && e.a.algorithm != Algorithm::hardware && e.b.algorithm != Algorithm::hardware;
}

std::optional<PointSummary> PointCache::find(const Experiment& experiment) const {
  if (!keeps(experiment)) return std::nullopt;
  const PackKey key = key_of(experiment);
  const std::optional<std::string> bytes = file_of(key).pack.find(key);
  return bytes ? std::optional(unpacked(*bytes)) : std::nullopt;
}

void PointCache::keep(const Experiment& experiment, const PointSummary& summary) try {
  if (!keeps(experiment)) return;
  const PackKey key = key_of(experiment);
  File& file = file_of(key);
  std::call_once(file.prepared, [&] {
    fs::create_directories(directory_);
    remove_older(key.high % files);
  });
  file.pack.keep(key, packed(summary));
} catch (const std::system_error& error) {  // also of the file system
  int none = 0;
  failure_.compare_exchange_strong(none, error.code().value() == 0 ? EIO : error.code().value());
}

std::string PointCache::remark() const {
  if (failure_ == 0) return "";
  return "Points are not kept in " + directory_ + ": " + std::generic_category().message(failure_) + ".";
}

/// Earlier versions kept every point in a file of its own: a few folders of these for each file that is written now, so that
/// nobody waits for all of them.
void PointCache::remove_older(std::size_t file) const {
  constexpr std::size_t folders = 256;
  for (std::size_t i = file; i < folders; i += files) {
    const fs::path folder = fs::path(directory_) / hex16(i).substr(14);
    std::error_code error, ignored;
    for (fs::directory_iterator old(folder, error), end; !error && old != end; old.increment(error))
      if (old->path().filename().string().find(".json") != std::string::npos) fs::remove(old->path(), ignored);
    fs::remove(folder, ignored);
  }
}

}  // namespace attoscope
