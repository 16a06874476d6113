#include "app/keeper.h"

#include <epoxy/gl.h>

#include <algorithm>
#include <cfloat>
#include <cmath>
#include <cstring>
#include <exception>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <stdexcept>
#include <utility>

#include "app/devices.h"
#include "app/field_npy.h"
#include "app/figures/window_bundle.h"
#include "app/files.h"
#include "ui/heatmap_view.h"
#include "ui/sentences.h"

namespace attoscope {
namespace {
namespace fs = std::filesystem;

/// The rectangle of the window, or all of it, in pixels that are there.
Picture picture_of(const Keepsake& wanted) {
  const ImDrawData& data = *ImGui::GetDrawData();
  const ImVec2 scale = data.FramebufferScale;
  const int width = static_cast<int>(data.DisplaySize.x * scale.x), height = static_cast<int>(data.DisplaySize.y * scale.y);
  if (!(wanted.x1 > wanted.x0 && wanted.y1 > wanted.y0)) return read_back(0, 0, width, height);
  const auto pixel = [](float at, float origin, float by, int most) {
    return std::clamp(static_cast<int>(std::lround((at - origin) * by)), 0, most);
  };
  const int x0 = pixel(wanted.x0, data.DisplayPos.x, scale.x, width), x1 = pixel(wanted.x1, data.DisplayPos.x, scale.x, width);
  const int y0 = pixel(wanted.y0, data.DisplayPos.y, scale.y, height),
            y1 = pixel(wanted.y1, data.DisplayPos.y, scale.y, height);
  if (x1 <= x0 || y1 <= y0)
    throw std::runtime_error("Nothing of the " + wanted.name + " is on screen, so no picture of it was saved.");
  return read_back(x0, height - y1, x1 - x0, y1 - y0);
}

/// All of the field as the session's view shows it. Its job.
std::string keep_field(const std::string& directory, const Result& result, Field field) {
  const std::string file = free_place(directory, std::string(text(field).name)) + ".npy";
  StagedFiles files;
  files.make_directory(fs::path(file).parent_path().string());
  files.add(file, field_npy(result, field));
  files.commit();
  return "Saved " + file + ".";
}

/// How much of what the plot shows is known; empty: all of it.
std::string known_part(Plot plot, const Frame& known) {
  if (is_of_training(plot)) return "";  // its curves end where training stands
  const SweepProgress& p = known.sweep.progress;
  if (plot == Plot::sweep)
    return p.done < p.points ? std::to_string(p.done) + " of " + std::to_string(p.points) + " points" : "";
  return is_first_answer(*known.result) ? rows_text(*known.result) : "";
}

/// A plot's bundle: a figure of the answer that is on screen. Its job.
std::string keep_figure(const std::string& directory, const Keepsake& wanted, Session session, PlotData known,
                        const std::string& part, const Cancelled& cancelled) {
  if (!part.empty())
    throw std::runtime_error("Only " + part + " are known yet, so no figure of the " + wanted.name + " was saved.");
  if (is_of_experiment(wanted.plot)) session.experiment = known.result->experiment;
  if (is_of_training(wanted.plot)) session.train = known.train->plan;
  known =
      answered(wanted.plot, session, std::move(known), {.cancelled = cancelled, .device = usable_device(session.device).spec});
  const Figure figure = plot_figure(wanted.plot, session, known);
  StagedFiles files;
  const Json reproduction = plot_json(wanted.plot, session, known, figure.caption);
  const BundlePlace place = stage_at(files, free_place(directory, wanted.name), figure, reproduction, session.view.figure);
  files.commit();
  if (!place.failure.empty()) throw std::runtime_error(place.failure);
  return "Saved " + place.file + ".";
}

}  // namespace

Picture read_back(int x, int y, int width, int height) {
  const std::size_t row = static_cast<std::size_t>(width) * 3;
  std::vector<std::uint8_t> upside_down(row * static_cast<std::size_t>(height));
  glPixelStorei(GL_PACK_ALIGNMENT, 1);
  glReadPixels(x, y, width, height, GL_RGB, GL_UNSIGNED_BYTE, upside_down.data());
  Picture picture{width, height, std::vector<std::uint8_t>(upside_down.size())};
  for (int i = 0; i < height; ++i)
    std::memcpy(&picture.rgb[row * static_cast<std::size_t>(i)], &upside_down[row * static_cast<std::size_t>(height - 1 - i)],
                row);
  return picture;
}

Keeper::Keeper(std::string directory, std::string cache, std::function<void()> done)
    : directory_(std::move(directory)),
      plots_(std::make_unique<Errands>(done)),
      figures_(std::make_unique<FigureMaker>(directory_, std::move(cache), done)) {}

std::string Keeper::ask(const Keepsake& wanted, const Session& session, const Frame& known) {
  const bool drawn = wanted.plot != Plot::window && session.view.figure.as != KeepAs::screen;
  if (!wanted.npy && !drawn) {
    ask(wanted);
    return "";
  }
  if (is_of_training(wanted.plot) ? !known.train.record : !known.result && wanted.plot != Plot::sweep) return "";
  if (wanted.npy) {
    plots_->add([directory = directory_, result = known.result, field = session.view.field](const Cancelled&) {
      return keep_field(directory, *result, field);
    });
    return "Writing the field.";
  }
  const PlotData data{known.result, known.scores, known.clipping, known.why, nullptr, known.train.record};
  plots_->add([directory = directory_, wanted, session, data, part = known_part(wanted.plot, known)](
                  const Cancelled& cancelled) { return keep_figure(directory, wanted, session, data, part, cancelled); });
  return "Drawing the " + wanted.name + ".";
}

void Keeper::tell(Frame& frame) const {
  frame.kept = mouse_.has_value();
  frame.figures = entries_;
  frame.drawing = figures_->progress();
}

void Keeper::prepare() {
  if (!wanted_) return;
  mouse_ = std::exchange(ImGui::GetIO().MousePos, ImVec2{-FLT_MAX, -FLT_MAX});
  if (!(wanted_->taller > 0)) return;
  ImVec2& size = ImGui::GetMainViewport()->Size;
  const ImVec2 scale = ImGui::GetIO().DisplayFramebufferScale;
  const float tallest = std::floor(static_cast<float>(Framebuffer::largest_side()) / scale.y);
  const float height = std::min(size.y + std::ceil(wanted_->taller), tallest);
  const auto pixels = [](float points, float by) { return static_cast<int>(points * by); };
  try {
    canvas_ = std::make_unique<Canvas>(pixels(size.x, scale.x), pixels(height, scale.y), pixels(size.y, scale.y));
    size.y = height;
  } catch (const std::exception& error) {
    failure_ = error.what();
  }
}

void Keeper::take(Explorer& explorer) {
  const auto say = [&](auto& made) {
    while (const std::optional<Errands::Outcome> outcome = made.take())
      outcome->well ? explorer.note(outcome->sentence) : explorer.say(outcome->sentence);
  };
  say(*plots_);
  say(*figures_);
  if (!mouse_) return;
  ImGui::GetIO().MousePos = *std::exchange(mouse_, std::nullopt);
  try {
    if (!failure_.empty()) throw std::runtime_error(std::exchange(failure_, {}));
    explorer.note(save());
  } catch (const std::exception& error) {
    explorer.say(error.what());
  }
  canvas_.reset();
  wanted_.reset();
}

std::string Keeper::save() const {
  const fs::path path = free_place(directory_, wanted_->name);
  StagedFiles files;
  files.make_directory(path.parent_path().string());
  files.add(path.string() + ".png", to_png(picture_of(*wanted_)));
  if (!wanted_->csv.empty()) files.add(path.string() + ".csv", wanted_->csv);
  files.commit();
  return "Saved " + path.string() + (wanted_->csv.empty() ? ".png." : ".png and .csv.");
}

}  // namespace attoscope
