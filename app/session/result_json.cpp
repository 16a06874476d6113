#include "app/session/result_json.h"

#include <array>
#include <cmath>
#include <nlohmann/json.hpp>
#include <utility>
#include <vector>

#include "app/json/settings_json.h"
#include "app/session/probes.h"
#include "app/session/session.h"
#include "app/tensors/changed_tensors.h"
#include "app/words/numbers.h"
#include "kernels/experiment/accumulators.h"
#include "kernels/experiment/grad_kernels.h"
#include "kernels/experiment/kernel_presets.h"
#include "kernels/experiment/measures.h"
#include "kernels/experiment/presets.h"
#include "kernels/experiment/result.h"
#include "kernels/experiment/settings.h"
#include "kernels/questions/attribution.h"

namespace attoscope::app {
namespace {

Json histogram_json(const UlpHistogram& h) {
  return {{"per_ulp", UlpHistogram::per_ulp}, {"reach", UlpHistogram::reach}, {"counts", h.counts}};
}

Json deviation_json(const Deviation& x, const std::vector<int>& rows) {
  const auto worst = static_cast<std::size_t>(x.worst_row);
  const DeviationNumbers numbers = numbers_of(x);
  Json json;
  for (const DeviationMeasure& m : deviation_measures) {
    const bool counts = m.form == DeviationMeasure::Form::count;
    json[std::string(m.key)] = counts ? Json(std::llround(numbers.*m.value)) : Json(numbers.*m.value);
  }
  json["worst_cell"] = {{"row", worst < rows.size() ? rows[worst] : x.worst_row}, {"column", x.worst_col}};
  json["ulps"] = histogram_json(x.ulps);
  return json;
}

/// Deviation of a method, with storage and arithmetic parts if it stores Q, K or V with scales.
Json method_deviation_json(const Deviation& error, const std::optional<ErrorParts>& parts, const std::vector<int>& rows) {
  Json json = deviation_json(error, rows);
  if (!parts) return json;
  json["storage"] = deviation_json(parts->storage, rows);
  json["arithmetic"] = deviation_json(parts->arithmetic, rows);
  return json;
}

Json ratio_json(const Deviation& a, const Deviation& b) {
  return {{"max_abs", a.max_abs / b.max_abs}, {"mean_abs", a.mean_abs / b.mean_abs}, {"rms", a.rms / b.rms}};
}

/// f of dQ, dK and dV, keyed by their names.
template <class F>
Json tensors_json(F f) {
  return {{"dq", f(&GradientDeviations::dq)}, {"dk", f(&GradientDeviations::dk)}, {"dv", f(&GradientDeviations::dv)}};
}

Json delta_json(const DeltaDeviation& d) { return {{"max_abs", d.max_abs}, {"rms", d.rms}, {"bias", d.bias}}; }

Json backward_json(const BackwardResult& b, const Result& r) {
  const auto deviations = [&](const GradientDeviations& d) {
    return tensors_json(
        [&](auto tensor) { return deviation_json(d.*tensor, tensor == &GradientDeviations::dq ? r.rows : b.keys); });
  };
  Json json{{"rows", r.rows.size()},
            {"keys", b.keys.size()},
            {"a", deviations(b.a_error)},
            {"b", deviations(b.b_error)},
            {"a_minus_b", deviations(b.a_minus_b)},
            {"ratio", tensors_json([&](auto tensor) { return ratio_json(b.a_error.*tensor, b.b_error.*tensor); })},
            {"delta", {{"a", delta_json(b.a_delta)}, {"b", delta_json(b.b_delta)}}},
            {"dsink", nullptr},
            {"digests", {{"golden", hex16(b.golden_digest)}, {"a", hex16(b.a_digest)}, {"b", hex16(b.b_digest)}}}};
  json["a"]["lost_ds"] = b.a.lost_ds;
  json["b"]["lost_ds"] = b.b.lost_ds;
  if (r.experiment.problem.sink) json["dsink"] = {{"golden", b.golden->dsink}, {"a", b.a.dsink}, {"b", b.b.dsink}};
  return json;
}

/// Error of a method's log-sum-exp; null if there is none.
Json lse_json(const Result& r, const Method& m, const std::vector<double>& lse) {
  if (lse.empty() || r.golden_lse.empty()) return nullptr;
  const LseError e = lse_error(r.golden_lse, lse, is_base_2(m.lse_base));
  return {{"base", is_base_2(m.lse_base) ? "2" : "e"},
          {"max_abs", e.max_abs},
          {"rms", e.rms},
          {"bias", e.bias},
          {"nonfinite", e.nonfinite}};
}

Json hardware_json(const HardwareCheck& h) {
  return {{"instruction", h.instruction},
          {"changed", h.changed},
          {"run_to_run_ulp", h.run_to_run_ulp},
          {"emulator_max_ulp", h.emulator_max_ulp},
          {"emulator_mean_ulp", h.emulator_mean_ulp}};
}

Json rescales_json(const Rescales& r) {
  return {{"tiles", r.tiles},
          {"nominal", r.nominal},
          {"effective_mean", r.effective_mean},
          {"expected", r.expected},
          {"per_tile", r.per_tile},
          {"expected_per_tile", r.expected_per_tile},
          {"max_quantiles", r.max_quantiles}};
}

Json tile_json(const TraceTile& t) {
  Json json;
  visit_tile(t, [&](const char* key, auto number) { json[key] = number; });
  return json;
}

Json trace_json(const Trace& trace) {
  Json tiles = Json::array();
  for (const TraceTile& t : trace.tiles) tiles.push_back(tile_json(t));
  return {{"row", trace.row}, {"tiles", std::move(tiles)}};
}

Json traffic_json(const Traffic& t) {
  return {{"algorithm0", t.algorithm0},
          {"flash1", t.flash1},
          {"flash2", t.flash2},
          {"element_bytes", t.element_bytes},
          {"on_chip_elements", t.on_chip_elements},
          {"tiles", t.tiles},
          {"skipped_tiles", t.skipped_tiles}};
}

Json timing_json(const Timing& t, bool with_backward) {
  Json json{{"inputs", t.inputs}, {"golden", t.golden}, {"a", t.a}, {"b", t.b}, {"deviation", t.deviation}, {"total", t.total}};
  const BackwardTiming& b = t.backward;
  if (with_backward) json["backward"] = {{"golden", b.golden}, {"a", b.a}, {"b", b.b}, {"deviation", b.deviation}};
  return json;
}

Json policy_json(const Method& m) {
  const std::string_view called = policy_name(m.precision, m.algorithm);
  return called.empty() ? Json(nullptr) : Json(called);
}

/// Names of the rounded steps; S: Step or GradStep.
template <class S, std::size_t count>
Json rounded_json(const std::array<Rounding, count>& steps) {
  Json rounded = Json::array();
  for (std::size_t i = 0; i < count; ++i)
    if (steps[i] != exact) rounded.push_back(name(static_cast<S>(i)));
  return rounded;
}

Json grad_policy_json(const GradPolicy& p) {
  return {{"name", p.name},
          {"what", p.what},
          {"rounded", rounded_json<GradStep>(p.precision.steps)},
          {"delta_from", delta_from_names[p.precision.delta_from]}};
}

Json preset_json(const Policy& p) {
  return {{"name", p.name},
          {"algorithm", name(p.algorithm)},
          {"what", p.what},
          {"rounded", rounded_json<Step>(p.precision.steps)},
          {"sum_rounded_P", p.precision.sum_rounded_P},
          {"accumulate_in_O", p.precision.accumulate_in_O}};
}

Json probe_json(const Probe& p) {
  return {{"name", p.name}, {"title", p.title}, {"sentence", p.sentence}, {"experiment", experiment_json(p.experiment)}};
}

/// Tensor-core rules of q.k and P.V of method m; null without tensor cores.
Json sums_json(const Experiment& e, const Method& m) {
  Json sums;
  for (const AttentionProduct product : {AttentionProduct::qk, AttentionProduct::pv}) {
    const auto rule = tensor_core_rule_of(e, m, product);
    sums[std::string(name(product))] = rule ? tensor_core_rule_json(*rule) : Json(nullptr);
  }
  return sums;
}

Json step_error_json(const StepError& e) { return {{"mean_abs", e.mean_abs}, {"rms", e.rms}, {"nonfinite", e.nonfinite}}; }

}  // namespace

Json result_json(const Result& r) {
  Json json{{"schema", "attoscope.result/1"},
            {"version", ATTOSCOPE_VERSION},
            {"experiment", experiment_json(r.experiment)},
            {"sums", {{"a", sums_json(r.experiment, r.experiment.a)}, {"b", sums_json(r.experiment, r.experiment.b)}}},
            {"policies", {{"a", policy_json(r.experiment.a)}, {"b", policy_json(r.experiment.b)}}},
            {"device", r.device},
            {"rows", r.rows.size()}};
  if (Json tensors = part_digests_json({&r.experiment.problem.input}); !tensors.is_null()) json["tensors"] = std::move(tensors);
  if (!r.remark.empty()) json["remark"] = r.remark;
  json["rows_without_keys"] = r.rows_without_keys;
  if (static_cast<int>(r.rows.size()) != r.experiment.problem.n) json["row_indices"] = r.rows;
  json["golden"] = {{"rms", r.golden_rms}, {"nonfinite", r.golden_nonfinite}};
  json["a"] = method_deviation_json(r.a_error, r.a_parts, r.rows);
  json["b"] = method_deviation_json(r.b_error, r.b_parts, r.rows);
  json["a_minus_b"] = deviation_json(r.a_minus_b, r.rows);
  json["ratio"] = ratio_json(r.a_error, r.b_error);
  json["lse"] = {{"a", lse_json(r, r.experiment.a, r.a_lse)}, {"b", lse_json(r, r.experiment.b, r.b_lse)}};
  if (r.hardware) json["hardware"] = hardware_json(*r.hardware);
  json["rescales"] = rescales_json(r.rescales);
  json["trace"] = trace_json(r.trace);
  json["traffic"] = traffic_json(r.traffic);
  json["timing_ms"] = timing_json(r.timing, r.backward.has_value());
  json["digests"] = {{"golden", hex16(r.digests.golden)}, {"a", hex16(r.digests.a)}, {"b", hex16(r.digests.b)}};
  if (r.backward) json["backward"] = backward_json(*r.backward, r);
  return json;
}

Json attribution_json(const Attribution& a) {
  Json steps = Json::array();
  for (const StepShare& s : a.steps) {
    steps.push_back({{"step", name(s.source)},
                     {"relief", s.relief},
                     {"without", step_error_json(s.without)},
                     {"alone", step_error_json(s.alone)}});
  }
  return {{"total", step_error_json(a.total)},
          {"floor", step_error_json(a.floor)},
          {"steps", std::move(steps)},
          {"combined_rms", a.combined_rms},
          {"interaction", a.interaction}};
}

Json tensor_core_rule_json(const TensorCoreRule& r) {
  return {{"block", r.block},
          {"aligned_bits", r.aligned_bits},
          {"rounding", text(r.rounding)},
          {"c", text(r.carry)},
          {"evidence", text(r.evidence)}};
}

Json presets_json() {
  Json named = Json::array(), kernels = Json::array(), backward = Json::array(), gradients = Json::array(),
       shown = Json::array();
  for (const Policy& p : policies()) named.push_back(preset_json(p));
  for (const GradPolicy& p : grad_policies()) backward.push_back(grad_policy_json(p));
  for (const GradKernel& k : grad_kernels())
    gradients.push_back({{"name", k.name},
                         {"what", k.what},
                         {"source", k.source},
                         {"gradient", settings_json(settings_to_read(grad_method(k.name, Problem{}.d, {})))}});
  for (const Probe& p : probes()) shown.push_back(probe_json(p));
  for (const KernelPreset& k : kernel_presets())
    kernels.push_back({{"name", k.name},
                       {"what", k.what},
                       {"source", k.source},
                       {"experiment", experiment_json(with_kernel(default_experiment(), k))}});
  return {{"schema", "attoscope.presets/1"},          {"presets", std::move(named)},       {"kernels", std::move(kernels)},
          {"backward_policies", std::move(backward)}, {"gradients", std::move(gradients)}, {"probes", std::move(shown)}};
}

}  // namespace attoscope::app
