/// A block of a tensor core's sum, or a chain of fma, as rows of bits in columns of powers of two.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "kernels/arithmetic/fma_chain.h"
#include "kernels/arithmetic/tensor_core_sum.h"

namespace attoscope::ui {

/// A number in binary: magnitude * 2^unit.
struct SumRow {
  std::string label;  ///< "a·b 0", "c", "first half", "sum", "c of all", "result"
  double value = 0;
  std::uint64_t magnitude = 0;
  int unit = 0;
  int kept_from = 0;   ///< digits below 2^kept_from are lost
  std::string note{};  ///< text instead of digits, or the loss

  /// '0' or '1' in the column of 2^power; ' ' above the first 1 and below the last digit.
  char digit(int power) const;
  /// Powers of the first 1 and of the last 1; the magnitude must not be 0.
  int first() const;
  int last() const;
};

/// Rows of a block: terms (with c if c is aligned with them), sum, c if it is added after the sum, result.
struct SumTable {
  std::vector<SumRow> rows;
  int top = 0, bottom = 0;  ///< powers of the first and last column
  std::size_t terms = 0;    ///< number of leading rows that are aligned
  double lost = 0;          ///< total of the digits that are cut off the terms
  bool more = false;        ///< digits continue beyond the last column
};

/// Names of a block's factors, index of its first product, and step of the index.
struct SumPlaces {
  std::string_view a = "a", b = "b";
  int first = 0, step = 1;
};

/// The table of a block; at most `columns` columns.
SumTable sum_table(const TensorCoreRule& rule, const TensorCoreBlock& block, const SumPlaces& places, int columns);

/// The table of parts of a chain: a row for each step that loses bits, preceded by the sum so far if that loses bits too, and a
/// note for each run of exact steps; at most `columns` columns.
SumTable chain_table(std::span<const ChainPart> parts, const Format& format, const SumPlaces& places, int columns);

/// Number of columns of bits that fit next to the labels, for a chain also next to the losses.
int sum_columns(float width);
int chain_columns(float width);

/// Draws the rows, one line each, `width` wide; lost digits are right of a dashed line, in the colour of errors.
void draw_sum_table(const TensorCoreBlock& block, const SumTable& table, float width);

/// Draws the rows of a chain, one line each, `width` wide; each row has its own lost digits.
void draw_chain_table(const SumTable& table, float width);

}  // namespace attoscope::ui
