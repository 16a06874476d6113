/// Largest error over its tolerance of each tile of rows of a loaded output.
#pragma once

#include <memory>
#include <vector>

#include "imgui.h"
#include "ui/frame/loaded_output.h"
#include "ui/widgets/theme.h"

namespace attoscope {

/// Tiles of rows of a loaded output, updated once for a verdict.
struct KernelRows {
  std::shared_ptr<const HeadVerdict> found;
  bool of_a = true;                ///< the loaded output is a
  bool others_unknown = false;     ///< other heads of its call are wrong, or not judged yet
  int tile = 1;                    ///< rows of a tile
  double low = 1e-2, high = 10;    ///< ends of the axis
  std::vector<double> row, share;  ///< middle of each tile, and its largest error over its tolerance; infinite for NaN
  std::vector<double> bad;         ///< middles of tiles with a wrong row
  std::vector<int> first_bad;      ///< first wrong row of each of these
};

/// Updates the tiles; false without a loaded output on screen or a verdict on it.
bool refresh_kernel_rows(KernelRows& rows, const PanelInput& input);

/// The plot in a rectangle; a click traces the row under it, or the first wrong one of a marked tile.
void draw_kernel_rows(Session& session, const KernelRows& rows, ImVec2 at, ImVec2 size);

}  // namespace attoscope
