// Correct outputs, which must all pass, and planted faults of relevant size, which must all fail.
#include "kernels/judge/judge.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <functional>
#include <string>
#include <tuple>
#include <vector>

#include "kernels/experiment/rules.h"
#include "kernels/judge/call_judgement.h"
#include "tests/questions/planted_kernels.h"

namespace attoscope::judge_test {
namespace {

using namespace planted;

constexpr int n = kernel_n, d = kernel_d, tile = kernel_tile;

std::string said(const HeadJudgement& h) {
  char text[300];
  std::snprintf(text, sizeof text, "ratio %.2f, suspects %lld in %zu rows %s, whole %.2f, as '%s'", h.ratio,
                static_cast<long long>(h.suspects), h.wrong_rows.size(), h.where.c_str(), h.whole, h.as.c_str());
  return text;
}

/// Inputs of a kind, on the grid of f, given as tensors.
Problem drawn_problem(InputKind kind, int rows, int columns, const Mask& mask, std::uint64_t seed, const Format& f) {
  Experiment e = testing::sized_experiment(rows, columns, f);
  e.problem.mask = mask, e.problem.seed = seed, e.problem.input.kind = kind;
  Problem p = e.problem;
  p.input = testing::given(*compute(e).inputs);
  return p;
}

constexpr InputKind kinds[]{InputKind::normal, InputKind::uniform,  InputKind::outliers, InputKind::ascending,
                            InputKind::ties,   InputKind::shuffled, InputKind::biased,   InputKind::ones};

/// Policy, algorithm, order and accumulator of the k-th correct kernel.
Method correct_kernel(int k, const Format& f) {
  constexpr const char* names[]{"hw", "base_hw", "hw", "base_floor", "hw", "base_eager", "hw"};
  constexpr int tiles[]{64, 16, 128, 48, 32, 80, 112};
  Method m = method(names[k % 7], tiles[k / 3 % 7]);
  m.order = static_cast<SumOrder>(k / 7 % 3);
  m.reverse_keys = k / 21 % 2 == 1;
  m.exponential = k / 5 % 2 == 1 ? ExponentialKind::exp2 : ExponentialKind::natural;
  if (m.algorithm == Algorithm::three_pass) return m;
  constexpr Algorithm algorithms[]{Algorithm::flash2, Algorithm::flash4, Algorithm::flash1, Algorithm::split_kv,
                                   Algorithm::two_pass};
  m = with_algorithm(m, algorithms[k / 2 % 5]);
  m.tau = usual_tau(f), m.splits = 2 + k % 3;
  constexpr Accumulator sums[]{Accumulator::fma, Accumulator::a100, Accumulator::h100, Accumulator::fma, Accumulator::b200};
  const bool has_rule = f == fp16 || f == bf16;
  if (has_rule && m.order == SumOrder::sequential && is_tensor_core(sums[k % 5])) m.accumulator = {sums[k % 5], sums[k % 5]};
  return m;
}

TEST(Judge, NoCorrectOutputFails) {
  constexpr std::tuple<int, int> shapes[]{{200, 64}, {193, 40}, {256, 16}, {131, 128}, {64, 64}, {33, 24}};
  int outputs = 0, failed = 0, k = 0;
  for (const InputKind kind : kinds)
    for (const Mask& mask : {Mask{}, causal, window(31), Mask{Mask::Kind::padding, 9}})
      for (const Format& f : {bf16, fp16, fp32, e4m3, e5m2, tf32, fp64})
        for (int seed = 1; seed <= 3; ++seed) {
          const auto& [rows, columns] = shapes[++k % 6];
          if (testing::sanitized && k % 9 != 0) continue;
          const Problem p = drawn_problem(kind, rows, columns, mask, static_cast<std::uint64_t>(seed), f);
          const Method m = correct_kernel(k * 5 + k / 7, f);
          const Judged found = judged(p, emulated(p, m, f), f);
          ++outputs, failed += !found.head.rounded;
          EXPECT_TRUE(found.head.rounded) << name(kind) << ", " << name(m.algorithm) << " "
                                          << policy_name(m.precision, m.algorithm) << ", order " << static_cast<int>(m.order)
                                          << ", tiles of " << m.block_k << ", mask " << static_cast<int>(mask.kind) << ", "
                                          << name(f) << ", " << rows << " x " << columns << ": " << said(found.head);
        }
  std::printf("correct outputs: %d, of which failed: %d\n", outputs, failed);
}

/// The judge computes kernels with other sums in 64 rows only: rows left out have about the tolerance that computing every
/// row gives, and correct kernels of both kinds pass.
TEST(Judge, SampledRowsTellForAllRows) {
  constexpr int rows = 1024, seen = 64, columns = 64;
  for (const Format& f : {bf16, fp16})
    for (const InputKind kind : {InputKind::normal, InputKind::outliers, InputKind::biased}) {
      const Problem p = drawn_problem(kind, rows, columns, Mask{}, 3, f);
      Method h100 = method("hw", 64), chains = method("hw", 128);
      h100.accumulator = {Accumulator::h100, Accumulator::h100};
      chains.order = SumOrder::interleaved;
      Judged all;
      for (const Method& m : {h100, chains}) {
        all = judged(p, emulated(p, m, f), f);
        EXPECT_TRUE(all.head.rounded) << name(f) << ", " << name(kind) << ": " << said(all.head);
      }
      for (const int first : {100, 700}) {
        Tensors t = *p.input.tensors;
        const auto begin = t.q.begin() + std::ptrdiff_t{first} * columns;
        t.n = seen, t.q = Values(begin, begin + std::ptrdiff_t{seen} * columns);
        Problem few = with_shape(p, t.shape());
        few.input = testing::given(t);
        const Judged whole = judged(few, Values(std::size_t{seen} * columns, 0.0), f);
        for (int i = 0; i < seen; ++i) {
          const double wide = all.tolerance.factor[static_cast<std::size_t>(first + i)],
                       exact = whole.tolerance.factor[static_cast<std::size_t>(i)];
          EXPECT_LT(wide, 1.3 * exact) << name(f) << ", " << name(kind) << ", row " << first + i;
          EXPECT_GT(wide, exact / 1.3) << name(f) << ", " << name(kind) << ", row " << first + i;
        }
      }
    }
}

/// The mistakes that would have been seen are computed on Q, K and V as the kernel loads them.
TEST(Judge, SeenMistakesAreThoseOfRoundedTensors) {
  const Problem p = problem_in(bf16, AttentionShape::square(64, 16), {}, 1);
  Tensors near = *p.input.tensors;
  for (Values* x : {&near.q, &near.k, &near.v})
    for (double& y : *x) y *= 1 + 0x1p-10;  // bf16 rounds it back
  Problem unrounded = p;
  unrounded.input = testing::given(near);
  const auto seen_scale = [&](const Problem& of) {
    const JudgedOutput output = judged_output(of, right(seen(p)), bf16);
    return seen_mistakes(output, judge(output)).scale;
  };
  EXPECT_EQ(seen_scale(unrounded), seen_scale(p));
}

/// Small, equal, large and tiny numbers: right outputs pass, wrong ones do not, and the judge says where it cannot compare.
TEST(Judge, OddTensors) {
  const auto all = [](double q, double k, double v) {
    constexpr int rows = 8, columns = 4;
    const auto filled = [](double x) { return Values(rows * columns, x); };
    const Tensors t{rows, rows, columns, columns, filled(q), filled(k), filled(v)};
    return Problem{.input = testing::given(t), .n = rows, .d = columns};
  };
  const auto filled = [](double x) { return Values(32, x); };
  for (const Format& f : {bf16, fp32}) {
    for (const double v : {0.0, 1.0, 1e30, 1e-30}) {
      const Problem p = all(1, 1, round(f, v));
      EXPECT_TRUE(judged(p, filled(round(f, v)), f).head.rounded) << v;
      EXPECT_FALSE(judged(p, filled(v == 0 ? 1e-30 : 0), f).head.rounded) << v;
      EXPECT_FALSE(judged(p, filled(std::nan("")), f).head.rounded) << v;
    }
    EXPECT_EQ(judged(all(std::nan(""), 1, 1), filled(1), f).head.verdict(), "wrong");
    EXPECT_EQ(judged(all(1, 1, infinity), filled(1), f).head.verdict(), "wrong");
    EXPECT_NE(judged(all(1e30, 1e30, 1), filled(1), f).head.incomparable, "") << "scores of 1e60";
  }
}

/// Faults in writing an output that was computed correctly.
using OutputFault = std::function<void(Values&, const Values& truth)>;
struct WrittenFault {
  const char* text;
  OutputFault apply;
};

double& element(Values& o, int row, int c) { return o[static_cast<std::size_t>(row * d + c)]; }
double size_of(const Values& x) {
  double square = 0;
  for (const double y : x) square += y * y;
  return std::sqrt(square / static_cast<double>(x.size()));
}

std::vector<WrittenFault> written_faults() {
  const auto rows_from = [](std::function<int(int)> from) -> OutputFault {
    return [from](Values& o, const Values&) { o = moved(o, d, from); };
  };
  const auto columns_from = [](std::function<int(int)> from) -> OutputFault {
    return [from](Values& o, const Values&) { o = moved(o, d, {}, from); };
  };
  return {{"zeros", [](Values& o, const Values&) { std::ranges::fill(o, 0.0); }},
          {"all NaN", [](Values& o, const Values&) { std::ranges::fill(o, std::nan("")); }},
          {"one NaN", [](Values& o, const Values&) { element(o, 17, 3) = std::nan(""); }},
          {"one infinity", [](Values& o, const Values&) { element(o, n - 1, d - 1) = infinity; }},
          {"noise of the same size",
           [](Values& o, const Values& truth) {
             testing::Dice dice(7);
             const double size = size_of(truth);
             for (double& x : o) x = dice.normal() * size;
           }},
          {"sign", [](Values& o, const Values&) { std::ranges::for_each(o, [](double& x) { x = -x; }); }},
          {"times 1.05", [](Values& o, const Values&) { std::ranges::for_each(o, [](double& x) { x *= 1.05; }); }},
          {"transposed",
           [](Values& o, const Values&) {
             const Values before = o;
             for (int i = 0; i < n * d; ++i)
               o[static_cast<std::size_t>(i)] = before[static_cast<std::size_t>(i % n * d + i / n)];
           }},
          {"rows shifted", rows_from([](int i) { return (i + 1) % n; })},
          {"rows shifted in the last tile", rows_from([](int i) { return i < kernel_tail || i + 1 == n ? i : i + 1; })},
          {"two rows swapped", rows_from([](int i) { return i == 20   ? 21
                                                            : i == 21 ? 20
                                                                      : i; })},
          {"the last tile of rows never written", rows_from([](int i) { return i < kernel_tail ? i : -1; })},
          {"one row never written", rows_from([](int i) { return i == 100 ? -1 : i; })},
          {"the last row copied from the one before", rows_from([](int i) { return i == n - 1 ? n - 2 : i; })},
          {"a tile of rows read twice", rows_from([](int i) { return i / tile == 1 ? i - tile : i; })},
          {"rows from the last to the first", rows_from([](int i) { return n - 1 - i; })},
          {"columns rotated", columns_from([](int c) { return (c + 1) % d; })},
          {"halves of the columns swapped", columns_from([](int c) { return (c + d / 2) % d; })},
          {"the last column copied", columns_from([](int c) { return c == d - 1 ? d - 2 : c; })},
          {"two columns swapped", columns_from([](int c) { return c == 8   ? 9
                                                                  : c == 9 ? 8
                                                                           : c; })},
          {"one element zero", [](Values& o, const Values& truth) {
             const auto large =
                 std::ranges::max_element(truth, {}, [](double x) { return std::isfinite(x) ? std::abs(x) : 0; });
             o[static_cast<std::size_t>(large - truth.begin())] = 0;
           }}};
}

/// Mistakes of the computation that planted_kernels() does not have.
std::vector<Planted> further_kernels() {
  const auto swapped = [](auto change) -> Edit { return [change](Problem&, Tensors& t) { change(t); }; };
  const auto softcap = [](Problem& p, Tensors&) { p.softcap = 5; };
  const auto alibi = [](Problem& p, Tensors&) { p.alibi = 0.05; };
  const auto sink = [](Problem& p, Tensors&) { p.sink = 0.0; };
  return {{"K and V swapped", {}, swapped([](Tensors& t) { std::swap(t.k, t.v); }), ""},
          {"Q and K swapped", causal, swapped([](Tensors& t) { std::swap(t.q, t.k); }), ""},
          {"Q of another head", {}, swapped([](Tensors& t) { t.q = drawn(n, d, 99).q; }), ""},
          {"K of another head", causal, swapped([](Tensors& t) { t.k = drawn(n, d, 99).k; }), ""},
          {"V of another head", {}, swapped([](Tensors& t) { t.v = drawn(n, d, 99).v; }), ""},
          {"one key of another head",
           {},
           swapped([](Tensors& t) { std::copy_n(drawn(n, d, 99).k.begin(), d, row_of(t.k, 30)); }),
           ""},
          {"one value of another head", causal,
           swapped([](Tensors& t) { std::copy_n(drawn(n, d, 99).v.begin(), d, row_of(t.v, 3)); }), ""},
          {"a soft cap of 5", {}, softcap, ""},
          {"an ALiBi slope of 0.05", causal, alibi, ""},
          {"a sink of 0", causal, sink, ""},
          {"scale 0.12", causal, scaled(0.12), ""},
          {"scale 0.13", {}, scaled(0.13), ""},
          {"padding one too few", {Mask::Kind::padding, 9}, with_mask({Mask::Kind::padding, 8}), ""},
          {"padding one too many", {Mask::Kind::padding, 9}, with_mask({Mask::Kind::padding, 10}), ""}};
}

/// Size of a fault: its largest change of an element over the largest rounding error to f; for faults that change all elements
/// a little, of the root mean square.
double size_of_fault(const Values& faulty, const Values& correct, const Values& truth) {
  double rounding = 0, largest = 0, square = 0, most = 0;
  for (std::size_t i = 0; i < truth.size(); ++i) {
    if (!std::isfinite(truth[i])) continue;  // a row without keys
    const double change = std::abs(faulty[i] - correct[i]);
    if (!std::isfinite(change)) return infinity;
    largest = std::max(largest, change), square += change * change;
    rounding += (correct[i] - truth[i]) * (correct[i] - truth[i]), most = std::max(most, std::abs(correct[i] - truth[i]));
  }
  return std::max(largest / (2 * most), std::sqrt(square / rounding));
}

/// Numbers of planted faults and of faults that passed.
struct Passed {
  int planted = 0, small = 0, passed = 0, small_passed = 0;
  std::vector<std::string> texts{};

