// Which rounding step causes the error.
#include <algorithm>

#include "app/papers/paper_figures.h"
#include "app/papers/parts.h"
#include "app/papers/seen.h"

namespace attoscope::papers {

Figure attribution(const FigureSettings& x, const AnswerSweep& answer) {
  std::vector<NamedExperiment> experiments{{"all steps", base_of(x)}};
  for (int i = 0; i < step_count; ++i) {
    const auto step = static_cast<Step>(i);
    Experiment e = base_of(x);
    if (step == Step::input || e.a.precision[step].kind == Rounding::Kind::exact) continue;
    e.a.precision[step] = {};
    experiments.push_back({std::string(name(step)) + " exact", e});
  }
  Figure f = bars("attribution", x, answer, experiments, {"a.mean_abs"}, false);
  f.columns = 2;
  f.panels[0].y.min = 0;
  const std::vector<double>& y = f.panels[0].series[0].y;
  const auto least = static_cast<std::size_t>(std::ranges::min_element(y) - y.begin());
  f.caption = "Mean error of bf16 Flash Attention under policy " + x.policy +
              ", and with one rounding step at a time made exact. '" + f.panels[0].x.categories[least] +
              "' takes off most: " + two_digits(100 * (1 - y[least] / y[0])) + " % of the error; " + conditions(x, base_of(x));
  return f;
}

}  // namespace attoscope::papers
