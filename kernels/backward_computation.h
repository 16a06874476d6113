/// The backward pass of an experiment, from rounded inputs to deviations. Included by compute.cpp only.
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <limits>
#include <memory>
#include <string>
#include <type_traits>
#include <utility>

#include "kernels/backward/backward.h"
#include "kernels/deviation/deviation.h"
#include "kernels/experiment/result.h"
#include "kernels/known_answers.h"
#include "kernels/parallel/parallel.h"
#include "kernels/pending_answer.h"
#include "kernels/stop_token.h"

namespace attoscope {

/// One experiment's gradients in the working type T. Reuses known parts.
template <class T>
class BackwardComputation {
 public:
  /// Work of one row of a golden backward pass, and of a method's, in units of a row of the forward pass of a or b.
  static constexpr double golden_work = 5, method_work = 3;

  /// `known`: kept results of the last backward pass. `remembers`: keeps this one's, too. `ordered`: computes Wasserstein-1.
  /// `device`: null on the CPU.
  BackwardComputation(const Experiment& e, KnownBackward& known, bool remembers, bool ordered, StopToken& stop,
                      GradientDevice* device)
      : e_(e), known_(known), key_(gradient_key(e)), remembers_(remembers), ordered_(ordered), stop_(stop), device_(device) {
    part_.follow(stop);
    if (known.golden && !(known.golden->key == key_)) known = {};
    if (known.a && !is_known(*known.a, e.a, e.backward.a)) known.a.reset();
    if (known.b && !is_known(*known.b, e.b, e.backward.b)) known.b.reset();
  }

  /// Work still to be done per row, in units of a row of a or b.
  double work() const {
    const double methods = (known_.a ? 0 : method_work) + (known_.b ? 0 : method_work);
    return (known_.golden ? 0 : golden_work) + methods;
  }

  /// One sentence: which backward passes the device leaves to the CPU, and why; empty if there are none.
  std::string remark() const {
    if (device_ == nullptr) return {};
    const bool a = !has_on_device(e_.backward.a), b = !has_on_device(e_.backward.b);
    const std::string of = a && b ? "a and b" : a ? "a" : "b";
    const std::string stored = "The CPU computed the backward pass of " + of + ", which stores P or dS with scales.";
    const std::string precise = "The CPU computed golden's backward pass, in double-double.";
    if (!std::is_same_v<T, double>) return a || b ? stored : "";
    return a || b ? precise + " " + stored : precise;
  }

  /// Computes the result. `inputs` and `x`: inputs rounded for all methods. `a` and `b`: their forward passes, if known.
  BackwardResult answer(const Tensors& inputs, const Operands<T>& x, const ForwardAnswer<T>& a, const ForwardAnswer<T>& b,
                        BackwardTiming& timing) {
    if (!known_.golden) timing.golden = part(golden_work, [&] { find_golden(inputs); });
    if (!known_.a) timing.a = part(method_work, [&] { known_.a = found(e_.a, e_.backward.a, x, a); });
    if (!known_.b) timing.b = part(method_work, [&] { known_.b = found(e_.b, e_.backward.b, x, b); });
    BackwardResult r;
    timing.deviation = part(0, [&] { r = measured(); });
    if (!remembers_) known_ = {};
    return r;
  }

 private:
  bool is_known(const KnownGradients& last, const Method& m, const GradMethod& g) const {
    return last.golden == key_ && last.output == output_key(e_, m) && last.method == g;
  }

  /// Runs f; returns its milliseconds. f reports all queries; their work is scaled to the work of the computed rows.
  template <class F>
  double part(double work, F f) {
    stop_.set_row_work(work * static_cast<double>(computed_rows(e_.problem).size()) / e_.problem.n);
    return ms_of(f);
  }

  void find_golden(const Tensors& inputs) {
    KnownGoldenGradients t;
    t.incoming = std::make_shared<const OutputGradients>(output_gradients(e_, part_));
    t.gradients = std::make_shared<const Gradients>(
        golden_gradients(e_.problem, inputs, *t.incoming, std::is_same_v<T, double>, part_, device_));
    t.measured = measured_of(*t.gradients);
    t.d_o =
        std::make_shared<const Matrix>(rows_of(t.incoming->d_o, computed_rows(e_.problem), value_columns(e_.problem), stop_));
    t.measured_d_o = unsorted(*t.d_o, stop_);
    t.key = key_;
    known_.golden = std::move(t);
  }

  std::unique_ptr<KnownGradients> found(const Method& m, const GradMethod& g, const Operands<T>& x,
                                        const ForwardAnswer<T>& forward) const {
    auto k = std::make_unique<KnownGradients>();
    k->golden = key_;
    k->output = output_key(e_, m);
    k->method = g;
    k->gradients = gradients<T>(e_.problem, m, g, e_.format, x, *known_.golden->incoming, part_, forward, device_);
    k->measured = measured_of(k->gradients);
    return k;
  }

