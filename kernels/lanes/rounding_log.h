/// Log of every rounding of one row, written by lanes that record them.
#pragma once

#include <vector>

#include "kernels/arithmetic/precision.h"

namespace attoscope {

/// One rounding, in order of execution; i and k as in RoundingKey.
struct LoggedRounding {
  Step step{};
  int i = 0, k = 0;
  bool of_column = false;  ///< i is a column of O
  double before = 0, after = 0;
};
/// A number of P stored with the scale of its block.
struct LoggedElement {
  int key = 0;
  double quotient = 0, element = 0, scale = 1;
};

struct RoundingLog {
  std::vector<LoggedRounding> roundings;
  std::vector<LoggedElement> elements;

  /// Logs a number of P that is rounded within a block.
  template <class T>
  void store(int key, T given, T quotient, T element, T scale) {
    const auto number = [](T x) { return static_cast<double>(x); };
    roundings.push_back({Step::P, key, 0, false, number(given), number(element * scale)});
    elements.push_back({key, number(quotient), number(element), number(scale)});
  }
};

}  // namespace attoscope
