/// Rounding choices: one for each named step of attention.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "kernels/arithmetic/format.h"

namespace attoscope {

/// Rounding of one step's result: none (the working type), to the main format, or to a format of its own.
struct Rounding {
  enum class Kind : std::uint8_t { exact, main, format };
  Kind kind = Kind::exact;
  Format format{};          ///< read only where kind is `format`
  bool stochastic = false;  ///< up or down with the probability of the distance, instead of to nearest; not where exact

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
inline constexpr int step_count = 16;

/// A step's name in files and menus, and what it rounds.
struct StepText {
  std::string_view name, what;
};
inline constexpr std::array<StepText, step_count> step_texts{{
    {"input", "Q, K, V, before anything; the golden value sees the same rounded inputs"},
    {"qk_step", "the accumulator after every fma of q.k"},
    {"S", "scale * (q.k), one multiplication"},
    {"m", "running max, as stored"},
    {"shifted", "S - m"},
    {"e", "exp(S - m)"},
    {"P", "e as it enters P.V (three-pass: e/l)"},
    {"l_step", "row sum after every addition"},
    {"tile_sum", "the tile's sum as handed over"},
    {"alpha", "exp(m_old - m_new)"},
    {"rescaled", "the products alpha*l and alpha*O"},
    {"l", "running row sum, as stored"},
    {"pv_step", "P.V after every fma"},
    {"PV", "the tile's P.V as handed over"},
    {"O", "running output, as stored"},
    {"output", "O/l at the end (three-pass: O)"},
}};
constexpr std::string_view name(Step s) { return step_texts[static_cast<std::size_t>(s)].name; }

/// Rounding of every step, and two flags.
struct Precision {
  std::array<Rounding, step_count> steps{};
  bool sum_rounded_P = false;    ///< l sums P instead of e (flash algorithms)
  bool accumulate_in_O = false;  ///< P.V continues in the rescaled O instead of a fresh accumulator that is then added

  constexpr Rounding& operator[](Step s) { return steps[static_cast<std::size_t>(s)]; }
  constexpr const Rounding& operator[](Step s) const { return steps[static_cast<std::size_t>(s)]; }
  friend constexpr bool operator==(const Precision&, const Precision&) = default;
};

/// The format that `r` rounds to when the main format is `main`; never call it for an exact one.
constexpr const Format& format_of(const Rounding& r, const Format& main) {
  return r.kind == Rounding::Kind::main ? main : r.format;
}

}  // namespace attoscope
