// Log-sum-exps of correct kernels, which must all pass, and planted slips, which get their names.
#include "kernels/judge/lse_judge.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <numbers>
#include <string>
#include <vector>

#include "kernels/experiment/rules.h"
#include "tests/questions/planted_kernels.h"
#include "tests/questions/planted_slips.h"

namespace attoscope::lse_judge_test {
namespace {

using namespace planted;

constexpr float log2_e = std::numbers::log2e_v<float>;

/// Existing kernels, written row by row in float: FlashAttention's loop, its exp2, FlashInfer's (base 2, sums of the
/// rounded P), Triton's tutorial (Q scaled and rounded), eager scores, a sum in pairs over all keys, and q.k rounded as by a
/// BLAS in half precision.
enum class LseKind { online, exp2, flashinfer, prescaled, eager, pairs, products };
constexpr LseKind lse_kinds[]{LseKind::online, LseKind::exp2,  LseKind::flashinfer, LseKind::prescaled,
                              LseKind::eager,  LseKind::pairs, LseKind::products};

struct LsePlan {
  LseKind kind = LseKind::online;
  int tile = 64;
  bool reversed = false, base_2 = false;
  Format stored = fp32;
};

float sum_in_pairs(const std::vector<float>& x, std::size_t first, std::size_t end) {
  if (end - first == 1) return x[first];
  return sum_in_pairs(x, first, (first + end) / 2) + sum_in_pairs(x, (first + end) / 2, end);
}

float plain_score(const Seen& x, int i, int j, const Format& f, LseKind kind) {
  float s = 0;
  const float scale = static_cast<float>(scale_of(x.p));
  for (int c = 0; c < x.t.d; ++c) {
    const double q = kind == LseKind::prescaled ? round(f, x.q(i, c) * scale_of(x.p) * std::numbers::log2e) : x.q(i, c);
    s = std::fma(static_cast<float>(q), static_cast<float>(x.k(j, c)), s);
  }
  if (kind == LseKind::prescaled) return s;
  if (kind == LseKind::products) s = static_cast<float>(round(f, s));
  s *= scale;
  if (kind == LseKind::eager) s = static_cast<float>(round(f, s));
  if (x.p.softcap != 0) s = static_cast<float>(x.p.softcap) * std::tanh(s / static_cast<float>(x.p.softcap));
  return s - static_cast<float>(x.p.alibi) * static_cast<float>(std::abs(x.stands_at(i) - j));
}

/// The log-sum-exp as the kernel stores it.
Values plain_lse(const Seen& x, const Format& f, const LsePlan& plan) {
  const bool in_2 = plan.kind == LseKind::exp2 || plan.kind == LseKind::flashinfer || plan.kind == LseKind::prescaled;
  const float to_2 = in_2 && plan.kind != LseKind::prescaled ? log2_e : 1;
  const auto power = [&](float y) { return in_2 ? std::exp2(y) : std::exp(y); };
  Values all;
  for (int i = 0; i < x.t.n; ++i) {
    std::vector<float> s;
    for (int j = 0; j < x.t.n_k; ++j)
      if (x.sees(i, j)) s.push_back(plain_score(x, i, j, f, plan.kind) * to_2);
    if (plan.reversed) std::ranges::reverse(s);
    float m = -std::numeric_limits<float>::infinity(), l = 0;
    const std::size_t tile =
        plan.kind == LseKind::pairs ? std::max<std::size_t>(s.size(), 1) : static_cast<std::size_t>(plan.tile);
    for (std::size_t first = 0; first < s.size(); first += tile) {
      const std::size_t end = std::min(first + tile, s.size());
      const float top = std::max(
          m, *std::max_element(s.begin() + static_cast<std::ptrdiff_t>(first), s.begin() + static_cast<std::ptrdiff_t>(end)));
      l *= power(m - top), m = top;
      std::vector<float> e;
      for (std::size_t j = first; j < end; ++j) {
        e.push_back(power(s[j] - m));
        if (plan.kind == LseKind::flashinfer) e.back() = static_cast<float>(round(f, e.back()));
      }
      if (plan.kind == LseKind::pairs)
        l = sum_in_pairs(e, 0, e.size());
      else
        for (const float y : e) l += y;
    }
    if (x.p.sink && !s.empty()) l += power(static_cast<float>(*x.p.sink) * (in_2 ? log2_e : 1) - m);
    float L = m + (in_2 ? std::log2(l) : std::log(l));
    if (in_2 != plan.base_2) L *= in_2 ? std::numbers::ln2_v<float> : log2_e;
    all.push_back(round(plan.stored, s.empty() ? -infinity : L));
  }
  return all;
}

JudgedLse given_lse(const Problem& p, const Format& f, Values values, const Format& stored = fp32) {
  return {.problem = p, .claim = {.format = f, .stored = f}, .stored = stored, .values = std::move(values)};
}

std::string words(const LseJudgement& j) {
  return j.as + " ratio " + std::to_string(j.ratio) + ", kappa " + std::to_string(j.kappa) + ", row " +
         std::to_string(j.worst_row) + " " + j.where;
}

const Mask lse_masks[]{{}, causal, window(40), {Mask::Kind::padding, 20}};

TEST(LseJudge, NoCorrectKernelFails) {
  const AttentionShape shapes[]{
      AttentionShape::square(150, 32), {40, 300, 24, 16}, {130, 70, 64, 64}, AttentionShape::square(33, 128)};
  int k = 0, failed = 0;
  for (const LseKind kind : lse_kinds)
    for (const Format& f : planted_formats())
      for (const int tile : {32, 64, 128})
        for (const bool stored_narrow : {false, true})
          for (std::uint64_t seed = 1; seed <= 2; ++seed) {
            ++k;
            Problem p = problem_in(f, shapes[k % 4], lse_masks[k / 4 % 4], seed);
            const bool plain = kind != LseKind::prescaled && kind != LseKind::eager;
            if (plain && k % 5 == 1) p.softcap = 5;
            if (plain && k % 5 == 2) p.alibi = 0.03;
            if (k % 5 == 3) p.sink = 1;
            const LsePlan plan{kind, tile, k % 3 == 0, k % 2 == 0, stored_narrow ? bf16 : fp32};
            const auto judged = judge_lse(given_lse(p, f, plain_lse(seen(p), f, plan), plan.stored));
            const LseJudgement &own = judged[plan.base_2], &other = judged[!plan.base_2];
            failed += !own.rounded;
            EXPECT_TRUE(own.rounded) << "kind " << static_cast<int>(kind) << ", " << name(f) << ", k " << k << ": "
                                     << words(own);
            EXPECT_FALSE(other.rounded) << "the base is found";
            EXPECT_TRUE(kind > LseKind::exp2 || own.as.empty()) << words(own);
          }
  EXPECT_EQ(failed, 0) << "of " << k;
}

/// Without keys either infinity passes, and nothing else does.
TEST(LseJudge, RowsWithoutKeys) {
  const Problem p = problem_in(bf16, {60, 40, 16, 16}, causal, 1);
  const Values right = plain_lse(seen(p), bf16, {});
  for (const auto& [x, passes, said] : {std::tuple{-infinity, true, ""},
                                        {infinity, true, ""},
                                        {0.0, false, "hold 0 "},
                                        {std::nan(""), false, "hold NaN "},
                                        {-1e30, false, "hold a number "}}) {
    Values values = right;
    for (int i = 0; i < 20; ++i) values[static_cast<std::size_t>(i)] = x;
    const JudgedLse given = given_lse(p, bf16, values);
    const LseJudgement judged = judge_lse(given)[0];
    EXPECT_EQ(judged.rounded, passes) << x;
    if (passes) continue;
    EXPECT_EQ(judged.suspects, 20);
    EXPECT_NE(lse_slip(given, LseBase::e, judged)->text.find(said), std::string::npos) << x;
  }
  Values several = right;
  several[3] = std::nan(""), several[7] = 0;
  const JudgedLse of_several = given_lse(p, bf16, several);
  EXPECT_EQ(lse_slip(of_several, LseBase::e, judge_lse(of_several)[0])->text,
            "queries without keys hold 0 or NaN instead of -infinity");
  Values sums = right;
  const Seen x = seen(p);
  for (int i = 0; i < x.t.n; ++i) {
    float m = -std::numeric_limits<float>::infinity();
    for (int j = 0; j < x.t.n_k; ++j)
      if (x.sees(i, j)) m = std::max(m, plain_score(x, i, j, bf16, LseKind::online));
    sums[at(i)] = i < 20 ? 0 : static_cast<float>(std::exp(right[at(i)] - m));
  }
  const JudgedLse of_sums = given_lse(p, bf16, sums);
  EXPECT_EQ(lse_slip(of_sums, LseBase::e, judge_lse(of_sums)[0])->text,
            "no logarithm is taken: it is l, the sum of exp(S - m)");
  Values values = right;
  values[30] = -infinity;
  EXPECT_FALSE(judge_lse(given_lse(p, bf16, values))[0].rounded) << "it has keys";
}

/// A key that no query sees may hold an infinity or NaN: right numbers pass, and wrong ones do not.
TEST(LseJudge, HiddenKeysLeaveTheToleranceAsItIs) {
  Problem p = problem_in(bf16, AttentionShape::square(60, 16), {Mask::Kind::right_padding, 20}, 1);
  const Values right = plain_lse(seen(p), bf16, {});
  Values wrong = right;
  wrong[30] += 1;
  Tensors t = *p.input.tensors;
  for (const double x : {infinity, std::nan("")}) {
    t.k[59 * 16] = x;
    p.input = testing::given(t);
    EXPECT_TRUE(judge_lse(given_lse(p, bf16, right))[0].rounded) << x;
    EXPECT_FALSE(judge_lse(given_lse(p, bf16, wrong))[0].rounded) << x;
  }
}

/// Sums of rounded P have the same tolerance with and without a term that a mask tensor adds to every score.
TEST(LseJudge, AConstantTermLeavesTheToleranceAsItIs) {
  constexpr int n = 60;
  Problem p = problem_in(bf16, AttentionShape::square(n, 16), {}, 1);
  const Values without = plain_lse(seen(p), bf16, {LseKind::flashinfer});
  Tensors t = *p.input.tensors;
  t.mask = std::make_shared<const MaskTensor>(mask_of_terms(n, n, Values(std::size_t{n} * n, -20)));
  p.input = testing::given(t);
  for (const double off : {0.0, 0.0035}) {
    Values values = without;
    for (double& x : values) x += off - 20;
    const LseJudgement judged = judge_lse(given_lse(p, bf16, values))[0];
    EXPECT_EQ(judged.rounded, off == 0) << words(judged);
  }
}

/// Documents of 20 tokens as a mask tensor, beside a causal mask.
TEST(LseJudge, ALeftOutMaskTensorIsNamed) {
  constexpr int n = 60;
  Problem p = problem_in(bf16, AttentionShape::square(n, 16), causal, 1);
  Tensors t = *p.input.tensors;
  Values terms;
  for (int i = 0; i < n; ++i)
    for (int j = 0; j < n; ++j) terms.push_back(i / 20 == j / 20 ? 0 : -infinity);
  t.mask = std::make_shared<const MaskTensor>(mask_of_terms(n, n, std::move(terms)));
  p.input = testing::given(t);
  t.mask = nullptr;
  for (const auto& [has_rule, has_tensor, text] :
       {std::tuple{true, false, "the mask tensor is ignored"},
        {false, true, "the mask's rule is left out: only the mask tensor hides keys"},
        {false, false, "no mask: every query counts all keys"}}) {
    Problem wrong = p;
    if (!has_rule) wrong.mask = {};
    if (!has_tensor) wrong.input = testing::given(t);
    const JudgedLse given = given_lse(p, bf16, plain_lse(seen(wrong), bf16, {}));
    const auto judged = judge_lse(given);
    const std::size_t base = judged[1].ratio < judged[0].ratio;
    const auto slip = lse_slip(given, static_cast<LseBase>(base), judged[base]);
    ASSERT_TRUE(slip) << text << ": " << words(judged[base]);
    EXPECT_EQ(slip->text, text);
  }
}

/// Q and K of eight bits times a scale, which bf16 does not hold: a kernel may use them as they are, or rounded.
TEST(LseJudge, ScaledTensorsMayBeUsedAsTheyAre) {
  Problem p = problem_in(bf16, AttentionShape::square(60, 16), causal, 1);
  const Problem unscaled = p;
  Tensors t = *p.input.tensors;
  for (Values* x : {&t.q, &t.k})
    for (double& y : *x) y *= 0.7F;
  p.input = testing::given(t);
  for (Values* x : {&t.q, &t.k})
    for (double& y : *x) y = round(bf16, y);
  Problem rounded = p;
  rounded.input = testing::given(t);
  for (const bool two : {false, true}) {
    const LseJudgement judged = judge_lse(given_lse(p, bf16, plain_lse(seen(p), bf16, {.base_2 = two})))[two];
    EXPECT_TRUE(judged.rounded) << words(judged);
    EXPECT_EQ(judged.as, "its Q, K are used as they are, not rounded to bf16");
  }
  const LseJudgement of_rounded = judge_lse(given_lse(p, bf16, plain_lse(seen(rounded), bf16, {})))[0];
  EXPECT_TRUE(of_rounded.rounded && of_rounded.as.empty()) << words(of_rounded);
  for (const bool rounds : {false, true}) {
    JudgedLse beside_scales = given_lse(p, bf16, plain_lse(seen(rounds ? rounded : p), bf16, {}));
    beside_scales.claim.scaled_inputs = true;
    const LseJudgement judged = judge_lse(beside_scales)[0];
    EXPECT_TRUE(judged.rounded) << words(judged);
    EXPECT_EQ(judged.as, rounds ? "its Q, K are rounded to bf16" : "");
    beside_scales.claim.declared = method("hw", 64);
    EXPECT_EQ(judge_lse(beside_scales)[0].as, judged.as);
    for (double& x : beside_scales.values) x = -x;
    const auto slip = lse_slip(beside_scales, LseBase::e, judge_lse(beside_scales)[0]);
    ASSERT_TRUE(slip);
    EXPECT_EQ(slip->text, std::string("it has the other sign") + (rounds ? ", and its Q, K are rounded to bf16" : ""));
  }
  EXPECT_FALSE(judge_lse(given_lse(p, bf16, plain_lse(seen(unscaled), bf16, {})))[0].rounded) << "without the scale";
  Values wrong = plain_lse(seen(p), bf16, {});
  wrong[30] += 0.1;
  EXPECT_FALSE(judge_lse(given_lse(p, bf16, wrong))[0].rounded);
}

struct LseSlipCase {
  const char *kind, *words;
  std::function<void(Problem&)> wrong;                              ///< changes the kernel's problem
  std::function<double(double L, double m, int row)> mistake = {};  ///< or the numbers that it stores
  bool with_sink = false;
};

TEST(LseJudge, PlantedSlipsAreNamed) {
  const LseSlipCase cases[]{
      {"base", "the max is natural", {}, [](double L, double m, int) { return m + (L - m) * std::numbers::log2e; }},
      {"base", "ln 2", {}, [](double L, double, int) { return L * std::numbers::ln2; }},
      {"base", "base 2", {}, [](double L, double, int row) { return row < 64 ? L : L * std::numbers::log2e; }},
      {"sign", "other sign", {}, [](double L, double, int) { return -L; }},
      {"max", "left out", {}, [](double L, double m, int) { return L - m; }},
      {"max", "alone", {}, [](double, double m, int) { return m; }},
      {"max", "l is added", {}, [](double L, double m, int) { return m + std::exp(L - m); }},
      {"log", "it is exp(L)", {}, [](double L, double, int) { return std::exp(L); }},
      {"log", "it is l,", {}, [](double L, double m, int) { return std::exp(L - m); }},
      {"scale", "not scaled", [](Problem& p) { p.scale = 1; }},
      {"scale", "twice", [](Problem& p) { p.scale = 1.0 / p.d; }},
      {"base", "powers of 2", [](Problem& p) { p.scale = std::numbers::ln2 / std::sqrt(p.d); }},
      {"sink", "left out", [](Problem& p) { p.sink.reset(); }, {}, true},
      {"mask", "no mask", [](Problem& p) { p.mask = {}; }},
  };
  for (const Format& f : planted_formats())
    for (const LseKind kind : {LseKind::online, LseKind::eager})
      for (const LseSlipCase& c : cases) {
        const bool rounds_scores = kind == LseKind::eager;
        if (rounds_scores && f == fp32) continue;
        SCOPED_TRACE(std::string(c.kind) + " " + c.words + ", " + name(f) + (rounds_scores ? ", rounded scores" : ""));
        Problem p = problem_in(f, AttentionShape::square(200, 32), causal, 7);
        if (c.with_sink) p.sink = 1;
        Problem wrong = p;
        if (c.wrong) c.wrong(wrong);
        Values values = plain_lse(seen(wrong), f, {kind});
        const Seen x = seen(p);
        for (int i = 0; c.mistake && i < x.t.n; ++i) {
          float m = -std::numeric_limits<float>::infinity();
          for (int j = 0; j < x.t.n_k; ++j)
            if (x.sees(i, j)) m = std::max(m, plain_score(x, i, j, f, kind));
          double& L = values[static_cast<std::size_t>(i)];
          L = static_cast<float>(c.mistake(L, m, i));
        }
        const JudgedLse given = given_lse(p, f, values);
        const auto judged = judge_lse(given);
        const std::size_t base = judged[1].ratio < judged[0].ratio;
        ASSERT_FALSE(judged[base].rounded) << words(judged[base]);
        const auto slip = lse_slip(given, static_cast<LseBase>(base), judged[base]);
        ASSERT_TRUE(slip) << words(judged[base]);
        EXPECT_EQ(slip->kind, c.kind) << slip->text;
        EXPECT_NE(slip->text.find(c.words), std::string::npos) << slip->text;
        EXPECT_EQ(slip->text.ends_with(", and its scores are rounded to " + name(f)), rounds_scores) << slip->text;
      }
}

/// A lost tile and a sum without rescaling get their names, in tiles of 32 and 64 keys; the sums are plain.
TEST(LseJudge, LostTilesAreNamed) {
  enum class Lost { last, third, rescale };
  for (const Format& f : planted_formats())
    for (const int tile : {32, 64})
      for (const Lost lost : {Lost::last, Lost::third, Lost::rescale}) {
        const Problem p = problem_in(f, AttentionShape::square(256, 32), {}, 3);
        const Seen x = seen(p);
        Values values;
        for (int i = 0; i < x.t.n; ++i) {
          double m = -infinity, l = 0;
          for (int first = 0; first < x.t.n_k; first += tile) {
            double top = m;
            for (int j = first; j < first + tile; ++j) top = std::max(top, x.S(i, j));
            if (lost != Lost::rescale) l *= std::exp(m - top);
            m = top;
            if ((lost == Lost::last && first + tile == x.t.n_k) || (lost == Lost::third && first == 2 * tile)) continue;
            for (int j = first; j < first + tile; ++j) l += std::exp(x.S(i, j) - m);
          }
          values.push_back(static_cast<float>(m + std::log(l)));
        }
        const JudgedLse given = given_lse(p, f, values);
        const LseJudgement judged = judge_lse(given)[0];
        ASSERT_FALSE(judged.rounded);
        const auto slip = lse_slip(given, LseBase::e, judged);
        const std::string size = std::to_string(tile);
        const std::string expected =
            lost == Lost::last    ? "each row's last tile of " + size + " keys is left out"
            : lost == Lost::third ? "keys " + std::to_string(2 * tile) + " to " + std::to_string(3 * tile - 1) + " are left out"
                                  : "l is not rescaled when the max moves, in tiles of " + size + " keys";
        ASSERT_TRUE(slip) << expected << ", " << name(f);
        EXPECT_EQ(slip->text, expected) << name(f);
      }
}

/// The last tile has a single key.
TEST(LseJudge, AKeyCountedTwiceIsNamed) {
  const Problem p = problem_in(bf16, AttentionShape::square(257, 32), {}, 3);
  const Seen x = seen(p);
  Values values;
  for (int i = 0; i < x.t.n; ++i) {
    double l = std::exp(x.S(i, 256));
    for (int j = 0; j < x.t.n_k; ++j) l += std::exp(x.S(i, j));
    values.push_back(static_cast<float>(std::log(l)));
  }
  const JudgedLse given = given_lse(p, bf16, values);
  const auto slip = lse_slip(given, LseBase::e, judge_lse(given)[0]);
  ASSERT_TRUE(slip);
  EXPECT_EQ(slip->text, "key 256 counts twice");
}

}  // namespace
}  // namespace attoscope::lse_judge_test
