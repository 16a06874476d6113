// The judge passes all gradients of correct kernels, and gives planted mistakes their right names or no name.
#include "kernels/judge/gradient_judge.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <iterator>
#include <regex>
#include <string>

#include "kernels/backward/backward.h"
#include "kernels/experiment/rules.h"
#include "kernels/judge/gradient_group.h"
#include "tests/questions/planted_gradients.h"

namespace attoscope::gradient_judge_test {
namespace {

using namespace planted;

std::string said(const GroupJudgement& judged) {
  std::string words = judged.incomparable + judged.as;
  for (const TensorJudgement& t : judged.tensors)
    words += std::string(" ") + std::string(text(t.tensor)) + " " + std::to_string(t.found.ratio) + " whole " +
             std::to_string(t.found.whole) + (t.found.rounded ? " rounded" : " wrong") +
             (t.slip ? " [" + t.slip->kind + ": " + t.slip->text + "]" : "") + " " + t.found.where + ";";
  return words;
}

const Mask masks[]{{}, causal, window(40)};

/// The judge's exact gradient, from which it derives the tolerance, is golden's.
TEST(GradientJudge, TruthIsGolden) {
  for (int k = 0; k < 12; ++k) {
    const GradientCall call = gradient_call({.shape = {60 + k, 70, 24, 40}, .of_dl = k % 2 == 0}, masks[k % 3], bf16, 5);
    Problem p = call.p;
    if (k / 3 == 1) p.softcap = 3;
    if (k / 3 == 2) p.alibi = 0.1, p.scale = 0.3;
    if (k / 3 == 3) p.sink = 0.5;
    const auto tensors = std::make_shared<const Tensors>(call.heads[0]);
    const auto d_o = std::make_shared<const Values>(call.d_o[0]);
    const Values d_lse = call.d_lse.empty() ? Values{} : call.d_lse[0];
    p.input = testing::given(*tensors);
    const Gradients golden = golden_gradients(p, *tensors, {*d_o, d_lse}, false);
    const GradientOperands x = gradient_operands(tensors, d_o, d_lse);
    const GradientRounding rounding{bf16, bf16};
    const StopSign stop;
    const GradientRows rows = gradient_rows(x, p, rounding, stop);
    ExactGradients exact;
    ASSERT_TRUE(exact_gradients(x, right_gradient(p, rows), rows, rounding, exact, stop));
    for (const auto& [mine, its] : {std::pair{&exact.dq, &golden.dq}, {&exact.dk, &golden.dk}, {&exact.dv, &golden.dv}}) {
      ASSERT_EQ(mine->values.size(), its->values.size());
      for (std::size_t i = 0; i < its->values.size(); ++i)
        EXPECT_NEAR(mine->values[i], its->values[i], 1e-11 * (1 + std::abs(its->values[i]))) << k;
    }
    EXPECT_NEAR(sink_gradient(p, rows).value, golden.dsink, 1e-11 * (1 + std::abs(golden.dsink)));
  }
}

/// Right gradients pass although O is wrong, and do not fit this O; gradients computed from the wrong O fit it.
TEST(GradientJudge, AWrongOutputIsTold) {
  const GradientCall call = gradient_call({}, causal, bf16, 3);
  JudgedGradients given = gradients_of(call, GradientKind::flash);
  Values o = *given.o[0];
  for (double& x : o) x = round(bf16, 1.5 * x);
  given.o[0] = std::make_shared<const Values>(o), given.o_is_rounded = false;
  EXPECT_TRUE(judge_gradients(given).rounded());
  EXPECT_FALSE(judge_gradients(given).fits_given_o);
  GradientMistake mistake;
  mistake.delta = [&](const PlantedRow& r) {
    double sum = 0;
    for (int c = 0; c < r.d_v; ++c) sum += o[static_cast<std::size_t>(r.row * r.d_v + c)] * r.d_o[c];
    return sum;
  };
  JudgedGradients of_that = gradients_of(call, GradientKind::flash, mistake);
  of_that.o = given.o, of_that.o_is_rounded = false;
  const GroupJudgement judged = judge_gradients(of_that);
  EXPECT_TRUE(judged.rounded() && judged.fits_given_o) << said(judged);
  of_that.o_is_rounded = true;
  EXPECT_FALSE(judge_gradients(of_that).rounded());
}

/// A key that no query sees may hold an infinity or NaN: right gradients pass, and wrong ones do not.
TEST(GradientJudge, HiddenKeysLeaveTheToleranceAsItIs) {
  const GradientCall call = gradient_call({.shape = {60, 150, 32, 32}}, window(40), bf16, 3);
  JudgedGradients right = gradients_of(call, GradientKind::flash);
  Tensors t = *right.heads[0];
  for (const double x : {infinity, std::nan("")}) {
    t.k[0] = x;
    right.heads[0] = std::make_shared<const Tensors>(t);
    const GroupJudgement judged = judge_gradients(right);
    EXPECT_TRUE(judged.rounded()) << x << ": " << said(judged);
    JudgedGradients wrong = right;
    for (GivenGradient* g : {&wrong.dq, &wrong.dk, &wrong.dv}) {
      Values values = *g->values[0];
      for (double& y : values) y = round(bf16, 1.5 * y);
      g->values[0] = std::make_shared<const Values>(std::move(values));
    }
    for (const TensorJudgement& tensor : judge_gradients(wrong).tensors) EXPECT_FALSE(tensor.found.rounded) << x;
  }
}

/// A mask tensor may drop a key from all queries, and all keys from a query: their NaN changes nothing.
TEST(GradientJudge, GapsOfAMaskTensorHideANan) {
  constexpr int n = 60, d = 16;
  const GradientCall call = gradient_call({.shape = AttentionShape::square(n, d)}, causal, bf16, 3);
  Values terms(std::size_t{n} * n), d_o = call.d_o[0];
  for (int i = 0; i < n; ++i) terms[at(i * n + 5)] = terms[at(20 * n + i)] = -infinity;
  Tensors t = call.heads[0];
  t.mask = std::make_shared<const MaskTensor>(mask_of_terms(n, n, std::move(terms)));
  Problem p = call.p;
  p.input = testing::given(t);
  const Gradients golden = golden_gradients(p, t, {d_o, {}}, false);
  for (int c = 0; c < d; ++c)
    for (double* const x : {&t.k[at(5 * d)], &t.v[at(5 * d)], &t.q[at(20 * d)], &d_o[at(20 * d)]}) x[c] = std::nan("");
  JudgedGradients given{.problem = call.p, .heads = {std::make_shared<const Tensors>(t)}, .d_o = {}, .o = {}};
  given.d_o = {std::make_shared<const Values>(d_o)};
  given.dq.values = {stored(golden.dq.values, bf16)}, given.dk.values = {stored(golden.dk.values, bf16)};
  given.dv.values = {stored(golden.dv.values, bf16)};
  const GroupJudgement judged = judge_gradients(given);
  EXPECT_TRUE(judged.rounded()) << said(judged);
  Values doubled = golden.dv.values;
  for (double& x : doubled) x *= 2;
  given.dv.values = {stored(doubled, bf16)};
  EXPECT_FALSE(judge_gradients(given).tensors.back().found.rounded);
}

/// A kernel that divides q.k rounds the divisor of each head, as if the head were alone.
TEST(GradientJudge, EachHeadHasItsDivisor) {
  GradientCall call = gradient_call({.shape = AttentionShape::square(40, 16), .heads = 2}, causal, bf16, 3);
  call.own = {call.p, call.p};
  call.own[0].scale = 0.25, call.own[1].scale = 0.3;  // bf16 holds 1 / 0.25 and not 1 / 0.3
  const JudgedGradients both = gradients_of(call, GradientKind::eager);
  JudgedGradients second = both;
  second.own.clear(), second.problem = call.own[1];
  second.heads.erase(second.heads.begin()), second.d_o.erase(second.d_o.begin()), second.d_lse.erase(second.d_lse.begin());
  const StopSign stop;
  const auto dq_of_last = [&](const JudgedGradients& given) {
    for (const GradientFamily& family : gradient_families(given))
      for (const GradientFamily::Form& form : family.forms)
        if (form.as.ends_with(", as in JAX")) return GradientGroup(given, form, stop).golden().heads.back().dq.values;
    return Values{};
  };
  EXPECT_FALSE(dq_of_last(both).empty());
  EXPECT_EQ(dq_of_last(both), dq_of_last(second));
}

TEST(GradientJudge, WhichTensorsAreWrongNarrowsTheCause) {
  const auto of = [](bool dq, bool dk, bool dv) {
    GroupJudgement judged;
    for (const auto& [tensor, wrong] :
         {std::pair{GradientTensor::dq, dq}, {GradientTensor::dk, dk}, {GradientTensor::dv, dv}}) {
      TensorJudgement t{tensor, {}};
      t.found.rounded = !wrong;
      judged.tensors.push_back(t);
    }
    return narrowed_cause(judged);
  };
  EXPECT_EQ(of(false, false, false), "");
  EXPECT_NE(of(true, true, false).find("delta"), std::string::npos);
  EXPECT_NE(of(true, true, true).find("L"), std::string::npos);
  EXPECT_NE(of(false, false, true).find("P's cast"), std::string::npos);
  EXPECT_NE(of(false, true, true).find("queries"), std::string::npos);
}

TEST(GradientJudge, NoCorrectKernelFails) {
  const CallSizes sizes[]{{.shape = AttentionShape::square(150, 32)},
                          {.shape = {70, 130, 24, 40}, .heads = 3},
                          {.shape = AttentionShape::square(128, 64), .of_dl = true},
                          {.shape = AttentionShape::square(33, 16), .heads = 4},
                          {.shape = {96, 96, 64, 32}, .size = 4}};
  int outputs = 0, failed = 0, k = 0;
  for (const GradientKind kind : gradient_kinds)
    for (const Format& f : planted_formats())
      for (const Mask& mask : masks)
        for (std::uint64_t seed = 1; seed <= 3; ++seed) {
          CallSizes size = sizes[static_cast<std::size_t>(++k) % std::size(sizes)];
          GradientCall call = gradient_call(size, mask, f, seed);
          if (k % 7 == 3) call.p.softcap = 5;
          if (k % 7 == 4) call.p.alibi = 0.03;
          if (k % 7 == 5) call.p.sink = 1;
          if (k % 7 == 6) take_own_numbers(call);
          const GroupJudgement judged = judge_gradients(gradients_of(call, kind));
          ++outputs, failed += !judged.rounded();
          EXPECT_TRUE(judged.rounded()) << "kind " << static_cast<int>(kind) << ", " << name(f) << ", mask "
                                        << static_cast<int>(mask.kind) << ", case " << k << ": " << said(judged);
        }
  std::printf("%d correct gradients, %d failed\n", outputs, failed);
}

/// A kernel whose backward pass alone rounds scores to D, so that P does not sum to 1, and whose delta is from O.
TEST(GradientJudge, ScoresRoundedInTheBackwardPassAloneAreTold) {
  for (const Format& f : {bf16, fp16}) {
    GradientCall call = gradient_call({.shape = AttentionShape::square(96, 64), .size = 2}, causal, f, 3);
    call.p.scale = 0.3;
    const GroupJudgement judged = judge_gradients(gradients_of(call, GradientKind::generic_blas));
    EXPECT_TRUE(judged.rounded()) << said(judged);
    const std::string of_backward = "the scores and dP of its backward pass are rounded to " + name(f) + ", and ";
    EXPECT_TRUE(judged.as.starts_with((f == fp16 ? "the q.k of its forward pass, " : "") + of_backward)) << said(judged);
  }
}

/// A q.k in the middle of two numbers of fp16, which sums in fp32 may round either way: L moves by a step times the scale.
TEST(GradientJudge, LMayMoveByAStepOfARoundedProduct) {
  Tensors t = Tensors::shaped(AttentionShape::square(1, 1));
  t.q = {3}, t.k = {683.0 / 128}, t.v = {1};  // 2049/128; fp16 has 2048/128 and 2050/128
  Problem p = with_shape(Problem{}, t.shape());
  p.scale = 0.125;
  p.input = testing::given(t);
  const GradientOperands x =
      gradient_operands(std::make_shared<const Tensors>(t), std::make_shared<const Values>(Values{1}), {});
  GradientRounding rounding{fp16, fp16};
  rounding.forward = StoredScores{};
  const double plain = gradient_rows(x, p, rounding, StopSign{}).relative[0];
  rounding.forward->products = fp16;
  EXPECT_NEAR(gradient_rows(x, p, rounding, StopSign{}).relative[0], plain + 0x1p-6 * p.scale, 1e-9);
}

/// Op by op is named before the kernel that rounds scores in its backward pass alone if both have the same golden.
TEST(GradientJudge, OpByOpIsNamedFirstWhereTheScaleIsExact) {
  for (const Format& f : {bf16, fp16})
    for (std::uint64_t seed = 1; seed <= 3; ++seed) {
      const GradientCall call = gradient_call({.shape = AttentionShape::square(96, 64), .size = 2}, causal, f, seed);
      const GroupJudgement judged = judge_gradients(gradients_of(call, GradientKind::eager));
      EXPECT_TRUE(judged.as.ends_with(", op by op")) << said(judged);
    }
}

/// The formats and masks under which a slip is planted.
bool is_planted(const PlantedGradient& planted, const Mask& mask, const Format& f) {
  using Needs = PlantedGradient::Needs;
  const bool full = mask.kind == Mask::Kind::none;
  switch (planted.needs) {
    case Needs::nothing:
      return true;
    case Needs::a_mask:
      return !full;
    case Needs::no_mask:
      return full;
    case Needs::fp32_numbers:
      return f == fp32;
    case Needs::fp16_numbers:
      return full && f == fp16;
  }
  return false;
}

/// Slips that were planted in kernels of one kind and one format.
struct PlantedCount {
  int planted = 0, passed = 0, named = 0, misnamed = 0;
};

/// Plants one slip. In kernels op by op it may be smaller than their tolerance; each tensor found wrong must get its right
/// name.
void plant(const PlantedGradient& planted, GradientKind kind, const Format& f, const Mask& mask, PlantedCount& count) {
  GradientCall call = gradient_call(planted.sizes, mask, f, 7);
  if (planted.problem) planted.problem(call.p);
  if (planted.by_head) take_own_numbers(call);
  const JudgedGradients given = gradients_of(call, kind, planted.mistake(call));
  GroupJudgement judged = judge_gradients(given);
  find_gradient_slips(given, judged);
  SCOPED_TRACE(std::string(planted.kind) + ", kind " + std::to_string(static_cast<int>(kind)) + ", " + name(f) + ", mask " +
               std::to_string(static_cast<int>(mask.kind)) + ": " + said(judged));
  bool any = false;
  for (const TensorJudgement& t : judged.tensors) {
    const bool meant = std::string(planted.wrong).find(name(t.tensor)) != std::string::npos;
    EXPECT_TRUE(meant || t.found.rounded) << text(t.tensor) << " is right";
    if (t.found.rounded) continue;
    const bool right = t.slip && std::regex_search(t.slip->kind + ": " + t.slip->text, std::regex(planted.name));
    EXPECT_TRUE(right) << text(t.tensor);
    any = any || right, count.misnamed += t.slip && !right;
  }
  EXPECT_TRUE(!judged.rounded() || is_eager(kind));
  ++count.planted, count.passed += judged.rounded(), count.named += any;
}

/// Plants each slip under all masks with FlashAttention's roundings and op-by-op roundings; with the third kind in bf16 alone.
TEST(GradientJudge, PlantedSlipsAreNamed) {
  EXPECT_GE(planted_gradients().size(), 60u);
  Mask turned[]{masks[0], masks[1], masks[2]};
  for (const GradientKind kind : {GradientKind::flash, GradientKind::eager, GradientKind::roots})
    for (const Format& f : planted_formats()) {
      if (kind == GradientKind::roots && f != bf16) continue;
      std::rotate(turned, turned + 1, std::end(turned));
      PlantedCount count;
      for (const PlantedGradient& planted : planted_gradients()) {
        const auto is_meant = [&](const Mask& m) { return is_planted(planted, m, f); };
        std::rotate(turned, turned + 1, std::end(turned));
        if (const auto* mask = std::ranges::find_if(turned, is_meant); mask != std::end(turned))
          plant(planted, kind, f, *mask, count);
      }
      std::printf("kind %d, %s: %d planted, %d passed, %d named, %d misnamed tensors\n", static_cast<int>(kind),
                  name(f).c_str(), count.planted, count.passed, count.named, count.misnamed);
    }
}

}  // namespace
}  // namespace attoscope::gradient_judge_test
