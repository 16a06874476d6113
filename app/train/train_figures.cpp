// Figures of one training.
#include "app/train/train_figures.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <stdexcept>
#include <utility>

#include "app/session/report.h"
#include "app/train/text.h"
#include "app/train/train_tables.h"
#include "app/train/weight_measures.h"
#include "ui/frame/pair_look.h"

namespace attoscope {
namespace {

/// One comparison over its measured steps.
Series series_of(const PairRecord& pair, std::size_t i, double WeightDeviation::* value) {
  constexpr std::size_t few_points = 40;
  Series s;
  s.label = pair_label(pair.pair);
  s.ink = pair_ink(pair.pair, i);
  s.shape = pair.points.size() > few_points ? Shape::line : Shape::line_and_marks;
  s.dashed = is_dashed(pair.pair, i);
  for (const PairPoint& p : pair.points) {
    s.x.push_back(p.step);
    s.y.push_back(p.deviations[0].*value);
  }
  return s;
}

/// Every y over that of `unit` at the same step; NaN where that has none, or 0.
Series over(Series s, const Series& unit) {
  for (std::size_t i = 0; i < s.x.size(); ++i) {
    const auto at = std::ranges::find(unit.x, s.x[i]);
    const double by = at == unit.x.end() ? NAN : unit.y[static_cast<std::size_t>(at - unit.x.begin())];
    s.y[i] = by > 0 ? s.y[i] / by : NAN;
  }
  return s;
}

}  // namespace

std::string training_conditions(const TrainRecord& record) {
  const TrainPlan& p = record.plan;
  const ModelShape& m = p.model;
  const auto words = [](const TrainMethod& x) { return name(x.format) + " " + method_text(x.method) + stored_text(x); };
  std::string text = fmt::format(
      "a is {}, b is {}; character-level GPT of {} layers x {}, {} heads, context {}, batch {}, {} of {} steps, seed {}, "
      "learns {}",
      words(p.a), words(p.b), m.layers, m.width, m.heads, m.context, p.recipe.batch, record.step, p.recipe.steps, p.recipe.seed,
      text_name(p.text));
  for (const Fork& fork : record.forks) text += fmt::format("; forked after step {}: {}", fork.step, fork.sentence);
  return text + "; attoscope " ATTOSCOPE_VERSION ".";
}

Figure train_weights_figure(const TrainRecord& record) {
  Figure f = over_steps("train-weights", record.pairs.size(), "",
                        [&](std::size_t i, auto value) { return series_of(record.pairs[i], i, value); });
  f.caption =
      "Difference of the weights of two models that learn the same batches from the same first weights, over training; " +
      training_conditions(record);
  return f;
}

Figure train_reference_figure(const TrainRecord& record) {
  const auto unit = std::ranges::find(record.pairs, Role::initialisation, [](const PairRecord& p) { return p.pair.role; });
  if (unit == record.pairs.end())
    throw std::invalid_argument("The training has no other initialisation to compare with, expected one of kind reference.");
  Figure f = over_steps("train-reference", record.pairs.size(), " / that of another seed", [&](std::size_t i, auto value) {
    return over(series_of(record.pairs[i], i, value), series_of(*unit, i, value));
  });
  f.caption =
      "Difference of the weights of two models over training, relative to that of another seed of b's first weights: the "
      "method beside number formats; " +
      training_conditions(record);
  return f;
}

Figure train_figure(const TrainRecord& record) {
  return record.plan.kind == TrainKind::reference ? train_reference_figure(record) : train_weights_figure(record);
}

}  // namespace attoscope
