// Figures of one training, and the trainings of the named figures.
#include "app/train/train_figures.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <stdexcept>
#include <utility>

#include "app/session/report.h"
#include "app/train/train_tables.h"
#include "app/train/trained.h"
#include "app/words/numbers.h"
#include "kernels/experiment/presets.h"
#include "ui/frame/pair_look.h"

namespace attoscope::app {
namespace {

/// Curve of one comparison over its measured steps.
ui::Series series_of(const PairRecord& pair, std::size_t i, double WeightDeviation::* value) {
  constexpr std::size_t few_points = 40;
  ui::Series s;
  s.label = ui::pair_label(pair.pair);
  s.ink = ui::pair_ink(pair.pair, i);
  s.shape = pair.points.size() > few_points ? ui::Shape::line : ui::Shape::line_and_marks;
  s.dashed = ui::is_dashed(pair.pair, i);
  for (const PairPoint& p : pair.points) {
    s.x.push_back(p.step);
    s.y.push_back(p.deviations[0].*value);
  }
  return s;
}

/// Divides every y by `unit`'s y at the same step; NaN if `unit` has none, or 0.
ui::Series over(ui::Series s, const ui::Series& unit) {
  for (std::size_t i = 0; i < s.x.size(); ++i) {
    const auto at = std::ranges::find(unit.x, s.x[i]);
    const double by = at == unit.x.end() ? NAN : unit.y[static_cast<std::size_t>(at - unit.x.begin())];
    s.y[i] = by > 0 ? s.y[i] / by : NAN;
  }
  return s;
}

/// Plan of a model that trains in a second, with eight tiles of keys. Rounding acts in each of its steps.
TrainPlan small_plan(const ui::FigureSettings& settings, int seed) {
  constexpr int key_tiles = 8;
  TrainPlan plan = default_train_plan();
  plan.with_exact = false;  // exact attention is a training of its own
  plan.model = {.layers = 2, .width = 32, .heads = 2, .context = 64};
  plan.recipe.batch = 2;
  plan.recipe.steps = 120;
  plan.recipe.warmup = 10;
  plan.recipe.seed = plan.recipe.data_seed = static_cast<std::uint64_t>(seed);
  plan.measure_every = 12;
  use_policy(plan, settings.policy);
  plan.a.method.block_k = plan.b.method.block_k = plan.model.context / key_tiles;
  return plan;
}

/// Replaces attention by one that rounds only its inputs; the rest of the model rounds as in `m`.
TrainMethod with_exact_attention(TrainMethod m) {
  m.method.precision = policy("exact").precision;
  m.gradient = GradPrecision{.steps = {}, .delta_from = m.gradient.delta_from};
  return m;
}

TrainPlan of(TrainPlan plan, const TrainMethod& x, const TrainMethod& y) {
  plan.a = x;
  plan.b = y;
  return plan;
}

/// Two models with exact attention and different tiles.
FigureTraining tiles_apart(const TrainPlan& plan) {
  const TrainMethod whole = with_exact_attention(plan.a);
  TrainMethod cut = whole;
  cut.method.block_k /= 2;
  return {other_tiles, of(plan, whole, cut)};
}

/// b in fp16 and in fp32 with a loss scale under which no gradient of fp16 overflows.
FigureTraining without_skips(TrainPlan plan) {
  plan = of(std::move(plan), plan.b, plan.b);
  plan.a.format = fp16;
  plan.b.format = fp32;
  plan.recipe.loss_scale = low_loss_scale;
  return {unskipped, plan};
}

}  // namespace

std::string training_conditions(const TrainRecord& record, bool by_letter) {
  const TrainPlan& p = record.plan;
  const ModelShape& m = p.model;
  const auto words = [](const TrainMethod& x) { return name(x.format) + " " + method_text(x.method) + stored_text(x); };
  std::string text =
      fmt::format("{}{}{}{}; character-level GPT of {} x {}, {}, context {}, batch {}, {} of {} steps, seed {}, learns {}",
                  by_letter ? "a is " : "", words(p.a), by_letter ? ", b is " : " against ", words(p.b),
                  counted(m.layers, "layer"), m.width, counted(m.heads, "head"), m.context, p.recipe.batch, record.step,
                  p.recipe.steps, p.recipe.seed, text_name(p.text));
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

void use_policy(TrainPlan& plan, const std::string& policy_of_a) {
  plan.a.method.algorithm = policy(policy_of_a).algorithm;
  plan.a.method.precision = policy(policy_of_a).precision;
  plan.a.gradient = usual_grad_policy(plan.a.method).precision;
}

std::vector<FigureTraining> weights_trainings(const ui::FigureSettings& settings) {
  std::vector<FigureTraining> all;
  for (int seed = 1; seed <= settings.seeds; ++seed) {
    const TrainPlan plan = small_plan(settings, seed);
    all.push_back({"a - b", plan});
    all.push_back({"a - exact", of(plan, plan.a, with_exact_attention(plan.a))});
    all.push_back({"b - exact", of(plan, plan.b, with_exact_attention(plan.b))});
    all.push_back(tiles_apart(plan));
  }
  return all;
}

std::vector<FigureTraining> reference_trainings(const ui::FigureSettings& settings) {
  std::vector<FigureTraining> all;
  for (int seed = 1; seed <= settings.seeds; ++seed) {
    TrainPlan plan = small_plan(settings, seed);
    plan.recipe.steps = 1500;  // long enough for the loss scale of fp16 to skip steps
    plan.measure_every = 50;
    all.push_back({"a - b", plan});
    all.back().plan.kind = TrainKind::reference;
    all.push_back(tiles_apart(plan));
    all.push_back(without_skips(plan));
    plan.a.format = plan.b.format = fp16;
    all.push_back({in_half, plan});
  }
  return all;
}

}  // namespace attoscope::app
