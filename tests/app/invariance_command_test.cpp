// `attoscope invariance`: the requested schedules with the numbers of `run`, as table, CSV and JSON; error sentences.

#include <algorithm>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "app/words/numbers.h"
#include "tests/app/outcome.h"
#include "tests/support/matchers.h"
#include "tests/support/temporary_directory.h"

namespace attoscope::testing {
namespace {

using nlohmann::json;

/// One query over 300 keys.
const std::vector<std::string> decoding = words("invariance --n-q 1 --n-k 300 --d 16 --policy eager --quiet");

json answer_of(const std::vector<std::string>& options) { return json_of(with(decoding, options)); }

TEST(InvarianceCommand, EveryScheduleIsAsRunAnswersIt) {
  const json found = answer_of({"--splits", "2,1,4", "--block-k", "48,64", "--orders", "reverse,forward"});
  EXPECT_EQ(found.at("schema"), "attoscope.invariance/1");
  ASSERT_EQ(found.at("schedules").size(), 12u);
  for (const json& s : found.at("schedules")) {
    const std::string schedule = " --splits " + s.at("splits").dump() + " --block-k " + s.at("block_k").dump() +
                                 (s.at("order") == "reverse" ? " --reverse-keys" : "");
    const json run = json_of(words("run --n-q 1 --n-k 300 --d 16 --policy eager --algorithm split_kv" + schedule));
    EXPECT_EQ(s.at("digest"), run.at("digests").at("a")) << s;
    EXPECT_EQ(s.at("max_error"), run.at("a").at("max_abs")) << s;
  }
  expect_holds(found, R"({"schedules": [{"splits": 2, "block_k": 48, "order": "reverse"}],
                          "experiment": {"a": {"algorithm": "split_kv", "reverse_keys": true}}})");
}

TEST(InvarianceCommand, OptionsThatChangeNothingAreNamed) {
  const std::vector<std::string> one = with(decoding, {"--splits", "2", "--block-k", "64", "--orders", "forward"});
  EXPECT_EQ(attoscope(with(one, {"--exp2-degree", "3", "--set", "a.merge=sigmoid"})).err,
            "attoscope: --exp2-degree changes nothing: a does not use it with its other settings\n");
}

TEST(InvarianceCommand, GroupsHaveTheSameDigests) {
  const json found = answer_of({});
  const json& schedules = found.at("schedules");
  std::size_t members = 0;
  for (std::size_t g = 0; g < found.at("groups").size(); ++g)
    for (const json& i : found.at("groups")[g]) {
      const json& s = schedules[i.get<std::size_t>()];
      EXPECT_EQ(s.at("group"), g);
      EXPECT_EQ(s.at("digest"), schedules[found.at("groups")[g][0].get<std::size_t>()].at("digest"));
      EXPECT_EQ(s.at("same_bits"), g == 0);
      EXPECT_EQ(s.at("differing") == 0, g == 0);
      ++members;
    }
  EXPECT_EQ(members, schedules.size());
  EXPECT_EQ(found.at("numbers"), 16);
}

TEST(InvarianceCommand, TableAndCsvHaveALineForEachSchedule) {
  const std::vector<std::string> options{"--splits", "1,2", "--block-k", "64", "--orders", "forward"};
  const std::string table = output_of(with(decoding, options));
  EXPECT_THAT(table, AllOf(HasSubstr("splits  block_k"), HasSubstr("row 0  all rows"),
                           HasSubstr(" in the computed rows of these tensors.\n")));
  EXPECT_EQ(std::ranges::count(table, '\n'), 5);
  const auto lines = csv_lines(output_of(with(decoding, with(options, {"--csv", "-"}))));
  ASSERT_EQ(lines.size(), 3u);
  EXPECT_EQ(lines[0][0], "splits");
  EXPECT_EQ(lines[2][0], "2");
}

TEST(InvarianceCommand, FilesAreWrittenTogether) {
  const TemporaryDirectory scratch;
  const std::string table =
      output_of(with(decoding, {"--splits", "1,2", "--csv", scratch / "x.csv", "--json", scratch / "x.json"}));
  EXPECT_EQ(scratch.count(), 2);
  EXPECT_THAT(table, HasSubstr(" in the computed rows of these tensors."));
}

TEST(InvarianceCommand, AccumulatorsAreSchedulesToo) {
  const json found = answer_of({"--splits", "1", "--block-k", "64", "--orders", "forward", "--sums", "fma,h100"});
  ASSERT_EQ(found.at("schedules").size(), 2u);
  const json& other = found.at("schedules")[1];
  EXPECT_EQ(other.at("accumulator"), json({{"qk", "h100"}, {"pv", "h100"}}));
  const json run = json_of(words("run --n-q 1 --n-k 300 --d 16 --policy eager --accumulator h100"));
  EXPECT_EQ(other.at("digest"), run.at("digests").at("a"));
  EXPECT_EQ(other.at("same_bits"), other.at("digest") == found.at("schedules")[0].at("digest"));
}

TEST(InvarianceCommand, RowIsTheOneThatIsTraced) {
  EXPECT_EQ(json_of({"invariance", "--n", "80", "--d", "8", "--row", "-3", "--quiet"}).at("row"), 77);
}

TEST(InvarianceCommand, RefusesInASentence) {
  const auto refused = [](const std::vector<std::string>& options, const std::string& sentence) {
    expect_refused(with({"invariance", "--n", "80", "--d", "8"}, options), 2, sentence);
  };
  refused({"--splits", "1,65"}, "--splits is '65', expected a whole number from 1 to 64");
  refused({"--splits", "1,,2"}, "--splits is '', expected a whole number from 1 to 64");
  refused({"--block-k", "0"}, "--block-k is '0', expected a whole number from 1 to ");
  refused({"--orders", "forward,sideways"}, "--orders is 'sideways', expected forward, reverse or both with a comma");
  refused({"--algorithm", "flash4", "--splits", "1,2"}, "method a is flash4, which has no splits, expected flash2 or split_kv");
  refused({"--format", "e4m3", "--sums", "fma,h100,a100"},
          "--sums has a100: a100 multiplies no e4m3, expected fp16, bf16 or tf32");
  refused({"--sums", "fma,abacus"}, "--sums is 'abacus', expected fma, ");
  refused({"--row", "80"}, "--row is '80', expected a whole number from -80 to 79");
  refused({"--csv", "-", "--json", "-"}, "--csv and --json are both -, expected one of them");
  refused({"--threads", "-1"}, "--threads is '-1'");
}

}  // namespace
}  // namespace attoscope::testing
