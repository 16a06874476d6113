// Figures of trainings at several seeds: a line for each pair, its mean and its spread.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <string_view>

#include "app/train/train_figures.h"
#include "app/train/weight_measures.h"
#include "ui/frame/pair_look.h"

namespace attoscope {
namespace {

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
  Figure f = over_steps(name, lines.size(), "", [&](std::size_t i, auto value) { return series_of(lines[i], i, value); });
  for (FigurePanel& panel : f.panels) panel.y.log = true;
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
