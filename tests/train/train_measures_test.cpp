/// Measures of training on weights perturbed by hand.

#include <algorithm>
#include <numeric>
#include <stdexcept>

#include "kernels/parallel/parallel.h"
#include "kernels/train/measures.h"
#include "tests/support/matchers.h"
#include "tests/support/support.h"

namespace attoscope {
namespace {

using namespace testing;  // attoscope::testing
using Weights = std::vector<float>;

constexpr double not_a_number = std::numeric_limits<double>::quiet_NaN();
constexpr ModelShape shape{.layers = 2, .width = 20, .heads = 2, .context = 12};

Parameters some_parameters() { return parameters(shape, 7); }

std::size_t place(const Parameters& p, int layer, Weight weight) { return static_cast<std::size_t>(p.index(layer, weight)); }

/// Numbers of few bits, whose sums of squares are exact; 0 in the padding.
Weights dyadic(const Parameters& p, std::uint64_t seed) {
  Dice dice(seed);
  Weights x(p.size);
  for (const ParameterTensor& t : p.tensors)
    for (std::size_t i = 0; i < t.size(); ++i) x[t.first + i] = static_cast<float>(dice.between(-64, 64)) / 32;
  return x;
}

Weights moved(Weights x, std::size_t at, float by) {
  x[at] += by;
  return x;
}

/// Deviations of two models in their first step, from `x_before` and `y_before`.
std::vector<WeightDeviation> deviations(const Parameters& p, const Weights& x, const Weights& y, const Weights& x_before,
                                        const Weights& y_before) {
  DeviationMeter meter(p);
  meter.follow(x, y);
  return meter.deviations(x, y, x_before, y_before);
}

double norm(const Parameters& p, const Weights& x) {
  double sum = 0;
  for (const ParameterTensor& t : p.tensors)
    for (std::size_t i = 0; i < t.size(); ++i) sum += double{x[t.first + i]} * double{x[t.first + i]};
  return std::sqrt(sum);
}

std::size_t number_of_weights(const Parameters& p) {
  return std::accumulate(p.tensors.begin(), p.tensors.end(), std::size_t{0},
                         [](std::size_t n, const auto& t) { return n + t.size(); });
}

TEST(TrainMeasures, OneMovedWeightShowsInItsTensorAndInAll) {
  const Parameters p = some_parameters();
  const std::size_t t = place(p, 1, Weight::W_O);
  const Weights y = dyadic(p, 1), x = moved(y, p.tensors[t].first + 33, 0.25f);
  const auto d = deviations(p, x, y, y, y);
  ASSERT_EQ(d.size(), p.tensors.size() + 1);
  for (std::size_t i = 1; i < d.size(); ++i) {
    EXPECT_EQ(d[i].max_abs, i == t + 1 ? 0.25 : 0) << p.tensors[i - 1].name;
    EXPECT_EQ(d[i].wasserstein, i == t + 1 ? 0.25 / 400 : 0);
    EXPECT_EQ(d[i].directionality, i == t + 1 ? 1 : 0);
    EXPECT_EQ(d[i].rel_l2 > 0, i == t + 1);
  }
  EXPECT_EQ(d[0].max_abs, 0.25);
  EXPECT_DOUBLE_EQ(d[0].wasserstein, 0.25 / static_cast<double>(number_of_weights(p)));
  EXPECT_DOUBLE_EQ(d[0].rel_l2, 0.25 / norm(p, y));
}

TEST(TrainMeasures, WassersteinHidesAPermutationAndTheMaximumDoesNot) {
  const Parameters p = some_parameters();
  const ParameterTensor& W = p.tensors[place(p, 0, Weight::W_1)];
  const Weights y = dyadic(p, 2);
  Weights x = y;
  std::reverse(x.begin() + static_cast<std::ptrdiff_t>(W.first), x.begin() + static_cast<std::ptrdiff_t>(W.first + W.size()));
  const auto d = deviations(p, x, y, y, y);
  EXPECT_EQ(d[place(p, 0, Weight::W_1) + 1].wasserstein, 0);
  EXPECT_EQ(d[0].wasserstein, 0);
  EXPECT_GT(d[0].max_abs, 1);
}

TEST(TrainMeasures, ScaledWeightsAreAsFarAsTheFactorSays) {
  const Parameters p = some_parameters();
  const Weights y = dyadic(p, 3);
  Weights x = y;
  for (float& w : x) w *= 1.5f;
  for (const WeightDeviation& d : deviations(p, x, y, y, y)) EXPECT_DOUBLE_EQ(d.rel_l2, 0.5);
}

TEST(TrainMeasures, CosineIsOfTheLastUpdates) {
  const Parameters p = some_parameters();
  const std::size_t t = place(p, 0, Weight::W_V), at = p.tensors[t].first;
  const Weights start = dyadic(p, 4), one = moved(start, at, 0.5f), both = moved(one, at + 1, 0.5f),
                back = moved(start, at, -1);
  const auto cosine = [&](const Weights& x, const Weights& y) {
    return deviations(p, x, y, start, start)[t + 1].update_cosine;
  };
  EXPECT_EQ(cosine(one, one), 1);
  EXPECT_EQ(cosine(one, back), -1);
  EXPECT_DOUBLE_EQ(cosine(one, both), std::sqrt(0.5));
  EXPECT_EQ(cosine(one, moved(start, at + 1, 2)), 0);
  EXPECT_TRUE(std::isnan(cosine(start, one)));
  EXPECT_DOUBLE_EQ(deviations(p, one, both, start, start)[0].step_size, std::sqrt(0.5) / norm(p, both)) << "y's own";
}

TEST(TrainMeasures, DirectionalityTellsOneWayFromAllWays) {
  const Parameters p = some_parameters();
  const std::size_t t = place(p, 0, Weight::W_2), at = p.tensors[t].first;
  const Weights y(p.size);
  DeviationMeter straight(p), turning(p), back_and_forth(p);
  Weights x = y, corner = y, swing = y;
  for (std::size_t step = 1; step <= 16; ++step) {
    x[at + 3] += 0.5f;
    corner[at + step] += 0.5f;  // orthogonal to all before
    swing[at] = step % 2 ? 1.0f : 0.0f;
    straight.follow(x, y);
    turning.follow(corner, y);
    back_and_forth.follow(swing, y);
    EXPECT_EQ(straight.deviations(x, y, y, y)[0].directionality, std::sqrt(static_cast<double>(step)));
    EXPECT_EQ(turning.deviations(corner, y, y, y)[t + 1].directionality, 1);
  }
  EXPECT_EQ(straight.paths()[t], 16 * 0.25);
  EXPECT_EQ(back_and_forth.paths()[t], 16);
  EXPECT_EQ(back_and_forth.deviations(swing, y, y, y)[0].directionality, 0);
}

TEST(TrainMeasures, NumbersThatAreNotFiniteSpoilTheirTensorAndTheWholeAlone) {
  const Parameters p = some_parameters();
  const std::size_t t = place(p, 1, Weight::W_K);
  for (const double bad : {not_a_number, std::numeric_limits<double>::infinity()}) {
    const Weights y = dyadic(p, 5), x = moved(y, p.tensors[t].first + 399, static_cast<float>(bad));
    for (const auto& d : {deviations(p, x, y, y, y), deviations(p, y, x, y, y), deviations(p, x, x, y, y)})
      for (std::size_t i = 0; i < d.size(); ++i)
        for (const double measure : {d[i].max_abs, d[i].wasserstein, d[i].rel_l2, d[i].directionality})
          EXPECT_EQ(std::isnan(measure), i == 0 || i == t + 1) << i;
    EXPECT_FALSE(std::isfinite(profile(p.tensors[t], x, y, 20)[19]));
    EXPECT_EQ(profile(p.tensors[t], x, y, 20)[18], 0);
  }
}

TEST(TrainMeasures, PaddingTakesNoPart) {
  const Parameters p = some_parameters();
  const Weights y = dyadic(p, 6);
  Weights x = y;
  std::vector<bool> padding(p.size, true);
  for (const ParameterTensor& t : p.tensors)
    std::fill_n(padding.begin() + static_cast<std::ptrdiff_t>(t.first), t.size(), false);
  ASSERT_TRUE(std::ranges::count(padding, true) > 0) << "sizes that are no multiple of 16";
  for (std::size_t i = 0; i < p.size; ++i)
    if (padding[i]) x[i] = 1e6f;
  for (const WeightDeviation& d : deviations(p, x, y, y, y))
    EXPECT_EQ(d.max_abs + d.wasserstein + d.rel_l2 + d.directionality, 0);
}

TEST(TrainMeasures, WassersteinIsTheMeanGapOfTheSorted) {
  Dice dice(7);
  for (int round = 0; round < 20; ++round) {
    Weights x(static_cast<std::size_t>(dice.between(1, 9000))), y(x.size());
    for (float& v : x) v = static_cast<float>(std::ldexp(dice.normal(), dice.between(-20, 20)));
    for (float& v : y) v = dice.one_in(4) ? 0.0f : static_cast<float>(dice.normal());
    const double meant = wasserstein(x, y);
    std::sort(x.begin(), x.end());
    std::sort(y.begin(), y.end());
    long double sum = 0;
    for (std::size_t i = 0; i < x.size(); ++i) sum += std::abs(static_cast<long double>(x[i]) - y[i]);
    EXPECT_NEAR(meant, static_cast<double>(sum / x.size()), 1e-13 * meant);
  }
}

TEST(TrainMeasures, ProfileHoldsTheLargestOfItsRows) {
  const ParameterTensor tensor{.name = "W", .rows = 150, .cols = 3, .first = 16};
  const Weights y(500);
  Weights x = y;
  x[16 + 0] = -2;          // row 0
  x[16 + 74 * 3 + 2] = 1;  // row 74
  x[16 + 75 * 3] = 4;
  x[16 + 149 * 3 + 2] = 3;
  x[15] = x[16 + 450] = 9;  // outside the tensor
  EXPECT_THAT(profile(tensor, x, y, 2), ::testing::ElementsAre(2, 4));
  const std::vector<float> all = profile(tensor, x, y, 1000), some = profile(tensor, x, y, profile_height);
  ASSERT_EQ(all.size(), 150u);
  ASSERT_EQ(some.size(), std::size_t{profile_height});
  EXPECT_EQ(all[74], 1);
  EXPECT_EQ(std::ranges::count(all, 0), 146);
  EXPECT_EQ(std::accumulate(some.begin(), some.end(), 0.0f), 10) << "every row belongs to one stretch";
}

/// Columns of length `rows`, orthonormal, [column][row].
std::vector<std::vector<double>> orthonormal(int columns, int rows, Dice& dice) {
  std::vector<std::vector<double>> all;
  while (static_cast<int>(all.size()) < columns) {
    std::vector<double> v(static_cast<std::size_t>(rows));
    for (double& x : v) x = dice.normal();
    for (int twice = 0; twice < 2; ++twice)
      for (const auto& u : all) {
        const double share = std::inner_product(u.begin(), u.end(), v.begin(), 0.0);
        for (std::size_t i = 0; i < v.size(); ++i) v[i] -= share * u[i];
      }
    const double length = std::sqrt(std::inner_product(v.begin(), v.end(), v.begin(), 0.0));
    for (double& x : v) x /= length;
    all.push_back(v);
  }
  return all;
}

/// query_norm of head 1 of layer 0, whose W^Q has these singular values; head 0 is far larger.
double norm_of(const std::vector<double>& singular, Dice& dice) {
  const int d = static_cast<int>(singular.size());
  const ModelShape two{.layers = 1, .width = 2 * d, .heads = 2, .context = 8};
  const Parameters p = parameters(two, 5);
  const ParameterTensor& W = p.tensors[place(p, 0, Weight::W_Q)];
  Weights x(p.size, 1e3f);
  const auto u = orthonormal(d, 2 * d, dice), v = orthonormal(d, d, dice);
  for (std::size_t r = 0; r < static_cast<std::size_t>(2 * d); ++r)
    for (std::size_t c = 0; c < singular.size(); ++c) {
      double sum = 0;
      for (std::size_t i = 0; i < singular.size(); ++i) sum += u[i][r] * singular[i] * v[i][c];
      x[W.first + r * static_cast<std::size_t>(W.cols) + singular.size() + c] = static_cast<float>(sum);
    }
  return query_norm(p, two, x, 0, 1);
}

TEST(TrainMeasures, QueryNormIsTheLargestSingularValue) {
  Dice dice(8);
  constexpr double rounding = 3e-7;  // the weights are fp32
  EXPECT_NEAR(norm_of({3, 2, 1, 0.5}, dice), 3, 3 * rounding);
  EXPECT_NEAR(norm_of({3, 3, 1, 0.5}, dice), 3, 3 * rounding) << "a double one";
  EXPECT_NEAR(norm_of({3, 2.9999, 2.9998, 0}, dice), 3, 3 * rounding) << "nearly equal ones";
  EXPECT_NEAR(norm_of({7, 0, 0}, dice), 7, 7 * rounding);
  std::vector<double> many(128);
  for (std::size_t i = 0; i < many.size(); ++i) many[i] = 1e-12 * (1 + static_cast<double>(i) / 128);
  EXPECT_NEAR(norm_of(many, dice), many.back(), many.back() * rounding);
}

TEST(TrainMeasures, QueryNormOfEdges) {
  const Parameters p = some_parameters();
  const ParameterTensor& W = p.tensors[place(p, 1, Weight::W_Q)];
  Weights x(p.size);
  EXPECT_EQ(query_norm(p, shape, x, 1, 1), 0);
  x[W.first + 3 * 20 + 10 + 7] = -4;  // the only entry, at column 7 of head 1
  EXPECT_DOUBLE_EQ(query_norm(p, shape, x, 1, 1), 4);
  EXPECT_EQ(query_norm(p, shape, x, 1, 0), 0);
  x[W.first + 10] = std::numeric_limits<float>::infinity();
  EXPECT_TRUE(std::isnan(query_norm(p, shape, x, 1, 1)));
  std::fill(x.begin(), x.end(), 1.0f);
  EXPECT_DOUBLE_EQ(query_norm(p, shape, x, 0, 0), std::sqrt(200.0)) << "all ones";
}

/// Long enough for several chunks.
constexpr ModelShape wide{.layers = 1, .width = 96, .heads = 2, .context = 12};

std::vector<WeightDeviation> random_walk(int threads, int saved_at) {
  const Parameters p = parameters(wide, 50);
  Dice dice(9);
  Weights x(p.size), y(p.size), x_before, y_before;
  DeviationMeter meter(p);
  std::vector<WeightDeviation> last;
  on_threads(threads, [&] {
    for (int step = 0; step < 4; ++step) {
      x_before = x;
      y_before = y;
      for (Weights* w : {&x, &y})
        for (float& v : *w) v += static_cast<float>(dice.normal());
      if (step == saved_at) {
        DeviationMeter other(p);
        other.restore(meter.paths(), x_before, y_before);
        meter = other;
      }
      meter.follow(x, y);
    }
    last = meter.deviations(x, y, x_before, y_before);
  });
  return last;
}

TEST(TrainMeasures, SameBitsFromOneThreadAndTwoAndAfterRestoring) {
  const auto one = random_walk(1, -1);
  EXPECT_GT(one[0].directionality, 0);
  EXPECT_EQ(one, random_walk(2, -1));
  for (int step = 0; step < 4; ++step) EXPECT_EQ(one, random_walk(2, step));
}

TEST(TrainMeasures, RestoringRefusesPathsOfAnotherModel) {
  const Parameters p = some_parameters();
  const Weights x(p.size);
  EXPECT_THROW(DeviationMeter(p).restore({1, 2, 3}, x, x), std::invalid_argument);
}

}  // namespace
}  // namespace attoscope
