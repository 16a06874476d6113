#include "kernels/compute.h"

#include <tbb/info.h>
#include <tbb/parallel_invoke.h>
#include <tbb/task_arena.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <optional>
#include <stdexcept>
#include <utility>

#include "kernels/cancelled_sign.h"
#include "kernels/cpu/inputs.h"
#include "kernels/cpu/scaled_operands.h"
#include "kernels/cpu/simulate.h"
#include "kernels/deviation/deviation.h"
#include "kernels/deviation/meter.h"
#include "kernels/experiment/traffic.h"
#include "kernels/gpu/device.h"
#include "kernels/gpu/device_choice.h"
#include "kernels/gpu/engine.h"
#include "kernels/known_answers.h"
#include "kernels/recurrence/recorder.h"
#include "kernels/tensor_core/hardware.h"

namespace attoscope {

namespace {

class Clock {
 public:
  /// Milliseconds since the last call.
  double lap() {
    const auto now = std::chrono::steady_clock::now();
    const double ms = std::chrono::duration<double, std::milli>(now - last_).count();
    last_ = now;
    return ms;
  }

 private:
  std::chrono::steady_clock::time_point last_ = std::chrono::steady_clock::now();
};

template <class T>
class Computation {
 public:
  /// `engine` is null on the CPU.
  Computation(const Experiment& e, const Options& options, ComputeCache::Held& held, Engine* engine)
      : e_(e),
        device_(options.device),
        stop_(options.cancelled, options.progress, options.isa),
        held_(held),
        truth_(held.truth),
        engine_(engine),
        known_a_(known_output(held.known.a.get(), e.a)),
        known_b_(known_output(held.known.b.get(), e.b)) {
    result_.experiment = e;
    result_.rows = computed_rows(e.problem);
    for (const int row : result_.rows) result_.rows_without_keys += visible_keys(e.problem, row).empty();
  }

  bool is_fresh_here() const { return is_fresh(e_, held_, engine_); }

  Result answer() {
    Clock whole, clock;
    const bool fresh = is_fresh_here();
    const int unknown = (known_a_ == nullptr) + (known_b_ == nullptr);
    stop_.expect(static_cast<double>(result_.rows.size()) * ((fresh ? golden_work : 0) + unknown));
    if (fresh) round_inputs();
    const Operands<T>& x = std::get<Operands<T>>(truth_->operands);
    result_.timing.inputs = clock.lap();
    const Job<double> golden = golden_job();
    Measured a, b;
    if (is_one_block()) {
      find_side_by_side(fresh, x, golden);
      measure_golden(fresh);
      a = known_a_ ? Measured{} : meter(result_.a, Output::a, true);
    } else {
      a = find_in_turn(fresh, x, golden);
    }
    clock.lap();
    b = known_b_ ? Measured{} : meter(result_.b, Output::b, true);
    compare(known_a_ ? known_a_->measured : a, known_b_ ? known_b_->measured : b);
    remember(std::move(a), std::move(b));
    result_.timing.deviation = clock.lap();
    result_.timing.total = whole.lap();
    return std::move(result_);
  }

  /// How far each of these methods is from the golden value, in place of a.
  std::vector<Deviation> errors_of(std::span<const Method> methods) {
    if (is_fresh_here()) {
      round_inputs();
      find_golden(golden_job());
      measure_golden(true);
    }
    const Operands<T>& x = std::get<Operands<T>>(truth_->operands);
    std::vector<Deviation> errors;
    for (const Method& m : methods) {
      const Matrix output = is_emulated(m.algorithm) ? emulated(m, x, Output::a) : given(m, Output::a, false);
      const Measured measured = meter(output, Output::a, false);
      errors.push_back(compared({&measured, Output::a}, {&truth_->measured, Output::golden}));
    }
    return errors;
  }

 private:
  /// A golden row in rows of a or b: double against float, double-double against double.
  static constexpr double golden_work = std::is_same_v<T, double> ? 8 : 2;

