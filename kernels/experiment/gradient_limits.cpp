#include "kernels/experiment/gradient_limits.h"

#include <utility>

#include "kernels/experiment/accumulators.h"

namespace attoscope {
namespace {

/// One sentence without a full stop that says why tensors of the backward pass cannot be stored so; "": they can.
std::string why_not_stored(const GradScalings& s) {
  for (const auto& [called, scaling] :
       {std::pair{"dO", &s.dO}, std::pair{"P", &s.P}, std::pair{"dS", &s.dS}, std::pair{"dS_of_dK", &s.dS_of_dK}}) {
    const std::string what = std::string(called) + " is " + scaling_text(*scaling);
    if (scaling->granularity == Granularity::tensor && scaling->is_on())
      return what + ", but those of other heads are never known: expected head";
    if (scaling->shifts) return what + ", but shift is of the forward pass's P alone";
    if (scaling->granularity == Granularity::thread && scaling->is_on())
      return what + ", but thread is of Q and K of the forward pass alone";
  }
  return "";
}

}  // namespace

std::string why_no_gradient(const Experiment& e, const Method& m, const GradMethod& g) {
  const std::string which = &m == &e.a ? "a." : "b.";
  if (!is_emulated(m.algorithm))
    return which + "algorithm is " + std::string(name(m.algorithm)) +
           ", which has no backward pass: expected an emulated algorithm (`attoscope judge` takes the gradients of your own "
           "kernel)";
  if (m.scaling.hadamard || m.scaling.smooth_Q > 0)
    return which + "scaling." + (m.scaling.hadamard ? "hadamard" : "smooth_Q") +
           " is on, which has no backward pass here: expected it off";
  const bool adds = e.problem.softcap != 0 || e.problem.alibi != 0 || mask_view(e.problem).terms != nullptr;
  if (g.scale_at == ScaleAt::K && (adds || m.scaling.Q.is_on() || m.scaling.K.is_on()))
    return which +
           "grad.scale_at is K, which makes S again without soft cap, ALiBi, terms of a mask and scales of Q and K: expected "
           "product or dS";
  for (const GradProduct product : {GradProduct::dP, GradProduct::dV, GradProduct::dK, GradProduct::dQ})
    if (const std::string why = why_no_accumulator(e, m, g, product); !why.empty())
      return which + "grad.accumulator." + std::string(name(product)) + " is " + std::string(name(accumulator_of(g, product))) +
             ": " + why;
  if (const std::string why = why_not_stored(g.scaling); !why.empty()) return which + "grad.scaling: " + why;
  return "";
}

std::string why_no_gradients(const Experiment& e) {
  const std::string of_a = why_no_gradient(e, e.a, e.backward.a);
  return of_a.empty() ? why_no_gradient(e, e.b, e.backward.b) : of_a;
}

}  // namespace attoscope
