// Claims of the texts: every sentence that compares two quantities has an experiment that shows it, at seeds from a hash.
#include "tests/app/claims.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>

#include "app/explore/lessons.h"
#include "app/files/paths.h"
#include "kernels/compute.h"
#include "kernels/experiment/presets.h"
#include "tests/reference/plain.h"
#include "tests/support/matchers.h"
#include "tests/support/support.h"
#include "tests/support/temporary_directory.h"

namespace attoscope {
namespace {

using namespace testing;  // attoscope::testing

/// Rows of Q that a claim computes: rows are independent, so these suffice for everything but the largest error.
constexpr int looked_at = 128;

bool needs_all_rows(std::string_view target) {
  return target.find("max_abs") != std::string_view::npos || target.find("bytes") != std::string_view::npos ||
         target.starts_with("train.") || target.starts_with("sum.");
}

/// The value of a live number's target at a seed; cached.
double number_at(const std::string& target, std::uint64_t seed, ComputeCache& cache) {
  static std::map<std::pair<std::string, std::uint64_t>, double> known;
  const auto [at, is_new] = known.try_emplace({target, seed});
  if (!is_new) return at->second;
  LessonQuestion q = parse_live(target);
  q.experiment.problem.seed = seed;
  if (!needs_all_rows(target) && q.experiment.problem.n > looked_at) q.experiment.problem.rows = looked_at;
  const LessonAnswer a = answer(q, {.cache = &cache});
  EXPECT_THAT(a.problem, IsEmpty()) << target;
  return at->second = a.number();
}

double mean_of(const std::vector<double>& x) {
  return std::accumulate(x.begin(), x.end(), 0.0) / static_cast<double>(x.size());
}

/// `of`, or `of` / `over`, at every seed of a claim; only the mean if the claim is about the mean.
std::vector<double> claimed_numbers(const Claim& c, const std::string& of, const std::string& over) {
  ComputeCache cache;
  std::vector<double> numbers;
  for (int i = 0; i < c.seeds; ++i) {
    const std::uint64_t seed = first_seed(c) + static_cast<unsigned>(i);
    const double number = number_at(of, seed, cache);
    numbers.push_back(over.empty() ? number : number / number_at(over, seed, cache));
  }
  if (!c.mean) return numbers;
  return {mean_of(numbers)};
}

/// The fault of one experiment of a claim, or "".
std::string fault_of(const Claim& c, const std::string& of, const std::string& over, double least, double most) {
  for (const double x : claimed_numbers(c, of, over))
    if (!(x >= least && x <= most))
      return c.in + ": '" + c.says + "': " + of + (over.empty() ? "" : " over " + over) + " is " + std::to_string(x) +
             ", expected " + std::to_string(least) + " to " + std::to_string(most);
  return "";
}

/// The fault of a claim, or "".
std::string fault_of(const Claim& c) {
  if (!c.controls.empty()) return "";  // its own test checks it
  const std::string fault = fault_of(c, c.of, c.over, c.at_least, c.at_most);
  if (!fault.empty() || c.without.empty()) return fault;
  return fault_of(c, c.without, c.without_over, c.without_at_least, c.without_at_most);
}

bool has(const std::string& text, const std::string& words) { return text.find(words) != std::string::npos; }

TEST(Claims, StandWhereTheyAreSaid) {
  std::map<std::string, std::string> texts;
  for (const Place& p : places()) texts[p.name] = p.text();
  for (const Place& p : places_of_reasons()) texts.try_emplace(p.name, p.text());
  for (const Claim& c : shipped_claims().claims) EXPECT_TRUE(has(texts[c.in], c.says)) << c.in << ": " << c.says;
  for (const Exception& e : shipped_claims().exceptions) EXPECT_TRUE(has(texts[e.in], e.says)) << e.in << ": " << e.says;
}

/// Sentences of a place that compare two quantities and are neither a claim nor an exception.
std::vector<std::string> unclaimed(const Place& place, const Claims& claims) {
  std::vector<std::string> found;
  for (const std::string& sentence : place.sentences) {
    const auto covers = [&](const auto& entry) { return entry.in == place.name && has(sentence, entry.says); };
    if (compares(sentence) && std::ranges::none_of(claims.claims, covers) && std::ranges::none_of(claims.exceptions, covers))
      found.push_back(sentence);
  }
  return found;
}

TEST(Claims, EveryComparisonHasOneOrAReason) {
  for (const Place& place : places()) EXPECT_THAT(unclaimed(place, shipped_claims()), IsEmpty()) << place.name;
}

TEST(Claims, NoExceptionIsLeftOver) {
  std::map<std::string, std::vector<std::string>> sentences;
  for (const Place& p : places()) sentences[p.name] = p.sentences;
  for (const Exception& e : shipped_claims().exceptions)
    EXPECT_TRUE(std::ranges::any_of(sentences[e.in], [&](const std::string& s) { return has(s, e.says) && compares(s); }))
        << e.in << ": " << e.says << " compares nothing";
}

TEST(Claims, TakeTwentySeedsWhereThereAreSeeds) {
  for (const Claim& c : shipped_claims().claims)
    EXPECT_TRUE(c.seeds >= 20 || has(c.of, "bytes") || has(c.of, "nominal_rescales") || has(c.of, "input=example") ||
                has(c.of, "input=presets/") || has(c.of, "input=constant"))
        << c.in << ": " << c.says << ": only traffic, and a file of tensors, are the same at every seed";
}

TEST(Claims, OfAComparisonWithoutOneAreMissed) {
  const Place place{"README.md", sentences_of("Flash has 2 times the error. The sky is blue.\n\n- It is [worse](x).\n")};
  EXPECT_THAT(place.sentences, ElementsAre("Flash has 2 times the error.", "The sky is blue.", "- It is worse."));
  EXPECT_THAT(unclaimed(place, {}), ElementsAre("Flash has 2 times the error.", "- It is worse."));
  EXPECT_TRUE(compares("It costs as much as the store."));
  const Claims one{{{"README.md", "2 times the error", "a.rms", "", 0, 1}}, {{"README.md", "It is worse", "taste"}}};
  EXPECT_THAT(unclaimed(place, one), IsEmpty());
}

TEST(Claims, ThatAreFalseFail) {
  const Claim wrong{"README.md", "x", "a.mean_abs?n=64", "b.mean_abs?n=64", 1.5, 9, 3};
  EXPECT_THAT(fault_of(wrong), HasSubstr("expected 1.5"));
  Claim right = wrong;
  right.at_least = 0.1;
  EXPECT_EQ(fault_of(right), "");
}

TEST(Claims, OfACauseFailWhereItsControlDoesNotHold) {
  Claim cause{"README.md", "x", "a.mean_abs?n=64", "b.mean_abs?n=64", 0.1, 9, 3};
  cause.without = "a.mean_abs?n=64&policy=exact";
  cause.without_over = "b.mean_abs?n=64";
  cause.without_at_most = 1e-9;
  EXPECT_THAT(fault_of(cause), HasSubstr("policy=exact over b.mean_abs?n=64 is"));
  cause.without_at_most = 0.1;
  EXPECT_EQ(fault_of(cause), "");
}

TEST(Claims, ThatCannotBeReadAreNamed) {
  const auto text = [](const std::string& entry) {
    return R"({"schema":"attoscope.claims/1","claims":[)" + entry + R"(],"exceptions":[]})";
  };
  EXPECT_THAT(sentence_of([&] { parse_claims(text(R"({"in":"x"})")); }), HasSubstr("has no 'says'"));
  EXPECT_THAT(sentence_of([&] { parse_claims(text(R"({"in":"x","says":"y","of":"z"})")); }), HasSubstr("claims nothing"));
  EXPECT_THAT(sentence_of([&] { parse_claims(text(R"({"in":"x","says":"y","of":"z","at_most":1,"atleast":1})")); }),
              HasSubstr("unknown key 'atleast'"));
}

/// Mean errors over some rows with rescales and without. The control has the same keys, order and tiles, but uses each row's
/// final max from the start.
struct RescalingControl {
  double with = 0, without = 0;
  bool moves = false;  ///< a max moved in the control: an error of the control
};

double mean_error(const std::vector<plain::Row>& rows, const Result& r) {
  double sum = 0;
  for (std::size_t i = 0; i < rows.size(); ++i)
    for (int c = 0; c < r.experiment.problem.d; ++c)
      sum += std::abs(rows[i].output[static_cast<std::size_t>(c)] - (*r.golden)(static_cast<int>(i), c));
  return sum / static_cast<double>(rows.size()) / r.experiment.problem.d;
}

RescalingControl rescaling_control(InputKind order, int n, int block_k, std::uint64_t seed) {
  constexpr int some_rows = 24;
  Experiment e = lesson_experiment();
  e.problem.n = n;
  e.problem.seed = seed;
  e.problem.input.kind = order;
  e.problem.rows = some_rows;
  e.a.precision = policy("tile").precision;
  e.a.block_k = block_k;
  const Result r = compute(e);
  const std::vector<plain::Row> control = plain::attend_without_rescales(e, e.a, *r.inputs, r.rows);
  RescalingControl found{r.a_error.mean_abs, mean_error(control, r), false};
  for (const plain::Row& row : control)
    for (const plain::Tile& tile : row.tiles) found.moves |= tile.moved || tile.alpha != 1 || tile.m != row.tiles.back().m;
  return found;
}

/// For each seed: error with rescales / error without, and error of descending / error of ascending keys.
struct RescalingShares {
  std::map<InputKind, std::vector<double>> with_over_without;
  std::vector<double> spread, spread_without;
};

RescalingShares rescaling_shares(int n, int block_k) {
  constexpr std::uint64_t first = 331907;
  RescalingShares shares;
  for (std::uint64_t seed = first; seed < first + 20; ++seed) {
    std::map<InputKind, RescalingControl> of;
    for (const InputKind order : {InputKind::ascending, InputKind::shuffled, InputKind::descending}) {
      of[order] = rescaling_control(order, n, block_k, seed);
      EXPECT_FALSE(of[order].moves);
      shares.with_over_without[order].push_back(of[order].with / of[order].without);
    }
    const RescalingControl &up = of[InputKind::ascending], &down = of[InputKind::descending];
    shares.spread.push_back(down.with / up.with);
    shares.spread_without.push_back(down.without / up.without);
  }
  return shares;
}

TEST(RescalingControls, WithTheTrueMaxKnownFromTheStart) {
  const RescalingShares one_key = rescaling_shares(256, 1);
  EXPECT_NEAR(mean_of(one_key.with_over_without.at(InputKind::shuffled)), 1, 0.1) << "shuffled keys: rescaling adds no error";
  EXPECT_LT(mean_of(one_key.with_over_without.at(InputKind::ascending)), 0.9) << "rescaling shrinks older errors";
  EXPECT_THAT(one_key.with_over_without.at(InputKind::ascending), Each(AllOf(Gt(0.5), Lt(1.1))));
  EXPECT_THAT(one_key.with_over_without.at(InputKind::descending), Each(AllOf(Gt(0.99), Lt(1.01))));
  EXPECT_THAT(one_key.spread_without, Each(Gt(2.5))) << "without rescales the error still depends on the order";
  EXPECT_THAT(one_key.spread, Each(Gt(3.5)));
}

TEST(RescalingControls, WithTheTrueMaxKnownFromTheStartInTheTilesOfThePresets) {
  const RescalingShares tiles = rescaling_shares(1024, 64);
  for (const InputKind order : {InputKind::ascending, InputKind::shuffled})
    EXPECT_NEAR(mean_of(tiles.with_over_without.at(order)), 1, 0.1);
  EXPECT_THAT(tiles.with_over_without.at(InputKind::descending), Each(AllOf(Gt(0.99), Lt(1.01))));
  EXPECT_THAT(tiles.spread_without, Each(Gt(1.15)));
}

/// Result with one key per tile and the state in bf16. Without rescales every exponential is exp(s - first score of the row),
/// a constant known from the start: the same operations in the same order, without the multiplications by alpha.
Result one_key_a_tile(InputKind order, std::uint64_t seed, bool rescales) {
  Experiment e = lesson_experiment();
  e.problem.seed = seed;
  e.problem.input.kind = order;
  e.a.precision = policy("tile").precision;
  e.a.block_k = e.b.block_k = 1;
  if (!rescales) e.a.algorithm = Algorithm::flash4, e.a.tau = max_tau;
  return compute(e);
}

TEST(RescalingControls, WithoutRescalesTheOrderStillDecides) {
  constexpr std::uint64_t first = 740213;  // arbitrary: the claims hold at all seeds
  for (std::uint64_t seed = first; seed < first + 20; ++seed) {
    const Result moving = one_key_a_tile(InputKind::ascending, seed, true),
                 still = one_key_a_tile(InputKind::ascending, seed, false),
                 descending = one_key_a_tile(InputKind::descending, seed, false);
    EXPECT_GT(moving.rescales.effective_mean, 150);
    EXPECT_EQ(still.rescales.effective_mean, 0);
    EXPECT_EQ(descending.rescales.effective_mean, 0);
    EXPECT_GT(still.a_error.mean_abs, 0.7 * moving.a_error.mean_abs);
    EXPECT_LT(still.a_error.mean_abs, 2 * moving.a_error.mean_abs);
    EXPECT_GT(descending.a_error.mean_abs, 2.5 * still.a_error.mean_abs) << "the difference is adding small terms first";
  }
}

TEST(Stripes, AreInTheColumnsOfAKernelThatRoundsEveryOperation) {
  const auto farthest = [](const char* name) {
    Experiment e = default_experiment();
    e.a.precision = policy(name).precision;
    const Result r = compute(e);
    double most = 0;
    for (int c = 0; c < e.problem.d; ++c) {
      double sum = 0, squares = 0;
      for (int i = 0; i < e.problem.n; ++i) {
        const double error = r.a(i, c) - (*r.golden)(i, c);
        sum += error, squares += error * error;
      }
      const double n = e.problem.n, deviation = std::sqrt(squares / n);
      most = std::max(most, std::abs(sum / n) / (deviation / std::sqrt(n)));
    }
    return most;
  };
  EXPECT_GT(farthest("all_direct"), 10);
  EXPECT_LT(farthest("hw"), 4);
}

/// The claims of a text, one test for each text.
class ClaimsOf : public ::testing::TestWithParam<const char*> {};

TEST_P(ClaimsOf, ThisTextHold) {
  int looked = 0;
  for (const Claim& c : shipped_claims().claims) {
    if (!c.in.starts_with(GetParam())) continue;
    ++looked;
    EXPECT_EQ(fault_of(c), "");
  }
  EXPECT_GT(looked, 0);
}

INSTANTIATE_TEST_SUITE_P(Texts, ClaimsOf,
                         ::testing::Values("lessons/01", "lessons/02", "lessons/03", "lessons/04", "lessons/05", "lessons/06",
                                           "lessons/07", "lessons/08", "lessons/09", "lessons/10", "lessons/11", "lessons/12",
                                           "lessons/13", "lessons/14", "lessons/16", "lessons/17", "presets/", "README.md",
                                           "kernels/", "assets/"),
                         [](const ::testing::TestParamInfo<const char*>& text) {
                           std::string name = text.param;
                           std::erase_if(name, [](char c) { return c == '/' || c == '.'; });
                           return name;
                         });

}  // namespace
}  // namespace attoscope
