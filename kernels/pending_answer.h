/// A result during its computation: inputs, golden value and result. Included only by compute.cpp and the headers of the
/// devices.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <numbers>
#include <optional>
#include <stdexcept>
#include <string>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

#include "kernels/backward/backward.h"
#include "kernels/compute.h"
#include "kernels/cpu/scaled_operands.h"
#include "kernels/cpu/simulate.h"
#include "kernels/deviation/deviation.h"
#include "kernels/deviation/meter.h"
#include "kernels/gpu/device.h"
#include "kernels/known_answers.h"
#include "kernels/recurrence/recorder.h"
#include "kernels/stop_token.h"
#include "kernels/tensor_core/hardware.h"

namespace attoscope {

/// The given rows of x, which has `columns` columns.
inline Matrix rows_of(const std::vector<double>& x, const std::vector<int>& rows, int columns, const StopSign& stop) {
  const std::ptrdiff_t width = columns;
  Matrix m{static_cast<int>(rows.size()), columns, zeros<double>(rows.size() * static_cast<std::size_t>(columns), stop)};
  auto to = m.values.begin();
  for (const int row : rows) to = std::copy_n(x.begin() + row * width, width, to);
  return m;
}

/// State of a computation in the working type T by the CPU (cpu_answer.h) or an engine (engine_answer.h), and the work that the
/// CPU does in both cases.
template <class T>
struct PendingAnswer {
  /// True if golden is computed in double-double.
  static constexpr bool precise = std::is_same_v<T, double>;
  /// Work of a golden row in units of a row of a or b: double against float, double-double against double.
  static constexpr double golden_work = precise ? 8 : 2;

  PendingAnswer(const Experiment& experiment, const Options& options, ComputeCache::Held& cache)
      : e(experiment),
        device(options.device),
        remembers(options.cache != nullptr),
        wanted(options.wanted),
        held(cache),
        stop(options) {
    for (PhaseTimer& timer : parts) timer.follow(stop);
    result.experiment = e;
    result.rows = computed_rows(e.problem);
    for (const int row : result.rows) result.rows_without_keys += visible_keys(e.problem, row).empty();
  }

  const PhaseTimer& part(UpdatePart p) const { return parts[static_cast<std::size_t>(p)]; }
  int row_count() const { return static_cast<int>(result.rows.size()); }
  std::int64_t element_count() const { return static_cast<std::int64_t>(row_count()) * value_columns(e.problem); }

  /// Makes the job of golden. `fresh`: first rounds the inputs for all methods; golden on them is not computed yet.
  void prepare(bool fresh) {
    if (fresh) round_inputs();
    golden = golden_job(e.problem, *held.golden->inputs);
  }
  /// Rounds the inputs for all methods; replaces the previous inputs and the golden value on them.
  void round_inputs() {
    const StopSign& rounded = part(UpdatePart::rounded);
    Operands<T> x = operands<T>(*held.raw, e.a.precision[Step::input], e.format, e.problem.seed, rounded);
    held.golden.reset();
    KnownGolden t;
    t.generation = ++held.generations;
    t.inputs = as_tensors(x, shape_of(e.problem), rounded);
    t.operands = std::move(x);
    held.golden = std::move(t);
  }

  /// The rounded inputs of all methods.
  const Operands<T>& operands_of_all() const { return std::get<Operands<T>>(held.golden->operands); }
  MethodOperands<T> operands_of(const Method& m) const { return {e.problem, m, e.format, operands_of_all(), stop}; }
  Job<T> job_of(const Method& m, const MethodOperands<T>& own) const { return job(e.problem, m, e.format, own.get()); }
  /// A recorder of job a's running max and rescales, and of the trace of row `traced`; -1: no trace.
  RunRecorder<T> recorder_of(const Job<T>& a, const std::vector<int>& rows, int traced) const {
    return {a, golden, rows, traced, precise};
  }

  /// Calls f(b's operands, shared). b rounds the common inputs again by its own input step; `shared`: that changes nothing.
  template <class F>
  void with_operands_of_b(F f) const {
    const RounderPlan<T> own = plan<T>(e.b.precision[Step::input], e.format);
    const RounderPlan<T> common = plan<T>(e.a.precision[Step::input], e.format);
    const bool same = !own.rounds() || (common.rounds() && own.format == common.format);
    Operands<T> rounded;
    if (!same) rounded = operands<T>(*held.golden->inputs, e.b.precision[Step::input], e.format, e.problem.seed, stop);
    const MethodOperands<T> stored(e.problem, e.b, e.format, same ? operands_of_all() : rounded, stop);
    f(stored, same && stored.shared());
  }

