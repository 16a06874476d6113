#include "kernels/experiment/seeds.h"

#include <algorithm>

namespace attoscope {
namespace {

/// True if a method, or its backward pass, rounds at random.
template <class M>
bool is_stochastic(const M& m) {
  return std::ranges::any_of(m.precision.steps,
                             [](const Rounding& r) { return r.stochastic && r.kind != Rounding::Kind::exact; });
}

}  // namespace

bool depends_on_seed(const Experiment& e) {
  const Backward& b = e.backward;
  return e.problem.input.kind != InputKind::tensors || is_stochastic(e.a) || is_stochastic(e.b) ||
         (b.on && (b.d_o == OutputGradient::normal || is_stochastic(b.a) || is_stochastic(b.b)));
}

}  // namespace attoscope
