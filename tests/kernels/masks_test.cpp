// Masks: rules against their definitions, and mask tensors against rules, the plain transcription and softmax in 113 bits.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "kernels/backward/backward.h"
#include "kernels/compute.h"
#include "kernels/cpu/inputs.h"
#include "kernels/experiment/presets.h"
#include "kernels/experiment/rules.h"
#include "kernels/experiment/text.h"
#include "kernels/gpu/device.h"
#include "kernels/gpu/engine.h"
#include "kernels/questions/scores.h"
#include "tests/kernels/is_plain.h"
#include "tests/reference/plain_backward.h"
#include "tests/support/seeds.h"

namespace attoscope {
namespace {

using namespace testing;  // attoscope::testing
using M = Mask::Kind;

constexpr double infinite = std::numeric_limits<double>::infinity();

/// True if the query at key position `at` sees `key` by the rule's definition.
bool is_seen(const Mask& m, int at, int key, int n) {
  const int w = m.window;
  switch (m.kind) {
    case M::none:
      return true;
    case M::causal:
      return key <= at;
    case M::window:
      return key > at - w && key <= at + m.right;
    case M::padding:
      return key >= w && key <= at;
    case M::prefix:
      return key < w || key <= at;
    case M::chunk:
      return at >= 0 && key / w == at / w && key <= at;
    case M::right_padding:
      return key < n - w && key <= at;
  }
  return false;
}

Mask random_mask(Dice& dice, int most) {
  Mask m{static_cast<M>(dice.between(0, static_cast<int>(mask_names.size()) - 1)), dice.between(1, most), dice.one_in(3)};
  m.right = m.kind == M::window && dice.one_in(2) ? dice.between(0, most) : 0;
  return m;
}

TEST(Masks, AreTheirDefinitions) {
  Dice dice(1);
  for (int i = 0; i < 3000; ++i) {
    Problem p;
    p.n = dice.between(1, 12), p.n_k = dice.between(1, 12);
    p.mask = random_mask(dice, 14);
    for (int row = 0; row < p.n; ++row) {
      const Keys keys = visible_keys(p, row);
      ASSERT_TRUE(0 <= keys.first && keys.first <= keys.end && keys.end <= p.n_k);
      for (int key = 0; key < p.n_k; ++key)
        ASSERT_EQ(keys.first <= key && key < keys.end, is_seen(p.mask, row + diagonal(p), key, p.n_k))
            << mask_text(p.mask) << ", row " << row << " of " << p.n << ", key " << key << " of " << p.n_k;
    }
  }
}

TEST(Masks, AreReadAsTheyAreWritten) {
  Dice dice(2);
  for (int i = 0; i < 200; ++i) {
    const Mask m = random_mask(dice, 1 << 20);
    EXPECT_EQ(parse_mask(mask_text(m)), m) << mask_text(m);
  }
  EXPECT_EQ(parse_mask("window:4:0"), parse_mask("window:5")) << "LEFT and RIGHT exclude the query, W counts it";
  EXPECT_EQ(mask_text(parse_mask("window:3:2:top-left")), "window:3:2:top-left");
  EXPECT_EQ(mask_text({M::window, 8, true}), "window:8:top-left");
  for (const char* const text :
       {"window:1:2:3", "window::1", "window:-1:0", "window:1:-1", "chunk", "chunk:0", "prefix:", "prefix:1:2",
        "right_padding:x", "none:3", "causal:3", ":", "", ":top-left", "causal:top-left:top-left", "causal:left", "top-left"})
    EXPECT_THROW(parse_mask(text), std::invalid_argument) << text;
  std::string often = "causal";
  for (int i = 0; i < 1'000'000; ++i) often += ":top-left";
  EXPECT_THROW(parse_mask(often), std::invalid_argument) << "a million times :top-left";
}

// --- mask tensors ------------------------------------------------------------------------------------------------------

std::size_t at(const Problem& p, int row, int key) {
  return static_cast<std::size_t>(row) * static_cast<std::size_t>(key_count(p)) + static_cast<std::size_t>(key);
}

/// The problem with `terms` as its mask tensor; `keeps_all`: keeps every term, even if the tensor equals a rule.
Problem with_terms(Problem p, std::vector<double> terms, bool keeps_all) {
  Tensors t = *raw_inputs(p);
  MaskTensor mask = mask_of_terms(p.n, key_count(p), terms);
  if (keeps_all)
    mask = {p.n, key_count(p), std::vector<Keys>(static_cast<std::size_t>(p.n), Keys{0, key_count(p)}), std::move(terms)};
  t.mask = std::make_shared<const MaskTensor>(std::move(mask));
  p.input = given(std::move(t));
  p.input.digest ^= 77;
  return p;
}

std::vector<double> terms_of_rule(const Problem& p) {
  std::vector<double> terms(at(p, p.n, 0), -infinite);
  for (int row = 0; row < p.n; ++row)
    for (int key = 0; key < key_count(p); ++key)
      if (is_seen(p.mask, row + diagonal(p), key, key_count(p))) terms[at(p, row, key)] = 0;
  return terms;
}

/// Sets methods whose scores have the same bits with and without a mask tensor's terms.
void unfold(Experiment& e) {
  for (Method* const m : {&e.a, &e.b})
    if (e.problem.softcap == 0 && e.problem.alibi == 0) m->exponential = ExponentialKind::natural;
}

void expect_same(const Matrix& x, const Matrix& y, const Experiment& e) {
  ASSERT_EQ(x.values.size(), y.values.size());
  for (std::size_t i = 0; i < x.values.size(); ++i)
    ASSERT_TRUE(x.values[i] == y.values[i] || (std::isnan(x.values[i]) && std::isnan(y.values[i])))
        << "element " << i << ": " << x.values[i] << " and " << y.values[i] << "; " << describe(e);
}
/// Compares golden's gradients and a's.
void expect_same_gradients(const Result& x, const Result& y) {
  ASSERT_TRUE(x.backward && y.backward);
  for (const auto& [g, h] :
       {std::pair{x.backward->golden.get(), y.backward->golden.get()}, std::pair{&x.backward->a, &y.backward->a}}) {
    expect_same(g->dq, h->dq, x.experiment);
    expect_same(g->dk, h->dk, x.experiment);
    expect_same(g->dv, h->dv, x.experiment);
  }
}

TEST(MaskTensors, OfARuleGiveItsNumbers) {
  with_seeds(1, experiments(150), [&](Dice& dice) {
    Experiment rule = random_experiment(dice);
    rule.problem.input = given(*raw_inputs(rule.problem));
    unfold(rule);
    Experiment tensor = rule;
    const bool keeps_all = dice.one_in(2);
    tensor.problem = with_terms(rule.problem, terms_of_rule(rule.problem), keeps_all);
    tensor.problem.mask = {.top_left = rule.problem.mask.top_left};
    const Result x = compute(rule), y = compute(tensor);
    EXPECT_EQ(x.rows_without_keys, y.rows_without_keys);
    expect_same(x.a, y.a, rule);
    expect_same(x.b, y.b, rule);
    expect_same(*x.golden, *y.golden, rule);
    ASSERT_EQ(x.trace.tiles.size(), y.trace.tiles.size()) << describe(rule);
    const std::optional<Mask> found =
        rule_of(mask_of_terms(rule.problem.n, key_count(rule.problem), terms_of_rule(rule.problem)));
    if (!found) return;
    Problem named = rule.problem;
    named.mask = *found;
    EXPECT_EQ(terms_of_rule(named), terms_of_rule(rule.problem)) << mask_text(*found);
  });
}

TEST(MaskTensors, AddTheirTermsAsInThePlainTranscription) {
  with_seeds(1, experiments(60), [&](Dice& dice) {
    Experiment e = random_experiment(dice);
    std::vector<double> terms(at(e.problem, e.problem.n, 0));
    for (double& x : terms) x = dice.one_in(8) ? -std::numeric_limits<float>::max() : static_cast<float>(2 * dice.normal());
    e.problem = with_terms(e.problem, std::move(terms), false);
    const Result r = compute(e);
    ASSERT_TRUE(is_plain(r, e.a, r.a)) << describe(e);
  });
}

/// Terms with gaps, biases, rows without a key, and rows of only the lowest number, whose log-sum-exp does not fit 113 bits.
std::vector<double> random_terms(Dice& dice, const Problem& p) {
  std::vector<double> terms(at(p, p.n, 0));
  for (int row = 0; row < p.n; ++row) {
    const int kind = dice.between(0, 7);
    const double lowest = -std::numeric_limits<float>::max();
    for (int key = 0; key < key_count(p); ++key) {
      double& x = terms[at(p, row, key)];
      if (kind == 0) x = -infinite;
      if (kind == 1) x = lowest;
      if (kind > 1) x = dice.one_in(3) ? -infinite : dice.one_in(4) ? lowest : dice.normal();
    }
  }
  return terms;
}

TEST(MaskTensors, InGoldenAreTheTruth) {
  with_seeds(1, 60, [&](Dice& dice) {
    Experiment e = random_experiment(dice);
    e.problem.input = {};
    e.problem.rows = 0;
    e.format = dice.one_in(2) ? fp64 : bf16;
    e.a.precision = e.b.precision = policy("hw").precision;
    drop_impossible_accumulators(e);
    e.problem = with_terms(e.problem, random_terms(dice, e.problem), false);
    const Result r = compute(e);
    for (int row = 0; row < e.problem.n; ++row) {
      const std::vector<long double> truth = plain::softmax(e.problem, *r.inputs, row, visible_keys(e.problem, row));
      for (int c = 0; c < value_columns(e.problem); ++c)
        ASSERT_NEAR((*r.golden)(row, c), static_cast<double>(truth[static_cast<std::size_t>(c)]), 1e-12)
            << "row " << row << ": " << describe(e);
    }
  });
}

TEST(MaskTensors, ARowOfTheLowestNumberAloneGivesTheMean) {
  Experiment e = small_experiment();
  e.problem.n = 9;
  std::vector<double> terms(81, -std::numeric_limits<float>::max());
  e.problem = with_terms(e.problem, std::move(terms), false);
  for (const Format& format : {bf16, fp32, fp64})
    for (const ExponentialKind exponential : {ExponentialKind::natural, ExponentialKind::exp2}) {
      e.format = format, e.a.exponential = exponential;
      e.a.precision = e.b.precision = policy("exact").precision;
      const Result r = compute(e);
      for (int c = 0; c < e.problem.d; ++c) {
        double mean = 0;
        for (int key = 0; key < 9; ++key) mean += r.inputs->v[static_cast<std::size_t>(key * e.problem.d + c)] / 9;
        EXPECT_NEAR((*r.golden)(3, c), mean, 1e-14);
        EXPECT_NEAR(r.a(3, c), mean, 1e-6);
      }
    }
}

TEST(MaskTensors, ARowOfTheLowestNumberIsTheMeanOfMergedRuns) {
  Experiment e = small_experiment();
  e.problem.n = 9;
  e.problem = with_terms(e.problem, std::vector<double>(81, -std::numeric_limits<float>::max()), false);
  e.format = fp32;
  e.a = {.algorithm = Algorithm::split_kv, .block_k = 2, .splits = 2, .precision = policy("exact").precision};  // 6 and 3 keys
  for (const MergeRule merge : {MergeRule::weights, MergeRule::sigmoid})
    for (const StoredBase base : {StoredBase::e, StoredBase::two}) {
      e.a.merge = merge, e.a.lse_base = base;
      const Result r = compute(e);
      for (int c = 0; c < e.problem.d; ++c) EXPECT_NEAR(r.a(3, c), (*r.golden)(3, c), 1e-6);
      const ScoreWindow seen = attoscope::scores(ScoreQuestion{e, 3, 1, 0, 9});
      for (const float p : seen.P) EXPECT_NEAR(p, 1.0 / 9, 1e-6);
      EXPECT_LT(r.a_lse[3], -1e38);
    }
}

TEST(MaskTensors, AreKnownByTheBackwardPass) {
  with_seeds(1, 40, [&](Dice& dice) {
    Experiment rule = random_experiment(dice);
    rule.problem.input = {};
    rule.problem.input = given(*raw_inputs(rule.problem));
    rule.problem.rows = 0;
    rule.a = rule.b = Method{.precision = policy("hw").precision};
    rule.a.block_k = rule.b.block_k = dice.between(1, 40);
    rule.format = dice.one_in(4) ? fp64 : bf16;
    rule = with_backward(std::move(rule));
    Experiment tensor = rule;
    tensor.problem = with_terms(rule.problem, terms_of_rule(rule.problem), true);
    tensor.problem.mask = {.top_left = rule.problem.mask.top_left};
    const Result x = compute(rule), y = compute(tensor);
    expect_same_gradients(x, y);
  });
}

TEST(MaskTensors, ARowOfTheLowestNumberSharesItsGradientAmongItsKeys) {
  Experiment e = small_experiment();
  e.problem.n = 8, e.problem.sink.reset();
  e.problem = with_terms(e.problem, std::vector<double>(64, -std::numeric_limits<float>::max()), false);
  e = with_backward(std::move(e));
  for (const Format& format : {fp32, fp64})
    for (const Algorithm algorithm : {Algorithm::flash2, Algorithm::flash4, Algorithm::three_pass, Algorithm::split_kv})
      for (const int rows : {0, 8}) {
        e.format = format, e.problem.rows = rows;
        e.a = {.algorithm = algorithm, .block_k = 3, .precision = policy("exact").precision};
        const Result r = compute(e);
        for (int c = 0; c < value_columns(e.problem); ++c) {
          double mean = 0;
          for (int row = 0; row < 8; ++row)
            mean += r.backward->incoming->d_o[static_cast<std::size_t>(row * value_columns(e.problem) + c)] / 8;
          EXPECT_NEAR(r.backward->golden->dv(5, c), mean, 1e-12);
          EXPECT_NEAR(r.backward->a.dv(5, c), mean, 1e-6) << name(format) << ", algorithm " << static_cast<int>(algorithm);
        }
      }
}

/// A recorder without a traced row reads no row of the mask tensor before the first one, which sanitizers see.
TEST(MaskTensors, NeedNoTrace) {
  Experiment e = small_experiment();
  e.problem = with_terms(e.problem, terms_of_rule(e.problem), true);
  const Result without = compute(e, {.wanted = {.trace = false}}), with = compute(e);
  EXPECT_TRUE(without.trace.tiles.empty());
  EXPECT_EQ(without.digests.a, with.digests.a);
  EXPECT_EQ(without.rescales.per_tile, with.rescales.per_tile);
}

TEST(MaskTensors, AreComputedByTheCpuWhereAGpuIsAskedFor) {
  Experiment e = small_experiment();
  int asked = 0;
  const Options options{.device = "cuda:0", .engine = [&]() -> std::unique_ptr<Engine> {
                          ++asked;
                          throw DeviceFailure("The GPU fell off the bus.");
                        }};
  const Result rule = compute(e, options);
  EXPECT_EQ(asked, 1) << "without a mask tensor the GPU is tried";
  e.problem = with_terms(e.problem, terms_of_rule(e.problem), true);
  const Result tensor = compute(e, options);
  EXPECT_EQ(asked, 1);
  EXPECT_EQ(tensor.remark, "The GPU's kernels support no mask tensor: the CPU computes.");
  EXPECT_TRUE(tensor.device.starts_with("cpu")) << tensor.device;
}

/// Rows that see no key hold zeros or NaN in golden and in every method; all other numbers and the gradients are equal.
TEST(EmptyRows, FollowTheConventionOfTheProblem) {
  for (const bool is_tensor : {false, true})
    for (const Format& format : {bf16, fp64})
      for (const Algorithm algorithm : {Algorithm::flash2, Algorithm::flash1, Algorithm::three_pass, Algorithm::split_kv}) {
        Experiment e = small_experiment();
        e.problem.n = 12, e.problem.mask = {M::padding, 3}, e.problem.rows = 0, e.format = format;
        if (is_tensor) e.problem = with_terms(e.problem, terms_of_rule(e.problem), true);
        e.a = {.algorithm = algorithm, .block_k = 4, .precision = policy("exact").precision};
        e = with_backward(std::move(e));
        Experiment with_nan = e;
        with_nan.problem.empty_rows = EmptyRule::nan;
        const Result zeros = compute(e), nan = compute(with_nan);
        EXPECT_EQ(nan.rows_without_keys, 3);
        EXPECT_EQ(zeros.golden_nonfinite, 0);
        EXPECT_EQ(nan.golden_nonfinite, 3 * value_columns(e.problem));
        for (int row = 0; row < 12; ++row)
          for (int c = 0; c < value_columns(e.problem); ++c)
            for (const auto& [x, y] :
                 {std::pair{&zeros.a, &nan.a}, {&zeros.b, &nan.b}, {zeros.golden.get(), nan.golden.get()}}) {
              const bool is_empty = row < 3, is_right = (*x)(row, c) == (is_empty ? 0 : (*y)(row, c));
              ASSERT_TRUE(is_right && std::isnan((*y)(row, c)) == is_empty) << static_cast<int>(algorithm) << ", row " << row;
            }
        expect_same(zeros.backward->a.dq, nan.backward->a.dq, e);
        expect_same(zeros.backward->a.dk, nan.backward->a.dk, e);
        expect_same(zeros.backward->golden->dv, nan.backward->golden->dv, e);
        EXPECT_EQ(zeros.backward->a_error.dk.nonfinite, 0);
        EXPECT_EQ(nan.backward->a_error.dk.nonfinite, 0);
      }
}

/// Causal terms that drop key 5, in all rows or in every other row, and all keys of row 10.
Problem with_gap(const Problem& causal, bool in_all) {
  std::vector<double> terms = terms_of_rule(causal);
  for (int row = 0; row < causal.n; ++row) {
    if (in_all || row % 2 == 0) terms[at(causal, row, 5)] = -infinite;
    if (row == 10) std::fill_n(terms.begin() + static_cast<std::ptrdiff_t>(at(causal, row, 0)), causal.n, -infinite);
  }
  Problem p = with_terms(causal, std::move(terms), false);
  p.mask = {};
  return p;
}

TEST(MaskTensors, ANanThatNoRowKeepsChangesNothing) {
  for (const Format& format : {bf16, fp64}) {
    Experiment e = small_experiment(format, 24, 4);
    e.problem.mask = {M::causal};
    e.problem = with_gap(e.problem, true);
    const auto with = [&e](double x) {
      Experiment odd = with_backward(e);
      Tensors t = *e.problem.input.tensors;
      std::vector<double> d_o(t.v), d_lse(24, 0.25);
      d_lse[10] = x;
      for (int c = 0; c < 4; ++c) t.k[5 * 4 + c] = t.v[5 * 4 + c] = t.q[10 * 4 + c] = d_o[10 * 4 + c] = x;
      odd.problem.input = given(std::move(t));
      odd.backward.d_o = OutputGradient::file;
      odd.backward.d_o_file = {.file = "do.npy", .n = 24, .d = 4, .values = std::make_shared<const std::vector<double>>(d_o)};
      odd.backward.d_lse_file = {
          .file = "dl.npy", .n = 24, .d = 1, .values = std::make_shared<const std::vector<double>>(d_lse)};
      return compute(odd);
    };
    const Result zeros = with(0);
    for (const double x : {std::nan(""), infinite}) {
      const Result r = with(x);
      EXPECT_EQ(r.golden_nonfinite, 0);
      EXPECT_EQ(r.digests.golden, zeros.digests.golden);
      EXPECT_EQ(r.digests.a, zeros.digests.a);
      EXPECT_EQ(r.digests.b, zeros.digests.b);
      expect_same_gradients(r, zeros);
    }
  }
}

TEST(MaskTensors, AGapChangesNoBitByTheRowsBesideIt) {
  Experiment e = small_experiment(bf16, 64, 4);
  e.a.block_k = 1;
  e.a.precision = policy("hw").precision;
  e.a.precision[Step::pv_step] = to_main;
  e.problem.mask = {M::causal};
  e.problem = with_gap(e.problem, false);
  const Result all = compute(e);
  Experiment some = e;
  some.problem.rows = 7;
  const Result few = compute(some);
  for (std::size_t i = 0; i < few.rows.size(); ++i)
    for (int c = 0; c < 4; ++c) EXPECT_EQ(few.a(static_cast<int>(i), c), all.a(few.rows[i], c)) << few.rows[i];
  for (const char* const isa : own_instruction_sets()) EXPECT_EQ(compute(e, {.isa = isa}).digests.a, all.digests.a) << isa;
}

TEST(MaskTensors, ANanOfVReachesTheRowsThatKeepItsKey) {
  for (const Format& format : {bf16, fp64})
    for (const Algorithm algorithm : {Algorithm::flash1, Algorithm::flash2, Algorithm::flash4, Algorithm::split_kv}) {
      Experiment e = small_experiment(format, 24, 4);
      e.a.algorithm = algorithm;
      e.problem.mask = {M::causal};
      e.problem = with_gap(e.problem, false);
      Tensors t = *e.problem.input.tensors;
      t.v[5 * 4] = std::nan("");
      e.problem.input = given(std::move(t));
      const Result r = compute(e);
      for (const Matrix* const o : {r.golden.get(), &r.a, &r.b})
        for (int row = 0; row < 24; ++row)
          for (int c = 0; c < 4; ++c)
            ASSERT_EQ(std::isnan((*o)(row, c)), row >= 5 && row % 2 == 1 && c == 0) << row << ", " << c;
    }
}

TEST(MaskTensors, InGoldenGradientsAreTheTruth) {
  with_seeds(1, 40, [&](Dice& dice) {
    Problem p;
    p.n = dice.between(1, 20), p.n_k = dice.between(1, 20), p.d = dice.between(1, 5), p.d_v = dice.between(1, 5);
    p = with_terms(p, random_terms(dice, p), false);
    const Tensors& t = *p.input.tensors;
    OutputGradients d;
    for (int i = 0; i < p.n * p.d_v; ++i) d.d_o.push_back(dice.normal());
    const plain::TrueGradients truth = plain::true_gradients(p, t, d);
    for (const bool precise : {false, true}) {
      const Gradients g = golden_gradients(p, t, d, precise);
      const auto expect = [&](const Matrix& got, const std::vector<long double>& expected) {
        for (std::size_t i = 0; i < expected.size(); ++i) ASSERT_NEAR(got.values[i], static_cast<double>(expected[i]), 1e-10);
      };
      expect(g.dq, truth.dq);
      expect(g.dk, truth.dk);
      expect(g.dv, truth.dv);
    }
  });
}

}  // namespace
}  // namespace attoscope
