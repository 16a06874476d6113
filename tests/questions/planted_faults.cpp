#include "tests/questions/planted_faults.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "tests/questions/planted_loop.h"

namespace attoscope::planted {

Values Loop::run() const {
  Values o;
  for (int i = 0; i < t.n; ++i) add_row(i, o);
  return o;
}

void Loop::add_row(int i, Values& o) const {
  const double sink = p.sink.value_or(-infinity);
  double m = -infinity, l = 0;
  Values row(at(t.d_v), 0.0);
  if (first_O != 0)
    for (int c = 0; c < t.d_v; ++c) row[at(c)] = first_O * (1 + 0.25 * (c % 3));
  for (int first = 0; first < t.n_k; first += tile) {
    const int end = std::min(t.n_k, first + tile);
    Values s;
    for (int j = first; j < end; ++j) {
      const bool seen = sees ? sees(i, j) : right_sees(i, j);
      s.push_back(seen ? (S ? S(i, j) : right_S(i, j)) : -infinity);
    }
    const double top = std::max(m, *std::ranges::max_element(s));
    if (top == -infinity) continue;
    const double alpha = m == -infinity ? 1 : exp(m - top);
    const double of_O = alpha_of_O ? alpha_of_O(i, first / tile, alpha) : alpha,
                 of_l = alpha_of_l ? alpha_of_l(i, first / tile, alpha) : alpha;
    l *= of_l, m = top;
    for (double& x : row) x *= of_O;
    for (int j = first; j < end; ++j) {
      if (s[at(j - first)] == -infinity) continue;
      const double e = exp(s[at(j - first)] - m);
      l += in_l ? in_l(i, j, e) : e;
      const double P = round_P(in_O ? in_O(i, j, e) : e);
      for (int c = 0; c < t.d_v; ++c) row[at(c)] += P * (value ? value(i, j, c) : t.v[at(j * t.d_v + c)]);
    }
    l = round_l(l);
    for (double& x : row) x = round_O(x);
  }
  if (p.sink) l += std::exp(sink - m);
  l = sum(i, l, m);
  for (const double x : row) o.push_back(m == -infinity ? 0 : x / l);
}

std::function<Call(std::uint64_t)> call_of(const Setting& s, const std::function<void(Call&)>& edit) {
  return [s, edit](std::uint64_t seed) {
    const AttentionShape shape{s.n, s.n_k > 0 ? s.n_k : s.n, s.d, s.d_v > 0 ? s.d_v : s.d};
    Call call;
    call.seed = seed;
    call.head = s.heads > 1 ? 1 : 0, call.f = s.f, call.stored = significand_bits(s.f) < 8 ? bf16 : s.f;
    for (int h = 0; h < s.heads; ++h) {
      Tensors t = drawn(shape, seed + 10 * static_cast<std::uint64_t>(h));
      for (double& x : t.q) x *= s.deviation;
      for (Values* x : {&t.q, &t.k, &t.v})
        for (double& y : *x) y = round(s.f, y);
      call.heads.push_back(std::move(t));
    }
    call.p = with_shape(Problem{}, shape);
    call.p.mask = s.mask;
    if (edit) edit(call);
    call.p.input = testing::given(call.own());
    call.p.input.index = call.head;
    return call;
  };
}

Call of_head(const Call& call, int head) {
  Call other = call;
  other.head = head;
  return other;
}

std::function<Values(const Call&)> loop(const std::function<void(Loop&, const Call&)>& edit) {
  return [edit](const Call& call) {
    auto x = std::make_shared<Loop>(call);
    edit(*x, call);
    return x->run();
  };
}

std::function<Values(const Call&)> written(const std::function<void(Values&, const Call&)>& edit) {
  return [edit](const Call& call) {
    Values o = correct_output(call);
    edit(o, call);
    return o;
  };
}

std::function<Values(const Call&)> rows_from(const std::function<int(int)>& from) {
  return written([from](Values& o, const Call& call) { o = moved(o, call.own().d_v, from); });
}

OtherHeads Call::others() const {
  if (heads.size() < 2) return {};
  OtherHeads others;
  others.count = static_cast<int>(heads.size());
  others.query_heads = query_heads, others.kv_heads = kv_heads;
  others.read = [all = heads](int h) { return std::make_shared<const Tensors>(all[static_cast<std::size_t>(h)]); };
  return others;
}

Values correct_output(const Call& call) { return Loop(call).run(); }

std::vector<PlantedFault> planted_faults() {
  std::vector<PlantedFault> all = faults_of_numbers();
  for (auto& more : {faults_of_keys(), faults_of_loops(), faults_of_places()}) all.insert(all.end(), more.begin(), more.end());
  return all;
}

}  // namespace attoscope::planted
