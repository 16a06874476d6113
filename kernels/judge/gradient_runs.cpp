#include <algorithm>

#include "kernels/judge/gradient_group.h"

namespace attoscope {
namespace {

constexpr int most_samples = 8, most_blocks = 64, smallest_block = 16;

/// Running sums over blocks of a sum's terms, and the error of the given sum, for some rows side by side.
struct Sums {
  std::vector<std::vector<double>> up_to;  ///< blocks + 1, each a number for every row and column
  std::vector<double> error;
};

/// Adds the terms of one row: `term(x)` times row x of `numbers`.
void add_terms(Sums& sums, std::size_t place, int columns, int block, const std::vector<double>& terms,
               const std::vector<double>& numbers) {
  for (std::size_t b = 1; b < sums.up_to.size(); ++b) {
    const int first = static_cast<int>(b - 1) * block, end = std::min(first + block, static_cast<int>(terms.size()));
    for (int x = first; x < end; ++x)
      for (int c = 0; c < columns; ++c) sums.up_to[b][place + at(c)] += terms[at(x)] * numbers[at(x) * at(columns) + at(c)];
  }
}

std::vector<int> spread_of(const std::vector<int>& rows) {
  if (static_cast<int>(rows.size()) <= most_samples) return rows;
  std::vector<int> chosen;
  for (std::size_t k = 0; k < most_samples; ++k) chosen.push_back(rows[(2 * k + 1) * rows.size() / (2 * most_samples)]);
  return chosen;
}

/// The run whose sum is the error, or its opposite.
std::optional<CountedRun> run_in(Sums& sums, int block, int count) {
  const std::size_t blocks = sums.up_to.size() - 1, size = sums.error.size();
  for (std::size_t b = 1; b <= blocks; ++b)
    for (std::size_t i = 0; i < size; ++i) sums.up_to[b][i] += sums.up_to[b - 1][i];
  double whole = 0;
  for (const double e : sums.error) whole += e * e;
  double least = whole / 4;
  std::optional<CountedRun> best;
  for (std::size_t a = 0; a < blocks; ++a)
    for (std::size_t b = a + 1; b <= blocks; ++b) {
      double lost = 0, twice = 0;
      for (std::size_t i = 0; i < size; ++i) {
        const double part = sums.up_to[b][i] - sums.up_to[a][i];
        lost += (sums.error[i] + part) * (sums.error[i] + part), twice += (sums.error[i] - part) * (sums.error[i] - part);
      }
      if (std::min(lost, twice) >= least * (1 - 1e-9)) continue;
      least = std::min(lost, twice);
      best = {static_cast<int>(a) * block, std::min(static_cast<int>(b) * block, count), lost < twice ? 0.0 : 2.0};
    }
  return best;
}

}  // namespace

std::optional<CountedRun> counted_run(const GradientGroup& group, const TensorJudgement& wrong) {
  const bool of_keys = wrong.tensor == GradientTensor::dq, of_dv = wrong.tensor == GradientTensor::dv;
  const AttentionShape s = group.shape();
  const int count = of_keys ? s.n_k : s.n, columns = of_dv ? s.d_v : s.d;
  const int block = smallest_block * ((count - 1) / (smallest_block * most_blocks) + 1), blocks = (count - 1) / block + 1;
  const std::vector<int> rows = spread_of(wrong.found.wrong_rows);
  const Matrix& right = group.golden().of(wrong.tensor, wrong.head);
  const std::vector<double>& values = group.given().numbers_of(wrong.tensor, wrong.head);
  Sums sums;
  sums.up_to.assign(at(blocks) + 1, std::vector<double>(rows.size() * at(columns)));
  for (std::size_t k = 0; k < rows.size(); ++k) {
    group.stop().check();
    for (int c = 0; c < columns; ++c) sums.error.push_back(values[at(rows[k]) * at(columns) + at(c)] - right(rows[k], c));
    for (int h = of_keys ? wrong.head : 0; h < (of_keys ? wrong.head + 1 : group.heads()); ++h) {
      const GradientOperands& x = group.operands(h);
      const GradientVariant v = group.right(h);
      PairNumbers pairs = of_keys ? pairs_of_row(x, v, rows[k]) : pairs_of_key(x, v, rows[k]);
      for (double& y : pairs.ds) y *= v.scale;
      add_terms(sums, k * at(columns), columns, block, of_dv ? pairs.p : pairs.ds,
                of_keys ? x.tensors->k
                : of_dv ? *x.d_o
                        : x.tensors->q);
    }
  }
  return rows.empty() ? std::optional<CountedRun>{} : run_in(sums, block, count);
}

}  // namespace attoscope
