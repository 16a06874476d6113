/// An experiment's answer on one device, from inputs to deviations. Included by compute.cpp alone.
#pragma once

#include <algorithm>
#include <array>
#include <chrono>
#include <limits>
#include <memory>
#include <optional>
#include <span>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "kernels/backward_computation.h"
#include "kernels/compute.h"
#include "kernels/cpu/inputs.h"
#include "kernels/cpu/scaled_operands.h"
#include "kernels/cpu/simulate.h"
#include "kernels/deviation/deviation.h"
#include "kernels/deviation/meter.h"
#include "kernels/experiment/rules.h"
#include "kernels/experiment/traffic.h"
#include "kernels/gpu/device.h"
#include "kernels/gpu/engine.h"
#include "kernels/known_answers.h"
#include "kernels/parallel/parallel.h"
#include "kernels/recurrence/recorder.h"
#include "kernels/stop_token.h"
#include "kernels/tensor_core/hardware.h"

namespace attoscope {

/// Measures laps.
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

/// One experiment's answer in the working type T, by the CPU or an engine; known parts are reused. compute.cpp chooses the
/// device and handles its failure.
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
        known_b_(known_output(held.known.b.get(), e.b)),
        remembers_(options.cache != nullptr),
        wanted_(options.wanted) {
    for (PhaseTimer& part : parts_) part.follow(stop_);
    result_.experiment = e;
    result_.rows = computed_rows(e.problem);
    for (const int row : result_.rows) result_.rows_without_keys += visible_keys(e.problem, row).empty();
  }

  bool is_fresh_here() const { return is_fresh(e_, held_, engine_); }

  Result answer() {
    Clock whole, clock;
    const bool fresh = is_fresh_here();
    const int unknown = (known_a_ == nullptr) + (known_b_ == nullptr);
    std::optional<BackwardComputation<T>> backward;
    if (e_.backward.on)
      backward.emplace(e_, held_.backward, remembers_, wanted_.wasserstein, stop_, engine_ ? &engine_->gradients() : nullptr);
    stop_.expect(static_cast<double>(result_.rows.size()) *
                 ((fresh ? golden_work : 0) + unknown + (backward ? backward->work() : 0)));
    if (fresh) round_inputs();
    const Operands<T>& x = std::get<Operands<T>>(truth_->operands);
    result_.timing.inputs = clock.lap();
    const Job<double> golden = golden_job();
    if (engine_) {
      answer_by_engine(fresh, x, golden);
      held_.known = {};
    } else {
      answer_here(fresh, x, golden);
    }
    Timing& t = result_.timing;
    t.total = whole.lap();
    std::ranges::transform(parts_, t.busy.begin(), &PhaseTimer::ms);
    t.deviation = std::max(0.0, t.total - t.inputs - t.golden - t.a - t.b);
    if (backward) {
      result_.backward =
          backward->answer(*truth_->inputs, x, forward_of(result_.a, states_a_), forward_of(result_.b, states_b_), t.backward);
      result_.remark = backward->remark();
      t.total += whole.lap();
    }
    return std::move(result_);
  }

  /// Deviation from golden of each of these methods, run in place of a.
  std::vector<Deviation> errors_of(std::span<const Method> methods) {
    if (is_fresh_here()) {
      round_inputs();
      if (engine_) {
        engine_->begin();
        const Job<double> golden = golden_job();
        ask_golden(golden);
        engine_->wait(stop_);
        take_golden(golden);
      } else {
        find_golden(golden_job());
        measure_golden(true);
      }
    }
    const Operands<T>& x = std::get<Operands<T>>(truth_->operands);
    std::vector<Deviation> errors;
    for (const Method& m : methods) errors.push_back(engine_ ? error_by_engine(m, x) : error_here(m, x));
    return errors;
  }

 private:
  /// A golden row in rows of a or b: double against float, double-double against double.
  static constexpr double golden_work = std::is_same_v<T, double> ? 8 : 2;

