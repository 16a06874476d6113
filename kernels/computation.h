/// An experiment's answer on one device, from inputs to deviations. Included by compute.cpp alone.
#pragma once

#include <algorithm>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "kernels/backward_computation.h"
#include "kernels/cpu_answer.h"
#include "kernels/engine_answer.h"
#include "kernels/pending_answer.h"

namespace attoscope {

/// One experiment's answer in the working type T, by the CPU or an engine; known parts are reused. compute.cpp chooses the
/// device and handles its failure.
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

  /// Deviation from golden of each of these methods, run in place of a.
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

}  // namespace attoscope
