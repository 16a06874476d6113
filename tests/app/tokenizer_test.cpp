// Byte-pair encoding: the merges of a word, in their order.
#include "app/model/tokenizer.h"

#include <gtest/gtest.h>

#include <chrono>
#include <stdexcept>
#include <string>
#include <vector>

#include "tests/support/matchers.h"
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

/// A tokenizer of single bytes.
Tokenizer of_bytes() {
  Tokenizer t;
  for (int b = 0, next = 256; b < 256; ++b) {
    const bool printable = (b >= 33 && b <= 126) || (b >= 161 && b <= 172) || b >= 174;
    const int c = printable ? b : next++;
    const std::string name = c < 128 ? std::string{static_cast<char>(c)}
                                     : std::string{static_cast<char>(0xc0 | c >> 6), static_cast<char>(0x80 | (c & 63))};
    t.vocabulary.emplace(name, b);
  }
  return t;
}

TEST(Tokenizer, RefusesTextThatMayNeedComposition) {
  Tokenizer t = of_bytes();
  const auto told = [&](const std::string& text) { return message_of<std::runtime_error>([&] { t.tokens(text); }); };
  const std::string combined = "e\xcc\x81", angstrom = "\xe2\x84\xab", voiced = "\xe3\x82\xab\xe3\x82\x99";
  const std::string jamo = "\xe1\x84\x92\xe1\x85\xa1", compatibility = "\xef\xa4\x80";
  for (const std::string& text : {combined, angstrom, voiced, jamo, compatibility}) {
    t.composed = false;
    EXPECT_EQ(told(text), "");
    t.composed = true;
    EXPECT_THAT(told(text),
                HasSubstr("which may need composition (NFC), and that is not done here: expected a file of tokens"));
  }
  EXPECT_THAT(told(combined), HasSubstr("at byte 1"));
  // e with acute, Greek, Cyrillic, an ideograph, kana, Hangul, a dash, the euro, an emoji
  EXPECT_EQ(told("\xc3\xa9\xce\xac\xd0\xb9\xe4\xb8\xad\xe3\x82\xac\xed\x95\x9c\xe2\x80\x94\xe2\x82\xac\xf0\x9f\x98\x80"), "");
}

TEST(Tokenizer, RefusesTextThatIsNotUtf8) {
  const Tokenizer t = of_bytes();
  EXPECT_EQ(message_of<std::runtime_error>([&] { t.tokens("ab\xff"); }),
            "the text is not UTF-8: its byte 2, counted from 0, begins no character");
}

}  // namespace
}  // namespace attoscope
