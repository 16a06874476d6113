/// Commands run in this process, and their outcomes.
#pragma once

#include <algorithm>
#include <iterator>
#include <nlohmann/json.hpp>
#include <sstream>
#include <stdexcept>
#include <string>
#include <vector>

#include "app/commands/command_line.h"
#include "tests/support/matchers.h"

namespace attoscope::testing {

/// Outcome of a command.
struct Outcome {
  int code = -1;
  std::string out, err;
};

inline Outcome attoscope(const std::vector<std::string>& arguments) {
  std::ostringstream out, err;
  const int code = run_command_line(arguments, out, err);
  return {code, out.str(), err.str()};
}

/// `words` followed by `more`.
inline std::vector<std::string> with(std::vector<std::string> words, const std::vector<std::string>& more) {
  words.insert(words.end(), more.begin(), more.end());
  return words;
}

/// The words of a command: "run --n 48".
inline std::vector<std::string> words(const std::string& command) {
  std::istringstream text(command);
  return {std::istream_iterator<std::string>(text), {}};
}

/// Runs a command; throws its error text if it fails.
inline void succeed(const std::vector<std::string>& command) {
  const Outcome outcome = attoscope(command);
  if (outcome.code != 0) throw std::runtime_error(outcome.err.substr(0, outcome.err.find('\n')));
}

/// Standard output of a command; expects exit code 0.
inline std::string output_of(const std::vector<std::string>& command) {
  const Outcome outcome = attoscope(command);
  EXPECT_EQ(outcome.code, 0) << outcome.err;
  return outcome.out;
}

/// The JSON that a command writes; expects exit code `code`.
inline nlohmann::json json_of(const std::vector<std::string>& arguments, int code = 0) {
  const Outcome outcome = attoscope(with(arguments, {"--json", "-"}));
  EXPECT_EQ(outcome.code, code) << outcome.out << outcome.err;
  return outcome.out.empty() ? nlohmann::json() : nlohmann::json::parse(outcome.out);
}

/// Expects that `whole` has the values of the JSON text `part`: its keys of objects, its first entries of arrays.
inline void expect_holds(const nlohmann::json& whole, const std::string& part) {
  const nlohmann::json values = nlohmann::json::parse(part).flatten();
  for (const auto& [path, value] : values.items()) EXPECT_EQ(whole.at(nlohmann::json::json_pointer(path)), value) << path;
}

/// `run` with small sizes and these options.
inline const std::vector<std::string> small_sizes{"run", "--n", "48", "--d", "16"};
inline Outcome small_run(const std::vector<std::string>& options) { return attoscope(with(small_sizes, options)); }

inline void expect_refused(const std::vector<std::string>& arguments, int code, const std::string& sentence) {
  const Outcome outcome = attoscope(arguments);
  EXPECT_EQ(outcome.code, code) << outcome.err;
  EXPECT_THAT(outcome.out, ::testing::IsEmpty());
  EXPECT_THAT(outcome.err, ::testing::AllOf(::testing::StartsWith("attoscope: "), ::testing::HasSubstr(sentence),
                                            ::testing::EndsWith("\n")));
  EXPECT_EQ(std::count(outcome.err.begin(), outcome.err.end(), '\n'), 1) << outcome.err;
}

}  // namespace attoscope::testing
