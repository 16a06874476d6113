// Probes: the statements and numbers of every shipped file are checked.
#include "app/session/probes.h"

#include <cctype>
#include <cmath>
#include <nlohmann/json.hpp>
#include <numeric>
#include <regex>
#include <set>

#include "app/json/json.h"
#include "app/session/session.h"
#include "app/tensors/tensors.h"
#include "app/words/numbers.h"
#include "kernels/compute.h"
#include "tests/app/outcome.h"
#include "tests/app/probe_measures.h"
#include "tests/support/matchers.h"
#include "tests/support/temporary_directory.h"

namespace attoscope {
namespace {

using namespace testing;  // attoscope::testing

Result answer_to(Probe probe) {
  load_tensors(probe.experiment.problem.input);
  return compute(probe.experiment);
}

/// Parses a number, also with a percent sign: "0.23 %" is 0.0023.
double number_of(std::string text) {
  const bool percent = text.ends_with(" %");
  if (percent) text.resize(text.size() - 2);
  return to_number<double>(text).value() / (percent ? 100 : 1);
}

/// True if the character can be part of a name or of a number.
bool is_word(char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_' || c == '.'; }

/// The numbers that stand alone in a sentence: not the digits in "bf16", "FlashAttention-2", "arXiv 2510.04212" or "-0.25".
std::set<std::string> plain_numbers(const std::string& sentence) {
  std::set<std::string> numbers;
  for (std::size_t i = 0; i < sentence.size();) {
    std::size_t end = i;
    while (end < sentence.size() && (is_word(sentence[end]) || (sentence[end] == '-' && sentence[end - 1] == 'e' && end > i)))
      ++end;
    std::string word = sentence.substr(i, end - i);
    while (word.ends_with('.')) word.pop_back();
    const bool joined = i > 0 && (sentence[i - 1] == '-' || sentence[i - 1] == '/');
    const auto follows = [&](std::string_view name) {
      return i >= name.size() && sentence.compare(i - name.size(), name.size(), name) == 0;
    };
    const bool cited = follows("arXiv ") || follows("layer ") || follows("Layer ") || follows("head ") ||
                       follows("SageAttention ") || follows("issue ") || follows("pull request ");
    const bool digit = !word.empty() && std::isdigit(static_cast<unsigned char>(word[0])) != 0;
    if (!joined && !cited && digit && to_number<double>(word)) numbers.insert(word);
    i = end + 1;
  }
  return numbers;
}

/// True if the number is a setting of the experiment, such as N, or a bound of a check.
bool is_accounted_for(const std::string& number, const Probe& probe) {
  for (const Check& check : probe.checks)
    if (check.says == number || check.says == number + " %") return true;
  const nlohmann::json flat = nlohmann::json::parse(json_text(experiment_json(probe.experiment))).flatten();
  for (const auto& [path, value] : flat.items())
    if (value.is_number() && value.get<double>() == number_of(number)) return true;
  for (const auto& [path, value] : flat.items())  // "e4m3/block:32/e8m0/floor", "e4m3/x256/shift"
    if (path.find("/scaling/") != std::string::npos && value.is_string() &&
        plain_numbers(std::regex_replace(value.get<std::string>(), std::regex("[/:x]"), " ")).contains(number))
      return true;
  return probe.experiment.a.block_q * probe.experiment.a.block_k == number_of(number);
}

TEST(Probes, AllThatWerePromisedAreThere) {
  std::set<std::string> names;
  for (const Probe& p : probes()) names.insert(p.name);
  for (const char* const name :
       {"two_errors",        "small_outputs",   "tied_maxima",   "fp8_stale_max",     "ones_in_v",        "huge_scores",
        "masked_tiles",      "stalled_row_sum", "fp8_underflow", "rescale_ascending", "rescale_shuffled", "rescale_descending",
        "blocks_wide",       "blocks_tall",     "split_kv",      "padded_keys",       "sink_gradient",    "causal_ignored",
        "causal_other_side", "tf32_products",   "delta_alone",   "delta_in_step",     "shuffled_dq",      "prescaled_keys"})
    EXPECT_TRUE(names.contains(name)) << name;
}

TEST(Probes, SayTrueSentences) {
  for (const Probe& p : probes()) {
    SCOPED_TRACE(p.name);
    const Result result = answer_to(p);
    EXPECT_FALSE(p.checks.empty());
    for (const Check& check : p.checks) {
      const double value = measure(result, check.what);
      EXPECT_TRUE(holds(check, value)) << check.what << " is " << value << ", expected " << check.at_least << " to "
                                       << check.at_most;
    }
  }
}

TEST(Probes, EveryNumberInASentenceIsChecked) {
  for (const Probe& p : probes()) {
    SCOPED_TRACE(p.name);
    for (const std::string& number : plain_numbers(p.sentence)) EXPECT_TRUE(is_accounted_for(number, p)) << number;
    for (const Check& check : p.checks) {
      if (check.says.empty()) continue;
      EXPECT_THAT(p.sentence, HasSubstr(check.says));
      const double said = number_of(check.says);
      EXPECT_TRUE(said >= check.at_least && said <= check.at_most) << check.says;
    }
  }
}

TEST(Probes, FindTheNumbersOfASentence) {
  EXPECT_EQ(plain_numbers("In bf16, 27 of 1.2e-7 (arXiv 2510.04212) at -0.25, FlashAttention-2 x86, 3."),
            (std::set<std::string>{"27", "1.2e-7", "3"}));
}

TEST(Probes, AreListedAndRunByName) {
  const Outcome people = attoscope({"presets"});
  const nlohmann::json json = nlohmann::json::parse(attoscope({"presets", "--json"}).out);
  ASSERT_EQ(json["probes"].size(), probes().size());
  for (const Probe& p : probes()) EXPECT_THAT(people.out, AllOf(HasSubstr(p.name), HasSubstr(p.title)));
  const nlohmann::json ran = json_of({"run", "--preset", "stalled_row_sum", "--n", "300"});
  EXPECT_EQ(ran["experiment"]["problem"]["n"], 300);
  EXPECT_EQ(ran["experiment"]["problem"]["input"]["kind"], "constant");
  EXPECT_EQ(ran["policies"]["a"], "base_all");
  EXPECT_EQ(attoscope({"run", "--preset", "tied_maxima"}).code, 0);
  expect_refused({"run", "--preset", "nothing"}, 2, "--preset: preset 'nothing' is unknown, expected one of blind_rows, ");
}

std::string with_checks(const std::string& checks, const std::string& more = "") {
  return R"({"schema":"attoscope.preset/1","name":"p","title":"t","sentence":"s",)" + more + R"("checks":)" + checks + "}";
}

TEST(Probes, BadFilesAreNamed) {
  const TemporaryDirectory scratch;
  const std::string good = R"([{"what":"a.rms","at_most":1}])";
  const std::pair<std::string, const char*> bad[] = {
      {"{", "is not JSON"},
      {"{}", "has no key 'schema', expected 'attoscope.preset/1'"},
      {with_checks("[]"), "has no list of 'checks'"},
      {with_checks(R"([{"what":"a.rms"}])"), "checks.0 is incomplete"},
      {with_checks(R"([{"what":"a.rms","at_most":"x"}])"), "checks.0.at_most is '\"x\"', expected a finite number"},
      {with_checks(R"([{"what":"a.rms","at_most":1,"atmost":1}])"), "checks.0.atmost is not a known key"},
      {with_checks(good, R"("experiment":{"a":{"tau":65}},)"), "experiment.a.tau is '65', expected a number from 0 to 64"},
      {with_checks(good, R"("extra":1,)"), "extra is not a known key"},
  };
  for (const auto& [text, sentence] : bad) {
    const std::string path = scratch.write("p.json", text);
    EXPECT_THAT(sentence_of([&] { read_probe(path); }), AllOf(HasSubstr("p.json: "), HasSubstr(sentence)));
  }
  const std::string other = scratch.write("q.json", with_checks(good));
  EXPECT_THAT(sentence_of([&] { read_probe(other); }), HasSubstr("name is 'p', expected 'q'"));
  EXPECT_EQ(read_probe(scratch.write("p.json", with_checks(good))).experiment, default_experiment());
}

TEST(Measure, NumbersQuotientsListsAndFields) {
  Experiment e = default_experiment();
  e.problem.n = 200;
  const Result r = compute(e);
  EXPECT_EQ(measure(r, "a.rms"), r.a_error.rms);
  EXPECT_EQ(measure(r, "a.rms/b.rms"), r.a_error.rms / r.b_error.rms);
  EXPECT_EQ(measure(r, "trace.tiles.1.l"), r.trace.tiles[1].l);
  EXPECT_EQ(measure(r, "max fields.a_error"), r.a_error.max_abs);
  EXPECT_NEAR(measure(r, "mean fields.a_error"), r.a_error.bias, 1e-12);
  EXPECT_EQ(measure(r, "share fields.golden"), 1);
  EXPECT_EQ(measure(r, "sum rescales.per_tile.*"), std::round(r.rescales.effective_mean * 200));
  for (const char* const wrong : {"a.nothing", "trace.tiles.*.l", "digests.a", "most a.rms", "max fields.nothing", "a", ""})
    EXPECT_THROW(measure(r, wrong), std::runtime_error) << wrong;
}

TEST(Measure, ElementsOfGradients) {
  Experiment e = default_experiment();
  e.problem.n = 96;
  EXPECT_THAT(sentence_of([&] { measure(compute(e), "max gradients.a.dq"); }), HasSubstr("of a result with a backward pass"));
  e.backward.on = true;
  const Result r = compute(e);
  EXPECT_EQ(measure(r, "share gradients.golden.dv"), 1);
  EXPECT_EQ(measure(r, "sum gradients.a.delta"), std::accumulate(r.backward->a.delta.begin(), r.backward->a.delta.end(), 0.0));
  EXPECT_EQ(measure(r, "max backward.a.dq.max_abs"), r.backward->a_error.dq.max_abs);
  for (const char* const wrong : {"max gradients.golden", "max gradients.c.dq", "max gradients.a.dO", "gradients.a.dq"})
    EXPECT_THROW(measure(r, wrong), std::runtime_error) << wrong;
}

TEST(Measure, NaNHoldsNowhere) {
  Check check;
  EXPECT_FALSE(holds(check, NAN));
  EXPECT_TRUE(holds(check, INFINITY));
  check.at_least = check.at_most = 1;
  EXPECT_TRUE(holds(check, 1));
  EXPECT_FALSE(holds(check, 0.5));
  EXPECT_FALSE(holds(check, 1.5));
}

}  // namespace
}  // namespace attoscope
