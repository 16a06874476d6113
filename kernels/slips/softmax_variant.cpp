#include "kernels/slips/softmax_variant.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

namespace attoscope {
namespace {

/// Scores of the keys [first, end) in place of their products.
void to_scores(const SoftmaxVariant& variant, int row, Keys keys, std::vector<double>& s) {
  const double cap = variant.softcap, factor = variant.cap_factor.value_or(cap);
  for (int j = keys.first; j < keys.end; ++j) {
    double x = s[static_cast<std::size_t>(j)];
    if (variant.products) x = round(*variant.products, x);
    if (cap != 0 && variant.caps_before_scale) x = cap * std::tanh(x / cap);
    x *= variant.scale;
    if (variant.scores) x = round(*variant.scores, x);
    if (cap != 0 && !variant.caps_before_scale) x = factor * std::tanh(x / cap);
    s[static_cast<std::size_t>(j)] = x - variant.alibi * std::abs(row + variant.diagonal - j);
  }
}

/// Scores of all keys, those that the mask hides with a finite one.
void to_finite_scores(const SoftmaxVariant& variant, int row, Keys visible, std::vector<double>& s) {
  const int n_k = static_cast<int>(s.size());
  to_scores(variant, row, {0, n_k}, s);
  for (int j = 0; j < n_k; ++j)
    if (j < visible.first || j >= visible.end) {
      double& x = s[static_cast<std::size_t>(j)];
      x = *variant.hidden_score + (variant.adds_hidden ? x : 0);
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
    const double* v = head.v.data() + static_cast<std::ptrdiff_t>(from) * head.shape.d_v;
    for (int c = 0; c < head.shape.d_v; ++c) out[c] += weight * v[c];
  }
}

/// The runs' outputs, each over its own sum, merged.
void merge_runs(const VariantHead& head, const SoftmaxVariant& variant, const std::vector<double>& e, Keys keys, double* out) {
  const int count = variant.runs.count, length = (head.shape.n_k + count - 1) / count;
  std::vector<std::pair<Keys, double>> runs;  // with its sum
  double largest = 0, all = 0;
  for (int run = keys.first / length; run <= (keys.end - 1) / length; ++run) {
    const Keys part{std::max(keys.first, run * length), std::min(keys.end, (run + 1) * length)};
    runs.emplace_back(part, sum_of(e, part));
    largest = std::max(largest, runs.back().second);
  }
  const auto weight = [&](double l) { return std::pow(l / largest, variant.runs.power); };
  for (const auto& [part, l] : runs) all += weight(l);
  for (const auto& [part, l] : runs) add_values(head, variant, e, part, weight(l) / (l * all), out);
}

}  // namespace

VariantHead variant_head(const AttentionShape& shape, const std::vector<double>& q, const std::vector<double>& k,
                         const std::vector<double>& v) {
  VariantHead head{shape, q, std::vector<double>(k.size()), v};
  const auto rows = static_cast<std::size_t>(shape.n_k), columns = static_cast<std::size_t>(shape.d);
  for (std::size_t j = 0; j < rows; ++j)
    for (std::size_t c = 0; c < columns; ++c) head.k_columns[c * rows + j] = k[j * columns + c];
  return head;
}
VariantHead variant_head(const Tensors& t) { return variant_head(t.shape(), t.q, t.k, t.v); }

void products(const VariantHead& head, int row, std::vector<double>& out) {
  const int n_k = head.shape.n_k;
  out.assign(static_cast<std::size_t>(n_k), 0);
  const double* q = head.q.data() + static_cast<std::ptrdiff_t>(row) * head.shape.d;
  for (int c = 0; c < head.shape.d; ++c) {
    const double* k = head.k_columns.data() + static_cast<std::ptrdiff_t>(c) * n_k;
    const double x = q[c];
    for (int j = 0; j < n_k; ++j) out[static_cast<std::size_t>(j)] += x * k[j];
  }
}

void attend(const VariantHead& head, const SoftmaxVariant& variant, int row, double* out) {
  const Keys visible = variant.keys(row), keys = variant.hidden_score ? Keys{0, head.shape.n_k} : visible;
  std::fill_n(out, head.shape.d_v, keys.empty() ? std::numeric_limits<double>::quiet_NaN() : 0.0);
  if (keys.empty()) return;
  std::vector<double> e;
  products(head, row, e);
  if (variant.hidden_score)
    to_finite_scores(variant, row, visible, e);
  else
    to_scores(variant, row, keys, e);
  if (variant.stale_max != StaleMax::none) {
    TileWeights(variant, keys, e).apply(e);
    return add_values(head, variant, e, keys, 1 / sum_of(e, keys), out);
  }
  std::vector<double> of_l = variant.stale_O != variant.stale_l ? e : std::vector<double>{};
  const double m = to_weights(variant, keys, variant.stale_O, e);
  if (!of_l.empty()) to_weights(variant, keys, variant.stale_l, of_l);
  if (variant.runs.count > 0) return merge_runs(head, variant, e, keys, out);
  if (variant.repeated_from >= 0)
    for (int j = std::max(keys.first, variant.repeated_from); j < keys.end; ++j) e[static_cast<std::size_t>(j)] *= 2;
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
          .keys = [p](int row) { return visible_keys(p, row); },
          .softcap = p.softcap,
          .alibi = p.alibi,
          .diagonal = diagonal(p),
          .sink = p.sink};
}

}  // namespace attoscope
