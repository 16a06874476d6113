/// The experiments of the papers, each as one figure made of sweeps, or of a training.
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

/// Answers a sweep, all of its points. Throws Stopped when it was asked to stop.
using AnswerSweep = std::function<std::vector<SweepAnswer>(const Sweep&)>;

/// Makes a figure of the sweeps that it asks for.
using FromSweeps = std::function<Figure(const ui::FigureSettings&, const AnswerSweep&)>;

/// Makes a figure of what was trained in full: of a single plan, or of all that the settings' policy and seeds ask for.
struct FromTraining {
  Figure (*draw)(const TrainRecord&);
  std::vector<FigureTraining> (*trainings)(const ui::FigureSettings&);
  Figure (*draw_all)(const ui::FigureSettings&, std::span<const FigureRecord>);
};

/// Makes a figure of the language model that app/fetch-model brings, over so many tokens as the settings' n. It calls
/// `finished` after each of its runs.
struct FromModel {
  Figure (*draw)(const ui::FigureSettings&, const Options&, const std::function<void()>& finished);
  std::size_t runs;
};

/// An entry of assets/figures.json.
struct NamedFigure {
  using Made = std::variant<FromSweeps, FromTraining, FromModel>;
  std::string name, title;
  std::string what;  ///< one sentence: what is drawn, and which paper's figure asks for it
  Made made;
};
/// All of them, in the order of the file; none where the assets are missing. Throws std::runtime_error in a sentence where the
/// file cannot be used.
std::span<const NamedFigure> named_figures();
/// Throws std::invalid_argument that lists the known ones.
const NamedFigure& named_figure(std::string_view name);

}  // namespace attoscope::app