  void add(const std::string& text, double size, bool passes) {
    ++planted;
    if (size < 1) {
      ++small, small_passed += passes;
      return;
    }
    passed += passes;
    if (passes) texts.push_back(text);
  }
};

/// A problem, the output of a correct kernel, and the golden value.
struct Right {
  Problem p;
  Values correct, truth;
};

TEST(Judge, NoFaultOfASizeThatMattersPasses) {
  Passed count;
  constexpr const char* roundings[]{"hw", "base_hw", "base_eager"};
  std::vector<Planted> computed = planted_kernels();
  std::ranges::move(further_kernels(), std::back_inserter(computed));
  for (int seed = 1; seed <= 4; ++seed)
    for (const Format& f : {bf16, fp16, fp32})
      for (const char* rounding : roundings) {
        if (testing::sanitized && (seed > 1 || !(f == bf16))) continue;
        const Method m = method(rounding, seed % 2 == 0 ? 32 : tile);
        const auto look = [&](const Right& of, const char* text, const Values& faulty) {
          const HeadJudgement h = judged(of.p, faulty, f).head;
          const double size = size_of_fault(faulty, of.correct, of.truth);
          char line[400];
          std::snprintf(line, sizeof line, "%s, %s, %s, seed %d, size %.2f: %s", text, name(f).c_str(), rounding, seed, size,
                        said(h).c_str());
          count.add(line, size, h.rounded);
        };
        std::vector<Right> known;
        const auto of_mask = [&](const Mask& mask) -> const Right& {
          for (const Right& r : known)
            if (r.p.mask == mask) return r;
          const Problem p = problem(n, d, mask, static_cast<std::uint64_t>(seed));
          known.push_back({p, emulated(p, m, f), right(seen(p))});
          return known.back();
        };
        for (const Planted& kernel : computed) {
          const Right of = of_mask(kernel.mask);
          look(of, kernel.kernel, emulated(of.p, m, f, kernel.edit));
        }
        const Right of = of_mask(seed % 2 ? causal : Mask{});
        for (const WrittenFault& fault : written_faults()) {
          Values faulty = of.correct;
          fault.apply(faulty, of.truth);
          look(of, fault.text, faulty);
        }
      }
  for (const std::string& text : count.texts) ADD_FAILURE() << text;
  std::printf("planted: %d; smaller than rounding: %d, of which passed %d; others passed: %d\n", count.planted, count.small,
              count.small_passed, count.passed);
}

}  // namespace
}  // namespace attoscope::judge_test
