// By number format.
#include "app/papers/paper_figures.h"
#include "app/papers/parts.h"
#include "app/papers/seen.h"
#include "app/words/numbers.h"
#include "kernels/experiment/experiment_fields.h"

namespace attoscope::papers {
namespace {

/// What a difference is called in print.
const char* difference_label(std::string_view measure) {
  return measure.ends_with("max_abs") ? "max |flash - three-pass|" : "mean |flash - three-pass|";
}

/// a under each policy and b, against golden: one panel over `axis`.
FigurePanel against_golden(const Sweep& sweep, const FigureSettings& x, const std::vector<SweepAnswer>& answers,
                           FigureAxis axis, bool categories) {
  FigurePanel panel = panel_of(std::move(axis), "mean |error| from golden");
  const auto& names = sweep.axes[1].values;
  for (std::size_t i = 0; i < names.size(); ++i) {
    Series s = rows_series(sweep, rows(sweep, {"a.mean_abs"}, answers), names[i], categories);
    s.label = "flash, " + names[i];
    s.ink = x.all_policies ? series_ink(i) : Ink::a;
    panel.series.push_back(std::move(s));
  }
  Series b = rows_series(sweep, rows(sweep, {"b.mean_abs"}, answers), names[0], categories);
  b.label = "three-pass, base_eager";
  b.ink = Ink::b;
  b.dashed = true;
  panel.series.push_back(std::move(b));
  return panel;
}

}  // namespace

Figure format_difference(const FigureSettings& x, const AnswerSweep& answer) {
  const Sweep sweep = two_axes(x, base_of(x), formats(), {"policy", policies_of(x)});
  const auto answers = answer(sweep);
  Figure f = figure_of("format-difference", 2);
  for (const char* const measure : {"a_minus_b.mean_abs", "a_minus_b.max_abs"}) {
    FigurePanel panel = panel_of(names("format", formats().values), difference_label(measure));
    for (std::size_t i = 0; i < sweep.axes[1].values.size(); ++i) {
      Series s = rows_series(sweep, rows(sweep, {measure}, answers), sweep.axes[1].values[i], true);
      s.label = sweep.axes[1].values[i];
      s.ink = x.all_policies ? series_ink(i) : Ink::a;
      s.shape = Shape::line_and_marks;
      panel.series.push_back(std::move(s));
    }
    f.panels.push_back(std::move(panel));
  }
  const Series& first = f.panels[0].series[0];
  const double bf16_mean = value_at(f.panels[0], first, "bf16"), fp16_mean = value_at(f.panels[0], first, "fp16");
  f.caption = "Difference between Flash Attention under policy " + listed(policies_of(x)) +
              " and three-pass attention (base_eager) by number format. In fp16 the mean is 1/" +
              two_digits(bf16_mean / fp16_mean) + " of that in bf16, and fp32 and fp64 lie far below: the more precise the " +
              "format, the smaller the difference, as in the paper's figure 3; " + conditions(x, sweep.base);
  return f;
}

Figure format_golden(const FigureSettings& x, const AnswerSweep& answer) {
  const Sweep sweep = two_axes(x, base_of(x), formats(), {"policy", policies_of(x)});
  Figure f = figure_of("format-golden");
  f.panels.push_back(against_golden(sweep, x, answer(sweep), names("format", formats().values), true));
  const FigurePanel& panel = f.panels[0];
  const double ratio = value_at(panel, panel.series[0], "bf16") / value_at(panel, panel.series.back(), "bf16");
  f.caption =
      "Error of Flash Attention and of three-pass attention from the high-precision truth by number format. In bf16 Flash "
      "Attention under policy " +
      policies_of(x)[0] + " has " + two_digits(ratio) + " times the error of three-pass attention" +
      (ratio > 5 ? ", as the paper reports (about ten)" : "; the paper reports about ten") + "; " + conditions(x, sweep.base);
  return f;
}

}  // namespace attoscope::papers
