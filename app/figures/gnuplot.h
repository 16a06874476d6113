/// Figures through gnuplot: the script, and the picture that it draws.
#pragma once

#include <string>

#include "app/figures/figure.h"
#include "kernels/compute.h"

namespace attoscope {

enum class PictureFormat : std::uint8_t { pdf, svg, png };
/// The format of the name's ending. Throws std::invalid_argument in a sentence.
PictureFormat picture_format(const std::string& file);
/// ".pdf"
std::string picture_ending(PictureFormat format);

/// A script that draws the figure into `stem`.pdf, .svg or .png in the current directory; the data are in it. Every text is
/// literal: no character of a label means anything to gnuplot. `stem` holds letters, digits, - and _ only.
std::string gnuplot_script(const Figure& figure, PictureFormat format, const std::string& stem);

/// The picture's bytes. Throws std::runtime_error in a sentence: one that names the package where there is no gnuplot; and
/// Stopped, once gnuplot has ended, where that is cancelled.
std::string drawn(const std::string& script, const std::string& picture_file, const Cancelled& cancelled = {});

}  // namespace attoscope
