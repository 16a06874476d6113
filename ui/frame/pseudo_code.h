/// Pseudo-code of the algorithms, each line tied to its step.
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
  std::optional<StepKind> kind{};  ///< its step; none: a line of the loop
  int pass = -1;                   ///< index of the loop over the scores
};
/// Code of the five algorithms of the stepper; empty for others.
std::vector<CodeLine> pseudo_code(Algorithm algorithm);
inline constexpr std::size_t most_code_lines = 9;  ///< lines of the longest code
/// "safe softmax, three passes".
std::string_view code_title(Algorithm algorithm);

}  // namespace attoscope