  /// Whether the rows fill one core's lanes at most.
  bool is_one_block() const {
    return engine_ == nullptr && static_cast<int>(result_.rows.size()) <= instruction_set(stop_.isa).double_rows;
  }

  /// Golden, a and b at the same time: a block of rows keeps one core busy.
  void find_side_by_side(bool fresh, const Operands<T>& x, const Job<double>& golden) {
    stop_.weigh(1);
    tbb::parallel_invoke(
        [&] {
          if (fresh) result_.timing.golden = ms_of([&] { find_golden(golden); });
        },
        [&] { find_a(x, golden); }, [&] { find_b(x); });
  }

  /// One after the other, each measured while the next is computed, which its time contains. Returns the measure of a, if it is
  /// new.
  Measured find_in_turn(bool fresh, const Operands<T>& x, const Job<double>& golden) {
    stop_.weigh(golden_work);
    if (fresh) result_.timing.golden = ms_of([&] { find_golden(golden); });
    stop_.weigh(1);
    Measured a;
    const double with_a = ms_of([&] { together([&] { measure_golden(fresh); }, [&] { find_a(x, golden); }); });
    const double with_b =
        ms_of([&] { together([&] { a = known_a_ ? Measured{} : meter(result_.a, Output::a, true); }, [&] { find_b(x); }); });
    result_.timing.a = known_a_ ? 0 : with_a;
    result_.timing.b = known_b_ ? 0 : with_b;
    return a;
  }

  void find_a(const Operands<T>& x, const Job<double>& golden) {
    if (known_a_) return take_known_a(x, golden);
    result_.timing.a = ms_of([&] { run_a(x, golden); });
  }
  void find_b(const Operands<T>& x) {
    if (known_b_) return take_known_b();
    result_.timing.b = ms_of([&] { run_b(x); });
  }

  /// Rounds the inputs for all methods; the golden value on them is not computed yet.
  void round_inputs() {
    Operands<T> x = operands<T>(*held_.raw, e_.a.precision[Step::input], e_.format, e_.problem.seed, stop_);
    truth_.reset();
    Truth t;
    t.generation = ++held_.generations;
    t.inputs = as_tensors(x, shape_of(e_.problem), stop_);
    t.operands = std::move(x);
    truth_ = std::move(t);
  }

  Job<double> golden_job() const {
    Job<double> j = job(e_.problem, Method{.algorithm = Algorithm::three_pass}, e_.format, Operands<double>{});
    j.q = truth_->inputs->q.data();
    j.k = truth_->inputs->k.data();
    j.v = truth_->inputs->v.data();
    return j;
  }

  /// Both, in any order; at the same time on the CPU, where work of one thread alone leaves the others to the rest.
  template <class F, class G>
  void together(F f, G g) const {
    if (engine_ == nullptr) return tbb::parallel_invoke(f, g);
    f();
    g();
  }

  void find_golden(const Job<double>& golden) {
    constexpr bool precise = std::is_same_v<T, double>;
    if (engine_) {
      truth_->golden = std::make_shared<Matrix>(
          precise ? engine_->run_double_double(golden, truth_->generation, result_.rows, stop_)
                  : engine_->run(golden, truth_->generation, result_.rows, Output::golden, nullptr, stop_));
    } else {
      truth_->golden = std::make_shared<Matrix>(precise ? run_double_double(golden, result_.rows, stop_)
                                                        : run(golden, result_.rows, nullptr, stop_));
    }
  }

  void measure_golden(bool fresh) {
    if (!fresh) return;
    truth_->measured = meter(*truth_->golden, Output::golden, true);
    truth_->key = golden_key(e_, engine_);  // last, so that a run that is stopped before leaves no valid key
  }

  // --- what is known already ---

  /// The output of an emulated method, if `last` is it; null: it has to be computed.
  const KnownOutput* known_output(const KnownOutput* last, const Method& m) const {
    return engine_ == nullptr && last != nullptr && is_emulated(m.algorithm) && last->key == output_key(e_, m) ? last : nullptr;
  }
  template <class F>
  static double ms_of(F f) {
    Clock clock;
    f();
    return clock.lap();
  }

