#include "ui/frame/pseudo_code.h"

#include <algorithm>
#include <array>
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
/// The algorithms whose code is written here.
struct Code {
  Algorithm algorithm;
  std::string_view title;
  std::span<const Line> lines;
};
constexpr std::array<Code, 5> codes{{
    {Algorithm::three_pass, "three_pass: safe softmax", three_pass},
    {Algorithm::two_pass, "two_pass: online softmax", two_pass},
    {Algorithm::flash1, "flash1: one pass, O normalised at every tile", flash1},
    {Algorithm::flash2, "flash2: one pass, O divided once", flash2},
    {Algorithm::flash4, "flash4: flash2 with a max that stays while the new one exceeds it by little", flash2},
}};
static_assert(std::ranges::all_of(codes, [](const Code& c) { return c.lines.size() <= most_code_lines; }));

/// An algorithm's code; without lines where there is none.
Code code_of(Algorithm algorithm) {
  const auto* const found = std::ranges::find(codes, algorithm, &Code::algorithm);
  return found == codes.end() ? Code{} : *found;
}

}  // namespace

std::vector<CodeLine> pseudo_code(Algorithm algorithm) {
  std::vector<CodeLine> lines;
  for (const Line& line : code_of(algorithm).lines) lines.push_back({std::string(line.text), line.kind, line.pass});
  if (algorithm == Algorithm::flash4)
    std::ranges::find(lines, StepKind::max, &CodeLine::kind)->text = "  m = m' or max(m', S_t)";
  return lines;
}

std::string_view code_title(Algorithm algorithm) { return code_of(algorithm).title; }

}  // namespace attoscope
