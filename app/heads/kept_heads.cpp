#include "app/heads/kept_heads.h"

#include <fmt/format.h>

#include <cstring>
#include <nlohmann/json.hpp>
#include <type_traits>

#include "app/json/json.h"
#include "app/session/session.h"
#include "kernels/experiment/arithmetic_version.h"
#include "kernels/experiment/rules.h"

namespace attoscope {
namespace {

constexpr std::uint64_t limit_bytes = 64 << 20;
static_assert(std::is_trivially_copyable_v<HeadRow>);

bool is_kept(const Experiment& e) { return !has_hardware(e) && !depends_on_other_heads(e); }

/// Cache key of a row; the traced row matters only if not all rows are computed.
std::string question_of(const char* schema, const Experiment& experiment) {
  Experiment e = experiment;
  e.problem.traced_row = e.problem.rows == 0 ? -1 : traced_row(e.problem);
  return std::string(schema) + " " + answered_by(arithmetic_version) + json_text(experiment_json(e), -1);
}

std::string question_of(const Experiment& experiment, const KvRange& layer) {
  return fmt::format("{} {:a} {:a}", question_of("attoscope.kept_kv/1", kv_question(experiment)), layer.K, layer.V);
}

}  // namespace

KeptHeads::KeptHeads(const std::string& directory)
    : rows_(directory, sizeof(HeadRow), limit_bytes), errors_(directory, kv_storages.size() * sizeof(double), limit_bytes) {}

std::optional<HeadRow> KeptHeads::find(const Experiment& e) const {
  if (!rows_.keeps() || !is_kept(e)) return std::nullopt;
  const std::optional<std::string> bytes = rows_.find(question_of("attoscope.kept_head/3", e));
  if (!bytes) return std::nullopt;
  HeadRow row;
  std::memcpy(static_cast<void*>(&row), bytes->data(), sizeof row);
  return row;
}

void KeptHeads::keep(const Experiment& e, const HeadRow& row) {
  if (!rows_.keeps() || !is_kept(e)) return;
  std::string bytes(sizeof row, '\0');
  std::memcpy(bytes.data(), static_cast<const void*>(&row), sizeof row);
  rows_.keep(question_of("attoscope.kept_head/3", e), bytes);
}

std::optional<std::vector<double>> KeptHeads::find(const Experiment& e, const KvRange& layer) const {
  const std::optional<std::string> bytes = errors_.keeps() ? errors_.find(question_of(e, layer)) : std::nullopt;
  if (!bytes) return std::nullopt;
  std::vector<double> errors(kv_storages.size());
  std::memcpy(errors.data(), bytes->data(), bytes->size());
  return errors;
}

void KeptHeads::keep(const Experiment& e, const KvRange& layer, const std::vector<double>& errors) {
  if (errors_.keeps())
    errors_.keep(question_of(e, layer), {reinterpret_cast<const char*>(errors.data()), errors.size() * sizeof(double)});
}

}  // namespace attoscope