  /// a as it was; the trace too, if it is of the same row.
  void take_known_a(const Operands<T>& x, const Job<double>& golden) {
    result_.traffic = traffic(e_);
    result_.a = known_a_->output;
    result_.a_parts = known_a_->parts;
    result_.rescales = held_.known.rescales;
    result_.rescale_map = held_.known.rescale_map;
    result_.trace = held_.known.trace;
    if (result_.trace.row == traced_row(e_.problem)) return;
    const MethodOperands<T> own(e_.problem, e_.a, e_.format, x, stop_);
    result_.trace = traced_alone(job(e_.problem, e_.a, e_.format, own.get()), golden);
  }

  void take_known_b() {
    result_.b = known_b_->output;
    result_.b_parts = known_b_->parts;
  }

  /// The output to keep; null of a method that is not emulated.
  std::unique_ptr<KnownOutput> kept(const Method& m, const Matrix& output, Measured measured, const Deviation& error,
                                    const std::optional<ErrorParts>& parts) const {
    if (!is_emulated(m.algorithm)) return nullptr;
    auto known = std::make_unique<KnownOutput>(KnownOutput{output_key(e_, m), output, std::move(measured), error, parts});
    known->measured.matrix = &known->output;
    return known;
  }

  /// Keeps the answer for the next experiment, which may change little.
  void remember(Measured a, Measured b) {
    KnownAnswer now;
    if (engine_ == nullptr) {
      now = {nullptr, nullptr, result_.a_minus_b, result_.rescales, result_.rescale_map, result_.trace};
      if (known_a_ == nullptr) now.a = kept(e_.a, result_.a, std::move(a), result_.a_error, result_.a_parts);
      if (known_b_ == nullptr) now.b = kept(e_.b, result_.b, std::move(b), result_.b_error, result_.b_parts);
      if (known_a_ != nullptr) now.a = std::move(held_.known.a);
      if (known_b_ != nullptr) now.b = std::move(held_.known.b);
    }
    held_.known = std::move(now);
  }

  // --- what has to be computed ---

  /// The computed rows of what the experiment's `loaded` holds.
  Matrix loaded_rows() const {
    const std::ptrdiff_t d_v = value_columns(e_.problem);
    Matrix m{static_cast<int>(result_.rows.size()), value_columns(e_.problem),
             zeros<double>(result_.rows.size() * static_cast<std::size_t>(d_v), stop_)};
    for (std::size_t i = 0; i < result_.rows.size(); ++i)
      std::copy_n(e_.loaded.values->begin() + result_.rows[i] * d_v, d_v,
                  m.values.begin() + static_cast<std::ptrdiff_t>(i) * d_v);
    return m;
  }

  void run_a(const Operands<T>& x, const Job<double>& golden) {
    result_.traffic = traffic(e_);
    result_.trace.row = traced_row(e_.problem);
    if (!is_emulated(e_.a.algorithm)) {
      result_.a = given(e_.a, Output::a, true);
      return;
    }
    const MethodOperands<T> own(e_.problem, e_.a, e_.format, x, stop_);
    const Job<T> a = job(e_.problem, e_.a, e_.format, own.get());
    RunRecorder<T> recorder(a, golden, result_.rows, result_.trace.row, std::is_same_v<T, double>);
    if (engine_) {
      tbb::parallel_invoke([&] { result_.a = on_engine(a, Output::a, &recorder, own.shared()); },
                           [&] { result_.trace = traced_alone(a, golden); });
    } else {
      result_.a = run(a, result_.rows, &recorder, stop_);
      result_.trace = recorder.take_trace();
    }
    result_.rescales = recorder.rescales();
    result_.rescale_map = recorder.take_map();
    result_.a_parts = with_stored_golden(own);
  }

