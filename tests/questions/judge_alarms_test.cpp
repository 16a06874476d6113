// Correct kernels that round at unusual steps, written out operation by operation as PyTorch and shipping kernels
// store their results: the judge may call none of them wrong. Mistakes of relevant size in the same settings: none of them may
// pass.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <string>
#include <vector>

#include "kernels/experiment/rules.h"
#include "kernels/judge/judge.h"
#include "tests/questions/planted_kernels.h"

namespace attoscope {
namespace {

using namespace planted;

constexpr float lowest = -std::numeric_limits<float>::infinity();

/// The step at which eager attention multiplies by the scale.
enum class Scaled { scores, queries, keys, roots, divided, unstored };
constexpr Scaled scaled_forms[]{Scaled::scores, Scaled::queries, Scaled::keys,
                                Scaled::roots,  Scaled::divided, Scaled::unstored};

struct Form {
  Scaled scaled = Scaled::scores;
  bool stores_P = true;        ///< in D
  bool subtracts_max = false;  ///< in D, as gpt-oss does
  bool bias_by_key = false;    ///< ALiBi counts from the first key, as BLOOM's does
};

/// Eager attention in fp32, each operation's result stored in f.
class Eager {
 public:
  Eager(const Problem& p, const Format& f, const Form& form) : x_(seen(p)), f_(f), form_(form) {}

  Values output() {
    const float scale = static_cast<float>(scale_of(x_.p)), root = std::sqrt(scale);
    if (form_.scaled == Scaled::queries) times(x_.t.q, scale);
    if (form_.scaled == Scaled::keys) times(x_.t.k, scale);
    if (form_.scaled == Scaled::roots) times(x_.t.q, root), times(x_.t.k, root);
    Values o;
    for (int i = 0; i < x_.t.n; ++i) add_row(i, o);
    return o;
  }

 private:
  float stored(float x) const { return static_cast<float>(round(f_, static_cast<double>(x))); }
  void times(Values& x, float factor) const {
    for (double& y : x) y = stored(static_cast<float>(y) * factor);
  }

  float score(int i, int j) const {
    float s = 0;
    for (int c = 0; c < x_.t.d; ++c) s = std::fma(static_cast<float>(x_.q(i, c)), static_cast<float>(x_.k(j, c)), s);
    const auto scale = static_cast<float>(scale_of(x_.p)), cap = static_cast<float>(x_.p.softcap);
    if (form_.scaled != Scaled::unstored) s = stored(s);
    if (form_.scaled == Scaled::divided) s = stored(s / stored(1 / scale));
    if (form_.scaled == Scaled::scores || form_.scaled == Scaled::unstored) s = stored(s * scale);
    if (cap != 0) s = stored(stored(std::tanh(stored(s / cap))) * cap);
    if (x_.p.alibi != 0) {
      const int distance = form_.bias_by_key ? j : -std::abs(x_.stands_at(i) - j);
      s = stored(s + stored(static_cast<float>(x_.p.alibi) * static_cast<float>(distance)));
    }
    return s;
  }

  void add_row(int i, Values& o) const {
    std::vector<float> s;
    for (int j = 0; j < x_.t.n_k; ++j) s.push_back(x_.sees(i, j) ? score(i, j) : lowest);
    if (x_.p.sink) s.push_back(static_cast<float>(*x_.p.sink));
    const float m = *std::ranges::max_element(s);
    float l = 0;
    for (float& y : s) l += y = std::exp(form_.subtracts_max ? stored(y - m) : y - m);
    for (float& P : s) P = form_.stores_P ? stored(P / l) : P / l;
    for (int c = 0; c < x_.t.d_v; ++c) {
      float sum = 0;
      for (int j = 0; j < x_.t.n_k; ++j) sum = std::fma(s[static_cast<std::size_t>(j)], static_cast<float>(x_.v(j, c)), sum);
      o.push_back(sum);
    }
  }

  Seen x_;
  Format f_;
  Form form_;
};

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
                        judged(p, Eager(p, f, {.scaled = scaled, .stores_P = stores_P}).output(), f));
      }
}

