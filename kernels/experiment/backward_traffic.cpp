#include "kernels/experiment/backward_traffic.h"

#include <algorithm>

#include "kernels/experiment/experiment.h"
#include "kernels/experiment/traffic.h"

namespace attoscope {
namespace {

/// Bytes of a number that a step of a's backward pass leaves.
double step_bytes(const Experiment& e, GradStep step) {
  const Rounding& r = e.backward.a.precision[step];
  if (r.kind == Rounding::Kind::exact) return works_in_double(e) ? sizeof(double) : sizeof(float);
  return element_bytes(format_of(r, e.format));
}

}  // namespace

double total_bytes(const std::vector<TrafficPart>& parts) {
  double bytes = 0;
  for (const TrafficPart& part : parts) bytes += part.elements * part.bytes;
  return bytes;
}

BackwardTraffic backward_traffic(const Experiment& e) {
  const Problem& p = e.problem;
  const GradMethod& m = e.backward.a;
  const double n = p.n, n_k = key_count(p), d = p.d, d_v = value_columns(p), main = element_bytes(e.format), pairs = n * n_k;
  const double Q = stored_bytes(e, ScaledTensor::Q), K = stored_bytes(e, ScaledTensor::K), V = stored_bytes(e, ScaledTensor::V),
               dO = m.scaling.dO.is_on() ? bits_per_element(m.scaling.dO, ScaledTensor::Q, p.n, value_columns(p)) / 8 : main;
  const double L = step_bytes(e, GradStep::lse), delta = step_bytes(e, GradStep::delta), sum = step_bytes(e, GradStep::dq_sum);
  const double dQ = step_bytes(e, GradStep::dQ), dK = step_bytes(e, GradStep::dK), dV = step_bytes(e, GradStep::dV);
  const VisitedTiles v = visited_tiles(p, std::min(m.block_q, p.n), std::min(m.block_k, key_count(p)), false);
  const double rows = v.query_rows, buffers = m.order == GradOrder::buffers ? m.buffers : 1;
  BackwardTraffic t;
  t.tiles = v.tiles;
  t.skipped_tiles = v.tiles - v.visited;
  t.stored_P = {{"P in, twice", 2 * pairs, main},
                {"dP out and in", 2 * pairs, main},
                {"dS out", pairs, main},
                {"dS in, twice", 2 * pairs, main},
                {"dO in, twice", 2 * n * d_v, main},
                {"Q in", n * d, Q},
                {"K in", n_k * d, K},
                {"V in", n_k * d_v, V},
                {"dQ out", n * d, dQ},
                {"dK out", n_k * d, dK},
                {"dV out", n_k * d_v, dV}};
  t.flash1 = {{"K in", n_k * d, K},
              {"V in", n_k * d_v, V},
              {"Q in", rows * d, Q},
              {"O in", rows * d_v, main},
              {"dO in", rows * d_v, dO},
              {"l, m in", 2 * rows, L},
              {"dQ in and out", 2 * rows * d, sum},
              {"dK out", n_k * d, dK},
              {"dV out", n_k * d_v, dV}};
  t.flash2 = {{"O, dO in for delta", 2 * n * d_v, main},
              {"delta out", n, delta},
              {"K in", n_k * d, K},
              {"V in", n_k * d_v, V},
              {"Q in", rows * d, Q},
              {"dO in", rows * d_v, dO},
              {"L in", rows, L},
              {"delta in", rows, delta},
              {"sum of dQ in and out", 2 * rows * d, sum},
              {"dK out", n_k * d, dK},
              {"dV out", n_k * d_v, dV},
              {"sum of dQ in at the end", buffers * n * d, sum},
              {"dQ out", n * d, dQ}};
  return t;
}

double useful_backward_flops(const Problem& p) { return 2 * useful_flops(p); }

}  // namespace attoscope
