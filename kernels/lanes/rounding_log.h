/// Every rounding of one row, as lanes that record them write it down.
#pragma once

#include <vector>

#include "kernels/arithmetic/precision.h"

namespace attoscope {

/// One rounding, in the order of execution; i and k are those of RoundingKey.
struct LoggedRounding {
  Step step{};
  int i = 0, k = 0;
  bool of_column = false;  ///< i is a column of O
  double before = 0, after = 0;
};
/// A number of P that is stored with the scale of its block.
struct LoggedElement {
  int key = 0;
  double quotient = 0, element = 0, scale = 1;
};

struct RoundingLog {
  std::vector<LoggedRounding> roundings;
  std::vector<LoggedElement> elements;

  /// Notes a number of P that is rounded in a block.
  template <class T>
  void store(int key, T given, T quotient, T element, T scale) {
    const auto number = [](T x) { return static_cast<double>(x); };
    roundings.push_back({Step::P, key, 0, false, number(given), number(element * scale)});
    elements.push_back({key, number(quotient), number(element), number(scale)});
  }
};

}  // namespace attoscope
