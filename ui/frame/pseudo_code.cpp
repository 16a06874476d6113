#include "ui/frame/pseudo_code.h"

#include <algorithm>
#include <iterator>
#include <span>

namespace attoscope {

namespace {

/// A line of the code below.
struct Line {
  std::string_view text;
  std::optional<StepKind> kind{};
  int pass = -1;
};

constexpr Line three_pass[] = {
    {"m = -∞;  l = 0;  O = 0", StepKind::start},
    {"for j = 1 .. N", {}, 0},
    {"  m = max(m, S_j)", StepKind::max},
    {"for j = 1 .. N", {}, 1},
    {"  l = l + exp(S_j - m)", StepKind::sum},
    {"for j = 1 .. N", {}, 2},
    {"  P_j = exp(S_j - m) / l", StepKind::normalise},
    {"  O = O + P_j · V_j", StepKind::output},
    {"return O", StepKind::finish},
};
constexpr Line two_pass[] = {
    {"m = -∞;  l = 0;  O = 0", StepKind::start},
    {"for each tile t", {}, 0},
    {"  m' = m;  m = max(m', S_t)", StepKind::max},
    {"  α = exp(m' - m)", StepKind::alpha},
    {"  l = α·l + Σ exp(S_t - m)", StepKind::sum},
    {"for each tile t", {}, 1},
    {"  P = exp(S_t - m) / l", StepKind::normalise},
    {"  O = O + P · V_t", StepKind::output},
    {"return O", StepKind::finish},
};
constexpr Line flash1[] = {
    {"m = -∞;  l = 0;  O = 0", StepKind::start},
    {"for each tile t", {}, 0},
    {"  m~ = max(S_t)", StepKind::tile_max},
    {"  P = exp(S_t - m~)", StepKind::weights},
    {"  m' = m;  m = max(m', m~)", StepKind::max},
    {"  α = exp(m'-m);  β = exp(m~-m)", StepKind::alpha},
    {"  l' = l;  l = α·l' + β·Σ P", StepKind::sum},
    {"  O = (α·l'·O + β·P · V_t) / l", StepKind::output},
    {"return O", StepKind::finish},
};
constexpr Line flash2[] = {
    {"m = -∞;  l = 0;  O = 0", StepKind::start},    {"for each tile t", {}, 0},
    {"  m' = m;  m = max(m', S_t)", StepKind::max}, {"  α = exp(m' - m)", StepKind::alpha},
    {"  P = exp(S_t - m)", StepKind::weights},      {"  l = α·l + Σ P", StepKind::sum},
    {"  O = α·O + P · V_t", StepKind::output},      {"return O / l", StepKind::finish},
};
constexpr Line flash4[] = {
    {"m = -∞;  l = 0;  O = 0", StepKind::start}, {"for each tile t", {}, 0},
    {"  m = m' or max(m', S_t)", StepKind::max}, {"  α = exp(m' - m)", StepKind::alpha},
    {"  P = exp(S_t - m)", StepKind::weights},   {"  l = α·l + Σ P", StepKind::sum},
    {"  O = α·O + P · V_t", StepKind::output},   {"return O / l", StepKind::finish},
};

static_assert(std::max({std::size(three_pass), std::size(two_pass), std::size(flash1), std::size(flash2), std::size(flash4)}) ==
              most_code_lines);

std::span<const Line> lines_of(Algorithm algorithm) {
  switch (algorithm) {
    case Algorithm::three_pass:
      return three_pass;
    case Algorithm::two_pass:
      return two_pass;
    case Algorithm::flash1:
      return flash1;
    case Algorithm::flash2:
      return flash2;
    case Algorithm::flash4:
      return flash4;
    default:
      return {};
  }
}

}  // namespace

std::vector<CodeLine> pseudo_code(Algorithm algorithm) {
  std::vector<CodeLine> lines;
  for (const Line& line : lines_of(algorithm)) lines.push_back({std::string(line.text), line.kind, line.pass});
  return lines;
}

std::string_view code_title(Algorithm algorithm) {
  switch (algorithm) {
    case Algorithm::three_pass:
      return "three_pass: safe softmax";
    case Algorithm::two_pass:
      return "two_pass: online softmax";
    case Algorithm::flash1:
      return "flash1: one pass, O normalised at every tile";
    case Algorithm::flash2:
      return "flash2: one pass, O divided once";
    case Algorithm::flash4:
      return "flash4: flash2 with a max that stays while the new one exceeds it by little";
    default:
      return "";
  }
}

}  // namespace attoscope
