#include "app/papers/named.h"

#include <algorithm>
#include <filesystem>
#include <map>
#include <nlohmann/json.hpp>
#include <stdexcept>

#include "app/files/files.h"
#include "app/files/paths.h"
#include "app/json/json.h"
#include "app/papers/planned_figure.h"
#include "app/train/train_figures.h"
#include "app/words/numbers.h"
#include "kernels/experiment/setting.h"

namespace attoscope::app {
namespace {

/// Function of a figure that has no panels in its entry; throws if there is none.
NamedFigure::Made coded_figure(const std::string& name) {
  static const std::map<std::string_view, NamedFigure::Made> coded{
      {"invariance", FromSweeps(papers::invariance)},
      {"heads", FromSweeps(papers::heads)},
      {"io", FromSweeps(papers::io)},
      {"language-model", FromModel{papers::language_model, papers::language_model_runs}},
      {"train-weights", FromTraining{train_weights_figure, weights_trainings, weights_over_seeds}},
      {"train-reference", FromTraining{train_reference_figure, reference_trainings, references_over_seeds}}};
  const auto found = coded.find(name);
  if (found == coded.end()) throw std::runtime_error("it has no panels, and no code of its own");
  return found->second;
}

NamedFigure figure_of(const nlohmann::json& entry) {
  NamedFigure f{entry.at("name"), entry.at("title"), entry.at("what"), {}};
  check_plan(entry);
  if (!entry.contains("panels"))
    f.made = coded_figure(f.name);
  else
    f.made = FromSweeps(
        [entry](const ui::FigureSettings& x, const AnswerSweep& answer) { return planned_figure(entry, x, answer); });
  return f;
}

/// The figures of assets/figures.json; empty if the assets are missing.
std::vector<NamedFigure> read_figures() {
  constexpr std::uint64_t largest = 1 << 20;
  constexpr int deepest = 10;
  const std::string file = assets_directory() + "/figures.json";
  std::vector<NamedFigure> figures;
  if (!std::filesystem::exists(file)) return figures;
  try {
    const nlohmann::json json = parse_json(read_file(file, largest), deepest);
    check_schema(json, "attoscope.figures/1");
    for (const nlohmann::json& entry : json.at("figures")) figures.push_back(figure_of(entry));
  } catch (const std::exception& error) {
    const std::string after = figures.empty() ? "" : "the figure after " + figures.back().name + ": ";
    throw std::runtime_error(file + ": " + after + error.what());
  }
  return figures;
}

}  // namespace

std::span<const NamedFigure> named_figures() {
  static const std::vector<NamedFigure> figures = read_figures();
  return figures;
}

const NamedFigure& named_figure(std::string_view name) {
  const std::span<const NamedFigure> figures = named_figures();
  const auto found = std::ranges::find(figures, name, &NamedFigure::name);
  if (found != figures.end()) return *found;
  const std::vector<std::string_view> known = names_in(figures);
  throw std::invalid_argument("figure " + in_quotes(name) + " is unknown" +
                              (known.empty() ? ": the assets are missing" : ", expected " + listed(known)));
}

}  // namespace attoscope::app
