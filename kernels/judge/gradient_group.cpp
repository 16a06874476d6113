#include "kernels/judge/gradient_group.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "kernels/backward/backward.h"
#include "kernels/cpu/simulate.h"
#include "kernels/experiment/rules.h"
#include "kernels/judge/wrong_output.h"
#include "kernels/slips/softmax_variant.h"

namespace attoscope {
namespace {

/// dO rounded to D, as the kernel loads it, and 0 in rows without keys, since 0 times a NaN would be NaN.
std::shared_ptr<const std::vector<double>> seen_d_o(const Format& format, const Problem& p, const std::vector<double>& x) {
  std::vector<double> y = x;
  const auto columns = static_cast<std::ptrdiff_t>(value_columns(p));
  for (double& z : y) z = round(format, z);
  for (int row = 0; row < p.n; ++row)
    if (visible_keys(p, row).empty()) std::fill_n(y.begin() + row * columns, columns, 0.0);
  return std::make_shared<const std::vector<double>>(std::move(y));
}

/// Q and K, each multiplied by the scale's root, rounded, and divided by the root again.
std::shared_ptr<const Tensors> on_roots(const Format& format, const Problem& p, Tensors t) {
  const double root = std::sqrt(scale_of(p));
  for (std::vector<double>* x : {&t.q, &t.k})
    for (double& y : *x) y = round(format, y * root) / root;
  return std::make_shared<const Tensors>(std::move(t));
}

void add(Matrix& sum, const Matrix& x) {
  for (std::size_t i = 0; i < sum.values.size(); ++i) sum.values[i] += x.values[i];
}

/// Adds one head's squared errors to the sum, and the squared error of its cast.
void add_error(Matrix& sum, const Matrix& error, const Matrix& x, const Format* cast) {
  for (std::size_t i = 0; i < sum.values.size(); ++i) {
    const double step = cast ? ulp(*cast, x.values[i]) : 0, e = error.values[i];
    sum.values[i] += e * e + step * step / 12;
  }
}

/// Raises the bounds to the errors of a rival, and `found` to its largest error and its root mean square error over the
/// expected error.
void take_errors(const Matrix& rival, const Matrix& golden, const Matrix& error, const Format& stored, GradientBounds& bounds,
                 RivalError& found) {
  double sum = 0;
  for (int i = 0; i < golden.rows; ++i) {
    double row = 0;
    for (int c = 0; c < golden.cols; ++c) {
      const double y = rival(i, c), w = error(i, c) + 1e-300, step = ulp(stored, golden(i, c));
      const double off = std::abs(y - golden(i, c));
      bounds.factor[at(i)] = std::max(bounds.factor[at(i)], off / w);
      const double z = (round(stored, y) - golden(i, c)) / (std::sqrt(w * w + step * step / 12) + 1e-300);
      row += z * z;
      found.max_abs = std::max(found.max_abs, off);
    }
    bounds.row[at(i)] = std::max(bounds.row[at(i)], std::sqrt(row / golden.cols));
    sum += row;
  }
  const double whole = std::sqrt(sum / std::max<double>(1, static_cast<double>(golden.values.size())));
  found.whole = std::max(found.whole, whole);
  found.rms = found.whole;
  bounds.whole = std::max(bounds.whole, margins.whole * whole);
}

GradientBounds first_bounds(int rows) { return {std::vector<double>(at(rows), 1), std::vector<double>(at(rows), 1)}; }

/// Sets each row's bound to its own or, if larger, to the one that nine of ten rows meet; applies the margin.
void settle(GradientBounds& b) {
  const auto widen = [](std::vector<double>& bounds, double margin) {
    const double usual = usual_of(bounds);
    for (double& x : bounds) x = margin * std::max(x, usual);
  };
  widen(b.factor, margins.element);
  widen(b.row, margins.row);
}

constexpr int most_samples = 8, most_blocks = 64, smallest_block = 16;

/// Running sums over blocks of a sum's terms, and the error of the given sum, for several rows.
struct Sums {
  std::vector<std::vector<double>> up_to;  ///< [block + 1][row][column]
  std::vector<double> error;
};

/// Adds the terms of one row: terms[x] times row x of `numbers`.
void add_terms(Sums& sums, std::size_t place, int columns, int block, const std::vector<double>& terms,
               const std::vector<double>& numbers) {
  for (std::size_t b = 1; b < sums.up_to.size(); ++b) {
    const int first = static_cast<int>(b - 1) * block, end = std::min(first + block, static_cast<int>(terms.size()));
    for (int x = first; x < end; ++x)
      for (int c = 0; c < columns; ++c) sums.up_to[b][place + at(c)] += terms[at(x)] * numbers[at(x) * at(columns) + at(c)];
  }
}

/// The run of blocks whose sum is nearest to the error or to its negative.
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
        lost += (sums.error[i] + part) * (sums.error[i] + part);
        twice += (sums.error[i] - part) * (sums.error[i] - part);
      }
      if (std::min(lost, twice) >= least * (1 - 1e-9)) continue;
      least = std::min(lost, twice);
      best = {static_cast<int>(a) * block, std::min(static_cast<int>(b) * block, count), lost < twice ? 0.0 : 2.0};
    }
  return best;
}

}  // namespace

