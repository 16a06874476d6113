/// Kernels with a mistake that are computed as kernels are: every one rounds where a method rounds.
#pragma once

#include <functional>
#include <string_view>
#include <vector>

#include "tests/questions/planted_slips.h"

namespace attoscope::planted {

/// A mistake as another problem, or other tensors, than what was asked for.
using Edit = std::function<void(Problem&, Tensors&)>;
/// The size that the mistakes below are made for.
inline constexpr int kernel_n = 250, kernel_d = 64, kernel_tile = 64, kernel_tail = kernel_n / kernel_tile * kernel_tile;

/// What a method gives, rounded where it rounds, once `edit` made its problem another one.
Values emulated(const Problem& p, const Method& method, const Format& f, const Edit& edit = {});

Method method(std::string_view name, int tile_size);

double* row_of(std::vector<double>& x, int row);
void copy_row(std::vector<double>& x, int from, int to);

Edit scaled(double scale);
Edit with_mask(Mask mask);
/// Rows of V that `from` names in the last, partial tile; what it reads was not yet changed.
Edit tail_of_V(std::function<int(int)> from);
Edit copied_row(int from, int to);

struct Planted {
  const char* kernel;
  Mask mask;
  Edit edit;
  const char* name;  ///< what it must be called
};

std::vector<Planted> planted_kernels();

}  // namespace attoscope::planted
