// The figure of a language model: kernels in every layer and head, and the yardsticks of the same model.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <optional>
#include <stdexcept>

#include "app/model/model_files.h"
#include "app/model/model_plan.h"
#include "app/model/tokenizer.h"
#include "app/papers/figure_text.h"
#include "app/papers/planned_figure.h"
#include "app/words/numbers.h"
#include "kernels/experiment/kernel_presets.h"
#include "kernels/model/model_answer.h"

namespace attoscope::app::papers {
namespace {

/// Policies of Flash Attention and whole kernels, from the finest to the coarsest formats.
constexpr std::array<std::string_view, language_model_runs> shown_methods{"hw",    "eager",   "all_direct",
                                                                          "sage2", "fa3_fp8", "nvfp4"};
constexpr std::size_t shown_policies = 3;
constexpr std::array<const char*, 2> yardstick_names{"bf16", "order"};

/// A measure of a run, with the label of its axis.
struct ShownMeasure {
  const char* label;
  double (*of)(const RunMeasures&);
};
constexpr std::array<ShownMeasure, 3> shown_measures{
    {{"mean KL, nats", [](const RunMeasures& m) { return m.kl_mean; }},
     {"median |difference of log p|, nats", [](const RunMeasures& m) { return m.dlogp_median_abs; }},
     {"flips of the likeliest token", [](const RunMeasures& m) { return static_cast<double>(m.top1_flips); }}}};

/// Experiment of shown method i (as a) on the model's heads, with its main format.
Experiment experiment_of_method(std::size_t i, int n, int d) {
  const std::string name(shown_methods[i]);
  Experiment e = base_of({.policy = i < shown_policies ? name : "hw", .n = n, .d = d});
  e.problem.mask.kind = Mask::Kind::causal;
  return i < shown_policies ? e : with_kernel(std::move(e), kernel_preset(name));
}

/// The measures of each shown method, then of the two yardsticks.
std::vector<RunMeasures> measures_of_methods(ModelQuestion q, const Options& options, const std::function<void()>& finished) {
  std::array<std::optional<RunMeasures>, language_model_runs> found;
  std::array<Experiment, language_model_runs> methods;
  for (std::size_t i = 0; i < methods.size(); ++i)
    methods[i] = experiment_of_method(i, static_cast<int>(q.tokens.size()), q.model->architecture.head_dim);
  std::vector<RunMeasures> yardsticks;
  for (std::size_t i = 0; i < methods.size(); ++i) {
    if (found[i]) continue;
    std::size_t other = i + 1;  // b: the next method left with the same main format
    while (other < methods.size() && (found[other] || methods[other].format != methods[i].format)) ++other;
    const bool alone = other == methods.size();
    q.a = methods[i].a;
    q.b = methods[alone ? i : other].a;
    q.format = methods[i].format;
    q.yardsticks = yardsticks.empty();
    const ModelAnswer answer = answer_model(q, options);
    if (q.yardsticks) yardsticks = {answer.bf16, answer.order};
    found[i] = answer.a;
    finished();
    if (!alone) {
      found[other] = answer.b;
      finished();
    }
  }
  std::vector<RunMeasures> all;
  for (const std::optional<RunMeasures>& m : found) all.push_back(*m);
  all.insert(all.end(), yardsticks.begin(), yardsticks.end());
  return all;
}

ui::FigurePanel panel_of_measure(const ShownMeasure& measure, const std::vector<RunMeasures>& runs) {
  ui::FigurePanel p{.title = "", .x = {}, .y = ui::number_axis(measure.label), .series = {}, .heat = {}};
  p.series = {series_of("attention alone", ui::Ink::a, ui::Shape::marks),
              series_of("yardstick", ui::Ink::golden, ui::Shape::marks)};
  p.x.categories.assign(shown_methods.begin(), shown_methods.end());
  p.x.categories.insert(p.x.categories.end(), yardstick_names.begin(), yardstick_names.end());
  for (std::size_t i = 0; i < runs.size(); ++i) {
    ui::Series& s = p.series[i < shown_methods.size() ? 0 : 1];
    s.x.push_back(static_cast<double>(i));
    s.y.push_back(measure.of(runs[i]));
  }
  p.y.log = std::ranges::all_of(runs, [&](const RunMeasures& m) { return measure.of(m) > 0; });
  return p;
}

/// "hw 0.0063, eager 0.012": the medians.
std::string medians_text(const std::vector<RunMeasures>& runs) {
  std::string text;
  for (std::size_t i = 0; i < shown_methods.size(); ++i)
    text += fmt::format("{}{} {}", i == 0 ? "" : ", ", shown_methods[i], two_digits(runs[i].dlogp_median_abs));
  return text;
}

/// The methods that move the median token further than bf16 everywhere.
std::string coarser_text(const std::vector<RunMeasures>& runs) {
  std::vector<std::string_view> coarser;
  for (std::size_t i = 0; i < shown_methods.size(); ++i)
    if (runs[i].dlogp_median_abs > runs[shown_methods.size()].dlogp_median_abs) coarser.push_back(shown_methods[i]);
  return coarser.empty() ? "none of them moves it further" : fmt::format("further than that: {}", fmt::join(coarser, ", "));
}

}  // namespace

Figure language_model(const ui::FigureSettings& x, const Options& options, const std::function<void()>& finished) {
  const std::string checkpoint = fetched_checkpoint();
  if (checkpoint.empty())
    throw std::runtime_error(
        "the figure language-model needs SmolLM2-135M: app/fetch-model brings it (98 MB), then the same command draws it");
  const LanguageModel model = read_language_model(checkpoint);
  const ModelQuestion q{.model = &model, .tokens = tokens_of_text(std::string(shipped_text_names[0]), checkpoint, x.n)};
  const std::vector<RunMeasures> runs = measures_of_methods(q, options, finished);
  Figure f{.name = "language-model", .caption = {}, .panels = {}, .columns = 2, .panels_across = 3};
  for (const ShownMeasure& m : shown_measures) f.panels.push_back(panel_of_measure(m, runs));
  const RunMeasures &bf16 = runs[shown_methods.size()], &order = runs[shown_methods.size() + 1];
  f.caption = fmt::format(
      "Attention of every layer and head of SmolLM2-135M under each method, everything else exact, over {} tokens of the "
      "chronicle, from the exact model. The median token moves by (nats) {}; with bf16 everywhere (bf16) by {}; {}. order is "
      "that bf16 model with its sums in another order, from bf16: {}. The likeliest token is another one at {} of the "
      "positions with hw and at {} with bf16 everywhere; attoscope " ATTOSCOPE_VERSION ".",
      q.tokens.size(), medians_text(runs), two_digits(bf16.dlogp_median_abs), coarser_text(runs),
      two_digits(order.dlogp_median_abs), runs[0].top1_flips, bf16.top1_flips);
  return f;
}

}  // namespace attoscope::app::papers