  /// The golden value on what the method stores; the deviations come later. None where it stores nothing with scales.
  std::optional<ErrorParts> with_stored_golden(const MethodOperands<T>& own) const {
    if (own.stored() == nullptr) return {};
    ErrorParts parts;
    parts.stored_golden = std::make_shared<const Matrix>(
        golden_of_stored(*own.stored(), e_.problem, result_.rows, std::is_same_v<T, double>, stop_));
    return parts;
  }
  /// How far the golden value on the stored numbers is from golden, and `output` from that.
  void measure_parts(std::optional<ErrorParts>& parts, const Measured& output) const {
    if (!parts) return;
    const Measured stored = unsorted(*parts->stored_golden, stop_);
    parts->storage = deviation(stored, truth_->measured, e_.format, stop_);
    parts->arithmetic = deviation(output, stored, e_.format, stop_);
  }

  /// The trace, which an engine does not record: the row is run again on the CPU, with the same bits.
  Trace traced_alone(const Job<T>& a, const Job<double>& golden) const {
    const std::vector<int> row{traced_row(e_.problem)};
    RunRecorder<T> tracer(a, golden, row, row[0], std::is_same_v<T, double>);
    run(a, row, &tracer, stop_);
    return tracer.take_trace();
  }

  /// `shared`: the job's inputs are the truth's operands, not some made for this job alone.
  Matrix on_engine(const Job<T>& j, Output output, RunRecorder<T>* recorder, bool shared) {
    return engine_->run(j, shared ? truth_->generation : 0, result_.rows, output, recorder, stop_);
  }

  /// `method` on the inputs `x`, kept as `output`.
  Matrix emulated(const Method& method, const Operands<T>& x, Output output) {
    const MethodOperands<T> own(e_.problem, method, e_.format, x, stop_);
    const Job<T> j = job(e_.problem, method, e_.format, own.get());
    return engine_ ? on_engine(j, output, nullptr, own.shared()) : run(j, result_.rows, nullptr, stop_);
  }

  /// The output of a method that is not emulated. `checks`: that of a real kernel is compared with its emulation.
  Matrix given(const Method& method, Output output, bool checks) {
    Matrix m = method.algorithm == Algorithm::loaded ? loaded_rows() : hardware_rows(method, output, checks);
    if (engine_) engine_->take(m, output);
    return m;
  }

  Matrix hardware_rows(const Method& method, Output output, bool checks) {
    if (const std::string why = why_no_hardware(device_, e_.problem.d, e_.format); !why.empty()) throw std::runtime_error(why);
    const DeviceInfo& gpu = *std::ranges::find(cuda_devices(), devices_of(device_).front(), &DeviceInfo::index);
    HardwareRun real = run_hardware(e_.problem, e_.format, method, *truth_->inputs, result_.rows, gpu.index, stop_);
    if (checks && !result_.hardware) {
      const Operands<T>& x = std::get<Operands<T>>(truth_->operands);
      const Method emulation = emulation_of(method, hardware_sums(e_.format, gpu.major, gpu.minor));
      result_.hardware = hardware_check(real, emulated(emulation, x, output), e_.format, stop_);
    }
    return std::move(real.output);
  }

  /// b gets the common inputs, rounded once more by its own input step.
  void run_b(const Operands<T>& x) {
    if (!is_emulated(e_.b.algorithm)) {
      result_.b = given(e_.b, Output::b, true);
      return;
    }
    const RounderPlan<T> own = plan<T>(e_.b.precision[Step::input], e_.format);
    const RounderPlan<T> shared = plan<T>(e_.a.precision[Step::input], e_.format);
    const bool same = !own.rounds() || (shared.rounds() && own.format == shared.format);
    Operands<T> own_operands;
    if (!same) own_operands = operands<T>(*truth_->inputs, e_.b.precision[Step::input], e_.format, e_.problem.seed, stop_);
    const Operands<T>& mine = same ? x : own_operands;
    const MethodOperands<T> stored(e_.problem, e_.b, e_.format, mine, stop_);
    const Job<T> b = job(e_.problem, e_.b, e_.format, stored.get());
    result_.b = engine_ ? on_engine(b, Output::b, nullptr, same && stored.shared()) : run(b, result_.rows, nullptr, stop_);
    result_.b_parts = with_stored_golden(stored);
  }

