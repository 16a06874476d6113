// The judge may call no correct kernel that rounds at unusual steps wrong. Mistakes of relevant size in the same settings: none
// of them may pass.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <string>
#include <vector>

#include "kernels/experiment/rules.h"
#include "kernels/judge/judge.h"
#include "tests/questions/planted_kernels.h"
#include "tests/questions/planted_roundings.h"

namespace attoscope {
namespace {

using namespace planted;

/// Normal inputs that f holds, with scores of standard deviation `deviation`.
Problem problem_of(const Format& f, int n, int d, Mask mask, std::uint64_t seed, double deviation) {
  return problem_in(f, AttentionShape::square(n, d), mask, seed, deviation);
}

/// Counts the outputs of a kind that the judge calls wrong.
class Alarms {
 public:
  explicit Alarms(const char* kind) : kind_(kind) {}
  ~Alarms() { std::printf("%s: %d, of which called wrong: %d\n", kind_, outputs_, wrong_); }
  void look(const std::string& text, const Judged& judged) {
    const HeadJudgement& h = judged.head;
    ++outputs_, wrong_ += !h.rounded;
    EXPECT_TRUE(h.rounded) << kind_ << ", " << text << ": ratio " << h.ratio << ", whole " << h.whole << ", "
                           << h.wrong_rows.size() << " rows";
  }

