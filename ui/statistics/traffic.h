/// Parts of the traffic panel.
#pragma once

#include <array>
#include <string>

#include "kernels/experiment/traffic.h"
#include "ui/widgets/theme.h"

namespace attoscope {

struct Experiment;
struct Result;

/// One algorithm's traffic, ready to be drawn.
struct TrafficOf {
  const char* name = "";  ///< "FA-2"
  double bytes = 0;       ///< between HBM and the chip
  double intensity = 0;   ///< useful operations a byte
  Colour colour = 0;      ///< a's or b's where it is what they do
  std::string formula{};  ///< elements moved: "2Nd + N + Tr·2Nd"
  std::string counted{};  ///< bytes, with the numbers put in
  const char* what = "";  ///< its loops, in words
};
using TrafficOfAll = std::array<TrafficOf, 3>;

/// Algorithm 0, FlashAttention-1 and -2 on the result's problem with a's tiles.
TrafficOfAll traffic_of_all(const Result& result, const Palette& colours);

/// What traffic_of_all says of an experiment that nothing was computed for.
TrafficOfAll traffic_of_all(const Experiment& experiment, const Palette& colours);
/// A line each: name, formula, bytes, how many times Algorithm 0's, and a bar to scale; as wide as there is room.
void draw_traffic_lines(const TrafficOfAll& all, const Palette& colours);

/// Seconds that `of` takes at least on a machine.
double least_seconds(const TrafficOf& of, double flops, const DataSheet& machine);

/// The machine to choose, and its roofline with the three algorithms; where there is little room, in words.
void draw_roofline(View& view, const TrafficOfAll& all, double flops, const Palette& colours);

}  // namespace attoscope
