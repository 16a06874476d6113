/// Kernels with a mistake that round at the steps of a method, as real kernels do.
#pragma once

#include <functional>
#include <string_view>
#include <vector>

#include "tests/questions/planted_slips.h"

namespace attoscope::planted {

/// A mistake as a change of the problem or its tensors.
using Edit = std::function<void(Problem&, Tensors&)>;
/// Sizes of the problems below.
inline constexpr int kernel_n = 250, kernel_d = 64, kernel_tile = 64, kernel_tail = kernel_n / kernel_tile * kernel_tile;

/// Output of a method, with its roundings, on the problem changed by `edit`.
Values emulated(const Problem& p, const Method& method, const Format& f, const Edit& edit = {});

Method method(std::string_view name, int tile_size);

double* row_of(std::vector<double>& x, int row);
void copy_row(std::vector<double>& x, int from, int to);

Edit scaled(double scale);
Edit with_mask(Mask mask);
/// Replaces each row j of V in the last, partial tile by the unchanged row from(j), or by zeros if from(j) < 0.
Edit tail_of_V(std::function<int(int)> from);
Edit copied_row(int from, int to);

struct Planted {
  const char* kernel;
  Mask mask;
  Edit edit;
  const char* name;  ///< its right name
};

std::vector<Planted> planted_kernels();

}  // namespace attoscope::planted
