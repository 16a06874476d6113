/// The numbers of a format along a line: about one number, and from the smallest to the largest.
#pragma once

#include <span>
#include <string_view>

#include "kernels/arithmetic/format.h"
#include "ui/widgets/theme.h"

namespace attoscope {

/// A number and what it becomes in a format.
struct Rounded {
  Format format;
  std::string_view name;
  double x, stored;
};
/// The stored number between its neighbours, all that rounds to it, and x; in words where it lies beyond the largest number.
void draw_neighbours(const Rounded& number, float width, const Palette& colours);

/// The ranges of formats on one logarithmic axis: subnormals, normal numbers, what lies beyond; and x in each. `upper`: the
/// axis begins at 1.
void draw_ranges(std::span<const Format> formats, double x, bool upper, float width, const Palette& colours);

}  // namespace attoscope
