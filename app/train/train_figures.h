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

/// Wasserstein-1 and relative L2 of every comparison over steps.
Figure train_weights_figure(const TrainRecord& record);
/// The same over those of another initialisation: how far a method's weights are beside those of another seed. Throws
/// std::invalid_argument in a sentence where the record has no other initialisation.
Figure train_reference_figure(const TrainRecord& record);
/// The second of a plan with references, else the first.
Figure train_figure(const TrainRecord& record);

/// A number of two models' weights over all tensors.
struct WeightMeasure {
  const char* label;
  double WeightDeviation::* value;
};
inline constexpr std::array<WeightMeasure, 2> weight_measures{
    {{"Wasserstein-1", &WeightDeviation::wasserstein}, {"relative L2", &WeightDeviation::rel_l2}}};

/// Two panels over steps: a measure each, of `count` comparisons as `curve(i, the measure's value)` makes them; logarithmic
/// where a value is above 0.
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

/// Lines of the figures over seeds that are no pair of a single plan.
inline constexpr const char* other_tiles = "other tiles";
inline constexpr const char* in_half = "a - b in fp16";
inline constexpr const char* unskipped = "fp16 - fp32, loss scale 64";
inline constexpr double low_loss_scale = 64;

/// One training of a named figure. Its pair a and b is the point of `line` at a seed; a plan with references has lines of its
/// pairs' names as well.
struct FigureTraining {
  std::string line;
  TrainPlan plan;
};
/// The trainings of the named figures: small models with eight tiles of keys, a under the chosen policy, at every seed.
/// `weights`: a and b, each of them and attention that rounds nothing but its inputs, and that attention with other tiles.
/// `references`, longer: a and b beside another initialisation and other formats, other tiles, fp16 and fp32 with a loss
/// scale under which nothing overflows, and a and b in fp16.
std::vector<FigureTraining> weights_trainings(const ui::FigureSettings& settings);
std::vector<FigureTraining> reference_trainings(const ui::FigureSettings& settings);

/// The result of one such training.
struct FigureRecord {
  std::string line;
  TrainRecord record;
};
/// Wasserstein-1 and relative L2 of every line over steps, mean, least and greatest over the seeds; the caption says what is
/// seen. In that of references the steps that fp16's loss scale skipped are marked.
Figure weights_over_seeds(const ui::FigureSettings& settings, std::span<const FigureRecord> records);
Figure references_over_seeds(const ui::FigureSettings& settings, std::span<const FigureRecord> records);

/// A comparison's measured steps, all seeds of a step together.
struct SeedLine {
  std::string label;
  std::vector<int> steps;
  std::vector<std::vector<WeightDeviation>> found;  ///< [step][seed]
};
/// The comparisons of all records by name; the first of a record by the name of its line.
std::vector<SeedLine> seed_lines(std::span<const FigureRecord> records);

/// A number over the seeds; all NaN where no seed has it.
struct SeedBand {
  double least = 0, mean = 0, greatest = 0;
};
/// NaN is left out.
SeedBand band_of(const std::vector<double>& values);
SeedBand band_of(const std::vector<WeightDeviation>& found, double WeightDeviation::* value);

/// Wasserstein-1 and relative L2 of every line over steps: the mean, and from the least to the greatest.
Figure bands_figure(const char* name, const std::vector<SeedLine>& lines);

/// a rounds where this policy does, in the backward pass as its kernels do.
void use_policy(TrainPlan& plan, const std::string& policy_of_a);

/// "a is bf16 flash2 eager, b is bf16 three_pass base_eager; 2 layers x 64, ...": what was trained, the end of every caption;
/// otherwise "bf16 flash2 eager against bf16 three_pass base_eager; ...", where the curves have the methods' names.
std::string training_conditions(const TrainRecord& record, bool by_letter = true);

}  // namespace attoscope::app
