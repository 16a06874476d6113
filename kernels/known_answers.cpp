#include "kernels/known_answers.h"

#include <utility>

#include "kernels/cpu/inputs.h"

namespace attoscope {

bool operator==(const GoldenKey& x, const GoldenKey& y) {
  return same_inputs(x.problem, y.problem) && scale_of(x.problem) == scale_of(y.problem) && x.problem.mask == y.problem.mask &&
         x.problem.sink == y.problem.sink && x.problem.softcap == y.problem.softcap && x.problem.alibi == y.problem.alibi &&
         x.problem.empty_rows == y.problem.empty_rows && x.problem.rows == y.problem.rows &&
         (x.problem.rows == 0 || traced_row(x.problem) == traced_row(y.problem)) && x.rounds_input == y.rounds_input &&
         x.in_double == y.in_double && x.engine == y.engine && x.stochastic_input == y.stochastic_input &&
         (!x.stochastic_input || x.problem.seed == y.problem.seed) && (!x.rounds_input || x.input == y.input);
}

GoldenKey golden_key(const Experiment& e, const Engine* engine) {
  const Rounding& r = e.a.precision[Step::input];
  const bool rounds = r.kind != Rounding::Kind::exact;
  return {e.problem, rounds ? format_of(r, e.format) : Format{}, rounds, rounds && r.stochastic, works_in_double(e), engine};
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

}  // namespace attoscope
