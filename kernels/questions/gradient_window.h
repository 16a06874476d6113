/// P, dP and dS of the backward pass for a window of rows and keys, computed on demand, never N x N.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "kernels/compute.h"
#include "kernels/questions/scores.h"

namespace attoscope {

/// Tensors of a query and a key in a backward pass: P, recomputed from S and L; dP = dO.V^T; dS = P*(dP - delta).
enum class PairTensor : std::uint8_t { P, dP, dS };
inline constexpr EnumArray<PairTensor> pair_tensor_names{"P", "dP", "dS"};

/// One of these tensors, row-major rows x keys; NaN if the row does not see the key. a and b: after the method's step of that
/// name (P and dS stored with scales: element times scale).
struct PairValues {
  std::vector<double> golden, a, b;
};

/// The window of a backward pass. The question's experiment must have one (`backward.on`).
struct GradientWindow {
  ScoreQuestion question;
  std::array<PairValues, pair_tensor_names.size()> tensors;  ///< [PairTensor]
  const PairValues& operator[](PairTensor t) const { return tensors[static_cast<std::size_t>(t)]; }
};

/// Has the bits of the whole backward pass. Throws as `compute` does; std::invalid_argument if the window is empty, out of
/// range or too large, or if there is no backward pass.
GradientWindow gradient_window(const ScoreQuestion& question, const Options& options = {});

}  // namespace attoscope
