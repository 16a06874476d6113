// The running max: how often it moves, and a stale one.
#include <fmt/format.h>

#include <utility>

#include "app/papers/paper_figures.h"
#include "app/papers/parts.h"
#include "app/papers/seen.h"

namespace attoscope::papers {
namespace {

/// FlashAttention-4 with ascending keys, P and nothing else rounded to the format; eight bits are lifted, as its kernels do.
Experiment stale_max(const FigureSettings& x, const std::string& format) {
  FigureSettings own = x;
  own.policy = "hw";
  Experiment e = base_of(own);
  e.a.algorithm = Algorithm::flash4;
  e.a.precision[Step::output] = {};
  e.a.p_exponent = format == "e4m3" ? 8 : 0;
  e.problem.input.kind = InputKind::ascending;
  return e;
}

}  // namespace

Figure rescales(const FigureSettings& x, const AnswerSweep& answer) {
  const Axis tiles{"block_k", powers(4, x.n)};
  const Sweep sweep = two_axes(x, base_of(x), tiles, {"input", {"normal", "ascending", "descending"}});
  const auto answers = answer(sweep);
  FigurePanel panel = panel_of(numbers("block_k", 2), "rescales per row");
  for (std::size_t i = 0; i < 3; ++i) {
    panel.series.push_back(rows_series(sweep, rows(sweep, {"rescales"}, answers), sweep.axes[1].values[i], false));
    panel.series.back().label = sweep.axes[1].values[i];
    panel.series.back().ink = series_ink(i);
  }
  panel.series.push_back(rows_series(sweep, rows(sweep, {"expected_rescales"}, answers), "normal", false));
  panel.series.back().label = "H_T - 1";
  panel.series.back().ink = Ink::golden;
  panel.series.back().dashed = true;
  panel.y.min = 0.01;
  Figure f = figure_of("rescales");
  f.panels.push_back(std::move(panel));
  const std::vector<Series>& all = f.panels[0].series;
  f.caption = "How often the running max of a row moves. With tiles of 4 keys it is " + two_digits(all[0].y.front()) +
              " for normal inputs, " + two_digits(all[1].y.front()) + " for ascending and " + two_digits(all[2].y.front()) +
              " for descending keys; H_T - 1, the expectation for scores in random order, is " + two_digits(all[3].y.front()) +
              "; " + conditions(x, sweep.base, "tile");
  return f;
}

Figure lag(const FigureSettings& x, const AnswerSweep& answer) {
  const Axis taus{"tau", {"0", "0.5", "1", "2", "4", "6", "8", "12", "16"}};
  const std::vector<std::string> types{"bf16", "fp16", "e4m3"};
  Figure f = figure_of("lag", 2);
  f.panels = {panel_of(numbers("tau"), "mean error / RMS of output"), panel_of(numbers("tau"), "rescales per row", false)};
  for (std::size_t i = 0; i < types.size(); ++i) {
    const Sweep sweep = two_axes(x, stale_max(x, types[i]), taus, {"format", {types[i]}});
    const auto answers = answer(sweep);
    for (const auto& [panel, measure] : {std::pair{0, "a.mean_abs/golden"}, std::pair{1, "rescales"}}) {
      // tau stays as varied: the sweep sets formats before it
      std::vector<Series>& series = f.panels[static_cast<std::size_t>(panel)].series;
      series.push_back(rows_series(sweep, rows(sweep, {measure}, answers), types[i], false));
      series.back().label = types[i];
      series.back().ink = series_ink(i);
    }
  }
  const auto last = [&](std::size_t i) { return two_digits(growth(f.panels[0].series[i])); };
  f.caption =
      "FlashAttention-4's stale max over its threshold tau, ascending keys, P alone rounded, in e4m3 lifted by 2^8. From "
      "tau 0 to 16 the error becomes " +
      last(0) + " times as large in bf16, " + last(1) + " times in fp16 and " + last(2) +
      " times in e4m3, where P saturates from tau = log2 448 - 8 = 0.81 on; the rescales fall from " +
      two_digits(f.panels[1].series[0].y.front()) + " to " + two_digits(f.panels[1].series[0].y.back()) +
      " a row. FlashAttention-4 uses tau 8 for 16 bits and 0 for 8, which fits; " +
      fmt::format("N = {}, d = {}, seeds 1 to {}, attoscope " ATTOSCOPE_VERSION ".", x.n, x.d, x.seeds);
  return f;
}

}  // namespace attoscope::papers
