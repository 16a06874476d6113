#include "ui/widgets/sum_rows.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cmath>

namespace attoscope {
namespace {

std::uint64_t magnitude_of(std::int64_t x) { return static_cast<std::uint64_t>(x < 0 ? -x : x); }

SumRow row_of_term(const TensorCoreBlock& block, const TensorCoreTerm& t, const SumPlaces& p) {
  return {
      .label = t.index < 0 ? (block.added ? "first half" : "c") : fmt::format("{}·{} {}", p.a, p.b, p.first + p.step * t.index),
      .value = value(t),
      .magnitude = magnitude_of(t.significand),
      .unit = t.unit,
      .kept_from = block.unit};
}

/// A number of f; all digits are kept.
SumRow row_of_number(const char* label, float x, const Format& f) {
  int exponent = 0;
  const double fraction = std::frexp(std::fabs(static_cast<double>(x)), &exponent);
  const auto magnitude = static_cast<std::uint64_t>(std::ldexp(fraction, significand_bits(f)));
  return {.label = label,
          .value = x,
          .magnitude = magnitude,
          .unit = exponent - significand_bits(f),
          .kept_from = exponent - significand_bits(f)};
}

/// The sum; kept_from is the last digit that the result's format keeps.
SumRow row_of_sum(const TensorCoreRule& rule, const TensorCoreBlock& block) {
  SumRow row{.label = "sum",
             .value = std::ldexp(static_cast<double>(block.sum), block.unit),
             .magnitude = magnitude_of(block.sum),
             .unit = block.unit,
             .kept_from = block.unit};
  const Format f = result_format(rule.rounding);
  if (row.magnitude != 0) row.kept_from = std::max(row.first(), min_exponent(f)) - f.mantissa_bits;
  return row;
}

/// Sets the columns that the rows need, at most `columns` from the top.
void set_columns(SumTable& table, int columns) {
  bool any = false;
  for (const SumRow& row : table.rows) {
    if (row.magnitude == 0) continue;
    table.top = any ? std::max(table.top, row.first()) : row.first();
    table.bottom = any ? std::min(table.bottom, row.last()) : row.last();
    any = true;
  }
  const int last = std::max(table.bottom, table.top - columns + 1);
  table.more = last > table.bottom;
  table.bottom = last;
}

}  // namespace

int SumRow::first() const { return static_cast<int>(std::bit_width(magnitude)) - 1 + unit; }
int SumRow::last() const { return std::countr_zero(magnitude) + unit; }

char SumRow::digit(int power) const {
  if (magnitude == 0 || power > first() || power < unit) return ' ';
  if (power < last() && power < kept_from) return ' ';
  return (magnitude >> (power - unit) & 1) != 0 ? '1' : '0';
}

SumTable sum_table(const TensorCoreRule& rule, const TensorCoreBlock& block, const SumPlaces& places, int columns) {
  SumTable table;
  for (const TensorCoreTerm& t : block.terms()) {
    table.rows.push_back(row_of_term(block, t, places));
    table.lost += lost(block, t);
  }
  table.terms = table.rows.size();
  table.rows.push_back(row_of_sum(rule, block));
  const Format result = result_format(rule.rounding);
  if (block.added)
    table.rows.push_back(row_of_number(rule.carry == CarryPlace::after_the_halves ? "c of all" : "c", *block.added, fp32));
  table.rows.push_back(row_of_number("result", std::isfinite(block.result) ? block.result : 0.0F, result));
  table.rows.back().value = block.result;
  set_columns(table, columns);
  return table;
}

}  // namespace attoscope
