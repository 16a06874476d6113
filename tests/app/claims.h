/// The list of the texts' claims (assets/lessons/claims.json), the sentences of a text that compare two quantities, and those
/// that give a reason.
#pragma once

#include <limits>
#include <string>
#include <string_view>
#include <vector>

namespace attoscope::testing {

/// A sentence, and an experiment that shows it: `of`, or `of` over `over`, lies between two numbers at every seed. A sentence
/// that gives a cause has a second experiment without the cause, `without` over `without_over`; or a test makes both,
/// `controls`.
struct Claim {
  std::string in;        ///< "lessons/08-stable.md", "presets/split_kv.json" or "README.md"
  std::string says;      ///< words that stand there
  std::string of, over;  ///< as live numbers are written: "a.mean_abs?n=1024&policy=hw"; over: "" for none
  double at_least, at_most;
  int seeds = 20;
  bool mean = false;  ///< the mean over the seeds lies there, not every seed's number
  std::string without{}, without_over{};
  double without_at_least = -std::numeric_limits<double>::infinity(), without_at_most = std::numeric_limits<double>::infinity();
  std::string controls{};  ///< "Suite.Name" of a test in tests/app; `of` is then empty

  bool shows_a_cause() const { return !without.empty() || !controls.empty(); }
};

/// A sentence that the rule finds and that needs no experiment.
struct Exception {
  std::string in, says, why;
};

struct Claims {
  std::vector<Claim> claims;
  std::vector<Exception> exceptions;
};
/// Throws std::runtime_error in a sentence that names the entry.
Claims parse_claims(const std::string& json);
const Claims& shipped_claims();

/// A text and its sentences as a reader sees them: live numbers as they are written, code and tables of numbers left out.
struct Place {
  std::string name;
  std::vector<std::string> sentences;

  std::string text() const;
};
/// All lessons, all presets and the README.
std::vector<Place> places();
/// The sentences of Markdown.
std::vector<std::string> sentences_of(std::string_view markdown);

/// True if a sentence compares two quantities, as its words tell.
bool compares(std::string_view sentence);

/// A sentence that gives a reason and is no claim: a proof, a definition, a statement about a program, or quoted.
struct Reason {
  std::string in, says, kind;  ///< says: the whole sentence, as `unmarked` returns it
};
/// Throws std::runtime_error in a sentence that names the entry.
std::vector<Reason> parse_reasons(const std::string& json);
const std::vector<Reason>& shipped_reasons();
/// All lessons, probes, READMEs, captions of named figures and sentences of `--like`.
std::vector<Place> places_of_reasons();
/// True if a sentence gives a reason, as its words tell.
bool gives_reason(std::string_view sentence);
/// The sentence without Markdown's marks.
std::string unmarked(std::string sentence);
/// Sentences of a place that give a reason, unmarked. So does every row of a table with a column "because".
std::vector<std::string> reasons_in(const Place& place);

/// The seeds of a claim: consecutive ones from a number that its words give, so that nobody chose them; trainings and long sums
/// of a text share the seeds that its name gives, so that each runs once.
unsigned first_seed(const Claim& claim);

}  // namespace attoscope::testing
