/// The forward part of a computation on the CPU. Included by compute.cpp only.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <memory>
#include <optional>
#include <utility>

#include "kernels/deviation/deviation.h"
#include "kernels/experiment/traffic.h"
#include "kernels/known_answers.h"
#include "kernels/parallel/parallel.h"
#include "kernels/pending_answer.h"

namespace attoscope {

/// Computes golden, a and b by the CPU's lanes; takes outputs from the cache if their keys match.
template <class T>
class CpuAnswer {
 public:
  explicit CpuAnswer(PendingAnswer<T>& p)
      : p_(p), known_a_(known_output(p.held.known.a.get(), p.e.a)), known_b_(known_output(p.held.known.b.get(), p.e.b)) {}

  /// Work of a row of the outputs, of a and b, that must be computed, in units of a row of an output.
  double unknown() const { return (known_a_ ? 0 : work_of(p_.e.a)) + (known_b_ ? 0 : work_of(p_.e.b)); }

  /// Computes only golden.
  void find_golden() {
    compute_golden();
    measure_golden();
  }

  /// Computes golden if it is `fresh`, then a and b at the same time; all three at once if the rows are a single block, which
  /// occupies one core. Measuring an output fills the gaps between the others' blocks.
  void answer(bool fresh) {
    Found a, b;
    const bool golden_first = !is_one_block();
    const auto golden_if_fresh = [&] {
      if (fresh) p_.result.timing.golden = ms_of([&] { compute_golden(); });
    };
    if (golden_first) {
      p_.stop.set_row_work(PendingAnswer<T>::golden_work);
      golden_if_fresh();
    }
    p_.stop.set_row_work(1);
    parallel_invoke(
        [&] {
          if (!golden_first) golden_if_fresh();
          if (!golden_first && fresh) p_.stop.report((PendingAnswer<T>::golden_work - 1) * p_.row_count());  // beside 1 a row
          if (fresh) measure_golden();
        },
        [&] {
          if (known_a_) return take_known_a();
          p_.result.timing.a = ms_of([&] { run_a(); });
          a = found(p_.result.a, p_.e.a);
        },
        [&] {
          if (known_b_) return take_known_b();
          p_.result.timing.b = ms_of([&] { run_b(); });
          b = found(p_.result.b, p_.e.b);
        });
    if (golden_first) {
      const int threads = max_concurrency();
      if (const double ms = p_.part(UpdatePart::a).ms(); ms > 0) p_.result.timing.a = ms / threads;
      if (const double ms = p_.part(UpdatePart::b).ms(); ms > 0) p_.result.timing.b = ms / threads;
    }
    compare(known_a_ ? known_a_->measured : a.measured, known_b_ ? known_b_->measured : b.measured);
    remember(std::move(a), std::move(b));
  }

  /// Deviation from golden of a method, run instead of a.
  Deviation error_of(const Method& m) {
    const Matrix output = is_emulated(m.algorithm) ? emulated(m) : given(m, false);
    return deviation(meter(output, false), p_.held.golden->measured, p_.e.format, p_.stop);
  }

 private:
  /// A new output's measure, and a copy of the output if the next experiment may reuse it.
  struct Found {
    Measured measured;
    Matrix copy;
  };

  /// True if the rows are a single block, which one core computes.
  bool is_one_block() const { return p_.row_count() <= instruction_set(p_.stop.isa).in_double.rows; }

  static double work_of(const Method& m) {
    return is_emulated(m.algorithm) && m.scaling.stores() ? 1 + PendingAnswer<T>::golden_work : 1;
  }

  void compute_golden() {
    const StopSign& stop = p_.part(UpdatePart::golden);
    const UncountedSign uncounted(stop);  // for the run in double beside the precise one
    const StopSign& first = PendingAnswer<T>::precise ? uncounted : stop;
    RowStates<double> states;
    auto computed = std::make_shared<Matrix>(run(p_.golden, p_.result.rows, nullptr, first, &states));
    p_.held.golden->lse = log_sum_exps(p_.golden, p_.result.rows, states);
    if (PendingAnswer<T>::precise) *computed = run_double_double(p_.golden, p_.result.rows, stop);
    p_.held.golden->output = std::move(computed);
  }

