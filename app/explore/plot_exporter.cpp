#include "app/explore/plot_exporter.h"

#include <algorithm>
#include <cfloat>
#include <cmath>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <stdexcept>
#include <utility>

#include "app/files/files.h"
#include "app/plots/window_bundle.h"
#include "app/tensors/npy.h"
#include "app/tensors/tensors.h"
#include "app/threads/job.h"
#include "app/words/devices.h"
#include "kernels/experiment/rules.h"
#include "ui/frame/loaded_output.h"
#include "ui/picture/heatmap_view.h"
#include "ui/widgets/progress.h"
#include "ui/words/sentences.h"

namespace attoscope::app {
namespace {
namespace fs = std::filesystem;

/// Reads the requested rectangle of the framebuffer, clipped to its size; by default all of it.
Picture picture_of(const ui::ExportRequest& wanted) {
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

/// Writes the whole field as .npy; runs on the job queue's thread.
std::string keep_field(const std::string& directory, const ui::ShownTensor& shown, Field field) {
  const std::string file = free_place(directory, about_tensor(shown, std::string(text(field).name), "_")) + ".npy";
  StagedFiles files;
  files.make_directory(fs::path(file).parent_path().string());
  files.add(file, field_npy(*shown.result, field));
  files.commit();
  return "Saved " + file + ".";
}

/// Known part of the plotted data ("3 of 8 points"); empty: all of it.
std::string known_part(ui::Plot plot, const ui::PanelInput& known) {
  if (is_of_training(plot)) return "";  // always complete: the curves end at the newest step
  const ui::SweepProgress& p = known.sweep.progress;
  if (plot == ui::Plot::sweep)
    return p.done < p.points ? std::to_string(p.done) + " of " + std::to_string(p.points) + " points" : "";
  return ui::is_first_answer(*known.answer.result) ? ui::rows_text(*known.answer.result) : "";
}

/// Reads the tensors of a session that is not the open one, and adapts its shape to them.
ui::Session with_tensors(ui::Session session) {
  Problem& p = session.experiment.problem;
  load_tensors(p.input);
  if (const auto tensors = p.input.tensors) p = fitted(p, tensors->shape());
  return session;
}

/// Writes a plot's bundle as a figure of the answer on screen; runs on the job queue's thread.
std::string keep_figure(const std::string& directory, const ui::ExportRequest& wanted, ui::Session session, PlotData known,
                        const std::string& part, const Cancelled& cancelled) {
  if (!part.empty())
    throw std::runtime_error("Only " + part + " are known yet, so no figure of the " + wanted.name + " was saved.");
  if (known.result && is_of_experiment(wanted.plot)) session.experiment = known.result->experiment;
  if (known.train.gap && wanted.plot == ui::Plot::train_weights && session.train_look.picture == ui::WeightPicture::matrix) {
    TrainRecord until = *known.train.record;  // the record when the matrix was measured
    until.step = known.train.gap->step;
    known.train.record = std::make_shared<const TrainRecord>(std::move(until));
  }
  if (known.train.record && is_of_training(wanted.plot)) {
    session.train = known.train.record->plan;
    session.train_look.seeds = std::min(session.train_look.seeds, static_cast<int>(known.train.seeds.size()) + 1);
  }
  known =
      answered(wanted.plot, session, std::move(known), {.cancelled = cancelled, .device = usable_device(session.device).spec});
  const Figure figure = plot_figure(wanted.plot, session, known);
  return save_bundle(directory, wanted.name, figure, plot_json(wanted.plot, session, known, figure.caption),
                     session.view.figure, cancelled);
}

}  // namespace

PlotExporter::PlotExporter(std::string directory, std::string cache, std::function<void()> done)
    : directory_(std::move(directory)),
      plots_(std::make_unique<JobQueue>(done)),
      figures_(std::make_unique<FigureMaker>(directory_, std::move(cache), done)) {}

std::string PlotExporter::ask(const ui::ExportRequest& wanted, const ui::Session& session, const ui::PanelInput& known) {
  const bool drawn = wanted.plot != ui::Plot::window && session.view.figure.as != ui::ExportAs::screen;
  if (!wanted.npy && !drawn) {
    ask(wanted);
    return "";
  }
  if (wanted.of) {
    ui::Session own = *wanted.of;
    own.view.figure = session.view.figure;
    plots_->add([directory = directory_, wanted, own](const Cancelled& cancelled) {
      return keep_figure(directory, wanted, is_of_experiment(wanted.plot) ? with_tensors(own) : own, {}, "", cancelled);
    });
    return "Drawing the " + wanted.name + ".";
  }
  if (is_of_training(wanted.plot) ? !known.train.record : !known.answer.result && wanted.plot != ui::Plot::sweep) return "";
  if (wanted.npy) {
    ui::SeenTensor seen;
    plots_->add([directory = directory_, shown = shown_answer(seen, known.answer.result, session.view),
                 field = session.view.field](const Cancelled&) { return keep_field(directory, shown, field); });
    return "Writing the field.";
  }
  const PlotData data{
      .result = known.answer.result, .side = known.side, .train = known.train, .slip_output = slip_answer(session.view, known)};
  plots_->add([directory = directory_, wanted, session, data, part = known_part(wanted.plot, known)](
                  const Cancelled& cancelled) { return keep_figure(directory, wanted, session, data, part, cancelled); });
  return "Drawing the " + wanted.name + ".";
}

void PlotExporter::tell(ui::PanelInput& input) const {
  input.exporting = mouse_.has_value();
  input.figures.entries = entries_;
  input.figures.progress = figures_->progress();
}

void PlotExporter::prepare() {
  if (!wanted_) return;
  mouse_ = std::exchange(ImGui::GetIO().MousePos, ImVec2{-FLT_MAX, -FLT_MAX});
  if (!(wanted_->taller > 0)) return;
  ImVec2& size = ImGui::GetMainViewport()->Size;
  const ImVec2 scale = ImGui::GetIO().DisplayFramebufferScale;
  const float tallest = std::floor(static_cast<float>(Framebuffer::largest_side()) / scale.y);
  const float height = std::min(size.y + std::ceil(wanted_->taller), tallest);
  const auto pixels = [](float points, float by) { return static_cast<int>(points * by); };
  failure_ = failure_of([&] {
    canvas_ = std::make_unique<Canvas>(pixels(size.x, scale.x), pixels(height, scale.y), pixels(size.y, scale.y));
    size.y = height;
  });
}

void PlotExporter::take(Explorer& explorer) {
  const auto say = [&](auto& made) {
    while (const std::optional<JobOutcome> outcome = made.take())
      outcome->well ? explorer.show_notice(outcome->sentence) : explorer.show_error(outcome->sentence);
  };
  say(*plots_);
  say(*figures_);
  if (!mouse_) return;
  ImGui::GetIO().MousePos = *std::exchange(mouse_, std::nullopt);
  if (failure_.empty()) failure_ = failure_of([&] { explorer.show_notice(save()); });
  if (!failure_.empty()) explorer.show_error(std::exchange(failure_, {}));
  canvas_.reset();
  wanted_.reset();
}

std::string PlotExporter::save() const {
  const fs::path path = free_place(directory_, wanted_->name);
  StagedFiles files;
  files.make_directory(path.parent_path().string());
  files.add(path.string() + ".png", to_png(picture_of(*wanted_)));
  if (!wanted_->csv.empty()) files.add(path.string() + ".csv", wanted_->csv);
  files.commit();
  return "Saved " + path.string() + (wanted_->csv.empty() ? ".png." : ".png and .csv.");
}

}  // namespace attoscope::app
