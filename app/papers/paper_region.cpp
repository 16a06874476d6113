// Where the factor of ten holds.
#include <algorithm>

#include "app/papers/paper_figures.h"
#include "app/papers/parts.h"
#include "app/papers/seen.h"

namespace attoscope::papers {
namespace {

/// "eager, uniform, 16": where a ratio lies around the paper's.
std::string places_of_ten(const Figure& f) {
  constexpr double least = 7, most = 14;
  std::string text;
  for (const FigurePanel& panel : f.panels)
    for (const Series& s : panel.series)
      for (std::size_t i = 0; i < s.x.size() && !s.dashed; ++i)
        if (s.y[i] >= least && s.y[i] <= most)
          text += (text.empty() ? "" : "; ") + s.label + ", " + panel.title + ", " + two_digits(s.x[i]);
  return text.empty() ? "nowhere" : text;
}

}  // namespace

Figure paper_region(const FigureSettings& x, const AnswerSweep& answer) {
  const Axis tiles{"block_k", powers(16, std::max(16, x.n / 4))}, inputs{"input", {"normal", "uniform"}};
  Figure f = figure_of("paper-region", 2);
  FigureSettings all = x;
  all.all_policies = true;
  for (const std::string& input : inputs.values) {
    f.panels.push_back(panel_of(numbers("keys a tile", 2), "mean error, flash / three-pass"));
    f.panels.back().title = input;
  }
  for (std::size_t i = 0; const std::string& rounding : policies_of(all)) {
    FigureSettings own = x;
    own.policy = rounding;
    const Sweep sweep = two_axes(x, base_of(own), tiles, inputs);
    const auto answers = answer(sweep);
    for (std::size_t p = 0; p < inputs.values.size(); ++p) {
      Series s = rows_series(sweep, rows(sweep, {"ratio.mean_abs"}, answers), inputs.values[p], false);
      s.label = rounding;
      s.ink = series_ink(i);
      f.panels[p].series.push_back(std::move(s));
    }
    ++i;
  }
  for (FigurePanel& panel : f.panels) {
    Series ten = attoscope::series_of("10", Ink::golden, Shape::line, panel.series[0].x);
    ten.dashed = true;
    ten.y.assign(ten.x.size(), 10);
    panel.series.push_back(std::move(ten));
  }
  f.caption =
      "Where the paper's statement, about ten times the deviation in bf16, holds: the ratio of the mean errors over "
      "policy, input and keys a tile. It lies between 7 and 14 at (policy, input, keys) " +
      places_of_ten(f) +
      ". The paper's rounding places and inputs are not in its abstract, so which of these is its setting is "
      "inferred; " +
      conditions(x, base_of(x), "tile", "N(0,1) and uniform inputs");
  return f;
}

}  // namespace attoscope::papers
