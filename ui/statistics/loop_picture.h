/// The double loop as a picture: query blocks by key tiles, with the contents of HBM and chip.
#pragma once

#include <string>
#include <vector>

#include "imgui.h"
#include "kernels/experiment/experiment.h"
#include "kernels/experiment/loop_steps.h"
#include "ui/widgets/theme.h"

namespace attoscope {

/// The steps of an experiment's loop, kept between frames.
struct LoopPicture {
  Experiment experiment{};
  LoopOrder order = LoopOrder::queries_outside;
  std::vector<LoopStep> steps;  ///< empty: not computed, or too many for a picture
  bool too_many = false;
};

/// Order of an algorithm's loops: FlashAttention-1's, else FlashAttention-2's.
LoopOrder loop_order(Algorithm algorithm);

/// Updates the steps.
void refresh_loop(LoopPicture& picture, const Experiment& experiment, LoopOrder order);

/// "Query block 2 of 4, key tile 3 of 4: loads K, V. 1.05 MB of 4.46 MB, 50.3 of 268 Mflop: 47.9 flop/B."
std::string loop_sentence(const LoopPicture& picture, int at);

/// Draws step `at` into a rectangle; takes no room in the layout.
void draw_loop_picture(const LoopPicture& picture, int at, ImVec2 from, ImVec2 size);

/// Buttons and a track for the step. True if the step changed. The caller keeps `playing` and `next`.
bool draw_loop_transport(const LoopPicture& picture, int& at, bool& playing, double& next, float width);

}  // namespace attoscope
