// Details of a backward pass: pairs of a window, the trace of a query and of a key, orders of dQ, and sources of errors.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "kernels/experiment/grad_kernels.h"
#include "kernels/experiment/presets.h"
#include "kernels/experiment/result.h"
#include "kernels/experiment/rules.h"
#include "kernels/questions/gradient_attribution.h"
#include "kernels/questions/gradient_spread.h"
#include "kernels/questions/gradient_trace.h"
#include "kernels/questions/gradient_window.h"
#include "tests/backward/backward_dice.h"
#include "tests/support/temporary_directory.h"

namespace attoscope {
namespace {

using namespace testing;  // attoscope::testing

std::size_t index_of(int row, int columns, int column) { return static_cast<std::size_t>(row * columns + column); }

/// A random experiment with random backward passes that `compute` accepts.
Experiment random_question(Dice& dice) {
  for (;;) {
    Experiment e = random_backward_experiment(dice);
    if (!is_emulated(e.a.algorithm) || !is_emulated(e.b.algorithm)) continue;
    e.backward.on = true;
    e.backward.a = random_gradient(dice, e, e.a);
    e.backward.b = random_gradient(dice, e, e.b);
    if (dice.one_in(3)) add_grad_accumulators(e.backward.a, dice, e, e.a);
    if (dice.one_in(3)) add_grad_scalings(e.backward.b, dice);
    try {
      validate(e);
      return e;
    } catch (const std::invalid_argument&) {
    }
  }
}

std::shared_ptr<const Tensors> rounded_inputs(const Experiment& e) {
  std::shared_ptr<const Tensors> inputs;
  in_working_type(e, [&](auto t) {
    using T = decltype(t);
    inputs = as_tensors(operands<T>(*raw_inputs(e.problem), e.a.precision[Step::input], e.format, e.problem.seed),
                        shape_of(e.problem));
  });
  return inputs;
}
plain::GradientPairs plain_pairs(const Experiment& e, bool of_b) {
  return plain::backward_pairs(e, of_b ? e.b : e.a, of_b ? e.backward.b : e.backward.a, *rounded_inputs(e),
                               output_gradients(e));
}

ScoreQuestion whole_window(const Experiment& e) { return {e, 0, e.problem.n, 0, key_count(e.problem)}; }

/// Expects that the window's numbers equal the whole matrix there; storage with scales does not keep the sign of 0.
void expect_window(const ScoreQuestion& q, const std::vector<double>& found, const std::vector<double>& whole) {
  ASSERT_EQ(found.size(), static_cast<std::size_t>(q.rows * q.keys));
  for (int row = 0; row < q.rows; ++row)
    for (int key = 0; key < q.keys; ++key) {
      const double x = found[index_of(row, q.keys, key)],
                   y = whole[index_of(q.first_row + row, key_count(q.experiment.problem), q.first_key + key)];
      ASSERT_TRUE(same(x, y) || (x == 0 && y == 0)) << "row " << row << ", key " << key << ": " << x << " instead of " << y;
    }
}

/// Expects that golden's window equals the whole one there.
void expect_golden(const GradientWindow& w, const GradientWindow& whole) {
  for (const PairTensor t : {PairTensor::P, PairTensor::dP, PairTensor::dS})
    expect_window(w.question, w[t].golden, whole[t].golden);
}

TEST(GradientWindow, HasThePlainPairsInRandomExperiments) {
  with_seeds(1, experiments(150), [&](Dice& dice) {
    const Experiment e = random_question(dice);
    SCOPED_TRACE(describe(e) + describe(e.backward.a, e.format) + describe(e.backward.b, e.format));
    ScoreQuestion q{.experiment = e};
    q.first_row = dice.between(0, e.problem.n - 1);
    q.rows = dice.between(1, e.problem.n - q.first_row);
    q.first_key = dice.between(0, key_count(e.problem) - 1);
    q.keys = dice.between(1, key_count(e.problem) - q.first_key);
    const GradientWindow w = gradient_window(q, {.threads = dice.between(1, 3)});
    for (const bool of_b : {false, true}) {
      const plain::GradientPairs pairs = plain_pairs(e, of_b);
      const auto PairValues::* const method = of_b ? &PairValues::b : &PairValues::a;
      expect_window(q, w[PairTensor::P].*method, pairs.p);
      expect_window(q, w[PairTensor::dP].*method, pairs.dp);
      expect_window(q, w[PairTensor::dS].*method, pairs.ds);
    }
    expect_golden(w, gradient_window(whole_window(e)));
  });
}

Experiment named_question(std::string_view kernel, int n, int n_k, int d, Mask::Kind mask, double softcap) {
  Experiment e = small_experiment(bf16, n, d);
  e.problem.n_k = n_k;
  e.problem.mask.kind = mask;
  e.problem.softcap = softcap;
  e.a = with_policy(e.a, policy("hw"));
  e = with_backward(e);
  e.backward.a = grad_method(kernel, d, e.problem.mask);
  return e;
}

TEST(GradientWindow, HasThePlainPairsOfNamedKernels) {
  for (const GradKernel& kernel : grad_kernels())
    for (const auto mask : {Mask::Kind::none, Mask::Kind::causal})
      for (const double softcap : {0.0, 2.0}) {
        const Experiment e = named_question(kernel.name, 70, 85, 16, mask, softcap);
        try {
          validate(e);
        } catch (const std::invalid_argument&) {
          continue;
        }
        SCOPED_TRACE(kernel.name);
        const GradientWindow w = gradient_window(whole_window(e));
        const plain::GradientPairs pairs = plain_pairs(e, false);
        expect_window(w.question, w[PairTensor::P].a, pairs.p);
        expect_window(w.question, w[PairTensor::dP].a, pairs.dp);
        expect_window(w.question, w[PairTensor::dS].a, pairs.ds);
        if (HasFatalFailure()) return;
      }
}

TEST(GradientWindow, OfGoldenGivesItsGradients) {
  for (const Format& format : {bf16, fp64}) {
    Experiment e = named_question("grad_math", 33, 40, 8, Mask::Kind::causal, 3);
    e.format = format;
    const GradientWindow w = gradient_window(whole_window(e));
    const Result r = compute(e);
    const double scale = scale_of(e.problem);
    for (int row = 0; row < 33; ++row)
      for (int c = 0; c < 8; ++c) {
        double dq = 0;
        for (int key = 0; key < 40; ++key)
          if (const double ds = w[PairTensor::dS].golden[index_of(row, 40, key)]; !std::isnan(ds))
            dq += scale * ds * r.inputs->k[index_of(key, 8, c)];
        EXPECT_NEAR(dq, r.backward->golden->dq(row, c), 1e-13);
      }
    for (int key = 0; key < 40; ++key)
      for (int c = 0; c < 8; ++c) {
        double dv = 0;
        for (int row = 0; row < 33; ++row)
          if (const double p = w[PairTensor::P].golden[index_of(row, 40, key)]; !std::isnan(p))
            dv += p * r.backward->incoming->d_o[index_of(row, 8, c)];
        EXPECT_NEAR(dv, r.backward->golden->dv(key, c), 1e-13);
      }
  }
}

TEST(GradientWindow, OfGoldenHasTheBitsOfItsWholeWindow) {
  for (const Format& format : {bf16, fp32, fp64}) {
    Experiment e = named_question("grad_math", 70, 150, 8, Mask::Kind::causal, 3);
    e.format = format;
    for (const int rows : {0, 20}) {
      e.problem.rows = rows;
      SCOPED_TRACE(name(format) + ", rows " + std::to_string(rows));
      expect_golden(gradient_window({e, 30, 25, 80, 55}), gradient_window(whole_window(e)));
    }
  }
}

/// A small experiment whose mask tensor drops every third key of a row.
Experiment with_gaps() {
  Experiment e = named_question("grad_math", 12, 0, 8, Mask::Kind::none, 0);
  std::vector<double> terms(12 * 12);
  for (std::size_t i = 0; i < terms.size(); ++i)
    if ((i / 12 + i % 12) % 3 == 1) terms[i] = -std::numeric_limits<double>::infinity();
  Tensors t = *raw_inputs(e.problem);
  t.mask = std::make_shared<const MaskTensor>(mask_of_terms(12, 12, std::move(terms)));
  e.problem.input = given(std::move(t));
  return e;
}

TEST(GradientWindow, HasNoNumberOfAKeyThatAMaskTensorDrops) {
  const Experiment e = with_gaps();
  const GradientWindow w = gradient_window(whole_window(e));
  for (int row = 0; row < 12; ++row)
    for (int key = 0; key < 12; ++key)
      for (const PairValues& values : w.tensors)
        for (const std::vector<double>* x : {&values.golden, &values.a, &values.b})
          EXPECT_EQ(std::isnan((*x)[index_of(row, 12, key)]), !sees_key(e.problem, row, key)) << row << ", " << key;
}

TEST(GradientWindow, RefusesWhatIsNotThere) {
  Experiment e = named_question("grad_math", 20, 0, 8, Mask::Kind::none, 0);
  EXPECT_NE(sentence_of<std::invalid_argument>([&] { gradient_window({e, 0, 21, 0, 1}); }).find("row"), std::string::npos);
  EXPECT_NE(sentence_of<std::invalid_argument>([&] { gradient_window({e, 0, 1, 20, 1}); }).find("key"), std::string::npos);
  e.backward.on = false;
  EXPECT_NE(sentence_of<std::invalid_argument>([&] { gradient_window(whole_window(e)); }).find("backward.on"),
            std::string::npos);
}

// --- the trace of a query and of a key -----------------------------------------------------------------------------------

double norm_of_row(const Matrix& m, int row) {
  double squares = 0;
  for (int c = 0; c < m.cols; ++c) squares += m(row, c) * m(row, c);
  return std::sqrt(squares);
}
double gap_of_row(const Matrix& x, const Matrix& y, int row) {
  double largest = 0;
  for (int c = 0; c < x.cols; ++c) largest = std::max(largest, std::abs(x(row, c) - y(row, c)));
  return largest;
}

/// The experiment whose dQ, dK and dV are not rounded at the end.
Experiment unrounded_at_the_end(Experiment e) {
  for (GradMethod* g : {&e.backward.a, &e.backward.b})
    for (const GradStep s : {GradStep::dQ, GradStep::dK, GradStep::dV}) g->precision[s] = exact;
  return e;
}

void expect_steps(const GradientSteps& steps, const Gradients& whole, const plain::GradientPairs& pairs,
                  const GradientTraceQuestion& q) {
  const Problem& p = q.experiment.problem;
  EXPECT_TRUE(same(steps.lse, whole.lse[static_cast<std::size_t>(q.query)]));
  EXPECT_TRUE(same(steps.delta, whole.delta[static_cast<std::size_t>(q.query)]));
  int seen = 0, lost = 0, seen_queries = 0, lost_queries = 0;
  for (const QueryTile& t : steps.of_query) seen += t.seen, lost += t.lost;
  for (const KeyTile& t : steps.of_key) seen_queries += t.seen, lost_queries += t.lost;
  int all = 0, all_lost = 0, all_queries = 0, all_lost_queries = 0;
  const int n_k = key_count(p);
  for (int key = 0; key < n_k; ++key)
    if (const Keys keys = visible_keys(p, q.query); keys.first <= key && key < keys.end)
      ++all, all_lost += pairs.lost[index_of(q.query, n_k, key)];
  for (int row = 0; row < p.n; ++row)
    if (const Keys keys = visible_keys(p, row); keys.first <= q.key && q.key < keys.end)
      ++all_queries, all_lost_queries += pairs.lost[index_of(row, n_k, q.key)];
  EXPECT_EQ(seen, all);
  EXPECT_EQ(lost, all_lost);
  EXPECT_EQ(seen_queries, all_queries);
  EXPECT_EQ(lost_queries, all_lost_queries);
  if (!steps.of_query.empty()) {
    EXPECT_TRUE(same(steps.of_query.back().dq_norm, norm_of_row(whole.dq, q.query)));
    EXPECT_TRUE(same(steps.of_query.front().added, steps.of_query.front().dq_norm) ||
                q.experiment.backward.a.order == GradOrder::buffers || q.experiment.backward.b.order == GradOrder::buffers);
  }
  if (steps.of_key.empty()) return;
  EXPECT_TRUE(same(steps.of_key.back().dk_norm, norm_of_row(whole.dk, q.key)));
  EXPECT_TRUE(same(steps.of_key.back().dv_norm, norm_of_row(whole.dv, q.key)));
}

TEST(GradientTrace, EndsWithTheBitsOfTheWholePass) {
  with_seeds(9001, experiments(150), [&](Dice& dice) {
    Experiment e = random_question(dice);
    e.problem.rows = 0;
    SCOPED_TRACE(describe(e) + describe(e.backward.a, e.format) + describe(e.backward.b, e.format));
    const Result whole = compute(unrounded_at_the_end(e));
    const plain::GradientPairs a = plain_pairs(e, false), b = plain_pairs(e, true);
    ComputeCache cache;
    for (int i = 0; i < 2; ++i) {
      const GradientTraceQuestion q{e, dice.between(0, e.problem.n - 1), dice.between(0, key_count(e.problem) - 1)};
      const GradientTrace t = gradient_trace(q, {.cache = &cache, .threads = dice.between(1, 3)});
      expect_steps(t.a, whole.backward->a, a, q);
      expect_steps(t.b, whole.backward->b, b, q);
    }
  });
}

TEST(GradientTrace, HasTheErrorsAgainstGolden) {
  for (const auto mask : {Mask::Kind::none, Mask::Kind::causal}) {
    const Experiment e = named_question("grad_hw", 130, 150, 8, mask, 0);
    const Result r = compute(unrounded_at_the_end(e));
    const GradientTrace t = gradient_trace({e, 77, 90});
    const Gradients& golden = *r.backward->golden;
    EXPECT_NEAR(t.a.of_query.back().dq_error, gap_of_row(r.backward->a.dq, golden.dq, 77), 1e-12);
    EXPECT_NEAR(t.a.of_key.back().dk_error, gap_of_row(r.backward->a.dk, golden.dk, 90), 1e-12);
    EXPECT_NEAR(t.a.of_key.back().dv_error, gap_of_row(r.backward->a.dv, golden.dv, 90), 1e-12);
    EXPECT_NEAR(t.golden_lse, golden.lse[77], 1e-12);
    EXPECT_NEAR(t.golden_delta, golden.delta[77], 1e-12);
    for (std::size_t i = 1; i < t.a.of_query.size(); ++i) EXPECT_GT(t.a.of_query[i].tile, t.a.of_query[i - 1].tile);
  }
}

TEST(GradientTrace, KeepsNaN) {
  Experiment e = named_question("grad_hw", 12, 0, 8, Mask::Kind::none, 0);
  Tensors t = *raw_inputs(e.problem);
  t.v[0] = std::numeric_limits<double>::infinity();  // dP - delta of key 0 is inf - inf
  e.problem.input = given(std::move(t));
  const GradientTrace trace = gradient_trace({e, 3, 0});
  ASSERT_FALSE(trace.a.of_query.empty() || trace.a.of_key.empty());
  const QueryTile& query = trace.a.of_query.back();
  const KeyTile& key = trace.a.of_key.back();
  for (const double x : {query.dq_error, query.largest_dP, query.largest_dS, key.dk_error, key.largest_dS})
    EXPECT_TRUE(std::isnan(x)) << x;
}

TEST(GradientTrace, TakesTilesInTheOrderOfTheMethod) {
  Experiment e = named_question("grad_hw", 100, 0, 8, Mask::Kind::none, 0);
  e.backward.a.block_q = e.backward.a.block_k = 16;
  e.backward.a.order = GradOrder::descending;
  e.backward.a.last_queries_first = true;
  const GradientTrace t = gradient_trace({e, 3, 4});
  ASSERT_EQ(t.a.of_query.size(), 7u);
  for (std::size_t i = 0; i < 7; ++i) {
    EXPECT_EQ(t.a.of_query[i].tile, 6 - static_cast<int>(i));
    EXPECT_EQ(t.a.of_key[i].tile, 6 - static_cast<int>(i));
  }
  EXPECT_EQ(t.a.of_query[0].seen, 4);
}

TEST(GradientTrace, CanBeStoppedAtEveryTile) {
  const auto asked = [](int block_k) {
    Experiment e = named_question("grad_hw", 300, 0, 8, Mask::Kind::none, 0);
    e.backward.a.block_k = block_k;
    int times = 0;
    gradient_trace({e, 3, 4}, {.cancelled = [&] { return ++times, false; }, .threads = 1});
    return times;
  };
  EXPECT_GE(asked(1), asked(300) + 299);
}

TEST(GradientTrace, RefusesWhatIsNotThere) {
  Experiment e = named_question("grad_math", 20, 0, 8, Mask::Kind::none, 0);
  EXPECT_NE(sentence_of<std::invalid_argument>([&] { gradient_trace({e, 20, 0}); }).find("query"), std::string::npos);
  EXPECT_NE(sentence_of<std::invalid_argument>([&] { gradient_trace({e, 0, -1}); }).find("key"), std::string::npos);
}

// --- orders of dQ --------------------------------------------------------------------------------------------------------

TEST(OrderSpread, NothingMovesWithOneKeyTile) {
  Experiment e = named_question("grad_math", 60, 0, 8, Mask::Kind::none, 0);
  e.backward.a.precision = {};
  e.backward.a.block_k = 60;
  const OrderSpread s = order_spread(e);
  EXPECT_EQ(s.elements, 60 * 8);
  EXPECT_EQ(s.moved, 0);
  EXPECT_EQ(s.max_ulp, 0);
  for (const OrderRun& run : s.schedules) EXPECT_EQ(run.moved, 0);
}

TEST(OrderSpread, SumsInFp32MoveWithManyTiles) {
  Experiment e = named_question("grad_math", 60, 0, 8, Mask::Kind::causal, 0);
  e.backward.a.precision = {};
  e.backward.a.precision[GradStep::dq_sum] = to_format(fp32);
  e.backward.a.block_q = e.backward.a.block_k = 4;
  for (const int rows : {0, 20}) {
    e.problem.rows = rows;
    const OrderSpread s = order_spread(e);
    EXPECT_EQ(s.shuffled.size(), static_cast<std::size_t>(spread_orders));
    EXPECT_EQ(s.shuffled[0].moved, 0);
    EXPECT_GT(s.moved, 0);
    EXPECT_GT(s.max_ulp, 0);
    EXPECT_TRUE(s.schedules_repeat);
    ASSERT_EQ(s.schedules.size(), 6u);
    EXPECT_EQ(s.schedules[0].digest, s.schedules[2].digest) << "one buffer takes the tiles in ascending order";
  }
}

TEST(OrderSpread, HasTheBitsOfTheWholePass) {
  with_seeds(4001, experiments(40), [&](Dice& dice) {
    Experiment e = random_question(dice);
    const OrderSpread s = order_spread(e);
    const auto digest_of = [&](GradOrder order, std::uint64_t order_seed, int buffers) {
      Experiment other = e;
      other.backward.a.order = order;
      other.backward.a.order_seed = order_seed;
      other.backward.a.buffers = buffers;
      return compute(other).backward->tensors[1].digests.a;
    };
    const std::uint64_t first = e.backward.a.order_seed;
    EXPECT_EQ(s.shuffled[0].digest, digest_of(GradOrder::shuffled, first, 1));
    EXPECT_EQ(s.shuffled[5].digest, digest_of(GradOrder::shuffled, first + 5, 1));
    EXPECT_EQ(s.schedules[1].digest, digest_of(GradOrder::descending, 1, 1));
    EXPECT_EQ(s.schedules[4].digest, digest_of(GradOrder::buffers, 1, 4));
  });
}

// --- sources of errors ---------------------------------------------------------------------------------------------------

void expect_error(const StepError& x, const Deviation& d) {
  EXPECT_TRUE(same(x.mean_abs, d.mean_abs));
  EXPECT_TRUE(same(x.rms, d.rms));
  EXPECT_EQ(x.nonfinite, d.nonfinite);
}
void expect_errors(const GradErrors& x, const Experiment& e) {
  const Result r = compute(e);
  expect_error(x[0], r.backward->a_error.dq);
  expect_error(x[1], r.backward->a_error.dk);
  expect_error(x[2], r.backward->a_error.dv);
}

TEST(GradientAttribution, EveryNumberIsThatOfARunOfItsOwn) {
  const Experiment e = named_question("grad_hw", 90, 0, 16, Mask::Kind::causal, 0);
  const GradAttribution all = attribute_gradients(e);
  expect_errors(all.total, e);
  Experiment bare = e;
  bare.a = without_rounding(e.a);
  bare.backward.a.precision.steps = {};
  expect_errors(all.floor, bare);
  ASSERT_GT(all.shares.size(), 2u);
  EXPECT_TRUE(all.shares[0].source.forward);
  Experiment without_forward = e;
  without_forward.a = bare.a;
  expect_errors(all.shares[0].without, without_forward);
  for (const GradShare& s : all.shares) {
    if (s.source.forward) continue;
    SCOPED_TRACE(name(s.source));
    Experiment without = e, alone = bare;
    without.backward.a.precision[s.source.step] = exact;
    alone.backward.a.precision[s.source.step] = e.backward.a.precision[s.source.step];
    expect_errors(s.without, without);
    expect_errors(s.alone, alone);
    for (std::size_t t = 0; t < 3; ++t) EXPECT_EQ(s.relief[t], all.total[t].mean_abs - s.without[t].mean_abs);
  }
  EXPECT_EQ(gradient_attribution_table(all).rows.size(), all.shares.size());
}

TEST(GradientAttribution, ASingleStepAloneHasAllTheError) {
  Experiment e = named_question("grad_math", 50, 0, 8, Mask::Kind::none, 0);
  e.a = without_rounding(e.a);
  e.backward.a = {};
  e.backward.a.precision[GradStep::dS] = to_main;
  const GradAttribution all = attribute_gradients(e);
  ASSERT_EQ(all.shares.size(), 1u);
  EXPECT_EQ(name(all.shares[0].source), "dS");
  for (std::size_t t = 0; t < 3; ++t) {
    EXPECT_EQ(all.shares[0].alone[t].mean_abs, all.total[t].mean_abs);
    EXPECT_EQ(all.shares[0].without[t].mean_abs, all.floor[t].mean_abs);
  }
  EXPECT_GT(all.shares[0].relief[0], 0);
  EXPECT_EQ(all.shares[0].relief[2], 0) << "dV takes no dS";
}

TEST(GradientAttribution, KnowsTensorCoresAndStorage) {
  Experiment e = named_question("grad_math", 70, 0, 16, Mask::Kind::none, 0);
  e.backward.a = {};
  e.backward.a.precision[GradStep::P] = e.backward.a.precision[GradStep::dS] = to_main;
  e.backward.a.accumulator = {Accumulator::h100, Accumulator::h100, Accumulator::h100, Accumulator::h100};
  const GradAttribution sums = attribute_gradients(e);
  int of_sums = 0;
  for (const GradShare& s : sums.shares) of_sums += s.source.sums.has_value();
  EXPECT_EQ(of_sums, 4);
  for (const GradShare& s : sums.shares)
    EXPECT_TRUE(s.source.sums != GradProduct::dQ || s.alone[0].mean_abs != sums.floor[0].mean_abs);
  e.backward.a = {};
  e.backward.a.scaling.dS = parse_scaling("e4m3/head");
  const GradAttribution stored = attribute_gradients(e);
  ASSERT_EQ(name(stored.shares.back().source), "dS stored");
  EXPECT_GT(stored.shares.back().relief[0], 0);
}

// --- lost dS -------------------------------------------------------------------------------------------------------------

TEST(LostDS, ComesWithNarrowFormats) {
  Experiment e = named_question("grad_math", 64, 0, 8, Mask::Kind::none, 0);
  e.backward.a.precision = {};
  EXPECT_EQ(compute(e).backward->a.lost_ds, 0);
  e.backward.a.precision[GradStep::dS] = to_format(e4m3);
  const double lost = compute(e).backward->a.lost_ds;
  EXPECT_GT(lost, 0);
  EXPECT_LE(lost, 1);
  e.backward.a.precision = {};
  e.backward.a.scaling.dS = parse_scaling("int8/head");
  EXPECT_GT(compute(e).backward->a.lost_ds, 0);
}

TEST(LostDS, IsAShareOfThePairsThatAMaskTensorWithGapsKeeps) {
  Experiment e = with_gaps();
  e.backward.a.precision = {};
  e.backward.a.precision[GradStep::dS] = to_format(element_e2m1.format);
  int seen = 0, lost = 0, seen_of_keys = 0, lost_of_keys = 0;
  for (int i = 0; i < 12; ++i) {
    const GradientTrace trace = gradient_trace({e, i, i});
    for (const QueryTile& tile : trace.a.of_query) seen += tile.seen, lost += tile.lost;
    for (const KeyTile& tile : trace.a.of_key) seen_of_keys += tile.seen, lost_of_keys += tile.lost;
  }
  EXPECT_EQ(seen, 96);
  EXPECT_EQ(seen_of_keys, 96);
  EXPECT_GT(lost, 0);
  EXPECT_EQ(lost_of_keys, lost);
  EXPECT_EQ(compute(e).backward->a.lost_ds, lost / 96.0);
}

}  // namespace
}  // namespace attoscope
