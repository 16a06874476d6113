#include <algorithm>
#include <cmath>
#include <memory>
#include <numbers>

#include "tests/questions/planted_gradients.h"

namespace attoscope::planted {
namespace {

Values drawn_values(int count, std::uint64_t seed) {
  testing::Dice dice(seed);
  Values x;
  for (int i = 0; i < count; ++i) x.push_back(std::round(dice.normal() * 64) / 64);
  return x;
}

/// One head of Q in the backward pass, in float, as kernels compute.
class PlainHead {
 public:
  PlainHead(const GradientCall& call, int head, GradientKind kind, const GradientMistake& mistake)
      : call_(call),
        p_(call.own.empty() ? call.p : call.own[at(head)]),
        t_(call.heads[at(head)]),
        d_o_(call.d_o[at(head)]),
        head_(head),
        kind_(kind),
        mistake_(mistake),
        o(at(t_.n * t_.d_v)),
        dq(at(t_.n * t_.d)),
        dk(at(t_.n_k * t_.d)),
        dv(at(t_.n_k * t_.d_v)) {
    const Problem right = p_;
    Problem other = right;
    if (mistake.of_head_0 != nullptr) other.*mistake.of_head_0 = call.own[0].*mistake.of_head_0;
    if (mistake.scale != 0) other.scale = mistake.scale;
    for (int i = 0; i < t_.n; ++i) {
      p_ = right;
      const PlantedRow r = forward(i);
      p_ = other;
      row(i, r);
      if (kind == GradientKind::generic_blas && i % 32 == 31) store_sums();
    }
    const float factor =
        kind == GradientKind::memory_efficient ? 1 : static_cast<float>(kind == GradientKind::roots ? root() : scale_of(p_));
    if (kind == GradientKind::roots)
      for (Values* x : {&dq, &dk})
        for (double& y : *x) y = to_D(y);
    for (double& x : dq) x = static_cast<float>(x) * static_cast<float>(factor * mistake.dq_factor);
    for (double& x : dk) x = static_cast<float>(x) * static_cast<float>(factor * mistake.dk_factor);
    for (double& x : dv) x *= mistake.dv_factor;
  }

 private:
  const GradientCall& call_;
  Problem p_;
  const Tensors& t_;
  const Values& d_o_;
  int head_;
  GradientKind kind_;
  const GradientMistake& mistake_;

 public:
  Values o, dq, dk, dv;
  double dsink = 0;

 private:
  double root() const { return std::sqrt(scale_of(p_)); }
  float to_D(double x) const { return static_cast<float>(round(call_.f, x)); }
  float operand(double x) const { return static_cast<float>(mistake_.tf32_products ? round(tf32, x) : x); }
  /// A number of Q or K as it enters products.
  float in_products(double x) const { return kind_ == GradientKind::roots ? to_D(x * root()) : operand(x); }
  float dot(const double* x, const double* y, int count) const {
    float sum = 0;
    for (int c = 0; c < count; ++c) sum = std::fma(operand(x[c]), operand(y[c]), sum);
    return sum;
  }
  /// True for kernels that round the scores and dP of the backward pass.
  bool rounds_backward() const { return is_eager(kind_) || kind_ == GradientKind::generic_blas; }
  /// Stores dK and dV in D, as after a tile of queries.
  void store_sums() {
    for (double& x : dk) x = to_D(x * scale_of(p_)) / scale_of(p_);
    for (double& x : dv) x = to_D(x);
  }
  /// The score of one of the passes, and the soft cap's derivative.
  float score(int i, int j, bool backward, bool caps, bool biases, float& derivative) const {
    float s = 0;
    const double *const q = &t_.q[at(i * t_.d)], *const k = &t_.k[at(j * t_.d)];
    if (kind_ == GradientKind::prescaled && backward && p_.softcap == 0) {
      for (int c = 0; c < t_.d; ++c) s = std::fma(operand(q[c]), to_D(k[c] * scale_of(p_) * std::numbers::log2e), s);
      s *= std::numbers::ln2_v<float>;
    } else {
      for (int c = 0; c < t_.d; ++c) s = std::fma(in_products(q[c]), in_products(k[c]), s);
      if (kind_ == GradientKind::generic_blas && !backward && call_.f == fp16) s = to_D(s);
      if (kind_ != GradientKind::roots) s *= static_cast<float>(scale_of(p_));
      if (is_eager(kind_) || (backward && rounds_backward())) s = to_D(s);
    }
    derivative = 1;
    if (p_.softcap != 0 && caps) {
      const float x = std::tanh(s / static_cast<float>(p_.softcap));
      s = static_cast<float>(p_.softcap) * x, derivative = 1 - x * x;
    }
    return biases ? s - static_cast<float>(p_.alibi * std::abs(i + diagonal(p_) - j)) : s;
  }

