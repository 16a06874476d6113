/// What the figures of trainings draw of two models' weights, and what their lines are called.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <string>
#include <utility>

#include "app/figures/figure.h"
#include "kernels/train/measures.h"

namespace attoscope {

/// A number of two models' weights over all tensors.
struct WeightMeasure {
  const char* label;
  double WeightDeviation::* value;
};
inline constexpr std::array<WeightMeasure, 2> weight_measures{
    {{"Wasserstein-1", &WeightDeviation::wasserstein}, {"relative L2", &WeightDeviation::rel_l2}}};

/// Two panels over steps: a measure each, of `count` comparisons as `curve(i, the measure's value)` makes them; logarithmic
/// where a value is above 0.
template <class F>
Figure over_steps(const char* name, std::size_t count, const std::string& per, F curve) {
  Figure f;
  f.name = name;
  f.columns = f.panels_across = 2;
  for (const WeightMeasure& m : weight_measures) {
    FigurePanel panel;
    panel.x.label = "training step";
    panel.x.whole = true;
    panel.y.label = m.label + per;
    for (std::size_t i = 0; i < count; ++i) panel.series.push_back(curve(i, m.value));
    panel.y.log = std::ranges::any_of(panel.series,
                                      [](const Series& s) { return std::ranges::any_of(s.y, [](double y) { return y > 0; }); });
    f.panels.push_back(std::move(panel));
  }
  return f;
}

/// Lines of the figures over seeds that are no pair of a single plan.
inline constexpr const char* other_tiles = "other tiles";
inline constexpr const char* in_half = "a - b in fp16";
inline constexpr const char* unskipped = "fp16 - fp32, loss scale 64";
inline constexpr double low_loss_scale = 64;

}  // namespace attoscope
