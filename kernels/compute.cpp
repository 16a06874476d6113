#include "kernels/compute.h"

#include <memory>
#include <string>

#include "kernels/computation.h"
#include "kernels/cpu/inputs.h"
#include "kernels/gpu/device.h"
#include "kernels/gpu/engine.h"
#include "kernels/gpu/gpu_code.h"
#include "kernels/known_answers.h"
#include "kernels/parallel/parallel.h"
#include "kernels/stop_token.h"
#include "kernels/tensor_core/hardware.h"

namespace attoscope {

ComputeCache::ComputeCache() : held_(std::make_unique<Held>()) {}
ComputeCache::~ComputeCache() = default;
ComputeCache::ComputeCache(ComputeCache&&) noexcept = default;
ComputeCache& ComputeCache::operator=(ComputeCache&&) noexcept = default;

int thread_count(int threads) {
  const int machine = default_concurrency();
  return threads > 0 ? threads : machine;
}

std::string device_name(int threads, std::string_view isa) {
  const int count = thread_count(threads);
  return "cpu " + std::string(instruction_set(isa).name) + ", " + std::to_string(count) + (count == 1 ? " thread" : " threads");
}

namespace {

/// The engine of these GPUs, of which there is at least one.
Engine& engine_of(const std::vector<int>& gpus, const Options& options, ComputeCache::Held& held) {
  if (!held.engine || held.gpus != gpus) {
    held.golden.reset();
    held.engine.reset();
    held.engine = options.engine ? options.engine() : gpu_engine(gpus);
    held.gpus = gpus;
  }
  return *held.engine;
}

/// True if "auto" leaves the question to the CPU: it has few rows, and no method that only a GPU runs.
bool is_too_small(const Experiment& e) {
  constexpr int least_rows = 512;
  return e.problem.n < least_rows && !has_hardware(e);
}

/// Milliseconds that the drawing of inputs took, and all threads together.
struct Drawing {
  double ms = 0, busy = 0;
};

/// f(computation, drawing) in the working type, once the inputs are drawn. Without an engine the CPU computes.
template <class F>
void compute_on(Engine* engine, const Experiment& experiment, const Options& options, ComputeCache::Held& held, F f) {
  on_threads(options.threads, [&] {
    Clock clock;
    PhaseTimer drawing;
    if (!held.raw || !same_inputs(held.raw_of, experiment.problem)) {
      held.golden.reset();
      const StopToken stop(options.cancelled, options.isa);
      drawing.follow(stop);
      held.raw = raw_inputs(experiment.problem, drawing);
      held.raw_of = experiment.problem;
    }
    const Drawing drawn{clock.lap(), drawing.ms()};
    if (works_in_double(experiment)) {
      f(Computation<double>(experiment, options, held, engine), drawn);
    } else {
      f(Computation<float>(experiment, options, held, engine), drawn);
    }
  });
}

/// The device that computed; why it is not the requested one.
struct Answerer {
  std::string device, remark;
};

/// The same on the device that the options name. If a GPU fails, the CPU takes its place, and the remark says so.
template <class F>
Answerer with_computation(const Experiment& experiment, const Options& options, ComputeCache::Held& held, F f) {
  std::vector<int> gpus = options.engine ? std::vector<int>{0} : devices_of(options.device);
  if (options.device == "auto" && is_too_small(experiment)) gpus.clear();
  std::string remark;
  if (!gpus.empty() && mask_view(experiment.problem).rows != nullptr) {
    remark = "The GPU's kernels know no mask tensor: the CPU computes.";
    gpus.clear();
  }
  try {
    if (!gpus.empty()) {
      if (!options.engine) gpu_code().load(gpus);
      Engine& engine = engine_of(gpus, options, held);
      compute_on(&engine, experiment, options, held, f);
      return {engine.name(), ""};
    }
  } catch (const DeviceFailure& failure) {
    held.golden.reset();
    held.engine.reset();
    remark = cpu_took_over(failure);
  }
  compute_on(nullptr, experiment, options, held, f);
  return {device_name(options.threads, options.isa), remark};
}

}  // namespace

Result compute(const Experiment& experiment, const Options& options) {
  refuse(experiment, options.threads);
  ComputeCache none;
  ComputeCache::Held& held = (options.cache ? *options.cache : none).held();
  Result result;
  const Answerer by = with_computation(experiment, options, held, [&](auto computation, const Drawing& drawing) {
    result = computation.answer();
    result.timing.inputs += drawing.ms;
    result.timing.total += drawing.ms;
    result.timing.busy[static_cast<std::size_t>(UpdatePart::drawn)] = drawing.busy;
  });
  result.device = by.device;
  if (!by.remark.empty()) result.remark = by.remark;
  return result;
}

std::vector<Deviation> errors_of(const Experiment& experiment, std::span<const Method> methods, const Options& options) {
  refuse(experiment, options.threads);
  ComputeCache none;
  std::vector<Deviation> errors;
  with_computation(experiment, options, (options.cache ? *options.cache : none).held(),
                   [&](auto computation, const Drawing&) { errors = computation.errors_of(methods); });
  return errors;
}

}  // namespace attoscope
