/// Commands run in this process, and their outcomes.
#pragma once

#include <algorithm>
#include <sstream>
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

/// `run` with small sizes and these options.
inline Outcome small_run(const std::vector<std::string>& options) {
  std::vector<std::string> arguments{"run", "--n", "48", "--d", "16"};
  arguments.insert(arguments.end(), options.begin(), options.end());
  return attoscope(arguments);
}

inline void expect_refused(const std::vector<std::string>& arguments, int code, const std::string& sentence) {
  const Outcome outcome = attoscope(arguments);
  EXPECT_EQ(outcome.code, code) << outcome.err;
  EXPECT_THAT(outcome.out, ::testing::IsEmpty());
  EXPECT_THAT(outcome.err, ::testing::AllOf(::testing::StartsWith("attoscope: "), ::testing::HasSubstr(sentence),
                                            ::testing::EndsWith("\n")));
  EXPECT_EQ(std::count(outcome.err.begin(), outcome.err.end(), '\n'), 1) << outcome.err;
}

}  // namespace attoscope::testing
