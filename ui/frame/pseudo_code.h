/// Pseudo-code of the algorithms, each line tied to its step.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "kernels/experiment/algorithm.h"

namespace attoscope {

struct CodeLine {
  std::string text;                ///< with its indent
  std::optional<StepKind> kind{};  ///< its step; none: a line of the loop
  int pass = -1;                   ///< index of the loop over the scores
};
/// The code in the algorithm's row, to be changed; empty for algorithms without one.
inline std::vector<CodeLine> pseudo_code(Algorithm algorithm) {
  std::vector<CodeLine> lines;
  for (const AlgorithmLine& line : info(algorithm).code) lines.push_back({std::string(line.text), line.kind, line.pass});
  return lines;
}

}  // namespace attoscope
