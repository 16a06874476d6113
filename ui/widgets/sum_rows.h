/// A block of a tensor core's sum as rows of bits in columns of powers of two.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "kernels/arithmetic/tensor_core_sum.h"

namespace attoscope {

/// A number in binary: magnitude * 2^unit.
struct SumRow {
  std::string label;  ///< "a0·b0", "c", "sum", "result"
  double value = 0;
  std::uint64_t magnitude = 0;
  int unit = 0;
  int kept_from = 0;  ///< digits below 2^kept_from are lost

  /// '0' or '1' in the column of 2^power; ' ' above the first 1 and below the last digit.
  char digit(int power) const;
  /// Powers of the first 1 and of the last 1; only where the magnitude is not 0.
  int first() const;
  int last() const;
};

/// What is drawn of a block: terms, where c is among them too, the sum, then c where it is added later, the result.
struct SumTable {
  std::vector<SumRow> rows;
  int top = 0, bottom = 0;  ///< powers of the first and last column
  std::size_t terms = 0;    ///< so many rows are what is aligned
  double lost = 0;          ///< of all terms, by what was cut off them
  bool more = false;        ///< there are digits beyond the last column
};

/// The table of a block, `first` being the place of its first product; at most `columns` columns.
SumTable sum_table(const TensorCoreRule& rule, const TensorCoreBlock& block, int first, int columns);

}  // namespace attoscope
