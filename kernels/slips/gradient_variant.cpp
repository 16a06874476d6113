#include "kernels/slips/gradient_variant.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "kernels/parallel/parallel.h"
#include "kernels/slips/softmax_variant.h"

namespace attoscope {
namespace {

constexpr double of_sums = 0x1p-24;  ///< relative error of scores, products and sums
constexpr int panel = 64;            ///< rows of Q that are computed before they are added to dK and dV

/// Queries per tile of the kernel whose key tiles have `key_tile_of_cpu` keys; it stores its sums after every tile.
int query_tile(int n) { return n >= 768 ? 256 : n >= 192 ? 64 : 32; }

const double* row_of(const std::vector<double>& x, int row, int columns) { return x.data() + at(row) * at(columns); }
double* row_of(std::vector<double>& x, int row, int columns) { return x.data() + at(row) * at(columns); }

std::vector<double> squares_of(const std::vector<double>& x) {
  std::vector<double> y(x.size());
  std::ranges::transform(x, y.begin(), square);
  return y;
}

/// Factor of q.k in the scores.
double factor_of(const GradientVariant& v) {
  const double divisor = v.stored.divisor ? round(*v.stored.divisor, 1 / v.scale) : 0;
  return divisor != 0 && std::isfinite(divisor) ? 1 / divisor : v.scale;
}

/// Computes scores, and t = S / softcap before ALiBi's bias.
class Scores {
 public:
  explicit Scores(const GradientVariant& v) : v_(v), scale_(factor_of(v)), mask_(v.mask ? v.mask->view() : MaskView{}) {}

  /// Distance between the two scores that kernels may store if q.k is uncertain by +-`unsure`.
  double step(double product, double unsure) const {
    if (!v_.stored.products && !v_.stored.scores) return 0;
    return std::abs(scaled(product + unsure) - scaled(product - unsure));
  }
  double of(double product, int row, int key, double& t) const {
    double s = scaled(product);
    if (v_.softcap != 0) {
      t = std::tanh(s / v_.softcap);
      s = v_.softcap * t;
    }
    if (v_.alibi != 0) {
      s -= v_.alibi * std::abs(static_cast<double>(row) + v_.diagonal - key);
      if (v_.stored.biased) s = round(*v_.stored.biased, s);
    }
    return mask_.terms == nullptr ? s : s + mask_.term(row, key);
  }
  /// exp(S - m), rounded as a softmax may store it; `sum` does the same for l.
  double weight(double score, double max) const {
    const double x = score - max;
    return v_.stored.softmax ? round(*v_.stored.softmax, std::exp(round(*v_.stored.softmax, x))) : std::exp(x);
  }
  StoredSum sum(double l, double squares) const {
    return v_.stored.softmax ? stored_sum(*v_.stored.softmax, l, squares) : StoredSum{l, 0};
  }
  bool stores_softmax() const { return v_.stored.softmax.has_value(); }

 private:
  double scaled(double product) const {
    const double s = (v_.stored.products ? round(*v_.stored.products, product) : product) * scale_;
    return v_.stored.scores ? round(*v_.stored.scores, s) : s;
  }

  const GradientVariant& v_;
  double scale_;
  MaskView mask_;
};

/// Writes q.k of a row with the keys to `out`, indexed by key.
void row_products(const std::vector<double>& x, const std::vector<double>& y_columns, int row, int columns, int n_k, int used,
                  Keys keys, double* out) {
  std::fill(out + keys.first, out + keys.end, 0.0);
  add_weighted_rows(y_columns.data() + keys.first, row_of(x, row, columns), used, keys.end - keys.first, n_k, out + keys.first);
}

/// Values of one pair of a query and a key.
struct Pair {
  double p, dp, y, ds, f;  ///< y is dS without the soft cap's factor f
};
Pair pair_of(const GradientVariant& v, const Scores& scores, int row, int key, double product, double dp, double delta) {
  double t = 0;
  const double lowest = v.lowest[at(row)], s = scores.of(product, row, key, t) - lowest, lse = v.lse[at(row)];
  Pair x{.p = std::isfinite(lse) ? std::exp(s - lse) : 0, .dp = dp, .y = 0, .ds = 0, .f = 1};
  if (scores.stores_softmax() && x.p > 0) x.p = scores.weight(s, v.max[at(row)]) * std::exp(v.max[at(row)] - lse);
  if (v.softcap != 0 && v.has_cap_factor) x.f = 1 - t * t;
  x.y = x.p * (dp - delta);
  x.ds = x.y * x.f;
  return x;
}

/// One pass over panels of rows.
class Pass {
 public:
  Pass(const GradientOperands& x, const GradientVariant& v, const GradientRows& rows, const GradientRounding& r,
       ExactGradients& out, const StopSign& stop)
      : x_(x), v_(v), rows_(rows), r_(r), out_(out), stop_(stop) {
    const auto size = at(std::max(panel, query_tile(shape_.n))) * at(shape_.n_k);
    for (std::vector<double>* part : {&p_, &ds_, &p_error_, &ds_error_}) part->resize(size);
    for (Matrix* m : {&out.dq, &out.dq_error}) *m = {shape_.n, shape_.d, std::vector<double>(at(shape_.n) * at(shape_.d))};
    for (Matrix* m : {&out.dk, &out.dk_error}) *m = {shape_.n_k, shape_.d, std::vector<double>(at(shape_.n_k) * at(shape_.d))};
    for (Matrix* m : {&out.dv, &out.dv_error})
      *m = {shape_.n_k, shape_.d_v, std::vector<double>(at(shape_.n_k) * at(shape_.d_v))};
  }

