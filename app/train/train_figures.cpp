#include "app/train/train_figures.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <stdexcept>
#include <utility>

#include "app/session/report.h"
#include "app/train/text.h"
#include "kernels/experiment/presets.h"
#include "ui/frame/pair_look.h"

namespace attoscope {
namespace {

/// A number of two models' weights over all tensors.
struct WeightMeasure {
  const char* label;
  double WeightDeviation::* value;
};
constexpr std::array<WeightMeasure, 2> measures{
    {{"Wasserstein-1", &WeightDeviation::wasserstein}, {"relative L2", &WeightDeviation::rel_l2}}};

/// One comparison over its measured steps.
Series series_of(const PairRecord& pair, std::size_t i, double WeightDeviation::* value) {
  constexpr std::size_t few_points = 40;
  Series s;
  s.label = pair_label(pair.pair);
  s.ink = pair_ink(pair.pair, i);
  s.shape = pair.points.size() > few_points ? Shape::line : Shape::line_and_marks;
  s.dashed = is_dashed(pair.pair, i);
  for (const PairPoint& p : pair.points) {
    s.x.push_back(p.step);
    s.y.push_back(p.deviations[0].*value);
  }
  return s;
}

/// Every y over that of `unit` at the same step; NaN where that has none, or 0.
Series over(Series s, const Series& unit) {
  for (std::size_t i = 0; i < s.x.size(); ++i) {
    const auto at = std::ranges::find(unit.x, s.x[i]);
    const double by = at == unit.x.end() ? NAN : unit.y[static_cast<std::size_t>(at - unit.x.begin())];
    s.y[i] = by > 0 ? s.y[i] / by : NAN;
  }
  return s;
}

/// Two panels over steps: a measure each, of every comparison as `curve` makes it.
template <class F>
Figure over_steps(const char* name, const TrainRecord& record, const std::string& per, F curve) {
  Figure f;
  f.name = name;
  f.columns = f.panels_across = 2;
  for (const WeightMeasure& m : measures) {
    FigurePanel panel;
    panel.x.label = "training step";
    panel.x.whole = true;
    panel.y.label = m.label + per;
    for (std::size_t i = 0; i < record.pairs.size(); ++i) panel.series.push_back(curve(i, m.value));
    panel.y.log = std::ranges::any_of(panel.series,
                                      [](const Series& s) { return std::ranges::any_of(s.y, [](double y) { return y > 0; }); });
    f.panels.push_back(std::move(panel));
  }
  return f;
}

/// A model that is trained in a second: what it shows of rounding it shows in every step. Its keys are cut into eight tiles.
TrainPlan small_plan(const FigureSettings& settings, int seed) {
  constexpr int key_tiles = 8;
  TrainPlan plan = default_train_plan();
  plan.model = {.layers = 2, .width = 32, .heads = 2, .context = 64};
  plan.recipe.batch = 2;
  plan.recipe.steps = 120;
  plan.recipe.warmup = 10;
  plan.recipe.seed = plan.recipe.data_seed = static_cast<std::uint64_t>(seed);
  plan.measure_every = 12;
  use_policy(plan, settings.policy);
  plan.a.method.block_k = plan.b.method.block_k = plan.model.context / key_tiles;
  return plan;
}

/// Attention that rounds nothing but its inputs, in a model that rounds as `m` does.
TrainMethod with_exact_attention(TrainMethod m) {
  m.method.precision = policy("exact").precision;
  m.gradient = GradPrecision{.steps = {}, .delta_from = m.gradient.delta_from};
  return m;
}

TrainPlan of(TrainPlan plan, const TrainMethod& x, const TrainMethod& y) {
  plan.a = x;
  plan.b = y;
  return plan;
}

constexpr const char* other_tiles = "other tiles";
constexpr const char* in_half = "a - b in fp16";

/// The trainings of `weights` at a seed.
void add_seed(const FigureSettings& settings, int seed, std::vector<FigureTraining>& all) {
  const TrainPlan plan = small_plan(settings, seed);
  const TrainMethod of_a = with_exact_attention(plan.a), of_b = with_exact_attention(plan.b);
  TrainMethod cut = of_a;
  cut.method.block_k /= 2;
  all.push_back({"a - b", plan});
  all.push_back({"a - exact", of(plan, plan.a, of_a)});
  all.push_back({"b - exact", of(plan, plan.b, of_b)});
  all.push_back({other_tiles, of(plan, of_a, cut)});
}

/// The points of a line, all seeds of a step together.
struct Line {
  std::string label;
  std::vector<int> steps;
  std::vector<std::vector<WeightDeviation>> found;  ///< [step][seed]
};

void add_pair(std::vector<Line>& lines, const std::string& label, const PairRecord& pair) {
  auto line = std::ranges::find(lines, label, &Line::label);
  if (line == lines.end()) line = lines.insert(lines.end(), Line{label, {}, {}});
  for (const PairPoint& p : pair.points) {
    const auto at = static_cast<std::size_t>(std::ranges::find(line->steps, p.step) - line->steps.begin());
    if (at == line->steps.size()) line->steps.push_back(p.step), line->found.emplace_back();
    line->found[at].push_back(p.deviations[0]);
  }
}

std::vector<Line> lines_of(std::span<const FigureRecord> records) {
  std::vector<Line> lines;
  for (const FigureRecord& r : records)
    for (std::size_t i = 0; i < r.record.pairs.size(); ++i)
      add_pair(lines, i == 0 ? r.line : pair_label(r.record.pairs[i].pair), r.record.pairs[i]);
  return lines;
}

struct Spread {
  double mean = 0, deviation = 0;
};
Spread spread_of(const std::vector<WeightDeviation>& found, double WeightDeviation::* value) {
  const double count = static_cast<double>(found.size());
  Spread s;
  for (const WeightDeviation& d : found) s.mean += d.*value / count;
  for (const WeightDeviation& d : found) s.deviation += (d.*value - s.mean) * (d.*value - s.mean);
  s.deviation = found.size() > 1 ? std::sqrt(s.deviation / (count - 1)) : 0;
  return s;
}

Series series_of(const Line& line, std::size_t i, double WeightDeviation::* value) {
  constexpr std::array inks{Ink::a, Ink::one, Ink::two, Ink::golden, Ink::three, Ink::four, Ink::five, Ink::six, Ink::b};
  Series s;
  s.label = line.label;
  s.ink = inks[i % inks.size()];
  s.dashed = line.label == other_tiles || line.label == "another seed";
  for (std::size_t k = 0; k < line.steps.size(); ++k) {
    const Spread at = spread_of(line.found[k], value);
    s.x.push_back(line.steps[k]);
    s.y.push_back(at.mean);
    s.low.push_back(std::max(at.mean - at.deviation, at.mean / 4));  // a bar below 0 has no place on a log axis
    s.high.push_back(at.mean + at.deviation);
  }
  if (!line.found.empty() && line.found[0].size() < 2) s.low.clear(), s.high.clear();
  return s;
}

Figure figure_of(const char* name, const std::vector<Line>& lines) {
  Figure f;
  f.name = name;
  f.columns = f.panels_across = 2;
  for (const WeightMeasure& m : measures) {
    FigurePanel panel;
    panel.x.label = "training step";
    panel.x.whole = true;
    panel.y.label = m.label;
    panel.y.log = true;
    for (std::size_t i = 0; i < lines.size(); ++i) panel.series.push_back(series_of(lines[i], i, m.value));
    f.panels.push_back(std::move(panel));
  }
  return f;
}

/// Wasserstein-1 of a line where it was measured last; NaN where there is no such line.
double last_distance(const std::vector<Line>& lines, std::string_view label) {
  const auto line = std::ranges::find(lines, label, &Line::label);
  return line == lines.end() || line->found.empty() ? NAN : spread_of(line->found.back(), &WeightDeviation::wasserstein).mean;
}
double first_distance(const std::vector<Line>& lines, std::string_view label) {
  const auto line = std::ranges::find(lines, label, &Line::label);
  return line == lines.end() || line->found.empty() ? NAN : spread_of(line->found.front(), &WeightDeviation::wasserstein).mean;
}

std::string seeds_text(const FigureSettings& settings) {
  return settings.seeds == 1 ? "seed 1" : fmt::format("mean and standard deviation over seeds 1 to {}", settings.seeds);
}

/// What was trained, for a caption: the record of a and b, without its seed.
std::string conditions_of(const FigureSettings& settings, std::span<const FigureRecord> records) {
  std::string text = training_conditions(records.front().record);
  const std::string seed = fmt::format("seed {}", records.front().record.plan.recipe.seed);
  if (const auto at = text.find(seed); at != std::string::npos) text.replace(at, seed.size(), seeds_text(settings));
  return text;
}

}  // namespace

std::string training_conditions(const TrainRecord& record) {
  const TrainPlan& p = record.plan;
  const ModelShape& m = p.model;
  const auto words = [](const TrainMethod& x) { return name(x.format) + " " + method_text(x.method); };
  std::string text = fmt::format(
      "a is {}, b is {}; character-level GPT of {} layers x {}, {} heads, context {}, batch {}, {} of {} steps, seed {}, "
      "learns {}",
      words(p.a), words(p.b), m.layers, m.width, m.heads, m.context, p.recipe.batch, record.step, p.recipe.steps, p.recipe.seed,
      text_name(p.text));
  for (const Fork& fork : record.forks) text += fmt::format("; forked after step {}: {}", fork.step, fork.sentence);
  return text + "; attoscope " ATTOSCOPE_VERSION ".";
}

Figure train_weights_figure(const TrainRecord& record) {
  Figure f =
      over_steps("train-weights", record, "", [&](std::size_t i, auto value) { return series_of(record.pairs[i], i, value); });
  f.caption =
      "Difference of the weights of two models that learn the same batches from the same first weights, over training; " +
      training_conditions(record);
  return f;
}

Figure train_reference_figure(const TrainRecord& record) {
  const auto unit = std::ranges::find(record.pairs, Role::initialisation, [](const PairRecord& p) { return p.pair.role; });
  if (unit == record.pairs.end())
    throw std::invalid_argument("The training has no other initialisation to compare with, expected one of kind reference.");
  Figure f = over_steps("train-reference", record, " / that of another seed", [&](std::size_t i, auto value) {
    return over(series_of(record.pairs[i], i, value), series_of(*unit, i, value));
  });
  f.caption =
      "Difference of the weights of two models over training, relative to what another seed of b's first weights makes: the "
      "method beside "
      "number formats; " +
      training_conditions(record);
  return f;
}

Figure train_figure(const TrainRecord& record) {
  return record.plan.kind == TrainKind::reference ? train_reference_figure(record) : train_weights_figure(record);
}

void use_policy(TrainPlan& plan, const std::string& policy_of_a) {
  plan.a.method.algorithm = policy(policy_of_a).algorithm;
  plan.a.method.precision = policy(policy_of_a).precision;
  plan.a.gradient = usual_grad_policy(plan.a.method).precision;
}

std::vector<FigureTraining> weights_trainings(const FigureSettings& settings) {
  std::vector<FigureTraining> all;
  for (int seed = 1; seed <= settings.seeds; ++seed) add_seed(settings, seed, all);
  return all;
}

std::vector<FigureTraining> reference_trainings(const FigureSettings& settings) {
  std::vector<FigureTraining> all;
  for (int seed = 1; seed <= settings.seeds; ++seed) {
    add_seed(settings, seed, all);
    TrainPlan plan = small_plan(settings, seed);
    plan.a.format = plan.b.format = fp16;
    all.push_back({in_half, plan});
    all[all.size() - 5].plan.kind = TrainKind::reference;
  }
  return all;
}

Figure weights_over_seeds(const FigureSettings& settings, std::span<const FigureRecord> records) {
  const std::vector<Line> lines = lines_of(records);
  Figure f = figure_of("train-weights", lines);
  const double ab = last_distance(lines, "a - b"), control = last_distance(lines, other_tiles);
  f.caption = fmt::format(
      "Distance of the weights of two models that learn the same batches from the same first weights. At the end a - b is "
      "{:.2g} in Wasserstein-1, a - exact attention {:.2g} and b - exact attention {:.2g}. Two models with exact attention "
      "that differ in their tiles alone ('other tiles') are {:.2g} times a - b apart after the first step and {:.2g} times at "
      "the end{}. a - b {} over training, {} the paper's figure 7; ",
      ab, last_distance(lines, "a - exact"), last_distance(lines, "b - exact"),
      first_distance(lines, other_tiles) / first_distance(lines, "a - b"), control / ab,
      control > 0.5 * ab ? ", so that much of a - b is not the attention's own rounding" : "",
      ab > first_distance(lines, "a - b") ? "rises" : "does not rise",
      ab > first_distance(lines, "a - b") ? "as in" : "unlike");
  f.caption += conditions_of(settings, records);
  return f;
}

Figure references_over_seeds(const FigureSettings& settings, std::span<const FigureRecord> records) {
  const std::vector<Line> lines = lines_of(records);
  Figure f = figure_of("train-reference", lines);
  const double ab = last_distance(lines, "a - b"), seed = last_distance(lines, "another seed"),
               precision = last_distance(lines, "bf16 - fp32"), half = last_distance(lines, in_half);
  const bool agrees = ab < seed && seed < precision && precision > 2 * ab;
  f.caption = fmt::format(
      "Distance of the weights beside that of another seed and of other formats. In Wasserstein-1 a - b is {:.2g} times "
      "bf16 - fp32 and {:.2g} times another seed. The paper's figure 8 orders them a - b, initialisation, precision, with "
      "precision 2 to 5 times a - b: this figure {}. With a and b in fp16, a - b is 1/{:.2g} of bf16 - fp32; ",
      ab / precision, ab / seed, agrees ? "agrees" : "does not agree", precision / half);
  f.caption += conditions_of(settings, records);
  return f;
}

}  // namespace attoscope