  static std::array<const Matrix*, 3> tensors_of(const Gradients& g) { return {&g.dq, &g.dk, &g.dv}; }

  MeasuredGradients measured_of(const Gradients& g) const {
    MeasuredGradients m;
    const std::array<const Matrix*, 3> tensors = tensors_of(g);
    parallel_for(std::size_t{0}, tensors.size(), [&](std::size_t i) { m.of[i] = unsorted(*tensors[i], stop_); });
    std::uint64_t terms = 0;
    for (std::size_t i = 0; i < m.of.size(); ++i) terms += digest_term_of<std::uint64_t>(m.of[i].digest, i);
    m.digest = digest(1, static_cast<int>(m.of.size()), terms);
    return m;
  }

  GradientDeviations deviations(const MeasuredGradients& x, const MeasuredGradients& y) const {
    GradientDeviations d;
    const std::array<Deviation*, 3> to{&d.dq, &d.dk, &d.dv};
    parallel_for(std::size_t{0}, to.size(), [&](std::size_t i) { *to[i] = deviation(x.of[i], y.of[i], e_.format, stop_); });
    return d;
  }

  void sort(MeasuredGradients& m) const {
    parallel_for(std::size_t{0}, m.of.size(), [&](std::size_t i) {
      if (!m.of[i].sorts) sort_values(m.of[i], stop_);
    });
  }

  /// Deviation of delta from golden's, over queries that have keys and are finite in both.
  DeltaDeviation delta_deviation(const Gradients& g) const {
    const Gradients& golden = *known_.golden->gradients;
    DeltaDeviation d;
    double squares = 0, sum = 0, count = 0;
    for (std::size_t i = 0; i < golden.delta.size(); ++i) {
      const double error = g.delta[i] - golden.delta[i];
      if (golden.lse[i] == -std::numeric_limits<double>::infinity() || !std::isfinite(error)) continue;
      d.max_abs = std::max(d.max_abs, std::abs(error));
      squares += error * error;
      sum += error;
      ++count;
    }
    if (count > 0) {
      d.rms = std::sqrt(squares / count);
      d.bias = sum / count;
    }
    return d;
  }

  static auto tensor_numbers(const KnownGoldenGradients& t, const MeasuredGradients& a, const MeasuredGradients& b) {
    const auto of = [](const Measured& golden, const Measured& x, const Measured& y) {
      return TensorNumbers{golden.rms, golden.nonfinite, {golden.digest, x.digest, y.digest}};
    };
    decltype(BackwardResult::tensors) all{of(t.measured_d_o, t.measured_d_o, t.measured_d_o)};
    for (std::size_t i = 0; i < t.measured.of.size(); ++i) all[1 + i] = of(t.measured.of[i], a.of[i], b.of[i]);
    return all;
  }

  /// Compares a method with golden, unless the deviations are known.
  void compare(KnownGradients& m, KnownGoldenGradients& known) const {
    if (ordered_) {
      sort(known.measured);
      sort(m.measured);
    }
    if (m.compared && (m.ordered || !ordered_)) return;
    m.error = deviations(m.measured, known.measured);
    m.compared = true;
    m.ordered = ordered_;
  }

  BackwardResult measured() {
    KnownGradients &a = *known_.a, &b = *known_.b;
    KnownGoldenGradients& known = *known_.golden;
    compare(a, known);
    compare(b, known);
    const DeltaDeviation a_delta = delta_deviation(a.gradients), b_delta = delta_deviation(b.gradients);
    const GradientDeviations a_minus_b = deviations(a.measured, b.measured);
    const auto handed_on = [&](Gradients& g) { return remembers_ ? g : std::move(g); };
    return {.keys = computed_keys(e_.problem),
            .incoming = known.incoming,
            .d_o = known.d_o,
            .golden = known.gradients,
            .a = handed_on(a.gradients),
            .b = handed_on(b.gradients),
            .a_error = a.error,
            .b_error = b.error,
            .a_minus_b = a_minus_b,
            .a_delta = a_delta,
            .b_delta = b_delta,
            .tensors = tensor_numbers(known, a.measured, b.measured),
            .golden_digest = known.measured.digest,
            .a_digest = a.measured.digest,
            .b_digest = b.measured.digest};
  }

  const Experiment& e_;
  KnownBackward& known_;
  const GradientKey key_;
  const bool remembers_, ordered_;
  StopToken& stop_;
  PhaseTimer part_;  ///< its sum of the threads' times is not used
  GradientDevice* device_;
};

}  // namespace attoscope
