/// Where a loaded output is wrong: the largest error of each tile of rows, against the line.
#pragma once

#include <memory>
#include <vector>

#include "imgui.h"
#include "ui/frame/loaded_output.h"
#include "ui/widgets/theme.h"

namespace attoscope {

/// The tiles of rows of a loaded output, made once for a verdict.
struct KernelRows {
  std::shared_ptr<const Diagnosis> found;
  bool of_a = true;                ///< the loaded output is a
  int tile = 1;                    ///< rows of a tile
  double low = 1e-8, high = 1;     ///< ends of the axis of errors
  std::vector<double> row, error;  ///< the middle of each tile, and its largest |error|; infinite where one is no number
  std::vector<double> bad;         ///< the middles of the tiles with a row beyond the line, or that stands out
  std::vector<int> first_bad;      ///< the first such row of each of these
};

/// Brings the tiles up to date; false where there is no loaded output on screen, or no line to hold it to.
bool refresh_kernel_rows(KernelRows& rows, const PanelInput& input);

/// The plot in a rectangle; a click traces the row under it, or the first one that fails in a marked tile.
void draw_kernel_rows(Session& session, const KernelRows& rows, ImVec2 at, ImVec2 size, const Palette& colours);

}  // namespace attoscope