  bool run(const RowsSeen& seen) {
    const bool tiles = r_.stores_tiles || v_.rounds_tiles;
    const int height = tiles ? query_tile(shape_.n) : panel, panels = (shape_.n - 1) / height + 1;
    for (int k = 0; k < panels; ++k) {
      stop_.check();
      const int first = (tiles ? k : panels - 1 - k) * height, end = std::min(first + height, shape_.n);
      parallel_for(first, end, [&](int row) { do_row(row, row - first); });
      if (seen && !seen(first, end, out_)) return false;
      parallel_for(0, (shape_.n_k + 15) / 16, [&](int block) { do_keys(16 * block, first, end - first); });
    }
    finish(out_.dk, out_.dk_error, v_.scale, shape_.n);
    finish(out_.dv, out_.dv_error, 1, shape_.n);
    return true;
  }

 private:
  /// Expected errors of P and of delta; wrong values have rounding errors relative to their own size.
  std::pair<double, double> row_errors(int row) const {
    const std::size_t i = at(row);
    const double of_lse = std::isfinite(rows_.lse[i]) ? of_sums * std::abs(v_.lse[i] - rows_.lse[i]) : 0;
    const double of_delta = 4 * of_sums * (v_.delta[i] - rows_.delta[i]);
    return {rows_.relative[i] + of_lse, std::hypot((v_.delta_error.empty() ? rows_.delta_error : v_.delta_error)[i], of_delta)};
  }

  /// rowsum(P*dP) - dL from the products with the keys, and its expected error.
  std::pair<double, double> summed_delta(int row, Keys keys, const std::vector<double>& s, const std::vector<double>& dp,
                                         double relative) const {
    double sum = x_.d_lse.empty() ? 0 : -x_.d_lse[at(row)], spread = 0;
    for (int j = keys.first; j < keys.end; ++j) {
      const double p = pair_of(v_, scores_, row, j, s[at(j)], 0, 0).p, x = p * dp[at(j)];
      sum += x;
      spread += (square(relative) + square(of_D_)) * square(x);
      spread += square(p * of_sums * x_.d_o_length[at(row)] * x_.v_length[at(j)]);
    }
    return {sum, std::sqrt(spread + (keys.end - keys.first) * square(of_sums * sum))};
  }

