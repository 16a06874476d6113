// Over sequence length.
#include <algorithm>

#include "app/papers/paper_figures.h"
#include "app/papers/parts.h"
#include "app/papers/seen.h"

namespace attoscope::papers {
namespace {

/// One panel over N: a measure of every policy on both inputs.
FigurePanel over_lengths(const FigureSettings& x, const AnswerSweep& answer, const char* measure, const std::string& label) {
  FigurePanel panel = panel_of(numbers("N", 2), label);
  std::size_t index = 0;
  for (const std::string& rounding : policies_of(x)) {
    FigureSettings own = x;
    own.policy = rounding;
    const Axis lengths{"n", powers(std::min(128, x.n), 2 * x.n)};
    const Sweep sweep = two_axes(x, base_of(own), lengths, {"input", {"normal", "uniform"}});
    const auto answers = answer(sweep);
    for (const std::string& input : sweep.axes[1].values) {
      Series s = rows_series(sweep, rows(sweep, {measure}, answers), input, false);
      s.label = x.all_policies ? rounding + ", " + input : input;
      s.ink = series_ink(index++);
      s.dashed = input == "uniform";
      panel.series.push_back(std::move(s));
    }
  }
  return panel;
}

}  // namespace

Figure sequence_length(const FigureSettings& x, const AnswerSweep& answer) {
  Figure f = figure_of("sequence-length", 2);
  f.panels = {over_lengths(x, answer, "a_minus_b.mean_abs", "mean |flash - three-pass|"),
              over_lengths(x, answer, "a_minus_b.max_abs", "max |flash - three-pass|"),
              over_lengths(x, answer, "a.mean_abs/golden", "mean error / RMS of output, flash"),
              over_lengths(x, answer, "b.mean_abs/golden", "mean error / RMS of output, three-pass")};
  const std::vector<Series>&mean = f.panels[0].series, &relative = f.panels[2].series;
  f.caption = "bf16 over sequence length, policy " + policies_of(x)[0] + ". The mean difference " + growth_words(mean[0]) +
              " on normal inputs and " + growth_words(mean[1]) +
              " on uniform ones: outputs are means of N values, which shrink like 1/sqrt(N) where values have both signs and "
              "do not where all are positive. Relative to the output Flash's error " +
              growth_words(relative[0]) + " and " + growth_words(relative[1]) + ". The paper's figure 5 rises, " +
              (growth(mean[1]) > 1.1 ? "as the uniform inputs here do; " : "unlike this one; ") +
              conditions(x, base_of(x), "n", "N(0,1) and uniform inputs");
  return f;
}

}  // namespace attoscope::papers
