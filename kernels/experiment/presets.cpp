#include "kernels/experiment/presets.h"

#include <algorithm>
#include <initializer_list>
#include <stdexcept>
#include <string>

#include "kernels/arithmetic/quoted.h"
#include "kernels/experiment/experiment.h"
#include "kernels/experiment/rules.h"

namespace attoscope {
namespace {

constexpr Precision rounded(std::initializer_list<Step> steps, bool accumulate_in_O = false) {
  Precision p;
  for (const Step s : steps) p[s] = to_main;
  p.accumulate_in_O = accumulate_in_O;
  return p;
}

constexpr Precision everything(bool accumulate_in_O) {
  Precision p;
  for (Rounding& r : p.steps) r = to_main;
  p.accumulate_in_O = accumulate_in_O;
  return p;
}

}  // namespace

std::span<const Policy> policies() {
  using enum Step;
  static constexpr Policy all[] = {
      {"hw", Algorithm::flash2, "what FlashAttention-2 and 3 do: state and sums in fp32, P and the output rounded",
       rounded({input, P, output}, true), "base_hw"},
      {"tile", Algorithm::flash2, "the state is stored in D between tiles", rounded({input, m, l, O, output}), "base_eager"},
      {"eager", Algorithm::flash2, "operation by operation on D tensors, as PyTorch would",
       rounded({input, S, m, shifted, e, P, tile_sum, alpha, rescaled, l, PV, O, output}), "base_eager"},
      {"all_tile", Algorithm::flash2, "every operation is rounded", everything(false), "base_all"},
      {"all_direct", Algorithm::flash2, "every operation is rounded, P.V straight into O", everything(true), "base_all"},
      {"exact", Algorithm::flash2, "only the inputs are rounded", rounded({input})},
      {"base_eager", Algorithm::three_pass, "PyTorch's eager attention: softmax fused in fp32, tensors in D",
       rounded({input, S, P, output}), "eager"},
      {"base_hw", Algorithm::three_pass, "scores stay in fp32; P and the output are rounded", rounded({input, P, output}),
       "hw"},
      {"base_ops", Algorithm::three_pass, "every tensor of an unfused softmax is rounded",
       rounded({input, S, m, shifted, e, P, tile_sum, l, output}), "eager"},
      {"base_all", Algorithm::three_pass, "every operation is rounded", everything(false), "all_tile"},
      {"base_floor", Algorithm::three_pass, "only inputs and output are rounded: the smallest error that D allows",
       rounded({input, output}), "hw"},
  };
  return all;
}

const Policy& policy(std::string_view name) {
  const std::span<const Policy> known = policies();
  if (const auto found = std::ranges::find(known, name, &Policy::name); found != known.end()) return *found;
  throw std::invalid_argument("policy " + in_quotes(name) + " is unknown: expected one of " +
                              listed(known, ", ", &Policy::name));
}

std::string_view policy_name(const Precision& precision, Algorithm algorithm) {
  for (const Policy& p : policies())
    if (p.precision == precision && same_family(p.algorithm, algorithm)) return p.name;
  return {};
}

Experiment default_experiment() {
  Experiment e;
  e.a.precision = policy("hw").precision;
  e.b.precision = policy("base_eager").precision;
  return e;
}

}  // namespace attoscope
