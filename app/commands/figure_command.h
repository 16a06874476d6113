/// `attoscope figure`: a paper's experiment, a sweep or a plot of the window as a picture, with its data, its script and what
/// reproduces it.
#pragma once

#include <ostream>

#include "app/figures/bundle.h"

namespace attoscope {

/// True if a plot of the window is asked for: by --plot, or by a bundle that says so. Throws as `read_bundle` does.
bool asks_for_plot(const FigureArguments& arguments);

/// Computes what is not known yet and writes the four files together; without gnuplot the three others, and then throws.
/// Progress goes to `terminal` (null: nowhere).
void figure(const FigureArguments& arguments, std::ostream& out, std::ostream* terminal);

}  // namespace attoscope
