// Ranges of an experiment's fields: sessions, options and kernels share them, and read back what they write.
#include "kernels/experiment/settings.h"

#include <cmath>
#include <nlohmann/json.hpp>
#include <set>

#include "app/session/experiment_options.h"
#include "app/session/session.h"
#include "kernels/experiment/grad_kernels.h"
#include "tests/support/matchers.h"
#include "tests/support/support.h"
#include "tests/support/temporary_directory.h"

namespace attoscope {
namespace {

using namespace testing;  // attoscope::testing

/// The session whose experiment has this text.
Session read(const std::string& experiment, std::vector<std::string>& remarks) {
  return parse_session(R"({"schema":"attoscope.session/1","experiment":)" + experiment + "}", remarks);
}

TEST(ExperimentFields, ASinkIsANumberOrNull) {
  std::vector<std::string> remarks;
  EXPECT_EQ(read(R"({"problem":{"sink":2.5}})", remarks).experiment.problem.sink, 2.5);
  EXPECT_EQ(read(R"({"problem":{"sink":null}})", remarks).experiment.problem.sink, std::nullopt);
  EXPECT_THAT(remarks, IsEmpty());
  EXPECT_TRUE(nlohmann::json::parse(session_text(Session()))["experiment"]["problem"]["sink"].is_null());
}

/// A value just outside a range, in JSON, its key, and the expected range.
struct Outside {
  const char *key, *value, *expected;
};
constexpr Outside outside_of_methods[] = {
    {"splits", "0", "a whole number from 1 to 64"},
    {"splits", "65", "a whole number from 1 to 64"},
    {"tau", "-0.5", "a number from 0 to 64"},
    {"tau", "64.5", "a number from 0 to 64"},
    {"tie_beta", "1", "a number above 1 and at most 64, or 0 for off"},
    {"tie_beta", "65", "a number above 1 and at most 64, or 0 for off"},
    {"exp2_degree", "6", "a whole number from 0 to 5"},
    {"p_exponent", "-65", "a whole number from -64 to 64"},
    {"p_exponent", "65", "a whole number from -64 to 64"},
    {"sum_lanes", "0", "a whole number from 1 to 64"},
    {"sum_lanes", "65", "a whole number from 1 to 64"},
    {"kahan_l", "1", "true or false"},
    {"exponential", "\"exp3\"", "natural or exp2"},
    {"order", "\"random\"", "sequential, pairwise or interleaved"},
    {"algorithm", "\"flash9\"", "three_pass, two_pass, flash1, flash2, flash4, split_kv, hardware or loaded"},
};

TEST(ExperimentFields, ForeignSettingsOfAMethodAreNamedInASessionAndLeftOut) {
  for (const auto& [key, value, expected] : outside_of_methods) {
    std::vector<std::string> remarks;
    EXPECT_EQ(read(std::string(R"({"b":{")") + key + "\":" + value + "}}", remarks), Session());
    EXPECT_THAT(remarks, ElementsAre(std::string("experiment.b.") + key + " is '" + value + "', expected " + expected +
                                     "; the default is kept"));
  }
}

TEST(ExperimentFields, ForeignSettingsOfAMethodAreRefusedOnTheCommandLine) {
  for (const auto& [key, quoted, expected] : outside_of_methods) {
    std::string value = quoted;
    std::erase(value, '"');
    if (std::string(key) == "kahan_l") value = "yes";
    Experiment e = default_experiment();
    const std::string setting = std::string("b.") + key + "=" + value;
    EXPECT_EQ(sentence_of<std::invalid_argument>([&] { apply_setting(e, setting); }),
              std::string("--set b.") + key + " is '" + value + "', expected " + expected);
    EXPECT_EQ(e, default_experiment());
  }
}

/// A session, a lesson and `--set` name a whole backward pass as they name a policy; further keys change it.
TEST(ExperimentFields, ABackwardPassIsNamed) {
  for (const GradKernel& k : grad_kernels()) {
    std::vector<std::string> remarks;
    const std::string text = R"({"problem":{"d":128,"mask":{"kind":"causal"}},"b":{"grad":{"policy":")" + std::string(k.name) +
                             R"(","block_k":48}}})";
    const Experiment e = read(text, remarks).experiment;
    EXPECT_THAT(remarks, ElementsAre());
    GradMethod expected = grad_method(k.name, 128, e.problem.mask);
    Experiment set = e;
    set.backward.on = true;
    apply_setting(set, "b.grad.policy=" + std::string(k.name));
    EXPECT_EQ(set.backward.b, expected) << k.name;
    expected.block_k = 48;
    EXPECT_EQ(e.backward.b, expected) << k.name;
  }
  std::vector<std::string> remarks;
  read(R"({"a":{"grad":{"policy":"grad_none"}}})", remarks);
  EXPECT_THAT(remarks, ElementsAre("experiment.a.grad.policy is '\"grad_none\"', expected a backward pass that `attoscope "
                                   "presets` lists; the default is kept"));
}

TEST(ExperimentFields, TheEndsOfEveryRangeAreIn) {
  for (const char* const setting :
       {"splits=1", "splits=64", "tau=0", "tau=64", "tie_beta=0", "tie_beta=64", "tie_beta=1.0001", "exp2_degree=0",
        "exp2_degree=5", "p_exponent=-64", "p_exponent=64", "sum_lanes=1", "sum_lanes=64", "block_k=1073741824"}) {
    Experiment e = default_experiment();
    EXPECT_NO_THROW(apply_setting(e, std::string("a.") + setting)) << setting;
    EXPECT_NO_THROW(validate(e)) << setting;
  }
}

TEST(ExperimentFields, RangesInWords) {
  EXPECT_EQ(text(RealRange{}), "a finite number");
  EXPECT_EQ(text({.min = 0, .max = 64}), "a number from 0 to 64");
  EXPECT_EQ(text({.min = 0, .above_min = true}), "a finite number above 0");
  EXPECT_EQ(text({.min = 1, .max = 2, .above_min = true, .zero = "off"}), "a number above 1 and at most 2, or 0 for off");
  EXPECT_FALSE(contains({}, NAN));
  EXPECT_FALSE(contains({}, INFINITY));
  EXPECT_TRUE(contains({.min = 1, .zero = "off"}, 0));
  EXPECT_FALSE(contains({.min = 1}, 0));
}

/// A member without a setting would not be copied here, and files would lose it.
TEST(ExperimentFields, CarryAWholeExperimentAsTexts) {
  Dice dice(11);
  for (int i = 0; i < 300; ++i) {
    Experiment from = random_experiment(dice), to = default_experiment();
    if (i % 2 == 0) add_scalings(from, from.a, dice), add_accumulators(from, from.b, dice);
    to.problem.input.digest = from.problem.input.digest;  // no text sets it
    const Settings of_to = settings(to);
    std::set<std::string> paths;
    for_each(settings(from), "", [&](const std::string& path, const Setting& s) {
      EXPECT_TRUE(paths.insert(path).second) << path;
      const bool has_text = is_typed(s) && !(std::holds_alternative<PolicyValue>(s.value) && text(s).empty());
      EXPECT_TRUE(!has_text || set(*find(of_to, path), text(s))) << path << " " << text(s);
    });
    EXPECT_EQ(to, from) << describe(from);
  }
}

}  // namespace
}  // namespace attoscope
