/// `attoscope figure`: a paper's experiment as a picture, with its data, its script and what reproduces it.
#pragma once

#include <ostream>
#include <string>

namespace attoscope {

/// The options as typed; "" keeps the figure's own, or the bundle's.
struct FigureArguments {
  std::string what;  ///< a name, or the .json of an earlier figure
  std::string out;   ///< FILE.pdf, .svg or .png; its .csv, .gp and .json stand beside it
  std::string policy, n, d, seeds;
  bool all_policies = false, list = false, no_cache = false, quiet = false;
};

/// Computes what is not known yet and writes the four files together; without gnuplot the three others, and then throws.
void figure(const FigureArguments& arguments, std::ostream& out, std::ostream& progress);

}  // namespace attoscope
