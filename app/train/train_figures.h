/// Figures of trainings for print, after arXiv 2405.02803, figures 7 and 8.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "app/figures/figure.h"
#include "kernels/train/record.h"
#include "ui/session/session.h"

namespace attoscope::app {

/// Figure of Wasserstein-1 and relative L2 of every comparison over steps.
Figure train_weights_figure(const TrainRecord& record);
/// The same divided by the distance of another initialisation: compares a method with another seed. Throws
/// std::invalid_argument in a sentence if the record has no other initialisation.
Figure train_reference_figure(const TrainRecord& record);
/// train_reference_figure for a plan with references, else train_weights_figure.
Figure train_figure(const TrainRecord& record);

/// A distance of two models' weights over all tensors.
struct WeightMeasure {
  const char* label;
  double WeightDeviation::* value;
};
inline constexpr std::array<WeightMeasure, 2> weight_measures{
    {{"Wasserstein-1", &WeightDeviation::wasserstein}, {"relative L2", &WeightDeviation::rel_l2}}};

/// Two panels over steps, one for each measure, with `count` series curve(i, the measure's value); logarithmic if a value is
/// above 0.
template <class F>
Figure over_steps(const char* name, std::size_t count, const std::string& per, F curve) {
  Figure f;
  f.name = name;
  f.columns = f.panels_across = 2;
  for (const WeightMeasure& m : weight_measures) {
    ui::FigurePanel panel;
    panel.x.label = "training step";
    panel.x.whole = true;
    panel.y.label = m.label + per;
    for (std::size_t i = 0; i < count; ++i) panel.series.push_back(curve(i, m.value));
    panel.y.log = std::ranges::any_of(
        panel.series, [](const ui::Series& s) { return std::ranges::any_of(s.y, [](double y) { return y > 0; }); });
    f.panels.push_back(std::move(panel));
  }
  return f;
}

/// Lines of the figures over seeds that are not pairs of a single plan.
inline constexpr const char* other_tiles = "other tiles";
inline constexpr const char* in_half = "a - b in fp16";
inline constexpr const char* unskipped = "fp16 - fp32, loss scale 64";
inline constexpr double low_loss_scale = 64;

/// One training of a named figure. Its pair a - b belongs to `line`; other pairs of a plan with references have lines named
/// after them.
struct FigureTraining {
  std::string line;
  TrainPlan plan;
};
/// The trainings of the named figures: small models with eight tiles of keys, a under the chosen policy, at every seed.
/// `weights`: a and b; a and b each against exact attention (which rounds only its inputs); exact attention with other tiles.
/// `references`, longer: a and b with another initialisation and other formats; other tiles; fp16 and fp32 with a loss scale
/// under which nothing overflows; a and b in fp16.
std::vector<FigureTraining> weights_trainings(const ui::FigureSettings& settings);
std::vector<FigureTraining> reference_trainings(const ui::FigureSettings& settings);

/// The record of a FigureTraining.
struct FigureRecord {
  std::string line;
  TrainRecord record;
};
/// Figure of Wasserstein-1 and relative L2 of every line over steps: mean, least and greatest over the seeds; the caption has
/// the findings. The figure of references marks the steps that fp16's loss scale skipped.
Figure weights_over_seeds(const ui::FigureSettings& settings, std::span<const FigureRecord> records);
Figure references_over_seeds(const ui::FigureSettings& settings, std::span<const FigureRecord> records);

/// A comparison's measured steps with all seeds.
struct SeedLine {
  std::string label;
  std::vector<int> steps;
  std::vector<std::vector<WeightDeviation>> found;  ///< [step][seed]
};
/// Adds the comparisons of a record, grouped by name; its first pair is grouped by `line`.
void add_record(std::vector<SeedLine>& lines, const std::string& line, const TrainRecord& record);

/// Least, mean and greatest over the seeds; all NaN if no seed has a number.
struct SeedBand {
  double least = 0, mean = 0, greatest = 0;
};
/// Band of values without NaN.
SeedBand band_of(const std::vector<double>& values);
SeedBand band_of(const std::vector<WeightDeviation>& found, double WeightDeviation::* value);

/// Figure of Wasserstein-1 and relative L2 of every line over steps: mean, and bars from least to greatest.
Figure bands_figure(const char* name, const std::vector<SeedLine>& lines);

/// Sets a's policy, and its backward pass to the usual one of that policy.
void use_policy(TrainPlan& plan, const std::string& policy_of_a);

/// "a is bf16 flash2 eager, b is bf16 three_pass base_eager; 2 layers x 64, ...": the training conditions, for the end of every
/// caption. `by_letter` false: "bf16 flash2 eager against bf16 three_pass base_eager; ...", for curves with the methods' names.
std::string training_conditions(const TrainRecord& record, bool by_letter = true);

}  // namespace attoscope::app
