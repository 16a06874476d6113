#include "kernels/slips/softmax_variant.h"

#include <algorithm>
#include <cmath>
#include <numbers>

namespace attoscope {
namespace {

constexpr double unit = 0x1p-24;       ///< relative error of fp32
constexpr double sum_error = 8;        ///< error of q.k in fp32 or on a tensor core, in units of |q| |k|
constexpr double exp_error = 0x1p-21;  ///< relative error of exp in fp32: two units of ex2.approx, and its rounded argument
constexpr double noise_bound =
    4 / std::numbers::sqrt3;  ///< four standard deviations of an error with uniform distribution, per its maximum

/// One score before the softmax, in a kernel that computes in fp32 and stores some steps in another format.
struct Score {
  double x;
  double error;     ///< largest error of x in fp32
  double step = 0;  ///< largest distance of stored numbers from the numbers of exact steps

  /// Stores x; if fp32's error reaches the middle of two numbers, it may be stored as either.
  void store(const std::optional<Format>& format) {
    if (!format) return;
    const double stored = round(*format, x), apart = ulp(*format, x);
    if (step > 0 || apart / 2 - std::abs(x - stored) <= error) step += apart;
    x = stored;
    error = 0;
  }
  void times(double factor) { x *= factor, step *= std::abs(factor), error = error * std::abs(factor) + unit * std::abs(x); }
  void plus(double y) { x += y, error += unit * std::abs(x); }
  void tanh() { x = std::tanh(x), error += unit * std::abs(x); }
};

/// Uncertainty of a row's scores: steps: possible change of each stored score; noise: largest random error; of_l: relative
/// change of a stored l.
struct Uncertain {
  std::vector<double> steps, noise;
  double of_l = 0;
};

/// Likely largest error of an fp32 sum of d terms in sequence. Its partial sums grow linearly to `sum` plus a random walk with
/// steps of the terms' size, |q| |k| / sqrt(d).
double error_of_sequence(double sum, double lengths, int d) {
  return unit * std::hypot(std::abs(sum) * std::sqrt(d / 3.0), lengths / std::numbers::sqrt2);
}

void cap(const SoftmaxVariant& variant, Score& s, double* noise) {
  const double factor = variant.cap_factor.value_or(variant.softcap);
  s.times(1 / variant.softcap);
  s.store(variant.capped);
  s.tanh();
  if (noise) *noise = std::hypot(*noise, variant.tanh_error * factor * s.x);
  s.store(variant.capped);
  s.times(factor);
  s.store(variant.capped);
}

double alibi_bias(const SoftmaxVariant& variant, int row, int key) {
  const double bias =
      variant.alibi * (variant.bias_by_key ? key : -std::abs(static_cast<double>(row) + variant.diagonal - key));
  return variant.biased ? round(*variant.biased, bias) : bias;
}

/// Term of the mask tensor for a score; 0 for keys behind its last, which are another head's.
double term_of(const SoftmaxVariant& variant, int row, int key) {
  if (!variant.mask || variant.mask->terms.empty() || key >= variant.mask->n_k) return 0;
  return variant.mask->view().term(row, key);
}
bool is_dropped(double term) { return term == -infinity; }

/// Euclidean norm.
double length_of(const double* x, int count) {
  double square = 0;
  for (int c = 0; c < count; ++c) square += x[c] * x[c];
  return std::sqrt(square);
}

const double* query_of(const VariantHead& head, int row) {
  return head.q.data() + static_cast<std::ptrdiff_t>(row) * head.shape.d;
}

/// Replaces the products of keys [first, end) by their scores.
void to_scores(const VariantHead& head, const SoftmaxVariant& variant, int row, Keys keys, std::vector<double>& s,
               Uncertain* uncertain) {
  const double q_length = length_of(query_of(head, row), head.shape.d), of_sum = sum_error * unit * q_length;
  for (int j = keys.first; j < keys.end; ++j) {
    const auto key = at(j);
    Score x{.x = s[key], .error = of_sum * head.k_length[key]};
    x.store(variant.rounds.products);
    if (variant.softcap != 0 && variant.caps_before_scale) cap(variant, x, nullptr);
    x.times(variant.scale);
    x.store(variant.scores);
    if (uncertain && variant.sums_in_sequence)
      uncertain->noise[key] = std::abs(variant.scale) * error_of_sequence(s[key], q_length * head.k_length[key], head.shape.d);
    if (variant.softcap != 0 && !variant.caps_before_scale) cap(variant, x, uncertain ? &uncertain->noise[key] : nullptr);
    if (variant.alibi != 0) {
      x.plus(alibi_bias(variant, row, j));
      x.store(variant.biased);
    }
    if (const double term = term_of(variant, row, j); is_dropped(term) ? !variant.hidden_score : term != 0) {
      x.plus(term);
      if (std::abs(x.x) < 1e30) x.store(variant.biased);
    }
    s[key] = x.x;
    if (uncertain) uncertain->steps[key] = x.step;
  }
}

/// Replaces the products of all keys by scores; hidden keys get a finite score.
void to_finite_scores(const VariantHead& head, const SoftmaxVariant& variant, int row, Keys visible, std::vector<double>& s) {
  const int n_k = static_cast<int>(s.size());
  to_scores(head, variant, row, {0, n_k}, s, nullptr);
  for (int j = 0; j < n_k; ++j)
    if (!visible.contains(j) || is_dropped(term_of(variant, row, j))) {
      double& x = s[at(j)];
      x = *variant.hidden_score + (variant.adds_hidden ? x : 0);
    }
}

/// exp(S - m) of a stored difference.
double stored_weight(const SoftmaxVariant& variant, double difference) {
  const double e = std::exp(round(*variant.differences, difference));
  return variant.exponentials ? round(*variant.exponentials, e) : e;
}

/// Replaces S by exp of the stored S - m and returns m, the largest score or the sink.
double to_weights_of_differences(const SoftmaxVariant& variant, Keys keys, std::vector<double>& s) {
  const auto first = s.begin() + keys.first, end = s.begin() + keys.end;
  double m = *std::max_element(first, end);
  if (variant.sink) m = std::max(m, *variant.sink);
  for (auto x = first; x != end; ++x) *x = stored_weight(variant, *x - m);
  return m;
}

/// Replaces S by exp(S - m), each key with the max in use at that key; returns the last max.
double to_weights(const SoftmaxVariant& variant, Keys keys, bool stale, std::vector<double>& s) {
  const int tile = stale && variant.stale_tile > 0 ? variant.stale_tile : keys.end;
  double m = variant.subtracts_max ? -infinity : 0;
  for (int first = keys.first; first < keys.end;) {
    const int end = std::min(keys.end, (first / tile + 1) * tile);
    if (variant.subtracts_max)
      for (int j = first; j < end; ++j) m = std::max(m, s[at(j)]);
    for (int j = first; j < end; ++j) {
      double& x = s[at(j)];
      x = is_dropped(x) ? 0 : std::exp(x - m);
    }
    first = end;
  }
  return m;
}

/// The running max after each tile of keys, and each tile's factor of the weights exp(S - m of the tile).
class TileWeights {
 public:
  TileWeights(const SoftmaxVariant& variant, Keys keys, const std::vector<double>& s) : kind_(variant.stale_max) {
    const int tile = variant.stale_tile;
    double m = -infinity;
    for (int first = keys.first; first < keys.end; first = tiles_.back().end) {
      tiles_.push_back({first, std::min(keys.end, (first / tile + 1) * tile)});
      double top = kind_ == StaleMax::first && m_.size() > 1 ? m_.front() : m;
      for (int j = first; j < tiles_.back().end; ++j) top = std::max(top, s[at(j)]);
      m_.push_back(m = top);
    }
  }

