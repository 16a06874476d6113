// Memory that a computation needs, and the error if the machine has less.
#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <stdexcept>
#include <utility>

#include "kernels/compute.h"
#include "kernels/cpu/inputs.h"
#include "kernels/experiment/experiment.h"
#include "kernels/system_memory.h"

namespace attoscope {

namespace {

/// Number of elements of Q, K and V together.
double elements(const Problem& p) {
  const std::array<std::size_t, 3> counts = element_counts(p);
  return static_cast<double>(counts[0] + counts[1] + counts[2]);
}

/// Bytes added by scaled storage of Q, K or V: copies, the numbers that they represent, and the golden value on those. With
/// smooth_Q each block of rows also has a score of its mean with every key, and a column of those numbers.
double scaled_bytes(const Experiment& e, const Method& m, double rows) {
  if (!m.scaling.stores() || !is_emulated(m.algorithm)) return 0;
  const double n = e.problem.n, n_k = key_count(e.problem), d = e.problem.d, d_v = value_columns(e.problem);
  const double blocks = m.scaling.smooth_Q > 0 ? std::ceil(n / m.scaling.smooth_Q) : 0, width = d + blocks;
  const double copies = (m.reverse_keys ? 2 : 1) * (works_in_double(e) ? 8 : 4) * (elements(e.problem) + blocks * n_k);
  return copies + 8 * ((n + n_k) * width + n_k * d_v + 2 * rows * d_v);
}

/// Bytes of P and dS (twice) of one query tile by all keys, which storage by tiles needs at once; 0 without such storage.
double tile_bytes(const Experiment& e, const GradMethod& g) {
  const GradScalings& s = g.scaling;
  if (!e.backward.on || !(s.P.is_on() || s.dS.is_on() || s.dS_of_dK.is_on())) return 0;
  return 3.0 * (works_in_double(e) ? 8 : 4) * std::min(g.block_q, e.problem.n) * key_count(e.problem);
}

/// Bytes of the backward pass: dO and dL; gradients and two numbers per query for golden, a and b, including kept copies and
/// sorted values; and, for one of them at a time, Q, K, V and dO as they enter its products, its output, and a panel of P and
/// dS.
double backward_bytes(const Experiment& e, double rows, int threads) {
  if (!e.backward.on) return 0;
  const double n = e.problem.n, n_k = key_count(e.problem), d = e.problem.d, d_v = value_columns(e.problem),
               keys = e.problem.rows == 0 ? n_k : std::min(double(e.problem.rows), n_k);
  const double gradients = (3 + 2 + 3) * (rows * d + keys * (d + d_v) + 2 * n), incoming = n * (d_v + 1) + rows * d_v;
  const double work = 2 * elements(e.problem) + 3 * n * d_v, panel = 2.0 * 64 * thread_count(threads) * n_k;
  return 8 * (incoming + gradients + work + panel) + std::max(tile_bytes(e, e.backward.a), tile_bytes(e, e.backward.b));
}

}  // namespace

double bytes_needed(const Experiment& e, int threads) {
  const double n = e.problem.n, n_k = key_count(e.problem), d = std::max(e.problem.d, value_columns(e.problem)),
               rows = e.problem.rows == 0 ? n : std::min(double(e.problem.rows), n);
  const double working = works_in_double(e) ? 8 : 4;
  const double inputs = elements(e.problem) * (8 + 8 + 8 + 2 * working);  // drawn, rounded, for the golden value, for a, for b
  const double outputs = rows * value_columns(e.problem) * 8 * (3 + 3 + 4 + 2);  // golden, a, b; sorted; sorting; a and b kept
  const double stored = scaled_bytes(e, e.a, rows) + scaled_bytes(e, e.b, rows);
  const double panel = 64 * 8 * n_k + 4 * 64 * 8 * d + 3 * 8 * n_k;  // scores of one block of rows against all keys
  return inputs + outputs + stored + backward_bytes(e, rows, threads) + thread_count(threads) * panel;
}

void refuse(const Experiment& e, int threads) {
  validate(e);
  const double needed = bytes_needed(e, threads), available = available_bytes();
  if (needed <= available) return;
  char text[256];
  for (const auto& [which, g] : {std::pair{"a", &e.backward.a}, std::pair{"b", &e.backward.b}}) {
    const double tile = tile_bytes(e, *g);
    if (tile == 0 || needed - tile > available) continue;
    std::snprintf(text, sizeof text,
                  "%s.grad.block_q is %d: a query tile's P and dS, stored with scales, by all %d keys make the experiment need "
                  "%.0f bytes, expected at most the %.0f that are free",
                  which, g->block_q, key_count(e.problem), needed, available);
    throw std::runtime_error(text);
  }
  std::snprintf(
      text, sizeof text,
      "problem.n is %d, with %d keys, and problem.d is %d: they need %.0f bytes, expected at most the %.0f that are free",
      e.problem.n, key_count(e.problem), e.problem.d, needed, available);
  throw std::runtime_error(text);
}

}  // namespace attoscope
