// Gradients of correct kernels that must never be failed, and planted mistakes, which are named rightly or not at all.
#include "kernels/judge/gradient_judge.h"

#include <gtest/gtest.h>

#include <cmath>
#include <regex>
#include <string>
#include <vector>

#include "kernels/experiment/rules.h"
#include "tests/questions/planted_gradients.h"

namespace attoscope {
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
          const GroupJudgement judged = judge_gradients(gradients_of(call, kind));
          ++outputs, failed += !judged.rounded();
          EXPECT_TRUE(judged.rounded()) << "kind " << static_cast<int>(kind) << ", " << name(f) << ", mask "
                                        << static_cast<int>(mask.kind) << ", case " << k << ": " << said(judged);
        }
  std::printf("%d correct gradients, %d failed\n", outputs, failed);
}

/// The formats and masks under which a slip is planted.
bool is_planted(const PlantedGradient& planted, const Mask& mask, const Format& f) {
  using Needs = PlantedGradient::Needs;
  if (planted.needs == Needs::mask && mask.kind == Mask::Kind::none) return false;
  if (planted.needs == Needs::causal && mask.kind != Mask::Kind::causal) return false;
  return planted.needs != Needs::fp32 || f == fp32;
}

TEST(GradientJudge, PlantedSlipsAreNamed) {
  int planted_count = 0, passed = 0, named = 0, misnamed = 0;
  for (const PlantedGradient& planted : planted_gradients())
    for (const Format& f : planted_formats())
      for (const Mask& mask : masks) {
        if (!is_planted(planted, mask, f)) continue;
        GradientCall call = gradient_call(planted.sizes, mask, f, 7);
        if (planted.problem) planted.problem(call.p);
        const JudgedGradients given = gradients_of(call, GradientKind::flash, planted.mistake(call));
        GroupJudgement judged = judge_gradients(given);
        find_gradient_slips(given, judged);
        SCOPED_TRACE(std::string(planted.kind) + ", " + name(f) + ", mask " + std::to_string(static_cast<int>(mask.kind)) +
                     ": " + said(judged));
        ++planted_count;
        bool any = false;
        for (const TensorJudgement& t : judged.tensors) {
          const bool meant = std::string(planted.wrong).find(name(t.tensor)) != std::string::npos;
          EXPECT_TRUE(meant || t.found.rounded) << text(t.tensor) << " is right";
          if (t.found.rounded) continue;
          const bool right = t.slip && std::regex_search(t.slip->kind + ": " + t.slip->text, std::regex(planted.name));
          EXPECT_TRUE(right) << text(t.tensor);
          any = any || right, misnamed += t.slip && !right;
        }
        EXPECT_FALSE(judged.rounded());
        passed += judged.rounded(), named += any;
      }
  std::printf("%d planted, %d passed, %d named, %d misnamed tensors\n", planted_count, passed, named, misnamed);
}

}  // namespace
}  // namespace attoscope
