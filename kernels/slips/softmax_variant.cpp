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
    if (variant.products) x = round(*variant.products, x);
    if (cap != 0 && variant.caps_before_scale) x = cap * std::tanh(x / cap);
    x *= variant.scale;
    if (variant.scores) x = round(*variant.scores, x);
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

/// The running max after each tile of keys, and what follows of it: the factor of each tile's weights exp(S - m of the tile).
class TileWeights {
 public:
  TileWeights(const SoftmaxVariant& variant, Keys keys, const std::vector<double>& s) : kind_(variant.stale_max) {
    const int tile = variant.stale_tile;
    double m = -std::numeric_limits<double>::infinity();
    for (int first = keys.first; first < keys.end; first = tiles_.back().end) {
      tiles_.push_back({first, std::min(keys.end, (first / tile + 1) * tile)});
      double top = kind_ == StaleMax::first && m_.size() > 1 ? m_.front() : m;
      for (int j = first; j < tiles_.back().end; ++j) top = std::max(top, s[static_cast<std::size_t>(j)]);
      m_.push_back(m = top);
    }
  }

  /// Replaces S by the weights.
  void apply(std::vector<double>& s) const {
    double factor = 1;  // of all alphas after the tile
    for (std::size_t t = tiles_.size(); t-- > 0;) {
      for (int j = tiles_[t].first; j < tiles_[t].end; ++j)
        s[static_cast<std::size_t>(j)] = factor * std::exp(s[static_cast<std::size_t>(j)] - used(t));
      factor *= alpha(t);
    }
  }

 private:
  double used(std::size_t t) const { return kind_ == StaleMax::old && t > 0 ? m_[t - 1] : m_[t]; }
  double alpha(std::size_t t) const {
    if (t == 0 || kind_ == StaleMax::lost) return 0;
    if (kind_ == StaleMax::late) return t == 1 ? 1 : std::exp(m_[t - 2] - m_[t - 1]);
    return std::exp((kind_ == StaleMax::first ? m_.front() : m_[t - 1]) - m_[t]);
  }

  StaleMax kind_;
  std::vector<Keys> tiles_;
  std::vector<double> m_;
};

double sum_of(const std::vector<double>& e, Keys keys) {
  double l = 0;
  for (int j = keys.first; j < keys.end; ++j) l += e[static_cast<std::size_t>(j)];
  return l;
}

void add_values(const VariantHead& head, const SoftmaxVariant& variant, const std::vector<double>& e, Keys keys, double factor,
                double* out) {
  for (int j = keys.first; j < keys.end; ++j) {
    const double weight = e[static_cast<std::size_t>(j)] * factor;
    const int from = variant.value_row ? variant.value_row(j) : j;
    if (from < 0) continue;
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
  if (variant.stale_max != StaleMax::none) {
    TileWeights(variant, keys, e).apply(e);
    return add_values(head, variant, e, keys, 1 / sum_of(e, keys), out);
  }
  std::vector<double> of_l = variant.stale_O != variant.stale_l ? e : std::vector<double>{};
  const double m = to_weights(variant, keys, variant.stale_O, e);
  if (!of_l.empty()) to_weights(variant, keys, variant.stale_l, of_l);
  if (variant.averaged_splits > 0) return average_splits(head, variant, e, keys, out);
  if (variant.repeated_key >= keys.first && variant.repeated_key < keys.end)
    e[static_cast<std::size_t>(variant.repeated_key)] *= 2;
  double l = sum_of(of_l.empty() ? e : of_l, keys);
  if (variant.sink) l += std::exp(*variant.sink - m);
  if (variant.extra_keys > 0) l += variant.extra_keys * std::exp(-m);
  if (variant.probabilities) {
    for (int j = keys.first; j < keys.end; ++j)
      e[static_cast<std::size_t>(j)] = round(*variant.probabilities, e[static_cast<std::size_t>(j)] / l);
    l = 1;
  }
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
