/// Trainings at several seeds: the least, the mean and the greatest of a number.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "app/train/train_figures.h"

namespace attoscope {

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

}  // namespace attoscope
