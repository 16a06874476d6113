/// What a figure is drawn of, how and to where, as typed.
#pragma once

#include <string>

namespace attoscope {

/// The options as typed; "" keeps the figure's own, or the bundle's.
struct FigureArguments {
  std::string what;           ///< a name, the .json or .zip of an earlier figure, or a session
  std::string out;            ///< FILE.pdf, .svg or .png, whose .csv, .gp and .json stand beside it; or FILE.zip
  std::string plot, columns;  ///< of the window; 1 or 2
  std::string policy, n, d, seeds;
  bool all_policies = false, list = false, no_cache = false;
};

}  // namespace attoscope
