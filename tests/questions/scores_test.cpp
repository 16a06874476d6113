/// Scores of one row: S is the plain reference's, P.V is the output, the weights are the softmax.
#include "kernels/questions/scores.h"

#include <cmath>
#include <limits>
#include <stdexcept>

#include "kernels/experiment/presets.h"
#include "kernels/experiment/result.h"
#include "tests/reference/plain.h"
#include "tests/support/matchers.h"
#include "tests/support/seeds.h"

namespace attoscope {
namespace {

using namespace testing;  // attoscope::testing

ScoreQuestion all_of(const Experiment& e) { return {e, 0, e.problem.n, 0, key_count(e.problem)}; }

std::size_t at(const ScoreWindow& w, int row, int key) {
  return static_cast<std::size_t>(row - w.question.first_row) * static_cast<std::size_t>(w.question.keys) +
         static_cast<std::size_t>(key - w.question.first_key);
}

/// The key at a place of the plain reference.
int key_at(const Experiment& e, int place) { return e.a.reverse_keys ? key_count(e.problem) - 1 - place : place; }

/// Calls visit(tile, index in the tile, key) for every key that the row sees.
void each_key(const Experiment& e, const plain::Row& row, int of, auto visit) {
  const Keys keys = visible_keys(e.problem, of);
  int place = e.a.reverse_keys ? key_count(e.problem) - keys.end : keys.first;
  for (std::size_t t = 0; t < row.tiles.size(); ++t)
    for (std::size_t j = 0; j < row.tiles[t].S.size(); ++j) visit(t, j, key_at(e, place++));
}

TEST(Scores, HaveTheBitsOfThePlainReferencesS) {
  with_seeds(1, experiments(120), [&](Dice& dice) {
    const Experiment e = random_experiment(dice);
    SCOPED_TRACE(describe(e));
    const ScoreWindow w = scores(all_of(e));
    const Result r = compute(e);
    for (const int row : {0, e.problem.n / 2, e.problem.n - 1}) {
      const plain::Row expected = plain::attend(e, e.a, *r.inputs, row);
      each_key(e, expected, row, [&](std::size_t t, std::size_t j, int key) {
        const double S = expected.tiles[t].S[j];
        const float unit = works_in_double(e) ? static_cast<float>(S * expected.score_unit)
                                              : static_cast<float>(S) * static_cast<float>(expected.score_unit);
        EXPECT_TRUE(same(w.S[at(w, row, key)], unit)) << row << ' ' << key << ' ' << w.S[at(w, row, key)] << ' ' << unit;
      });
    }
  });
}

TEST(Scores, AreNaNExactlyWhereARowDoesNotSeeTheKey) {
  for (const Mask mask :
       {Mask{Mask::Kind::none, 5}, Mask{Mask::Kind::causal, 5}, Mask{Mask::Kind::window, 5}, Mask{Mask::Kind::padding, 5}})
    for (const bool reversed : {false, true}) {
      Experiment e = small_experiment(bf16, 23, 8);
      e.problem.mask = mask;
      e.a.block_k = 6;
      e.a.reverse_keys = reversed;
      e.a.scaling.P = parse_scaling("e4m3/block:4/x16");  // blocks may begin before the first key that a row sees
      const ScoreWindow w = scores(all_of(e));
      for (int row = 0; row < 23; ++row) {
        const Keys keys = visible_keys(mask, row, 23);
        for (int key = 0; key < 23; ++key)
          for (const auto* x : {&w.S, &w.P, &w.weight})
            EXPECT_EQ(!std::isnan((*x)[at(w, row, key)]), key >= keys.first && key < keys.end) << row << ' ' << key;
      }
    }
}

TEST(Scores, AreNaNWhereAMaskTensorDropsTheKey) {
  for (const bool reversed : {false, true}) {
    Experiment e = small_experiment(bf16, 12, 8);
    e.a.reverse_keys = reversed;
    std::vector<double> terms(12 * 12);
    for (std::size_t i = 0; i < terms.size(); i += 5) terms[i] = -std::numeric_limits<double>::infinity();
    Tensors t = *compute(e).inputs;
    t.mask = std::make_shared<const MaskTensor>(mask_of_terms(12, 12, std::move(terms)));
    e.problem.input = given(std::move(t));
    const ScoreWindow w = scores(all_of(e));
    for (int row = 0; row < 12; ++row)
      for (int key = 0; key < 12; ++key)
        for (const auto* x : {&w.S, &w.P, &w.weight})
          EXPECT_EQ(std::isnan((*x)[at(w, row, key)]), (12 * row + key) % 5 == 0) << row << ' ' << key;
  }
}

/// P of the plain reference times the later alphas over the final l, for algorithms with one run and O divided once.
TEST(Scores, PIsThePlainPTimesTheLaterAlphasOverL) {
  int compared = 0;
  // runs until enough is compared: sanitizers run few experiments
  for (int seed = 1; seed <= experiments(300) || (seed <= 300 && compared <= 500); ++seed) {
    Dice dice(static_cast<std::uint64_t>(seed) + 7000);
    Experiment e = random_experiment(dice);
    if (e.a.algorithm != Algorithm::flash2 && e.a.algorithm != Algorithm::flash4) continue;
    e.problem.sink.reset();
    SCOPED_TRACE("seed " + std::to_string(seed) + ": " + describe(e));
    const ScoreWindow w = scores(all_of(e));
    const int row = e.problem.n - 1;
    const plain::Row expected = plain::attend(e, e.a, *compute(e).inputs, row);
    std::vector<double> later(expected.tiles.size() + 1, 1.0);
    for (std::size_t t = expected.tiles.size(); t-- > 0;) later[t] = later[t + 1] * expected.tiles[t].alpha;
    const Scaling& stored = e.a.scaling.P;
    const double carried = stored.is_on() && !stored.shifts ? stored.factor : 1;
    each_key(e, expected, row, [&](std::size_t t, std::size_t j, int key) {
      const double P = expected.tiles[t].P[j] * later[t + 1] / expected.tiles.back().l / carried;
      const float seen = w.P[at(w, row, key)];
      EXPECT_TRUE(same(seen, static_cast<float>(P)) || std::fabs(seen - P) <= 1e-6 * std::fabs(P))
          << key << ' ' << seen << ' ' << P;
      ++compared;
    });
    if (HasFailure()) return;
  }
  EXPECT_GT(compared, 500);
}

/// Rounds every step up to P, and no step after P.
void round_up_to_P(Method& m, Dice& dice) {
  m.precision = Precision{};
  for (const Step s : {Step::input, Step::S, Step::m, Step::shifted, Step::e, Step::P, Step::alpha, Step::l, Step::tile_sum})
    if (dice.one_in(2)) m.precision[s] = to_format(dice.one_in(2) ? bf16 : fp16);
  m.precision.sum_rounded_P = dice.one_in(2);
  m.precision.accumulate_in_O = dice.one_in(2);
}

/// Tame tensors of a random problem.
Experiment tame_experiment(Dice& dice) {
  Experiment e = random_experiment(dice);
  e.problem.input = Input{};
  e.problem.scale = 0;
  if (e.problem.sink) e.problem.sink = 0.5;
  if (e.problem.softcap != 0) e.problem.softcap = 20;
  e.format = bf16;
  e.a.p_exponent = dice.one_in(4) ? 5 : 0;
  if (e.a.tie_beta != 0) e.a.tie_beta = 1.25;
  round_up_to_P(e.a, dice);
  e.a.scaling.V = {};  // the sum below is of V as it is given
  e.a.scaling.smooth_V = false;
  e.b = Method{.algorithm = Algorithm::three_pass};
  drop_impossible_accumulators(e);
  return e;
}

double largest_gap(const Experiment& e) {
  const Result r = compute(e);
  const ScoreWindow w = scores(all_of(e));
  double worst = 0;
  for (int i = 0; i < r.a.rows; ++i)
    for (int c = 0; c < value_columns(e.problem); ++c) {
      double sum = 0, size = 1e-30;
      const int row = r.rows[static_cast<std::size_t>(i)];
      const Keys keys = visible_keys(e.problem, row);
      for (int key = keys.first; key < keys.end; ++key) {
        if (!sees_key(e.problem, row, key)) continue;
        const double term = static_cast<double>(w.P[at(w, row, key)]) *
                            r.inputs->v[static_cast<std::size_t>(key * value_columns(e.problem) + c)];
        sum += term;
        size += std::fabs(term);
      }
      worst = std::max(worst, std::fabs(sum - r.a(i, c)) / size);
    }
  return worst;
}

TEST(Scores, PTimesVIsTheOutput) {
  std::array<int, emulated_algorithms.size()> looked{};
  with_seeds(101, experiments(250), [&](Dice& dice) {
    const Experiment e = tame_experiment(dice);
    EXPECT_LE(largest_gap(e), 3e-6) << describe(e);
    ++looked[static_cast<std::size_t>(e.a.algorithm)];
  });
  for (const int count : looked) EXPECT_GT(count, experiments(250) / 20);
}

TEST(Scores, PTimesVIsTheOutputWithStochasticRounding) {
  with_seeds(901, experiments(60), [&](Dice& dice) {
    Experiment e = tame_experiment(dice);
    make_stochastic(e.a, dice, 2);
    EXPECT_LE(largest_gap(e), 3e-6) << describe(e);
  });
}

/// A mask tensor drops all keys of the first tile of the second run.
TEST(Scores, PTimesVIsTheOutputWhereARunBeginsWithADroppedTile) {
  Experiment e = small_experiment(fp32, 16, 8);
  e.a = {.algorithm = Algorithm::split_kv, .block_k = 4, .splits = 2};
  std::vector<double> terms(16 * 16);
  for (std::size_t i = 0; i < terms.size(); ++i)
    if (i % 16 / 4 == 2) terms[i] = -std::numeric_limits<double>::infinity();
  Tensors t = *compute(e).inputs;
  t.mask = std::make_shared<const MaskTensor>(mask_of_terms(16, 16, std::move(terms)));
  e.problem.input = given(std::move(t));
  EXPECT_LE(largest_gap(e), 3e-6);
}

/// An experiment whose V is the identity, so its output is the weights.
Experiment weights_as_output(Dice& dice, int n) {
  Tensors t = Tensors::shaped(AttentionShape::square(n, n));
  for (auto* x : {&t.q, &t.k, &t.v}) x->resize(static_cast<std::size_t>(n * n));
  for (auto* x : {&t.q, &t.k})
    for (double& value : *x) value = dice.normal();
  for (int i = 0; i < n; ++i) t.v[static_cast<std::size_t>(i * n + i)] = 1;
  Experiment e;
  e.problem.n = e.problem.d = n;
  e.problem.input = given(std::move(t));
  e.problem.mask = {static_cast<Mask::Kind>(dice.between(0, 3)), dice.between(1, n)};
  if (dice.one_in(3)) e.problem.sink = dice.normal();
  if (dice.one_in(3)) e.problem.softcap = 3;
  if (dice.one_in(3)) e.problem.alibi = 0.1;
  e.format = dice.one_in(3) ? fp64 : bf16;
  e.a.reverse_keys = dice.one_in(3);
  return e;
}

TEST(Scores, WeightsAreTheTrueSoftmax) {
  with_seeds(41, experiments(40), [&](Dice& dice) {
    const int n = dice.between(1, 24);
    const Experiment e = weights_as_output(dice, n);
    const ScoreWindow w = scores(all_of(e));
    const Result r = compute(e);
    for (int row = 0; row < n; ++row) {
      const Keys keys = visible_keys(e.problem.mask, row, n);
      if (keys.empty()) continue;
      const std::vector<long double> truth = plain::softmax(e.problem, *r.inputs, row, keys);
      double sum = 0;
      for (int key = keys.first; key < keys.end; ++key) {
        const float weight = w.weight[at(w, row, key)];
        EXPECT_NEAR(weight, static_cast<double>(truth[static_cast<std::size_t>(key)]), 1e-7 * static_cast<double>(weight))
            << describe(e);
        sum += weight;
      }
      EXPECT_TRUE(e.problem.sink ? sum < 1 : std::fabs(sum - 1) < 1e-6) << sum;
    }
  });
}

TEST(Scores, OfAWindowAreThoseOfTheWhole) {
  Dice dice(3);
  for (int i = 0; i < 30; ++i) {
    Experiment e = random_experiment(dice);
    const ScoreWindow whole = scores(all_of(e));
    const int n = e.problem.n, n_k = key_count(e.problem), first_row = dice.between(0, n - 1),
              first_key = dice.between(0, n_k - 1);
    const ScoreQuestion q{e, first_row, dice.between(1, n - first_row), first_key, dice.between(1, n_k - first_key)};
    const ScoreWindow part = scores(q, {.threads = dice.between(1, 2)});
    ASSERT_EQ(part.question, q);
    for (int row = q.first_row; row < q.first_row + q.rows; ++row)
      for (int key = q.first_key; key < q.first_key + q.keys; ++key) {
        EXPECT_TRUE(same(part.S[at(part, row, key)], whole.S[at(whole, row, key)]));
        EXPECT_TRUE(same(part.P[at(part, row, key)], whole.P[at(whole, row, key)]));
        EXPECT_TRUE(same(part.weight[at(part, row, key)], whole.weight[at(whole, row, key)]));
      }
  }
}

std::string refusal(const ScoreQuestion& q) {
  return message_of<std::invalid_argument>([&] { scores(q); });
}

TEST(Scores, RefuseAWindowInOneSentence) {
  const Experiment e = small_experiment(bf16, 40, 8);
  EXPECT_EQ(refusal({e, 0, 41, 0, 1}), "scores: the window begins at row 0 and has 41, expected at least one, within 0 .. 39");
  EXPECT_EQ(refusal({e, 0, 1, -1, 3}), "scores: the window begins at key -1 and has 3, expected at least one, within 0 .. 39");
  EXPECT_NE(refusal({e, 39, 2, 0, 1}), "");
  EXPECT_NE(refusal({e, 0, 0, 0, 1}), "");
  EXPECT_NE(refusal({e, 0, 1, 39, 1 << 30}), "");
  Experiment large = e;
  large.problem.n = 1 << 13;
  EXPECT_EQ(refusal({large, 0, 1 << 13, 0, 1 << 13}), "scores: the window has 67108864 cells, expected at most 4194304");
  Experiment real = e;
  real.a.algorithm = Algorithm::hardware;
  EXPECT_EQ(refusal({real, 0, 1, 0, 1}),
            "scores: method a is `hardware`, which shows no scores; expected an emulated algorithm");
  Experiment bad = e;
  bad.problem.d = 0;
  EXPECT_NE(refusal({bad, 0, 1, 0, 1}).find("problem.d"), std::string::npos);
}

TEST(Scores, StopWhenAskedTo) {
  const Experiment e = small_experiment(bf16, 400, 64);
  EXPECT_THROW(scores(all_of(e), {.cancelled = [] { return true; }}), Stopped);
}

}  // namespace
}  // namespace attoscope
