#include "kernels/questions/methods_apart.h"

#include <algorithm>
#include <cmath>
#include <utility>
#include <vector>

#include "kernels/cancelled_sign.h"
#include "kernels/experiment/result.h"
#include "kernels/questions/row_tiles.h"

namespace attoscope {
namespace {

template <class T>
bool same_bits_of(T x, T y) {
  return (std::isnan(x) && std::isnan(y)) || (x == y && std::signbit(x) == std::signbit(y));
}

template <class T>
bool all_same(const std::vector<T>& x, const std::vector<T>& y) {
  return std::ranges::equal(x, y, same_bits_of<T>);
}

/// The first quantity of a tile that differs; "": none.
template <class T>
std::string_view differing(const RowTile<T>& a, const RowTile<T>& b) {
  if (!all_same(a.S, b.S)) return "S";
  if (!same_bits_of(a.m, b.m)) return "m";
  if (!all_same(a.P, b.P)) return "P";
  if (!same_bits_of(a.l, b.l)) return "l";
  return all_same(a.O, b.O) ? "" : "O";
}

template <class T>
bool same_keys(const RowTile<T>& a, const RowTile<T>& b) {
  return a.tile == b.tile && a.first_key == b.first_key && a.S.size() == b.S.size() && a.restarts == b.restarts;
}

template <class T>
void set_parting(MethodsApart& found, const Experiment& e, const StopSign& stop) {
  const MethodRows<T> rows_a(e, false, stop), rows_b(e, true, stop);
  const std::vector<RowTile<T>> a = row_tiles(rows_a.job(), found.row, stop), b = row_tiles(rows_b.job(), found.row, stop);
  if (e.a.reverse_keys != e.b.reverse_keys || !std::ranges::equal(a, b, same_keys<T>)) {
    found.why_no_tile = "a and b cut the keys into other tiles, so that their tiles cannot be compared.";
    return;
  }
  for (std::size_t i = 0; i < a.size(); ++i) {
    const std::string_view quantity = differing(a[i], b[i]);
    if (quantity.empty()) continue;
    found.parting = {.tile = a[i].tile,
                     .tiles = static_cast<int>(a.size()),
                     .first_key = a[i].first_key,
                     .keys = static_cast<int>(a[i].S.size()),
                     .quantity = quantity};
    return;
  }
  found.why_no_tile = "They have the same bits after every tile: only what is done with O at the end differs.";
}

/// Counts what differs, and finds the first.
void set_counts(MethodsApart& found, const Result& answer) {
  const auto columns = static_cast<std::size_t>(answer.a.cols);
  found.numbers = static_cast<std::int64_t>(answer.a.values.size());
  for (std::size_t row = 0; row < answer.rows.size(); ++row) {
    std::int64_t in_row = 0;
    for (std::size_t column = 0; column < columns; ++column) {
      const std::size_t i = row * columns + column;
      if (same_bits_of(answer.a.values[i], answer.b.values[i])) continue;
      if (found.row < 0) {
        found.row = answer.rows[row];
        found.column = static_cast<int>(column);
      }
      ++in_row;
    }
    found.differing += in_row;
    found.differing_rows += in_row > 0;
  }
}

}  // namespace

MethodsApart methods_apart(const Result& answer, const Options& options) {
  const Experiment& e = answer.experiment;
  MethodsApart found{.max_ulp = answer.a_minus_b.max_ulp};
  set_counts(found, answer);
  if (found.differing == 0) return found;
  for (const auto& [method, name] : {std::pair{&e.a, "a"}, std::pair{&e.b, "b"}})
    if (!is_emulated(method->algorithm)) {
      found.why_no_tile = std::string(name) + " is not emulated, so that its tiles are not known.";
      return found;
    }
  const CancelledSign stop(options.cancelled);
  if (works_in_double(e))
    set_parting<double>(found, e, stop);
  else
    set_parting<float>(found, e, stop);
  return found;
}

}  // namespace attoscope
