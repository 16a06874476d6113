#include "app/sweep/point_cache.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <nlohmann/json.hpp>

#include "app/json/json.h"
#include "app/session/session.h"
#include "kernels/experiment/rules.h"

namespace attoscope::app {
namespace {

constexpr std::string_view point_schema = "attoscope.point/3";

}  // namespace

std::string packed_summary(const PointSummary& s) {
  std::string bytes;
  visit_summary(s, [&](const std::string&, auto x) { bytes.append(reinterpret_cast<const char*>(&x), sizeof x); });
  return bytes;
}

std::optional<PointSummary> unpacked_summary(std::string_view bytes) {
  static const std::array sizes{packed_summary({}).size(), packed_summary(empty_summary(true)).size()};
  const auto* const size = std::ranges::find(sizes, bytes.size());
  if (size == sizes.end()) return std::nullopt;
  PointSummary s = empty_summary(size != sizes.begin());
  visit_summary(s, [&](const std::string&, auto& x) {
    std::memcpy(&x, bytes.data(), sizeof x);
    bytes.remove_prefix(sizeof x);
  });
  return s;
}

PointCache::PointCache(const std::string& directory, std::uint64_t limit_bytes, int arithmetic)
    : arithmetic_(arithmetic),
      values_(directory, packed_summary({}).size(), limit_bytes),
      backward_values_(directory, packed_summary(empty_summary(true)).size(), limit_bytes) {}

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
  return bytes ? unpacked_summary(*bytes) : std::nullopt;
}

void PointCache::keep(const Experiment& experiment, const PointSummary& summary) {
  if (keeps(experiment)) values_of(experiment).keep(question_of(experiment), packed_summary(summary));
}

}  // namespace attoscope::app