 private:
  const char* kind_;
  int outputs_ = 0, wrong_ = 0;
};

std::string text_of(const Format& f, int d, double deviation, int form) {
  return name(f) + ", d " + std::to_string(d) + ", scores of " + std::to_string(deviation) + ", form " + std::to_string(form);
}

TEST(JudgeAlarms, EagerAttention) {
  Alarms alarms("eager");
  for (const int d : {64, 80, 96, 128, 256})
    for (const Format& f : {bf16, fp16, fp32})
      for (const double deviation : {1.0, 4.0}) {
        if (testing::sanitized && d != 80) continue;
        const Problem p =
            problem_of(f, testing::sanitized ? 64 : 192, d, d % 3 ? causal : Mask{}, static_cast<std::uint64_t>(d), deviation);
        for (const Scaled scaled : scaled_forms)
          for (const bool stores_P : {true, false})
            alarms.look(text_of(f, d, deviation, static_cast<int>(scaled) * 2 + stores_P),
                        judged(p, eager(p, f, {.scaled = scaled, .stores_P = stores_P}), f));
      }
}

/// Some hundred scores lie near the midpoint of two numbers of fp16.
TEST(JudgeAlarms, LargeScoresOfManyKeys) {
  Alarms alarms("eager, many keys");
  if (testing::sanitized) return;
  for (std::uint64_t seed = 1; seed <= 3; ++seed)
    for (const Format& f : {fp16, bf16}) {
      const Problem p = problem_of(f, 768, 128, {}, seed, 4);
      alarms.look(text_of(f, 128, 4, 0), judged(p, eager(p, f), f));
    }
}

TEST(JudgeAlarms, DeclaredOrNot) {
  Alarms alarms("declared");
  for (const char* declared : {"base_eager", "eager", "hw", "base_all"})
    for (const Scaled scaled : {Scaled::scores, Scaled::queries}) {
      const Problem p = problem_of(bf16, 128, 128, causal, 5, 1);
      alarms.look(declared, judged(p, eager(p, bf16, {.scaled = scaled}), bf16, method(declared, 64)));
    }
}

/// Gemma-2's soft cap, gpt-oss's sink, and ALiBi, each operation stored.
TEST(JudgeAlarms, EagerAttentionOfModels) {
  Alarms alarms("models");
  for (std::uint64_t seed = 1; seed <= 4; ++seed)
    for (const Format& f : {bf16, fp16})
      for (const double deviation : {1.0, 4.0}) {
        if (testing::sanitized && seed > 1) continue;
        const auto look = [&](Problem p, const EagerForm& form, int number) {
          alarms.look(text_of(f, p.d, deviation, number) + ", seed " + std::to_string(seed), judged(p, eager(p, f, form), f));
        };
        const int d = seed % 2 ? 64 : 128;
        Problem p = problem_of(f, 192, d, causal, seed, deviation);
        p.softcap = 50;
        look(p, {}, 0);
        look(p, {.scaled = Scaled::queries}, 1);
        p.softcap = 0, p.sink = 1.5;
        look(p, {.subtracts_max = true}, 2);
        look(p, {}, 3);
        p.sink.reset(), p.alibi = 0.0625;
        look(p, {}, 4);
        look(p, {.bias_by_key = true}, 5);
      }
}

double cut(const Format& f, double x) {
  const double rounded = round(f, x);
  return std::abs(rounded) > std::abs(x) ? rounded - std::copysign(ulp(f, x), x) : rounded;
}

/// Soft caps by tanh.approx.f32, whose relative error is up to 2^-11.
TEST(JudgeAlarms, ApproximateTanh) {
  Alarms alarms("tanh of 11 bits");
  for (std::uint64_t seed = 1; seed <= 4; ++seed)
    for (const Format& f : {bf16, fp16})
      for (const double deviation : {1.0, 2.0, 4.0}) {
        if (testing::sanitized && seed > 1) continue;
        Problem p = problem_of(f, 160, seed % 2 ? 64 : 128, causal, seed, deviation);
        p.softcap = seed == 4 ? 15 : 50;
        const Seen x = seen(p);
        testing::Dice dice(seed);
        const auto S = [&](int i, int j) { return x.S(i, j) * (1 + (2 * dice.unit() - 1) * 0x1p-11); };
        alarms.look(text_of(f, p.d, deviation, 0), judged(p, flash(p, S, [&](double e) { return round(f, e); }), f));
      }
}

/// Not called wrong: partial outputs stored in D, O stored before its division, P or O truncated instead of rounded.
TEST(JudgeAlarms, StoredElsewhere) {
  Alarms alarms("stored elsewhere");
  for (std::uint64_t seed = 1; seed <= 4; ++seed)
    for (const Format& f : {bf16, fp16})
      for (const int d : {64, 128}) {
        if (testing::sanitized && seed > 1) continue;
        const Problem p = problem_of(f, 160, d, seed % 2 ? causal : Mask{}, seed, 1);
        const Seen x = seen(p);
        const auto S = [&](int i, int j) { return x.S(i, j); };
        const auto rounds = [&](double y) { return round(f, y); };
        const auto cuts = [&](double y) { return cut(f, y); };
        for (const int splits : {2, 3, 4, 8})
          alarms.look(text_of(f, d, splits, 0), judged(p, flash(p, S, rounds, {}, splits, rounds), f));
        alarms.look(text_of(f, d, 1, 1), judged(p, flash(p, S, rounds, rounds), f));
        alarms.look(text_of(f, d, 1, 2), judged(p, flash(p, S, cuts), f));
        Values o = flash(p, S, rounds);
        for (double& y : o) y = cut(f, y);
        alarms.look(text_of(f, d, 1, 3), judged(p, o, f));
      }
}

/// PyTorch's flash kernel for CPUs with a BLAS that stores products in D: q.k, and P.V of each tile of 512 keys.
TEST(JudgeAlarms, StoredProductsOfTiles) {
  Alarms alarms("stored products of tiles");
  for (const Format& f : {bf16, fp16}) {
    if (testing::sanitized) continue;
    const Problem p = problem_of(f, 600, 64, causal, 3, 2);
    alarms.look(text_of(f, 64, 2, 0), judged(p, flash_of_stored_products(p, f, 512), f));
  }
}

/// Mistakes in settings with wider tolerances, a soft cap, a sink, ALiBi; each moves an element by more than twice its
/// rounding.
TEST(JudgeAlarms, NoMistakePassesForAnotherRounding) {
  int planted = 0, passed = 0;
  for (std::uint64_t seed = 1; seed <= 4; ++seed)
    for (const Format& f : {bf16, fp16})
      for (const int with : {0, 1, 2, 3}) {
        if (testing::sanitized && seed > 1) continue;
        Problem p = problem_of(f, 160, seed % 2 ? 64 : 128, causal, seed, seed > 2 ? 4 : 1);
        if (with == 1) p.softcap = 20;
        if (with == 2) p.sink = 1.5;
        if (with == 3) p.alibi = 0.0625;
        const Seen right_one = seen(p);
        const Method hw = method("hw", 64);
        const Values truth = right(right_one), correct = *stored(emulated(p, hw, f), f);
        const auto look = [&](const char* text, const Edit& edit) {
          const Values faulty = *stored(emulated(p, hw, f, edit), f);
          double most = 0, effect = 0;
          for (std::size_t i = 0; i < truth.size(); ++i)
            most = std::max(most, std::abs(correct[i] - truth[i])), effect = std::max(effect, std::abs(faulty[i] - correct[i]));
          if (effect < 2.4 * most) return;
          const HeadJudgement h = judged(p, faulty, f).head;
          ++planted, passed += h.rounded;
          EXPECT_FALSE(h.rounded) << text << ", " << name(f) << ", with " << with << ", seed " << seed << ", effect "
                                  << effect / most << ": " << h.as;
        };
        look("scale 2 % too large", [](Problem& x, Tensors&) { x.scale = scale_of(x) * 1.02; });
        look("scale 5 % too large", [](Problem& x, Tensors&) { x.scale = scale_of(x) * 1.05; });
        look("a window", [](Problem& x, Tensors&) { x.mask = window(80); });
        look("no mask", [](Problem& x, Tensors&) { x.mask = {}; });
        look("cap 10 % too large", [](Problem& x, Tensors&) { x.softcap *= 1.1; });
        look("no cap", [](Problem& x, Tensors&) { x.softcap = 0; });
        look("no sink", [](Problem& x, Tensors&) { x.sink.reset(); });
        look("sink of another head", [](Problem& x, Tensors&) {
          if (x.sink) *x.sink += 0.25;
        });
        look("slope 5 % too large", [](Problem& x, Tensors&) { x.alibi *= 1.05; });
        look("a key twice", copied_row(41, 40));
      }
  std::printf("planted: %d, of which passed: %d\n", planted, passed);
}

}  // namespace
}  // namespace attoscope
