// Fits elements, rows and columns that were never written or hold another place's values, and slips only in the wrong rows.
#include <algorithm>
#include <cmath>
#include <map>

#include "kernels/experiment/setting.h"
#include "kernels/judge/wrong_output.h"
#include "kernels/slips/slip_suspects.h"

namespace attoscope {
namespace {

using Kind = Slip::Kind;

constexpr double most_products = 1 << 23;
constexpr std::size_t most_runs = 4;

NamedSlip found_at(const WrongOutput& wrong, std::string text) {
  NamedSlip slip = Slip{.kind = Kind::place, .text = std::move(text)};
  for (int row = 0; row < wrong.golden().rows; ++row)
    if (!std::ranges::binary_search(wrong.wrong(), row)) slip->ratio = std::max(slip->ratio, wrong.found().row_ratio[at(row)]);
  return slip;
}

/// Names the common value of all wrong elements: 0 or NaN, or a single wrong element.
NamedSlip unwritten(const WrongOutput& wrong) {
  bool zero = true, nan = true, stray = false;
  for (const int row : wrong.wrong())
    for (int c = 0; c < wrong.golden().cols; ++c) {
      const double o = wrong.output(row)[c];
      if (!wrong.is_wrong(row, c)) continue;
      zero = zero && o == 0;
      nan = nan && std::isnan(o);
      stray = stray || !std::isfinite(o);
    }
  const std::string where = wrong.found().where == "everywhere" ? "" : " " + wrong.found().where;
  if (wrong.found().suspects == 1 && wrong.found().wrong_rows.size() == 1 && !stray) {
    const int row = wrong.wrong()[0], c = wrong.found().worst_col;
    return found_at(wrong, "a single element, row " + std::to_string(row) + ", column " + std::to_string(c) + ", is off");
  }
  if (zero && wrong.found().suspects > 4) return found_at(wrong, "O is 0" + where + ", as if it were never written");
  if (nan) return found_at(wrong, "O is NaN" + where);
  return {};
}

/// Exact outputs [head][row][column]: of this head, and of the other heads if they are small enough.
struct GoldenHeads {
  explicit GoldenHeads(const WrongOutput& wrong) : own(wrong.problem().input.index), rows(wrong.golden().rows) {
    const AttentionShape shape = shape_of(wrong.problem());
    all[own] = wrong.golden().values;
    const OtherHeads& others = wrong.others();
    if (!others.read || static_cast<double>(shape.n) * shape.n_k * others.count > most_products) return;
    for (int h = 0; h < others.count; ++h) {
      wrong.check();
      if (h == own) continue;
      const std::shared_ptr<const Tensors> t = others.read(h);
      if (!t || !(t->shape() == shape)) continue;
      const MistakenKernel kernel = wrong.kernel_of(*t);
      std::vector<double>& one = all[h];
      one.resize(at(shape.n) * at(shape.d_v));
      for (int i = 0; i < shape.n; ++i) attend(*kernel.head, wrong.right(), i, &one[at(i) * at(shape.d_v)]);
    }
  }

  int own, rows;
  std::map<int, std::vector<double>> all;
};

/// A row of some head.
struct Source {
  int head = 0, row = 0;
};

/// The row of any head's golden output that is nearest to row x.
Source nearest(const GoldenHeads& golden, const double* x, int columns) {
  Source found;
  double best = infinity;
  for (const auto& [head, one] : golden.all)
    for (int r = 0; r < golden.rows; ++r) {
      double distance = 0;
      for (int c = 0; c < columns && distance < best; ++c) distance += std::pow(x[c] - one[at(r) * at(columns) + at(c)], 2);
      if (distance < best) {
        best = distance;
        found = {head, r};
      }
    }
  return found;
}

std::string rows_of_head(int first, int last, int head, int own) {
  return run_text("row", first, last) + (head == own ? "" : " of head " + std::to_string(head));
}

/// "rows 200 to 239 hold rows 0 to 39 of head 0"; "" if there are too many runs.
std::string moved_rows_text(const std::map<int, Source>& from, int own) {
  std::vector<std::string> runs;
  for (auto row = from.begin(); row != from.end();) {
    auto end = std::next(row);
    int last = row->first;
    while (end != from.end() && end->first == last + 1 && end->second.head == row->second.head &&
           end->first - row->first == end->second.row - row->second.row) {
      last = end->first;
      ++end;
    }
    runs.push_back(rows_of_head(row->first, last, own, own) + (row->first == last ? " holds " : " hold ") +
                   rows_of_head(row->second.row, row->second.row + last - row->first, row->second.head, own));
    row = end;
    if (runs.size() > most_runs) return "";
  }
  return listed(runs, ", ");
}

NamedSlip rows_from_elsewhere(const WrongOutput& wrong, const GoldenHeads& golden) {
  const int columns = wrong.golden().cols;
  if (columns < 4) return {};
  std::map<int, Source> from;
  const auto row_of = [&](int row, double* out, double* slack) {
    const auto found = from.find(row);
    const Source source = found == from.end() ? Source{golden.own, row} : found->second;
    std::copy_n(golden.all.at(source.head).begin() + static_cast<std::ptrdiff_t>(source.row) * columns, columns, out);
    if (slack)  // the tolerance is another row's
      for (int c = 0; c < columns; ++c) slack[c] = 0x1p-10 * std::abs(out[c]);
  };
  for (const bool all : {false, true})
    for (const int row : all ? wrong.wrong() : wrong.some(4)) {
      from[row] = nearest(golden, wrong.output(row), columns);
      if (!wrong.fits(row, row_of)) return {};
    }
  const std::string text = moved_rows_text(from, golden.own);
  return text.empty() ? std::nullopt : wrong.named(Kind::place, text, row_of);
}

NamedSlip mean_of_heads(const WrongOutput& wrong, const GoldenHeads& golden) {
  const int columns = wrong.golden().cols;
  for (const auto& [head, one] : golden.all) {
    if (head == golden.own) continue;
    const RoundedRow mean = [&wrong, columns, &one = one](int row, double* out, double*) {
      for (int c = 0; c < columns; ++c) out[c] = (wrong.golden_row(row)[c] + one[at(row) * at(columns) + at(c)]) / 2;
    };
    if (NamedSlip slip =
            wrong.named(Kind::head, "the mean of heads " + std::to_string(golden.own) + " and " + std::to_string(head), mean))
      return slip;
  }
  return {};
}

}  // namespace

NamedSlip place_fit(const WrongOutput& wrong) {
  if (NamedSlip slip = unwritten(wrong)) return slip;
  if (wrong.found().nonfinite + wrong.found().due > 0) return {};
  const GoldenHeads golden(wrong);
  if (NamedSlip slip = rows_from_elsewhere(wrong, golden)) return slip;
  return mean_of_heads(wrong, golden);
}

NamedSlip suspect_fit(const WrongOutput& wrong) {
  for (const Suspect& suspect : arithmetic_suspects(wrong.result(), wrong.others(), wrong.right().rounds)) {
    wrong.check();
    if (suspect.kind == Kind::format) continue;
    const RoundedRow expected = rows_or_infinity(suspect.begin(), wrong.golden().cols);
    if (NamedSlip slip = wrong.named_in_rows(suspect.kind, suspect.text, expected)) return slip;
  }
  return {};
}

}  // namespace attoscope