  /// True if the rows fill one core's lanes at most.
  bool is_one_block() const { return static_cast<int>(result_.rows.size()) <= instruction_set(stop_.isa).double_rows; }

  /// A new output's measure, and a copy of it if the next experiment may reuse it. If only one output is new, its values are
  /// sorted later, beside its comparisons.
  struct Found {
    Measured measured;
    Matrix copy;
  };
  Found found(const Matrix& output, const Method& m) const {
    Found f{meter(output, wanted_.wasserstein && !known_a_ && !known_b_), {}};
    if (remembers_ && is_emulated(m.algorithm)) timed(part(UpdatePart::kept), [&] { f.copy = output; });
    return f;
  }

  /// Computes golden, then a and b at the same time; all three at once if one block of rows keeps one core busy. Measuring an
  /// output fills the gaps between the others' blocks.
  void answer_here(bool fresh, const Operands<T>& x, const Job<double>& golden) {
    Found a, b;
    const bool golden_first = !is_one_block();
    const auto find_truth = [&] {
      if (fresh) result_.timing.golden = ms_of([&] { find_golden(golden); });
    };
    if (golden_first) {
      stop_.set_row_work(golden_work);
      find_truth();
    }
    stop_.set_row_work(1);
    parallel_invoke(
        [&] {
          if (!golden_first) find_truth();
          measure_golden(fresh);
        },
        [&] {
          find_a(x, golden);
          if (!known_a_) a = found(result_.a, e_.a);
        },
        [&] {
          find_b(x);
          if (!known_b_) b = found(result_.b, e_.b);
        });
    if (golden_first) {
      const int threads = max_concurrency();
      if (const double ms = part(UpdatePart::a).ms(); ms > 0) result_.timing.a = ms / threads;
      if (const double ms = part(UpdatePart::b).ms(); ms > 0) result_.timing.b = ms / threads;
    }
    compare(known_a_ ? known_a_->measured : a.measured, known_b_ ? known_b_->measured : b.measured);
    remember(std::move(a), std::move(b));
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
    const StopSign& stop = part(UpdatePart::rounded);
    Operands<T> x = operands<T>(*held_.raw, e_.a.precision[Step::input], e_.format, e_.problem.seed, stop);
    truth_.reset();
    Truth t;
    t.generation = ++held_.generations;
    t.inputs = as_tensors(x, shape_of(e_.problem), stop);
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

  void find_golden(const Job<double>& golden) {
    constexpr bool precise = std::is_same_v<T, double>;
    const StopSign& stop = part(UpdatePart::golden);
    RowStates<double> states;
    auto found = std::make_shared<Matrix>(run(golden, result_.rows, nullptr, stop, &states));
    truth_->lse = log_sum_exps(golden, result_.rows, states);
    if (precise) *found = run_double_double(golden, result_.rows, stop);
    truth_->golden = std::move(found);
  }

  void measure_golden(bool fresh) {
    if (!fresh) return;
    truth_->measured = meter(*truth_->golden, wanted_.wasserstein);
    truth_->key = golden_key(e_, engine_);  // last, so that a run that is stopped before leaves no valid key
  }

  // --- known parts ---

  /// The output of an emulated method, if `last` is it; null: it has to be computed.
  KnownOutput* known_output(KnownOutput* last, const Method& m) const {
    return engine_ == nullptr && last != nullptr && is_emulated(m.algorithm) && last->key == output_key(e_, m) ? last : nullptr;
  }
  template <class F>
  static double ms_of(F f) {
    Clock clock;
    f();
    return clock.lap();
  }

  /// Takes the known a, and its trace if that is of the same row.
  void take_known_a(const Operands<T>& x, const Job<double>& golden) {
    result_.traffic = traffic(e_);
    result_.a = known_a_->output, result_.a_lse = known_a_->lse;
    result_.a_parts = known_a_->parts;
    result_.rescales = held_.known.rescales;
    result_.rescale_map = held_.known.rescale_map;
    result_.trace = held_.known.trace;
    result_.holds.trace = wanted_.trace || result_.trace.row == traced_row(e_.problem);
    if (result_.trace.row == traced_row(e_.problem)) return;
    result_.trace = {traced_row(e_.problem), {}};
    if (!wanted_.trace) return;
    const MethodOperands<T> own(e_.problem, e_.a, e_.format, x, stop_);
    result_.trace = traced_alone(job(e_.problem, e_.a, e_.format, own.get()), golden);
  }

  void take_known_b() {
    result_.b = known_b_->output, result_.b_lse = known_b_->lse;
    result_.b_parts = known_b_->parts;
  }

  /// The output to keep; null if the method is not emulated.
  std::unique_ptr<KnownOutput> kept(const Method& m, Found found, const std::optional<ErrorParts>& parts) const {
    if (!is_emulated(m.algorithm)) return nullptr;
    auto known = std::make_unique<KnownOutput>(
        KnownOutput{output_key(e_, m), std::move(found.copy), std::move(found.measured), {}, parts});
    known->measured.matrix = &known->output;
    return known;
  }

  /// Keeps the answer for the next experiment, which may change little.
  void remember(Found a, Found b) {
    KnownAnswer now;
    if (remembers_) {
      now = {nullptr, nullptr, result_.a_minus_b, result_.rescales, result_.rescale_map, result_.trace};
      if (!result_.holds.trace) now.trace.row = -1;
      now.a = known_a_ ? std::move(held_.known.a) : kept(e_.a, std::move(a), result_.a_parts);
      now.b = known_b_ ? std::move(held_.known.b) : kept(e_.b, std::move(b), result_.b_parts);
      if (now.a) now.a->error = result_.a_error, now.a->lse = result_.a_lse;
      if (now.b) now.b->error = result_.b_error, now.b->lse = result_.b_lse;
    }
    held_.known = std::move(now);
  }

  // --- parts to compute ---

  /// A method's forward pass, known if this answer computed it with the states of all rows.
  ForwardAnswer<T> forward_of(const Matrix& output, const RowStates<T>& states) const {
    return states.m.empty() || row_count() != e_.problem.n ? ForwardAnswer<T>{} : ForwardAnswer<T>{&output, &states};
  }

  /// The computed rows of the loaded output.
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
    result_.holds.trace = wanted_.trace;
    RunRecorder<T> recorder(a, golden, result_.rows, wanted_.trace ? result_.trace.row : -1, std::is_same_v<T, double>);
    result_.a = run(a, result_.rows, &recorder, part(UpdatePart::a), &states_a_);
    result_.a_lse = log_sum_exps(a, result_.rows, states_a_, is_base_2(e_.a.lse_base));
    result_.trace.tiles = recorder.take_trace().tiles;
    isolated([&] { timed(part(UpdatePart::recurrence), [&] { result_.rescales = recorder.rescales(); }); });
    result_.rescale_map = recorder.take_map();
    result_.a_parts = with_stored_golden(own, part(UpdatePart::a));
  }

