/// Figures drawn by gnuplot: the script, and its picture.
#pragma once

#include <string>
#include <vector>

#include "app/figures/figure.h"
#include "kernels/compute.h"

namespace attoscope::app {

/// tikz: a picture that LaTeX draws with the document's own fonts.
enum class PictureFormat : std::uint8_t { pdf, svg, png, tikz };
/// The format for a file name's ending. Throws std::invalid_argument in a sentence.
PictureFormat picture_format(const std::string& file);
/// ".pdf"
std::string picture_ending(PictureFormat format);

/// gnuplot's files that a document needs to draw TikZ pictures: \usepackage{gnuplot-lua-tikz}.
std::vector<std::string> style_files(PictureFormat format);

/// A script that contains the data and draws the figure into `stem`.pdf, .svg, .png or .tex in the current directory. Texts are
/// escaped: no character of a label is a command of gnuplot. `stem` has only letters, digits, - and _.
std::string gnuplot_script(const Figure& figure, PictureFormat format, const std::string& stem);

/// Runs the script and returns the bytes of `files`, which it makes. Throws std::runtime_error in a sentence, which names the
/// package if gnuplot is missing; throws Stopped if cancelled, after killing gnuplot, or if SIGINT or SIGTERM ended gnuplot.
std::vector<std::string> drawn(const std::string& script, const std::vector<std::string>& files,
                               const Cancelled& cancelled = {});

}  // namespace attoscope::app
