#include "app/figures/bundle.h"

#include <filesystem>
#include <nlohmann/json.hpp>
#include <stdexcept>
#include <utility>

#include "app/files/interrupts.h"
#include "app/files/zip.h"
#include "app/json/settings_json.h"
#include "app/words/field_setter.h"
#include "app/words/numbers.h"
#include "kernels/experiment/letters.h"
#include "kernels/experiment/text.h"

namespace attoscope::app {
namespace {
namespace fs = std::filesystem;

constexpr std::uint64_t largest_bundle = 1 << 24;  // a sweep over 10,000 heads takes 3 MB
constexpr int least_font = 4, most_font = 72;

bool is_zip(const std::string& file) { return file.ends_with(".zip"); }

/// Name of the picture in the script: the file's stem with other characters than letters, digits, - and _ replaced by _.
std::string stem_of(const std::string& file) {
  std::string stem = fs::path(file).stem().string();
  for (char& c : stem)
    if (!is_letter_or_digit(c) && c != '-' && c != '_') c = '_';
  return stem.empty() ? "figure" : stem;
}

/// The four files named `stem`; without the picture if it cannot be drawn, then `failure` says why.
struct Contents {
  std::vector<ZipMember> members;
  std::string failure;
};
Contents contents(const std::string& stem, const std::string& script_stem, const Figure& figure, const Json& reproduction,
                  PictureFormat format, const Cancelled& cancelled) {
  const std::string script = gnuplot_script(figure, format, script_stem);
  Contents c{{{stem + ".csv", figure_csv(figure)}, {stem + ".gp", script}, {stem + ".json", json_text(reproduction)}}, ""};
  try {
    std::vector<std::string> files = style_files(format);
    files.push_back(script_stem + picture_ending(format));
    std::vector<std::string> bytes = drawn(script, files, cancelled);
    for (std::size_t i = 0; i + 1 < files.size(); ++i)
      c.members.push_back({(fs::path(stem).parent_path() / files[i]).string(), std::move(bytes[i])});
    c.members.push_back({stem + picture_ending(format), std::move(bytes.back())});
  } catch (const std::runtime_error& error) {
    c.failure = with_full_stop(error.what());
  }
  return c;
}

constexpr const char* bundle_endings = "ends in .pdf, .svg, .png, .tex or .zip";

void check_bundle_name(const std::string& file) {
  if (is_zip(file)) return;
  try {
    picture_format(file);
  } catch (const std::invalid_argument&) {
    throw std::invalid_argument(in_quotes(file) + " is no name of a figure, expected one that " + bundle_endings);
  }
}

}  // namespace

FigureStyle typed_style(const StyleArguments& typed, FigureStyle style) {
  if (!typed.columns.empty()) {
    if (typed.columns != "1" && typed.columns != "2" && typed.columns != "slide")
      refuse("--columns", typed.columns, "1 (85 mm), 2 (175 mm) or slide (254 mm)");
    style.slide = typed.columns == "slide";
    style.columns = typed.columns == "1" ? 1 : 2;
  }
  if (!typed.font.empty()) {
    if (!is_font_name(typed.font)) refuse("--font", typed.font, "letters, digits, blanks and hyphens, such as Times New Roman");
    style.font = typed.font;
  }
  if (!typed.font_size.empty()) style.font_size = whole_number("--font-size", typed.font_size, least_font, most_font);
  return style;
}

Json style_json(const FigureStyle& s) {
  return {{"columns", s.columns}, {"slide", s.slide}, {"font", s.font}, {"font_size", s.font_size}};
}

FigureStyle parse_figure_style(std::string_view bundle, std::vector<std::string>& remarks) {
  constexpr int deepest = 12;
  const nlohmann::json json = parse_json(bundle, deepest);
  FigureStyle s;
  if (json.is_object() && json.contains("print"))
    read_settings({{"print", json["print"]}}, "",
                  {{"print", Settings{{"columns", &s.columns, {0, 2}},
                                      {"slide", &s.slide},
                                      {"font", &s.font},
                                      {"font_size", &s.font_size, {0, most_font}}}}},
                  remarks);
  if (!is_font_name(s.font)) s.font = FigureStyle{}.font;
  return s;
}

void refuse_settings_of_named(const FigureArguments& x) {
  for (const auto& [option, value] :
       {std::pair{"--policy", x.policy}, std::pair{"--n", x.n}, std::pair{"--d", x.d}, std::pair{"--seeds", x.seeds},
        std::pair{"--all-policies", std::string(x.all_policies ? "given" : "")}})
    if (!value.empty()) refuse(option, value, "it with a named figure: a plot or a sweep is drawn as its file says");
}

std::vector<std::string> bundle_files(const std::string& file) {
  if (file.empty() || is_zip(file)) return file.empty() ? std::vector<std::string>() : std::vector{file};
  std::vector<std::string> files{file};
  for (const char* const ending : {".csv", ".gp", ".json"}) files.push_back(fs::path(file).replace_extension(ending).string());
  for (const std::string& style : style_files(file.ends_with(".tex") ? PictureFormat::tikz : PictureFormat::pdf))
    files.push_back((fs::path(file).parent_path() / style).string());
  return files;
}

void check_bundle_place(const std::string& option, const std::string& file) {
  if (file.empty()) throw std::invalid_argument(option + " is missing, expected a name that " + bundle_endings);
  check_bundle_name(file);
  for (const std::string& each : bundle_files(file)) check_place(option, each);
}

std::string stage_bundle(StagedFiles& files, const std::string& file, const Figure& figure, const Json& reproduction,
                         PictureFormat in_zip, const Cancelled& cancelled) {
  check_bundle_name(file);
  const std::string stem = stem_of(file);
  if (is_zip(file)) {
    const Contents all = contents(stem, stem, figure, reproduction, in_zip, cancelled);
    files.add(file, zip_bytes(all.members));
    return all.failure.empty() ? "" : all.failure + " The figure's data, script and JSON are in " + file + ".";
  }
  const std::string beside = fs::path(file).replace_extension().string();
  const Contents all = contents(beside, stem, figure, reproduction, picture_format(file), cancelled);
  for (const ZipMember& member : all.members) files.add(member.name, member.bytes);
  if (!all.failure.empty()) files.add_absence(file);  // an older picture would show other data
  return all.failure.empty() ? "" : all.failure + " The figure's data, script and JSON are " + beside + ".csv, .gp and .json.";
}

std::string stage_unless_interrupted(StagedFiles& files, const std::string& file, const Figure& figure,
                                     const Json& reproduction) {
  const Interrupts interrupts;
  try {
    return stage_bundle(files, file, figure, reproduction, PictureFormat::pdf, [&] { return interrupts.arrived(); });
  } catch (const Stopped&) {
    return "stopped before " + file + " was drawn; nothing of the figure was written";
  }
}

void write_bundle(const std::string& file, const Figure& figure, const Json& reproduction, const Cancelled& cancelled) {
  StagedFiles files;
  const std::string failure = stage_bundle(files, file, figure, reproduction, PictureFormat::pdf, cancelled);
  files.commit();
  if (!failure.empty()) throw std::runtime_error(failure);
}

std::string changed_bits(const std::vector<std::string_view>& changed) {
  if (changed.empty()) return "";
  return "the bits of " + listed(changed, " and ") +
         " are not those that the figure was first made of: its inputs, the program or the device have changed";
}

std::string changed_points(std::uint64_t then, std::uint64_t now) {
  return then == 0 || then == now ? "" : changed_bits({"its points"});
}

void refuse_changed(const std::string& file, const std::string& changed, const std::string& out) {
  if (!changed.empty()) throw std::runtime_error(file + ": " + changed + "; " + out + " shows what was computed now");
}

std::string read_bundle(const std::string& file) {
  return is_zip(file) ? zip_member(file, ".json", largest_bundle) : read_file(file, largest_bundle);
}

}  // namespace attoscope::app
