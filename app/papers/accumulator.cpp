// What tensor cores add up over many keys.
#include <fmt/format.h>

#include "app/papers/paper_figures.h"
#include "app/papers/parts.h"
#include "app/papers/seen.h"
#include "kernels/experiment/presets.h"
#include "kernels/experiment/rules.h"

namespace attoscope::papers {
namespace {

/// One line: what adds up both products, after how many tiles it is flushed, the mean of V, and the colour.
struct Line {
  const char* label;
  Accumulator accumulator;
  int flush;
  double mean;
  std::size_t ink;
};
constexpr double biased_mean = 0.5;
constexpr std::array<Line, 8> fp8_lines{{{"fma", Accumulator::fma, 0, biased_mean, 0},
                                         {"b200", Accumulator::b200, 0, biased_mean, 1},
                                         {"ada", Accumulator::ada, 0, biased_mean, 2},
                                         {"h100", Accumulator::h100, 0, biased_mean, 3},
                                         {"h100, flush 4", Accumulator::h100, 4, biased_mean, 4},
                                         {"h100, flush 64", Accumulator::h100, 64, biased_mean, 5},
                                         {"h100, V of mean 0", Accumulator::h100, 0, 0, 3},
                                         {"fma, V of mean 0", Accumulator::fma, 0, 0, 0}}};
constexpr std::array<Line, 4> bf16_lines{{{"fma", Accumulator::fma, 0, biased_mean, 0},
                                          {"a100", Accumulator::a100, 0, biased_mean, 1},
                                          {"h100", Accumulator::h100, 0, biased_mean, 3},
                                          {"h100, flush 1", Accumulator::h100, 1, biased_mean, 4}}};

/// Tiles of 128 keys, P.V in O, an output that is not rounded, 64 rows: only the sums and P are seen.
Experiment question(const FigureSettings& x, const Format& format, const Line& line) {
  Experiment e = with_format(base_of(x), format);
  e.problem.input.kind = InputKind::biased;
  e.problem.input.value = line.mean;
  e.problem.rows = 64;
  e.a.precision = policy("hw").precision;
  e.a.precision[Step::output] = exact;
  e.a.block_q = e.a.block_k = 128;
  e.a.p_exponent = format == e4m3 ? 8 : 0;
  e.a.accumulator = {line.accumulator, line.accumulator};
  e.a.flush = line.flush;
  return e;
}

template <std::size_t count>
FigurePanel over_keys(const FigureSettings& x, const AnswerSweep& answer, const Format& format,
                      const std::array<Line, count>& lines) {
  FigurePanel panel = panel_of(numbers("N", 2), "mean error / RMS of output, " + name(format));
  for (std::size_t i = 0; i < count; ++i) {
    const Sweep sweep = two_axes(x, question(x, format, lines[i]), {"n", powers(x.n, 32 * x.n)}, {"d", {std::to_string(x.d)}});
    Series s = rows_series(sweep, rows(sweep, {"a.mean_abs/golden"}, answer(sweep)), sweep.axes[1].values[0], false);
    s.label = lines[i].label;
    s.ink = series_ink(lines[i].ink);
    s.dashed = lines[i].mean == 0;
    panel.series.push_back(std::move(s));
  }
  return panel;
}

}  // namespace

Figure accumulator(const FigureSettings& x, const AnswerSweep& answer) {
  Figure f = figure_of("accumulator", 2);
  f.panels = {over_keys(x, answer, e4m3, fp8_lines), over_keys(x, answer, bf16, bf16_lines)};
  const auto last = [&](std::size_t i) { return f.panels[0].series[i].y.back(); };
  const auto per_cent = [](double share) { return two_digits(100 * share); };
  f.caption = fmt::format(
      "Relative error over the number of keys, with the sums of several GPUs. Left: P and V in e4m3, P lifted by 2^8, V of "
      "mean {}. A Hopper tensor core keeps 13 bits below the largest term and cuts the rest towards zero, so that O loses "
      "{} % at {} keys; with fma it is {} %, with an accumulator that is added to O every 4 tiles {} %. Where V has mean 0 "
      "it is {} % on H100 and {} % with fma: such inputs do not show the drift. Right: bf16, where 24 or 25 bits are kept. "
      "On H100 the sums of e4m3 were recorded for c = 0 only: with another c, so from the second block on, the rule is a "
      "model. 64 rows, tiles of 128 keys, output not rounded, d = {}, seeds 1 to {}, attoscope " ATTOSCOPE_VERSION ".",
      biased_mean, per_cent(last(3)), f.panels[0].series[3].x.back(), per_cent(last(0)), per_cent(last(4)), per_cent(last(6)),
      per_cent(last(7)), x.d, x.seeds);
  return f;
}

}  // namespace attoscope::papers