  /// The golden value on the numbers that the method stores; the deviations come later. None if it stores nothing with scales.
  std::optional<ErrorParts> with_stored_golden(const MethodOperands<T>& own, const StopSign& stop) const {
    if (own.stored() == nullptr) return {};
    ErrorParts parts;
    parts.stored_golden = std::make_shared<const Matrix>(
        golden_of_stored(*own.stored(), e_.problem, result_.rows, std::is_same_v<T, double>, stop));
    return parts;
  }
  /// Measures storage (stored golden against golden) and arithmetic (`output` against stored golden).
  void measure_parts(std::optional<ErrorParts>& parts, const Measured& output) const {
    if (!parts) return;
    const Measured stored = unsorted(*parts->stored_golden, stop_);
    parts->storage = deviation(stored, truth_->measured, e_.format, stop_);
    parts->arithmetic = deviation(output, stored, e_.format, stop_);
  }

  /// Traces the row on the CPU, with the same bits: an engine records no trace.
  Trace traced_alone(const Job<T>& a, const Job<double>& golden) const {
    const std::vector<int> row{traced_row(e_.problem)};
    RunRecorder<T> tracer(a, golden, row, row[0], std::is_same_v<T, double>);
    run(a, row, &tracer, part(UpdatePart::recurrence));
    return tracer.take_trace();
  }