GradientGroup::GradientGroup(const JudgedGradients& given, const GradientFamily::Form& form, const StopSign& stop)
    : given_(given), stop_(stop) {
  for (std::size_t h = 0; h < given.heads.size(); ++h) {
    problems_.push_back(given.problem_of(h));
    problems_.back().input = {.kind = InputKind::tensors, .file = "q,k,v", .index = 0, .digest = 1, .tensors = given.heads[h]};
  }
  round_like(form);
}

void GradientGroup::round_like(const GradientFamily::Form& form) {
  form_ = form;
  operands_.clear();
  rows_.clear();
  for (std::size_t h = 0; h < given_.heads.size(); ++h) {
    const Tensors& t = *given_.heads[h];
    const Rounding in_D = to_format(given_.format);  // NaN that no query keeps becomes 0
    std::shared_ptr<const Tensors> seen =
        as_tensors(attoscope::operands<double>(t, in_D, given_.format, 0, stop_), t.shape(), stop_);
    if (form.scales_both) seen = on_roots(given_.format, problems_[h], *seen);
    operands_.push_back(gradient_operands(seen, seen_d_o(given_.format, problems_[h], *given_.d_o[h]),
                                          given_.d_lse.empty() ? std::vector<double>{} : given_.d_lse[h]));
    rows_.push_back(gradient_rows(operands_.back(), problems_[h], rounding(), stop_));
  }
  changed({}, golden_, false);
}

bool GradientGroup::has(GradientTensor t) const {
  if (t == GradientTensor::dsink) return given_.dsink.has_value() && problem(0).sink.has_value();
  return !given_.of(t).values.empty();
}

void GradientGroup::sum_heads(GroupGradients& x) const {
  x.dk = x.heads[0].dk;
  x.dv = x.heads[0].dv;
  x.dk_error = x.heads[0].dk_error;
  x.dv_error = x.heads[0].dv_error;
  if (heads() == 1) return;
  for (Matrix* m : {&x.dk, &x.dv, &x.dk_error, &x.dv_error}) std::ranges::fill(m->values, 0.0);
  const bool casts = !rounding().stores_tiles;
  for (const ExactGradients& h : x.heads) {
    add(x.dk, h.dk);
    add(x.dv, h.dv);
    add_error(x.dk_error, h.dk_error, h.dk, casts ? &given_.dk.stored : nullptr);
    add_error(x.dv_error, h.dv_error, h.dv, casts ? &given_.dv.stored : nullptr);
  }
  for (Matrix* m : {&x.dk_error, &x.dv_error})
    for (double& y : m->values) y = std::sqrt(y);
}

/// Computes the gradients of a head on top of the sums of the heads before it.
bool GradientGroup::add_head(int head, const GradientOperands& x, GradientVariant v, const GradientRows& rows,
                             const GradientRounding& rounding, GroupGradients& out, const RowsSeen& seen) const {
  ExactGradients& found = out.heads[at(head)];
  if (head > 0) {
    v.dk_before = &out.dk;
    v.dv_before = &out.dv;
  }
  v.goes_on = head + 1 < heads();
  if (!exact_gradients(x, v, rows, rounding, found, stop_, seen)) return false;
  if (head == 0) {
    out.dk = found.dk;
    out.dv = found.dv;
  } else {
    add(out.dk, found.dk);
    add(out.dv, found.dv);
  }
  return true;
}

/// Adds the errors of sums that are rounded after every tile of queries.
void GradientGroup::store_tiles(int head, const Matrix& dk_before, const Matrix& dv_before, Gradients& g) const {
  GradientVariant v = right(head);
  v.rounds_tiles = true;
  v.goes_on = head + 1 < heads();
  v.dk_before = &dk_before;
  v.dv_before = &dv_before;
  ExactGradients stored;
  exact_gradients(operands(head), v, rows(head), rounding(), stored, stop_);
  const ExactGradients& kept = golden_.heads[at(head)];
  for (std::size_t i = 0; i < g.dk.values.size(); ++i) g.dk.values[i] += stored.dk.values[i] - kept.dk.values[i];
  for (std::size_t i = 0; i < g.dv.values.size(); ++i) g.dv.values[i] += stored.dv.values[i] - kept.dv.values[i];
}

