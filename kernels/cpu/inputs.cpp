#include "kernels/cpu/inputs.h"

#include <algorithm>

#include "kernels/arithmetic/random.h"
#include "kernels/cpu/rows.h"
#include "kernels/experiment/experiment.h"
#include "kernels/lanes/job.h"
#include "kernels/parallel/parallel.h"

namespace attoscope {
namespace {

/// Streams of random numbers; each tensor t = 0, 1, 2 (Q, K, V) has its own.
enum Stream : std::uint32_t { values = 0, outliers = 3, picks = 6, direction = 9, order = 10 };

/// Calls f(first, count) in parallel for pieces of 0 .. total, each starting at an even index.
template <class F>
void in_pieces(std::size_t total, const StopSign& stop, F f) {
  constexpr std::size_t piece = 1 << 12;
  parallel_for(std::size_t{0}, (total + piece - 1) / piece, [&](std::size_t i) {
    stop.check();
    timed(stop, [&] { f(i * piece, std::min(piece, total - i * piece)); });
  });
}

std::vector<double> normal(std::uint64_t seed, std::uint32_t stream, std::size_t count, const StopSign& stop) {
  std::vector<double> x;
  timed(stop, [&] { x = zeros<double>(count, stop); });
  in_pieces(count, stop, [&](std::size_t first, std::size_t size) {
    instruction_set(stop.isa).normals(seed, stream, first, static_cast<std::int64_t>(size), x.data() + first);
  });
  return x;
}

/// Element i of a stream of uniform numbers in [0, 1).
double uniform_at(std::uint64_t seed, std::uint32_t stream, std::size_t i) {
  const std::uint64_t counter = i / 2;
  const auto p = philox<std::uint64_t>(counter, counter >> 32, stream, seed);
  return i % 2 == 0 ? unit_interval<double>(p.x[0], p.x[1]) : unit_interval<double>(p.x[2], p.x[3]);
}

std::vector<double> uniform(std::uint64_t seed, std::uint32_t stream, std::size_t count, const StopSign& stop) {
  std::vector<double> x = zeros<double>(count, stop);
  in_pieces(count, stop, [&](std::size_t first, std::size_t size) {
    for (std::size_t i = first; i < first + size; ++i) x[i] = uniform_at(seed, stream, i);
  });
  return x;
}

std::vector<double> constant(double value, std::size_t count, const StopSign& stop) {
  std::vector<double> x = zeros<double>(count, stop);
  each_element(count, stop, [&](std::size_t i) { x[i] = value; });
  return x;
}

/// N(0, 1) + N(0, 100) Bernoulli(0.001), 100 the variance (FlashAttention-3, arXiv 2407.08608, section 4.3).
std::vector<double> outlier_mix(std::uint64_t seed, std::uint32_t tensor, std::size_t count, const StopSign& stop) {
  std::vector<double> x = normal(seed, values + tensor, count, stop);
  in_pieces(count, stop, [&](std::size_t first, std::size_t size) {
    for (std::size_t i = first; i < first + size; ++i) {
      if (uniform_at(seed, picks + tensor, i) >= 0.001) continue;
      double pair[2];
      instruction_set(stop.isa).normals(seed, outliers + tensor, i / 2 * 2, 2, pair);
      x[i] += 10 * pair[i % 2];
    }
  });
  return x;
}

/// Repeats every key four times in a row: then every query's largest score is tied.
void plant_ties(Tensors& t) {
  for (int j = 0; j < t.n_k; ++j) std::copy_n(t.k.data() + place(j / 4 * 4, t.d), t.d, t.k.data() + place(j, t.d));
}

/// Makes keys s_j g along one direction g, and queries with q.g > 0: the scores of every query are ordered like s.
void order_keys(Tensors& t, InputKind kind, std::uint64_t seed, const StopSign& stop) {
  const std::vector<double> g = normal(seed, direction, at(t.d), stop);
  std::vector<double> s = normal(seed, order, at(t.n_k), stop);
  if (kind != InputKind::shuffled) std::sort(s.begin(), s.end());
  if (kind == InputKind::descending) std::reverse(s.begin(), s.end());
  each_row(t.n, stop, [&](int row) {
    double* q = t.q.data() + place(row, t.d);
    double along = 0;
    for (int c = 0; c < t.d; ++c) along += q[c] * g[at(c)];
    for (int c = 0; c < t.d && along < 0; ++c) q[c] = -q[c];
  });
  each_row(t.n_k, stop, [&](int j) {
    double* k = t.k.data() + place(j, t.d);
    for (int c = 0; c < t.d; ++c) k[c] = s[at(j)] * g[at(c)];
  });
}

/// Draws tensor 0, 1 or 2 (Q, K, V), before `plant_ties` and `order_keys`.
std::vector<double> drawn(const Problem& p, std::uint32_t tensor, const StopSign& stop) {
  const std::size_t count = element_counts(p)[tensor];
  switch (p.input.kind) {
    case InputKind::uniform:
      return uniform(p.seed, values + tensor, count, stop);
    case InputKind::outliers:
      return outlier_mix(p.seed, tensor, count, stop);
    case InputKind::constant:
      return constant(p.input.value, count, stop);
    default:
      return normal(p.seed, values + tensor, count, stop);
  }
}

Tensors drawn(const Problem& p, const StopSign& stop) {
  Tensors t = Tensors::shaped(shape_of(p));
  parallel_invoke([&] { t.q = drawn(p, 0, stop); }, [&] { t.k = drawn(p, 1, stop); }, [&] { t.v = drawn(p, 2, stop); });
  if (p.input.kind == InputKind::ones) t.v = constant(1, t.v.size(), stop);
  if (p.input.kind == InputKind::biased) each_element(t.v.size(), stop, [&](std::size_t i) { t.v[i] += p.input.value; });
  if (p.input.kind == InputKind::ties) plant_ties(t);
  if (p.input.kind == InputKind::ascending || p.input.kind == InputKind::descending || p.input.kind == InputKind::shuffled)
    order_keys(t, p.input.kind, p.seed, stop);
  return t;
}

}  // namespace

std::array<std::size_t, 3> element_counts(const Problem& p) {
  return {place(p.n, p.d), place(key_count(p), p.d), place(key_count(p), value_columns(p))};
}

std::shared_ptr<const Tensors> raw_inputs(const Problem& p, const StopSign& stop) {
  if (p.input.kind != InputKind::tensors) return std::make_shared<Tensors>(drawn(p, stop));
  if (p.input.tensors->n == p.n && p.input.tensors->n_k == key_count(p)) return p.input.tensors;
  Tensors first = *p.input.tensors;
  first.n = p.n;
  first.n_k = key_count(p);
  std::vector<double>* parts[] = {&first.q, &first.k, &first.v};
  for (std::size_t i = 0; i < 3; ++i) parts[i]->resize(element_counts(p)[i]);
  return std::make_shared<Tensors>(std::move(first));
}

bool same_inputs(const Problem& x, const Problem& y) {
  return x.input == y.input && shape_of(x) == shape_of(y) && (x.seed == y.seed || x.input.kind == InputKind::tensors);
}

}  // namespace attoscope