  /// Runs `method` on the inputs `x`; an engine stores the result as `output`.
  Matrix emulated(const Method& method, const Operands<T>& x, Output output) {
    const MethodOperands<T> own(e_.problem, method, e_.format, x, stop_);
    const Job<T> j = job(e_.problem, method, e_.format, own.get());
    if (!engine_) return run(j, result_.rows, nullptr, stop_);
    ask(j, output, nullptr, nullptr, own.shared());
    engine_->send(output);
    engine_->wait(stop_);
    return engine_->output(output);
  }

  /// The output of a method that is not emulated. `checks`: a real kernel's output is compared with its emulation.
  Matrix given(const Method& method, Output output, bool checks) {
    return method.algorithm == Algorithm::loaded ? loaded_rows() : hardware_rows(method, output, checks);
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
    if (engine_) {
      ask(b, Output::b, nullptr, &states_b_, same && stored.shared());
      asked_b_ = b;
    } else {
      result_.b = run(b, result_.rows, nullptr, part(UpdatePart::b), &states_b_);
      result_.b_lse = log_sum_exps(b, result_.rows, states_b_, is_base_2(e_.b.lse_base));
    }
    result_.b_parts = with_stored_golden(stored, part(UpdatePart::b));
  }

  /// `sorts`: its values are needed in ascending order.
  Measured meter(const Matrix& m, bool sorts) const {
    Measured x = unsorted(m, part(UpdatePart::moments));
    if (sorts) sort_values(x, part(UpdatePart::sorted));
    return x;
  }

  /// An output with its measure.
  struct Side {
    const Measured* measured;
    Output output;
  };
  /// Compares x with y from the engine's sums; Wasserstein-1 is NaN if no gaps were asked for.
  Deviation compared_by_engine(const Side& x, const Side& y) {
    const Measured &p = *x.measured, &q = *y.measured;
    const ComparisonSums& c = engine_->comparison(x.output, y.output);
    const auto wasserstein = [&] {
      if (c.gaps.empty()) return std::numeric_limits<double>::quiet_NaN();
      if (p.nonfinite != 0 || q.nonfinite != 0) return paired_wasserstein(*p.matrix, *q.matrix, stop_);
      return ordered_total(c.gaps) / static_cast<double>(element_count());
    };
    const auto chunks = [&](const DeviationRule& rule) { return rule.centred_alone ? c.centred : c.chunks; };
    return deviation(row_count(), value_columns(e_.problem), q.rms, e_.format, {chunks, wasserstein});
  }

  Side golden() const { return {&truth_->measured, Output::golden}; }

  /// The errors of a and b, and how far a is from b.
  void compare(Measured& a, Measured& b) {
    stop_.check();
    const Side mine{&a, Output::a}, other{&b, Output::b};
    if (engine_) {
      result_.a_error = compared_by_engine(mine, golden());
      result_.b_error = compared_by_engine(other, golden());
      result_.a_minus_b = compared_by_engine(mine, other);
    } else {
      compare_here(truth_->measured, a, b);
    }
    if (known_a_ == nullptr) measure_parts(result_.a_parts, a);
    if (known_b_ == nullptr) measure_parts(result_.b_parts, b);
    result_.holds.wasserstein = engine_ ? wanted_.wasserstein : truth_->measured.sorts && a.sorts && b.sorts;
    result_.digests = {truth_->measured.digest, a.digest, b.digest};
    result_.inputs = truth_->inputs;
    result_.golden = truth_->golden;
    result_.golden_lse = truth_->lse;
    result_.golden_rms = truth_->measured.rms;
    result_.golden_nonfinite = truth_->measured.nonfinite;
    if (engine_) result_.on_device = engine_->matrices(e_.format, result_.golden_rms);
  }