  bool right_sees(int i, int j) const {
    const Keys keys = visible_keys(p_, i);
    return j >= keys.first && j < keys.end;
  }

  PlantedRow forward(int i) {
    std::vector<float> s(at(t_.n_k));
    float unused, m = -std::numeric_limits<float>::infinity(), l = 0;
    for (int j = 0; j < t_.n_k; ++j)
      if (right_sees(i, j)) m = std::max(m, s[at(j)] = score(i, j, false, true, true, unused));
    PlantedRow r{.head = head_, .row = i, .o = &o[at(i * t_.d_v)], .d_o = &d_o_[at(i * t_.d_v)], .d_v = t_.d_v};
    if (!call_.d_lse.empty()) r.d_lse = call_.d_lse[at(head_)][at(i)];
    if (!std::isfinite(m)) {
      r.lse = -infinity;
      return r;
    }
    if (p_.sink) l = std::exp(static_cast<float>(*p_.sink) - m);
    std::vector<float> sum(at(t_.d_v));
    for (int j = 0; j < t_.n_k; ++j)
      if (right_sees(i, j)) l += std::exp(s[at(j)] - m);
    for (int j = 0; j < t_.n_k; ++j)
      if (right_sees(i, j)) {
        const float P = to_D(std::exp(s[at(j)] - m));
        for (int c = 0; c < t_.d_v; ++c) sum[at(c)] = std::fma(P, static_cast<float>(t_.v[at(j * t_.d_v + c)]), sum[at(c)]);
      }
    float delta = 0;
    for (int c = 0; c < t_.d_v; ++c) {
      o[at(i * t_.d_v + c)] = to_D(sum[at(c)] / l);
      delta = std::fma(static_cast<float>(o[at(i * t_.d_v + c)]), static_cast<float>(r.d_o[c]), delta);
    }
    r.m = m, r.l = l, r.lse = m + std::log(l), r.delta = delta - static_cast<float>(r.d_lse);
    return r;
  }

