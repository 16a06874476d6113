/// The algorithms as a student writes them, each line tied to what it does.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "kernels/questions/stepper.h"

namespace attoscope {

struct CodeLine {
  std::string text;                ///< with its indent
  std::optional<StepKind> kind{};  ///< that it does; none: a line of the loop
  int pass = -1;                   ///< a loop over the scores: which
};
/// The code of the five algorithms that the stepper knows; empty for others.
std::vector<CodeLine> pseudo_code(Algorithm algorithm);
inline constexpr std::size_t most_code_lines = 9;  ///< lines of the longest of them
/// "safe softmax, three passes".
std::string_view code_title(Algorithm algorithm);

}  // namespace attoscope
