/// A block of a tensor core's sum as rows of bits in columns of powers of two.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "kernels/arithmetic/tensor_core_sum.h"
#include "ui/widgets/theme.h"

namespace attoscope {

/// A number in binary: magnitude * 2^unit.
struct SumRow {
  std::string label;  ///< "a·b 0", "c", "first half", "sum", "c of all", "result"
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

/// What a block's factors are called, and the place of its first one.
struct SumPlaces {
  std::string_view a = "a", b = "b";
  int first = 0, step = 1;
};

/// The table of a block; at most `columns` columns.
SumTable sum_table(const TensorCoreRule& rule, const TensorCoreBlock& block, const SumPlaces& places, int columns);

/// So many columns of bits have room beside the rows' labels.
int sum_columns(float width);

/// The rows, each as high as a line, `width` wide: what is cut off in coral, right of a dashed line.
void draw_sum_table(const TensorCoreBlock& block, const SumTable& table, float width, const Palette& colours);

}  // namespace attoscope
