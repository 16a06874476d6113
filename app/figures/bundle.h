/// A figure's files: the picture, its data, its script, and the JSON that reproduces it.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
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
/// `style` changed by the typed options. Throws std::invalid_argument in a sentence.
FigureStyle typed_style(const StyleArguments& typed, FigureStyle style = {});
/// Writes the style as a part of a bundle's JSON, and reads it back; `remarks` as in `read_settings`.
Json style_json(const FigureStyle& style);
FigureStyle parse_figure_style(std::string_view bundle, std::vector<std::string>& remarks);

/// The options of `attoscope figure` as typed; "" keeps the figure's own, or the bundle's.
struct FigureArguments {
  std::string what;  ///< a name, the .json or .zip of an earlier figure, or a session
  std::string out;   ///< FILE.pdf, .svg, .png or .tex, written with .csv, .gp and .json beside it; or FILE.zip
  std::string plot;  ///< plot of the window
  StyleArguments style{};
  std::string policy, n, d, seeds;
  bool all_policies = false, list = false, no_cache = false, strict = false;
};

/// Throws std::invalid_argument with one sentence for an option of the papers' figures alone.
void refuse_settings_of_named(const FigureArguments& arguments);

/// The schema of every figure's JSON.
inline constexpr std::string_view figure_schema = "attoscope.figure/1";

/// Files of the bundle `file`: the picture and the files beside it, or the archive; empty for "".
std::vector<std::string> bundle_files(const std::string& file);

/// Calls `check_place` for every file of a bundle. Throws std::invalid_argument in a sentence if `file` is neither a picture's
/// name nor a .zip.
void check_bundle_place(const std::string& option, const std::string& file);

/// Stages FILE.pdf|svg|png|tex with .csv, .gp and .json beside it, for .tex also gnuplot's style files; or FILE.zip with the
/// four files, its picture in format `in_zip`. Without gnuplot only the picture is missing; returns a sentence on that, else
/// "". Throws Stopped if cancelled.
std::string stage_bundle(StagedFiles& files, const std::string& file, const Figure& figure, const Json& reproduction,
                         PictureFormat in_zip = PictureFormat::pdf, const Cancelled& cancelled = {});

/// Stages the bundle beside the other outputs of a command. Returns a sentence if the picture is missing, or if a signal
/// stopped the drawing, after which nothing of the bundle is staged; else "".
std::string stage_unless_interrupted(StagedFiles& files, const std::string& file, const Figure& figure,
                                     const Json& reproduction);

/// Stages the bundle and writes all files or none; throws the sentence as std::runtime_error after that.
void write_bundle(const std::string& file, const Figure& figure, const Json& reproduction, const Cancelled& cancelled = {});

/// The JSON of a bundle: FILE.json, or the .json in FILE.zip. Throws std::runtime_error in a sentence.
std::string read_bundle(const std::string& file);

/// A sentence on answers of a figure, such as "golden", whose bits are not those of its JSON's digests; "" without any.
std::string changed_bits(const std::vector<std::string_view>& changed);
/// `changed_bits` of the points of sweeps if their digest is not `then`; "" if `then` is 0: unknown.
std::string changed_points(std::uint64_t then, std::uint64_t now);
/// Throws std::runtime_error with such a sentence, unless it is "", on the figure that was drawn from `file` again as `out`.
void refuse_changed(const std::string& file, const std::string& changed, const std::string& out);

/// parse(read_bundle(file)); puts the file's name before the text of a std::runtime_error.
template <class F>
auto parsed_bundle(const std::string& file, F parse) {
  return named_in_errors(file, [&] { return parse(read_bundle(file)); });
}

}  // namespace attoscope::app
