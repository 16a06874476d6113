// Suspects with rows and columns of the golden value in other places.

#include <algorithm>
#include <cmath>
#include <map>
#include <numbers>
#include <set>

#include "kernels/experiment/result.h"
#include "kernels/experiment/text.h"
#include "kernels/parallel/parallel.h"
#include "kernels/slips/slip_suspects.h"

namespace attoscope {
namespace {

using Kind = Slip::Kind;
using Golden = std::shared_ptr<const Matrix>;

/// Fewest rows: with fewer, some column is near to any other by chance.
constexpr std::size_t few_rows = 8;

/// Element `to` of the output is element `from` of the golden value.
struct Move {
  int to = 0, from = 0;
};

bool all(const std::vector<Move>& moves, auto holds) { return std::ranges::all_of(moves, holds); }
bool is_identity(const std::vector<Move>& moves) {
  return all(moves, [](Move m) { return m.to == m.from; });
}

/// Offset that at least nine of ten moves have, modulo size, with the smaller absolute value; 0: no such offset.
int common_shift(const std::vector<Move>& moves, int size) {
  std::map<int, std::size_t> counts;
  for (const Move m : moves) ++counts[(m.from - m.to + size) % size];
  const auto most = std::ranges::max_element(counts, {}, [](const auto& c) { return c.second; });
  if (most == counts.end() || most->second * 10 < moves.size() * 9) return 0;
  return most->first <= size / 2 ? most->first : most->first - size;
}

std::string shifted_text(const char* what, int by) {
  const std::string distance = std::to_string(std::abs(by));
  return what + distance + (by > 0 ? " (O[i] is golden's i + " : " (O[i] is golden's i - ") + distance + ")";
}

/// The row of the golden value that is nearest to row x.
int nearest_row(const Matrix& golden, const double* x) {
  double best = infinity;
  int found = 0;
  for (int r = 0; r < golden.rows; ++r) {
    const double* y = golden.values.data() + static_cast<std::ptrdiff_t>(r) * golden.cols;
    double distance = 0;
    for (int c = 0; c < golden.cols && distance < best; ++c) distance += (x[c] - y[c]) * (x[c] - y[c]);
    if (distance < best) {
      best = distance;
      found = r;
    }
  }
  return found;
}

std::vector<Move> row_moves(const Matrix& golden, const Matrix& output, std::span<const int> rows, const Cancelled& cancelled) {
  std::vector<Move> moves(rows.size());
  parallel_for(std::size_t{0}, rows.size(), [&](std::size_t i) {
    if (cancelled && cancelled()) throw Stopped{};
    moves[i] = {rows[i], nearest_row(golden, output.values.data() + static_cast<std::ptrdiff_t>(rows[i]) * output.cols)};
  });
  return moves;
}

std::vector<Move> column_moves(const Matrix& golden, const Matrix& output, std::span<const int> rows) {
  std::vector<Move> moves;
  for (int to = 0; to < output.cols; ++to) {
    double best = infinity;
    Move move{to, to};
    for (int from = 0; from < golden.cols; ++from) {
      double distance = 0;
      for (const int r : rows) distance += (output(r, to) - golden(r, from)) * (output(r, to) - golden(r, from));
      if (distance < best) {
        best = distance;
        move.from = from;
      }
    }
    moves.push_back(move);
  }
  return moves;
}

/// A suspect whose rows need no preparation.
Suspect layout(std::string text, ExpectedRow row, Kind kind = Kind::layout) {
  return {kind, std::move(text), [row = std::move(row)] { return row; }};
}

/// The golden value with each row taken from from(row); -1 if unknown.
Suspect rows_from(std::string text, const Golden& golden, const std::function<int(int)>& from) {
  return layout(std::move(text), [golden, from](int row, double* out) {
    const int taken = from(row);
    if (taken < 0 || taken >= golden->rows) return false;
    std::copy_n(golden->values.begin() + static_cast<std::ptrdiff_t>(taken) * golden->cols, golden->cols, out);
    return true;
  });
}

/// Smallest tile, a power of two from 2 to 256, that no row leaves; 0: none.
int tile_of(const std::vector<Move>& moves) {
  for (int tile = 2; tile <= 256; tile *= 2)
    if (all(moves, [&](Move m) { return m.to / tile == m.from / tile; })) return tile;
  return 0;
}

/// "rows 0 to 63 are golden's 64 to 127, ..." if the ordered moves are at most four runs; else "".
std::string runs_text(const std::string& what, const std::vector<Move>& moves) {
  std::string text;
  int runs = 0;
  for (std::size_t i = 0; i < moves.size();) {
    std::size_t end = i + 1;
    while (end < moves.size() && moves[end].to == moves[end - 1].to + 1 && moves[end].from == moves[end - 1].from + 1) ++end;
    if (moves[i].to != moves[i].from) {
      const bool many = end - i > 1;
      text += (++runs > 1 ? ", " : "") + run_text(what, moves[i].to, moves[end - 1].to) + (many ? " are" : " is") +
              " golden's " + std::to_string(moves[i].from) + (many ? " to " + std::to_string(moves[end - 1].from) : "");
    }
    i = end;
  }
  return runs <= 4 ? text : "";
}

/// Describes the rows that are in the wrong place.
std::string moved_text(const std::vector<Move>& moves) {
  std::set<int> sources, of_moved, shifts;
  for (const Move m : moves) {
    sources.insert(m.from);
    if (m.from != m.to) {
      of_moved.insert(m.from);
      shifts.insert(m.from - m.to);
    }
  }
  if (of_moved.size() == 1) return "copies of row " + std::to_string(*of_moved.begin()) + " in the place of other rows";
  if (shifts.size() == 1) return shifted_text("some rows shifted by ", *shifts.begin());
  if (std::string text = runs_text("row", moves); !text.empty()) return text;
  if (sources.size() < moves.size()) return "copies of rows in the place of others";
  const int tile = tile_of(moves);
  return tile > 0 ? "rows permuted within tiles of " + std::to_string(tile) : "rows in another order";
}

/// Adds the row order given by the moves, unless all rows are in place.
void add_rows(std::vector<Suspect>& suspects, const Golden& golden, const std::vector<Move>& moves) {
  const int n = golden->rows;
  if (is_identity(moves)) return;
  if (const int shift = common_shift(moves, n)) {
    return suspects.push_back(rows_from(shifted_text("rows shifted by ", shift), golden, [shift](int i) { return i + shift; }));
  }
  if (all(moves, [&](Move m) { return m.from == n - 1 - m.to; }))
    return suspects.push_back(rows_from("rows from the last to the first", golden, [n](int i) { return n - 1 - i; }));
  std::map<int, int> places;
  for (const Move m : moves) places[m.to] = m.from;
  suspects.push_back(rows_from(moved_text(moves), golden, [places](int i) {
    const auto found = places.find(i);
    return found == places.end() ? -1 : found->second;
  }));
}

std::string columns_text(const std::vector<Move>& moves, int d) {
  const int half = d / 2, shift = common_shift(moves, d);
  if (shift != 0 && 2 * shift == d && d > 2) return "the two halves of the columns swapped";
  if (shift != 0) return shifted_text("columns rotated by ", shift);
  if (all(moves, [&](Move m) { return m.from == d - 1 - m.to; })) return "columns from the last to the first";
  if (d % 2 == 0 && all(moves, [&](Move m) { return m.from == m.to % 2 * half + m.to / 2; }))
    return "the two halves of the columns interleaved";
  if (d % 2 == 0 && all(moves, [&](Move m) { return m.from == m.to % half * 2 + m.to / half; }))
    return "even columns before the odd ones";
  if (std::string text = runs_text("column", moves); !text.empty()) return text;
  return "columns in another order";
}

void add_columns(std::vector<Suspect>& suspects, const Golden& golden, const std::vector<Move>& moves) {
  if (is_identity(moves)) return;
  suspects.push_back(layout(columns_text(moves, golden->cols), [golden, moves](int row, double* out) {
    for (const Move m : moves) out[m.to] = (*golden)(row, m.from);
    return true;
  }));
}

Suspect transposed(const Golden& golden) {
  return layout("d x n written where n x d is read", [golden](int row, double* out) {
    const std::int64_t n = golden->rows, d = golden->cols;
    for (int c = 0; c < d; ++c) {
      const std::int64_t flat = row * d + c;
      out[c] = (*golden)(static_cast<int>(flat % n), static_cast<int>(flat / n));
    }
    return true;
  });
}

/// Fragments of 8 x 8, each written transposed.
Suspect transposed_fragments(const Golden& golden) {
  return layout("O in fragments of 8 x 8, each transposed", [golden](int row, double* out) {
    for (int c = 0; c < golden->cols; ++c) {
      const int i = row / 8 * 8 + c % 8, from = c / 8 * 8 + row % 8;
      out[c] = i < golden->rows && from < golden->cols ? (*golden)(i, from) : (*golden)(row, c);
    }
    return true;
  });
}

/// A factor that kernels may apply once too often or omit.
struct Factor {
  double value = 1;
  std::string text;
};

std::vector<Factor> usual_factors(const Problem& p) {
  const double d = p.d, scale = scale_of(p);
  std::vector<Factor> factors{{-1, "-1"},
                              {2, "2"},
                              {0.5, "1/2"},
                              {std::numbers::log2e, "log2 e"},
                              {std::numbers::ln2, "ln 2"},
                              {d, "d"},
                              {1 / d, "1/d"},
                              {std::sqrt(d), "sqrt(d)"},
                              {1 / std::sqrt(d), "1/sqrt(d)"},
                              {scale, "the scale"},
                              {1 / scale, "1 over the scale"}};
  for (Factor& f : factors)
    if (f.text.find_first_not_of("-0123456789/") != std::string::npos) f.text += " = " + four_digits(f.value);
  return factors;
}

Suspect multiplied_by(const Result& r, double factor, std::string text) {
  const auto row_of = [golden = r.golden, factor](int row, double* out) {
    for (int c = 0; c < golden->cols; ++c) out[c] = factor * (*golden)(row, c);
    return true;
  };
  return layout(std::move(text), row_of, Kind::scale);
}

/// Adds golden times one number if the best factor is near a usual one, or an output of zeros.
void add_multiplied(std::vector<Suspect>& suspects, const Result& r, const Matrix& output) {
  double xy = 0, yy = 0;
  const std::vector<double>& y = r.golden->values;
  for (std::size_t i = 0; i < y.size(); ++i) {
    if (!std::isfinite(output.values[i])) continue;
    xy += output.values[i] * y[i];
    yy += y[i] * y[i];
  }
  if (std::ranges::all_of(output.values, [](double x) { return x == 0; }))
    return suspects.push_back(multiplied_by(r, 0, "an output that is 0"));
  const double best = yy > 0 ? xy / yy : 1;
  for (const Factor& f : usual_factors(r.experiment.problem))
    if (std::abs(best - f.value) <= 0.01 * std::abs(f.value) && std::abs(f.value - 1) > 0.02)
      return suspects.push_back(multiplied_by(r, f.value, "an output that is " + f.text + " times golden"));
}

}  // namespace

std::vector<Suspect> layout_suspects(const Result& r, const Matrix& output, std::span<const int> rows,
                                     const Cancelled& cancelled) {
  std::vector<Suspect> suspects;
  add_multiplied(suspects, r, output);
  const std::size_t d = static_cast<std::size_t>(output.cols),
                    enough = std::max<std::size_t>(16, (std::size_t{1} << 24) / (d * d));
  if (rows.size() >= few_rows)
    add_columns(suspects, r.golden, column_moves(*r.golden, output, rows.first(std::min(rows.size(), enough))));
  suspects.push_back(transposed(r.golden));
  suspects.push_back(transposed_fragments(r.golden));
  add_rows(suspects, r.golden, row_moves(*r.golden, output, rows, cancelled));
  return suspects;
}

}  // namespace attoscope
