/// Parts of the traffic panel.
#pragma once

#include <array>
#include <string>

#include "kernels/experiment/traffic.h"
#include "ui/frame/figure_panel.h"
#include "ui/widgets/theme.h"

namespace attoscope {

struct Experiment;
struct Result;

/// Traffic of an algorithm, ready to draw.
struct TrafficOf {
  const char* name = "";  ///< "FA-2"
  double bytes = 0;       ///< between HBM and the chip
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
/// One line each: name, formula, bytes, ratio to Algorithm 0, and a bar to scale; fills the width.
void draw_traffic_lines(const TrafficOfAll& all);

/// Colour of its bar and of its dot on the roof.
Colour traffic_colour(const TrafficOf& of);

/// Smallest time of `of` on a machine, in seconds.
double least_seconds(const TrafficOf& of, double flops, const DataSheet& machine);

/// Choice of the machine, and its roofline with the three algorithms; in a low panel as text.
void draw_roofline(View& view, const TrafficOfAll& all, double flops);

}  // namespace attoscope
