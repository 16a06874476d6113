/// The algorithms: one row each, with its names, texts, pseudo-code and properties.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "kernels/arithmetic/precision.h"
#include "kernels/arithmetic/quoted.h"

namespace attoscope {

/// Described by the rows of `algorithm_infos`.
enum class Algorithm : std::uint8_t { three_pass, two_pass, flash1, flash2, flash4, split_kv, hardware, loaded };

/// The action of one line of an algorithm. In flash1, `alpha` computes beta too. `scores` exists if Q and K are not taken as
/// given, `store` if P is stored with a scale.
enum class StepKind : std::uint8_t { start, max, tile_max, alpha, weights, sum, normalise, output, finish, scores, store };

/// Numbers that one execution of a line moves between HBM and the chip, for one row of Q.
struct LineTraffic {
  int per_key = 0;            ///< numbers for each of the line's keys beyond rows of K and V
  bool K = false, V = false;  ///< moves the rows of its keys
  bool q = false, O = false;  ///< moves the row
  int others = 0;             ///< m, l or the log-sum-exp
};

/// A line of pseudo-code.
struct AlgorithmLine {
  std::string_view text;           ///< with its indent
  std::optional<StepKind> kind{};  ///< its action; none for the head of a loop
  int pass = -1;                   ///< for the head of a loop: index of its pass over the scores
  LineTraffic moved{};
};

namespace algorithm_code {

inline constexpr std::string_view start = "m = -∞;  l = 0;  O = 0", each_tile = "for each tile t";
inline constexpr AlgorithmLine three_pass[] = {
    {start, StepKind::start, -1, {.q = true}},
    {"for j = 1 .. N", {}, 0},
    {"  m = max(m, S_j)", StepKind::max, -1, {.per_key = 2, .K = true}},  // S written out, and read again
    {"for j = 1 .. N", {}, 1},
    {"  l = l + exp(S_j - m)", StepKind::sum},
    {"for j = 1 .. N", {}, 2},
    {"  P_j = exp(S_j - m) / l", StepKind::normalise, -1, {.per_key = 2}},  // P written out, and read again
    {"  O = O + P_j · V_j", StepKind::output, -1, {.V = true}},
    {"return O", StepKind::finish, -1, {.O = true}},
};
inline constexpr AlgorithmLine two_pass[] = {
    {start, StepKind::start, -1, {.q = true}},
    {each_tile, {}, 0},
    {"  m' = m;  m = max(m', S_t)", StepKind::max, -1, {.K = true}},
    {"  α = exp(m' - m)", StepKind::alpha},
    {"  l = α·l + Σ exp(S_t - m)", StepKind::sum},
    {each_tile, {}, 1},
    {"  P = exp(S_t - m) / l", StepKind::normalise, -1, {.K = true}},
    {"  O = O + P · V_t", StepKind::output, -1, {.V = true}},
    {"return O", StepKind::finish, -1, {.O = true}},
};
inline constexpr AlgorithmLine flash1[] = {
    {start, StepKind::start},
    {each_tile, {}, 0},
    {"  m~ = max(S_t)", StepKind::tile_max, -1, {.K = true, .q = true, .O = true, .others = 2}},
    {"  P = exp(S_t - m~)", StepKind::weights},
    {"  m' = m;  m = max(m', m~)", StepKind::max},
    {"  α = exp(m'-m);  β = exp(m~-m)", StepKind::alpha},
    {"  l' = l;  l = α·l' + β·Σ P", StepKind::sum},
    {"  O = (α·l'·O + β·P · V_t) / l", StepKind::output, -1, {.V = true, .O = true, .others = 2}},
    {"return O", StepKind::finish},
};
inline constexpr std::array flash2{
    AlgorithmLine{start, StepKind::start, -1, {.q = true}},
    AlgorithmLine{each_tile, {}, 0},
    AlgorithmLine{"  m' = m;  m = max(m', S_t)", StepKind::max, -1, {.K = true}},
    AlgorithmLine{"  α = exp(m' - m)", StepKind::alpha},
    AlgorithmLine{"  P = exp(S_t - m)", StepKind::weights},
    AlgorithmLine{"  l = α·l + Σ P", StepKind::sum},
    AlgorithmLine{"  O = α·O + P · V_t", StepKind::output, -1, {.V = true}},
    AlgorithmLine{"return O / l", StepKind::finish, -1, {.O = true, .others = 1}},
};
inline constexpr auto flash4 = [] {
  auto lines = flash2;
  std::ranges::find(lines, StepKind::max, &AlgorithmLine::kind)->text = "  m = m' or max(m', S_t)";
  return lines;
}();

}  // namespace algorithm_code

struct AlgorithmInfo {
  Algorithm algorithm;
  std::string_view name;
  std::string_view what, formula;         ///< a sentence or two, and the recurrence
  bool is_emulated = true;                ///< by written rules of IEEE operations; has a trace and steps
  bool has_tiles = true;                  ///< false: all keys are one tile, and nothing is rescaled
  bool normalises_P = false;              ///< P is divided by l before P.V
  bool divides_at_the_end = false;        ///< O is divided by l once; P.V may be added to it after several tiles
  bool may_split = false;                 ///< the same kernel runs over one or several runs of tiles
  std::string_view title{};               ///< title of its code
  std::span<const AlgorithmLine> code{};  ///< the lines that the stepper follows; empty: not stepped
  std::string_view bytes{};               ///< numbers that a row moves between HBM and the chip
  std::string_view first_update = "O = P·V", update = "O = α·O + P·V";  ///< of O at a row's first tile, and at later tiles
  int traffic = -1;                  ///< counted as Algorithm 0: 0, FlashAttention: 1, FlashAttention-2: 2; -1: not counted
  std::string_view no_recurrence{};  ///< the reason why its state cannot be followed tile by tile; "": it can
};

/// All algorithms. three_pass: safe softmax (max; sum; normalise, then P.V). two_pass: arXiv 1805.02867. flash1: arXiv
/// 2205.14135, Algorithm 1. flash2: arXiv 2307.08691, Algorithm 1. split_kv: Flash-Decoding. hardware: a real kernel on a GPU's
/// tensor cores. loaded: no kernel is run; O was computed elsewhere and read from a file, `Experiment::loaded`.
inline constexpr auto algorithm_infos = std::to_array<AlgorithmInfo>({
    {.algorithm = Algorithm::three_pass,
     .name = "three_pass",
     .what = "Safe softmax: one pass for the max, one for the sum, one that normalises P and multiplies it by V. Nothing is "
             "rescaled.",
     .formula = "m = max S; l = sum exp(S - m)\nP = exp(S - m) / l; O = P V",
     .has_tiles = false,
     .normalises_P = true,
     .title = "three_pass: safe softmax",
     .code = algorithm_code::three_pass,
     .bytes = "q, O: 2 d;  K, V: 2 N d;  S and P written and read: 4 N",
     .first_update = "P = e / l  O = P·V",
     .traffic = 0,
     .no_recurrence =
         "Three passes: the max is known before the first exp, so there is no recurrence and nothing is rescaled."},
    {.algorithm = Algorithm::two_pass,
     .name = "two_pass",
     .what = "Online softmax (arXiv 1805.02867): one pass over the tiles for the running max and row sum, a second normalises "
             "P and multiplies it by V.",
     .formula = "m' = max(m, max S); l = exp(m - m') l + sum exp(S - m')\nthen P = exp(S - m) / l; O = P V",
     .normalises_P = true,
     .title = "two_pass: online softmax",
     .code = algorithm_code::two_pass,
     .bytes = "q, O: 2 d;  K twice, V: 3 N d",
     .first_update = "O waits for the second pass",
     .update = "O waits for the second pass"},
    {.algorithm = Algorithm::flash1,
     .name = "flash1",
     .what =
         "FlashAttention (arXiv 2205.14135), Algorithm 1: exp against the max of the tile alone, O divided by l at every tile.",
     .formula = "m' = max(m, m~); a = exp(m - m'), b = exp(m~ - m')\nl' = a l + b l~; O = (a l O + b P V) / l'",
     .title = "flash1: one pass, O normalised at every tile",
     .code = algorithm_code::flash1,
     .bytes = "K, V: 2 N d;  for every tile q, O, l, m in, O, l, m out: 3 d + 4",
     .first_update = "O = P·V / l",
     .update = "O = (α·l·O + β·P·V) / l",
     .traffic = 1},
    {.algorithm = Algorithm::flash2,
     .name = "flash2",
     .what = "FlashAttention-2 (arXiv 2307.08691), Algorithm 1: exp against the running max, O divided by l once, at the end.",
     .formula = "m' = max(m, max S); a = exp(m - m')\nl = a l + sum e; O = a O + P V",
     .divides_at_the_end = true,
     .may_split = true,
     .title = "flash2: one pass, O divided once",
     .code = algorithm_code::flash2,
     .bytes = "q, O: 2 d;  K, V: 2 N d;  log-sum-exp: 1",
     .traffic = 2},
    {.algorithm = Algorithm::flash4,
     .name = "flash4",
     .what = "FlashAttention-4: like flash2, but it keeps a stale max and skips the rescale while the new max exceeds it by at "
             "most tau.",
     .formula = "m' = m while (max S - m) log2 e <= tau, else max S\nl = a l + sum e; O = a O + P V",
     .divides_at_the_end = true,
     .title = "flash4: flash2 with a stale max while the new max is little larger",
     .code = algorithm_code::flash4,
     .bytes = "q, O: 2 d;  K, V: 2 N d;  log-sum-exp: 1",
     .traffic = 2},
    {.algorithm = Algorithm::split_kv,
     .name = "split_kv",
     .what = "Flash-Decoding: flash2 over several runs of tiles, merged by their log-sum-exp.",
     .formula = "O = sum_i w_i O_i / sum_i w_i\nw_i = exp(lse_i - max lse)",
     .divides_at_the_end = true,
     .may_split = true},
    {.algorithm = Algorithm::hardware,
     .name = "hardware",
     .what = "Not emulated: a FlashAttention kernel on a GPU's tensor cores. Its rounding is the device's, so its bits may "
             "differ from one device to another.",
     .formula = "mma.sync, fp32 accumulators, P in the input's type",
     .is_emulated = false,
     .traffic = 2,
     .no_recurrence =
         "Tensor cores do not show their running state: choose an emulated method for a to follow it tile by tile."},
    {.algorithm = Algorithm::loaded,
     .name = "loaded",
     .what = "Not computed: the output of your own kernel, read from a file and compared with golden for the same Q, K, V.",
     .formula = "",
     .is_emulated = false,
     .no_recurrence = "A loaded output has no recurrence: only a method computed here can be followed tile by tile."},
});
static_assert(is_in_order(algorithm_infos, &AlgorithmInfo::algorithm));
static_assert(std::ranges::is_partitioned(algorithm_infos, &AlgorithmInfo::is_emulated), "emulated algorithms come first");

constexpr const AlgorithmInfo& info(Algorithm a) { return algorithm_infos[static_cast<std::size_t>(a)]; }
constexpr std::string_view name(Algorithm a) { return info(a).name; }

/// The flag of the algorithm's row, from a compile-time bit mask: GPU code cannot read a table of the host.
template <bool AlgorithmInfo::* flag>
constexpr bool has(Algorithm a) {
  constexpr unsigned bits = [] {
    unsigned all = 0;
    for (const AlgorithmInfo& row : algorithm_infos) all |= row.*flag ? 1U << static_cast<unsigned>(row.algorithm) : 0U;
    return all;
  }();
  return (bits >> static_cast<unsigned>(a) & 1U) != 0;
}
constexpr bool is_emulated(Algorithm a) { return has<&AlgorithmInfo::is_emulated>(a); }
constexpr bool has_tiles(Algorithm a) { return has<&AlgorithmInfo::has_tiles>(a); }
constexpr bool normalises_P(Algorithm a) { return has<&AlgorithmInfo::normalises_P>(a); }
constexpr bool divides_at_the_end(Algorithm a) { return has<&AlgorithmInfo::divides_at_the_end>(a); }
/// True if the algorithm is emulated and has the rounding step.
constexpr bool has_step(Algorithm a, Step s) { return is_emulated(a) && (has_tiles(a) || !info(s).rescales); }
/// True if the stepper follows it.
constexpr bool is_stepped(Algorithm a) { return !info(a).code.empty(); }

/// The algorithms for which `accepts` holds, in the order of the table.
template <bool (*accepts)(Algorithm)>
inline constexpr auto algorithms_that = [] {
  constexpr auto count = static_cast<std::size_t>(std::ranges::count_if(algorithm_infos, accepts, &AlgorithmInfo::algorithm));
  std::array<Algorithm, count> all{};
  std::size_t i = 0;
  for (const AlgorithmInfo& row : algorithm_infos)
    if (accepts(row.algorithm)) all[i++] = row.algorithm;
  return all;
}();
inline constexpr auto emulated_algorithms = algorithms_that<is_emulated>;
inline constexpr auto stepped_algorithms = algorithms_that<is_stepped>;

/// The names of some algorithms.
template <std::size_t count>
constexpr std::array<std::string_view, count> algorithm_names_of(const std::array<Algorithm, count>& some) {
  std::array<std::string_view, count> names{};
  std::ranges::transform(some, names.begin(), [](Algorithm a) { return name(a); });
  return names;
}
constexpr bool is_algorithm(Algorithm) { return true; }
inline constexpr auto algorithm_names = algorithm_names_of(algorithms_that<is_algorithm>);
inline constexpr auto emulated_names = algorithm_names_of(emulated_algorithms);
inline constexpr auto stepped_names = algorithm_names_of(stepped_algorithms);
/// "three_pass, two_pass, flash1, flash2 or flash4".
inline std::string stepped_text() { return listed(stepped_names); }
/// Lines of the longest code.
inline constexpr std::size_t most_code_lines =
    std::ranges::max(algorithm_infos, {}, [](const AlgorithmInfo& row) { return row.code.size(); }).code.size();

}  // namespace attoscope