/// Some hundred scores lie near the midpoint of two numbers of fp16.
TEST(JudgeAlarms, LargeScoresOfManyKeys) {
  Alarms alarms("eager, many keys");
  if (testing::sanitized) return;
  for (std::uint64_t seed = 1; seed <= 3; ++seed)
    for (const Format& f : {fp16, bf16}) {
      const Problem p = problem_of(f, 768, 128, {}, seed, 4);
      alarms.look(text_of(f, 128, 4, 0), judged(p, Eager(p, f, {}).output(), f));
    }
}

TEST(JudgeAlarms, DeclaredOrNot) {
  Alarms alarms("declared");
  for (const char* declared : {"base_eager", "eager", "hw", "base_all"})
    for (const Scaled scaled : {Scaled::scores, Scaled::queries}) {
      const Problem p = problem_of(bf16, 128, 128, causal, 5, 1);
      alarms.look(declared, judged(p, Eager(p, bf16, {.scaled = scaled}).output(), bf16, method(declared, 64)));
    }
}

/// Gemma-2's soft cap, gpt-oss's sink, and ALiBi, each operation stored.
TEST(JudgeAlarms, EagerAttentionOfModels) {
  Alarms alarms("models");
  for (std::uint64_t seed = 1; seed <= 4; ++seed)
    for (const Format& f : {bf16, fp16})
      for (const double deviation : {1.0, 4.0}) {
        if (testing::sanitized && seed > 1) continue;
        const auto look = [&](Problem p, const Form& form, int number) {
          alarms.look(text_of(f, p.d, deviation, number) + ", seed " + std::to_string(seed),
                      judged(p, Eager(p, f, form).output(), f));
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

/// A flash kernel in double with these scores; `of_P` rounds P = e^(S - m).
Values flash(const Problem& p, const Entry& S, const std::function<double(double)>& of_P,
             const std::function<double(double)>& of_O = {}, int splits = 1,
             const std::function<double(double)>& of_part = {}) {
  const Seen x = seen(p);
  Values o;
  for (int i = 0; i < x.t.n; ++i) {
    double m = -infinity, l = 0;
    Values s, row(static_cast<std::size_t>(x.t.d_v));
    for (int j = 0; j < x.t.n_k; ++j) s.push_back(x.sees(i, j) ? S(i, j) : -infinity), m = std::max(m, s.back());
    const int length = (x.t.n_k + splits - 1) / splits;
    for (int first = 0; first < x.t.n_k; first += length) {
      double part_l = 0;
      Values part(row.size());
      for (int j = first; j < std::min(x.t.n_k, first + length); ++j) {
        const double e = std::exp(s[static_cast<std::size_t>(j)] - m);
        part_l += e;
        for (std::size_t c = 0; c < part.size(); ++c) part[c] += of_P(e) * x.v(j, static_cast<int>(c));
      }
      l += part_l;
      for (std::size_t c = 0; c < part.size(); ++c)
        row[c] += part_l > 0 && of_part ? part_l * of_part(part[c] / part_l) : part[c];
    }
    for (const double y : row) o.push_back((of_O ? of_O(y) : y) / l);
  }
  return o;
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
    const Seen x = seen(p);
    Values o;
    for (int i = 0; i < x.t.n; ++i) {
      double m = -infinity, l = 0;
      Values row(static_cast<std::size_t>(x.t.d_v));
      for (int first = 0; first <= i; first += 512) {
        const int end = std::min(i + 1, first + 512);
        Values s, part(row.size());
        for (int j = first; j < end; ++j) s.push_back(round(f, x.dot(i, j)) * scale_of(p));
        const double top = std::max(m, *std::ranges::max_element(s)), alpha = std::exp(m - top);
        l *= alpha;
        for (int j = first; j < end; ++j) {
          const double e = std::exp(s[static_cast<std::size_t>(j - first)] - top);
          l += e;
          for (std::size_t c = 0; c < part.size(); ++c) part[c] += round(f, e) * x.v(j, static_cast<int>(c));
        }
        for (std::size_t c = 0; c < row.size(); ++c) row[c] = row[c] * alpha + round(f, part[c]);
        m = top;
      }
      for (const double y : row) o.push_back(round(f, y / l));
    }
    alarms.look(text_of(f, 64, 2, 0), judged(p, o, f));
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
