#include "tests/questions/planted_faults.h"

#include <algorithm>
#include <cmath>
#include <numbers>
#include <utility>

namespace attoscope::planted {
namespace {

using Part = Values Tensors::*;

/// An online loop over tiles of keys, with steps that a fault can replace.
struct Loop {
  Tensors t;
  Problem p;
  Format f = bf16;
  int tile = 64;
  std::function<double(int i, int j)> S{};  ///< the scaled score, with cap and bias
  std::function<bool(int i, int j)> sees{};
  std::function<double(int i, int j, double e)> in_O{}, in_l{};  ///< the weight with which a key counts
  std::function<double(int i, int tile, double alpha)> alpha_of_O{}, alpha_of_l{};
  std::function<double(int i, int j, int c)> value{};
  std::function<double(double)> exp = [](double x) { return std::exp(x); };
  std::function<double(double)> round_l = [](double x) { return x; }, round_O = [](double x) { return x; };
  std::function<double(double)> round_P{};
  double first_O = 0;  ///< initial accumulator, before the first tile
  std::function<double(int i, double l, double m)> sum = [](int, double l, double) { return l; };

  explicit Loop(const Call& call) : t(call.own()), p(call.p), f(call.f) {
    const Format to = f;
    round_P = [to](double e) { return round(to, e); };
  }

  double dot(int i, int j) const {
    double s = 0;
    for (int c = 0; c < t.d; ++c) s += t.q[at(i * t.d + c)] * t.k[at(j * t.d + c)];
    return s;
  }
  int stands_at(int i) const { return i + diagonal(p); }
  double right_S(int i, int j) const {
    double s = dot(i, j) * scale_of(p);
    if (p.softcap != 0) s = p.softcap * std::tanh(s / p.softcap);
    return s - p.alibi * std::abs(stands_at(i) - j);
  }
  bool right_sees(int i, int j) const {
    const Keys keys = visible_keys(p, i);
    return j >= keys.first && j < keys.end;
  }

  Values run() const {
    Values o;
    for (int i = 0; i < t.n; ++i) add_row(i, o);
    return o;
  }

