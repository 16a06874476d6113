// Attention inside training: forward against compute(), backward against finite differences and against a plain scalar
// reference, statistics against planted numbers.

#include <algorithm>
#include <cmath>
#include <functional>
#include <sstream>

#include "kernels/compute.h"
#include "kernels/experiment/presets.h"
#include "kernels/experiment/result.h"
#include "kernels/parallel/parallel.h"
#include "tests/reference/plain.h"
#include "tests/reference/plain_primitives.h"
#include "tests/support/matchers.h"
#include "tests/train/train_heads.h"

namespace attoscope {
namespace {

using namespace testing;  // attoscope::testing

ModelShape shape_of(int context, int heads, int d) {
  return {.layers = 1, .width = heads * d, .heads = heads, .context = context};
}

GradPrecision random_gradient(Dice& dice, bool stochastic) {
  GradPrecision p;
  p.delta_from = static_cast<DeltaFrom>(dice.between(0, 1));
  for (Rounding& r : p.steps) {
    if (dice.one_in(2)) continue;
    r = dice.one_in(2) ? to_main : to_format(random_format(dice));
    r.stochastic = stochastic && dice.one_in(3);
  }
  return p;
}

/// A random method with a random gradient policy.
TrainMethod random_train_method(Dice& dice, bool stochastic_gradient) {
  Experiment e = random_experiment(dice);
  while (!is_emulated(e.a.algorithm)) e = random_experiment(dice);
  e.a.scaling = {};      // trainings refuse it
  e.a.accumulator = {};  // the backward pass adds by fma, the forward pass by the accumulator
  return {e.format, e.a, random_gradient(dice, stochastic_gradient), {}};
}

bool needs_double(const TrainMethod& m) { return works_in_double({.format = m.format, .a = m.method}); }

// --- forward -----------------------------------------------------------------------------------------------------------

template <class T>
void expect_output_of_compute(const TrainMethod& method, int context, int d, Dice& dice) {
  Heads<T> heads(shape_of(context, 2, d), method, 2, dice);
  heads.forward();
  for (int place = 0; place < heads.places(); ++place) {
    const Experiment e = heads.experiment(place);
    const Result result = compute(e);
    for (int row = 0; row < context; ++row)
      for (int c = 0; c < d; ++c)
        ASSERT_TRUE(
            same(static_cast<double>(heads.o[heads.at(place, row, c)]), result.a.values[static_cast<std::size_t>(row * d + c)]))
            << "head " << place << " row " << row << " column " << c << '\n'
            << describe(e);
  }
}

TEST(TrainForward, IsTheOutputOfCompute) {
  Dice dice(1);
  for (int i = 0; i < experiments(60); ++i) {
    TrainMethod method = random_train_method(dice, false);
    const bool in_double = needs_double(method);
    Experiment e{.format = method.format, .a = method.method};
    add_accumulators(e, e.a, dice);
    method.method = e.a;
    if (dice.one_in(3)) make_stochastic(method.method, dice, 2);
    const int context = dice.between(1, 90), d = dice.between(1, 40);
    in_double ? expect_output_of_compute<double>(method, context, d, dice)
              : expect_output_of_compute<float>(method, context, d, dice);
    if (HasFatalFailure()) return;
  }
}

TEST(TrainForward, IsTheOutputOfComputeUnderEveryNamedPolicy) {
  Dice dice(2);
  for (const Format format : {bf16, fp16, e4m3})
    for (const Algorithm algorithm : emulated_algorithms)
      for (const Policy& named : policies()) {
        TrainMethod method{format, {.algorithm = algorithm, .block_k = 16, .precision = named.precision}, {}, {}};
        expect_output_of_compute<float>(method, 37, 16, dice);
        if (HasFatalFailure()) return;
      }
}

TEST(TrainForward, LeavesTheLogSumExp) {
  Dice dice(3);
  for (int i = 0; i < experiments(40); ++i) {
    TrainMethod method = random_train_method(dice, false);
    method.method.precision.steps = {};
    method.method.exp2_degree = 0;
    method.format = fp64;
    Heads<double> heads(shape_of(41, 1, 8), method, 1, dice);
    heads.forward();
    const Tensors x = heads.tensors(0);
    for (int row = 0; row < 41; ++row) {
      double sum = 0;
      for (int key = 0; key <= row; ++key) {
        double s = 0;
        for (int c = 0; c < 8; ++c)
          s += x.q[static_cast<std::size_t>(row * 8 + c)] * x.k[static_cast<std::size_t>(key * 8 + c)];
        sum += std::exp(s / std::sqrt(8));
      }
      const Job<double>& job = heads.rules[0].job;
      const bool merged = job.method.algorithm == Algorithm::split_kv;
      const double m = heads.m[static_cast<std::size_t>(row)], l = heads.l[static_cast<std::size_t>(row)];
      const double L = merged ? m + std::log(l) : m * job.exp2.score_unit + std::log(l) - job.method.p_exponent * std::log(2);
      ASSERT_NEAR(L, std::log(sum), 1e-12) << describe(heads.experiment(0));
    }
  }
}

// --- backward: truth ---------------------------------------------------------------------------------------------------

/// sum of dO * O as the forward pass gives it.
double loss(Heads<double>& heads) {
  heads.forward();
  double sum = 0;
  for (int place = 0; place < heads.places(); ++place)
    for (int row = 0; row < heads.shape.context; ++row)
      for (int c = 0; c < heads.d(); ++c) sum += heads.d_o[heads.at(place, row, c)] * heads.o[heads.at(place, row, c)];
  return sum;
}

double central_difference(Heads<double>& heads, double& x) {
  constexpr double h = 1e-5;
  const double old = x;
  x = old + h;
  const double above = loss(heads);
  x = old - h;
  const double below = loss(heads);
  x = old;
  return (above - below) / (2 * h);
}

TEST(TrainBackward, AgreesWithFiniteDifferences) {
  Dice dice(4);
  for (int i = 0; i < experiments(48); ++i) {
    TrainMethod method = random_train_method(dice, false);
    method.method.algorithm = emulated_algorithms[static_cast<std::size_t>(i) % emulated_algorithms.size()];
    method.method.precision.steps = {};
    method.method.exp2_degree = 0;
    method.gradient.steps = {};
    method.format = fp64;
    const int context = dice.between(2, 40), d = dice.between(1, 20);
    Heads<double> heads(shape_of(context, 2, d), method, 1, dice);
    heads.forward();
    heads.backward();
    for (int probe = 0; probe < 6; ++probe) {
      const std::size_t at = heads.at(dice.between(0, 1), dice.between(0, context - 1), dice.between(0, d - 1));
      const std::string what = describe(heads.experiment(0));
      ASSERT_NEAR(heads.d_q[at], central_difference(heads, heads.q[at]), 1e-7) << what;
      ASSERT_NEAR(heads.d_k[at], central_difference(heads, heads.k[at]), 1e-7) << what;
      ASSERT_NEAR(heads.d_v[at], central_difference(heads, heads.v[at]), 1e-7) << what;
    }
  }
}

TEST(TrainBackward, DeltaIsTheSameFromBothInExactArithmetic) {
  Dice dice(5);
  for (int i = 0; i < 12; ++i) {
    TrainMethod method{
        fp64,
        {.algorithm = emulated_algorithms[static_cast<std::size_t>(i) % emulated_algorithms.size()], .block_k = 8},
        {},
        {}};
    Dice same_again(static_cast<std::uint64_t>(i));
    Heads<double> x(shape_of(50, 2, 12), method, 1, same_again);
    x.forward();
    x.backward();
    Heads<double> y = x;
    y.rules.clear();
    method.gradient.delta_from = DeltaFrom::probabilities;
    for (int head = 0; head < 2; ++head) y.rules.push_back(head_rule<double>(y.shape, method, false));
    y.backward();
    EXPECT_NE(x.d_q, y.d_q);  // with other roundings
    for (std::size_t j = 0; j < x.d_q.size(); ++j) {
      ASSERT_NEAR(x.d_q[j], y.d_q[j], 1e-13);
      ASSERT_NEAR(x.d_k[j], y.d_k[j], 1e-13);
    }
    EXPECT_EQ(x.d_v, y.d_v);
  }
}

// --- backward: bits ----------------------------------------------------------------------------------------------------

template <class T>
std::string text(const Heads<T>& heads) {
  std::ostringstream s;
  s << '\n' << describe(heads.experiment(0)) << "\n  gradient:";
  for (int i = 0; i < grad_step_count; ++i) {
    const Rounding& r = heads.method.gradient.steps[static_cast<std::size_t>(i)];
    if (r.kind == Rounding::Kind::exact) continue;
    s << ' ' << name(static_cast<GradStep>(i)) << '=' << name(format_of(r, heads.method.format)) << (r.stochastic ? "~" : "");
  }
  s << "\n  ";
  return s.str();
}

/// Runs the backward pass on each of these instruction sets.
template <class T>
void expect_plain_gradient(Heads<T>& heads, const std::vector<const char*>& sets) {
  Heads<T> expected = heads;
  for (HeadRule<T>& rule : expected.rules) {  // of the method, not by `head_rule`
    rule.delta_from = heads.method.gradient.delta_from;
    for (std::size_t i = 0; i < grad_step_count; ++i)
      if (is_of_training(static_cast<GradStep>(i))) rule.grad[i] = plan<T>(heads.method.gradient.steps[i], heads.method.format);
  }
  plain::Device<T>().attention_gradient(expected.gradient());
  for (const char* isa : sets) {
    heads.backward(isa);
    const auto expect = [&](const char* what, const std::vector<T>& x, const std::vector<T>& y) {
      for (std::size_t i = 0; i < x.size(); ++i)
        ASSERT_TRUE(same(x[i], y[i])) << what << '[' << i << "] is " << x[i] << " instead of " << y[i] << text(heads) << isa;
    };
    expect("dQ", heads.d_q, expected.d_q);
    expect("dK", heads.d_k, expected.d_k);
    expect("dV", heads.d_v, expected.d_v);
    if (::testing::Test::HasFatalFailure()) return;
  }
}

template <class T>
void expect_plain_gradient_on_every_set(const TrainMethod& method, Dice& dice) {
  const int context = dice.one_in(6) ? dice.between(1, 3) : dice.between(1, 75), d = dice.one_in(6) ? 1 : dice.between(1, 40);
  Heads<T> heads(shape_of(context, dice.between(1, 2), d), method, 1, dice);
  heads.forward();
  expect_plain_gradient(heads, own_instruction_sets());
}

TEST(TrainBackward, IsThePlainRuleBitForBit) {
  Dice dice(6);
  for (int i = 0; i < experiments(64); ++i) {
    const TrainMethod method = random_train_method(dice, i % 2 == 1);
    needs_double(method) ? expect_plain_gradient_on_every_set<double>(method, dice)
                         : expect_plain_gradient_on_every_set<float>(method, dice);
    if (HasFatalFailure()) return;
  }
}

TEST(TrainBackward, IsThePlainRuleUnderEveryNamedPolicy) {
  Dice dice(7);
  for (const Format format : {bf16, fp16})
    for (const GradPolicy& named : grad_policies())
      for (const Policy& forward : policies()) {
        const Algorithm algorithm =
            std::string_view(forward.name).starts_with("base") ? Algorithm::three_pass : Algorithm::flash2;
        Heads<float> heads(
            shape_of(34, 1, 16),
            {format, {.algorithm = algorithm, .block_k = 16, .precision = forward.precision}, named.precision, {}}, 1, dice);
        heads.forward();
        expect_plain_gradient(heads, {""});
        if (HasFatalFailure()) return;
      }
}

// Random roundings at all steps.
TEST(TrainBackward, IsTheSameForEveryInstructionSetAndAnyThreads) {
  Dice dice(8);
  for (int i = 0; i < experiments(24); ++i) {
    TrainMethod method = random_train_method(dice, true);
    if (needs_double(method)) continue;
    make_stochastic(method.method, dice, 2);
    Heads<float> first(shape_of(dice.between(1, 100), 3, dice.between(1, 40)), method, 2, dice);
    on_threads(1, [&] {
      first.forward();
      first.backward();
    });
    const auto bits = [](const std::vector<float>& x) {
      std::vector<std::uint32_t> y;
      for (const float value : x) y.push_back(value != value ? 0x7fc00000u : std::bit_cast<std::uint32_t>(value));
      return y;
    };
    for (const char* isa : own_instruction_sets()) {
      Heads<float> again = first;
      on_threads(2, [&] {
        again.forward(isa);
        again.backward(isa);
      });
      ASSERT_EQ(bits(again.o), bits(first.o)) << text(first) << isa;
      ASSERT_EQ(bits(again.m), bits(first.m)) << text(first) << isa;
      ASSERT_EQ(bits(again.l), bits(first.l)) << text(first) << isa;
      ASSERT_EQ(bits(again.d_q), bits(first.d_q)) << text(first) << isa;
      ASSERT_EQ(bits(again.d_k), bits(first.d_k)) << text(first) << isa;
      ASSERT_EQ(bits(again.d_v), bits(first.d_v)) << text(first) << isa;
    }
  }
}

// V is the identity: O is P. dO is 1 in one row's first column: dV's first column is that row of the recomputed P.
TEST(TrainBackward, MakesTheForwardsPAgain) {
  Dice dice(9);
  for (int i = 0; i < experiments(32); ++i) {
    TrainMethod method = random_train_method(dice, false);
    if (needs_double(method)) continue;
    method.method.algorithm = i % 2 == 0 ? Algorithm::three_pass : Algorithm::two_pass;
    method.method.order = SumOrder::sequential;
    for (const Step s : {Step::input, Step::pv_step, Step::PV, Step::O, Step::output}) method.method.precision[s] = exact;
    make_stochastic(method.method, dice, 2);
    method.gradient = {};
    constexpr int n = 40;
    Heads<float> heads(shape_of(n, 1, n), method, 1, dice);
    for (int row = 0; row < n; ++row)
      for (int c = 0; c < n; ++c) heads.v[heads.at(0, row, c)] = row == c;
    heads.forward();
    const int row = dice.between(0, n - 1);
    for (float& x : heads.d_o) x = 0;
    heads.d_o[heads.at(0, row, 0)] = 1;
    heads.backward();
    // A P that is not finite reaches every element of O in its row, and dV of the keys that this row sees.
    const auto is_finite_from = [&](int key) {
      for (int query = key; query < n; ++query)
        if (!std::isfinite(heads.o[heads.at(0, query, key)])) return false;
      return true;
    };
    for (int key = 0; key <= row; ++key) {
      const float P = heads.o[heads.at(0, row, key)];
      if (!is_finite_from(key)) continue;
      ASSERT_EQ(heads.d_v[heads.at(0, key, 0)], P) << text(heads) << " row " << row << " key " << key;
    }
  }
}

TEST(TrainBackward, AddsByFmaWhereTheForwardPassDoesNot) {
  Dice dice(12);
  TrainMethod method{fp16, {.block_k = 16, .accumulator = {Accumulator::h100, Accumulator::h100}}, {}, {}};
  Heads<float> heads(shape_of(45, 2, 16), method, 1, dice);
  heads.forward();
  heads.backward();
  method.method.accumulator = {};
  Heads<float> by_fma = heads;
  by_fma.rules.assign(2, head_rule<float>(heads.shape, method, false));
  by_fma.backward();
  EXPECT_EQ(heads.d_q, by_fma.d_q);
  EXPECT_EQ(heads.d_k, by_fma.d_k);
  EXPECT_EQ(heads.d_v, by_fma.d_v);
  by_fma.forward();
  EXPECT_NE(heads.o, by_fma.o);
}

TEST(TrainBackward, LeavesOtherColumnsAlone) {
  Dice dice(10);
  Heads<float> heads(shape_of(20, 2, 5), {bf16, {}, {}, {}}, 2, dice);
  heads.forward();
  heads.backward();
  for (int row = 0; row < 2 * 20; ++row)
    for (std::int64_t c = 10; c < heads.stride; ++c)
      for (const std::vector<float>* x : {&heads.o, &heads.d_q, &heads.d_k, &heads.d_v})
        EXPECT_EQ((*x)[static_cast<std::size_t>(row * heads.stride + c)], -7);
}

// --- statistics --------------------------------------------------------------------------------------------------------

std::vector<HeadStatistics> counted(Heads<float>& heads, int threads = 0) {
  return on_threads(threads, [&] { return head_statistics(heads.gradient()); });
}

/// Two heads of two sequences after a forward pass.
Heads<float> after_forward(const TrainMethod& method, int context, int d, const std::function<void(Heads<float>&)>& plant) {
  Dice dice(11);
  Heads<float> heads(shape_of(context, 2, d), method, 2, dice);
  plant(heads);
  heads.forward();
  return heads;
}
TrainMethod exact_method(Format format = fp16) { return {format, {.block_k = 8}, {}, {}}; }
/// Sets x in every row and column of head 0.
void set_head(Heads<float>& heads, std::vector<float>& x, const std::function<float(int row, int c)>& value) {
  for (int place = 0; place < heads.places(); place += 2)
    for (int row = 0; row < heads.shape.context; ++row)
      for (int c = 0; c < heads.d(); ++c) x[heads.at(place, row, c)] = value(row, c);
}

constexpr int planted_rows = 37, pairs = planted_rows * (planted_rows + 1) / 2;

TEST(HeadStatisticsTest, FindsNothingWhereNothingRounds) {
  Heads<float> heads = after_forward(exact_method(), planted_rows, 12, [](Heads<float>&) {});
  for (const HeadStatistics& c : counted(heads)) {
    EXPECT_EQ(c.rows, 2 * planted_rows);
    EXPECT_EQ(c.weights, 2 * pairs);
    EXPECT_EQ(c.tied_rows, 0);
    EXPECT_EQ(c.saturated, 0);
    EXPECT_EQ(c.underflowed, 0);
    EXPECT_EQ(c.lost_dS, 0);
    EXPECT_EQ(c.overflowed_dS, 0);
    EXPECT_GT(c.delta_size, 0);
    EXPECT_LT(std::fabs(c.delta_error), 1e-5 * c.delta_size);
  }
}

TEST(HeadStatisticsTest, MeasuresDeltaWithTheExactOutput) {
  Heads<float> heads = after_forward(exact_method(), planted_rows, 12, [](Heads<float>&) {});
  double size[2] = {};
  for (int place = 0; place < heads.places(); ++place)
    for (int row = 0; row < planted_rows; ++row) {
      const Experiment e = heads.experiment(place);
      const std::vector<long double> o = plain::softmax(e.problem, *e.problem.input.tensors, row, {0, row + 1});
      long double delta = 0;
      for (int c = 0; c < 12; ++c) delta += o[static_cast<std::size_t>(c)] * heads.d_o[heads.at(place, row, c)];
      size[place % 2] += static_cast<double>(std::fabs(delta));
    }
  const std::vector<HeadStatistics> c = counted(heads);
  EXPECT_NEAR(c[0].delta_size, size[0], 1e-11);
  EXPECT_NEAR(c[1].delta_size, size[1], 1e-11);
}

TEST(HeadStatisticsTest, CountsTiedRows) {
  Heads<float> heads = after_forward(exact_method(), planted_rows, 6,
                                     [](Heads<float>& x) { set_head(x, x.k, [](int, int c) { return c + 1.0f; }); });
  const std::vector<HeadStatistics> c = counted(heads);
  EXPECT_EQ(c[0].tied_rows, 2 * (planted_rows - 1));  // the first row sees one key
  EXPECT_EQ(c[1].tied_rows, 0);
}

TEST(HeadStatisticsTest, CountsScoresBeyondTheirFormat) {
  TrainMethod method = exact_method();
  method.method.precision[Step::S] = to_main;
  Heads<float> heads = after_forward(method, planted_rows, 1, [](Heads<float>& x) {
    set_head(x, x.q, [](int, int) { return 300.0f; });
    set_head(x, x.k, [](int, int) { return 300.0f; });
  });
  const std::vector<HeadStatistics> c = counted(heads);
  EXPECT_EQ(c[0].saturated, 2 * 2 * pairs);  // the score is infinite, P is NaN
  EXPECT_EQ(c[0].overflowed_dS, 2 * pairs);
  EXPECT_EQ(c[1].saturated, 0);
}

TEST(HeadStatisticsTest, CountsScoresThatSaturate) {
  TrainMethod method = exact_method(e4m3);
  method.method.precision[Step::S] = to_main;
  Heads<float> heads = after_forward(method, planted_rows, 1, [](Heads<float>& x) {
    set_head(x, x.q, [](int row, int) { return row == 5 ? 1000.0f : 448.0f; });
    set_head(x, x.k, [](int row, int) { return row == 0 ? 1.0f : 0.0f; });
  });
  EXPECT_EQ(counted(heads)[0].saturated, 2);  // row 5 and key 0 of both sequences; 448 itself is a number of the format
}

TEST(HeadStatisticsTest, CountsWeightsThatUnderflow) {
  for (const Algorithm algorithm : {Algorithm::flash2, Algorithm::three_pass, Algorithm::split_kv}) {
    TrainMethod method = exact_method();
    method.method.algorithm = algorithm;
    method.method.precision[Step::P] = to_main;
    Heads<float> heads = after_forward(method, planted_rows, 1, [](Heads<float>& x) {
      set_head(x, x.q, [](int, int) { return 1.0f; });
      set_head(x, x.k,
               [](int row, int) { return row == 0 ? 20.0f : 0.0f; });  // exp(-20) is less than half of fp16's smallest number
      for (float& q : x.q) q = std::clamp(q, -1.0f, 1.0f);
    });
    const std::vector<HeadStatistics> c = counted(heads);
    EXPECT_EQ(c[0].underflowed, 2 * (pairs - planted_rows)) << name(algorithm);
    EXPECT_EQ(c[1].underflowed, 0) << name(algorithm);
  }
}

// In the first row P is 1 and dP is delta: no gradient can be lost.
TEST(HeadStatisticsTest, CountsGradientsThatAreLostOrOverflow) {
  TrainMethod method = exact_method();
  method.gradient[GradStep::dS] = to_main;
  Heads<float> heads = after_forward(method, planted_rows, 8, [](Heads<float>& x) {
    set_head(x, x.d_o, [&](int row, int c) { return 1e-14f * static_cast<float>(1 + (row * 5 + c * c) % 7); });
  });
  std::vector<HeadStatistics> c = counted(heads);
  EXPECT_EQ(c[0].lost_dS, 2 * (pairs - 1));
  EXPECT_EQ(c[0].overflowed_dS, 0);
  EXPECT_EQ(c[1].lost_dS, 0);
  for (float& x : heads.d_o) x *= 1e30f;
  c = counted(heads);
  EXPECT_EQ(c[0].lost_dS, 0);
  EXPECT_EQ(c[1].overflowed_dS, 2 * (pairs - 1));
}

TEST(HeadStatisticsTest, SeesABiasOfDelta) {
  constexpr float bias = 0x1p-4f;
  Heads<float> heads = after_forward(exact_method(), planted_rows, 8,
                                     [](Heads<float>& x) { set_head(x, x.d_o, [](int, int) { return 1.0f; }); });
  for (float& x : heads.o) x += bias;
  EXPECT_NEAR(counted(heads)[0].delta_error, 2 * planted_rows * 8 * bias, 1e-3);
  heads.method.gradient.delta_from = DeltaFrom::probabilities;
  for (int head = 0; head < 2; ++head)
    heads.rules[static_cast<std::size_t>(head)] = head_rule<float>(heads.shape, heads.method, false);
  EXPECT_NEAR(counted(heads)[0].delta_error, 0, 1e-3);
}

TEST(HeadStatisticsTest, IsTheSameForAnyThreads) {
  Heads<float> heads = after_forward(exact_method(), planted_rows, 8, [](Heads<float>&) {});
  const std::vector<HeadStatistics> one = counted(heads, 1), two = counted(heads, 2);
  for (std::size_t i = 0; i < 2; ++i) {
    EXPECT_EQ(one[i].delta_error, two[i].delta_error);
    EXPECT_EQ(one[i].delta_size, two[i].delta_size);
  }
}

TEST(HeadRule, AnExactHeadRoundsItsInputAlone) {
  const TrainMethod method{bf16, {.precision = policy("eager").precision}, grad_policy("grad_all").precision, {}};
  const ModelShape shape = shape_of(16, 2, 8);
  const HeadRule<float> rule = head_rule<float>(shape, method, true), rounded = head_rule<float>(shape, method, false);
  EXPECT_TRUE(rule.job[Step::input].rounds());
  for (int i = 1; i < step_count; ++i) EXPECT_FALSE(rule.job[static_cast<Step>(i)].rounds());
  for (int i = 0; i < grad_step_count; ++i) EXPECT_FALSE(rule.grad[i].rounds());
  for (int i = 0; i < grad_step_count; ++i) EXPECT_EQ(rounded.grad[i].rounds(), is_of_training(static_cast<GradStep>(i)));
}

}  // namespace
}  // namespace attoscope
