/// One question answered in several ways that must not change a bit: instruction sets, thread counts, block_q, devices.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "kernels/compute.h"

namespace attoscope {

struct SameBitsRun {
  std::string what;                        ///< "avx2", "1 thread", "block_q 16", "cuda:0 NVIDIA H200"
  std::string skipped;                     ///< why it was not run: one sentence; empty: it was
  std::uint64_t golden = 0, a = 0, b = 0;  ///< digests
};

struct SameBits {
  Experiment experiment;
  std::vector<SameBitsRun> runs;  ///< the first is the reference: as the window runs it
  /// True if every run that was not skipped has the digests of the first.
  bool agree() const;
  /// How many runs were not skipped.
  int compared() const;
};

/// True if a run was skipped or has the digests of the reference.
bool agrees(const SameBitsRun& run, const SameBitsRun& reference);

/// What answers a question in one way: its digests. Throws std::runtime_error or std::invalid_argument where that way does not
/// exist here.
using Answerer = std::function<Digests(const Experiment&, const Options&)>;

/// Runs the question every way there is here, remembering nothing from one to the next. Throws as `compute` does with the
/// reference; another way that cannot be gone is skipped, with the reason.
SameBits same_bits(const Experiment& experiment, const Options& options = {});
/// The same, answered by `answer`.
SameBits same_bits(const Experiment& experiment, const Options& options, const Answerer& answer);

}  // namespace attoscope