  void measure_golden() {
    KnownGolden& known = *p_.held.golden;
    known.measured = meter(*known.output, p_.wanted.wasserstein);
    known.key = golden_key(p_.e, nullptr);  // last: an earlier stop then leaves no valid key
  }

  // --- a and b ---

  std::optional<ErrorParts> with_stored_golden(const MethodOperands<T>& own, UpdatePart part) const {
    std::optional<ErrorParts> both = p_.with_stored_golden(own, p_.part(part));
    if (both) p_.stop.report((PendingAnswer<T>::golden_work - 1) * p_.row_count());  // beside 1 a row
    return both;
  }

  void run_a() {
    Result& r = p_.result;
    r.traffic = traffic(p_.e);
    r.trace.row = traced_row(p_.e.problem);
    if (!is_emulated(p_.e.a.algorithm)) {
      r.a = given(p_.e.a, true);
      return;
    }
    const MethodOperands<T> own = p_.operands_of(p_.e.a);
    const Job<T> a = p_.job_of(p_.e.a, own);
    r.holds.trace = p_.wanted.trace;
    RunRecorder<T> recorder = p_.recorder_of(a, r.rows, p_.wanted.trace ? r.trace.row : -1);
    r.a = run(a, r.rows, &recorder, p_.part(UpdatePart::a), &p_.states_a);
    r.a_lse = p_.stored_lse(p_.e.a, a, p_.states_a);
    r.trace.tiles = recorder.take_trace().tiles;
    isolated([&] { timed(p_.part(UpdatePart::recurrence), [&] { r.rescales = recorder.rescales(); }); });
    r.rescale_map = recorder.take_map();
    r.a_parts = with_stored_golden(own, UpdatePart::a);
  }

  void run_b() {
    Result& r = p_.result;
    if (!is_emulated(p_.e.b.algorithm)) {
      r.b = given(p_.e.b, true);
      return;
    }
    p_.with_operands_of_b([&](const MethodOperands<T>& own, bool) {
      const Job<T> b = p_.job_of(p_.e.b, own);
      r.b = run(b, r.rows, nullptr, p_.part(UpdatePart::b), &p_.states_b);
      r.b_lse = p_.stored_lse(p_.e.b, b, p_.states_b);
      r.b_parts = with_stored_golden(own, UpdatePart::b);
    });
  }

  Matrix emulated(const Method& m) const {
    const MethodOperands<T> own = p_.operands_of(m);
    return run(p_.job_of(m, own), p_.result.rows, nullptr, p_.stop);
  }
  Matrix given(const Method& m, bool checks) {
    return p_.given(m, checks, [this](const Method& emulation) { return emulated(emulation); });
  }

  // --- known parts ---

  /// `last` if it is the output of this emulated method; null: the output must be computed.
  KnownOutput* known_output(KnownOutput* last, const Method& m) const {
    return last != nullptr && is_emulated(m.algorithm) && last->key == output_key(p_.e, m) ? last : nullptr;
  }

  /// Takes the known a, and its trace if it is of the same row.
  void take_known_a() {
    Result& r = p_.result;
    const KnownAnswer& known = p_.held.known;
    const int row = traced_row(p_.e.problem);
    r.traffic = traffic(p_.e);
    r.a = known_a_->output;
    r.a_lse = known_a_->lse;
    r.a_parts = known_a_->parts;
    r.rescales = known.rescales;
    r.rescale_map = known.rescale_map;
    r.trace = known.trace;
    r.holds.trace = p_.wanted.trace || r.trace.row == row;
    if (r.trace.row == row) return;
    r.trace = {row, {}};
    if (!p_.wanted.trace) return;
    const MethodOperands<T> own = p_.operands_of(p_.e.a);
    r.trace = p_.traced_alone(p_.job_of(p_.e.a, own));
  }

  void take_known_b() {
    p_.result.b = known_b_->output;
    p_.result.b_lse = known_b_->lse;
    p_.result.b_parts = known_b_->parts;
  }