  /// `sorts`: its values are needed in ascending order.
  Measured meter(const Matrix& m, Output output, bool sorts) {
    if (engine_) {
      const Moments moments = engine_->moments(output, stop_);
      const std::int64_t finite = static_cast<std::int64_t>(m.values.size()) - moments.nonfinite;
      return {&m, sorts, {}, moments.nonfinite, rms_of(ordered_total(moments.squares), finite), digest(m, moments.digest_sum)};
    }
    const bool as_float = std::is_same_v<T, float> && output != Output::golden;
    return sorts ? measured(m, as_float, stop_) : unsorted(m, stop_);
  }

  /// An output with its measure.
  struct Side {
    const Measured* measured;
    Output output;
  };
  Deviation compared(const Side& x, const Side& y) {
    const Measured &p = *x.measured, &q = *y.measured;
    if (!engine_) return deviation(p, q, e_.format, stop_);
    const auto wasserstein = [&] {
      if (!p.sorts || !q.sorts) return std::numeric_limits<double>::quiet_NaN();
      if (p.nonfinite != 0 || q.nonfinite != 0) return paired_wasserstein(*p.matrix, *q.matrix, stop_);
      return ordered_total(engine_->gaps(x.output, y.output, stop_)) / static_cast<double>(p.matrix->values.size());
    };
    return deviation(*p.matrix, q.rms, e_.format,
                     {[&](const DeviationRule& rule) { return engine_->sums(x.output, y.output, rule, stop_); }, wasserstein});
  }

  void compare(const Measured& a, const Measured& b) {
    stop_.check();
    result_.digests = {truth_->measured.digest, a.digest, b.digest};
    result_.inputs = truth_->inputs;
    result_.golden = truth_->golden;
    result_.golden_rms = truth_->measured.rms;
    result_.golden_nonfinite = truth_->measured.nonfinite;
    const Side golden{&truth_->measured, Output::golden}, mine{&a, Output::a}, other{&b, Output::b};
    together([&] { result_.a_error = known_a_ ? known_a_->error : compared(mine, golden); },
             [&] { result_.b_error = known_b_ ? known_b_->error : compared(other, golden); });
    if (known_a_ == nullptr) measure_parts(result_.a_parts, a);
    if (known_b_ == nullptr) measure_parts(result_.b_parts, b);
    result_.a_minus_b = known_a_ && known_b_ ? held_.known.a_minus_b : compared(mine, other);
    if (engine_) result_.on_device = engine_->matrices(e_.format, result_.golden_rms);
  }

  const Experiment& e_;
  const std::string& device_;
  CancelledSign stop_;
  ComputeCache::Held& held_;
  std::optional<Truth>& truth_;
  Engine* engine_;
  const KnownOutput *known_a_, *known_b_;  ///< null: not computed last
  Result result_;
};

}  // namespace

ComputeCache::ComputeCache() : held_(std::make_unique<Held>()) {}
ComputeCache::~ComputeCache() = default;
ComputeCache::ComputeCache(ComputeCache&&) noexcept = default;
ComputeCache& ComputeCache::operator=(ComputeCache&&) noexcept = default;

int thread_count(int threads) {
  const int machine = tbb::info::default_concurrency();
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
    held.truth.reset();
    held.engine.reset();
    held.engine_ran = false;
    held.times = {};
    held.engine = options.engine ? options.engine() : gpu_engine(gpus);
    held.gpus = gpus;
  }
  return *held.engine;
}

/// What "auto" stands for, where there is a GPU.
DeviceChoice auto_choice(const Experiment& e, const Options& options, const ComputeCache::Held& held) {
  if (e.a.algorithm == Algorithm::hardware || e.b.algorithm == Algorithm::hardware)
    return {true, "where the method hardware runs"};
  const QuestionSize size = size_of(e);
  const bool fresh_on_cpu = is_fresh(e, held, nullptr), fresh_on_gpu = !held.engine || is_fresh(e, held, held.engine.get());
  return choose_device({.cpu_ms = held.times.expected(false, size, fresh_on_cpu),
                        .gpu_ms = held.times.expected(true, size, fresh_on_gpu),
                        .cpu_at_best_ms = cpu_at_best(size, fresh_on_cpu, thread_count(options.threads)),
                        .on_gpu = held.on_gpu});
}

