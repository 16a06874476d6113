/// Parts of the traffic panel.
#pragma once

#include <array>
#include <span>
#include <string>
#include <vector>

#include "imgui.h"
#include "kernels/experiment/experiment.h"
#include "kernels/experiment/traffic.h"
#include "ui/frame/figure_panel.h"
#include "ui/widgets/theme.h"

namespace attoscope {
struct Experiment;
struct Result;
}  // namespace attoscope

namespace attoscope::ui {

/// Traffic of an algorithm, ready to draw.
struct TrafficOf {
  const char* name = "";  ///< "FA-2"
  double bytes = 0;       ///< between HBM and the chip
  double flops = 0;       ///< useful operations
  double intensity = 0;   ///< useful operations a byte
  Ink ink = Ink::golden;  ///< a's or b's if they use the algorithm
  std::string formula{};  ///< elements moved: "2Nd + N + Tr·2Nd"
  std::string counted{};  ///< the formula with numbers, in bytes
  const char* what = "";  ///< description of its loops
};
using TrafficOfAll = std::array<TrafficOf, 3>;

/// Algorithm 0, FlashAttention-1 and -2 for the result's problem with a's tiles.
TrafficOfAll traffic_of_all(const Result& result);

/// The same for an experiment without a result.
TrafficOfAll traffic_of_all(const Experiment& experiment);

/// The backward pass of the same three algorithms with the tiles of `backward.a`; none without a backward pass.
std::vector<TrafficOf> backward_traffic_of_all(const Experiment& experiment);
/// Both passes of an experiment, one after the other.
std::vector<TrafficOf> traffic_of_passes(const Result& result);

/// One line each: name, formula, bytes, ratio to Algorithm 0, and a bar to scale; fills the width.
void draw_traffic_lines(const TrafficOfAll& all);

/// Colour of its bar and of its dot on the roof.
Colour traffic_colour(const TrafficOf& of);

/// Smallest time of `of` on a machine, in seconds.
double least_seconds(const TrafficOf& of, const DataSheet& machine);

/// Choice of the machine, and its roofline with the algorithms; in a low panel as text.
void draw_roofline(View& view, std::span<const TrafficOf> all);

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

/// The loop up to step `at`: the order in which tiles of S are on chip, and the bytes moved by then.
std::vector<FigurePanel> loop_figure(const LoopPicture& picture, int at);
/// "Query block 2 of 4, key tile 3 of 4: loads K, V. 1.05 MB of 4.46 MB, 50.3 of 268 Mflop: 47.9 flop/B."
std::string loop_sentence(const LoopPicture& picture, int at);

/// Draws step `at` into a rectangle; takes no room in the layout.
void draw_loop_picture(const LoopPicture& picture, int at, ImVec2 from, ImVec2 size);

/// Buttons and a track for the step. True if the step changed. The caller keeps `playing` and `next`.
bool draw_loop_transport(const LoopPicture& picture, int& at, bool& playing, double& next, float width);

}  // namespace attoscope::ui
