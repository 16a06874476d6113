#include "app/sweep/point_cache.h"

#include <bit>
#include <cstring>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "app/json/json.h"
#include "app/json/json_place.h"
#include "app/session/session.h"
#include "app/words/numbers.h"
#include "kernels/experiment/rules.h"

namespace attoscope::app {
namespace {
namespace fs = std::filesystem;

constexpr std::string_view point_schema = "attoscope.point/3";
constexpr int most_nested = 4;

Json value_json(double x) { return number_json(x); }
Json value_json(std::uint64_t digest) { return hex16(digest); }
void read(const JsonPlace& json, double& x) { x = json.number(); }
void read(const JsonPlace& json, std::uint64_t& digest) { digest = from_hex16(json.text()).value(); }

/// A summary as 8 bytes per number, and back.
std::string packed(const PointSummary& s) {
  std::string bytes;
  visit_summary(s, [&](const std::string&, auto x) {
    const auto bits = std::bit_cast<std::uint64_t>(x);
    bytes.append(reinterpret_cast<const char*>(&bits), sizeof bits);
  });
  return bytes;
}
PointSummary unpacked(const std::string& bytes, PointSummary s) {
  std::size_t at = 0;
  visit_summary(s, [&]<class T>(const std::string&, T& x) {
    std::uint64_t bits = 0;
    std::memcpy(&bits, bytes.data() + at, sizeof bits);
    x = std::bit_cast<T>(bits);
    at += sizeof bits;
  });
  return s;
}

/// Removes points of earlier versions, one per file: a few folders for each file written now, so that no write takes long.
void remove_older(const std::string& directory, std::size_t file) {
  constexpr std::size_t folders = 256;
  for (std::size_t i = file; i < folders; i += PointCache::files) {
    const fs::path folder = fs::path(directory) / hex16(i).substr(14);
    std::error_code error, ignored;
    for (fs::directory_iterator old(folder, error), end; !error && old != end; old.increment(error))
      if (old->path().filename().string().find(".json") != std::string::npos) fs::remove(old->path(), ignored);
    fs::remove(folder, ignored);
  }
}

}  // namespace

std::string summary_text(const PointSummary& s) {
  Json json;
  visit_summary(s, [&](const std::string& name, auto x) { json[name] = value_json(x); });
  return json.dump();
}

std::optional<PointSummary> parse_summary(std::string_view text) try {
  const nlohmann::json json = parse_json(text, most_nested);
  const JsonPlace place(json, "");
  PointSummary s = empty_summary(json.contains("a.dq.max_abs"));
  visit_summary(s, [&](const std::string& name, auto& x) { read(place.at(name), x); });
  return s;
} catch (const std::exception&) {
  return std::nullopt;
}

PointCache::PointCache(const std::string& directory, std::uint64_t limit_bytes, int arithmetic)
    : arithmetic_(arithmetic),
      values_(directory, packed({}).size(), limit_bytes, [directory](std::size_t file) { remove_older(directory, file); }),
      backward_values_(directory, packed(empty_summary(true)).size(), limit_bytes) {}

/// Cache key of the answer, with the version and arithmetic that computed it.
std::string PointCache::question_of(const Experiment& experiment) const {
  Experiment e = experiment;
  e.problem.traced_row = e.problem.rows == 0 ? -1 : traced_row(e.problem);  // irrelevant to summaries of all rows
  return std::string(point_schema) + " " + answered_by(arithmetic_) + json_text(experiment_json(e), -1);
}

const KeptValues& PointCache::values_of(const Experiment& e) const { return e.backward.on ? backward_values_ : values_; }
KeptValues& PointCache::values_of(const Experiment& e) { return e.backward.on ? backward_values_ : values_; }

std::string PointCache::remark() const { return values_.remark().empty() ? backward_values_.remark() : values_.remark(); }

void PointCache::begin_sweep() {
  values_.spare_none();
  backward_values_.spare_none();
}

bool PointCache::keeps(const Experiment& e) const { return values_.keeps() && !has_hardware(e) && !depends_on_other_heads(e); }

std::optional<PointSummary> PointCache::find(const Experiment& experiment) const {
  if (!keeps(experiment)) return std::nullopt;
  const std::optional<std::string> bytes = values_of(experiment).find(question_of(experiment));
  return bytes ? std::optional(unpacked(*bytes, empty_summary(experiment.backward.on))) : std::nullopt;
}

void PointCache::keep(const Experiment& experiment, const PointSummary& summary) {
  if (keeps(experiment)) values_of(experiment).keep(question_of(experiment), packed(summary));
}

}  // namespace attoscope::app
