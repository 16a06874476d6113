/// Progress of computing a whole model, and sentences on its architecture.
#include "kernels/model/model_answer.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "kernels/experiment/presets.h"
#include "kernels/experiment/stop_sign.h"
#include "kernels/model/logit_measures.h"
#include "tests/support/matchers.h"

namespace attoscope {
namespace {

/// Progress must not end early or stall: either makes the shown remaining time wrong.
TEST(ModelAnswer, ReportsEveryLayerAndAllLogits) {
  const LanguageModel model = random_model(3);
  ModelQuestion q{.model = &model, .tokens = random_tokens(1, 40, model.architecture.vocabulary)};
  q.a.precision = policy("hw").precision;
  q.b.algorithm = Algorithm::three_pass;
  q.b.precision = policy("base_eager").precision;
  const std::size_t layers = model.layers.size(), runs = 5;
  for (const ModelPart part : {ModelPart::none, ModelPart::layer, ModelPart::step}) {
    q.attribute = part;
    std::set<double> shares;
    answer_model(q, {.progress = [&](double share) { shares.insert(share); }, .threads = 1});
    shares.erase(0);
    const auto parts = static_cast<std::size_t>(part_count(q));
    const std::size_t of_parts = part == ModelPart::layer ? layers * (layers + 1) / 2 : parts * layers;
    EXPECT_EQ(shares.size(), (runs * layers + of_parts) + (runs + parts)) << "attributed: " << static_cast<int>(part);
    EXPECT_NEAR(*shares.rbegin(), 1, 1e-9) << "attributed: " << static_cast<int>(part);
  }
}

/// A run whose log-probabilities are listed.
struct ListedRun final : LogitSource {
  explicit ListedRun(std::vector<double> all) : x(std::move(all)) {}
  std::vector<double> logits(int first, int count) override { return {x.begin() + first, x.begin() + first + count}; }
  LogitSum sum(const LogitLanes&, const double*, int) const override { return {}; }
  double log_probability(const LogitSum&, double logit) const override { return logit; }
  std::vector<double> x;
};

TEST(ModelAnswer, ATokenWithoutANumberCountsAsInfinitelyFar) {
  ListedRun exact({0, 0, 0, 0, 0, 0});
  std::vector<double> moved{NAN, -3, 1, NAN, 2};
  for (int i = 0; i < 5; ++i) {
    std::rotate(moved.begin(), moved.begin() + 1, moved.end());
    std::vector<double> of_x = moved;
    of_x.push_back(0);
    ListedRun x(of_x);
    const RunMeasures m = compared_logits({&x, &exact}, {{0, 1}}, {0, 0, 0, 0, 0, 0}, 1, StopSign()).measures[0];
    EXPECT_EQ(m.dlogp_median_abs, 3);
    EXPECT_EQ(m.dlogp_max_abs, HUGE_VAL);
    EXPECT_TRUE(std::isnan(m.dlogp_mean_abs));
  }
}

TEST(ModelAnswer, RefusesAnExactModelThatIsNotFinite) {
  const auto told = [](auto change) {
    LanguageModel model = random_model(3);
    change(model);
    const ModelQuestion q{.model = &model, .tokens = {1, 2, 3}, .yardsticks = false};
    return testing::message_of<std::runtime_error>([&] { answer_model(q, {.threads = 1}); });
  };
  const std::string expected = ", expected finite numbers, from which a and b differ";
  EXPECT_EQ(told([](LanguageModel&) {}), "");
  EXPECT_EQ(told([](LanguageModel& m) { m.embedding.values[static_cast<std::size_t>(2 * m.embedding.cols)] = NAN; }),
            "the exact model has NaN in its embedding" + expected);
  EXPECT_EQ(told([](LanguageModel& m) { m.layers[1][static_cast<std::size_t>(LayerTensor::up)].values[5] = NAN; }),
            "the exact model has NaN after layer 1" + expected);
  EXPECT_EQ(told([](LanguageModel& m) { m.norm.values[0] = NAN; }), "the exact model has NaN in its logits" + expected);
}

std::string refusal(void (*change)(Architecture&)) {
  Architecture a = random_model(1).architecture;
  change(a);
  return testing::message_of<std::invalid_argument>([&] { validate(a); });
}

TEST(ModelArchitecture, RefusesASmallNumberWithAllItsDigits) {
  EXPECT_EQ(refusal([](Architecture&) {}), "");
  EXPECT_EQ(refusal([](Architecture& a) { a.epsilon = -1e-8; }), "has an epsilon of -1e-08, expected 0 to 1");
  EXPECT_EQ(refusal([](Architecture& a) { a.rope.theta = 2e-9; }),
            "has a rope_theta of 2e-09, expected more than 1 and less than 1e30");
}

TEST(ModelArchitecture, RefusesAPowerOfThetaThatDividesBy0) {
  EXPECT_EQ(refusal([](Architecture& a) { a.head_dim = 2; }), "");
  EXPECT_EQ(refusal([](Architecture& a) { a.head_dim = 4, a.rope.scaling = RopeScaling::dynamic; }), "");
  EXPECT_EQ(refusal([](Architecture& a) { a.head_dim = 2, a.rope.scaling = RopeScaling::dynamic; }),
            "has a head of 2 columns, expected more for a rope_type of dynamic, which divides by the columns less 2");
}

}  // namespace
}  // namespace attoscope