  void do_row(int row, int place) {
    double *const p = row_of(p_, place, shape_.n_k), *const ds = row_of(ds_, place, shape_.n_k),
                  *const p_error = row_of(p_error_, place, shape_.n_k), *const ds_error = row_of(ds_error_, place, shape_.n_k);
    for (double* part : {p, ds, p_error, ds_error}) std::fill_n(part, shape_.n_k, 0.0);
    const Keys keys = v_.keys(row);
    if (keys.empty()) return;
    const int count = keys.end - keys.first, dp_columns = v_.dp_columns > 0 ? v_.dp_columns : shape_.d_v;
    std::vector<double> s(at(shape_.n_k)), dp(at(shape_.n_k)), of_dq(at(shape_.n_k)), of_delta(at(shape_.n_k));
    row_products(x_.tensors->q, x_.k_columns, row, shape_.d, shape_.n_k, shape_.d, keys, s.data());
    row_products(*x_.d_o, x_.v_columns, row, shape_.d_v, shape_.n_k, dp_columns, keys, dp.data());
    const auto [relative, of_delta_O] = row_errors(row);
    auto [delta, delta_error] =
        v_.sums_delta ? summed_delta(row, keys, s, dp, relative) : std::pair{v_.delta[at(row)], of_delta_O};
    if (r_.stored.softmax) delta_error = std::hypot(delta_error, of_D_ * delta);  // rowsum(P*dP) is stored
    for (int j = keys.first; j < keys.end; ++j) {
      const std::size_t key = at(j);
      const Pair x = pair_of(v_, scores_, row, j, s[key], dp[key], delta);
      double error =
          square(relative * x.ds) + square(least_) + square(x.p * x.f * of_sums * x_.d_o_length[at(row)] * x_.v_length[key]);
      if (v_.softcap != 0) error += square(of_sums * x.y);
      if (r_.stores_dP) error += square(of_D_ * x.p * x.f * x.dp) + square(of_D_ * x.ds);
      if (r_.stored.softmax) error += square(of_D_ * x.p * delta);  // dS is P*dP - P*delta, each stored
      const double step = scores_.step(s[key], of_sums * x_.q_length[at(row)] * x_.k_length[key]);
      error += square(step * x.ds);
      const double dq = v_.dq_count ? v_.dq_count(row, j) : 1, dk = v_.dk_count ? v_.dk_count(row, j) : 1,
                   dv = v_.dv_count ? v_.dv_count(row, j) : 1;
      const double in_P = v_.products ? round(*v_.products, x.p) : x.p, in_dS = v_.products ? round(*v_.products, x.ds) : x.ds;
      p[key] = dv * in_P;
      ds[key] = dk * in_dS;
      p_error[key] = square(dv) * (square(relative * x.p) + square(step * x.p) + square(least_));
      ds_error[key] = square(dk) * (error + square(x.p * x.f * delta_error));
      of_dq[key] = dq * in_dS;
      s[key] = square(dq) * error;
      of_delta[key] = dq * x.p * x.f;
    }
    std::vector<double> along(at(shape_.d));
    double *const out = row_of(out_.dq.values, row, shape_.d), *const spread = row_of(out_.dq_error.values, row, shape_.d);
    add_weighted_rows(row_of(x_.tensors->k, keys.first, shape_.d), of_dq.data() + keys.first, count, shape_.d, shape_.d, out);
    add_weighted_rows(row_of(x_.k_squares, keys.first, shape_.d), s.data() + keys.first, count, shape_.d, shape_.d, spread);
    add_weighted_rows(row_of(x_.tensors->k, keys.first, shape_.d), of_delta.data() + keys.first, count, shape_.d, shape_.d,
                      along.data());
    const double factor = v_.scale, sums = of_sums * std::sqrt(static_cast<double>(count));
    for (int c = 0; c < shape_.d; ++c) {
      out[c] *= factor;
      spread[c] = std::sqrt(square(factor) * (spread[c] + square(delta_error * along[at(c)])) + square(sums * out[c]));
      if (r_.stores_tiles)
        spread[c] = std::hypot(spread[c], ulp(r_.format, out[c]) * std::sqrt((count - 1) / key_tile_of_cpu / 12.0));
    }
  }

  /// Adds a panel of rows to 16 keys.
  void do_keys(int first_key, int first_row, int rows) {
    std::vector<double> factor(at(rows));
    const auto add = [&](const std::vector<double>& pairs, int key, const std::vector<double>& x, int columns, Matrix& out) {
      int first = rows, end = 0;
      for (int i = 0; i < rows; ++i) {
        factor[at(i)] = pairs[at(i) * at(shape_.n_k) + at(key)];
        if (factor[at(i)] != 0) {
          first = std::min(first, i);
          end = i + 1;
        }
      }
      if (first < end)
        add_weighted_rows(row_of(x, first_row + first, columns), factor.data() + first, end - first, columns, columns,
                          row_of(out.values, key, columns));
    };
    for (int key = first_key; key < std::min(first_key + 16, shape_.n_k); ++key) {
      add(ds_, key, x_.tensors->q, shape_.d, out_.dk);
      add(ds_error_, key, x_.q_squares, shape_.d, out_.dk_error);
      add(p_, key, *x_.d_o, shape_.d_v, out_.dv);
      add(p_error_, key, x_.d_o_squares, shape_.d_v, out_.dv_error);
      if (!(v_.rounds_tiles || r_.stores_tiles) || (first_row + rows == shape_.n && !v_.goes_on)) continue;
      store_tile(out_.dk, out_.dk_error, key, v_.scale, v_.dk_before);
      store_tile(out_.dv, out_.dv_error, key, 1, v_.dv_before);
    }
  }

