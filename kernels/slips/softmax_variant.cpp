#include "kernels/slips/softmax_variant.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace attoscope {
namespace {

/// Scores of the keys [first, end) in place of their products.
void to_scores(const SoftmaxVariant& variant, int row, Keys keys, std::vector<double>& s) {
  const double cap = variant.softcap;
  for (int j = keys.first; j < keys.end; ++j) {
    double x = s[static_cast<std::size_t>(j)];
    if (cap != 0 && variant.caps_before_scale) x = cap * std::tanh(x / cap);
    x *= variant.scale;
    if (cap != 0 && !variant.caps_before_scale) x = cap * std::tanh(x / cap);
    s[static_cast<std::size_t>(j)] = x - variant.alibi * std::abs(row - j);
  }
}

/// Replaces S by exp(S - m), each key with the max in use at that key; returns the last such max.
double to_weights(const SoftmaxVariant& variant, Keys keys, bool stale, std::vector<double>& s) {
  const int tile = stale && variant.stale_tile > 0 ? variant.stale_tile : keys.end;
  double m = variant.subtracts_max ? -std::numeric_limits<double>::infinity() : 0;
  for (int first = keys.first; first < keys.end;) {
    const int end = std::min(keys.end, (first / tile + 1) * tile);
    if (variant.subtracts_max)
      for (int j = first; j < end; ++j) m = std::max(m, s[static_cast<std::size_t>(j)]);
    for (int j = first; j < end; ++j) s[static_cast<std::size_t>(j)] = std::exp(s[static_cast<std::size_t>(j)] - m);
    first = end;
  }
  return m;
}

double sum_of(const std::vector<double>& e, Keys keys) {
  double l = 0;
  for (int j = keys.first; j < keys.end; ++j) l += e[static_cast<std::size_t>(j)];
  return l;
}

void add_values(const VariantHead& head, const SoftmaxVariant& variant, const std::vector<double>& e, Keys keys, double factor,
                double* out) {
  for (int j = keys.first; j < keys.end; ++j) {
    const double weight = e[static_cast<std::size_t>(j)] * factor;
    const int from = (j + variant.value_shift + head.n) % head.n;
    const double* v = head.v.data() + static_cast<std::ptrdiff_t>(from) * head.d;
    for (int c = 0; c < head.d; ++c) out[c] += weight * v[c];
  }
}

/// The runs' outputs, each over its own sum, averaged.
void average_splits(const VariantHead& head, const SoftmaxVariant& variant, const std::vector<double>& e, Keys keys,
                    double* out) {
  const int splits = variant.averaged_splits, length = (head.n + splits - 1) / splits;
  const int first_run = keys.first / length, last_run = (keys.end - 1) / length;
  for (int run = first_run; run <= last_run; ++run) {
    const Keys part{std::max(keys.first, run * length), std::min(keys.end, (run + 1) * length)};
    add_values(head, variant, e, part, 1 / (sum_of(e, part) * (last_run - first_run + 1)), out);
  }
}

}  // namespace

VariantHead variant_head(int n, int d, const std::vector<double>& q, const std::vector<double>& k,
                         const std::vector<double>& v) {
  VariantHead head{n, d, q, std::vector<double>(k.size()), v};
  const auto rows = static_cast<std::size_t>(n), columns = static_cast<std::size_t>(d);
  for (std::size_t j = 0; j < rows; ++j)
    for (std::size_t c = 0; c < columns; ++c) head.k_columns[c * rows + j] = k[j * columns + c];
  return head;
}

void products(const VariantHead& head, int row, std::vector<double>& out) {
  out.assign(static_cast<std::size_t>(head.n), 0);
  const double* q = head.q.data() + static_cast<std::ptrdiff_t>(row) * head.d;
  for (int c = 0; c < head.d; ++c) {
    const double* k = head.k_columns.data() + static_cast<std::ptrdiff_t>(c) * head.n;
    const double x = q[c];
    for (int j = 0; j < head.n; ++j) out[static_cast<std::size_t>(j)] += x * k[j];
  }
}

void attend(const VariantHead& head, const SoftmaxVariant& variant, int row, double* out) {
  const Keys keys = variant.keys(row);
  std::fill_n(out, head.d, keys.empty() ? std::numeric_limits<double>::quiet_NaN() : 0.0);
  if (keys.empty()) return;
  std::vector<double> e;
  products(head, row, e);
  to_scores(variant, row, keys, e);
  std::vector<double> of_l = variant.stale_O != variant.stale_l ? e : std::vector<double>{};
  const double m = to_weights(variant, keys, variant.stale_O, e);
  if (!of_l.empty()) to_weights(variant, keys, variant.stale_l, of_l);
  if (variant.averaged_splits > 0) return average_splits(head, variant, e, keys, out);
  double l = sum_of(of_l.empty() ? e : of_l, keys);
  if (variant.sink) l += std::exp(*variant.sink - m);
  if (variant.extra_keys > 0) l += variant.extra_keys * std::exp(-m);
  add_values(head, variant, e, keys, variant.divides ? 1 / l : 1, out);
}

SoftmaxVariant right_softmax(const Problem& p) {
  return {.scale = scale_of(p),
          .keys = [mask = p.mask, n = p.n](int row) { return visible_keys(mask, row, n); },
          .softcap = p.softcap,
          .alibi = p.alibi,
          .sink = p.sink};
}

}  // namespace attoscope
