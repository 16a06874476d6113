#include "ui/widgets/sum_rows.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <utility>

#include "ui/widgets/widgets.h"
#include "ui/words/numbers.h"

namespace attoscope::ui {
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

/// Power of two of the last digit of x that the format keeps.
int last_kept(float x, const Format& f) {
  const int exponent = x == 0 ? min_exponent(f) : std::ilogb(std::fabs(x));
  return std::max(exponent, min_exponent(f)) - f.mantissa_bits;
}

/// An exact number; its digits below 2^kept_from are lost.
SumRow row_of_exact(std::string label, double x, int kept_from) {
  int exponent = 0;
  const double fraction = std::isfinite(x) ? std::frexp(std::fabs(x), &exponent) : 0;
  auto magnitude = static_cast<std::uint64_t>(std::ldexp(fraction, 53));
  const int zeros = magnitude == 0 ? 0 : std::countr_zero(magnitude);
  return {.label = std::move(label),
          .value = x,
          .magnitude = magnitude >> zeros,
          .unit = exponent - 53 + zeros,
          .kept_from = kept_from};
}

/// The rows of a step that loses bits.
void add_step(SumTable& table, const ChainPart& step, const Format& format, const SumPlaces& p) {
  const int kept = last_kept(step.after, format);
  SumRow sum = row_of_exact("sum so far", step.before, kept);
  if (sum.magnitude != 0 && sum.last() < kept) table.rows.push_back(std::move(sum));
  table.rows.push_back(row_of_exact(fmt::format("{}·{} {}", p.a, p.b, p.first + p.step * step.first),
                                    static_cast<double>(step.a) * static_cast<double>(step.b), kept));
  table.rows.back().note = std::isfinite(step.lost) ? signed_scientific(step.lost, 2) : "not finite";
  table.lost += step.lost;
}

/// Sets the range of columns that the rows need, at most `columns` from the top.
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

constexpr float label_width = 172, lost_width = 84;

/// Columns of bits on screen.
struct Grid {
  float left = 0, column = 0;
  int top = 0;
  float x(int power) const { return left + static_cast<float>(top - power) * column; }
};

void draw_row(const SumRow& row, const SumTable& table, const Grid& grid, ImVec2 at) {
  draw_text(at, Face::mono, colours().secondary, row.label);
  draw_text({grid.left - px(20), at.y}, Face::mono_small, colours().text, compact(row.value), 1);
  if (row.value < 0) draw_text({grid.left - px(12), at.y}, Face::mono, colours().moved, "−");
  for (int power = table.top; power >= table.bottom; --power) {
    const char digit = row.digit(power);
    if (digit == ' ') continue;
    const Colour colour = power < row.kept_from ? colours().bad : digit == '1' ? colours().text : colours().faint;
    draw_text({grid.x(power) + grid.column / 2, at.y}, Face::mono, colour, std::string_view(&digit, 1), 0.5f);
  }
  if (table.more && row.magnitude != 0 && row.last() < table.bottom)
    draw_text({grid.x(table.bottom - 1), at.y}, Face::mono, colours().bad, "…");
}

/// "2^3" over the column of the block's exponent, and "2^-22" over the last kept column.
void draw_header(const TensorCoreBlock& block, const SumTable& table, const Grid& grid, float y) {
  const auto power = [&](int p, Colour colour) {
    if (p <= table.top && p >= table.bottom)
      draw_text({grid.x(p) + grid.column / 2, y}, Face::mono_small, colour, fmt::format("2^{}", p), 0.5f);
  };
  power(block.exponent, colours().good);
  if (block.exponent - block.unit > 4) power(block.unit, colours().accent);
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

SumTable chain_table(std::span<const ChainPart> parts, const Format& format, const SumPlaces& places, int columns) {
  SumTable table;
  for (const ChainPart& part : parts)
    if (part.is_exact())
      table.rows.push_back({.label = "",
                            .note = fmt::format("{} nothing: {} → {}", counted(part.steps, "step loses", "steps lose"),
                                                compact(part.before), compact(part.after))});
    else
      add_step(table, part, format, places);
  table.terms = table.rows.size();
  if (!parts.empty()) {
    const float sum = parts.back().after;
    table.rows.push_back(row_of_exact("sum", sum, last_kept(sum, format)));
  }
  set_columns(table, columns);
  return table;
}

int sum_columns(float width) { return std::max(8, static_cast<int>((width - px(label_width)) / px(9)) - 1); }

int chain_columns(float width) { return sum_columns(width - px(lost_width)); }

void draw_sum_table(const TensorCoreBlock& block, const SumTable& table, float width) {
  const ImVec2 at = ImGui::GetCursorScreenPos();
  const float labels = px(label_width), line = px(table.rows.size() > 20 ? 17 : 20);
  const int columns = table.top - table.bottom + 2;
  const Grid grid{at.x + labels, std::min(px(16), std::floor((width - labels) / static_cast<float>(columns))), table.top};
  draw_header(block, table, grid, at.y);
  float y = at.y + line;
  for (std::size_t i = 0; i < table.rows.size(); ++i) {
    if (i == table.terms) {
      ImGui::GetWindowDrawList()->AddLine({at.x, y + px(2)}, {at.x + width, y + px(2)}, colours().line);
      y += px(4);
    }
    draw_row(table.rows[i], table, grid, {at.x, y});
    y += line;
  }
  if (table.bottom < block.unit && table.terms > 0) {
    const float cut = grid.x(block.unit - 1);
    draw_dashed(ImGui::GetWindowDrawList(), {cut, at.y + line}, {cut, at.y + line * static_cast<float>(table.terms + 1)},
                colours().bad, px(4), px(3));
  }
  ImGui::InvisibleButton("block", {width, y - at.y});
  explain(
      "Each product, and c, in binary, under the largest exponent of the block. Bits right of the dashed line are cut off "
      "before the sum; after it, the bits of the sum that do not fit in the result.",
      "aligned = trunc(significand * 2^(F - (e - exponent)))");
}

void draw_chain_table(const SumTable& table, float width) {
  const ImVec2 at = ImGui::GetCursorScreenPos();
  const float labels = px(label_width), line = px(20), right = at.x + width, bits = width - labels - px(lost_width);
  const int columns = table.top - table.bottom + 2;
  const Grid grid{at.x + labels, std::min(px(16), std::floor(bits / static_cast<float>(columns))), table.top};
  draw_text({grid.x(table.top) + grid.column / 2, at.y}, Face::mono_small, colours().good, fmt::format("2^{}", table.top),
            0.5f);
  draw_text({right, at.y}, Face::small, colours().secondary, "lost", 1);
  float y = at.y + line;
  for (std::size_t i = 0; i < table.rows.size(); ++i, y += line) {
    const SumRow& row = table.rows[i];
    if (row.label.empty()) {
      draw_text({at.x, y}, Face::small, colours().faint, row.note);
      continue;
    }
    if (i == table.terms) ImGui::GetWindowDrawList()->AddLine({at.x, y - px(1)}, {right, y - px(1)}, colours().line);
    draw_row(row, table, grid, {at.x, y});
    draw_text({right, y}, Face::mono_small, colours().bad, row.note, 1);
  }
  ImGui::InvisibleButton("chain", {width, y - at.y});
  explain(
      "Each product in binary. The red digits do not fit in the sum: the step rounds them away, and the loss is at the "
      "right. Consecutive steps that lose nothing share one line.",
      "lost = sum + a * b - round(fma(a, b, sum))");
}

}  // namespace attoscope::ui