  void row(int i, const PlantedRow& r) {
    if (!std::isfinite(r.lse)) return;
    const float without_sink = p_.sink && !mistake_.sinks ? std::log(static_cast<float>(r.l - std::exp(*p_.sink - r.m))) : 0;
    const float lse = static_cast<float>(mistake_.lse                 ? mistake_.lse(r)
                                         : p_.sink && !mistake_.sinks ? r.m + without_sink
                                                                      : r.lse);
    std::vector<float> p(at(t_.n_k)), dp(at(t_.n_k)), f(at(t_.n_k));
    float from_p = 0;
    const auto sees = [&](int j) { return mistake_.sees ? mistake_.sees(call_, i, j) : right_sees(i, j); };
    for (int j = 0; j < t_.n_k; ++j) {
      if (!sees(j)) continue;
      p[at(j)] = std::exp(score(i, j, true, mistake_.caps, mistake_.biases, f[at(j)]) - lse);
      if (is_eager(kind_) || kind_ == GradientKind::memory_efficient) p[at(j)] = to_D(p[at(j)]);
      dp[at(j)] = dot(r.d_o, &t_.v[at(j * t_.d_v)], mistake_.dp_columns > 0 ? mistake_.dp_columns : t_.d_v);
      if (rounds_backward()) dp[at(j)] = to_D(dp[at(j)]);
      from_p = std::fma(p[at(j)], dp[at(j)], from_p);
    }
    float delta = static_cast<float>(mistake_.delta ? mistake_.delta(r) : r.delta);
    if (is_eager(kind_) && !mistake_.delta) delta = from_p - static_cast<float>(r.d_lse);
    if (p_.sink) dsink -= std::exp(*p_.sink - lse) * delta;
    for (int j = 0; j < t_.n_k; ++j) {
      if (!sees(j)) continue;
      float ds = p[at(j)] * (dp[at(j)] - delta) * (mistake_.cap_derivative && mistake_.caps ? f[at(j)] : 1);
      if (kind_ == GradientKind::memory_efficient) ds *= static_cast<float>(scale_of(p_));
      if (kind_ != GradientKind::fp32_inside) ds = to_D(ds), p[at(j)] = to_D(p[at(j)]);
      const auto in = [&](double x) { return in_products(x); };
      const auto plain = [&](double x) { return operand(x); };
      const auto count = [&](const auto& of) { return of ? static_cast<float>(of(i, j)) : 1; };
      add(ds * count(mistake_.in_dq), in, &t_.k[at(j * t_.d)], t_.d, &dq[at(i * t_.d)]);
      add(ds * count(mistake_.in_dk), in, &t_.q[at(i * t_.d)], t_.d, &dk[at(j * t_.d)]);
      add(p[at(j)] * count(mistake_.in_dv), plain, r.d_o, t_.d_v, &dv[at(j * t_.d_v)]);
    }
  }
  void add(float factor, const auto& as, const double* x, int count, double* sum) const {
    for (int c = 0; c < count; ++c) sum[c] = std::fma(operand(factor), as(x[c]), static_cast<float>(sum[c]));
  }
};

void add_to(Values& sum, const Values& x) {
  sum.resize(x.size());
  for (std::size_t i = 0; i < x.size(); ++i) sum[i] += x[i];
}

/// Exchanges dK or dV, or both, with another group of the call.
void exchange(JudgedGradients& g, JudgedGradients other, const GradientMistake& mistake) {
  if (mistake.exchanges_dk) std::swap(g.dk, other.dk);
  if (mistake.exchanges_dv) std::swap(g.dv, other.dv);
  g.others = {{1, [other](GradientTensor t) { return other.numbers_of(t, 0); }, [other] { return other; }}};
}

}  // namespace

GradientCall gradient_call(const CallSizes& sizes, const Mask& mask, const Format& f, std::uint64_t seed) {
  GradientCall call{.p = with_shape(Problem{}, sizes.shape), .heads = {}, .d_o = {}, .f = f};
  call.p.mask = mask;
  for (int h = 0; h < sizes.heads; ++h) {
    call.heads.push_back(drawn(sizes.shape, seed * 100 + static_cast<std::uint64_t>(h)));
    for (double& x : call.heads.back().q) x *= sizes.size;
    for (int i = 0; sizes.low > 0 && i < sizes.shape.n; ++i)
      call.heads.back().q[at(i * sizes.shape.d)] = i / 16 % 2 == 0 ? 8 : 16;
    for (int j = 0; sizes.low > 0 && j < sizes.shape.n_k; ++j)
      call.heads.back().k[at(j * sizes.shape.d)] = -std::round(sizes.low * std::sqrt(sizes.shape.d) / 8);
    if (h > 0) call.heads.back().k = call.heads[0].k, call.heads.back().v = call.heads[0].v;
    call.d_o.push_back(drawn_values(sizes.shape.n * sizes.shape.d_v, seed * 1000 + static_cast<std::uint64_t>(h)));
    if (sizes.of_dl) call.d_lse.push_back(drawn_values(sizes.shape.n, seed * 2000 + static_cast<std::uint64_t>(h)));
  }
  return call;
}

void take_own_numbers(GradientCall& call) {
  for (int h = 0; h < static_cast<int>(call.heads.size()); ++h) {
    call.own.push_back(call.p);
    Problem& p = call.own.back();
    p.scale = 0.125 * (1 + h % 3), p.softcap = h % 2 == 0 ? 4 : 0, p.alibi = 0.03 * (1 + h), p.sink = 1.5 - h;
  }
}

JudgedGradients gradients_of(const GradientCall& call, GradientKind kind, const GradientMistake& mistake) {
  JudgedGradients g;
  g.own = call.own;
  g.problem = call.own.empty() ? call.p : call.own[0], g.format = g.stored_o = call.f;
  Values dk, dv, dsink;
  const auto heads = static_cast<int>(call.heads.size());
  for (int h = 0; h < heads; ++h) {
    const PlainHead plain(call, h, kind, mistake);
    g.heads.push_back(std::make_shared<const Tensors>(call.heads[at(h)]));
    g.d_o.push_back(std::make_shared<const Values>(call.d_o[at(h)]));
    g.d_lse.push_back(call.d_lse.empty() ? Values{} : call.d_lse[at(h)]);
    g.o.push_back(std::make_shared<const Values>(plain.o));
    g.dq.values.push_back(stored(plain.dq, call.f));
    dsink.push_back(static_cast<float>(plain.dsink));
    const bool left_out = mistake.only_head >= 0 && h != mistake.only_head;
    if (!left_out || !mistake.in_group_dk) add_to(dk, plain.dk);
    if (!left_out || !mistake.in_group_dv) add_to(dv, plain.dv);
  }
  const double times = mistake.averages ? 1.0 / heads : mistake.sums_twice ? 2 : 1;
  for (double& y : dk) y *= mistake.in_group_dk ? times : 1;
  for (double& y : dv) y *= mistake.in_group_dv ? times : 1;
  g.dk.values = {stored(dk, call.f)}, g.dv.values = {stored(dv, call.f)};
  g.dq.stored = g.dk.stored = g.dv.stored = call.f;
  if (g.problem.sink) g.dsink = dsink;
  if (mistake.writes) mistake.writes(g);
  if (mistake.beside) exchange(g, gradients_of(*mistake.beside, kind), mistake);
  return g;
}

}  // namespace attoscope::planted
