/// One question answered in several ways that must not change a bit: instruction sets, thread counts, block_q, devices.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "kernels/compute.h"

namespace attoscope {

struct SameBitsRun {
  std::string what;     ///< "avx2", "1 thread", "block_q 16", "cuda:0 NVIDIA H200"
  std::string skipped;  ///< why it was not run: one sentence; empty: it was
  std::uint64_t golden = 0, a = 0, b = 0;  ///< digests
};

struct SameBits {
  Experiment experiment;
  std::vector<SameBitsRun> runs;  ///< the first is the reference: as the window runs it
  /// True if every run that was not skipped has the digests of the first.
  bool agree() const;
};

/// Runs the question every way there is here. Throws as `compute` does.
SameBits same_bits(const Experiment& experiment, const Options& options = {});

}  // namespace attoscope