void GradientGroup::take_rival(const GradientFamily::Rival& rival, RivalError& found) {
  Matrix dk = golden_.dk, dv = golden_.dv;
  std::ranges::fill(dk.values, 0.0);
  std::ranges::fill(dv.values, 0.0);
  for (int h = 0; h < heads(); ++h) {
    const GradientOperands& x = operands(h);
    Problem p = with_shape(problem(h), x.shape());
    p.input.tensors = x.tensors;
    Operands<float> q = attoscope::operands<float>(*x.tensors, exact, given_.format, p.seed, stop_);
    q.format = given_.format;
    Gradients g = gradients<float>(p, rival.forward, rival.backward, given_.format, q, {*x.d_o, x.d_lse}, stop_);
    if (rival.stores_tiles) store_tiles(h, dk, dv, g);
    if (rival.sums_after_cast && heads() > 1) {
      for (double& y : g.dk.values) y = round(given_.dk.stored, y);
      for (double& y : g.dv.values) y = round(given_.dv.stored, y);
    }
    take_errors(g.dq, golden_.heads[at(h)].dq, golden_.heads[at(h)].dq_error, given_.dq.stored, of_dq_[at(h)], found);
    add(dk, g.dk);
    add(dv, g.dv);
  }
  take_errors(dk, golden_.dk, golden_.dk_error, given_.dk.stored, of_dk_, found);
  take_errors(dv, golden_.dv, golden_.dv_error, given_.dv.stored, of_dv_, found);
}

std::vector<RivalError> GradientGroup::bound_by(const GradientFamily& family) {
  of_dq_.assign(at(heads()), first_bounds(shape().n));
  of_dk_ = of_dv_ = first_bounds(shape().n_k);
  std::vector<RivalError> all;
  for (const GradientFamily::Rival& rival : family.rivals) {
    all.push_back({.name = rival.name});
    take_rival(rival, all.back());
  }
  for (GradientBounds& b : of_dq_) settle(b);
  settle(of_dk_);
  settle(of_dv_);
  return all;
}

bool GradientGroup::row_fits(int head, int row, const ExactGradients& so_far) const {
  const std::vector<double>& values = given_.numbers_of(GradientTensor::dq, head);
  for (int c = 0; c < so_far.dq.cols; ++c) {
    const double y = values[at(row) * at(so_far.dq.cols) + at(c)], x = so_far.dq(row, c);
    const double size = std::max(std::abs(x), std::abs(y));
    if (!std::isfinite(size)) return false;
    const double allowed =
        of_dq_[at(head)].factor[at(row)] * so_far.dq_error(row, c) + ulp(given_.dq.stored, size) / 2 + 1e-300;
    if (!(std::abs(x - y) <= allowed)) return false;
  }
  return true;
}

bool GradientGroup::changed(const GradientChange& change, GroupGradients& out, bool checks_dq) const {
  out.heads.resize(at(heads()));
  const bool looks = checks_dq && has(GradientTensor::dq);
  for (int h = 0; h < heads(); ++h) {
    GradientVariant v = right(h);
    if (change) change(v, h);
    const auto fits = [&](int first, int end, const ExactGradients& so_far) {
      for (int row = first; row < end; ++row)
        if (!row_fits(h, row, so_far)) return false;
      return true;
    };
    if (!add_head(h, operands(h), v, rows(h), rounding(), out, looks ? RowsSeen(fits) : RowsSeen{})) return false;
  }
  sum_heads(out);
  return true;
}

void GradientGroup::changed_on(const std::vector<GradientOperands>& others, const GradientRounding& rounding,
                               const GradientChange& change, GroupGradients& out) const {
  out.heads.resize(at(heads()));
  for (int h = 0; h < heads(); ++h) {
    const GradientRows rows = gradient_rows(others[at(h)], problem(h), rounding, stop_);
    GradientVariant v = right_gradient(problem(h), rows);
    change(v, h);
    add_head(h, others[at(h)], v, rows, rounding, out, {});
  }
  sum_heads(out);
}