  /// Replaces S by the weights.
  void apply(std::vector<double>& s) const {
    double factor = 1;  // product of the alphas of all later tiles
    for (std::size_t t = tiles_.size(); t-- > 0;) {
      for (int j = tiles_[t].first; j < tiles_[t].end; ++j) s[at(j)] = factor * std::exp(s[at(j)] - used(t));
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
  for (int j = keys.first; j < keys.end; ++j) l += e[at(j)];
  return l;
}

void add_values(const VariantHead& head, const SoftmaxVariant& variant, const std::vector<double>& e, Keys keys, double factor,
                double* out) {
  const int columns = head.shape.d_v;
  std::vector<double> weights(e.begin() + keys.first, e.begin() + keys.end);
  for (double& x : weights) x *= factor;
  const auto row_of = [&](int j) { return head.v.data() + static_cast<std::ptrdiff_t>(j) * columns; };
  if (!variant.value_row)
    return add_weighted_rows(row_of(keys.first), weights.data(), keys.end - keys.first, columns, columns, out);
  for (int j = keys.first; j < keys.end; ++j)
    if (const int from = variant.value_row(j); from >= 0)
      add_weighted_rows(row_of(from), &weights[at(j - keys.first)], 1, columns, columns, out);
}

/// Merges the outputs of the runs with keys, each from its own max and divided by its own sum; `s` are the scores.
void merge_runs(const VariantHead& head, const SoftmaxVariant& variant, std::vector<double> s, Keys keys, double* out,
                double* slack) {
  struct Run {
    Keys keys;
    double l, lse;
  };
  const int count = variant.runs.count, length = (head.shape.n_k + count - 1) / count;
  std::vector<Run> runs;
  double largest = -infinity, all = 0;
  for (int run = keys.first / length; run <= (keys.end - 1) / length; ++run) {
    const Keys part{std::max(keys.first, run * length), std::min(keys.end, (run + 1) * length)};
    const double m = to_weights(variant, part, false, s), l = sum_of(s, part);
    if (l != 0) {
      runs.push_back({part, l, m + std::log(l)});
      largest = std::max(largest, runs.back().lse);
    }
  }
  if (runs.empty()) std::fill_n(out, head.shape.d_v, std::numeric_limits<double>::quiet_NaN());
  const auto weight = [&](double lse) { return std::exp(variant.runs.power * (lse - largest)); };
  for (const Run& run : runs) all += weight(run.lse);
  if (variant.runs.power == 1 && variant.sink) all += std::exp(*variant.sink - largest);
  std::vector<double> partial(at(head.shape.d_v));
  for (const Run& run : runs) {
    std::ranges::fill(partial, 0.0);
    add_values(head, variant, s, run.keys, 1 / run.l, partial.data());
    const double share = weight(run.lse) / all;
    for (int c = 0; c < head.shape.d_v; ++c) {
      const double o = partial[at(c)];
      out[c] += share * o;
      if (slack && variant.partials) slack[c] += share * ulp(*variant.partials, o) / 2;
    }
  }
}

/// Adds the effect of uncertain scores to `slack`; `e` are the weights, l their sum.
void add_slack(const VariantHead& head, const Uncertain& uncertain, const std::vector<double>& e, double l, Keys keys,
               const double* out, double* slack) {
  std::vector<double> square(at(head.shape.d_v));
  for (int j = keys.first; j < keys.end; ++j) {
    const auto key = at(j);
    if (e[key] == 0) continue;
    const double step = e[key] / l * uncertain.steps[key], noise = e[key] / l * uncertain.noise[key];
    if (step == 0 && noise == 0) continue;
    const double* v = head.v.data() + static_cast<std::ptrdiff_t>(j) * head.shape.d_v;
    for (int c = 0; c < head.shape.d_v; ++c) {
      const double lever = std::abs(v[c] - out[c]);
      slack[c] += step * lever;
      square[at(c)] += noise * lever * noise * lever;
    }
  }
  for (int c = 0; c < head.shape.d_v; ++c)
    slack[c] += noise_bound * std::sqrt(square[at(c)]) + uncertain.of_l * std::abs(out[c]);
}

/// Adds a step to scores that may be rounded differently after the max is subtracted; to all scores if the max may differ.
void follow_the_max(const SoftmaxVariant& variant, Keys keys, const std::vector<double>& s, std::vector<double>& steps) {
  const auto top = std::max_element(s.begin() + keys.first, s.begin() + keys.end) - s.begin();
  const bool moves = steps[static_cast<std::size_t>(top)] > 0;
  for (int j = keys.first; j < keys.end; ++j) {
    double& step = steps[at(j)];
    if (moves || step > 0) step += ulp(*variant.differences, s[at(j)] - s[static_cast<std::size_t>(top)]);
  }
}

/// Rounds l and P if they are stored; returns the divisor of O.
double store_weights(const SoftmaxVariant& variant, Keys keys, double l, std::vector<double>& e, Uncertain& uncertain) {
  if (variant.exponentials) {
    double squares = 0;
    for (int j = keys.first; j < keys.end; ++j) squares += e[at(j)] * e[at(j)];
    const StoredSum sum = stored_sum(*variant.exponentials, l, squares);
    l = sum.l;
    uncertain.of_l = sum.step;
  }
  if (!variant.probabilities) return l;
  for (int j = keys.first; j < keys.end; ++j) e[at(j)] = round(*variant.probabilities, e[at(j)] / l);
  return 1;
}

/// Reduces the weights of P.V by the average loss of truncation; of_l gets the exact weights if l sums those.
void cut(const SoftmaxVariant& variant, Keys keys, std::vector<double>& e, std::vector<double>& of_l) {
  if (!variant.sums_truncated_P) of_l = e;
  for (int j = keys.first; j < keys.end; ++j) {
    double& x = e[at(j)];
    x = std::max(0.0, x - ulp(*variant.truncated_P, x) / 2);
  }
}

/// Adds the possible error of each tile's stored P.V to `slack`; `e` are the weights, l their sum. P is relative to the largest
/// score up to its tile.
void add_tile_slack(const VariantHead& head, const SoftmaxVariant& variant, const std::vector<double>& e, double l, Keys keys,
                    double* slack) {
  std::vector<double> sum(at(head.shape.d_v));
  double top = 0;
  for (int first = keys.first, end = 0; first < keys.end; first = end) {
    end = std::min(keys.end, (first / key_tile_of_cpu + 1) * key_tile_of_cpu);
    top = std::max(top, *std::max_element(e.begin() + first, e.begin() + end));
    if (top == 0) continue;
    std::ranges::fill(sum, 0.0);
    add_values(head, variant, e, {first, end}, 1 / top, sum.data());
    for (int c = 0; c < head.shape.d_v; ++c) slack[c] += top / l * ulp(*variant.tile_products, sum[at(c)]) / 2;
  }
}

/// Subtracts the average loss of a truncated O, half a unit, from `out`; adds the possible error of O before its division to
/// `slack`.
void end_row(const VariantHead& head, const SoftmaxVariant& variant, double l, double* out, double* slack) {
  for (int c = 0; c < head.shape.d_v; ++c) {
    if (slack && variant.undivided) slack[c] += ulp(*variant.undivided, out[c] * l) / l / 2;
    if (variant.truncated_O && out[c] != 0) out[c] -= std::copysign(ulp(*variant.truncated_O, out[c]) / 2, out[c]);
  }
}

}  // namespace

std::vector<double> row_lengths(const std::vector<double>& x, int columns) {
  std::vector<double> lengths;
  for (std::size_t i = 0; i < x.size(); i += at(columns)) lengths.push_back(length_of(x.data() + i, columns));
  return lengths;
}

std::vector<double> largest_scores(const Problem& p, const Tensors& inputs) {
  std::vector<double> scores = row_lengths(inputs.q, p.d);
  const double longest_k = largest_finite(row_lengths(inputs.k, p.d));
  for (double& x : scores)
    x = std::abs(scale_of(p)) * (std::isfinite(x) ? x : 0) * longest_k + std::abs(p.alibi) * std::max(p.n, key_count(p));
  return scores;
}

std::vector<double> by_columns(const std::vector<double>& x, int rows, int columns) {
  constexpr int block = 8;  // rows per block, whose columns are written together
  std::vector<double> y(x.size());
  for (int first = 0; first < rows; first += block)
    for (int c = 0; c < columns; ++c)
      for (int i = first; i < std::min(rows, first + block); ++i) y[at(c) * at(rows) + at(i)] = x[at(i) * at(columns) + at(c)];
  return y;
}

void VariantHead::set_k(const std::vector<double>& k) {
  k_columns = by_columns(k, shape.n_k, shape.d);
  k_length = row_lengths(k, shape.d);
}

VariantHead variant_head(Tensors t) { return variant_head(std::make_shared<const Tensors>(std::move(t))); }
VariantHead variant_head(const std::shared_ptr<const Tensors>& t) {
  const auto shared = [&t](const std::vector<double>& part) { return std::shared_ptr<const std::vector<double>>(t, &part); };
  VariantHead head{.shape = t->shape(), .q = shared(t->q), .k_columns = {}, .v = shared(t->v), .k_length = {}};
  head.set_k(t->k);
  return head;
}

VariantHead with_part(VariantHead head, TensorsPart part, std::vector<double> numbers) {
  if (part == &Tensors::k)
    head.set_k(numbers);
  else
    (part == &Tensors::q ? head.q : head.v) = std::move(numbers);
  return head;
}

MakeHead made_once(const std::function<VariantHead()>& make) {
  const auto head = once_each<SharedHead>([make](int) { return std::make_shared<const VariantHead>(make()); });
  return [head] { return head(0); };
}

void add_weighted_rows(const double* x, const double* factor, int rows, int columns, std::ptrdiff_t stride, double* out) {
  int i = 0;
  for (; i + 4 <= rows; i += 4, x += 4 * stride) {  // four rows at once stay in registers
    const double *a = x, *b = a + stride, *c = b + stride, *d = c + stride;
    const double f = factor[i], g = factor[i + 1], h = factor[i + 2], l = factor[i + 3];
    for (int j = 0; j < columns; ++j) out[j] += (f * a[j] + g * b[j]) + (h * c[j] + l * d[j]);
  }
  for (; i < rows; ++i, x += stride)
    for (int j = 0; j < columns; ++j) out[j] += factor[i] * x[j];
}

std::vector<double> products(const VariantHead& head, int row, Keys keys) {
  std::vector<double> out(at(head.shape.n_k));
  add_weighted_rows(head.k_columns.data() + keys.first, query_of(head, row), head.shape.d, keys.end - keys.first,
                    head.shape.n_k, out.data() + keys.first);
  return out;
}

StoredSum stored_sum(const Format& format, double l, double squares) {
  const double unsure = sum_error * unit * l + epsilon(format) * std::sqrt(squares);
  return {round(format, l), (round(format, l + unsure) - round(format, l - unsure)) / l};
}

void round_P(const RoundedP& p, const VariantHead& head, double scale, int row, Keys keys, const std::vector<double>& scores,
             std::vector<double>& weights, std::vector<double>* steps) {
  if (steps) steps->assign(weights.size(), 0.0);
  const auto stored = [&](double P) { return round(p.format, P * p.factor) / p.factor; };
  const double error = p.product_error * std::abs(scale) * length_of(query_of(head, row), head.shape.d);
  const int first_tile = keys.first / p.tile, end_tile = (keys.end - 1) / p.tile + 1;
  double m = -infinity;
  for (int t = first_tile; t < end_tile; ++t) {
    const int tile = p.is_reversed ? end_tile - 1 - (t - first_tile) : t;
    const int begin = std::max(tile * p.tile, keys.first), end = std::min(keys.end, (tile + 1) * p.tile);
    const double top = *std::max_element(scores.begin() + begin, scores.begin() + end);
    if (m == -infinity || top > m + p.lazy) m = std::max(m, top);
    for (int j = begin; j < end; ++j) {
      double& weight = weights[at(j)];
      const double P = std::exp(scores[at(j)] - m);
      if (!(P > 0)) continue;  // hidden, or NaN of a NaN in Q or K
      const double unit_of_P = weight / P, off = error * head.k_length[at(j)] + exp_error;
      weight = stored(P) * unit_of_P;
      if (steps) (*steps)[at(j)] = (stored(P * (1 + off)) - stored(P * (1 - off))) * unit_of_P;
    }
  }
}

void add_slack_of_P(const VariantHead& head, const RoundedP& p, const std::vector<double>& steps, double l, Keys keys,
                    const double* out, double* slack) {
  const auto columns = at(head.shape.d_v);
  std::vector<double> square(columns);
  for (int j = keys.first; j < keys.end; ++j)
    for (std::size_t c = 0; c < columns && steps[at(j)] != 0; ++c)
      square[c] += std::pow(steps[at(j)] / l * head.v[at(j) * columns + c], 2);
  for (std::size_t c = 0; c < columns; ++c)
    slack[c] += noise_bound * std::sqrt(square[c]) + p.sum_error * (keys.end - keys.first) * std::abs(out[c]);
}

double sink_weight(const SoftmaxVariant& variant, double m) {
  if (!variant.sink) return 0;
  const double difference = *variant.sink - m;
  return variant.differences ? stored_weight(variant, difference) : std::exp(difference);
}

std::vector<double> scores(const VariantHead& head, const SoftmaxVariant& variant, int row) {
  const Keys keys = variant.keys(row);
  if (keys.empty()) return std::vector<double>(at(head.shape.n_k));
  std::vector<double> s = products(head, row, keys);
  to_scores(head, variant, row, keys, s, nullptr);
  return s;
}

std::vector<double> weights(const VariantHead& head, const SoftmaxVariant& variant, int row) {
  const Keys keys = variant.keys(row);
  std::vector<double> e = scores(head, variant, row);
  if (keys.empty()) return e;
  const double m = to_weights(variant, keys, false, e), l = sum_of(e, keys) + sink_weight(variant, m);
  for (int j = keys.first; j < keys.end; ++j) e[at(j)] /= l;
  return e;
}

RowSum row_sum(const VariantHead& head, const SoftmaxVariant& variant, int row) {
  const Keys keys = variant.keys(row);
  RowSum sum;
  if (keys.empty()) return sum;
  std::vector<double> e = products(head, row, keys);
  Uncertain uncertain{.steps = std::vector<double>(e.size()), .noise = std::vector<double>(e.size())};
  to_scores(head, variant, row, keys, e, &uncertain);
  sum.max = to_weights(variant, keys, false, e);
  const double l = sum_of(e, keys) + sink_weight(variant, sum.max);
  sum.lse = sum.max + std::log(l);
  for (int j = keys.first; j < keys.end; ++j) sum.slack += e[at(j)] / l * uncertain.steps[at(j)];
  return sum;
}

void attend(const VariantHead& head, const SoftmaxVariant& variant, int row, double* out, double* slack) {
  const Keys visible = variant.keys(row), keys = variant.hidden_score ? Keys{0, head.shape.n_k} : visible;
  std::fill_n(out, head.shape.d_v, keys.empty() ? std::numeric_limits<double>::quiet_NaN() : 0.0);
  if (keys.empty()) return;
  std::vector<double> e = products(head, row, keys);
  Uncertain uncertain;
  if (slack) {
    uncertain.steps.resize(e.size());
    uncertain.noise.resize(e.size());
  }
  if (variant.hidden_score)
    to_finite_scores(head, variant, row, visible, e);
  else
    to_scores(head, variant, row, keys, e, slack ? &uncertain : nullptr);
  if (variant.stale_max != StaleMax::none) {
    TileWeights(variant, keys, e).apply(e);
    return add_values(head, variant, e, keys, 1 / sum_of(e, keys), out);
  }
  if (variant.runs.count > 0) return merge_runs(head, variant, std::move(e), keys, out, slack);
  if (slack && variant.differences) follow_the_max(variant, keys, e, uncertain.steps);
  std::vector<double> of_l = variant.stale_O != variant.stale_l ? e : std::vector<double>{}, steps;
  const std::vector<double> s = variant.rounds.P ? e : std::vector<double>{};
  const double m =
      variant.differences ? to_weights_of_differences(variant, keys, e) : to_weights(variant, keys, variant.stale_O, e);
  if (!of_l.empty()) to_weights(variant, keys, variant.stale_l, of_l);
  if (variant.rounds.P) {
    if (of_l.empty()) of_l = e;
    round_P(*variant.rounds.P, head, variant.scale, row, keys, s, e, slack ? &steps : nullptr);
  }
  if (variant.truncated_P) cut(variant, keys, e, of_l);
  if (variant.repeated_from >= 0)
    for (int j = std::max(keys.first, variant.repeated_from); j < keys.end; ++j) e[at(j)] *= 2;
  double l = sum_of(of_l.empty() ? e : of_l, keys) + sink_weight(variant, m);
  if (variant.extra_keys > 0) l += variant.extra_keys * std::exp(-m);
  l = store_weights(variant, keys, l, e, uncertain);
  add_values(head, variant, e, keys, variant.divides ? 1 / l : 1, out);
  if (slack) add_slack(head, uncertain, e, l, keys, out, slack);
  if (slack && variant.rounds.P) add_slack_of_P(head, *variant.rounds.P, steps, l, keys, out, slack);
  if (slack && variant.tile_products) add_tile_slack(head, variant, e, l, keys, slack);
  end_row(head, variant, l, out, slack);
}

SoftmaxVariant right_softmax(const Problem& p, const KernelRounding& rounds) {
  return {.scale = scale_of(p),
          .keys = [p](int row) { return visible_keys(p, row); },
          .softcap = p.softcap,
          .alibi = p.alibi,
          .diagonal = diagonal(p),
          .mask = p.input.kind == InputKind::tensors && p.input.tensors ? p.input.tensors->mask : nullptr,
          .sink = p.sink,
          .rounds = rounds};
}

}  // namespace attoscope
