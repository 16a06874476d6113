#include "kernels/questions/backward_row.h"

#include <algorithm>
#include <cmath>
#include <memory>

#include "kernels/compute.h"
#include "kernels/deviation/deviation.h"
#include "kernels/experiment/experiment.h"
#include "kernels/experiment/result.h"

namespace attoscope {
namespace {

/// Appends a row of 1 + n columns: `first`, then 1 at column 1 + j and 0 elsewhere; a sum over keys in column 1 + j then has
/// one term.
void add_unit_row(std::vector<double>& x, double first, std::size_t j, std::size_t n) {
  x.push_back(first);
  for (std::size_t c = 0; c < n; ++c) x.push_back(c == j ? 1 : 0);
}

/// Column 0 holds the question. Column 1 + j of K and V is 1 at key j, else 0; q and dO are 0 there, so these columns change
/// nothing, but O there is P_j and dQ there is scale dS_j.
Experiment experiment_of(const BackwardRowQuestion& x, const std::vector<double>& k) {
  const std::size_t n = k.size();
  const int columns = static_cast<int>(n) + 1;
  Tensors t = Tensors::shaped({1, columns - 1, columns, columns});
  std::vector<double> d_o;
  add_unit_row(t.q, x.q, n, n);
  add_unit_row(d_o, x.d_o, n, n);
  for (std::size_t j = 0; j < n; ++j) {
    add_unit_row(t.k, k[j], j, n);
    add_unit_row(t.v, x.values[j], j, n);
  }
  Experiment e;
  e.problem.n = t.n;
  e.problem.n_k = t.n_k;
  e.problem.d = e.problem.d_v = columns;
  e.problem.scale = x.scale;
  e.problem.input.kind = InputKind::tensors;
  e.problem.input.digest = digest(Matrix{t.n_k, columns, t.k}) ^ ~digest(Matrix{t.n_k, columns, t.v});
  e.problem.input.tensors = std::make_shared<const Tensors>(std::move(t));
  e.format = fp64;
  e.backward.on = true;
  e.backward.d_o = OutputGradient::file;
  e.backward.d_o_file = {.file = "dO", .type = "F64", .n = 1, .d = columns};
  e.backward.d_o_file.digest = digest(Matrix{1, columns, d_o});
  e.backward.d_o_file.values = std::make_shared<const std::vector<double>>(std::move(d_o));
  return e;
}

}  // namespace

BackwardRow backward_row(const BackwardRowQuestion& x) {
  BackwardRow row;
  for (const double s : x.scores) row.k.push_back(s / (x.scale * x.q));
  const Result run = compute(experiment_of(x, row.k));
  const Gradients& g = *run.backward->golden;
  row.m = *std::ranges::max_element(x.scores);
  row.L = g.lse[0];
  row.l = std::exp(row.L - row.m);
  row.o = (*run.golden)(0, 0);
  row.delta = g.delta[0];
  for (int j = 0; j < static_cast<int>(row.k.size()); ++j) {
    const double before = row.dQ.empty() ? 0 : row.dQ.back(), scaled = g.dq(0, 1 + j);
    row.P.push_back((*run.golden)(0, 1 + j));
    row.dS.push_back(scaled / x.scale);
    row.dP.push_back(x.d_o * x.values[static_cast<std::size_t>(j)]);
    row.dV.push_back(g.dv(j, 0));
    row.dK.push_back(g.dk(j, 0));
    row.dQ.push_back(before + scaled * row.k[static_cast<std::size_t>(j)]);
  }
  return row;
}

}  // namespace attoscope
