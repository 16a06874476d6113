#include "app/sweep/point_cache.h"

#define XXH_INLINE_ALL
#include <unistd.h>
#include <xxhash.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <system_error>
#include <vector>

#include "app/files/paths.h"
#include "app/json/json.h"
#include "app/json/json_place.h"
#include "app/session/session.h"
#include "app/words/numbers.h"

namespace attoscope {
namespace {
namespace fs = std::filesystem;

constexpr std::string_view schema = "attoscope.point/2";
constexpr std::uint64_t largest_file = 1 << 16;

constexpr int most_nested = 4;

Json value_json(double x) { return number_json(x); }
Json value_json(std::uint64_t digest) { return hex16(digest); }
void read(const JsonPlace& json, double& x) { x = json.number(); }
void read(const JsonPlace& json, std::uint64_t& digest) { digest = from_hex16(json.text()).value(); }

std::string checked(const std::string& body) { return body + "\n" + hex16(XXH3_64bits(body.data(), body.size())) + "\n"; }

/// The body of what `checked` made; none where a byte is wrong.
std::optional<std::string> body_of(const std::string& text) {
  constexpr std::size_t tail = 18;
  if (text.size() < tail) return std::nullopt;
  std::string body = text.substr(0, text.size() - tail);
  return checked(body) == text ? std::optional(std::move(body)) : std::nullopt;
}

std::string environment(const char* name) {
  const char* const value = std::getenv(name);
  return value == nullptr ? "" : value;
}

struct KeptFile {
  fs::path path;
  fs::file_time_type used;
  std::uint64_t size;
};
std::vector<KeptFile> kept_files(const std::string& directory) {
  std::vector<KeptFile> files;
  std::error_code error;
  for (fs::recursive_directory_iterator i(directory, error), end; !error && i != end; i.increment(error)) {
    std::error_code gone;
    if (!i->is_regular_file(gone)) continue;
    const KeptFile file{i->path(), i->last_write_time(gone), i->file_size(gone)};
    if (!gone) files.push_back(file);
  }
  return files;
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

PointCache::PointCache(std::string directory, std::uint64_t limit_bytes, int arithmetic)
    : directory_(std::move(directory)), limit_(limit_bytes), arithmetic_(arithmetic) {
  if (!directory_.empty()) make_room();
}

/// What the answer depends on, and the rules that it was computed by.
std::string PointCache::key_of(const Experiment& experiment) const {
  Experiment e = experiment;
  e.problem.traced_row = e.problem.rows == 0 ? -1 : traced_row(e.problem);  // with all rows it changes no summary
  return std::string(schema) + " " + ATTOSCOPE_VERSION + " arithmetic " + std::to_string(arithmetic_) + "\n" +
         json_text(experiment_json(e), -1);
}

std::string PointCache::path_of(const std::string& key) const {
  const std::string name = hex16(XXH3_64bits(key.data(), key.size()));
  return (fs::path(directory_) / name.substr(0, 2) / (name + ".json")).string();
}

bool PointCache::keeps(const Experiment& e) const {
  return !directory_.empty() && e.a.algorithm != Algorithm::hardware && e.b.algorithm != Algorithm::hardware;
}

std::optional<PointSummary> PointCache::find(const Experiment& experiment) const {
  if (!keeps(experiment)) return std::nullopt;
  const std::string key = key_of(experiment);
  std::ifstream file(path_of(key), std::ios::binary);
  std::string text(largest_file, '\0');
  file.read(text.data(), static_cast<std::streamsize>(text.size()));
  text.resize(static_cast<std::size_t>(file.gcount()));
  const std::optional<std::string> body = body_of(text);
  if (!body || !body->starts_with(key + "\n")) return std::nullopt;
  return parse_summary(std::string_view(*body).substr(key.size() + 1));
}

void PointCache::keep(const Experiment& experiment, const PointSummary& summary) {
  if (!keeps(experiment)) return;
  const std::string key = key_of(experiment), path = path_of(key);
  const fs::path beside =
      path + ".part-" + hex16(reinterpret_cast<std::uintptr_t>(&summary)) + "-" + std::to_string(::getpid());
  std::error_code error;
  fs::create_directories(fs::path(path).parent_path(), error);
  errno = 0;
  {
    std::ofstream file(beside, std::ios::binary);
    file << checked(key + "\n" + summary_text(summary)) << std::flush;
    if (!file) error = std::error_code(errno == 0 ? EIO : errno, std::generic_category());
  }
  if (!error) fs::rename(beside, path, error);  // no fsync: a file that did not survive is computed again
  if (!error) return;
  std::error_code ignored;
  fs::remove(beside, ignored);
  int none = 0;
  failure_.compare_exchange_strong(none, error.value() == 0 ? EIO : error.value());
}

std::string PointCache::remark() const {
  if (failure_ == 0) return "";
  return "Points are not kept in " + directory_ + ": " + std::generic_category().message(failure_) + ".";
}

void PointCache::make_room() const {
  std::vector<KeptFile> files = kept_files(directory_);
  std::uint64_t total = 0;
  for (const KeptFile& f : files) total += f.size;
  if (total <= limit_) return;
  std::ranges::sort(files, {}, &KeptFile::used);
  for (const KeptFile& f : files) {
    if (total <= limit_ / 4 * 3) return;
    std::error_code ignored;
    if (fs::remove(f.path, ignored)) total -= f.size;
  }
}

}  // namespace attoscope
