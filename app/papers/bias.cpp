// Ties and bias.
#include <fmt/format.h>

#include "app/files/paths.h"
#include "app/papers/paper_figures.h"
#include "app/papers/parts.h"
#include "app/papers/seen.h"
#include "kernels/experiment/presets.h"

namespace attoscope::papers {
namespace {

/// 128 keys with tied maxima and negative values, shipped with the presets; no inputs are drawn, so every seed is the same.
Experiment tied_maxima(double beta) {
  Experiment e = default_experiment();
  e.problem.input.kind = InputKind::tensors;
  e.problem.input.file = assets_directory() + "/presets/tied_maxima.safetensors";
  e.problem.n = 128;
  e.a.tie_beta = beta;
  return e;
}

/// P, O and the output are rounded, the rest is exact.
Experiment stored_in_bf16(Experiment e) {
  e.a.precision = policy("exact").precision;
  for (const Step step : {Step::P, Step::O, Step::output}) e.a.precision[step] = to_main;
  return e;
}

}  // namespace

Figure bias(const FigureSettings& x, const AnswerSweep& answer) {
  Experiment normal = base_of(x), signed_ties = base_of(x);
  signed_ties.problem.input.kind = InputKind::ties;
  Figure f = bars("bias", x, answer,
                  {{"normal", stored_in_bf16(normal)},
                   {"ties, V of both signs", stored_in_bf16(signed_ties)},
                   {"tied max, V < 0", stored_in_bf16(tied_maxima(0))},
                   {"the same, beta 2", stored_in_bf16(tied_maxima(2))},
                   {"the same, beta 3", stored_in_bf16(tied_maxima(3))}},
                  {"a.bias"}, false);
  f.panels[0].y.label = "signed mean error";
  const std::vector<double>& y = f.panels[0].series[0].y;
  f.caption = fmt::format(
      "Signed mean error of bf16 Flash Attention that rounds P, O and the output. With tied maxima and negative values it is "
      "{:.2g}, with beta = 2, which scales a tied maximum, {:.2g}: {} of it is left. With normal inputs, and with ties and "
      "values of both signs, it is {:.1g} and {:.1g}. The drift needs ties and one sign, as arXiv 2510.04212 says; N = {} "
      "where "
      "inputs are drawn, else 128, d = {}, seeds 1 to {}, attoscope " ATTOSCOPE_VERSION ".",
      y[2], y[3], two_digits(y[3] / y[2]), y[0], y[1], x.n, x.d, x.seeds);
  return f;
}

}  // namespace attoscope::papers