/// f(computation, ms) in the working type, once the inputs are drawn, which took so many milliseconds. Without an engine the
/// CPU computes.
template <class F>
void compute_on(Engine* engine, const Experiment& experiment, const Options& options, ComputeCache::Held& held, F f) {
  tbb::task_arena arena(thread_count(options.threads));
  arena.execute([&] {
    Clock clock;
    if (!held.raw || !same_inputs(held.raw_of, experiment.problem)) {
      held.truth.reset();
      held.raw = raw_inputs(experiment.problem, CancelledSign(options.cancelled, options.isa));
      held.raw_of = experiment.problem;
    }
    const double drawing = clock.lap();
    if (works_in_double(experiment)) {
      f(Computation<double>(experiment, options, held, engine), drawing);
    } else {
      f(Computation<float>(experiment, options, held, engine), drawing);
    }
  });
}

/// The device that computed; why it is not the requested one; why "auto" took it.
struct Answerer {
  std::string device, remark, choice;
};

/// The same on the device that the options name. If a GPU fails, the CPU takes its place, and the remark says so.
template <class F>
Answerer with_computation(const Experiment& experiment, const Options& options, ComputeCache::Held& held, F f) {
  const std::vector<int> gpus = options.engine ? std::vector<int>{0} : devices_of(options.device);
  const bool chooses = options.device == "auto" && !gpus.empty();
  const DeviceChoice choice = chooses ? auto_choice(experiment, options, held) : DeviceChoice{.gpu = !gpus.empty(), .why = ""};
  held.on_gpu = choice.gpu;
  std::string remark;
  try {
    if (choice.gpu) {
      Engine& engine = engine_of(gpus, options, held);
      compute_on(&engine, experiment, options, held, f);
      return {engine.name(), "", chooses ? "auto: the GPU, " + choice.why : ""};
    }
  } catch (const DeviceFailure& failure) {
    held.truth.reset();
    held.engine.reset();
    held.on_gpu = false;
    remark = cpu_took_over(failure);
  }
  compute_on(nullptr, experiment, options, held, f);
  return {device_name(options.threads, options.isa), remark, chooses && remark.empty() ? "auto: the CPU, " + choice.why : ""};
}

/// Keeps what an answer took, for the next choice; one that was partly known tells nothing.
void remember_time(ComputeCache::Held& held, const Result& result, bool fresh) {
  const bool warm = !held.on_gpu || std::exchange(held.engine_ran, true);
  const bool whole = result.timing.a > 0 && result.timing.b > 0;
  if (warm && whole) held.times.took(held.on_gpu, size_of(result.experiment), result.timing, fresh);
}

}  // namespace

Result compute(const Experiment& experiment, const Options& options) {
  refuse(experiment, options.threads);
  ComputeCache none;
  ComputeCache::Held& held = (options.cache ? *options.cache : none).held();
  Result result;
  bool fresh = true;
  const Answerer by = with_computation(experiment, options, held, [&](auto computation, double drawing) {
    fresh = computation.is_fresh_here();
    result = computation.answer();
    result.timing.inputs += drawing;
    result.timing.total += drawing;
  });
  result.device = by.device;
  result.remark = by.remark;
  result.choice = by.choice;
  if (!by.choice.empty()) remember_time(held, result, fresh);
  return result;
}

std::vector<Deviation> errors_of(const Experiment& experiment, std::span<const Method> methods, const Options& options) {
  refuse(experiment, options.threads);
  ComputeCache none;
  std::vector<Deviation> errors;
  with_computation(experiment, options, (options.cache ? *options.cache : none).held(),
                   [&](auto computation, double) { errors = computation.errors_of(methods); });
  return errors;
}

}  // namespace attoscope
