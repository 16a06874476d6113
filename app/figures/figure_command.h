/// `attoscope figure`: a paper's experiment, a sweep or a plot of the window as a picture, with its data, its script and what
/// reproduces it.
#pragma once

#include <ostream>
#include <string>

namespace attoscope {

/// The options as typed; "" keeps the figure's own, or the bundle's.
struct FigureArguments {
  std::string what;           ///< a name, the .json or .zip of an earlier figure, or a session
  std::string out;            ///< FILE.pdf, .svg or .png, whose .csv, .gp and .json stand beside it; or FILE.zip
  std::string plot, columns;  ///< of the window; 1 or 2
  std::string policy, n, d, seeds;
  bool all_policies = false, list = false, no_cache = false, quiet = false;
};

/// True if a plot of the window is asked for: by --plot, or by a bundle that says so. Throws as `read_bundle` does.
bool asks_for_plot(const FigureArguments& arguments);

/// Computes what is not known yet and writes the four files together; without gnuplot the three others, and then throws.
void figure(const FigureArguments& arguments, std::ostream& out, std::ostream& progress);

}  // namespace attoscope
