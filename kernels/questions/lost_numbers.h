/// Numbers of one row that a format loses: those beyond its largest, and those that become 0.
#pragma once

#include <optional>

#include "kernels/questions/stepper.h"

namespace attoscope {

/// A number that a rounding loses.
struct LostNumber {
  Step step{};
  int key = -1;  ///< its key, if there are several
  double before = 0, after = 0;
};

struct LostNumbers {
  int rounded = 0, overflowed = 0, underflowed = 0;  ///< numbers that the run rounds, and those of them that are lost
  std::optional<LostNumber> overflow, underflow;     ///< the first of each

  bool survives() const { return overflowed == 0 && underflowed == 0; }
};

/// Follows the row as `steps` does. An overflow is a finite number beyond the largest of its format, whatever its result; an
/// underflow is a number that is not 0 and becomes 0. Throws as `steps` does.
LostNumbers lost_numbers(const StepQuestion& question);

}  // namespace attoscope
