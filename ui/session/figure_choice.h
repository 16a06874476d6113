/// Plot of the window to be exported as a figure, and its format. Plain values.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>

namespace attoscope {

/// A part of the window that can be saved. `window` is a picture alone; `strip` is all plots of the recurrence.
enum class Plot : std::uint8_t {
  window,
  heat_map,
  strip,
  running_max,
  rescales,
  row_sum,
  largest_P,
  error,
  ulps,
  scatter,
  why,
  traffic,
  sweep,
  train_deviation,
  train_runs
};
inline constexpr std::array<std::string_view, 15> plot_names{
    "window", "heat_map", "strip", "running_max", "rescales", "row_sum",         "largest_P", "error",
    "ulps",   "scatter",  "why",   "traffic",     "sweep",    "train_deviation", "train_runs"};
/// True if the plot shows a training instead of an experiment's answer.
constexpr bool is_of_training(Plot p) { return p == Plot::train_deviation || p == Plot::train_runs; }

/// True if the plot's x axis is the tiles of the recurrence.
constexpr bool is_over_tiles(Plot p) { return p >= Plot::strip && p <= Plot::error; }

/// screen: a PNG of the pixels and a CSV. Others: a figure for print with its data, script and JSON.
enum class ExportAs : std::uint8_t { screen, pdf, svg, png };
inline constexpr std::array<std::string_view, 4> export_as_names{"screen", "pdf", "svg", "png"};

/// Format of an exported plot.
struct FigureChoice {
  ExportAs as = ExportAs::screen;
  bool two_columns = false;  ///< as wide as two columns of a page: 175 mm instead of 85 mm
  bool zip = false;          ///< one file instead of a folder
  bool shown_tiles = false;  ///< recurrence: the tiles that the window shows instead of all

  friend bool operator==(const FigureChoice&, const FigureChoice&) = default;
};

/// Settings of a named figure of the papers.
struct FigureSettings {
  std::string policy = "eager";  ///< of method a
  bool all_policies = false;     ///< draw every flash policy instead of one
  int n = 1024, d = 64, seeds = 5;

  friend bool operator==(const FigureSettings&, const FigureSettings&) = default;
};
inline constexpr int most_figure_n = 65536, most_figure_seeds = 10000;

}  // namespace attoscope
