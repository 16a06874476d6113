/// A sweep of two parameters as a heat map, for the window and figures.
#pragma once

#include <algorithm>
#include <cmath>
#include <utility>

#include "ui/frame/figure_panel.h"
#include "ui/frame/sweep_answer.h"
#include "ui/frame/sweep_lines.h"

namespace attoscope::ui {

/// Means with the first parameter across and the second down; a combination without an answer is empty.
inline FigurePanel sweep_heat_panel(const SweepTable& table) {
  FigurePanel panel;
  for (const auto& [axis, values] : {std::pair{&panel.x, &table.axes[0]}, std::pair{&panel.y, &table.axes[1]}}) {
    axis->label = values->title;
    axis->categories = values->names;
  }
  const std::size_t across = table.axes[0].names.size(), down = table.across();
  FigureHeat& heat = panel.heat.emplace();
  heat.width = static_cast<int>(across);
  heat.height = static_cast<int>(down);
  heat.values.assign(across * down, FigureHeat::nothing);
  double least = INFINITY, largest = 0;
  for (std::size_t i = 0; i < table.cells.size(); ++i) {
    const SweepCell& c = table.cells[i];
    if (c.count == 0) continue;
    heat.values[i % down * across + i / down] = static_cast<float>(c.mean);
    if (!std::isfinite(c.mean)) continue;
    least = std::min(least, c.mean);
    largest = std::max(largest, std::fabs(c.mean));
  }
  heat.x0 = heat.y0 = -0.5;
  heat.x1 = heat.width - 0.5;
  heat.y1 = heat.height - 0.5;
  heat.diverging = least < 0;
  heat.log = least > 0 && largest > 20 * least;
  heat.range = largest > 0 ? largest : 1;
  heat.label = measure_title(table);
  return panel;
}

}  // namespace attoscope::ui