  /// Traces the row of job a on the CPU, with the same bits; engines record no trace.
  Trace traced_alone(const Job<T>& a) const {
    const std::vector<int> row{traced_row(e.problem)};
    RunRecorder<T> tracer = recorder_of(a, row, row[0]);
    run(a, row, &tracer, part(UpdatePart::recurrence));
    return tracer.take_trace();
  }

  /// The output of a method that is not emulated: loaded, or a real kernel's. `checks`: compares the first real kernel's output
  /// with its emulation, which emulated(method) computes.
  template <class F>
  Matrix given(const Method& method, bool checks, F emulated) {
    if (method.algorithm == Algorithm::loaded) return rows_of(*e.loaded.values, result.rows, value_columns(e.problem), stop);
    if (const std::string why = why_no_hardware(device, e.problem.d, e.format); !why.empty()) throw std::runtime_error(why);
    const DeviceInfo& gpu = *std::ranges::find(cuda_devices(), devices_of(device).front(), &DeviceInfo::index);
    HardwareRun real = run_hardware(e.problem, e.format, method, *held.golden->inputs, result.rows, gpu.index, stop);
    if (checks && !result.hardware) {
      const Method emulation = emulation_of(method, hardware_sums(e.format, gpu.major, gpu.minor));
      result.hardware = hardware_check(real, emulated(emulation), e.format, stop);
    }
    return std::move(real.output);
  }

  /// The log-sum-exps of m's rows as its kernel returns them. `j`: its job.
  std::vector<double> stored_lse(const Method& m, const Job<T>& j, const RowStates<T>& states) const {
    const bool base_2 = is_base_2(m.lse_base);
    std::vector<double> lse = log_sum_exps(j, result.rows, states, base_2);
    if (m.scaling.smooth_K)
      add_scores_of_mean(lse, result.rows, *held.golden->inputs, e.problem, m.scaling, e.format,
                         base_2 ? std::numbers::log2e : 1);
    return lse;
  }

  /// The golden value on the numbers that the method stores, without deviations; none if it stores nothing with scales.
  std::optional<ErrorParts> with_stored_golden(const MethodOperands<T>& own, const StopSign& sign) const {
    if (own.stored() == nullptr) return {};
    ErrorParts both;
    both.stored_golden = std::make_shared<const Matrix>(golden_of_stored(*own.stored(), e.problem, result.rows, precise, sign));
    return both;
  }

  /// Measures storage (stored golden against golden) and arithmetic (`output` against stored golden).
  void measure_parts(std::optional<ErrorParts>& both, const Measured& output) const {
    if (!both) return;
    const Measured stored = unsorted(*both->stored_golden, stop);
    both->storage = deviation(stored, held.golden->measured, e.format, stop);
    both->arithmetic = deviation(output, stored, e.format, stop);
  }

  /// Copies inputs, golden and digests to the result, after all measurements.
  void take_golden(const Measured& a, const Measured& b) {
    const KnownGolden& known = *held.golden;
    result.digests = {known.measured.digest, a.digest, b.digest};
    result.inputs = known.inputs;
    result.golden = known.output;
    result.golden_lse = known.lse;
    result.golden_rms = known.measured.rms;
    result.golden_nonfinite = known.measured.nonfinite;
  }

  /// A method's forward pass, if this computation has it with the states of all rows.
  ForwardAnswer<T> forward_of(const Matrix& output, const RowStates<T>& states) const {
    return states.m.empty() || row_count() != e.problem.n ? ForwardAnswer<T>{} : ForwardAnswer<T>{&output, &states};
  }

  const Experiment& e;
  const std::string& device;
  bool remembers;  ///< true if the options have a cache
  Wanted wanted;
  ComputeCache::Held& held;
  StopToken stop;
  std::array<PhaseTimer, update_part_names.size()> parts;
  Job<double> golden;               ///< golden's job on the rounded inputs
  RowStates<T> states_a, states_b;  ///< for this computation's backward pass
  Result result;
};

}  // namespace attoscope
