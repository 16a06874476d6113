#include "app/figures/bundle.h"

#include <cctype>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <stdexcept>

#include "app/figures/gnuplot.h"
#include "app/files.h"

namespace attoscope {
namespace {
namespace fs = std::filesystem;

/// Letters, digits, - and _ of the file's name: what the script calls its picture.
std::string stem_of(const std::string& file) {
  std::string stem = fs::path(file).stem().string();
  for (char& c : stem)
    if (!std::isalnum(static_cast<unsigned char>(c)) && c != '-' && c != '_') c = '_';
  return stem.empty() ? "figure" : stem;
}

}  // namespace

void write_bundle(const std::string& file, const Figure& figure, const Json& reproduction) {
  const PictureFormat format = picture_format(file);
  const std::string stem = stem_of(file), script = gnuplot_script(figure, format, stem);
  const std::string beside = fs::path(file).replace_extension().string();
  StagedFiles files;
  files.add(beside + ".csv", figure_csv(figure));
  files.add(beside + ".gp", script);
  files.add(beside + ".json", json_text(reproduction));
  std::string failure;
  try {
    files.add(file, drawn(script, stem + fs::path(file).extension().string()));
  } catch (const std::runtime_error& error) {
    failure = error.what();
  }
  files.commit();
  if (!failure.empty()) throw std::runtime_error(failure + " They are in " + beside + ".csv, .gp and .json.");
}

}  // namespace attoscope