Tolerance GradientGroup::tolerance_of(const GroupGradients& expected, GradientTensor tensor, int head) const {
  const bool of_dq = tensor == GradientTensor::dq, of_dk = tensor == GradientTensor::dk;
  const GradientBounds& bounds = of_dq ? of_dq_[at(head)] : of_dk ? of_dk_ : of_dv_;
  Tolerance t;
  t.golden = expected.of(tensor, head);
  t.weight = of_dq ? expected.heads[at(head)].dq_error : of_dk ? expected.dk_error : expected.dv_error;
  t.factor = bounds.factor;
  t.row = bounds.row;
  t.whole = bounds.whole;
  t.at_first_sight.assign(bounds.factor.size(), 1);
  t.claim.format = given_.format;
  t.claim.stored = given_.of(tensor).stored;
  for (double& w : t.weight.values) w += 1e-300;
  return t;
}

TensorJudgement GradientGroup::judged(GradientTensor tensor, const GroupGradients& x) const {
  if (tensor == GradientTensor::dsink) return judged_sink();
  TensorJudgement worst{tensor, {}};
  for (int h = 0; h < (tensor == GradientTensor::dq ? heads() : 1); ++h) {
    HeadJudgement found = held_to(tolerance_of(x, tensor, h), given_.numbers_of(tensor, h), stop_);
    const bool worse =
        (worst.found.rounded && !found.rounded) || (worst.found.rounded == found.rounded && found.ratio > worst.found.ratio);
    if (h == 0 || worse) {
      worst.found = std::move(found);
      worst.head = h;
    }
  }
  return worst;
}

SinkGradient GradientGroup::sink(int head) const {
  SinkGradient all = sink_gradient(problem(head), rows(head));
  if (given_.dsink_of_others.empty()) return all;
  const SinkGradient& others = given_.dsink_of_others[at(head)];
  all.value += others.value;
  all.error = std::hypot(all.error, others.error);
  return all;
}

TensorJudgement GradientGroup::judged_sink() const {
  TensorJudgement worst{GradientTensor::dsink, {}};
  worst.found.rounded = true;
  for (int h = 0; h < heads(); ++h) {
    const SinkGradient expected = sink(h);
    const double got = (*given_.dsink)[at(h)], off = std::abs(got - expected.value);
    const double allowed = 4 * margins.element * expected.error + ulp(given_.format, expected.value) / 2;
    const double ratio = std::isfinite(got) ? off / allowed : infinity;
    ++worst.found.elements;
    worst.found.rounded = worst.found.rounded && ratio <= 1;
    worst.found.suspects += !(ratio <= 1);
    worst.found.nonfinite += !std::isfinite(got);
    if (ratio > worst.found.ratio) {
      worst.found.ratio = ratio;
      worst.head = h;
    }
    if (std::isfinite(got)) worst.found.max_abs = std::max(worst.found.max_abs, off);
  }
  return worst;
}

std::vector<TensorJudgement> GradientGroup::judged_all(const GroupGradients& expected) const {
  std::vector<TensorJudgement> all;
  for (const GradientTensor t : {GradientTensor::dq, GradientTensor::dk, GradientTensor::dv, GradientTensor::dsink})
    if (has(t)) all.push_back(judged(t, expected));
  return all;
}

void each_form(const JudgedGradients& given, const StopSign& stop, const FormSeen& seen,
               const std::optional<std::string>& only) {
  const auto is_meant = [&](const GradientFamily::Form& form) { return !only || form.as == *only; };
  for (const GradientFamily& family : gradient_families(given)) {
    if (std::ranges::none_of(family.forms, is_meant)) continue;
    GradientGroup group(given, family.forms[0], stop);
    const std::vector<RivalError> rivals = group.bound_by(family);
    for (const GradientFamily::Form& form : family.forms) {
      if (!is_meant(form)) continue;
      if (&form != &family.forms[0]) group.round_like(form);
      if (seen(group, form.as, rivals)) return;
    }
  }
}

std::optional<CountedRun> counted_run(const GradientGroup& group, const TensorJudgement& wrong) {
  const bool of_keys = wrong.tensor == GradientTensor::dq, of_dv = wrong.tensor == GradientTensor::dv;
  const AttentionShape s = group.shape();
  const int count = of_keys ? s.n_k : s.n, columns = of_dv ? s.d_v : s.d;
  const int block = smallest_block * ((count - 1) / (smallest_block * most_blocks) + 1), blocks = (count - 1) / block + 1;
  const std::vector<int> rows = spread_of(wrong.found.wrong_rows, most_samples);
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
      PairNumbers pairs = pairs_of(x, v, rows[k], of_keys);
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
