/// Cases of the window: tests at its controls.
#pragma once

#include <span>
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
  std::string name;  ///< of the file: "map_cases"
  std::vector<Case> cases;
};

/// All groups.
std::vector<Group>& groups();

/// Adds cases of a file to `groups`.
struct Listed {
  explicit Listed(std::span<const Case> cases, std::string_view file = __builtin_FILE());
  explicit Listed(const Case& one, std::string_view file = __builtin_FILE()) : Listed(std::span(&one, 1), file) {}
};

/// Defines a case with its subject and its name; `hand` is the user.
#define CASE(about, name)                                \
  void name(Hand& hand);                                 \
  const Listed listed_##name(Case{#about, #name, name}); \
  void name(Hand& hand)

}  // namespace attoscope::testing