  /// The output to keep; null if the method is not emulated.
  std::unique_ptr<KnownOutput> kept(const Method& m, Found found, const std::optional<ErrorParts>& parts) const {
    if (!is_emulated(m.algorithm)) return nullptr;
    auto known = std::make_unique<KnownOutput>(
        KnownOutput{output_key(p_.e, m), std::move(found.copy), std::move(found.measured), {}, parts});
    known->measured.matrix = &known->output;
    return known;
  }

  /// Keeps the results for the next experiment, which often differs little.
  void remember(Found a, Found b) {
    const Result& r = p_.result;
    KnownAnswer now;
    if (p_.remembers) {
      now = {nullptr, nullptr, r.a_minus_b, r.rescales, r.rescale_map, r.trace};
      if (!r.holds.trace) now.trace.row = -1;
      now.a = known_a_ ? std::move(p_.held.known.a) : kept(p_.e.a, std::move(a), r.a_parts);
      now.b = known_b_ ? std::move(p_.held.known.b) : kept(p_.e.b, std::move(b), r.b_parts);
      if (now.a) {
        now.a->error = r.a_error;
        now.a->lse = r.a_lse;
      }
      if (now.b) {
        now.b->error = r.b_error;
        now.b->lse = r.b_lse;
      }
    }
    p_.held.known = std::move(now);
  }

  // --- measures ---

  /// Measures m. `sorts`: also sorts its values.
  Measured meter(const Matrix& m, bool sorts) const {
    Measured x = unsorted(m, p_.part(UpdatePart::moments));
    if (sorts) sort_values(x, p_.part(UpdatePart::sorted));
    return x;
  }

  /// Measures an output. If only one output is new, its values are sorted later, at the same time as its comparisons.
  Found found(const Matrix& output, const Method& m) const {
    Found f{meter(output, p_.wanted.wasserstein && !known_a_ && !known_b_), {}};
    if (p_.remembers && is_emulated(m.algorithm)) timed(p_.part(UpdatePart::kept), [&] { f.copy = output; });
    return f;
  }

  /// Computes the errors of a and b, and the deviation of a from b.
  void compare(Measured& a, Measured& b) {
    p_.stop.check();
    Measured& golden = p_.held.golden->measured;
    find_deviations(golden, a, b);
    if (!known_a_) p_.measure_parts(p_.result.a_parts, a);
    if (!known_b_) p_.measure_parts(p_.result.b_parts, b);
    p_.result.holds.wasserstein = golden.sorts && a.sorts && b.sorts;
    p_.take_golden(a, b);
  }

  /// Computes the deviations. Sorts unsorted values, if required, while the sums that need no order are computed.
  void find_deviations(Measured& golden, Measured& a, Measured& b) {
    struct Pair {
      Deviation& found;
      const Deviation* known;  ///< null if unknown
      const Measured &x, &y;
      bool ordered = x.sorts && y.sorts;  ///< both were sorted before this computation
    };
    Result& r = p_.result;
    const std::array<Pair, 3> pairs{{
        {r.a_error, known_a_ ? &known_a_->error : nullptr, a, golden},
        {r.b_error, known_b_ ? &known_b_->error : nullptr, b, golden},
        {r.a_minus_b, known_a_ && known_b_ ? &p_.held.known.a_minus_b : nullptr, a, b},
    }};
    const std::array<Measured*, 3> measures{&golden, &a, &b};
    const auto each = [](const auto& all, auto f) {
      parallel_for(std::size_t{0}, all.size(), [&](std::size_t i) { f(all[i]); });
    };
    const auto sort = [&](Measured* m) {
      if (p_.wanted.wasserstein && !m->sorts) sort_values(*m, p_.part(UpdatePart::sorted));
    };
    const auto sum = [&](const Pair& p) {
      p.found = p.known ? *p.known : unordered_deviation(p.x, p.y, p_.e.format, p_.part(UpdatePart::deviations));
    };
    parallel_invoke([&] { each(measures, sort); }, [&] { each(pairs, sum); });
    each(pairs, [&](const Pair& p) {
      if (p.known == nullptr || !p.ordered) p.found.wasserstein = wasserstein(p.x, p.y, p_.part(UpdatePart::distances));
    });
  }

  PendingAnswer<T>& p_;
  KnownOutput *known_a_, *known_b_;  ///< null: must be computed
};

}  // namespace attoscope
