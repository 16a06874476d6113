/// The forward part of a computation on an engine: queues all work, waits, then reads the results. For compute.cpp only.
#pragma once

#include <limits>
#include <memory>
#include <optional>

#include "kernels/deviation/deviation.h"
#include "kernels/deviation/meter.h"
#include "kernels/experiment/traffic.h"
#include "kernels/gpu/engine.h"
#include "kernels/known_answers.h"
#include "kernels/pending_answer.h"

namespace attoscope {

/// Computes and measures golden, a and b on an engine; reuses no output of the last result.
template <class T>
class EngineAnswer {
 public:
  EngineAnswer(PendingAnswer<T>& p, Engine& engine) : p_(p), engine_(engine) {}

  /// Number of outputs, of a and b, that must be computed.
  int unknown() const { return 2; }

  /// Computes only golden.
  void find_golden() {
    engine_.begin();
    ask_golden();
    engine_.wait(p_.stop);
    take_golden();
  }

  /// Computes golden if it is `fresh`, and a and b.
  void answer(bool fresh) {
    Result& r = p_.result;
    engine_.begin();
    if (fresh) ask_golden();
    r.traffic = traffic(p_.e);
    r.trace.row = traced_row(p_.e.problem);
    std::optional<AskedA> a;
    if (is_emulated(p_.e.a.algorithm)) {
      a.emplace(p_);
      ask(a->method, Output::a, &a->recorder, &p_.states_a, a->own.shared());
      engine_.send(Output::a);
    } else {
      r.timing.a = ms_of([&] { r.a = given(p_.e.a, Output::a, true); });
      engine_.take(r.a, Output::a);
    }
    const double ms_b = ms_of([&] { ask_b(); });
    ask_comparisons();
    if (a) {  // while the engine computes
      r.holds.trace = p_.wanted.trace;
      if (p_.wanted.trace) r.trace = p_.traced_alone(a->method);
      r.a_parts = p_.with_stored_golden(a->own, p_.stop);
    }
    engine_.wait(p_.stop);
    if (fresh) {
      take_golden();
      r.timing.golden = engine_.run_ms(Output::golden);
    }
    if (a) take_a(*a);
    take_b(ms_b);
    compare(measured(&r.a, Output::a), measured(&r.b, Output::b));
    p_.held.known = {};
  }

  /// Deviation from golden of a method, run instead of a.
  Deviation error_of(const Method& m) {
    engine_.begin();
    if (is_emulated(m.algorithm)) {
      const MethodOperands<T> own = p_.operands_of(m);
      ask(p_.job_of(m, own), Output::a, nullptr, nullptr, own.shared());
    } else {
      engine_.take(given(m, Output::a, false), Output::a);
    }
    engine_.measure(Output::a, p_.stop);
    engine_.compare(Output::a, Output::golden, p_.e.format, false, p_.stop);
    engine_.wait(p_.stop);
    const Measured output = measured(nullptr, Output::a);
    return compared({&output, Output::a}, golden());
  }

 private:
  /// Method a as queued on the engine, with its operands, which must live until the results are there.
  struct AskedA {
    explicit AskedA(const PendingAnswer<T>& p)
        : own(p.operands_of(p.e.a)),
          method(p.job_of(p.e.a, own)),
          recorder(p.recorder_of(method, p.result.rows, traced_row(p.e.problem))) {}
    MethodOperands<T> own;
    Job<T> method;
    RunRecorder<T> recorder;
  };

  /// An output with its measure.
  struct Side {
    const Measured* measured;
    Output output;
  };
  Side golden() const { return {&p_.held.golden->measured, Output::golden}; }

  /// Queues a job. `shared`: its inputs are the inputs of all methods, not copies for this job.
  void ask(const Job<T>& j, Output output, RunRecorder<T>* recorder, RowStates<T>* states, bool shared) {
    engine_.run(j, shared ? p_.held.golden->generation : 0, p_.result.rows, output, recorder, states, p_.stop);
  }

  void ask_golden() {
    const std::uint64_t generation = p_.held.golden->generation;
    engine_.run(p_.golden, generation, p_.result.rows, Output::golden, nullptr, &states_golden_, p_.stop);
    if constexpr (PendingAnswer<T>::precise) engine_.run_double_double(p_.golden, generation, p_.result.rows, p_.stop);
    engine_.measure(Output::golden, p_.stop);
    engine_.send(Output::golden);
  }
  void take_golden() {
    KnownGolden& known = *p_.held.golden;
    known.lse = log_sum_exps(p_.golden, p_.result.rows, states_golden_);
    known.output = std::make_shared<Matrix>(engine_.output(Output::golden));
    known.measured = measured(known.output.get(), Output::golden);
    known.key = golden_key(p_.e, &engine_);
  }

