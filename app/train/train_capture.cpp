#include "app/train/train_capture.h"

#include <nlohmann/json.hpp>

#include "app/json/json.h"
#include "app/session/session.h"
#include "app/tensors/exact_tensors.h"
#include "kernels/experiment/text.h"

namespace attoscope::app {
namespace {

/// The method of one head, which may be exact.
Method method_of(const TrainMethod& x, const CapturePlace& place) {
  return x.is_exact(place.layer, place.head) ? exact_beyond_input(x).method : x.method;
}

}  // namespace

std::string capture_title(const CapturePlace& place) {
  return place.run + ", layer " + std::to_string(place.layer) + ", head " + std::to_string(place.head) + ", sequence " +
         std::to_string(place.sequence) + ", after " + counted(place.step, "step");
}

std::string capture_file(const CapturedHead& head, const CapturePlace& place, const TrainMethod& method) {
  const auto tensor = [&](const char* role, const std::vector<float>& values) {
    const std::vector<std::uint64_t> shape{static_cast<std::uint64_t>(head.n), static_cast<std::uint64_t>(head.d)};
    return ExactTensor{role, shape, {values.begin(), values.end()}, "F32"};
  };
  return safetensors_bytes({tensor("q", head.q), tensor("k", head.k), tensor("v", head.v)},
                           {{"title", capture_title(place)},
                            {"heads", "layer" + std::to_string(place.layer) + ".head" + std::to_string(place.head)},
                            {"run", place.run},
                            {"layer", std::to_string(place.layer)},
                            {"head", std::to_string(place.head)},
                            {"sequence", std::to_string(place.sequence)},
                            {"step", std::to_string(place.step)},
                            {"format", name(method.format)},
                            {"method", json_text(method_json(method_of(method, place)), -1)},
                            {"version", ATTOSCOPE_VERSION}});
}

Experiment captured_experiment(const TrainPlan& plan, const RunPlan& run, const CapturePlace& place) {
  Experiment e = default_experiment();
  e.problem.mask.kind = Mask::Kind::causal;
  e.format = run.method.format;
  const bool as_b = run.method.method == plan.b.method && run.method.exact == plan.b.exact;
  e.a = method_of(as_b ? plan.a : run.method, place);
  e.b = method_of(plan.b, place);
  return e;
}

}  // namespace attoscope::app
