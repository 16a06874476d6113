#include "kernels/compute.h"

#include <algorithm>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "kernels/backward_computation.h"
#include "kernels/cpu/inputs.h"
#include "kernels/cpu_answer.h"
#include "kernels/engine_answer.h"
#include "kernels/experiment/text.h"
#include "kernels/gpu/device.h"
#include "kernels/gpu/engine.h"
#include "kernels/known_answers.h"
#include "kernels/parallel/parallel.h"
#include "kernels/pending_answer.h"
#include "kernels/stop_token.h"

namespace attoscope {

ComputeCache::ComputeCache() : held_(std::make_unique<Held>()) {}
ComputeCache::~ComputeCache() = default;
ComputeCache::ComputeCache(ComputeCache&&) noexcept = default;
ComputeCache& ComputeCache::operator=(ComputeCache&&) noexcept = default;

int thread_count(int threads) { return threads > 0 ? threads : default_concurrency(); }

std::string device_name(int threads, std::string_view isa) {
  return "cpu " + std::string(instruction_set(isa).name) + ", " + counted(thread_count(threads), "thread");
}

GoldenKey golden_key(const Experiment& e, const Engine* engine) {
  const Rounding& r = e.a.precision[Step::input];
  const bool rounds = r.kind != Rounding::Kind::exact, is_stochastic = rounds && r.stochastic;
  Problem p = e.problem;
  p.n_k = key_count(p);
  p.d_v = value_columns(p);
  p.scale = scale_of(p);
  p.traced_row = p.rows == 0 ? 0 : traced_row(p);
  if (p.input.kind == InputKind::tensors && !is_stochastic) p.seed = 0;
  return {std::move(p), rounds ? format_of(r, e.format) : Format{}, rounds, is_stochastic, works_in_double(e), engine};
}

OutputKey output_key(const Experiment& e, Method m) {
  m.block_q = 1;  // block_q never changes the output
  return {golden_key(e, nullptr), std::move(m), e.format, e.problem.seed};
}

GradientKey gradient_key(const Experiment& e) {
  const Backward& b = e.backward;
  return {golden_key(e, nullptr), b.d_o, b.d_o == OutputGradient::file ? b.d_o_file : KernelOutput{}, b.d_lse_file,
          e.problem.seed};
}

bool is_fresh(const Experiment& e, const ComputeCache::Held& held, const Engine* engine) {
  return !held.golden || !(held.golden->key == golden_key(e, engine));
}

namespace {

/// Computes one experiment in the working type T, on the CPU or an engine; reuses known parts.
template <class T>
class Computation {
 public:
  /// `engine` is null on the CPU.
  Computation(const Experiment& e, const Options& options, ComputeCache::Held& held, Engine* engine)
      : p_(e, options, held), engine_(engine) {}

  Result answer() {
    Clock whole, clock;
    Timing& t = p_.result.timing;
    std::optional<BackwardComputation<T>> backward;
    if (p_.e.backward.on)
      backward.emplace(p_.e, p_.held.backward, p_.remembers, p_.wanted.wasserstein, p_.stop,
                       engine_ ? &engine_->gradients() : nullptr);
    on_device([&](auto device) {
      const bool fresh = is_fresh(p_.e, p_.held, engine_);
      p_.stop.expect(p_.row_count() *
                     ((fresh ? PendingAnswer<T>::golden_work : 0) + device.unknown() + (backward ? backward->work() : 0)));
      p_.prepare(fresh);
      t.inputs = clock.lap();
      device.answer(fresh);
    });
    t.total = whole.lap();
    std::ranges::transform(p_.parts, t.busy.begin(), &PhaseTimer::ms);
    t.deviation = std::max(0.0, t.total - t.inputs - t.golden - t.a - t.b);
    if (backward) {
      p_.result.backward =
          backward->answer(*p_.held.golden->inputs, p_.operands_of_all(), p_.forward_of(p_.result.a, p_.states_a),
                           p_.forward_of(p_.result.b, p_.states_b), t.backward);
      p_.result.remark = backward->remark();
      t.total += whole.lap();
    }
    return std::move(p_.result);
  }

  /// Deviation from golden of each of these methods, run instead of a.
  std::vector<Deviation> errors_of(std::span<const Method> methods) {
    std::vector<Deviation> errors;
    on_device([&](auto device) {
      const bool fresh = is_fresh(p_.e, p_.held, engine_);
      p_.prepare(fresh);
      if (fresh) device.find_golden();
      for (const Method& m : methods) errors.push_back(device.error_of(m));
    });
    return errors;
  }

 private:
  template <class F>
  void on_device(F f) {
    engine_ ? f(EngineAnswer<T>(p_, *engine_)) : f(CpuAnswer<T>(p_));
  }

  PendingAnswer<T> p_;
  Engine* engine_;
};

/// The engine of these GPUs, at least one.
Engine& engine_of(const std::vector<int>& gpus, const Options& options, ComputeCache::Held& held) {
  if (!held.engine || held.gpus != gpus) {
    held.golden.reset();
    held.engine.reset();
    held.engine = options.engine ? options.engine() : gpu_engine(gpus);
    held.gpus = gpus;
  }
  return *held.engine;
}

/// True if "auto" uses the CPU: the experiment has few rows, and no method that runs only on a GPU.
bool is_too_small(const Experiment& e) {
  constexpr int least_rows = 512;
  return e.problem.n < least_rows && !has_hardware(e);
}

/// Milliseconds of drawing the inputs: elapsed, and summed over all threads.
struct Drawing {
  double ms = 0, busy = 0;
};

/// Draws the inputs, then calls f(computation, drawing) in the working type. Without an engine the CPU computes.
template <class F>
void compute_on(Engine* engine, const Experiment& experiment, const Options& options, ComputeCache::Held& held, F f) {
  on_threads(options.threads, [&] {
    Clock clock;
    PhaseTimer drawing;
    if (!held.raw || !same_inputs(held.raw_of, experiment.problem)) {
      held.golden.reset();
      const StopToken stop(options);
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

/// The device that computed, and why it is not the requested one.
struct Answerer {
  std::string device, remark;
};

/// `compute_on` for the device of the options. If a GPU fails, the CPU takes over; the remark reports it.
template <class F>
Answerer with_computation(const Experiment& experiment, const Options& options, ComputeCache::Held& held, F f) {
  std::vector<int> gpus = options.engine ? std::vector<int>{0} : devices_of(options.device);
  if (options.device == "auto" && is_too_small(experiment)) gpus.clear();
  std::string remark;
  if (!gpus.empty() && mask_view(experiment.problem).rows != nullptr) {
    remark = "The GPU's kernels support no mask tensor: the CPU computes.";
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