 private:
  void add_row(int i, Values& o) const {
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
};

struct Setting {
  int n = 240, d = 64;
  Mask mask{};
  int n_k = 0, d_v = 0, heads = 1;
  Format f = bf16;
  double deviation = 1;
};

std::function<Call(std::uint64_t)> call_of(const Setting& s, const std::function<void(Call&)>& edit = {}) {
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

/// The output of the loop that `edit` changes.
std::function<Values(const Call&)> loop(const std::function<void(Loop&, const Call&)>& edit) {
  return [edit](const Call& call) {
    auto x = std::make_shared<Loop>(call);
    edit(*x, call);
    return x->run();
  };
}
/// The right output, changed as it is written.
std::function<Values(const Call&)> written(const std::function<void(Values&, const Call&)>& edit) {
  return [edit](const Call& call) {
    Values o = correct_output(call);
    edit(o, call);
    return o;
  };
}
/// Rows of O taken from others.
std::function<Values(const Call&)> rows_from(const std::function<int(int)>& from) {
  return written([from](Values& o, const Call& call) {
    const Values before = o;
    const int d_v = call.own().d_v;
    for (int i = 0; i < call.own().n; ++i)
      for (int c = 0; c < d_v; ++c) o[at(i * d_v + c)] = from(i) < 0 ? 0 : before[at(from(i) * d_v + c)];
  });
}
Call of_head(const Call& call, int head) {
  Call other = call;
  other.head = head;
  return other;
}

/// Rows [first, end) of K, V or both from those that begin at `from` of other tensors.
void copy_keys(Tensors& t, int first, int end, const Tensors& other, int from, bool k, bool v) {
  for (int j = first; j < end; ++j) {
    for (int c = 0; k && c < t.d; ++c) t.k[at(j * t.d + c)] = other.k[at((from + j - first) * t.d + c)];
    for (int c = 0; v && c < t.d_v; ++c) t.v[at(j * t.d_v + c)] = other.v[at((from + j - first) * t.d_v + c)];
  }
}
/// Appends keys behind the last.
void append_keys(Tensors& t, const Tensors& other, int first, int count) {
  t.k.insert(t.k.end(), other.k.begin() + first * t.d, other.k.begin() + (first + count) * t.d);
  t.v.insert(t.v.end(), other.v.begin() + first * t.d_v, other.v.begin() + (first + count) * t.d_v);
  t.n_k += count;
}
/// 8 x 8 blocks transposed.
void transpose_blocks(Values& x, int rows, int columns) {
  const Values before = x;
  for (int i = 0; i < rows / 8 * 8; ++i)
    for (int c = 0; c < columns; ++c) x[at(i * columns + c)] = before[at((i / 8 * 8 + c % 8) * columns + c / 8 * 8 + i % 8)];
}

/// Rotary positions, in halves (GPT-NeoX) or interleaved (GPT-J), applied to all rows by `angle` times a column's frequency.
void rotate(Values& x, int rows, int d, bool interleaved, const std::function<double(int row)>& position, double base = 1e4) {
  for (int i = 0; i < rows; ++i)
    for (int pair = 0; pair < d / 2; ++pair) {
      const double angle = position(i) * std::pow(base, -2.0 * pair / d), c = std::cos(angle), s = std::sin(angle);
      double& a = x[at(i * d + (interleaved ? 2 * pair : pair))];
      double& b = x[at(i * d + (interleaved ? 2 * pair + 1 : pair + d / 2))];
      const double before = a;
      a = before * c - b * s, b = b * c + before * s;
    }
}
double own_position(int i) { return i; }

/// A call whose Q and K are rotated by their positions, in halves, and a kernel that rotates them itself, wrongly.
PlantedFault rope(const char* kind, const char* name, const std::function<void(Tensors& unrotated)>& wrongly, int n = 240) {
  const Setting s{.n = n, .mask = causal};
  return {kind, name, "",
          call_of(s,
                  [](Call& call) {
                    Tensors& t = call.heads[0];
                    rotate(t.q, t.n, t.d, false, own_position), rotate(t.k, t.n_k, t.d, false, own_position);
                    for (Values* x : {&t.q, &t.k})
                      for (double& y : *x) y = round(bf16, y);
                  }),
          [s, wrongly](const Call& call) {
            Loop x(call);
            Tensors t = call_of(s)(call.seed).own();
            wrongly(t);
            for (Values* part : {&t.q, &t.k})
              for (double& y : *part) y = round(bf16, y);
            x.t = t;
            return x.run();
          }};
}

constexpr Setting plain{}, several{.heads = 4};
Setting masked_by(Mask mask) { return {.mask = mask}; }

std::vector<PlantedFault> faults_of_numbers() {
  const auto scaled = [](double factor) {
    return loop([factor](Loop& x, const Call&) { x.S = [&x, factor](int i, int j) { return factor * x.right_S(i, j); }; });
  };
  const auto sink_of = [](double sink) { return loop([sink](Loop& x, const Call&) { x.p.sink = sink; }); };
  const auto has_sink = [](Call& call) { call.p.sink = 2; };
  const auto has_slope = [](Call& call) { call.p.alibi = 0.0625; };
  const Format e4m3_ = e4m3;
  return {
      {"ALiBi missing", "missing ALiBi", "", call_of(masked_by(causal), has_slope),
       loop([](Loop& x, const Call&) { x.p.alibi = 0; })},
      {"ALiBi slope of another head", "slope of 0.125", "", call_of(masked_by(causal), has_slope),
       loop([](Loop& x, const Call&) { x.p.alibi = 0.125; })},
      {"K's FP8 scale twice", "scores were multiplied|scale", "", call_of(plain), scaled(1.625)},
      {"K's and V's FP8 scales exchanged", "scores were multiplied by .*(output|O)|K's and V's", "", call_of(plain),
       loop([](Loop& x, const Call&) {
         x.S = [&x](int i, int j) { return 1.3 * x.right_S(i, j); };
         x.value = [&x](int, int j, int c) { return x.t.v[at(j * x.t.d_v + c)] / 1.3; };
       })},
      {"V's FP8 scale forgotten", "output .* times the truth|V's scale", "", call_of(plain),
       written([](Values& o, const Call&) { std::ranges::for_each(o, [](double& x) { x *= 3.5; }); })},
      {"FP8 scale of K of another head", "scores were multiplied", "", call_of(masked_by(causal)), scaled(1.3)},
      {"FP8 scale of V of another head", "output .* times the truth", "", call_of(masked_by(causal)),
       written([](Values& o, const Call&) { std::ranges::for_each(o, [](double& x) { x *= 0.8; }); })},
      {"MLA's scale", "1/sqrt\\((d_v|64)\\)", "", call_of({.d = 96, .d_v = 64}), scaled(std::sqrt(96.0 / 64))},
      {"scale 5 % too large", "scores were multiplied by 0.13", "", call_of(plain), scaled(1.05)},
      {"log2 e in bf16", "log2 e", "", call_of({.f = fp16, .deviation = 2}), scaled(1.4453125 / std::numbers::log2e)},
      {"sink scaled", "a sink of 0.25", "", call_of(masked_by(causal), has_sink), sink_of(0.25)},
      {"sink times log2 e", "a sink of 2.88", "", call_of(masked_by(causal), has_sink), sink_of(2 * std::numbers::log2e)},
      {"sink of another head", "a sink of 0.7", "", call_of(masked_by(causal), has_sink), sink_of(0.7)},
      {"sink in each of 4 splits", "sink .*4 (times|splits)", "", call_of(masked_by(causal), has_sink),
       sink_of(2 + std::log(4.0))},
      {"scores clamped at 1.5", "(clamped|at most|cut) .*1.5", "", call_of(plain),
       loop([](Loop& x, const Call&) { x.S = [&x](int i, int j) { return std::min(1.5, x.right_S(i, j)); }; })},
      {"FP8 P saturated", "P .*(saturat|clamp|at most)", "", call_of({.f = e4m3_}),
       loop([](Loop& x, const Call&) { x.in_O = [](int, int, double e) { return std::min(e, 0.4375); }; })},
      {"soft cap of 30 after the mask", "", "", call_of(masked_by(causal), [](Call& call) { call.p.softcap = 30; }),
       loop([](Loop& x, const Call&) {
         x.sees = [](int, int) { return true; };
         x.S = [&x](int i, int j) { return x.right_sees(i, j) ? x.right_S(i, j) : -30.0; };
       }),
       false},
      {"soft cap of 5 after the mask", "soft cap .*mask|hidden keys", "",
       call_of(masked_by(causal), [](Call& call) { call.p.softcap = 5; }), loop([](Loop& x, const Call&) {
         x.sees = [](int, int) { return true; };
         x.S = [&x](int i, int j) { return x.right_sees(i, j) ? x.right_S(i, j) : -5.0; };
       })},
      {"per-token FP8 scales of the neighbour, K", "(scale|scores) .*key|key.* (scale|scores)", "", call_of(plain),
       loop([](Loop& x, const Call&) {
         for (int j = 0; j < x.t.n_k; ++j)
           for (int c = 0; c < x.t.d; ++c) x.t.k[at(j * x.t.d + c)] *= 1 + 0.1 * ((j * 7 + 3) % 5 - 2);
       })},
      {"per-token FP8 scales ignored, K", "(scale|scores) .*key|key.* (scale|scores)", "", call_of(plain),
       loop([](Loop& x, const Call&) {
         for (int j = 0; j < x.t.n_k; ++j)
           for (int c = 0; c < x.t.d; ++c) x.t.k[at(j * x.t.d + c)] *= std::exp2(((j * 5 + 1) % 7 - 3) / 6.0);
       })},
      {"per-token FP8 scales of the neighbour, V", "(scale|value) .*key|key.* (scale|value|count)", "", call_of(plain),
       loop([](Loop& x, const Call&) {
         x.value = [&x](int, int j, int c) { return x.t.v[at(j * x.t.d_v + c)] * (1 + 0.1 * ((j * 7 + 3) % 5 - 2)); };
       })},
      {"a 0/1 mask added to the scores", "mask .*added|added .*mask", "", call_of(masked_by(causal)),
       loop([](Loop& x, const Call&) {
         x.sees = [](int, int) { return true; };
         x.S = [&x](int i, int j) { return x.right_S(i, j) + (x.right_sees(i, j) ? 1 : 0); };
       })},
  };
}

std::vector<PlantedFault> faults_of_keys() {
  const auto counted = [](const std::function<double(int j)>& count) {
    return loop([count](Loop& x, const Call&) { x.in_O = x.in_l = [count](int, int j, double e) { return count(j) * e; }; });
  };
  const auto run = [](int first, int end, double count) { return [=](int j) { return j >= first && j < end ? count : 1.0; }; };
  const auto replaced = [](int first, int end, int from, bool k, bool v) {
    return loop([=](Loop& x, const Call& call) { copy_keys(x.t, first, end, call.own(), from, k, v); });
  };
  const auto foreign = [](int first, int end) {
    return loop(
        [=](Loop& x, const Call& call) { copy_keys(x.t, first, end, drawn(call.p.n, call.own().d, 77), 0, true, true); });
  };
  const auto sees = [](const std::function<bool(const Loop&, int, int)>& f) {
    return loop([f](Loop& x, const Call&) { x.sees = [&x, f](int i, int j) { return f(x, i, j); }; });
  };
  const auto warp = [](bool k, bool v) {  // rows 16 to 31 of each tile of rows read the tile before at keys 128 to 191
    return [k, v](const Call& call) {
      Loop right(call), wrong(call);
      copy_keys(wrong.t, 128, 192, call.own(), 64, k, v);
      Values o = right.run();
      const Values y = wrong.run();
      for (int i = 0; i < call.p.n; ++i)
        if (i % 64 / 16 == 1) std::copy_n(y.begin() + i * 64, 64, o.begin() + i * 64);
      return o;
    };
  };
  return {
      {"zero keys behind the last", "behind the last one counted in l|too large by 16", "", call_of(plain),
       loop([](Loop& x, const Call&) { x.sum = [](int, double l, double m) { return l + 16 * std::exp(-m); }; })},
      {"padding keys of 56 zeros", "too large by 56|56", "", call_of({.n = 200}),
       loop([](Loop& x, const Call&) { x.sum = [](int, double l, double m) { return l + 56 * std::exp(-m); }; })},
      {"zero padding attended", "padding", "", call_of(masked_by({Mask::Kind::padding, 40})),
       sees([](const Loop& x, int i, int j) { return j <= x.stands_at(i); })},
      {"loop to seq_len_q", "head 2|behind the last", "", call_of({.n_k = 200, .heads = 4}),
       loop([](Loop& x, const Call& call) {
         append_keys(x.t, call.heads[2], 0, 40);
         x.sees = [](int, int) { return true; };
       })},
      {"stale page past the end", "not the call's", "", call_of(plain), loop([](Loop& x, const Call&) {
         append_keys(x.t, drawn(240, 64, 78), 0, 16);
         x.sees = [](int, int) { return true; };
       })},
      {"page of another sequence, causal", "keys 160 to 175", "160", call_of(masked_by(causal)), foreign(160, 176)},
      {"page of another sequence", "keys 80 to 95", "80 to 95", call_of(plain), foreign(80, 96)},
      {"16-bit block ids", "keys 128 to 239 .*0 to 111|keys 0 to 111 .*128 to 239", "128 to 239", call_of(plain),
       replaced(128, 240, 0, true, true)},
      {"neighbouring page", "keys 96 to 111.*112 to 127", "96 to 111", call_of(plain), replaced(96, 112, 112, true, true)},
      {"neighbouring page, causal", "keys 96 to 111.*112 to 127", "", call_of(masked_by(causal)),
       replaced(96, 112, 112, true, true)},
      {"garbage key", "not the call's", "", call_of(plain), loop([](Loop& x, const Call&) {
         append_keys(x.t, drawn(240, 64, 79), 5, 1);
         x.sees = [](int, int) { return true; };
       })},
      {"documents mixed", "head 0|not the call's", "", call_of({.n = 120, .heads = 2}), loop([](Loop& x, const Call& call) {
         append_keys(x.t, call.heads[0], 112, 8);
         x.sees = [](int, int) { return true; };
       })},
      {"tile lost", "keys 128 to 191 count 0", "128 to 191", call_of(plain), counted(run(128, 192, 0))},
      {"tile twice", "keys 128 to 191 count 2 times", "128 to 191", call_of(plain), counted(run(128, 192, 2))},
      {"tile twice in O", "keys 128 to 191 count 2 times in O", "128 to 191", call_of(plain),
       loop([](Loop& x, const Call&) { x.in_O = [](int, int j, double e) { return j >= 128 && j < 192 ? 2 * e : e; }; })},
      {"every 8th key dropped", "every 8th key", "", call_of(plain), counted([](int j) { return j % 8 == 7 ? 0.0 : 1.0; })},
      {"first key dropped", "key 0 counts 0", "key 0", call_of(masked_by(causal)),
       counted([](int j) { return j == 0 ? 0.0 : 1.0; })},
      {"split dropped", "keys 180 to 239 count 0", "180 to 239", call_of(plain), counted(run(180, 240, 0))},
      {"splits overlap by 18 keys", "keys 111 to 128 count 2", "111 to 128", call_of(plain), counted(run(111, 129, 2))},
      {"local causal masks of splits", "(local|split).*(mask|split)", "", call_of(masked_by(causal)),
       sees([](const Loop&, int i, int j) { return j % 120 <= i; })},
      {"window cut at tiles", "window .*tiles? of 32", "", call_of(masked_by(window(48))),
       sees([](const Loop&, int i, int j) { return j <= i && j >= std::max(0, i - 47) / 32 * 32; })},
      {"window of 2 w", "window .*(80|twice)", "", call_of(masked_by(window(40))),
       sees([](const Loop&, int i, int j) { return j <= i && j > i - 80; })},
      {"missing window in decode", "without its window|missing mask", "", call_of({.n = 1, .mask = window(64), .n_k = 240}),
       sees([](const Loop&, int, int) { return true; })},
      {"offset rounded to pages", "mask .*12|12 keys", "", call_of({.n = 100, .mask = causal, .n_k = 240}),
       sees([](const Loop&, int i, int j) { return j <= i + 128; })},
      {"mask off by one in one tile of rows", "shows the next.*rows 64 to 127", "64 to 127", call_of(masked_by(causal)),
       sees([](const Loop&, int i, int j) { return j <= i + (i / 64 == 1 ? 1 : 0); })},
      {"diagonal hidden in the last tile of rows", "(hides the diagonal|one key less).*rows (192|255)", "",
       call_of({.n = 300, .mask = causal}), sees([](const Loop&, int i, int j) { return j < i + (i >= 192 ? 0 : 1); })},
      {"causal mask missing in the last tile of rows", "missing causal mask.*rows 192 to 2", "192 to 2",
       call_of(masked_by(causal)), sees([](const Loop&, int i, int j) { return j <= i || i >= 192; })},
      {"race of K by one warp", "K of keys 128 to 191 .*64 to 127", "row", call_of(plain), warp(true, false)},
      {"race of V by one warp", "V of keys 128 to 191 .*64 to 127", "row", call_of(plain), warp(false, true)},
      {"race of P by one warp", "P of .*(64 to 127|tile before)", "row", call_of(plain),
       [](const Call& call) {
         Loop right(call), wrong(call);
         wrong.in_O = [&wrong](int i, int j, double e) {
           return j < 128 || j >= 192 ? e : e * std::exp(wrong.right_S(i, j - 64) - wrong.right_S(i, j));
         };
         Values o = right.run();
         const Values y = wrong.run();
         for (int i = 0; i < call.p.n; ++i)
           if (i % 64 / 16 == 1) std::copy_n(y.begin() + i * 64, 64, o.begin() + i * 64);
         return o;
       }},
      {"scale missing in the last loop", "(scale|scores) .*keys 192 to 239|keys 192 to 239.* (scale|scores)", "192 to 239",
       call_of(plain),
       loop([](Loop& x, const Call&) { x.S = [&x](int i, int j) { return x.right_S(i, j) * (j >= 192 ? 8 : 1); }; })},
      {"tail of V from the tile before", "rows of V taken from the tile before|V of keys 192 to 239", "", call_of(plain),
       replaced(192, 240, 128, false, true)},
      {"rows that see no key got the mean of V", "no key .*mean|mean .*no key", "0 to 39",
       call_of({.mask = causal, .n_k = 200}), written([](Values& o, const Call& call) {
         const Tensors& t = call.own();
         for (int i = 0; i < 40; ++i)
           for (int c = 0; c < t.d_v; ++c) {
             double mean = 0;
             for (int j = 0; j < t.n_k; ++j) mean += t.v[at(j * t.d_v + c)] / t.n_k;
             o[at(i * t.d_v + c)] = mean;
           }
       })},
  };
}

/// Whole rows of softmax; scores and weights are in `eager` first.
auto softmax_of_rows(const Format& weight, const std::optional<Format>& eager) {
  const auto first = [eager](double x) { return eager ? round(*eager, x) : x; };
  return loop([=](Loop& x, const Call&) {
    x.tile = x.t.n_k;
    x.S = [&x, first](int i, int j) { return first(x.right_S(i, j)); };
    x.round_P = [](double e) { return e; };
    x.in_O = [&x, weight, first, row = -1, l = 0.0](int i, int, double e) mutable {
      double m = -std::numeric_limits<double>::infinity();
      for (int k = 0; row != i && k < x.t.n_k; ++k) m = std::max(m, x.S(i, k));
      if (row != i) l = 0;
      for (int k = 0; row != i && k < x.t.n_k; ++k) l += std::exp(x.S(i, k) - m);
      row = i;
      return l * round(weight, first(e / l));
    };
  });
}

std::vector<PlantedFault> faults_of_loops() {
  const auto splits = [](int boundary, double power) {  // a prefix and a suffix, merged by exp(power LSE)
    return [boundary, power](const Call& call) {
      Loop x(call);
      const Tensors& t = x.t;
      Values o;
      for (int i = 0; i < t.n; ++i) {
        Values out(at(t.d_v));
        double sum = 0;
        for (const auto& [first, end] : {std::pair{0, boundary}, std::pair{boundary, t.n_k}}) {
          double l = 0;
          Values part(out.size());
          for (int j = first; j < end; ++j) {
            const double e = std::exp(x.right_S(i, j));
            l += e;
            for (int c = 0; c < t.d_v; ++c) part[at(c)] += round(call.f, e) * t.v[at(j * t.d_v + c)];
          }
          const double w = std::pow(l, power);
          sum += w;
          for (int c = 0; c < t.d_v; ++c) out[at(c)] += w * part[at(c)] / l;
        }
        for (const double y : out) o.push_back(y / sum);
      }
      return o;
    };
  };
  const auto skipping = [](const std::function<bool(int tile, double alpha)>& skips) {
    return loop([skips](Loop& x, const Call&) {
      x.alpha_of_O = x.alpha_of_l = [skips](int, int tile, double alpha) { return skips(tile, alpha) ? 1 : alpha; };
    });
  };
  const auto exponential = [](const std::function<double(double)>& of) {
    return loop([of](Loop& x, const Call&) { x.tile = 1024, x.exp = [of](double y) { return of(y * std::numbers::log2e); }; });
  };
  const auto polynomial = [](Values a) {
    return [a](double x) {
      const double whole = std::floor(x);
      double y = 0, power = 1;
      for (const double b : a) y += b * power, power *= x - whole;
      return std::ldexp(y, static_cast<int>(whole));
    };
  };
  const auto rounds = [](const Format& of_l, const Format& of_O) {
    return loop([of_l, of_O](Loop& x, const Call&) {
      x.tile = 16;
      x.round_l = [of_l](double y) { return round(of_l, y); };
      x.round_O = [of_O](double y) { return round(of_O, y); };
    });
  };
  return {
      {"LSE bases of a suffix", "base-(2|e) log-sum-exp", "", call_of(plain), splits(208, std::numbers::log2e)},
      {"LSE bases of two splits", "base-(2|e) log-sum-exp", "", call_of(plain), splits(120, std::numbers::ln2)},
      {"NaN of empty splits", "(split|part).*no key|no key.*(split|part)", "0 to 1", call_of(masked_by(causal)),
       written([](Values& o, const Call&) { std::fill_n(o.begin(), 180 * 64, std::nan("")); })},
      {"last rescale missing", "(last tile|last rescal|last .*alpha)", "", call_of({.deviation = 2}),
       loop(
           [](Loop& x, const Call&) { x.alpha_of_O = [](int t, int tile, double a) { return tile == 3 ? t * 0.0 + 1 : a; }; })},
      {"conditional rescale that corrects nothing", "rescale.*(small|less|grow)", "", call_of({.deviation = 3}),
       skipping([](int, double alpha) { return alpha > 0.25; })},
      {"neither O nor l rescaled", "neither O nor l rescaled", "", call_of({.deviation = 2}),
       skipping([](int, double) { return true; })},
      {"only the last tile is kept", "last tile counts|alpha is 0", "", call_of({.deviation = 2}),
       loop([](Loop& x, const Call&) { x.alpha_of_O = x.alpha_of_l = [](int, int, double) { return 0.0; }; })},
      {"alpha of the neighbour row", "alpha .*(row|neighbour)", "", call_of({.deviation = 2}), loop([](Loop& x, const Call&) {
         x.alpha_of_O = [&x](int i, int tile, double a) {
           const auto top = [&](int end) {
             double m = -infinity;
             for (int j = 0; j < std::min(end, x.t.n_k); ++j) m = std::max(m, x.right_S(i ^ 1, j));
             return m;
           };
           return tile == 0 ? a : std::exp(top(tile * 64) - top(tile * 64 + 64));
         };
       })},
      {"l of the neighbour row", "l .*(another|neighbour|row)", "", call_of(plain), loop([](Loop& x, const Call&) {
         x.sum = [&x](int i, double, double m) {
           double l = 0, top = -infinity;
           for (int j = 0; j < x.t.n_k; ++j) top = std::max(top, x.right_S(i ^ 1, j));
           for (int j = 0; j < x.t.n_k; ++j) l += std::exp(x.right_S(i ^ 1, j) - top);
           return l + 0 * m;
         };
       })},
      {"l of a quarter of the lanes", "(l |multiple|factor|times)", "", call_of(plain),
       loop([](Loop& x, const Call&) { x.in_l = [](int, int j, double e) { return j % 4 == 0 ? e : 0; }; })},
      {"accumulator not set to 0", "accumulator", "", call_of(plain), loop([](Loop& x, const Call&) {
         x.first_O = 4;
         x.alpha_of_O = [](int, int, double a) { return a; };
       })},
      {"exp by Schraudolph's bits", "exp", "", call_of(plain), exponential(polynomial({1 - 0.0436, 1}))},
      {"exp2 of degree 1", "exp.*(degree 1|linear)", "", call_of(plain), exponential(polynomial({1, 1}))},
      {"exp2 of degree 2", "exp.*degree 2", "", call_of({.f = fp16}), exponential(polynomial({1, 0.6565, 0.3435}))},
      {"exp 3 % off", "exp", "", call_of(plain),
       exponential([](double x) { return std::exp2(x) * (1 + 0.03 * std::sin(2 * std::numbers::pi * x)); })},
      {"O accumulated in bf16", "O .*bf16|bf16 .*O", "", call_of(plain), rounds(fp64, bf16)},
      {"O accumulated in fp16", "O .*fp16|fp16 .*O", "", call_of({.f = fp16}), rounds(fp64, fp16)},
      {"l in bf16", "\\bl .*bf16", "", call_of(plain), rounds(bf16, fp64)},
      {"P in e4m3", "P .*e4m3", "", call_of(plain),
       loop([](Loop& x, const Call&) { x.round_P = [](double e) { return round(e4m3, e); }; })},
      {"P in e5m2", "P .*e5m2", "", call_of(plain),
       loop([](Loop& x, const Call&) { x.round_P = [](double e) { return round(e5m2, e); }; })},
      {"weights of softmax in e4m3", "softmax's weights .*e4m3", "", call_of(plain), softmax_of_rows(e4m3, {})},
      {"weights of eager attention in e4m3", "softmax's weights .*e4m3", "", call_of(plain), softmax_of_rows(e4m3, bf16)},
      {"P in bf16 where D is fp16", "P .*bf16", "", call_of({.f = fp16}),
       loop([](Loop& x, const Call&) { x.round_P = [](double e) { return round(bf16, e); }; })},
      {"scores in e5m2", "(S|scores) .*e5m2", "", call_of(plain),
       loop([](Loop& x, const Call&) { x.S = [&x](int i, int j) { return round(e5m2, x.right_S(i, j)); }; })},
      {"max over half the keys", "", "", call_of(plain), loop([](Loop&, const Call&) {}), false},
  };
}

std::vector<PlantedFault> faults_of_places() {
  const auto columns_of_K = [](const std::function<int(int)>& from) {
    return loop([from](Loop& x, const Call& call) {
      for (int j = 0; j < x.t.n_k; ++j)
        for (int c = 0; c < x.t.d; ++c) x.t.k[at(j * x.t.d + c)] = call.own().k[at(j * x.t.d + from(c))];
    });
  };
  const auto shortened = [](int first, int end) {  // q.k leaves these columns out
    return loop([=](Loop& x, const Call&) {
      for (int i = 0; i < x.t.n; ++i)
        for (int c = first; c < end; ++c) x.t.q[at(i * x.t.d + c)] = 0;
    });
  };
  /// Stored n x h x d, read as h x n x d.
  const auto read_otherwise = [](Part part) {
    return loop([part](Loop& x, const Call& call) {
      const int rows = x.t.n, heads = static_cast<int>(call.heads.size()), d = x.t.d;
      for (int i = 0; i < rows; ++i) {
        const int flat = call.head * rows + i;
        for (int c = 0; c < d; ++c) (x.t.*part)[at(i * d + c)] = (call.heads[at(flat % heads)].*part)[at(flat / heads * d + c)];
      }
    });
  };
  const auto of_heads = [](int q, int k, int v) {
    return loop([=](Loop& x, const Call& call) {
      x.t.q = call.heads[at(q)].q, x.t.k = call.heads[at(k)].k, x.t.v = call.heads[at(v)].v;
    });
  };
  return {
      {"kv head collapse", "K and V of head 0", "", call_of(several), of_heads(1, 0, 0)},
      {"GQA order", "interleaved groups|K and V of head 2", "",
       call_of(several,
               [](Call& call) {
                 call.query_heads = 4, call.kv_heads = 2;
                 for (const int h : {1, 3})
                   call.heads[at(h)].k = call.heads[at(h - 1)].k, call.heads[at(h)].v = call.heads[at(h - 1)].v;
               }),
       of_heads(1, 2, 2)},
      {"Q of another head", "Q of head 3", "", call_of(several), of_heads(3, 1, 1)},
      {"V of another head", "V of head 0", "", call_of(several), of_heads(1, 1, 0)},
      {"head written to another's place", "head 2 instead of head 1|of head 2", "", call_of(several), of_heads(2, 2, 2)},
      {"head unwritten", "output that is 0|never written", "", call_of(plain),
       written([](Values& o, const Call&) { std::ranges::fill(o, 0.0); })},
      {"mean of two heads", "mean of heads? .*2", "", call_of(several),
       [](const Call& call) {
         Values o = correct_output(call);
         const Values other = correct_output(of_head(call, 2));
         for (std::size_t i = 0; i < o.size(); ++i) o[i] = (o[i] + other[i]) / 2;
         return o;
       }},
      {"overrun into the next head", "K and V of head 0 .*rows 0 to 19", "0 to 19", call_of(several),
       [](const Call& call) {
         Values o = correct_output(call);
         Loop x(call);
         x.t.k = call.heads[0].k, x.t.v = call.heads[0].v;
         const Values y = x.run();
         std::copy_n(y.begin(), 20 * 64, o.begin());
         return o;
       }},
      {"int32 wrap", "rows 200 to 239 .*head 0", "200 to 239", call_of(several),
       [](const Call& call) {
         Values o = correct_output(call);
         const Values other = correct_output(of_head(call, 0));
         std::copy_n(other.begin(), 40 * 64, o.begin() + 200 * 64);
         return o;
       }},
      {"packed sequence off by one", "rows shifted by 1", "", call_of({.mask = causal, .heads = 2}),
       [](const Call& call) {
         Values o = correct_output(call);
         const Values other = correct_output(of_head(call, 0));
         std::copy(o.begin() + 64, o.end(), o.begin());
         std::copy_n(other.begin(), 64, o.end() - 64);
         return o;
       }},
      {"rows of the tile before", "rows shifted by 64|rows 128 to 191 .*64 to 127", "128 to 191", call_of(plain),
       rows_from([](int i) { return i / 64 == 2 ? i - 64 : i; })},
      {"two tiles of rows exchanged", "rows .*(exchanged|swapped|64 to 127)", "0 to 127", call_of(plain),
       rows_from([](int i) { return i < 128 ? i ^ 64 : i; })},
      {"a row copied", "row 99", "row 100", call_of(plain), rows_from([](int i) { return i == 100 ? 99 : i; })},
      {"rows of a tile never written", "never written|rows 64 to 95 .*0", "64 to 95", call_of(masked_by(causal)),
       rows_from([](int i) { return i >= 64 && i < 96 ? -1 : i; })},
      {"rows of a tile NaN", "^$|NaN", "64 to 95", call_of(masked_by(causal)),
       written([](Values& o, const Call&) { std::fill(o.begin() + 64 * 64, o.begin() + 96 * 64, std::nan("")); })},
      {"every 8th column unwritten", "every 8th column.*(0|never)", "every 8th column from column 7", call_of(plain),
       written([](Values& o, const Call&) {
         for (std::size_t i = 7; i < o.size(); i += 8) o[i] = 0;
       })},
      {"columns from the next ones", "columns 32 to 39 .*40 to 47", "columns 32 to 39", call_of(plain),
       written([](Values& o, const Call&) {
         for (std::size_t i = 0; i < o.size(); ++i)
           if (i % 64 / 8 == 4) o[i] = o[i + 8];
       })},
      {"a flipped bit", "^$|row 57, column 3", "row 57|column 3", call_of(plain),
       written([](Values& o, const Call&) { o[57 * 64 + 3] *= -2; })},
      {"fragments of V transposed", "V.*8 x 8|8 x 8.*V", "", call_of(plain),
       loop([](Loop& x, const Call&) { transpose_blocks(x.t.v, x.t.n_k, x.t.d_v); })},
      {"fragments of K transposed", "K.*8 x 8|8 x 8.*K", "", call_of(plain),
       loop([](Loop& x, const Call&) { transpose_blocks(x.t.k, x.t.n_k, x.t.d); })},
      {"fragments of O transposed", "O.*8 x 8|8 x 8", "", call_of(plain),
       written([](Values& o, const Call& call) { transpose_blocks(o, call.p.n, 64); })},
      {"lanes of K", "columns of K|K.*columns", "", call_of(plain), columns_of_K([](int c) { return c ^ 1; })},
      {"halves of K's columns exchanged", "columns of K|K.*columns", "", call_of(masked_by(causal)),
       columns_of_K([](int c) { return c ^ 32; })},
      {"half of d", "columns 32 to 63 .*(0 times|left out)", "", call_of(plain), shortened(32, 64)},
      {"last 8 columns of 72", "columns 64 to 71 .*(0 times|left out)", "", call_of({.d = 72}), shortened(64, 72)},
      {"MLA's RoPE columns left out", "columns 64 to 95 .*(0 times|left out)", "", call_of({.d = 96, .d_v = 64}),
       shortened(64, 96)},
      {"d padded with what follows", "(8 columns|columns 72 to 79|80) ", "", call_of({.d = 72}), loop([](Loop& x, const Call&) {
         x.S = [&x](int i, int j) {
           double s = x.dot(i, j);
           for (int c = 0; c < 8 && i + 1 < x.t.n && j + 1 < x.t.n_k; ++c)
             s += x.t.q[at((i + 1) * 72 + c)] * x.t.k[at((j + 1) * 72 + c)];
           return s * scale_of(x.p);
         };
       })},
      {"strides of Q", "Q .*(n x heads|heads x n)", "", call_of(several), read_otherwise(&Tensors::q)},
      {"strides of V", "V .*(n x heads|heads x n)", "", call_of(several), read_otherwise(&Tensors::v)},
      {"O written in another layout", "(O|output|rows).*(n x heads|heads x n)", "", call_of(several),
       [](const Call& call) {
         std::vector<Values> all;
         for (int h = 0; h < 4; ++h) all.push_back(correct_output(of_head(call, h)));
         Values o = all[1];
         for (int i = 0; i < 240; ++i) {
           const int flat = 240 + i;
           std::copy_n(all[at(flat % 4)].begin() + flat / 4 * 64, 64, o.begin() + i * 64);
         }
         return o;
       }},
      rope("RoPE of K interleaved", "RoPE.*interleaved",
           [](Tensors& t) { rotate(t.q, t.n, t.d, false, own_position), rotate(t.k, t.n_k, t.d, true, own_position); }),
      rope("RoPE of Q interleaved", "RoPE.*interleaved",
           [](Tensors& t) { rotate(t.q, t.n, t.d, true, own_position), rotate(t.k, t.n_k, t.d, false, own_position); }),
      rope("RoPE of K one position late", "RoPE.*(position|by 1|one)",
           [](Tensors& t) {
             rotate(t.q, t.n, t.d, false, own_position);
             rotate(t.k, t.n_k, t.d, false, [](int i) { return i + 1.0; });
           }),
      rope("RoPE of Q missing", "RoPE.*(missing|no |without|none|never)",
           [](Tensors& t) { rotate(t.k, t.n_k, t.d, false, own_position); }),
      rope("RoPE missing", "RoPE.*(missing|no |without|none|never)", [](Tensors&) {}),
      rope(
          "RoPE positions in bf16", "RoPE.*bf16",
          [](Tensors& t) {
            const auto rounded = [](int i) { return round(bf16, static_cast<double>(i)); };
            rotate(t.q, t.n, t.d, false, rounded), rotate(t.k, t.n_k, t.d, false, rounded);
          },
          400),
  };
}

}  // namespace

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
