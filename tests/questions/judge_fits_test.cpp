// Mistakes with a fitted number: a scale, a wrong l, keys that count a wrong number of times.

#include <algorithm>
#include <cmath>
#include <functional>
#include <string>
#include <vector>

#include "kernels/judge/judge.h"
#include "tests/questions/planted_kernels.h"
#include "tests/questions/planted_loop.h"
#include "tests/support/matchers.h"

namespace attoscope {
namespace {

using namespace planted;
using namespace testing;  // attoscope::testing

/// Mistakes of a kernel in a row's weights exp(S - m) and in their sum.
struct Mistake {
  std::function<double(int i, int j, bool sees)> count = [](int, int, bool sees) { return sees ? 1.0 : 0.0; };
  std::function<double(int i, double l, double m)> sum = [](int, double l, double) { return l; };
  double scale = 1, bound = infinity;  ///< of the scores
  bool rounds_products = false;        ///< q.k is rounded to f before it is scaled
};

/// A kernel that rounds P to f before P.V, but not before the row sum.
Values kernel(const Problem& p, const Format& f, const Mistake& mistake) {
  Loop x({.p = p, .heads = {*p.input.tensors}, .head = 0, .f = f});
  const auto count = [&](int i, int j) { return mistake.count(i, j, x.right_sees(i, j)); };
  x.tile = x.t.n_k;
  x.S = [&](int i, int j) {
    const double s = mistake.rounds_products ? round(f, x.dot(i, j)) * scale_of(p) : x.right_S(i, j);
    return std::clamp(mistake.scale * s, -mistake.bound, mistake.bound);
  };
  x.sees = [&](int i, int j) { return count(i, j) > 0; };
  x.in_O = x.in_l = [&](int i, int j, double e) { return count(i, j) * e; };
  x.sum = mistake.sum;
  return x.run();
}

std::optional<Slip> found(const Problem& p, const Format& f, const Mistake& mistake) {
  const JudgedOutput output = judged_output(p, kernel(p, f, mistake), f);
  const Judged judged = judge(output);
  EXPECT_FALSE(judged.head.rounded);
  return slips_of(output, judged).found;
}

class JudgeFits : public ::testing::TestWithParam<Format> {
 protected:
  void expect(const Problem& p, const Mistake& mistake, Slip::Kind kind, const std::string& words,
              const std::vector<std::pair<int, int>>& keys = {}) const {
    const std::optional<Slip> slip = found(p, GetParam(), mistake);
    ASSERT_TRUE(slip) << words;
    EXPECT_EQ(name(slip->kind), name(kind)) << slip->text;
    EXPECT_THAT(slip->text, HasSubstr(words));
    std::vector<std::pair<int, int>> wrong;
    for (const Keys& run : slip->keys) wrong.emplace_back(run.first, run.end);
    EXPECT_EQ(wrong, keys) << slip->text;
  }
};

TEST_P(JudgeFits, AScale) {
  const Problem p = problem(200, 80, causal);
  expect(p, {.scale = std::sqrt(80.0 / 96)}, Slip::Kind::number, "0.1021 = 1/sqrt(96) instead of 0.1118");
  expect(p, {.scale = 1.07}, Slip::Kind::number, "scores were multiplied by 0.11");
}

/// The scale of half the head dimension is 2 % off the scale times log2 e, a usual slip that explains most of the error.
TEST_P(JudgeFits, AScaleNearAUsualOne) {
  expect(problem(96, 32, causal), {.scale = std::sqrt(2.0)}, Slip::Kind::number, "0.25 = 1/sqrt(16) instead of 0.1768");
}

/// The fitted kernel's rows without keys count as 0 in what it leaves of the error.
TEST_P(JudgeFits, AScaleBesideQueriesWithoutKeys) {
  const Problem p = problem({60, 40, 32, 32}, causal, 1);
  Values o = kernel(p, GetParam(), {.scale = 1.2});
  for (double& x : o)
    if (std::isnan(x)) x = 0;
  const JudgedOutput output = judged_output(p, o, GetParam());
  const SlipSearch search = slips_of(output, judge(output));
  ASSERT_TRUE(search.found && !search.ranked.empty());
  EXPECT_THAT(search.found->text, HasSubstr("scores were multiplied by"));
  EXPECT_LT(search.ranked.front().left, 0.5);
}

TEST_P(JudgeFits, ASmallBoundOfTheScores) {
  expect(problem(200, 64), {.bound = 0.05}, Slip::Kind::number, "scores are clamped to both sides, at 0.0");
}

TEST_P(JudgeFits, ASumThatIsOff) {
  const Problem p = problem(200, 64, {});
  const auto more = [](int, double l, double m) { return l + 20.5 * std::exp(-m); };
  expect(p, {.sum = more}, Slip::Kind::row_factor, "l is too large by 20.");
  expect(p, {.sum = [](int, double l, double) { return 4 * l; }}, Slip::Kind::row_factor, "the output is 0.25 times golden");
  expect(p, {.sum = [](int i, double l, double) { return i % 16 < 8 ? l * (1.5 + 0.1 * (i % 5)) : l; }}, Slip::Kind::row_factor,
         "each wrong row is golden times a number");
}

TEST_P(JudgeFits, KeysThatCountOtherwise) {
  const auto runs = [](int first, int end, double count) -> Mistake {
    return {.count = [=](int, int j, bool sees) { return !sees ? 0.0 : j >= first && j < end ? count : 1.0; }};
  };
  const Problem p = problem(250, 64, {});
  expect(p, runs(128, 192, 0), Slip::Kind::key_counts, "keys 128 to 191 count 0 times", {{128, 192}});
  expect(p, runs(83, 101, 2), Slip::Kind::key_counts, "keys 83 to 100 count 2 times", {{83, 101}});
  expect(p, runs(208, 240, 0.24), Slip::Kind::key_counts, "keys 208 to 239 count 0.2", {{208, 240}});
  const Problem narrow = problem(250, 64, window(40));
  expect(narrow, {.count = [](int, int j, bool sees) { return sees || j < 32 ? 1.0 : 0.0; }}, Slip::Kind::key_counts,
         "hidden keys 0 to 31 count 1 time", {{0, 32}});
  for (const auto& [period, words] : {std::pair{8, "every 8th key from key 7 on"}, {32, "every 32nd key from key 31 on"}}) {
    std::vector<std::pair<int, int>> every;
    for (int j = period - 1; j < 250; j += period) every.emplace_back(j, j + 1);
    expect(p, {.count = [period = period](int, int j, bool) { return j % period == period - 1 ? 0.0 : 1.0; }},
           Slip::Kind::key_counts, words, every);
  }
}

/// One row of 64 numbers determines counts of runs, but not one of each of its 300 keys: those would explain any output.
TEST_P(JudgeFits, CountsInASingleRow) {
  const Problem p = problem(AttentionShape{1, 300, 64, 64});
  expect(p, {.count = [](int, int j, bool) { return j < 224 ? 1.0 : 0.0; }}, Slip::Kind::key_counts,
         "keys 224 to 299 count 0 times", {{224, 300}});
  Dice dice(3);
  Values o;
  for (int c = 0; c < 64; ++c) o.push_back(0.1 * dice.normal());
  const JudgedOutput output = judged_output(p, std::move(o), GetParam());
  const std::optional<Slip> slip = slips_of(output, judge(output)).found;
  EXPECT_FALSE(slip) << slip->text;
}

TEST_P(JudgeFits, AWindowWhereTheMaskIsCausal) {
  expect(problem(96, 64, causal), {.count = [](int i, int j, bool sees) { return sees && j > i - 32 ? 1.0 : 0.0; }},
         Slip::Kind::mask, "a window of 32 keys where the mask is causal");
}

/// As in PyTorch's kernel for CPUs with a generic BLAS. Row 0 keeps its only key.
TEST_P(JudgeFits, AMistakeBesideRoundedProducts) {
  const Mistake hides_diagonal{.count = [](int i, int j, bool) { return j < std::max(i, 1) ? 1.0 : 0.0; },
                               .rounds_products = true};
  const Problem p = problem_in(GetParam(), AttentionShape::square(96, 64), causal, 1, 2);
  const JudgedOutput output = judged_output(p, kernel(p, GetParam(), hides_diagonal), GetParam());
  const Judged judged = judge(output);
  ASSERT_FALSE(judged.head.rounded);
  KnownName known;
  const std::optional<Slip> slip = slips_of(output, judged, {}, {}, known).found;
  ASSERT_TRUE(slip);
  EXPECT_THAT(slip->text, HasSubstr("it hides the diagonal"));
  EXPECT_TRUE(known.kernel.products);
  const std::optional<Slip> again = confirmed_slip(output, judged, {}, {}, known);
  ASSERT_TRUE(again);
  EXPECT_EQ(again->text, slip->text);
}

/// Rows of another head between right rows are no run.
TEST_P(JudgeFits, EveryOtherRowOfAnotherHead) {
  const Problem p = problem(64, 16), other = problem(64, 16, {}, 2);
  Values o = kernel(p, GetParam(), {});
  const Values from = kernel(other, GetParam(), {});
  for (std::size_t i = 0; i < o.size(); ++i)
    if (i / 16 % 2 == 0) o[i] = from[i];
  const OtherHeads heads{.count = 2, .read = [&](int head) { return (head == 0 ? p : other).input.tensors; }};
  const JudgedOutput output = judged_output(p, std::move(o), GetParam());
  const std::optional<Slip> slip = slips_of(output, judge(output), heads).found;
  EXPECT_THAT(slip ? slip->text : "", Not(HasSubstr("rows 0 to 62")));
}

/// A single element explains no output with another row that is off as a whole.
TEST_P(JudgeFits, ASingleElement) {
  const Problem p = problem(64, 16);
  Values o = kernel(p, GetParam(), {});
  o[7 * 16 + 5] += 1;
  const JudgedOutput output = judged_output(p, std::move(o), GetParam());
  Judged judged = judge(output);
  const auto text = [&] {
    const std::optional<Slip> slip = slips_of(output, judged).found;
    return slip ? slip->text : "";
  };
  EXPECT_EQ(text(), "a single element, row 7, column 5, is off");
  judged.tolerance.row[3] = 0;
  judged.head = held_to(judged.tolerance, *output.values, {});
  ASSERT_THAT(judged.head.wrong_rows, ::testing::ElementsAre(3, 7));
  EXPECT_THAT(text(), Not(HasSubstr("a single element")));
}

/// A mask tensor has no terms for keys of other heads and sequences: fits of those do not read beyond it, and name the mistake.
TEST(JudgeFitsOfMasks, EndWithTheMaskTensor) {
  constexpr int n = 64, d = 16, more = 7;
  Problem p = problem(n, d);
  Tensors t = *p.input.tensors, other = drawn(n, d, 2), all = t;
  Values terms(std::size_t{n} * n);
  for (int i = 0; i < n; ++i)
    for (int j = i % 5; j < n; j += 5) terms[at(i * n + j)] = -infinity;
  t.mask = std::make_shared<const MaskTensor>(mask_of_terms(n, n, std::move(terms)));
  p.input = given(t);
  all.n_k = n + more;
  all.k.insert(all.k.end(), other.k.begin(), other.k.begin() + more * d);
  all.v.insert(all.v.end(), other.v.begin(), other.v.begin() + more * d);
  const Seen x{all, p};
  const Values o = softmax(x, [&](int i, int j) { return j < n && !x.sees(i, j) ? -infinity : x.S(i, j); });
  const auto packed = std::make_shared<StoredKeys>();
  packed->all = std::make_shared<const Tensors>(all), packed->own = numbers(n);
  packed->bounds = {{"a sequence that is too long", {{.first = 0, .end = n, .queries = n, .keys = numbers(n + more)}}}};
  const OtherHeads heads{.count = 2,
                         .read = [&](int head) { return std::make_shared<const Tensors>(head == 0 ? t : other); },
                         .keys = [&](int) { return packed; }};
  expect_slip(said_of(p, o, bf16, heads), Slip::Kind::place, "the first 7 keys of head 1 attended behind the last one");
}

/// For one query, a mask that hides its last key and a sequence that is one key too short are the same.
TEST(JudgeFitsOfSequences, OneQueryThatLosesItsLastKey) {
  constexpr int n_k = 120;
  for (const Mask& mask : {Mask{}, causal}) {
    const Problem p = problem(AttentionShape{1, n_k, 32, 32}, mask);
    const Values o = masked(seen(p), [](int, int j) { return j < n_k - 1; });
    const std::string of_mask = mask.kind == Mask::Kind::none ? "the last key left out" : "it hides the diagonal";
    expect_slip(said_of(p, o, fp32), Slip::Kind::mask, of_mask);
    const auto paged = std::make_shared<StoredKeys>();
    paged->all = p.input.tensors, paged->own = numbers(n_k);
    const std::string one_short = "cache_seqlens[0] is one too small";
    paged->bounds = {{one_short, {{.first = 0, .end = 1, .queries = 1, .keys = numbers(n_k - 1)}}}};
    expect_slip(said_of(p, o, fp32, {.keys = [&](int) { return paged; }}), Slip::Kind::place, one_short);
  }
}

/// Documents of 16 tokens as a mask tensor: the second also sees the last key of the first, or the first the next key.
TEST(JudgeFitsOfMasks, KeysBesideARunOfAMaskTensorAreSeen) {
  constexpr int n = 48, d = 16;
  const auto is_right = [](int i, int j) { return i / 16 == j / 16; };
  Problem p = problem(n, d);
  Tensors t = *p.input.tensors;
  Values terms;
  for (int i = 0; i < n; ++i)
    for (int j = 0; j < n; ++j) terms.push_back(is_right(i, j) ? 0 : -infinity);
  t.mask = std::make_shared<const MaskTensor>(mask_of_terms(n, n, std::move(terms)));
  p.input = given(t);
  const auto named = [&](int document, int key) {
    const Values o = masked(seen(p), [&](int i, int j) { return is_right(i, j) || (i / 16 == document && j == key); });
    const Said said = said_of(p, o, fp32);
    return said.slip ? said.slip->text : said.text();
  };
  EXPECT_EQ(named(1, 15), "1 key more seen before each row's first, in rows 16 to 31 alone");
  EXPECT_THAT(named(0, 16), HasSubstr("it shows the next one of each row, in rows 0 to 15 alone"));
}

/// A padding of 12 keys instead of 9 leaves rows 9 to 11 no key: they are 0. If they are right, the keys have a name.
TEST(JudgeFitsOfMasks, RowsThatLoseAllKeysAreZeros) {
  const Problem p = problem(40, 32, {Mask::Kind::padding, 9});
  const auto hides_three = [&](int first_row) {
    Values o = masked(seen(p), [=](int i, int j) { return j <= i && j >= (i < first_row ? 9 : 12); });
    for (double& x : o) x = std::isnan(x) ? 0 : x;
    const Said said = said_of(p, o, fp32);
    return said.slip ? said.slip->text : said.text();
  };
  EXPECT_EQ(hides_three(0), "the first 3 keys of each row hidden");
  EXPECT_EQ(hides_three(12), "keys 9 to 11 count 0 times");
}

/// Noise gets no name.
TEST_P(JudgeFits, NothingIsFittedToNoise) {
  const Problem p = problem(200, 64, causal);
  Dice dice(3);
  Values o = kernel(p, GetParam(), {});
  for (double& x : o) x *= 1 + 0.05 * dice.normal();
  const JudgedOutput output = judged_output(p, std::move(o), GetParam());
  const std::optional<Slip> slip = slips_of(output, judge(output)).found;
  EXPECT_FALSE(slip) << slip->text;
}

/// The search of one head checks for cancellation in every row that it computes. Each of three bounds of the scores is sought
/// by 81 outputs of 8 rows; in 2 rows each of 20 runs of keys has K, V, both or P of each other run.
TEST(JudgeFitsOfOneHead, StopAtAnyRow) {
  const Problem p = problem(AttentionShape{8, 320, 32, 32});
  Dice dice(7);
  Values o;
  for (int i = 0; i < 8 * 32; ++i) o.push_back(dice.normal());
  const JudgedOutput output = judged_output(p, std::move(o), bf16);
  const Judged judged = judge(output);
  int asked = 0, last = 0;  // the check that stops the search; 0: none
  const Options options{.cancelled = [&] { return ++asked == last; }, .threads = 1};
  ASSERT_FALSE(slips_of(output, judged, {}, options).found);
  const int all = asked;
  EXPECT_GT(all, 3 * 81 * 8 + 2 * 20 * 19 * 4);
  for (const int check : {1, all / 4, all / 2, all - 1}) {
    asked = 0, last = check;
    EXPECT_THROW(slips_of(output, judged, {}, options), Stopped) << check;
    EXPECT_EQ(asked, check);
  }
  asked = last = 0;
  error_has_sign(output, judged, options);
  EXPECT_EQ(asked, 8);
}

INSTANTIATE_TEST_SUITE_P(Formats, JudgeFits, ::testing::Values(bf16, fp16),
                         [](const auto& format) { return name(format.param); });

}  // namespace
}  // namespace attoscope
