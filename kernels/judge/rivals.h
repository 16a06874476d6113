/// The kernels that a correct output could come from: what a tolerance is derived from.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "kernels/experiment/method.h"

namespace attoscope {

struct Problem;

/// A correct kernel, by a name that says how it computes: "hw, tiles of 64".
struct Rival {
  std::string name;
  Method method;
};

/// Known properties of the kernel whose output is judged.
struct KernelClaim {
  Format format = bf16;              ///< D: what its P is rounded to
  Format stored = bf16;              ///< format of its output
  std::optional<Method> declared{};  ///< where it says that it rounds; none: as kernels with an fp32 softmax do
  bool whole = false;                ///< its output is rounded to whole numbers instead
  std::shared_ptr<const std::vector<double>> scale{};  ///< scales of its elements, n x d; null: none
};

/// True if it differs from the others in the sums of a tensor core alone, which take as long as all others.
bool is_slow(const Rival& rival, const KernelClaim& claim);

/// "bf16", "e4m3 with a scale"
std::string stored_text(const KernelClaim& claim);

/// The rivals of such a kernel on `problem`: its policy, or fp32 softmax in the forms in use, with other tiles, orders of sums
/// and accumulators. Their output stays in the working type.
std::vector<Rival> rivals_of(const KernelClaim& claim, const Problem& problem);

}  // namespace attoscope