  void take_a(AskedA& a) {
    Result& r = p_.result;
    r.a = engine_.output(Output::a);
    r.a_lse = p_.stored_lse(p_.e.a, a.method, p_.states_a);
    r.timing.a = engine_.run_ms(Output::a);
    r.rescales = a.recorder.rescales();
    r.rescale_map = a.recorder.take_map();
  }

  void ask_b() {
    if (!is_emulated(p_.e.b.algorithm)) {
      p_.result.b = given(p_.e.b, Output::b, true);
      engine_.take(p_.result.b, Output::b);
      return;
    }
    p_.with_operands_of_b([&](const MethodOperands<T>& own, bool shared) {
      asked_b_ = p_.job_of(p_.e.b, own);
      ask(*asked_b_, Output::b, nullptr, &p_.states_b, shared);
      p_.result.b_parts = p_.with_stored_golden(own, p_.stop);
    });
    engine_.send(Output::b);
  }
  /// Takes the results of b; `ms`: time spent to queue b.
  void take_b(double ms) {
    Result& r = p_.result;
    r.timing.b = asked_b_ ? engine_.run_ms(Output::b) : ms;
    if (!asked_b_) return;
    r.b = engine_.output(Output::b);
    r.b_lse = p_.stored_lse(p_.e.b, *asked_b_, p_.states_b);
  }

  /// Runs `method` on the inputs of all methods; the engine stores the output as `output`.
  Matrix emulated(const Method& method, Output output) {
    const MethodOperands<T> own = p_.operands_of(method);
    ask(p_.job_of(method, own), output, nullptr, nullptr, own.shared());
    engine_.send(output);
    engine_.wait(p_.stop);
    return engine_.output(output);
  }
  Matrix given(const Method& m, Output output, bool checks) {
    return p_.given(m, checks, [&](const Method& emulation) { return emulated(emulation, output); });
  }

  void ask_comparisons() {
    for (const Output output : {Output::a, Output::b}) {
      engine_.measure(output, p_.stop);
      engine_.compare(output, Output::golden, p_.e.format, p_.wanted.wasserstein, p_.stop);
    }
    engine_.compare(Output::a, Output::b, p_.e.format, p_.wanted.wasserstein, p_.stop);
  }

  /// Builds a measure from the engine's moments; `m` is null if the output stays on the device.
  Measured measured(const Matrix* m, Output output) {
    const Moments& moments = engine_.moments(output);
    return {m,
            false,
            {},
            moments.nonfinite,
            rms_of(ordered_total(moments.squares), p_.element_count() - moments.nonfinite),
            digest(p_.row_count(), value_columns(p_.e.problem), moments.digest_sum)};
  }

  /// Compares x with y from the engine's sums; Wasserstein-1 is NaN if no gaps were requested.
  Deviation compared(const Side& x, const Side& y) {
    const Measured &p = *x.measured, &q = *y.measured;
    const ComparisonSums& c = engine_.comparison(x.output, y.output);
    const auto wasserstein = [&] {
      if (c.gaps.empty()) return std::numeric_limits<double>::quiet_NaN();
      if (p.nonfinite != 0 || q.nonfinite != 0) return paired_wasserstein(*p.matrix, *q.matrix, p_.stop);
      return ordered_total(c.gaps) / static_cast<double>(p_.element_count());
    };
    const auto chunks = [&](const DeviationRule& rule) { return rule.centred_alone ? c.centred : c.chunks; };
    return deviation(p_.row_count(), value_columns(p_.e.problem), q.rms, p_.e.format, {chunks, wasserstein});
  }

  /// Computes the errors of a and b, and the deviation of a from b.
  void compare(const Measured& a, const Measured& b) {
    p_.stop.check();
    Result& r = p_.result;
    const Side mine{&a, Output::a}, other{&b, Output::b};
    r.a_error = compared(mine, golden());
    r.b_error = compared(other, golden());
    r.a_minus_b = compared(mine, other);
    p_.measure_parts(r.a_parts, a);
    p_.measure_parts(r.b_parts, b);
    r.holds.wasserstein = p_.wanted.wasserstein;
    p_.take_golden(a, b);
    r.on_device = engine_.matrices(p_.e.format, r.golden_rms);
  }

  PendingAnswer<T>& p_;
  Engine& engine_;
  RowStates<double> states_golden_;
  std::optional<Job<T>> asked_b_;  ///< its tensors may be gone; empty if b is not emulated
};

}  // namespace attoscope
