#include "tests/ui/workspaces/made_record.h"

#include <algorithm>
#include <cmath>

#include "kernels/experiment/experiment.h"
#include "kernels/train/record.h"

namespace attoscope::testing {
namespace {

constexpr int made_vocabulary = 96;

/// Numbers in [0, 1) that look random.
double noise(int i, int j, int k = 0) {
  const double x = std::sin(12.9898 * i + 78.233 * j + 37.719 * k) * 43758.5453;
  return x - std::floor(x);
}

double scale_of(const PairPlan& pair, int index) {
  switch (pair.role) {
    case Role::method:
      return 1.6e-4;
    case Role::direct:
      return 1.1e-6;
    case Role::initialisation:
      return 1.2e-2;
    case Role::format:
      return pair.name == "bf16 - fp32" ? 9e-4 : pair.name == "fp16 - bf16" ? 8e-4 : 1.4e-4;
    case Role::from_exact:
      return pair.x == 0 ? 1.4e-4 : 1.1e-4;
    case Role::suspect:
      return 1.6e-4 * (0.15 + 0.95 * noise(index, 3));
  }
  return 0;
}

PairPoint made_point(const TrainRecord& r, const PairPlan& pair, int index, int step) {
  PairPoint point;
  point.step = step;
  const double grown =
      pair.role == Role::direct ? 0.7 + 0.6 * noise(step, index) : std::sqrt(double(step)) * (0.95 + 0.1 * noise(step, index));
  const double size = scale_of(pair, index) * grown;
  point.loss_difference = size * (noise(step, index, 1) - 0.5);
  double largest = 0;
  point.deviations.emplace_back();
  for (std::size_t t = 0; t < r.parameters.tensors.size(); ++t) {
    const double share = size * (0.3 + 0.7 * noise(int(t), 5));
    largest = std::max(largest, share);
    point.deviations.push_back(
        {share, share * 0.02, share * 3, 1 - 20 * share, 1 + 0.3 * std::sqrt(double(step)) * noise(int(t), 7)});
    std::vector<float> profile;
    const int rows = std::min(profile_height, r.parameters.tensors[t].rows);
    for (int k = 0; k < rows; ++k) profile.push_back(static_cast<float>(share * (0.2 + 0.8 * noise(k, int(t)))));
    point.profiles.push_back(std::move(profile));
  }
  point.deviations[0] = {largest, largest * 0.013, largest * 2, 1 - 20 * largest, 1 + 0.2 * std::sqrt(double(step))};
  return point;
}

RunHealth made_health(const TrainRecord& r, int run, int step) {
  RunHealth health;
  health.step = step;
  const int heads = r.plan.model.layers * r.plan.model.heads;
  for (int h = 0; h < heads; ++h) {
    HeadHealth head;
    head.statistics = {1024,
                       run == 0 ? 3 + h : 0,
                       66048,
                       0,
                       run == 0 ? 900 + step : 0,
                       40 + h,
                       0,
                       (noise(h, run) - 0.3) * 1e-3 * (run == 0 ? 1 : 0.1),
                       1.0};
    head.query_norm = 1.2 + 0.002 * step + 0.3 * noise(h, 9);
    health.heads.push_back(head);
  }
  return health;
}

bool is_measured(const TrainPlan& plan, int step, int last) {
  return step == 1 || step == last || step % plan.measure_every == 0;
}

}  // namespace

std::shared_ptr<TrainRecord> made_record(const TrainPlan& plan, int steps) {
  auto r = std::make_shared<TrainRecord>();
  r->plan = plan;
  r->parameters = parameters(plan.model, made_vocabulary);
  r->device = "cpu avx512, 2 threads";
  r->step = steps;
  const TrainRuns all = runs_of(plan);
  for (const RunPlan& run : all.runs) {
    const int index = int(r->runs.size());
    RunRecord record{run, {}, {}, ""};
    for (int step = 1; step <= steps; ++step) {
      const double t = double(step) / plan.recipe.steps;
      record.steps.push_back({step,
                              1.7 + 2.9 * std::exp(-5 * t) + 0.06 * noise(step, 1) + 0.002 * noise(step, index),
                              0.6 + std::exp(-9 * t) + 0.2 * noise(step, 2, index),
                              1e-3,
                              1,
                              false,
                              {}});
      if (is_measured(plan, step, steps)) record.health.push_back(made_health(*r, index, step));
    }
    r->runs.push_back(std::move(record));
  }
  for (const PairPlan& pair : all.pairs) {
    PairRecord record{pair, {}};
    for (int step = 1; step <= steps; ++step)
      if (is_measured(plan, step, steps)) record.points.push_back(made_point(*r, pair, int(r->pairs.size()), step));
    r->pairs.push_back(std::move(record));
  }
  r->seconds = steps / 20.0;
  return r;
}

TrainView ready_view(const TrainPlan& plan) {
  TrainView view;
  view.progress.steps = plan.recipe.steps;
  view.progress.vocabulary = made_vocabulary;
  view.progress.text = "the chronicle, 400,315 characters, 65 different";
  return view;
}

TrainView made_view(std::shared_ptr<const TrainRecord> record) {
  TrainView view = ready_view(record->plan);
  TrainProgress& p = view.progress;
  p.step = record->step;
  p.state = record->finished() ? TrainProgress::State::done : TrainProgress::State::paused;
  p.steps_per_second = 18.3;
  p.seconds_left = (p.steps - p.step) / 18.3;
  p.kept = {0};
  for (int step = record->plan.checkpoint_every; step <= record->step; step += record->plan.checkpoint_every)
    p.kept.push_back(step);
  view.record = std::move(record);
  return view;
}

}  // namespace attoscope::testing
