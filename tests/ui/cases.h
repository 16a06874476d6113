/// A case of the window: a test at its controls. Each file *_cases.cpp lists its own.
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
  std::span<const Case> cases;
};

/// All groups, as they were listed.
std::vector<Group>& groups();

/// Adds the cases of a file to `groups`.
struct Listed {
  explicit Listed(std::span<const Case> cases, std::string_view file = __builtin_FILE());
};

}  // namespace attoscope::testing
