/// The text that comes with the program: the same bytes everywhere, with names that recur.
#include <gtest/gtest.h>

#include <algorithm>
#include <clocale>
#include <locale>
#include <map>
#include <sstream>
#include <string>

#include "app/train/trained.h"
#include "app/words/numbers.h"
#include "kernels/train/plan/corpus.h"

namespace attoscope::app {
namespace {

TEST(Chronicle, IsTheSameTextEverywhere) {
  EXPECT_EQ(chronicle().size(), 400315U);
  EXPECT_EQ(hex16(read_text("").digest), "9b9532438b6199df");
  EXPECT_EQ(read_text("").file, "");
  EXPECT_EQ(text_name(read_text("")), "the chronicle");
  EXPECT_EQ(read_text("").corpus->text.size(), chronicle().size());
  EXPECT_EQ(read_text("").corpus->characters.size(), 65U);
}

TEST(Chronicle, IsAsciiInLines) {
  const std::string text = chronicle();
  EXPECT_TRUE(std::ranges::all_of(text, [](char c) { return c == '\n' || (c >= ' ' && c <= '~'); }));
  EXPECT_EQ(text.back(), '\n');
  EXPECT_EQ(text.find('{'), std::string::npos) << "every key has a value";
  EXPECT_EQ(text.find("  "), std::string::npos);
}

/// Thousands in groups of one digit: texts that follow the locale look different.
struct Grouped : std::numpunct<char> {
  char do_thousands_sep() const override { return '_'; }
  std::string do_grouping() const override { return "\1"; }
};

TEST(Chronicle, DoesNotFollowTheLocale) {
  const std::string text = chronicle(), c_locale = std::setlocale(LC_ALL, nullptr);
  const std::locale before = std::locale::global(std::locale(std::locale(), new Grouped));
  for (const char* const name : {"tr_TR.UTF-8", "de_DE.UTF-8", "C.UTF-8"})
    if (std::setlocale(LC_ALL, name) != nullptr) break;
  const std::string elsewhere = chronicle();
  std::locale::global(before);
  std::setlocale(LC_ALL, c_locale.c_str());
  EXPECT_EQ(elsewhere, text);
}

/// The names of people and towns in an entry, with their number of occurrences.
std::map<std::string, int> names_in(const std::string& entry) {
  std::map<std::string, int> names;
  std::istringstream words(entry);
  for (std::string word; words >> word;) {
    std::erase_if(word, [](char c) { return c == '.' || c == ',' || c == ':' || c == '"'; });
    if (word.size() > 4 && word[0] >= 'A' && word[0] <= 'Z') ++names[word];
  }
  return names;
}

TEST(Chronicle, SaysAgainWhatItSaidBefore) {
  std::istringstream entries(chronicle());
  std::map<std::string, int> known;
  int said = 0, again_in_entry = 0, again_later = 0, count = 0;
  for (std::string entry; std::getline(entries, entry); ++count)
    for (const auto& [name, times] : names_in(entry)) {
      said += times;
      again_in_entry += times - 1;
      again_later += known[name]++ > 0 ? 1 : 0;
    }
  EXPECT_EQ(count, 900);
  EXPECT_GT(again_in_entry, said / 2);
  EXPECT_GT(again_later, 2 * count) << "guests and their towns recur in later entries";
}

}  // namespace
}  // namespace attoscope::app
