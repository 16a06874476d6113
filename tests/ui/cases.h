/// Cases of the window: tests that use its controls.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "tests/ui/hand.h"

namespace attoscope::testing {

struct Case {
  const char* about;
  const char* name;
  void (*run)(Hand&);
};

/// The cases of one file.
struct Group {
  std::string name;  ///< name of the file: "map_cases"
  std::vector<Case> cases;
};

/// All groups.
std::vector<Group>& groups();

/// Adds a case of a file to `groups`.
struct Listed {
  explicit Listed(const Case& test, std::string_view file = __builtin_FILE());
};

/// Defines a case with its subject and its name; `hand` is the user.
#define CASE(about, name)                                \
  void name(Hand& hand);                                 \
  const Listed listed_##name(Case{#about, #name, name}); \
  void name(Hand& hand)

}  // namespace attoscope::testing
