#include "app/papers/figure_maker.h"

#include <algorithm>
#include <array>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <stdexcept>
#include <utility>

namespace attoscope::app {
namespace {
namespace fs = std::filesystem;

PictureFormat format_of(ui::ExportAs as) {
  constexpr EnumArray<ui::ExportAs, PictureFormat> formats{PictureFormat::pdf, PictureFormat::pdf, PictureFormat::svg,
                                                           PictureFormat::png, PictureFormat::tikz};  // screen: pdf
  return formats[as];
}

}  // namespace

std::shared_ptr<const std::vector<ui::FigureEntry>> figure_entries() {
  std::vector<ui::FigureEntry> entries;
  for (const NamedFigure& f : named_figures())
    entries.push_back({std::string(f.name), std::string(f.title), std::string(f.what)});
  return std::make_shared<const std::vector<ui::FigureEntry>>(std::move(entries));
}

FigureStyle style_of(const ui::FigureChoice& c) {
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

std::string save_bundle(const std::string& directory, const std::string& name, const Figure& figure, const Json& reproduction,
                        const ui::FigureChoice& choice, const Cancelled& cancelled) {
  const PictureFormat format = format_of(choice.as);
  const std::string place = free_place(directory, name);
  const fs::path at(place);
  const std::string file = choice.zip ? place + ".zip" : (at / (at.filename().string() + picture_ending(format))).string();
  StagedFiles files;
  files.make_directory(choice.zip ? at.parent_path().string() : place);
  const std::string failure = stage_bundle(files, file, figure, reproduction, format, cancelled);
  files.commit();
  if (!failure.empty()) throw std::runtime_error(failure);
  return "Saved " + file + ".";
}

FigureMaker::FigureMaker(const std::string& directory, const std::string& cache, std::function<void()> done)
    : worker_(
          [directory, cache](const Asked& asked, const Cancelled& cancelled, const Background::Publish& publish) {
            return draw(asked, directory, cache, cancelled, publish);
          },
          std::move(done)) {}

void FigureMaker::ask(const AskedFigure& asked, const ui::FigureChoice& choice) {
  waiting_.push_back({asked, choice});
  begin_next();
}

void FigureMaker::stop() {
  waiting_.clear();
  worker_.cancel();
}

void FigureMaker::begin_next() {
  if (drawing_ || waiting_.empty()) return;
  drawing_ = true;
  began_ = Clock::now();
  told_ = {.now = {.title = waiting_.front().figure.name}};
  worker_.submit(std::move(waiting_.front()));
  waiting_.pop_front();
}

FigureMaker::Told FigureMaker::draw(const Asked& asked, const std::string& directory, const std::string& cache,
                                    const Cancelled& cancelled, const Background::Publish& publish) {
  validate(asked.figure);
  const std::string title(named_figure(asked.figure.name).title);
  Told told{.now = {.title = title, .all = point_count(asked.figure), .trains = trains(asked.figure)}};
  publish(told);
  PointCache points(cache);
  const MadeFigure made =
      made_figure(asked.figure, {.cancelled = cancelled, .cache = &points, .finished = [&](bool remembered) {
                                   ++told.now.done;
                                   told.computed += !remembered;
                                   publish(told);
                                 }});
  FigureStyle style = style_of(asked.choice);
  if (!style.slide) style.columns = 0;  // named figures set their own columns
  Json reproduction = made.reproduction;
  reproduction["print"] = style_json(style);
  told.saved = save_bundle(directory, asked.figure.name, in_style(made.figure, style), reproduction, asked.choice, cancelled);
  return told;
}

std::optional<FigureMaker::Outcome> FigureMaker::take() {
  const auto take_told = [this](const Cancelled&) {
    std::optional<Told> told = worker_.take();
    if (told) told_ = *told;
    return told ? told->saved : "";
  };
  const Outcome outcome = outcome_of(take_told, {});
  if (outcome.well && outcome.sentence.empty()) return std::nullopt;
  drawing_ = false;
  begin_next();
  return outcome;
}

std::optional<ui::FigureProgress> FigureMaker::progress() const {
  if (!drawing_) return std::nullopt;
  ui::FigureProgress p = told_.now;
  const double seconds = std::chrono::duration<double>(Clock::now() - began_).count();
  if (told_.computed > 0) p.seconds_left = seconds / static_cast<double>(told_.computed) * static_cast<double>(p.all - p.done);
  return p;
}

}  // namespace attoscope::app
