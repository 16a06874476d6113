/// A figure of the papers, asked for, computed and written.
#pragma once

#include <cstdint>
#include <functional>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "app/figures/bundle.h"
#include "app/papers/named.h"
#include "app/sweep/point_cache.h"

namespace attoscope::app {

/// A hash of the weights that a run ended with.
struct WeightDigest {
  std::string run;
  std::uint64_t weights = 0;

  friend bool operator==(const WeightDigest&, const WeightDigest&) = default;
};

/// A named figure and its settings.
struct AskedFigure {
  std::string name;
  ui::FigureSettings settings{};
  std::optional<TrainPlan> plan{};      ///< of a training; none: as the settings say
  std::vector<WeightDigest> digests{};  ///< digests of that training when it was drawn first; empty: unknown

  friend bool operator==(const AskedFigure&, const AskedFigure&) = default;
};

/// True if it is made of a training. Throws as `named_figure` does.
bool trains(const AskedFigure& asked);
/// True if it is made of the fetched language model, which takes n alone of the settings. Throws as `named_figure` does.
bool runs_model(const AskedFigure& asked);

/// Throws std::invalid_argument in a sentence where there is no such figure, its policy is none of Flash Attention, or its plan
/// cannot be trained.
void validate(const AskedFigure& asked);

/// `attoscope.figure/1`: what `parse_asked_figure` reads.
Json asked_json(const AskedFigure& asked);
/// Throws std::runtime_error in a sentence about the first thing that cannot be used.
AskedFigure parse_asked_figure(const std::string& text);

/// The sweep's answers, all of them: from the cache, or computed. Throws std::runtime_error in a sentence where it was stopped
/// or a point cannot be computed.
std::vector<SweepAnswer> complete_answers(const Sweep& sweep, const SweepOptions& options);

/// The number of points, or of steps, that the figure consists of.
std::size_t point_count(const AskedFigure& asked);

/// Resources for making a figure, and its callbacks.
struct FigureWork {
  Cancelled cancelled{};                            ///< none: never
  PointCache* cache = nullptr;                      ///< of points; none: nothing is kept
  std::function<void(bool remembered)> finished{};  ///< a point of a sweep, or a step of a training
};
SweepOptions sweep_options(const FigureWork& work);

/// A figure, and what reproduces it.
struct MadeFigure {
  Figure figure;
  Json reproduction;
  std::string changed;  ///< which weights are not what they were when it was drawn first: a sentence; empty: none
};
/// Computes what the cache does not know, or trains, and makes the figure.
MadeFigure made_figure(const AskedFigure& asked, const FigureWork& work);

}  // namespace attoscope::app
