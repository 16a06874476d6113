/// Rounding choices: one for each named step of attention.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "kernels/arithmetic/enum_array.h"
#include "kernels/arithmetic/format.h"

namespace attoscope {

/// Rounding of one step's result: none (stays in the working type), to the main format, or to its own format.
struct Rounding {
  enum class Kind : std::uint8_t { exact, main, format };
  Kind kind = Kind::exact;
  Format format{};          ///< read only if kind is `format`
  bool stochastic = false;  ///< stochastic rounding instead of to nearest; ignored if kind is `exact`

  friend constexpr bool operator==(const Rounding& x, const Rounding& y) {
    return x.kind == y.kind && (x.kind != Kind::format || x.format == y.format) &&
           (x.kind == Kind::exact || x.stochastic == y.stochastic);
  }
};
inline constexpr Rounding exact{};
inline constexpr Rounding to_main{Rounding::Kind::main, {}, false};
constexpr Rounding to_format(const Format& f) { return {Rounding::Kind::format, f, false}; }

/// The named steps, in the order of the data; the letters are FlashAttention-2's (arXiv 2307.08691, Algorithm 1).
enum class Step : std::uint8_t {
  input,
  qk_step,
  S,
  m,
  shifted,
  e,
  P,
  l_step,
  tile_sum,
  alpha,
  rescaled,
  l,
  pv_step,
  PV,
  O,
  output
};
inline constexpr int step_count = enum_count<Step>();

/// Texts and properties of one rounding step.
struct StepInfo {
  Step step;
  std::string_view name, what;       ///< name in files and menus; the value that is rounded
  std::string_view effect, formula;  ///< effect of the rounding; its formula
  std::string_view line;             ///< line in Algorithm 1 of FlashAttention-2 (arXiv 2307.08691)
  bool rescales = false;             ///< used only with several tiles
  bool is_score = false;             ///< a score or a max of scores, with the unit and limits of scores
};
inline constexpr std::array<StepInfo, step_count> step_infos{{
    {Step::input, "input", "Q, K, V, before anything; the golden value sees the same rounded inputs",
     "Q, K and V before anything else. a's choice rounds them for all, the golden value included, so that it causes no error; "
     "b's own is applied on top.",
     "Q = round(Q), K = round(K), V = round(V)", "what lines 4 and 7 load"},
    {Step::qk_step, "qk_step", "the accumulator after every fma of q.k",
     "The accumulator of a score after every fma: d roundings in a row.", "acc = round(fma(q_i, k_i, acc)), i = 1 .. d",
     "within line 8"},
    {Step::S, "S", "scale * (q.k), one multiplication",
     "The finished score, one multiplication. Its absolute error becomes a relative one of e: from 8 to 16 half an ulp of bf16 "
     "is 3 %.",
     "S = round(scale * q.k)", "line 8", false, true},
    {Step::m, "m", "running max, as stored",
     "The running max as it is stored. Any m cancels in O / l as long as e, l and O use the same one.",
     "m = round(max(m_old, max S))", "line 9", false, true},
    {Step::shifted, "shifted", "S - m",
     "The argument of exp. It is small near the max, where P is large; far from the max its error is large but P is small.",
     "x = round(S - m)", "within line 9"},
    {Step::e, "e", "exp(S - m)", "The exponential itself, 1 at the max.", "e = round(exp(S - m))", "line 9"},
    {Step::P, "P", "e as it enters P.V (three-pass: e/l)",
     "e as it enters P.V: tensor cores take 16 or 8 bits. Three passes divide by l first. Values that are too small become 0 "
     "here.",
     "P = round(e)   three passes: P = round(e / l)", "line 10"},
    {Step::l_step, "l_step", "row sum after every addition",
     "The row sum within a tile, after every addition: block_k roundings in a row, and small terms are lost in a large sum.",
     "sum = round(sum + e_j), j = 1 .. block_k", "rowsum of line 9"},
    {Step::tile_sum, "tile_sum", "the tile's sum as handed over", "The tile's row sum, once, as it is handed over.",
     "rowsum = round(sum_j e_j)", "rowsum of line 9"},
    {Step::alpha, "alpha", "exp(m_old - m_new)",
     "Corrects the old state where the max has moved; it is exactly 1 where it has not.", "alpha = round(exp(m_old - m))",
     "lines 9 and 10", true},
    {Step::rescaled, "rescaled", "the products alpha*l and alpha*O", "The old l and the old O, corrected.",
     "round(alpha * l), round(alpha * O)", "lines 9 and 10", true},
    {Step::l, "l", "running row sum, as stored", "The running row sum as it is stored after each tile: N / block_k roundings.",
     "l = round(alpha * l + rowsum)", "line 9"},
    {Step::pv_step, "pv_step", "P.V after every fma",
     "The accumulator of P.V after every fma: block_k roundings in a row for each element.",
     "acc = round(fma(P_j, v_j, acc)), j = 1 .. block_k", "within line 10"},
    {Step::PV, "PV", "the tile's P.V as handed over",
     "The tile's P.V, once, before it is added to O. Where P.V continues in O there is no such value.", "PV = round(P V)",
     "within line 10"},
    {Step::O, "O", "running output, as stored", "The running output as it is stored after each tile: N / block_k roundings.",
     "O = round(alpha * O + P V)", "line 10"},
    {Step::output, "output", "O/l at the end (three-pass: O)",
     "The output that is written. This rounding cannot be avoided: it is the least error in D.",
     "out = round(O / l)   three passes: out = round(O)", "lines 12 and 14"},
}};
static_assert(is_in_order(step_infos, &StepInfo::step));
constexpr const StepInfo& info(Step s) { return step_infos[static_cast<std::size_t>(s)]; }
constexpr std::string_view name(Step s) { return info(s).name; }

/// Rounding of every step, and two options.
struct Precision {
  std::array<Rounding, step_count> steps{};
  bool sum_rounded_P = false;    ///< l sums P instead of e (flash algorithms)
  bool accumulate_in_O = false;  ///< P.V accumulates in the rescaled O, not in a fresh accumulator that is added later

  constexpr Rounding& operator[](Step s) { return steps[static_cast<std::size_t>(s)]; }
  constexpr const Rounding& operator[](Step s) const { return steps[static_cast<std::size_t>(s)]; }
  friend constexpr bool operator==(const Precision&, const Precision&) = default;
};

/// The format that `r` rounds to if the main format is `main`. `r` must not be exact.
constexpr const Format& format_of(const Rounding& r, const Format& main) {
  return r.kind == Rounding::Kind::main ? main : r.format;
}

}  // namespace attoscope
