#include "kernels/model/model_lanes.h"

#include "kernels/cpu/instruction_sets.h"

namespace attoscope {
namespace {

ModelSet set_of(std::string_view name) {
  const std::string_view isa = instruction_set(name).name;
#ifdef ATTOSCOPE_HAVE_X86_64_V3
  if (isa == "avx512") return avx512::model_set();
  if (isa == "avx2") return avx2::model_set();
#endif
  static_cast<void>(isa);
  return sse2::model_set();
}

}  // namespace

template <>
ModelLanes<float> model_lanes(std::string_view name) {
  return set_of(name).in_float;
}
template <>
ModelLanes<double> model_lanes(std::string_view name) {
  return set_of(name).in_double;
}
LogitLanes logit_lanes(std::string_view name) { return set_of(name).logits; }

}  // namespace attoscope
