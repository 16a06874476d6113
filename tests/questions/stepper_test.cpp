/// The steps that a student follows: compute()'s numbers of the same row, bit for bit, and the exact numbers.
#include "kernels/questions/stepper.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <stdexcept>

#include "kernels/compute.h"
#include "kernels/experiment/kernel_presets.h"
#include "kernels/experiment/presets.h"
#include "kernels/experiment/traffic.h"
#include "tests/reference/plain.h"
#include "tests/support/matchers.h"
#include "tests/support/support.h"

namespace attoscope {
namespace {

using namespace testing;  // attoscope::testing

constexpr Algorithm algorithms[] = {Algorithm::three_pass, Algorithm::two_pass, Algorithm::flash1, Algorithm::flash2};

StepQuestion question(Algorithm algorithm, std::vector<double> scores, std::string_view named = "hw", int block_k = 4) {
  StepQuestion q{.scores = std::move(scores),
                 .values = {},
                 .d = 2,
                 .algorithm = algorithm,
                 .block_k = block_k,
                 .format = bf16,
                 .precision = policy(named).precision};
  for (std::size_t j = 0; j < q.scores.size(); ++j) {
    q.values.push_back(1);
    q.values.push_back(static_cast<double>(j) / static_cast<double>(q.scores.size()));
  }
  return q;
}

StepQuestion random_question(Dice& dice) {
  StepQuestion q;
  q.d = dice.between(1, max_step_columns);
  const int n = dice.between(1, max_step_scores);
  const double spread = dice.any(std::array{0.1, 1.0, 4.0, 40.0, 3000.0});
  for (int j = 0; j < n; ++j) q.scores.push_back(dice.one_in(6) && j > 0 ? q.scores.back() : spread * dice.normal());
  for (int i = 0; i < n * q.d; ++i) q.values.push_back(dice.normal());
  q.algorithm = dice.any(algorithms);
  q.block_k = dice.between(1, n + 3);
  q.format = dice.one_in(10) ? fp64 : random_format(dice);
  q.precision = dice.any(policies()).precision;
  for (Rounding& r : q.precision.steps)
    if (dice.one_in(8)) r = dice.one_in(2) ? exact : to_format(random_format(dice));
  q.precision.sum_rounded_P = dice.one_in(3);
  return q;
}

/// The last step of every tile in which the state is complete, as in the trace.
std::vector<const RowStep*> tile_ends(const Steps& s) {
  std::vector<const RowStep*> ends;
  for (const RowStep& step : s.steps) {
    if (step.tile < 0 || (s.question.algorithm == Algorithm::two_pass && step.pass > 0)) continue;
    if (ends.empty() || ends.back()->tile != step.tile) ends.push_back(&step);
    ends.back() = &step;
  }
  return ends;
}

/// A random question with rows of Q and K, scales and transforms.
StepQuestion random_scaled_question(Dice& dice) {
  StepQuestion q = random_question(dice);
  q.algorithm = dice.any(stepped_algorithms);
  const std::size_t n = q.scores.size();
  if (dice.one_in(2)) {
    q.rows.d = dice.one_in(2) ? 1 << dice.between(0, 6) : dice.between(1, 40);
    q.rows.row = dice.between(0, static_cast<int>(n) - 1);
    q.rows.scale = dice.unit() + 1e-3;
    for (auto* x : {&q.rows.q, &q.rows.k})
      for (std::size_t i = 0; i < n * static_cast<std::size_t>(q.rows.d); ++i) x->push_back(3 * dice.normal());
  }
  q.exponential = dice.one_in(2) ? ExponentialKind::exp2 : ExponentialKind::natural;
  q.tau = dice.between(0, 8);
  q.flush = dice.between(-1, 1);
  Experiment e = step_experiment(q);
  do {
    add_scalings(e, e.a, dice);
  } while (!e.a.scaling.any());
  q.scaling = e.a.scaling;
  return q;
}

/// Compares the followed row with all that the lanes and the plain reference report about it.
void expect_the_lanes_bits(const StepQuestion& q) {
  const Experiment e = step_experiment(q);
  SCOPED_TRACE(describe(e));
  const Steps s = steps(q);
  EXPECT_TRUE(s.same_bits);
  const Result r = compute(e);
  const plain::Row row = plain::attend(e, e.a, *r.inputs, q.rows.row);
  const auto ends = tile_ends(s);
  ASSERT_EQ(ends.size(), r.trace.tiles.size());
  ASSERT_EQ(ends.size(), row.tiles.size());
  for (std::size_t t = 0; t < ends.size(); ++t) {
    const plain::Tile& tile = row.tiles[t];
    EXPECT_TRUE(same(ends[t]->state.m, tile.m)) << ends[t]->state.m << ' ' << tile.m;
    const double max_used = ends[t]->state.m * s.score_unit;
    EXPECT_TRUE(
        same(works_in_double(e) ? max_used : static_cast<double>(static_cast<float>(max_used)), r.trace.tiles[t].max_used));
    EXPECT_TRUE(same(ends[t]->state.l, r.trace.tiles[t].l)) << ends[t]->state.l << ' ' << r.trace.tiles[t].l;
    EXPECT_TRUE(same(ends[t]->state.l, tile.l)) << ends[t]->state.l << ' ' << tile.l;
    EXPECT_TRUE(same(ends[t]->alpha, r.trace.tiles[t].alpha)) << ends[t]->alpha;
    const auto first = static_cast<std::size_t>(tile.seen.end) - tile.S.size();
    for (std::size_t j = 0; j < tile.S.size(); ++j) {
      EXPECT_TRUE(same(s.S[first + j], tile.S[j])) << s.S[first + j] << ' ' << tile.S[j];
      if (q.algorithm == Algorithm::two_pass) continue;
      EXPECT_TRUE(same(s.P[first + j], tile.P[j])) << s.P[first + j];
    }
    const bool whole = q.algorithm != Algorithm::two_pass && q.algorithm != Algorithm::three_pass;
    for (std::size_t c = 0; whole && c < ends[t]->state.O.size(); ++c) EXPECT_TRUE(same(ends[t]->state.O[c], tile.O[c])) << c;
  }
  for (int c = 0; c < q.d; ++c) EXPECT_TRUE(same(s.output[static_cast<std::size_t>(c)], r.a(q.rows.row, c))) << c;
}

TEST(Stepper, StatesAreTheTraceOfCompute) {
  Dice dice(81);
  for (int i = 0; i < experiments(400); ++i) expect_the_lanes_bits(random_question(dice));
}

TEST(Stepper, ScaledStatesAreTheTraceOfCompute) {
  Dice dice(85);
  for (int i = 0; i < experiments(400); ++i) expect_the_lanes_bits(random_scaled_question(dice));
}

/// Computes flash2's numbers from the numbers before them, in T.
template <class T>
void expect_followed(const Steps& s) {
  const StepQuestion& q = s.question;
  const auto value = [](double x) { return static_cast<T>(x); };
  std::vector<T> e(s.S.size()), P(s.S.size());
  std::vector<T> products(static_cast<std::size_t>(q.d));
  for (std::size_t i = 1; i < s.steps.size(); ++i) {
    const RowStep &step = s.steps[i], &before = s.steps[i - 1];
    T sum = 0, shifted = 0, rescaled = 0;
    for (std::size_t c = 0; c < products.size(); ++c)
      products[c] = q.precision.accumulate_in_O ? value(before.state.O[c]) : T{0};
    for (const RoundedNumber& made : step.numbers) {
      SCOPED_TRACE(std::to_string(i) + ": " + std::string(name(made.step)) + " of key " + std::to_string(made.key));
      const auto key = static_cast<std::size_t>(made.key), column = static_cast<std::size_t>(made.column);
      const auto expect = [&](T x) { EXPECT_TRUE(same(made.before, static_cast<double>(x))) << made.before << ' ' << x; };
      const T after = value(made.after), m = value(step.state.m), l = value(before.state.l), alpha = value(step.alpha);
      if (made.step == Step::alpha) expect(exponential(value(s.steps[i - 2].state.m) - m));
      if (made.step == Step::shifted) expect(value(s.S[key]) - m), shifted = after;
      if (made.step == Step::e) expect(exponential(shifted)), e[key] = after;
      if (made.step == Step::P) expect(e[key]), P[key] = after;
      if (made.step == Step::l_step) expect(sum + (q.precision.sum_rounded_P ? P : e)[key]), sum = after;
      if (made.step == Step::tile_sum) expect(sum), sum = after;
      if (made.step == Step::rescaled) expect(alpha * (made.column < 0 ? l : value(before.state.O[column]))), rescaled = after;
      if (made.step == Step::rescaled && made.column >= 0 && q.precision.accumulate_in_O) products[column] = after;
      if (made.step == Step::l) expect(rescaled + sum);
      if (made.step != Step::pv_step) continue;
      expect(std::fma(value(q.values[key * products.size() + column]), P[key], products[column]));
      products[column] = after;
    }
  }
}

TEST(Stepper, EveryNumberFollowsFromThoseBefore) {
  Dice dice(82);
  for (int i = 0; i < experiments(200); ++i) {
    StepQuestion q = random_question(dice);
    q.algorithm = Algorithm::flash2;
    const Experiment e = step_experiment(q);
    SCOPED_TRACE(describe(e));
    const Steps s = steps(q);
    works_in_double(e) ? expect_followed<double>(s) : expect_followed<float>(s);
    if (HasFailure()) return;
  }
}

/// Stochastic rounding uses the random bits of the followed row.
TEST(Stepper, RowsAreRoundedStochasticallyAsInCompute) {
  Dice dice(89);
  for (int i = 0; i < experiments(200); ++i) {
    StepQuestion q = i % 2 == 0 ? random_question(dice) : random_scaled_question(dice);
    for (Rounding& r : q.precision.steps) r.stochastic = r.kind != Rounding::Kind::exact;
    const Experiment e = step_experiment(q);
    SCOPED_TRACE(describe(e));
    const Steps s = steps(q);
    EXPECT_TRUE(s.same_bits);
    const Result r = compute(e);
    for (int c = 0; c < q.d; ++c) EXPECT_TRUE(same(s.output[static_cast<std::size_t>(c)], r.a(q.rows.row, c))) << c;
  }
}

TEST(Stepper, NamedScaledKernelsAreSteppedWithTheirBits) {
  Dice dice(86);
  for (const KernelPreset& kernel : kernel_presets())
    for (int i = 0; kernel.method.scaling.any() && i < 6; ++i) {
      StepQuestion q = random_question(dice);
      const Method& m = kernel.method;
      q = with_scales_of(q, m);
      q.format = bf16;
      q.algorithm = m.algorithm;
      q.precision = m.precision;
      const std::size_t n = q.scores.size();
      for (double& s : q.scores) s = 3 * dice.normal();
      if (i % 2 == 0) {
        q.rows = {.d = 64, .row = static_cast<int>(n) / 2, .scale = 0.125};
        for (auto* x : {&q.rows.q, &q.rows.k})
          for (std::size_t k = 0; k < 64 * n; ++k) x->push_back(dice.normal());
      } else if (q.d == 3) {
        q.d = 2;  // a Hadamard matrix has a power of 2 of rows
        q.values.resize(2 * n);
      }
      SCOPED_TRACE(kernel.name);
      expect_the_lanes_bits(q);
    }
}

/// The stored numbers that the lanes multiply give the lanes' S if fma adds the products.
TEST(Stepper, StoredNumbersGiveTheScores) {
  Dice dice(87);
  int seen = 0;
  for (int i = 0; i < experiments(300); ++i) {
    StepQuestion q = random_scaled_question(dice);
    q.precision[Step::S] = q.precision[Step::qk_step] = exact;
    const Experiment e = step_experiment(q);
    if (works_in_double(e)) continue;
    SCOPED_TRACE(describe(e));
    const Steps s = steps(q);
    const StepStorage& stored = s.storage;
    if (!q.scaling.stores()) continue;
    ++seen;
    ASSERT_EQ(stored.k.size(), q.scores.size());
    const bool folded = q.exponential == ExponentialKind::exp2;
    for (std::size_t j = 0; j < stored.k.size(); ++j) {
      float x = 0;
      for (std::size_t c = 0; c < stored.q.operands.size(); ++c)
        x = std::fma(static_cast<float>(stored.k[j].operands[c]), static_cast<float>(stored.q.operands[c]), x);
      if (!stored.S_factor.empty() && !stored.factor_in_exponent) x = x * static_cast<float>(stored.S_factor[j]);
      if (!stored.S_added.empty()) x = x + static_cast<float>(stored.S_added[j]);
      float scale = folded ? 1 : static_cast<float>(scale_of(e.problem));
      if (!folded && stored.factor_in_exponent) scale = scale * static_cast<float>(stored.S_factor[j]);
      EXPECT_TRUE(same(static_cast<double>(scale * x), s.S[j])) << j;
    }
    for (const StoredVector* v : {&stored.q, &stored.k[0], &stored.v[0]})
      for (std::size_t c = 0; c < v->given.size(); ++c) {
        const Scaling& of = q.scaling[v == &stored.q ? ScaledTensor::Q : v == &stored.k[0] ? ScaledTensor::K : ScaledTensor::V];
        if (!of.is_on()) {
          EXPECT_EQ(v->operands[c], v->given[c]);
          EXPECT_EQ(v->scales[c], 1);
        } else if (!of.in_operand && v->operands[c] != v->elements[c]) {
          EXPECT_EQ(v->operands[c], static_cast<double>(static_cast<float>(v->elements[c]) * static_cast<float>(v->scales[c])));
        }
      }
  }
  EXPECT_GT(seen, experiments(300) / 4);
}

/// Elements of P times their scales are P.
TEST(Stepper, StoredWeightsAreElementsTimesScales) {
  Dice dice(88);
  int seen = 0;
  for (int i = 0; i < experiments(300); ++i) {
    const StepQuestion q = random_scaled_question(dice);
    if (!q.scaling.P.is_on() || works_in_double(step_experiment(q))) continue;
    const Steps s = steps(q);
    for (std::size_t j = 0; j < s.P.size(); ++j) {
      const auto product = static_cast<float>(s.storage.P_elements[j]) * static_cast<float>(s.storage.P_scales[j]);
      EXPECT_TRUE(same(static_cast<double>(product), s.P[j])) << j;
    }
    seen += 1;
    for (const RowStep& step : s.steps)
      if (step.kind == StepKind::store) {
        EXPECT_EQ(step.numbers.size(), static_cast<std::size_t>(step.keys.end - step.keys.first));
      }
  }
  EXPECT_GT(seen, experiments(300) / 10);
}

/// Storage in many bits, and nothing else rounded: every number is the exact one in the kernel's units.
TEST(Stepper, ExactNumbersAreInTheUnitsOfTheKernel) {
  StepQuestion q = question(Algorithm::flash2, {2.5, 1.25, 3, 0.5, 4.75, 1, 2, 3.5, 0.25, 6}, "exact", 3);
  const auto expect_near = [](const StepQuestion& asked) {
    const Steps s = steps(asked);
    for (const RowStep& step : s.steps) {
      const auto near = [](double x, double y) { return x == y || std::fabs(x - y) <= 0.02 * std::fabs(y) + 1e-4; };
      EXPECT_TRUE(near(step.state.m, step.exact.m)) << step.state.m << ' ' << step.exact.m;
      EXPECT_TRUE(near(step.state.l, step.exact.l)) << step.state.l << ' ' << step.exact.l;
      for (std::size_t c = 0; c < step.state.O.size(); ++c)
        EXPECT_TRUE(near(step.state.O[c], step.exact.O[c])) << step.state.O[c] << ' ' << step.exact.O[c];
      for (const RoundedNumber& made : step.numbers)
        EXPECT_TRUE(near(made.after, made.exact)) << name(made.step) << ' ' << made.after << ' ' << made.exact;
    }
  };
  for (const Algorithm algorithm : {Algorithm::flash1, Algorithm::flash2, Algorithm::flash4})
    for (const ExponentialKind exponential : {ExponentialKind::natural, ExponentialKind::exp2})
      for (const char* P : {"e5m10/x1", "e5m10/x256/shift", "e5m10/x448", "e5m10/block:4/e4m3/x16/shift"}) {
        q.algorithm = algorithm;
        q.exponential = exponential;
        q.scaling.Q = parse_scaling("e5m10/head/x4");
        q.scaling.K = parse_scaling("e5m10/head/x0.125");
        q.scaling.V = parse_scaling("e5m10/channel");
        q.scaling.P = parse_scaling(P);
        q.scaling.smooth_V = true;
        SCOPED_TRACE(describe(step_experiment(q)));
        expect_near(q);
      }
  q.scaling = {.smooth_K = true, .smooth_Q = 4};
  expect_near(q);
}

/// Each number of the state after a step is the result of its last rounding.
TEST(Stepper, AddsAsATensorCoreDoes) {
  for (const Algorithm algorithm : algorithms)
    for (const Accumulator a : {Accumulator::f64, Accumulator::v100, Accumulator::h100, Accumulator::b200_f16}) {
      Dice dice(11);
      std::vector<double> scores(41);
      for (double& s : scores) s = 3 * dice.normal();
      StepQuestion q = question(algorithm, scores, algorithm == Algorithm::three_pass ? "base_hw" : "hw", 11);
      q.format = fp16;
      const Steps by_fma = steps(q);
      q.pv = a;
      const Steps s = steps(q);
      SCOPED_TRACE(std::string(name(algorithm)) + " " + std::string(name(a)));
      EXPECT_TRUE(s.same_bits);
      const Experiment e = step_experiment(q);
      EXPECT_EQ(e.a.accumulator.pv, a);
      const std::vector<double> all = compute(e).a.values;  // the row, repeated for every key
      EXPECT_EQ(s.output, std::vector<double>(all.begin(), all.begin() + q.d));
      EXPECT_EQ(s.steps.size(), by_fma.steps.size());
    }
}

TEST(Stepper, MadeNumbersAreTheStoredOnes) {
  Dice dice(83);
  for (int i = 0; i < experiments(100); ++i) {
    const StepQuestion q = random_question(dice);
    SCOPED_TRACE(describe(step_experiment(q)));
    const Steps all = steps(q);
    for (const RowStep& s : all.steps)
      for (const RoundedNumber& made : s.numbers) {
        if (made.step == Step::l) {
          EXPECT_TRUE(same(made.after, s.state.l));
        }
        if (made.step == Step::O) {
          EXPECT_TRUE(same(made.after, s.state.O[static_cast<std::size_t>(made.column)]) || s.kind == StepKind::finish);
        }
        if (made.step == Step::m && q.algorithm != Algorithm::flash1 && q.algorithm != Algorithm::flash4) {
          EXPECT_TRUE(same(made.after, s.state.m));
        }
        if (!made.rounds) {
          EXPECT_TRUE(same(made.before, made.after));
        }
      }
  }
}

TEST(Stepper, NothingRoundedIsTheTruth) {
  Dice dice(84);
  for (int i = 0; i < experiments(100); ++i) {
    const StepQuestion q = random_question(dice);
    const Experiment e = step_experiment(q);
    SCOPED_TRACE(describe(e));
    const Steps s = steps(q);
    const Result r = compute(e);
    for (int c = 0; c < q.d; ++c) EXPECT_NEAR(s.exact_output[static_cast<std::size_t>(c)], (*r.golden)(0, c), 1e-11) << c;
    const RowState& end = s.steps.back().exact;
    double m = -std::numeric_limits<double>::infinity(), l = 0;
    for (std::size_t j = 0; j < q.scores.size(); ++j) m = std::max(m, r.inputs->k[j * static_cast<std::size_t>(q.d)]);
    for (std::size_t j = 0; j < q.scores.size(); ++j) l += std::exp(r.inputs->k[j * static_cast<std::size_t>(q.d)] - m);
    EXPECT_EQ(end.m, m);
    EXPECT_NEAR(end.l, l, 1e-12 * l);
  }
}

TEST(Stepper, PassesAndReads) {
  const std::vector<double> scores = {2.5, 1.25, 3, 0.5, 4.75, 1, 2, 3.5, 0.25, 6, 1.5, 2.75, 4, 3.25, 0.75, 5};
  const int passes[] = {3, 2, 1, 1};
  for (std::size_t i = 0; i < std::size(algorithms); ++i) {
    const Steps s = steps(question(algorithms[i], scores));
    EXPECT_EQ(s.passes, passes[i]);
    EXPECT_EQ(s.steps.front().kind, StepKind::start);
    EXPECT_EQ(s.steps.front().reads, 0);
    EXPECT_EQ(s.steps.back().kind, StepKind::finish);
    EXPECT_EQ(s.steps.back().reads, 16 * passes[i]);
    for (std::size_t k = 1; k < s.steps.size(); ++k) {
      EXPECT_GE(s.steps[k].reads, s.steps[k - 1].reads);
      EXPECT_GE(s.steps[k].bytes, s.steps[k - 1].bytes);
      if (s.steps[k].tile >= 0) {
        EXPECT_EQ(s.steps[k].reads, s.steps[k].pass * 16 + s.steps[k].keys.end);
      }
    }
  }
}

/// A step by hand, as in a lesson: the tenth score is 6, the old sum shrinks by exp(4.75 - 6).
TEST(Stepper, OneElementByHand) {
  const Steps s = steps(question(Algorithm::flash2, {2.5, 1.25, 3, 0.5, 4.75, 1, 2, 3.5, 0.25, 6}, "exact", 1));
  const auto tenth =
      std::ranges::find_if(s.steps, [](const RowStep& step) { return step.tile == 9 && step.kind == StepKind::sum; });
  ASSERT_NE(tenth, s.steps.end());
  EXPECT_EQ(tenth->state.m, 6);
  EXPECT_NEAR(tenth->alpha, std::exp(-1.25), 1e-7);
  double sum = 0;
  for (const double x : s.question.scores) sum += std::exp(x - 6);
  EXPECT_NEAR(tenth->exact.l, sum, 1e-14);
  EXPECT_NEAR(tenth->state.l, sum, 1e-6);
  EXPECT_NE(tenth->state.l, tenth->exact.l) << "float is not exact";
}

TEST(Stepper, BytesAreThoseOfTraffic) {
  for (const int block_k : {1, 4, 5, 64}) {
    const int n = 24;
    std::vector<double> scores(n);
    std::iota(scores.begin(), scores.end(), 0.0);
    const auto bytes = [&](Algorithm a) { return steps(question(a, scores, "hw", block_k)).steps.back().bytes; };
    Experiment e = step_experiment(question(Algorithm::flash2, scores, "hw", block_k));
    e.a.block_q = 1;
    const Traffic t = traffic(e);
    const double d = e.problem.d, kv = 2 * n * d * t.element_bytes;  // FA-1 reads K and V once for all rows, Algorithm 0 too
    EXPECT_EQ(n * bytes(Algorithm::flash2), t.flash2);
    EXPECT_EQ(n * (bytes(Algorithm::flash1) - kv) + kv, t.flash1);
    EXPECT_EQ(n * (bytes(Algorithm::three_pass) - kv) + kv, t.algorithm0);
    EXPECT_EQ(bytes(Algorithm::two_pass), (2 * d + 3 * n * d) * t.element_bytes) << "K twice, V, q and O once";
  }
}

TEST(Stepper, BytesOfScaledTensorsAreThoseOfTraffic) {
  std::vector<double> scores(24);
  std::iota(scores.begin(), scores.end(), 0.0);
  StepQuestion q = question(Algorithm::flash2, scores, "hw", 5);
  q.scaling.Q = parse_scaling("int8/token");
  q.scaling.K = parse_scaling("e2m1/block:2/e4m3");
  q.scaling.V = parse_scaling("e4m3/channel");
  Experiment e = step_experiment(q);
  e.a.block_q = 1;
  EXPECT_NEAR(24 * steps(q).steps.back().bytes, traffic(e).flash2, 1e-9 * traffic(e).flash2);
}

TEST(Stepper, LostBitsAreThoseOfTheFormat) {
  const Steps s = steps(question(Algorithm::flash2, {0.3, 1.7, 0.9, 2.6, -1, 0.1, 3.3, 0.7}, "all_tile"));
  int lost = 0;
  for (const RowStep& step : s.steps)
    for (const RoundedNumber& made : step.numbers) {
      EXPECT_TRUE(made.rounds) << name(made.step);
      EXPECT_EQ(made.after, static_cast<double>(round(bf16, static_cast<float>(made.before)))) << name(made.step);
      lost += made.after != made.before;
    }
  EXPECT_GT(lost, 20);
}

TEST(Stepper, ScoresOfARowAreThoseOfTheInputs) {
  Experiment e = small_experiment(bf16, 40, 8);
  e.problem.mask.kind = Mask::Kind::causal;
  const Result r = compute(e);
  for (const int row : {0, 5, 39}) {
    const std::vector<double> scores = scores_of_row(r, row, 16);
    ASSERT_EQ(scores.size(), static_cast<std::size_t>(std::min(row + 1, 16)));
    for (std::size_t j = 0; j < scores.size(); ++j) {
      double sum = 0;
      for (std::size_t c = 0; c < 8; ++c) sum += r.inputs->q[static_cast<std::size_t>(row) * 8 + c] * r.inputs->k[j * 8 + c];
      EXPECT_NEAR(scores[j], sum * scale_of(e.problem), 1e-12);
    }
  }
}

TEST(Stepper, RefusesInOneSentence) {
  const auto said = [](auto change) {
    StepQuestion q = question(Algorithm::flash2, {1, 2, 3});
    change(q);
    return message_of<std::invalid_argument>([&] { steps(q); });
  };
  using Q = StepQuestion;
  constexpr double infinity = std::numeric_limits<double>::infinity();
  EXPECT_EQ(said([](Q&) {}), "");
  EXPECT_EQ(said([](Q& q) { q.scores.clear(), q.values.clear(); }), "stepper: there are 0 scores, expected 1 .. 64");
  EXPECT_THAT(said([](Q& q) { q.scores[1] = infinity; }), HasSubstr("a score is inf, expected a number of at most 1000000"));
  EXPECT_THAT(said([](Q& q) { q.scores[1] = -1e300; }), HasSubstr("a score is -1e+300, expected"));
  EXPECT_THAT(said([](Q& q) { q.values[0] = std::nan(""); }), HasSubstr("a value is"));
  EXPECT_THAT(said([](Q& q) { q.values.pop_back(); }), HasSubstr("there are 5 values"));
  EXPECT_THAT(said([](Q& q) { q.algorithm = Algorithm::split_kv; }),
              HasSubstr("expected three_pass, two_pass, flash1, flash2 or flash4"));
  EXPECT_EQ(said([](Q& q) { q.flush = 3; }), "stepper: P.V is added to O after 3 tiles, expected after each, or never");
  EXPECT_EQ(said([](Q& q) { q.rows.d = 2; }),
            "stepper: rows has 0 numbers of Q and 0 of K, expected 2 for each of the 3 scores");
  EXPECT_THAT(said([](Q& q) { q.algorithm = Algorithm::two_pass, q.scaling.P = parse_scaling("e4m3/x256/shift"); }),
              HasSubstr("needs an algorithm that divides by l at the end"));
  EXPECT_THAT(said([](Q& q) { q.block_k = 0; }), HasSubstr("block_k is 0"));
}

}  // namespace
}  // namespace attoscope
