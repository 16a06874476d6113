// NaN and infinity in Q, K and V: outputs of plain kernels pass, row by row, and leaks from masked keys are named.

#include <algorithm>
#include <cmath>
#include <limits>
#include <numbers>
#include <vector>

#include "kernels/judge/call_judgement.h"
#include "kernels/judge/judge.h"
#include "kernels/slips/softmax_variant.h"
#include "tests/questions/planted_kernels.h"
#include "tests/support/matchers.h"

namespace attoscope::nonfinite_test {
namespace {

using namespace planted;
using namespace testing;  // attoscope::testing

constexpr double nan = std::numeric_limits<double>::quiet_NaN();
constexpr int n = 96, d = 16;

/// A replaced number of Q, K or V; c = -1: the whole row.
struct Odd {
  TensorsPart part;
  int row, c;
  double x;
};

Problem with_odd(Problem p, const std::vector<Odd>& all) {
  Tensors t = *p.input.tensors;
  for (const Odd& odd : all) {
    const int columns = odd.part == &Tensors::v ? t.d_v : t.d;
    for (int c = odd.c < 0 ? 0 : odd.c; c < (odd.c < 0 ? columns : odd.c + 1); ++c)
      (t.*odd.part)[static_cast<std::size_t>(odd.row * columns + c)] = odd.x;
  }
  p.input = given(t);
  return p;
}

/// Attention with P rounded to f, by a loop that reads only the keys that a row sees.
Values plain(const Problem& p, const Format& f) {
  const Seen x = seen(p);
  Values o;
  for (int i = 0; i < x.t.n; ++i) {
    double m = -infinity, l = 0;
    Values row(static_cast<std::size_t>(x.t.d_v));
    for (int j = 0; j < x.t.n_k; ++j)
      if (x.sees(i, j)) m = std::fmax(m, x.S(i, j));
    for (int j = 0; j < x.t.n_k; ++j) {
      if (!x.sees(i, j)) continue;
      const double e = std::exp(x.S(i, j) - m);
      l += e;
      for (std::size_t c = 0; c < row.size(); ++c) row[c] += round(f, e) * x.v(j, static_cast<int>(c));
    }
    for (const double y : row) o.push_back(y / l);
  }
  return o;
}

struct Case {
  const char* text;
  Mask mask;
  std::vector<Odd> odd;
  std::int64_t due;  ///< elements that are NaN or infinite, counted by hand
};
const std::vector<Case> cases{{"NaN in V, full: one column", {}, {{&Tensors::v, 5, 3, nan}}, n},
                              {"NaN in V, causal: that column of rows 40 on", causal, {{&Tensors::v, 40, 3, nan}}, n - 40},
                              {"NaN in V, window", window(8), {{&Tensors::v, 40, 3, nan}}, 8},
                              {"NaN in K, causal: rows 40 on", causal, {{&Tensors::k, 40, 3, nan}}, (n - 40) * d},
                              {"NaN in K, window", window(8), {{&Tensors::k, 40, 3, nan}}, 8 * d},
                              {"NaN in Q: that row", causal, {{&Tensors::q, 40, 3, nan}}, d},
                              {"V[last] is NaN: the last row", causal, {{&Tensors::v, n - 1, -1, nan}}, d},
                              {"infinity in V, causal", causal, {{&Tensors::v, 40, 3, infinity}}, n - 40},
                              {"-infinity in V, window", window(8), {{&Tensors::v, 40, 3, -infinity}}, 8},
                              {"both signs in V: NaN where both are seen",
                               causal,
                               {{&Tensors::v, 40, 3, infinity}, {&Tensors::v, 50, 3, -infinity}},
                               n - 40}};

Problem problem_of(const Case& x) { return with_odd(problem({n, n, d, d}, x.mask), x.odd); }

/// Every algorithm, order of sums and kind of accumulator.
std::vector<Method> correct_methods(const Format& f) {
  std::vector<Method> all{method("hw", 16), method("hw", 64), method("base_hw", 32), method("base_floor", 32)};
  for (const Algorithm a : {Algorithm::flash1, Algorithm::flash4, Algorithm::split_kv, Algorithm::two_pass}) {
    all.push_back(with_algorithm(method("hw", 32), a));
    all.back().splits = 3, all.back().tau = usual_tau(f);
  }
  for (const SumOrder order : {SumOrder::pairwise, SumOrder::interleaved}) {
    all.push_back(method("hw", 32));
    all.back().order = order, all.back().reverse_keys = order == SumOrder::pairwise;
  }
  if (f != fp32) {
    all.push_back(method("hw", 64));
    all.back().accumulator = {Accumulator::h100, Accumulator::h100};
  }
  return all;
}

/// Plain and emulated kernels with tiles of 16 to 64 pass, and the judge counts every NaN or infinite element.
TEST(Nonfinite, CorrectKernelsPass) {
  for (const Format& f : {bf16, fp16, fp32})
    for (const Case& x : cases) {
      const Problem p = problem_of(x);
      const Judged by_plain = judged(p, plain(p, f), f);
      EXPECT_TRUE(by_plain.head.rounded) << name(f) << ", " << x.text << ": " << by_plain.head.where;
      EXPECT_EQ(by_plain.head.due, x.due) << name(f) << ", " << x.text;
      EXPECT_EQ(by_plain.head.nonfinite, 0) << x.text;
      for (const Method& m : correct_methods(f)) {
        const Judged found = judged(p, emulated(p, m, f), f);
        EXPECT_TRUE(found.head.rounded) << name(f) << ", " << name(m.algorithm) << ", sums " << static_cast<int>(m.order)
                                        << ", " << name(m.accumulator.pv) << ", " << x.text << ": " << found.head.where;
        EXPECT_EQ(found.head.due, x.due) << name(f) << ", " << name(m.algorithm) << ", " << x.text;
      }
    }
}

/// pytorch#101967: n 2, d 4, V[1] = NaN. Row 0 does not see it.
TEST(Nonfinite, TheReportedCase) {
  const Problem p = with_odd(problem({2, 2, 4, 4}, causal), {{&Tensors::v, 1, -1, nan}});
  Values o = plain(p, fp32);
  EXPECT_TRUE(judged(p, o, fp32).head.rounded);
  EXPECT_EQ(judged(p, o, fp32).head.due, 4);
  std::fill_n(o.begin(), 4, nan);
  const Said said = said_of(p, o, fp32);
  ASSERT_TRUE(said.slip);
  EXPECT_EQ(said.slip->text, "a masked key's NaN in V reaches row 0: 0 * NaN");
  EXPECT_EQ(said.slip->keys.front().first, 1);
}

/// Wrong: a number in place of NaN, NaN or infinity in place of a number, infinity of the other sign.
TEST(Nonfinite, EveryOtherElementIsWrong) {
  for (const Case& x : cases) {
    const Problem p = problem_of(x);
    const Values right = plain(p, bf16);
    for (const int at : {0, 39 * d + 3, 40 * d + 3, 40 * d + 4, n * d - 1}) {
      for (const double put : {nan, infinity, -infinity, 1e3}) {
        Values o = right;
        double& y = o[static_cast<std::size_t>(at)];
        const bool same = (std::isnan(y) && std::isnan(put)) || y == put;
        y = put;
        EXPECT_EQ(judged(p, o, bf16).head.rounded, same) << x.text << ", element " << at << " is " << put;
      }
    }
  }
}

/// A NaN from an infinite V passes if P may be 0 there (0 * inf, as in some correct kernels); otherwise it fails.
TEST(Nonfinite, AnInfiniteValueOfNoWeightMayBeNaN) {
  for (const bool tiny : {false, true}) {
    Problem p = with_odd(problem({n, n, d, d}), {{&Tensors::v, 40, 3, infinity}});
    Tensors t = *p.input.tensors;
    for (int i = 0; i < n; ++i) t.q[static_cast<std::size_t>(i * d)] = 64;
    t.k[std::size_t{40} * d] = tiny ? -16 : 0;
    p.input = given(t);
    Values o = plain(p, fp32);
    for (int i = 0; i < n; ++i) o[static_cast<std::size_t>(i * d + 3)] = nan;
    EXPECT_EQ(judged(p, o, fp32).head.rounded, tiny);
  }
}

/// A score of +inf makes its row NaN; a score of -inf has no weight.
TEST(Nonfinite, InfiniteScores) {
  Problem p = problem({n, n, d, d}, causal);
  Tensors t = *p.input.tensors;
  for (int i = 0; i < n; ++i) t.q[static_cast<std::size_t>(i * d)] = i % 3 == 0 ? 1 : -1;
  t.k[std::size_t{40} * d] = infinity;
  p.input = given(t);
  for (const Format& f : {bf16, fp32}) {
    const Values o = plain(p, f);
    int rows = 0;
    for (int i = 40; i < n; ++i) rows += i % 3 == 0;
    const Judged found = judged(p, o, f);
    EXPECT_TRUE(found.head.rounded) << found.head.where;
    EXPECT_EQ(found.head.due, rows * d);
    EXPECT_TRUE(judged(p, emulated(p, method("hw", 16), f), f).head.rounded);
  }
}

/// Kernels that multiply masked keys, all of them or those of computed tiles, or add -inf to scores of masked keys.
TEST(Nonfinite, LeaksAreNamed) {
  for (const Format& f : {bf16, fp32})
    for (const Case& x : cases) {
      if (x.mask.kind == Mask::Kind::none) continue;
      const Problem p = problem_of(x);
      const Seen s = seen(p);
      const bool of_v = x.odd.front().part == &Tensors::v, of_k = x.odd.front().part == &Tensors::k;
      for (const int tile : {16, 0}) {
        Values o = plain(p, f);
        bool leaks = false;
        for (int i = 0; i < n; ++i)
          for (int j = 0; j < n; ++j) {
            if (s.sees(i, j) || (tile > 0 && i / tile != j / tile)) continue;
            for (int c = 0; c < d; ++c) {
              double& y = o[static_cast<std::size_t>(i * d + c)];
              const double more = of_k ? s.dot(i, j) * 0 : 0 * s.v(j, c);
              leaks = leaks || (std::isfinite(y) && !std::isfinite(more)), y += more;
            }
          }
        if (!leaks) continue;
        const Said said = said_of(p, o, f);
        ASSERT_TRUE(said.slip) << x.text << ": " << said.text();
        EXPECT_EQ(name(said.slip->kind), "mask");
        EXPECT_THAT(said.slip->text, HasSubstr("a masked key's ")) << x.text;
        EXPECT_THAT(said.slip->text, HasSubstr(of_v ? ": 0 * " : "a sum with -inf")) << x.text;
        EXPECT_LE(said.slip->ratio, 1) << x.text;
      }
    }
}

TEST(Nonfinite, ALostNaNIsNamed) {
  const Case& x = cases[3];
  const Problem p = problem_of(x);
  Values o = plain(p, bf16);
  for (double& y : o) y = std::isnan(y) ? 0 : y;
  const Said said = said_of(p, o);
  ASSERT_TRUE(said.slip) << said.text();
  EXPECT_THAT(said.slip->text, HasSubstr("numbers in rows 40 to 95, which see a NaN or an infinity"));
}

/// A usual slip is named although the output holds NaN, and garbage is wrong.
TEST(Nonfinite, OtherSlipsAreNamedBesideNaN) {
  const Problem p = with_odd(problem({n, n, d, d}, causal), {{&Tensors::v, 40, 3, nan}});
  Problem scaled = p;
  scaled.scale = 1.0 / d;
  Said said = said_of(p, plain(scaled, bf16));
  ASSERT_TRUE(said.slip) << said.text();
  EXPECT_EQ(name(said.slip->kind), "scale") << said.slip->text;
  const Values garbage(static_cast<std::size_t>(n * d), 1.0);
  said = said_of(p, garbage);
  EXPECT_EQ(said.head.verdict(), "wrong");
}

/// Causal, as a mask tensor that drops key 5: in all rows, or in every other row.
Problem with_gap(bool in_all) {
  Problem p = problem({n, n, d, d});
  std::vector<double> terms(std::size_t{n} * n, -infinity);
  for (int i = 0; i < n; ++i)
    for (int j = 0; j <= i; ++j)
      if (j != 5 || (!in_all && i % 2 == 1)) terms[static_cast<std::size_t>(i * n + j)] = 0;
  Tensors t = *p.input.tensors;
  t.mask = std::make_shared<const MaskTensor>(mask_of_terms(n, n, std::move(terms)));
  p.input = given(std::move(t));
  return p;
}

TEST(Nonfinite, GapsOfAMaskTensorHideANan) {
  for (const bool in_all : {false, true}) {
    const Problem p = with_odd(with_gap(in_all), {{&Tensors::v, 5, 3, nan}});
    const Values right = plain(p, bf16);
    const Judged found = judged(p, right, bf16);
    EXPECT_TRUE(found.head.rounded) << found.head.where;
    EXPECT_EQ(found.head.due, in_all ? 0 : (n - 5 + 1) / 2);
    for (const Method& m : correct_methods(bf16)) {
      if (!in_all && (m.order != SumOrder::sequential || m.accumulator.pv != Accumulator::fma)) continue;
      EXPECT_TRUE(judged(p, emulated(p, m, bf16), bf16).head.rounded) << name(m.algorithm);
    }
    Values leaking = right;
    for (int i = 6; i < n; ++i) leaking[static_cast<std::size_t>(i * d + 3)] = nan;
    const Said said = said_of(p, leaking);
    ASSERT_TRUE(said.slip) << said.text();
    EXPECT_THAT(said.slip->text, HasSubstr("a masked key's NaN in V reaches ")) << in_all;
  }
}

/// The problem with a mask tensor that drops a key from all queries, or from every other one.
Problem without_key(Problem p, int key, bool of_all) {
  std::vector<double> terms(std::size_t{n} * n);
  for (int i = 0; i < n; i += of_all ? 1 : 2) terms[static_cast<std::size_t>(i * n + key)] = -infinity;
  Tensors t = *p.input.tensors;
  t.mask = std::make_shared<const MaskTensor>(mask_of_terms(n, n, std::move(terms)));
  p.input = given(std::move(t));
  return p;
}

/// With NaN in a key that no query sees, roundings before the softmax are accepted as without it, garbage is not, and the
/// judgement tells the same mistakes that would have been seen.
TEST(Nonfinite, AKeyThatNoQuerySeesChangesNoSentence) {
  const Problem p = without_key(problem_in(bf16, {n, n, d, d}, {}, 1, 4), 5, true);
  const auto with = [&](double in_k, double in_v) {
    return with_odd(p, {{&Tensors::k, 5, -1, in_k}, {&Tensors::v, 5, -1, in_v}});
  };
  const Seen x = seen(p);
  const Values eager = softmax(x, [&](int i, int j) { return x.sees(i, j) ? round(bf16, x.S(i, j)) : -infinity; });
  const JudgedOutput usual = judged_output(with(0, 0), eager, bf16);
  const Judged before = judge(usual);
  EXPECT_THAT(before.head.as, HasSubstr("scores are rounded to bf16"));
  for (const Problem& odd : {with(nan, 0), with(0, nan), with(infinity, -infinity)}) {
    const JudgedOutput output = judged_output(odd, eager, bf16);
    const Judged found = judge(output);
    EXPECT_TRUE(found.head.rounded) << found.head.where;
    EXPECT_EQ(found.head.as, before.head.as);
    EXPECT_EQ(seen_mistakes(output, found).scale, seen_mistakes(usual, before).scale);
    EXPECT_FALSE(judged(odd, Values(std::size_t{n} * d, 1.0), bf16).head.rounded);
  }
}

/// A NaN beside a visible infinity passes if P of the latter may be 0, not if only a dropped key is infinite, too.
TEST(Nonfinite, AnInfiniteValueThatARowDoesNotSeeExcusesNoNaN) {
  const Problem p =
      with_odd(without_key(problem({n, n, d, d}), 50, false), {{&Tensors::v, 40, 3, infinity}, {&Tensors::v, 50, 3, infinity}});
  Values o = plain(p, fp32);
  EXPECT_TRUE(judged(p, o, fp32).head.rounded);
  for (int i = 0; i < n; i += 2) o[static_cast<std::size_t>(i * d + 3)] = nan;
  EXPECT_FALSE(judged(p, o, fp32).head.rounded);
}

/// No fit fails at a NaN that the output lost or that a mask tensor hides.
TEST(Nonfinite, GarbageHasNoName) {
  const std::vector<Odd> nan_in_k{{&Tensors::k, 5, -1, nan}};
  for (const Problem& p : {with_odd(problem({n, n, d, d}, causal), nan_in_k), with_odd(with_gap(true), nan_in_k)}) {
    const Said said = said_of(p, drawn(n, d, 7).q);
    EXPECT_EQ(said.head.verdict(), "wrong");
    EXPECT_FALSE(said.slip) << said.text();
  }
}

TEST(Nonfinite, MistakesAreFittedBesideAGap) {
  const Problem p = with_odd(with_gap(true), {{&Tensors::k, 5, 3, nan}});
  Problem scaled = p;
  scaled.scale = 0.45;
  const Said of_scale = said_of(p, plain(scaled, bf16));
  ASSERT_TRUE(of_scale.slip) << of_scale.text();
  EXPECT_THAT(of_scale.slip->text, HasSubstr("scores were multiplied by 0.4"));
  const Problem finite = with_gap(true);
  const Seen x = seen(finite);
  const auto by_polynomial = [&](int i, int j) {  // 2^n (1 + f) in place of 2^(n + f)
    if (!x.sees(i, j)) return -infinity;
    double m = -infinity;
    for (int k = 0; k <= i; ++k) m = std::max(m, x.score(i, k));
    const double y = (x.S(i, j) - m) * std::numbers::log2e, whole = std::floor(y);
    return m + (whole + std::log2(1 + y - whole)) * std::numbers::ln2;
  };
  const Said of_exp = said_of(finite, softmax(x, by_polynomial));
  ASSERT_TRUE(of_exp.slip) << of_exp.text();
  EXPECT_THAT(of_exp.slip->text, HasSubstr("a polynomial of degree 1"));
}

/// A NaN in a key changes no bound of queries that do not see it: an output that failed without the NaN fails with it.
TEST(Nonfinite, OtherRowsAreHeldToWhatTheyWereHeldTo) {
  const Problem clean = problem({n, n, d, d}, causal), p = with_odd(clean, {{&Tensors::k, 40, 3, nan}});
  for (const Format& f : {bf16, fp32}) {
    const Judged before = judged(clean, plain(clean, f), f), after = judged(p, plain(p, f), f);
    for (int i = 0; i < 40; ++i)
      EXPECT_LE(after.tolerance.factor[static_cast<std::size_t>(i)], 1.5 * before.tolerance.factor[static_cast<std::size_t>(i)])
          << i;
    Values o = plain(p, f);
    o[0] += 8 * before.tolerance.of(0, 0, o[0]);
    EXPECT_FALSE(judged(p, o, f).head.rounded);
  }
}

}  // namespace
}  // namespace attoscope::nonfinite_test
