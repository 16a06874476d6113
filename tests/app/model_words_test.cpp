// The tokens of a model's report.
#include "app/model/model_words.h"

#include <gtest/gtest.h>

#include <cmath>
#include <vector>

#include "tests/support/matchers.h"

namespace attoscope {
namespace {

using namespace app;
using namespace testing;  // attoscope::testing

TEST(ModelWords, TokensWithoutANumberMoveMost) {
  const LanguageModel model = random_model(3);
  ModelQuestion q{.model = &model, .tokens = {0, 1, 2, 3, 4}};
  ModelAnswer x;
  x.dlogp_a = {0.5, NAN, -2, NAN};
  for (RunTokens& run : x.tokens) run.logp = {-1, -1, -1, -1};
  const std::vector<MovedToken> moved = tokens_that_move_most(q, x, "no checkpoint");
  std::vector<int> positions;
  for (const MovedToken& m : moved) positions.push_back(m.position);
  EXPECT_EQ(positions, (std::vector{2, 4, 3, 1}));
  EXPECT_THAT(model_report(q, x, "a", moved), HasSubstr("2 of 4 tokens have no number under a"));
}

TEST(ModelWords, ANaNHasNoSign) {
  const LanguageModel model = random_model(3);
  const ModelQuestion q{.model = &model, .tokens = {0, 1}};
  const double odd = std::copysign(NAN, -1);
  ModelAnswer x;
  x.a.nll = odd;
  x.layers = {{odd, odd}};
  x.attribution = {{0, -1, "", odd}};
  x.dlogp_a = {odd};
  for (RunTokens& run : x.tokens) run.logp = {odd};
  const std::string report = model_report(q, x, "a", tokens_that_move_most(q, x, "no checkpoint"));
  EXPECT_THAT(report, HasSubstr("nan"));
  EXPECT_THAT(report, Not(HasSubstr("-nan")));
}

}  // namespace
}  // namespace attoscope
