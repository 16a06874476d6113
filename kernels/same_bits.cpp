#include "kernels/same_bits.h"

namespace attoscope {

bool SameBits::agree() const {
  for (const SameBitsRun& run : runs)
    if (run.skipped.empty() && (run.golden != runs[0].golden || run.a != runs[0].a || run.b != runs[0].b)) return false;
  return true;
}

SameBits same_bits(const Experiment& experiment, const Options&) { return {experiment, {}}; }

}  // namespace attoscope
