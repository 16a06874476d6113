#include "app/papers/figure_maker.h"

#include <algorithm>
#include <array>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <stdexcept>

namespace attoscope {
namespace {
namespace fs = std::filesystem;

PictureFormat format_of(ExportAs as) {
  switch (as) {
    case ExportAs::svg:
      return PictureFormat::svg;
    case ExportAs::png:
      return PictureFormat::png;
    case ExportAs::tex:
      return PictureFormat::tikz;
    case ExportAs::screen:
    case ExportAs::pdf:
      break;
  }
  return PictureFormat::pdf;
}

}  // namespace

std::shared_ptr<const std::vector<FigureEntry>> figure_entries() {
  std::vector<FigureEntry> entries;
  for (const NamedFigure& f : named_figures())
    entries.push_back({std::string(f.name), std::string(f.title), std::string(f.what)});
  return std::make_shared<const std::vector<FigureEntry>>(std::move(entries));
}

FigureStyle style_of(const FigureChoice& c) {
  return {.columns = c.two_columns ? 2 : 1, .slide = c.slide, .font = c.font, .font_size = c.font_size};
}

std::string free_place(const std::string& directory, std::string name) {
  std::ranges::replace(name, ' ', '-');
  const fs::path where = directory.empty() ? fs::current_path() : fs::path(directory);
  remove_leftover_folders(where.string(), "attoscope-");
  for (int i = 1;; ++i) {
    const std::string place = (where / ("attoscope-" + name + "-" + std::to_string(i))).string();
    std::error_code error;
    const auto taken = [&](const char* ending) { return fs::exists(place + ending, error); };
    if (std::ranges::none_of(std::array{"", ".png", ".csv", ".npy", ".zip"}, taken)) return place;
  }
}

BundlePlace stage_at(StagedFiles& files, const std::string& place, const Figure& figure, const Json& reproduction,
                     const FigureChoice& choice, const Cancelled& cancelled) {
  const PictureFormat format = format_of(choice.as);
  const fs::path at(place);
  const std::string file = choice.zip ? place + ".zip" : (at / (at.filename().string() + picture_ending(format))).string();
  files.make_directory(choice.zip ? at.parent_path().string() : place);
  return {file, stage_bundle(files, file, figure, reproduction, format, cancelled)};
}

FigureMaker::FigureMaker(std::string directory, std::string cache, std::function<void()> done)
    : directory_(std::move(directory)), cache_(std::move(cache)), jobs_(std::move(done)) {}

void FigureMaker::ask(const AskedFigure& asked, const FigureChoice& choice) {
  if (!jobs_.busy()) {
    const std::lock_guard lock(shared_->mutex);
    shared_->now = {asked.name, 0, 0, -1, false};
    shared_->computed = 0;
  }
  jobs_.add([asked, choice, directory = directory_, cache = cache_, shared = shared_](const Cancelled& cancelled) {
    return draw(asked, choice, directory, cache, *shared, cancelled);
  });
}

std::string FigureMaker::draw(const AskedFigure& asked, const FigureChoice& choice, const std::string& directory,
                              const std::string& cache, Shared& shared, const Cancelled& cancelled) {
  validate(asked);
  {
    const std::lock_guard lock(shared.mutex);
    shared.now = {std::string(named_figure(asked.name).title), 0, point_count(asked), -1, trains(asked)};
    shared.began = Clock::now();
    shared.computed = 0;
  }
  PointCache points(cache);
  const MadeFigure made = made_figure(asked, {.cancelled = cancelled, .cache = &points, .finished = [&](bool remembered) {
                                                const std::lock_guard lock(shared.mutex);
                                                ++shared.now.done;
                                                shared.computed += !remembered;
                                              }});
  StagedFiles files;
  FigureStyle style = style_of(choice);
  if (!style.slide) style.columns = 0;  // such a figure has its own
  Json reproduction = made.reproduction;
  reproduction["print"] = style_json(style);
  const BundlePlace place =
      stage_at(files, free_place(directory, asked.name), in_style(made.figure, style), reproduction, choice, cancelled);
  files.commit();
  if (!place.failure.empty()) throw std::runtime_error(place.failure);
  return "Saved " + place.file + ".";
}

std::optional<FigureProgress> FigureMaker::progress() const {
  if (!jobs_.busy()) return std::nullopt;
  const std::lock_guard lock(shared_->mutex);
  FigureProgress p = shared_->now;
  const double seconds = std::chrono::duration<double>(Clock::now() - shared_->began).count();
  if (shared_->computed > 0)
    p.seconds_left = seconds / static_cast<double>(shared_->computed) * static_cast<double>(p.all - p.done);
  return p;
}

}  // namespace attoscope