  /// The same on the CPU. Unsorted values are sorted, if wanted, while the sums that need no order are computed.
  void compare_here(Measured& golden, Measured& a, Measured& b) {
    struct Pair {
      Deviation& found;
      const Deviation* known;  ///< null: not known
      const Measured &x, &y;
      bool ordered = x.sorts && y.sorts;  ///< before this answer
    };
    const std::array<Pair, 3> pairs{{
        {result_.a_error, known_a_ ? &known_a_->error : nullptr, a, golden},
        {result_.b_error, known_b_ ? &known_b_->error : nullptr, b, golden},
        {result_.a_minus_b, known_a_ && known_b_ ? &held_.known.a_minus_b : nullptr, a, b},
    }};
    const std::array<Measured*, 3> measures{&golden, &a, &b};
    const auto each = [](const auto& all, auto f) {
      parallel_for(std::size_t{0}, all.size(), [&](std::size_t i) { f(all[i]); });
    };
    const auto sort = [&](Measured* m) {
      if (wanted_.wasserstein && !m->sorts) sort_values(*m, part(UpdatePart::sorted));
    };
    const auto sum = [&](const Pair& p) {
      p.found = p.known ? *p.known : unordered_deviation(p.x, p.y, e_.format, part(UpdatePart::deviations));
    };
    parallel_invoke([&] { each(measures, sort); }, [&] { each(pairs, sum); });
    each(pairs, [&](const Pair& p) {
      if (p.known == nullptr || !p.ordered) p.found.wasserstein = wasserstein(p.x, p.y, part(UpdatePart::distances));
    });
  }

  const PhaseTimer& part(UpdatePart p) const { return parts_[static_cast<std::size_t>(p)]; }

  // --- on an engine: all questions, then one wait, then the answers ---

  /// `shared`: the job's inputs are the truth's operands, not some made for this job alone.
  void ask(const Job<T>& j, Output output, RunRecorder<T>* recorder, RowStates<T>* states, bool shared) {
    engine_->run(j, shared ? truth_->generation : 0, result_.rows, output, recorder, states, stop_);
  }
  void ask_golden(const Job<double>& golden) {
    engine_->run(golden, truth_->generation, result_.rows, Output::golden, nullptr, &states_golden_, stop_);
    if constexpr (std::is_same_v<T, double>) engine_->run_double_double(golden, truth_->generation, result_.rows, stop_);
    engine_->measure(Output::golden, stop_);
    engine_->send(Output::golden);
  }
  void take_golden(const Job<double>& golden) {
    truth_->lse = log_sum_exps(golden, result_.rows, states_golden_);
    truth_->golden = std::make_shared<Matrix>(engine_->output(Output::golden));
    truth_->measured = measured_by_engine(truth_->golden.get(), Output::golden);
    truth_->key = golden_key(e_, engine_);
  }

  /// Method a in the engine's queue, with the operands that must live until its answer is there.
  struct AskedA {
    AskedA(const Computation& c, const Operands<T>& x, const Job<double>& golden)
        : own(c.e_.problem, c.e_.a, c.e_.format, x, c.stop_),
          method(job(c.e_.problem, c.e_.a, c.e_.format, own.get())),
          recorder(method, golden, c.result_.rows, traced_row(c.e_.problem), std::is_same_v<T, double>) {}
    MethodOperands<T> own;
    Job<T> method;
    RunRecorder<T> recorder;
  };

