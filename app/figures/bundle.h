/// A figure's files together: the picture, its data, its script, and the JSON that reproduces it.
#pragma once

#include <string>
#include <vector>

#include "app/figures/figure.h"
#include "app/figures/gnuplot.h"
#include "app/files/files.h"
#include "app/json/json.h"

namespace attoscope::app {

/// The look of a printed figure as typed; "" keeps the figure's own.
struct StyleArguments {
  std::string columns{};  ///< "1", "2" or "slide"
  std::string font{}, font_size{};
};
/// `style` with what was typed. Throws std::invalid_argument in a sentence.
FigureStyle typed_style(const StyleArguments& typed, FigureStyle style = {});
/// The style as a part of a bundle's JSON, and read back: `remarks` as in `read_settings`.
Json style_json(const FigureStyle& style);
FigureStyle parse_figure_style(std::string_view bundle, std::vector<std::string>& remarks);

/// The options of `attoscope figure` as typed; "" keeps the figure's own, or the bundle's.
struct FigureArguments {
  std::string what;  ///< a name, the .json or .zip of an earlier figure, or a session
  std::string out;   ///< FILE.pdf, .svg, .png or .tex, whose .csv, .gp and .json stand beside it; or FILE.zip
  std::string plot;  ///< of the window
  StyleArguments style{};
  std::string policy, n, d, seeds;
  bool all_policies = false, list = false, no_cache = false, strict = false;
};

/// The schema of every figure's JSON.
inline constexpr std::string_view figure_schema = "attoscope.figure/1";

/// The files of a bundle called so: the picture and those beside it, or the archive; none of "".
std::vector<std::string> bundle_files(const std::string& file);

/// A place for every file of a bundle, as `check_place` says of the option. Throws std::invalid_argument in a sentence where
/// `file` is neither a picture's name nor a .zip.
void check_bundle_place(const std::string& option, const std::string& file);

/// Stages FILE.pdf|svg|png|tex and, beside it, .csv, .gp and .json, of a .tex gnuplot's style files; or FILE.zip, which holds
/// the four with a picture in `in_zip`. Without gnuplot the picture alone is missing, and the sentence that says so is
/// returned; else "". Throws Stopped where that is cancelled.
std::string stage_bundle(StagedFiles& files, const std::string& file, const Figure& figure, const Json& reproduction,
                         PictureFormat in_zip = PictureFormat::pdf, const Cancelled& cancelled = {});

/// The same, written all or none; without gnuplot it then throws the sentence as std::runtime_error.
void write_bundle(const std::string& file, const Figure& figure, const Json& reproduction, const Cancelled& cancelled = {});

/// The JSON of a bundle: FILE.json itself, or the one within FILE.zip. Throws std::runtime_error in a sentence.
std::string read_bundle(const std::string& file);

/// `parse` of it; a std::runtime_error that it throws gets the file's name in front.
template <class F>
auto parsed_bundle(const std::string& file, F parse) {
  return named_in_errors(file, [&] { return parse(read_bundle(file)); });
}

}  // namespace attoscope::app
