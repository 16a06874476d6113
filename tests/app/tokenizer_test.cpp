// Byte-pair encoding: the merges of a word, in their order.
#include "app/model/tokenizer.h"

#include <gtest/gtest.h>

#include <chrono>
#include <string>
#include <vector>

#include "tests/support/seeds.h"

namespace attoscope {
namespace {

using namespace app;
using namespace testing;  // attoscope::testing

/// A tokenizer of the letters a, b and c with random merges, some of equal rank.
Tokenizer random_tokenizer(Dice& dice) {
  Tokenizer t;
  t.vocabulary = {{"a", 0}, {"b", 1}, {"c", 2}};
  std::vector<std::string> names{"a", "b", "c"};
  for (int i = 0; i < 30; ++i) {
    const std::string left = dice.any(names), right = dice.any(names);
    t.ranks.emplace(left + " " + right, dice.between(0, 20));
    if (t.vocabulary.emplace(left + right, static_cast<int>(names.size())).second) names.push_back(left + right);
  }
  return t;
}

/// The tokens of a word by a loop that looks at all pairs before each merge.
std::vector<int> plain_tokens(const Tokenizer& t, const std::string& word) {
  std::vector<std::string> parts;
  for (const char c : word) parts.emplace_back(1, c);
  for (;;) {
    std::size_t best = 0;
    int least = -1;
    for (std::size_t i = 0; i + 1 < parts.size(); ++i) {
      const auto rank = t.ranks.find(parts[i] + " " + parts[i + 1]);
      if (rank != t.ranks.end() && (least < 0 || rank->second < least)) least = rank->second, best = i;
    }
    if (least < 0) break;
    parts[best] += parts[best + 1];
    parts.erase(parts.begin() + static_cast<std::ptrdiff_t>(best) + 1);
  }
  std::vector<int> tokens;
  for (const std::string& part : parts) tokens.push_back(t.vocabulary.at(part));
  return tokens;
}

TEST(Tokenizer, MergesPairsInTheOrderOfTheirRanks) {
  with_seeds(1, 500, [](Dice& dice) {
    const Tokenizer t = random_tokenizer(dice);
    std::string word;
    for (int i = dice.between(1, 60); i > 0; --i) word += "abc"[dice.between(0, 2)];
    EXPECT_EQ(t.tokens(word), plain_tokens(t, word)) << word;
  });
}

TEST(Tokenizer, TakesNoMoreThanAMomentForALongWord) {
  Tokenizer t;
  t.vocabulary = {{"a", 0}, {"aa", 1}, {"aaaa", 2}};
  t.ranks = {{"a a", 0}, {"aa aa", 1}};
  constexpr std::size_t length = 100'000;
  const auto start = std::chrono::steady_clock::now();
  EXPECT_EQ(t.tokens(std::string(length, 'a')), std::vector<int>(length / 4, 2));
  EXPECT_LT(std::chrono::steady_clock::now() - start, std::chrono::seconds(10)) << "a loop over all pairs takes minutes";
}

}  // namespace
}  // namespace attoscope
