// Runs libFuzzer's functions on the seeds, on earlier findings, and on a few thousand random changes of both.
#include <gtest/gtest.h>

#include <filesystem>
#include <map>

#include "tests/fuzz/loaders.h"
#include "tests/support/support.h"
#include "tests/support/temporary_directory.h"

namespace attoscope::testing {
namespace {
namespace fs = std::filesystem;

const fs::path reproducers = "tests/fuzz/reproducers";

/// Inputs that once failed, by file name.
std::map<std::string, std::string> found_for(std::string_view loader) {
  std::map<std::string, std::string> files;
  std::error_code none;
  for (const auto& file : fs::directory_iterator(reproducers / loader, none))
    files[file.path().filename().string()] = bytes_of_file(file.path().string());
  return files;
}

/// Applies up to four random changes: a byte or a bit changed, a range removed or repeated, a character inserted, the end cut.
std::string changed(std::string bytes, Dice& dice) {
  static constexpr std::string_view favourites = "0129-.eE{}[]()\"',: nqkvF\\";
  for (int times = dice.between(1, 4); times > 0 && !bytes.empty(); --times) {
    const std::size_t at = dice.bits() % bytes.size(), some = 1 + dice.bits() % 16;
    switch (dice.between(0, 5)) {
      case 0:
        bytes[at] = static_cast<char>(dice.bits());
        break;
      case 1:
        bytes[at] = static_cast<char>(bytes[at] ^ (1 << dice.between(0, 7)));
        break;
      case 2:
        bytes.erase(at, some);
        break;
      case 3:
        bytes.insert(at, bytes.substr(at, some));
        break;
      case 4:
        bytes.insert(at, 1, dice.any(favourites));
        break;
      default:
        bytes.resize(at);
        break;
    }
  }
  return bytes;
}

class Fuzzed : public ::testing::TestWithParam<Loader> {};

TEST_P(Fuzzed, FilesOfTheProgramAreRead) {
  const std::vector<std::string> seeds = GetParam().seeds();
  EXPECT_FALSE(seeds.empty());
  for (std::size_t i = 0; i < seeds.size(); ++i) EXPECT_NO_THROW(GetParam().load(seeds[i])) << "seed " << i;
}

TEST_P(Fuzzed, FormerFindsAreHarmless) {
  for (const auto& [name, bytes] : found_for(GetParam().name)) EXPECT_NO_THROW(GetParam().load(bytes)) << name;
}

TEST_P(Fuzzed, ChangesDoNoHarm) {
  std::vector<std::string> seeds = GetParam().seeds();
  for (const auto& [name, bytes] : found_for(GetParam().name)) seeds.push_back(bytes);
  Dice dice(11);
  for (int i = 0; i < experiments(2000); ++i) {
    const std::string bytes = changed(dice.any(seeds), dice);
    EXPECT_NO_THROW(GetParam().load(bytes)) << ::testing::PrintToString(bytes);
  }
}

INSTANTIATE_TEST_SUITE_P(Loaders, Fuzzed, ::testing::ValuesIn(loaders().begin(), loaders().end()),
                         [](const auto& fuzzed) { return std::string(fuzzed.param.name); });

TEST(Fuzzing, KeepsReproducersOfItsLoadersOnly) {
  for (const auto& folder : fs::directory_iterator(reproducers))
    EXPECT_NE(loader(folder.path().filename().string()), nullptr) << folder.path();
}

void throws_two_lines(std::string_view) { throw std::runtime_error("one\ntwo"); }
void throws_another(std::string_view) { throw std::out_of_range("vector"); }

TEST(Fuzzing, FindsWhatIsNoSentence) {
  EXPECT_THROW(refused_in_a_sentence(throws_two_lines, ""), std::logic_error);
  EXPECT_THROW(refused_in_a_sentence(throws_another, ""), std::out_of_range);
}

}  // namespace
}  // namespace attoscope::testing
