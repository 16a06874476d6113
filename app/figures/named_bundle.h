/// A figure of the papers, asked for, computed and written.
#pragma once

#include <functional>
#include <string>

#include "app/figures/bundle.h"
#include "app/figures/named.h"
#include "app/sweep/point_cache.h"

namespace attoscope {

/// Which figure, by which settings.
struct AskedFigure {
  std::string name;
  FigureSettings settings;

  friend bool operator==(const AskedFigure&, const AskedFigure&) = default;
};

/// Throws std::invalid_argument in a sentence where there is no such figure or its policy is none of Flash Attention.
void validate(const AskedFigure& asked);

/// `attoscope.figure/1`: what `parse_asked_figure` reads.
Json asked_json(const AskedFigure& asked);
/// Throws std::runtime_error in a sentence about the first thing that cannot be used.
AskedFigure parse_asked_figure(const std::string& text);

/// The sweep's answers, all of them: from the cache, or computed. Throws std::runtime_error in a sentence where it was stopped
/// or a point cannot be computed.
std::vector<SweepAnswer> complete_answers(const Sweep& sweep, const SweepOptions& options);

/// How many points the figure consists of.
std::size_t point_count(const AskedFigure& asked);

/// Computes what the cache does not know and makes the figure.
Figure figure_of(const AskedFigure& asked, const SweepOptions& options);
/// What is written beside it.
Json reproduction(const AskedFigure& asked, const Figure& figure);

}  // namespace attoscope
