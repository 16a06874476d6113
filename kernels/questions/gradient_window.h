/// P, dP and dS of the backward pass for a window of rows and keys, computed on demand, never N x N.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "kernels/compute.h"
#include "kernels/questions/scores.h"

namespace attoscope {

/// Numbers that a backward pass computes for a query and a key: P, made again from S and L; dP = dO.V^T; dS = P*(dP - delta).
enum class PairTensor : std::uint8_t { P, dP, dS };
inline constexpr EnumArray<PairTensor> pair_tensor_names{"P", "dP", "dS"};

/// One of them, row-major rows x keys; NaN where the row does not see the key. a and b as the method's step of that name leaves
/// it (P and dS stored with scales: element times scale).
struct PairValues {
  std::vector<double> golden, a, b;
};

/// The window of a backward pass. The question's experiment has one (`backward.on`).
struct GradientWindow {
  ScoreQuestion question;
  std::array<PairValues, pair_tensor_names.size()> tensors;  ///< [PairTensor]
  const PairValues& operator[](PairTensor t) const { return tensors[static_cast<std::size_t>(t)]; }
};

/// Throws as `compute` does, and std::invalid_argument if the window is empty, lies outside or is too large, or there is no
/// backward pass. Bits are those of the whole backward pass.
GradientWindow gradient_window(const ScoreQuestion& question, const Options& options = {});

}  // namespace attoscope
