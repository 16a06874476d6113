// The table of the FlashAttention-3 paper.
#include <fmt/format.h>

#include <cmath>

#include "app/papers/paper_figures.h"
#include "app/papers/parts.h"
#include "app/papers/seen.h"
#include "kernels/compute.h"
#include "kernels/experiment/presets.h"
#include "kernels/experiment/result.h"

namespace attoscope::papers {
namespace {

/// RMS errors of a and b against the truth for the inputs before they were rounded.
struct RawErrors {
  double flash = 0, three_pass = 0;
};
RawErrors raw_errors(Experiment e) {
  const Result rounded = compute(e);
  e.a.precision[Step::input] = e.b.precision[Step::input] = {};
  const Result unrounded = compute(e);
  const Matrix& truth = *unrounded.golden;
  double a = 0, b = 0;
  for (std::size_t i = 0; i < truth.values.size(); ++i) {
    a += std::pow(rounded.a.values[i] - truth.values[i], 2);
    b += std::pow(rounded.b.values[i] - truth.values[i], 2);
  }
  const auto count = static_cast<double>(truth.values.size());
  return {std::sqrt(a / count), std::sqrt(b / count)};
}

/// The same over seeds, as bars named like those of `rounded`.
FigurePanel raw_panel(const FigureSettings& x, const FigurePanel& rounded, const Experiment& base) {
  FigurePanel panel = rounded;
  panel.title = "truth of the unrounded inputs";
  Series& s = panel.series[0];
  s.y.clear(), s.low.clear(), s.high.clear();
  for (const Format& format : {fp16, e4m3}) {
    std::vector<double> flash, three_pass;
    for (int seed = 1; seed <= x.seeds; ++seed) {
      Experiment e = base;
      e.format = format;
      e.problem.seed = static_cast<std::uint64_t>(seed);
      const RawErrors found = raw_errors(e);
      flash.push_back(found.flash), three_pass.push_back(found.three_pass);
    }
    for (const std::vector<double>& values : {three_pass, flash}) {
      const double count = static_cast<double>(values.size());
      double mean = 0, squares = 0;
      for (const double v : values) mean += v / count;
      for (const double v : values) squares += (v - mean) * (v - mean);
      const double deviation = values.size() > 1 ? std::sqrt(squares / (count - 1)) : 0;
      s.y.push_back(mean);
      if (x.seeds > 1) s.low.push_back(mean - deviation), s.high.push_back(mean + deviation);
    }
  }
  return panel;
}

}  // namespace

Figure fa3_table3(const FigureSettings& x, const AnswerSweep& answer) {
  FigureSettings own = x;
  own.policy = "hw";
  Experiment base = base_of(own);
  base.problem.input.kind = InputKind::outliers;
  const auto of = [&](const char* title, const Format& format, const char* rounding) {
    Experiment e = base;
    e.a.precision = policy(rounding).precision;
    e.a.algorithm = policy(rounding).algorithm;
    e.format = format;
    return NamedExperiment{title, e};
  };
  Figure f = bars("fa3-table3", x, answer,
                  {of("three-pass fp16", fp16, "base_eager"), of("flash fp16", fp16, "hw"),
                   of("three-pass e4m3", e4m3, "base_eager"), of("flash e4m3", e4m3, "hw")},
                  {"a.rms"}, true);
  f.columns = f.panels_across = 2;
  f.panels[0].title = "truth of the rounded inputs";
  f.panels[0].y.label = "RMS error";
  if (!(f.panels[0].series[0].y[0] > 0)) return f;  // its points are only counted
  f.panels.push_back(raw_panel(x, f.panels[0], base));
  f.panels[1].y.label = "RMS error";
  const auto ratio = [&](std::size_t panel) {
    const std::vector<double>& y = f.panels[panel].series[0].y;
    return two_digits(y[0] / y[1]);
  };
  f.caption = fmt::format(
      "RMS error on the outlier mix N(0,1) + N(0,100) Bernoulli(0.001) of the FlashAttention-3 paper. In fp16 three-pass "
      "attention has {} times the error of Flash Attention where the truth is that of the rounded inputs, as everywhere else "
      "in "
      "this program, and {} times where it is that of the unrounded ones, whose rounding is then part of both errors; the "
      "paper "
      "has 1.7. fp8 without block scales or incoherent processing, which are not emulated; N = {}, d = {}, seeds 1 to {}, "
      "attoscope " ATTOSCOPE_VERSION ".",
      ratio(0), ratio(1), x.n, x.d, x.seeds);
  return f;
}

}  // namespace attoscope::papers
