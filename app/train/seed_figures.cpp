// The named figures of trainings at several seeds: a line for each pair, its mean, least and greatest.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <string_view>

#include "app/train/seed_bands.h"
#include "app/train/weight_measures.h"

namespace attoscope {
namespace {

/// Wasserstein-1 of a line where it was measured last; NaN where there is no such line.
double last_distance(const std::vector<SeedLine>& lines, std::string_view label) {
  const auto line = std::ranges::find(lines, label, &SeedLine::label);
  return line == lines.end() || line->found.empty() ? NAN : band_of(line->found.back(), &WeightDeviation::wasserstein).mean;
}
double first_distance(const std::vector<SeedLine>& lines, std::string_view label) {
  const auto line = std::ranges::find(lines, label, &SeedLine::label);
  return line == lines.end() || line->found.empty() ? NAN : band_of(line->found.front(), &WeightDeviation::wasserstein).mean;
}

std::string seeds_text(const FigureSettings& settings) {
  return settings.seeds == 1 ? "seed 1" : fmt::format("mean, least and greatest over seeds 1 to {}", settings.seeds);
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
  const std::vector<SeedLine> lines = seed_lines(records);
  Figure f = bands_figure("train-weights", lines);
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
  const std::vector<SeedLine> lines = seed_lines(records);
  Figure f = bands_figure("train-reference", lines);
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
