/// One experiment's O computed in several variants that must not change a bit: instruction sets, thread counts, block_q,
/// devices. Its two methods are compared, too; their bits may differ.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "kernels/compute.h"
#include "kernels/experiment/result.h"
#include "kernels/experiment/table.h"
#include "kernels/questions/methods_apart.h"

namespace attoscope {

struct SameBitsRun {
  std::string what;     ///< "avx2", "1 thread", "block_q 16", "cuda:0 NVIDIA H200"
  std::string skipped;  ///< one sentence: the reason why it was not run; empty if it was
  Digests digests{};
};

/// Names of the digests that differ: "golden, a".
std::string differing(const Digests& x, const Digests& y);

struct SameBits {
  Experiment experiment;
  std::vector<SameBitsRun> runs;  ///< the first is the reference, computed as in the window
  MethodsApart methods{};         ///< a compared with b
  /// True if every run that was not skipped has the digests of the first.
  bool agree() const;
  /// Number of runs that were not skipped.
  int compared() const;
};

/// True if a run was skipped or has the digests of the reference.
bool agrees(const SameBitsRun& run, const SameBitsRun& reference);

/// Computes an experiment with these options and returns its digests. Throws std::runtime_error or std::invalid_argument if
/// this machine cannot compute it.
using Answerer = std::function<Digests(const Experiment&, const Options&)>;

/// Computes the forward pass in all variants, without a cache, and compares its methods. Throws as `compute` does for the
/// reference; skips any other variant that cannot run, with the reason.
SameBits same_bits(const Experiment& experiment, const Options& options = {});
/// Only the variants, computed by `answer`.
SameBits same_bits(const Experiment& experiment, const Options& options, const Answerer& answer);

/// One row per run.
Table same_bits_table(const SameBits& bits);

}  // namespace attoscope
