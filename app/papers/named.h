/// The papers' experiments, each a figure made of sweeps, a training or a language model.
#pragma once

#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "app/figures/figure.h"
#include "app/sweep/runner.h"
#include "app/sweep/sweep.h"
#include "app/train/train_figures.h"
#include "kernels/compute.h"
#include "kernels/train/record.h"
#include "ui/session/session.h"

namespace attoscope::app {

/// Computes all points of a sweep. Throws Stopped if it was stopped.
using AnswerSweep = std::function<std::vector<SweepAnswer>(const Sweep&)>;

/// Makes a figure of the sweeps that it requests.
using FromSweeps = std::function<Figure(const ui::FigureSettings&, const AnswerSweep&)>;

/// Makes a figure of complete trainings: of a single plan, or of all trainings for the settings' policy and seeds.
struct FromTraining {
  Figure (*draw)(const TrainRecord&);
  std::vector<FigureTraining> (*trainings)(const ui::FigureSettings&);
  Figure (*draw_all)(const ui::FigureSettings&, std::span<const FigureRecord>);
};

/// Makes a figure of the language model that app/fetch-model downloads, over n tokens of the settings. Calls `finished` after
/// each run.
struct FromModel {
  Figure (*draw)(const ui::FigureSettings&, const Options&, const std::function<void()>& finished);
  std::size_t runs;
};

/// An entry of assets/figures.json.
struct NamedFigure {
  using Made = std::variant<FromSweeps, FromTraining, FromModel>;
  std::string name, title;
  std::string what;  ///< one sentence: describes the figure, and names its paper
  Made made;
};
/// All named figures, in the order of the file; empty if the assets are missing. Throws std::runtime_error in a sentence if the
/// file is invalid.
std::span<const NamedFigure> named_figures();
/// The figure of this name. Throws std::invalid_argument with the list of known names.
const NamedFigure& named_figure(std::string_view name);

}  // namespace attoscope::app
