/// Claims of the texts (assets/lessons/claims.json), and the search for sentences that compare two quantities or give a
/// reason.
#pragma once

#include <limits>
#include <string>
#include <string_view>
#include <vector>

namespace attoscope::testing {

/// A sentence and the experiment that shows it: `of`, or `of` / `over`, is in [at_least, at_most] at every seed. A sentence
/// that gives a cause has a second experiment without the cause, `without` / `without_over`; or the test `controls` runs
/// both.
struct Claim {
  std::string in;        ///< "lessons/08-stable.md", "presets/split_kv.json" or "README.md"
  std::string says;      ///< words of that text
  std::string of, over;  ///< written as live numbers: "a.mean_abs?n=1024&policy=hw"; over: "" for none
  double at_least, at_most;
  int seeds = 20;
  bool mean = false;  ///< the bounds hold for the mean over the seeds, not for each seed
  std::string without{}, without_over{};
  double without_at_least = -std::numeric_limits<double>::infinity(), without_at_most = std::numeric_limits<double>::infinity();
  std::string controls{};  ///< "Suite.Name" of a test in tests/app; `of` is then empty

  bool shows_a_cause() const { return !without.empty() || !controls.empty(); }
};

/// A sentence that `compares` finds and that needs no experiment.
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

/// A text and its sentences as a reader sees them: live numbers as written, without code and tables of numbers.
struct Place {
  std::string name;
  std::vector<std::string> sentences;

  std::string text() const;
};
/// All lessons, all presets and the README.
std::vector<Place> places();
/// The sentences of Markdown.
std::vector<std::string> sentences_of(std::string_view markdown);

/// True if a sentence has words that compare two quantities.
bool compares(std::string_view sentence);

/// A sentence that gives a reason and is no claim: a proof, a definition, a statement about a program, or a quotation.
struct Reason {
  std::string in, says, kind;  ///< says: the whole sentence as returned by `unmarked`
};
/// Throws std::runtime_error in a sentence that names the entry.
std::vector<Reason> parse_reasons(const std::string& json);
const std::vector<Reason>& shipped_reasons();
/// All lessons, probes, READMEs, captions of named figures and sentences of `--like`.
std::vector<Place> places_of_reasons();
/// True if a sentence has words that give a reason.
bool gives_reason(std::string_view sentence);
/// The sentence without Markdown's marks.
std::string unmarked(std::string sentence);
/// Sentences of a place that give a reason, unmarked; every row of a table with a column "because" counts.
std::vector<std::string> reasons_in(const Place& place);

/// The first of a claim's consecutive seeds: a hash of its words, so it is not hand-picked. Trainings and long sums of a text
/// share a hash of the text's name and run once.
unsigned first_seed(const Claim& claim);

}  // namespace attoscope::testing