  /// Rounds the current sum, or adds the expected error of its rounding.
  void store_tile(Matrix& out, Matrix& spread, int key, double factor, const Matrix* before) const {
    for (int c = 0; c < out.cols; ++c) {
      double& x = row_of(out.values, key, out.cols)[c];
      const double y = before != nullptr ? (*before)(key, c) : 0, sum = y + x * factor;
      if (v_.rounds_tiles) x = (round(r_.format, sum) - y) / factor;
      if (r_.stores_tiles) row_of(spread.values, key, out.cols)[c] += square(ulp(r_.format, sum) / factor) / 12;
    }
  }

  static void finish(Matrix& out, Matrix& spread, double factor, int terms) {
    const double sums = of_sums * std::sqrt(static_cast<double>(terms));
    for (std::size_t i = 0; i < out.values.size(); ++i) {
      out.values[i] *= factor;
      spread.values[i] = std::sqrt(square(factor) * spread.values[i] + square(sums * out.values[i]));
    }
  }

  const GradientOperands& x_;
  const GradientVariant& v_;
  const GradientRows& rows_;
  const GradientRounding& r_;
  ExactGradients& out_;
  const StopSign& stop_;
  AttentionShape shape_ = x_.shape();
  Scores scores_{v_};
  double least_ = ulp(r_.format, 0.0) / 2;                   ///< smallest error of a stored P or dS
  double of_D_ = std::max(epsilon(r_.format) / 2, of_sums);  ///< relative error of a stored P or dS
  std::vector<double> p_, ds_, p_error_, ds_error_;          ///< of one panel, panel x n_k; the errors are squared
};

/// Sets row i of delta and of its expected error. `spread` is the sum of squares of P times the length of V.
void set_delta(GradientRows& r, int i, double spread, const GradientOperands& x, const GradientRounding& rounding) {
  const int d_v = x.shape().d_v;
  const double *const o = row_of(r.o.values, i, d_v), *const d_o = row_of(*x.d_o, i, d_v);
  double delta = 0, stored = 0, length = 0;
  for (int c = 0; c < d_v; ++c) {
    delta += d_o[c] * o[c];
    length += square(o[c]);
    stored += square(d_o[c] * ulp(rounding.stored_o, o[c])) / 12;
  }
  r.delta[at(i)] = delta - (x.d_lse.empty() ? 0 : x.d_lse[at(i)]);
  r.delta_error[at(i)] = std::sqrt(square(r.relative[at(i)] * x.d_o_length[at(i)]) * spread / d_v + stored +
                                   square(of_sums * x.d_o_length[at(i)]) * length);
}

}  // namespace

GradientOperands gradient_operands(std::shared_ptr<const Tensors> tensors, std::shared_ptr<const std::vector<double>> d_o,
                                   std::vector<double> d_lse) {
  const Tensors& t = *tensors;
  GradientOperands x{.tensors = tensors, .d_o = d_o, .d_lse = std::move(d_lse)};
  x.k_columns = by_columns(t.k, t.n_k, t.d);
  x.v_columns = by_columns(t.v, t.n_k, t.d_v);
  x.q_squares = squares_of(t.q);
  x.k_squares = squares_of(t.k);
  x.d_o_squares = squares_of(*d_o);
  x.q_length = row_lengths(t.q, t.d);
  x.k_length = row_lengths(t.k, t.d);
  x.v_length = row_lengths(t.v, t.d_v);
  x.d_o_length = row_lengths(*d_o, t.d_v);
  return x;
}

GradientRows gradient_rows(const GradientOperands& x, const Problem& problem, const GradientRounding& rounding,
                           const StopSign& stop) {
  const AttentionShape shape = x.shape();
  const double of_P = std::max(epsilon(rounding.format) / 2, of_sums);
  const std::vector<double> largest = largest_scores(problem, *x.tensors);
  const auto n = at(shape.n);
  GradientRows r{.o = {shape.n, shape.d_v, std::vector<double>(n * at(shape.d_v))},
                 .max = std::vector<double>(n, -infinity),
                 .lse = std::vector<double>(n, -infinity),
                 .lowest = std::vector<double>(n),
                 .delta = std::vector<double>(n),
                 .relative = std::vector<double>(n, of_P),
                 .delta_error = std::vector<double>(n),
                 .stored = rounding.stored};
  GradientVariant right = right_gradient(problem, r);
  right.stored = rounding.forward.value_or(rounding.stored);
  const Scores scores(right);
  parallel_for(0, shape.n, [&](int i) {
    stop.check();
    const Keys keys = visible_keys(problem, i);
    if (keys.empty()) return;
    std::vector<double> s(at(shape.n_k));
    row_products(x.tensors->q, x.k_columns, i, shape.d, shape.n_k, shape.d, keys, s.data());
    std::vector<double> steps(at(shape.n_k));
    for (int j = keys.first; rounding.forward && j < keys.end; ++j)
      steps[at(j)] = scores.step(s[at(j)], of_sums * x.q_length[at(i)] * x.k_length[at(j)]);
    double m = -infinity, l = 0, squares = 0, spread = 0, moved = 0, t = 0;
    for (int j = keys.first; j < keys.end; ++j) m = std::max(m, s[at(j)] = scores.of(s[at(j)], i, j, t));
    if (mask_view(problem).terms != nullptr && m < -0x1p24) r.lowest[at(i)] = m;
    if (problem.sink) l = std::exp(*problem.sink - m);
    for (int j = keys.first; j < keys.end; ++j) {
      l += s[at(j)] = scores.weight(s[at(j)], m);
      squares += square(s[at(j)]);
    }
    const StoredSum sum = scores.sum(l, squares);
    l = sum.l;
    for (int j = keys.first; j < keys.end; ++j) {
      s[at(j)] /= l;
      spread += square(s[at(j)] * x.v_length[at(j)]);
      moved += s[at(j)] * steps[at(j)];
    }
    add_weighted_rows(row_of(x.tensors->v, keys.first, shape.d_v), s.data() + keys.first, keys.end - keys.first, shape.d_v,
                      shape.d_v, row_of(r.o.values, i, shape.d_v));
    r.max[at(i)] = m - r.lowest[at(i)];
    r.lse[at(i)] = r.max[at(i)] + std::log(l);
    r.relative[at(i)] = of_P + of_sums * (4 + largest[at(i)] + term_size(mask_view(problem), i, keys)) + sum.step + moved;
    set_delta(r, i, spread, x, rounding);
  });
  return r;
}

GradientVariant right_gradient(const Problem& p, const GradientRows& rows) {
  return {.scale = scale_of(p),
          .keys = [p](int row) { return visible_keys(p, row); },
          .softcap = p.softcap,
          .alibi = p.alibi,
          .diagonal = diagonal(p),
          .mask = p.input.kind == InputKind::tensors && p.input.tensors ? p.input.tensors->mask : nullptr,
          .max = rows.max,
          .lse = rows.lse,
          .lowest = rows.lowest,
          .delta = rows.delta,
          .stored = rows.stored,
          .sums_delta = rows.stored.softmax.has_value()};
}

bool exact_gradients(const GradientOperands& x, const GradientVariant& variant, const GradientRows& rows,
                     const GradientRounding& rounding, ExactGradients& out, const StopSign& stop, const RowsSeen& seen) {
  return Pass(x, variant, rows, rounding, out, stop).run(seen);
}

PairNumbers pairs_of(const GradientOperands& x, const GradientVariant& v, int fixed, bool is_query) {
  const AttentionShape shape = x.shape();
  const int count = is_query ? shape.n_k : shape.n;
  PairNumbers numbers{std::vector<double>(at(count)), std::vector<double>(at(count))};
  const Scores scores(v);
  for (int other = 0; other < count; ++other) {
    const int row = is_query ? fixed : other, key = is_query ? other : fixed;
    if (!v.keys(row).contains(key)) continue;
    double s = 0, dp = 0;
    for (int c = 0; c < shape.d; ++c) s += row_of(x.tensors->q, row, shape.d)[c] * row_of(x.tensors->k, key, shape.d)[c];
    for (int c = 0; c < shape.d_v; ++c) dp += row_of(*x.d_o, row, shape.d_v)[c] * row_of(x.tensors->v, key, shape.d_v)[c];
    const Pair pair = pair_of(v, scores, row, key, s, dp, v.delta[at(row)]);
    numbers.p[at(other)] = pair.p;
    numbers.ds[at(other)] = pair.ds;
  }
  return numbers;
}

SinkGradient sink_gradient(const Problem& problem, const GradientRows& rows) {
  SinkGradient sum;
  double spread = 0;
  if (!problem.sink) return sum;
  for (std::size_t i = 0; i < rows.lse.size(); ++i) {
    if (!std::isfinite(rows.lse[i])) continue;
    const double p = std::exp(*problem.sink - rows.lse[i]);
    sum.value -= p * rows.delta[i];
    spread += square(p * rows.delta_error[i]) + square(of_sums * (4 + std::abs(rows.lse[i])) * p * rows.delta[i]);
  }
  sum.error = std::sqrt(spread + square(of_sums * sum.value) * static_cast<double>(rows.lse.size()));
  return sum;
}

}  // namespace attoscope