  void answer_by_engine(bool fresh, const Operands<T>& x, const Job<double>& golden) {
    engine_->begin();
    if (fresh) ask_golden(golden);
    result_.traffic = traffic(e_);
    result_.trace.row = traced_row(e_.problem);
    std::optional<AskedA> a;
    if (is_emulated(e_.a.algorithm)) {
      a.emplace(*this, x, golden);
      ask(a->method, Output::a, &a->recorder, &states_a_, a->own.shared());
      engine_->send(Output::a);
    } else {
      result_.timing.a = ms_of([&] { result_.a = given(e_.a, Output::a, true); });
      engine_->take(result_.a, Output::a);
    }
    const bool b_is_given = !is_emulated(e_.b.algorithm);
    const double ms = ms_of([&] { run_b(x); });
    b_is_given ? engine_->take(result_.b, Output::b) : engine_->send(Output::b);
    ask_comparisons();
    if (a) {  // while the engine computes
      result_.holds.trace = wanted_.trace;
      if (wanted_.trace) result_.trace = traced_alone(a->method, golden);
      result_.a_parts = with_stored_golden(a->own, stop_);
    }
    engine_->wait(stop_);
    if (fresh) {
      take_golden(golden);
      result_.timing.golden = engine_->run_ms(Output::golden);
    }
    if (a) {
      result_.a = engine_->output(Output::a);
      result_.a_lse = log_sum_exps(a->method, result_.rows, states_a_, is_base_2(e_.a.lse_base));
      result_.timing.a = engine_->run_ms(Output::a);
      result_.rescales = a->recorder.rescales();
      result_.rescale_map = a->recorder.take_map();
    }
    if (!b_is_given) {
      result_.b = engine_->output(Output::b);
      result_.b_lse = log_sum_exps(*asked_b_, result_.rows, states_b_, is_base_2(e_.b.lse_base));
    }
    result_.timing.b = b_is_given ? ms : engine_->run_ms(Output::b);
    Measured measured_a = measured_by_engine(&result_.a, Output::a), measured_b = measured_by_engine(&result_.b, Output::b);
    compare(measured_a, measured_b);
  }
  void ask_comparisons() {
    for (const Output output : {Output::a, Output::b}) {
      engine_->measure(output, stop_);
      engine_->compare(output, Output::golden, e_.format, wanted_.wasserstein, stop_);
    }
    engine_->compare(Output::a, Output::b, e_.format, wanted_.wasserstein, stop_);
  }

  int row_count() const { return static_cast<int>(result_.rows.size()); }
  std::int64_t element_count() const { return static_cast<std::int64_t>(row_count()) * value_columns(e_.problem); }

  /// Builds a measure from the engine's moments; `m` is null if the output stays with the engine.
  Measured measured_by_engine(const Matrix* m, Output output) {
    const Moments& moments = engine_->moments(output);
    return {m,
            false,
            {},
            moments.nonfinite,
            rms_of(ordered_total(moments.squares), element_count() - moments.nonfinite),
            digest(row_count(), value_columns(e_.problem), moments.digest_sum)};
  }

  Deviation error_by_engine(const Method& m, const Operands<T>& x) {
    engine_->begin();
    if (is_emulated(m.algorithm)) {
      const MethodOperands<T> own(e_.problem, m, e_.format, x, stop_);
      ask(job(e_.problem, m, e_.format, own.get()), Output::a, nullptr, nullptr, own.shared());
    } else {
      engine_->take(given(m, Output::a, false), Output::a);
    }
    engine_->measure(Output::a, stop_);
    engine_->compare(Output::a, Output::golden, e_.format, false, stop_);
    engine_->wait(stop_);
    const Measured measured = measured_by_engine(nullptr, Output::a);
    return compared_by_engine({&measured, Output::a}, golden());
  }
  Deviation error_here(const Method& m, const Operands<T>& x) {
    const Matrix output = is_emulated(m.algorithm) ? emulated(m, x, Output::a) : given(m, Output::a, false);
    return deviation(meter(output, false), truth_->measured, e_.format, stop_);
  }

  const Experiment& e_;
  const std::string& device_;
  StopToken stop_;
  std::array<PhaseTimer, update_part_names.size()> parts_;
  ComputeCache::Held& held_;
  std::optional<Truth>& truth_;
  Engine* engine_;
  KnownOutput *known_a_, *known_b_;  ///< null: not computed last
  bool remembers_;                   ///< the options have a cache
  Wanted wanted_;
  RowStates<T> states_a_, states_b_;  ///< as far as this answer's backward pass takes them
  RowStates<double> states_golden_;   ///< of an engine
  std::optional<Job<T>> asked_b_;     ///< of an engine; its tensors may be gone
  Result result_;
};

}  // namespace attoscope
