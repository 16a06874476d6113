/// A figure of the papers: its request, computation and JSON.
#pragma once

#include <cstdint>
#include <functional>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "app/figures/bundle.h"
#include "app/papers/named.h"
#include "app/sweep/point_cache.h"
#include "app/train/trained.h"

namespace attoscope::app {

/// Hash of a run's final weights.
struct WeightDigest {
  std::string run;
  std::uint64_t weights = 0;

  friend bool operator==(const WeightDigest&, const WeightDigest&) = default;
};

/// A named figure and its settings.
struct AskedFigure {
  std::string name;
  ui::FigureSettings settings{};
  std::optional<TrainPlan> plan{};      ///< plan of a training; none: from the settings
  int plan_seeds = 0;                   ///< trainings of the plan at this many seeds, drawn as bands; 0: its own seed alone
  std::vector<WeightDigest> digests{};  ///< digests of the training when first drawn; empty: unknown
  std::uint64_t points = 0;             ///< digest of the points of all sweeps when first drawn; 0: unknown

  friend bool operator==(const AskedFigure&, const AskedFigure&) = default;
};

/// True if the figure is made of a training. Throws as `named_figure`.
bool trains(const AskedFigure& asked);
/// True if the figure is made of the fetched language model, which uses only n of the settings. Throws as `named_figure`.
bool runs_model(const AskedFigure& asked);

/// Throws std::invalid_argument in a sentence if there is no such figure, its policy is not one of Flash Attention, or its plan
/// cannot be trained.
void validate(const AskedFigure& asked);

/// `attoscope.figure/1`: the JSON that `parse_asked_figure` reads.
Json asked_json(const AskedFigure& asked);
/// The digests of a training; `before` comes before the name of each run.
std::vector<WeightDigest> weight_digests(const Trained& trained, const std::string& before = {});
/// Parses `asked_json`. Throws std::runtime_error in a sentence on the first invalid field.
AskedFigure parse_asked_figure(const std::string& text);

/// All answers of a sweep, cached or computed. Throws std::runtime_error in a sentence if it was stopped or a point cannot be
/// computed.
std::vector<SweepAnswer> complete_answers(const Sweep& sweep, const SweepOptions& options);

/// Number of points, steps of training or runs of the model of a figure.
std::size_t point_count(const AskedFigure& asked);

/// The keys of the settings that change nothing in a figure of sweeps, such as "all_policies". Throws as `named_figure`.
std::vector<std::string_view> settings_without_effect(const std::string& name);

/// Resources for making a figure, and its callbacks.
struct FigureWork {
  Cancelled cancelled{};                            ///< empty: never
  PointCache* cache = nullptr;                      ///< cache of points; null: none
  std::function<void(bool remembered)> finished{};  ///< called after each point of a sweep or step of a training
};
SweepOptions sweep_options(const FigureWork& work);

/// A figure, and the JSON that reproduces it.
struct MadeFigure {
  Figure figure;
  Json reproduction;
  std::string changed;  ///< sentence on digests that differ from those asked for; "" if none
};
/// Computes points that are not cached, or trains, and makes the figure.
MadeFigure made_figure(const AskedFigure& asked, const FigureWork& work);

}  // namespace attoscope::app
