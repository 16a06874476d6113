// Bytes of the backward pass between HBM and the chip, in words.
#include <fmt/format.h>

#include <utility>

#include "kernels/experiment/result.h"
#include "kernels/experiment/traffic.h"
#include "ui/statistics/traffic.h"
#include "ui/words/numbers.h"

namespace attoscope::ui {
namespace {

/// "Q in      1.05 MB = 524288 x 2 B", a line for each tensor, then the sum.
std::string counted_parts(const std::vector<TrafficPart>& parts) {
  std::string text;
  for (const TrafficPart& part : parts)
    text += fmt::format("{:24} {:>8} = {:.0f} x {:.4g} B\n", part.what, bytes_text(part.elements * part.bytes), part.elements,
                        part.bytes);
  return text + fmt::format("{:24} {:>8}", "all", bytes_text(total_bytes(parts)));
}

/// Elements in the letters of the papers: short ones for as many keys as queries, d_v = d and no mask.
struct BackwardFormula {
  const char *square, *any;
};
constexpr BackwardFormula of_stored_P{"8Nd + 7N²", "2(N+n_k)(d+d_v) + 7N·n_k"},
    of_flash1{"4Nd + Tc·N(5d+2)", "2n_k(d+d_v) + (3d+2d_v+2)ΣBr"},
    of_flash2{"8Nd + N + Tc·N(4d+2)", "N(2d_v+1) + 2n_k(d+d_v) + 2Nd + (3d+d_v+2)ΣBr"};

TrafficOf backward_of(const char* name, const std::vector<TrafficPart>& parts, const BackwardFormula& formula, bool square,
                      const char* what) {
  return {.name = name,
          .bytes = total_bytes(parts),
          .formula = square ? formula.square : formula.any,
          .counted = counted_parts(parts),
          .what = what};
}

}  // namespace

std::vector<TrafficOf> backward_traffic_of_all(const Experiment& e) {
  if (!e.backward.on) return {};
  const BackwardTraffic t = backward_traffic(e);
  const bool square = shape_of(e.problem).is_square() && t.skipped_tiles == 0;
  std::vector<TrafficOf> all{
      backward_of(
          "P stored, back", t.stored_P, of_stored_P, square,
          "The standard backward pass (arXiv 2205.14135, Algorithm 3) with the P that the forward pass stored: P, dP and "
          "dS are N x N in HBM, masked or not."),
      backward_of(
          "FA-1 back", t.flash1, of_flash1, square,
          "FlashAttention (arXiv 2205.14135, Algorithm 4): K and V outside, P is made again from S, l and m. Q, O, dO and "
          "dQ are read and dQ is written for every tile of keys."),
      backward_of("FA-2 back", t.flash2, of_flash2, square,
                  "FlashAttention-2 (arXiv 2307.08691, Algorithm 2): delta comes first, so that the loop reads no O. K and V "
                  "outside, P is made again from S and L; dQ is added to its sum in HBM for every tile of keys. Large block_k "
                  "helps.")};
  const std::string buffers = e.backward.a.order == GradOrder::buffers && e.backward.a.buffers > 1
                                  ? fmt::format(" + {}Nd for the buffers", e.backward.a.buffers - 1)
                                  : "";
  all[2].formula += buffers;
  const double flops = useful_backward_flops(e.problem);
  for (TrafficOf& of : all) {
    const auto index = static_cast<int>(&of - all.data());
    of.ink = info(e.a.algorithm).traffic == index ? Ink::a : info(e.b.algorithm).traffic == index ? Ink::b : Ink::golden;
    of.flops = flops;
    of.intensity = flops / of.bytes;
    of.counted = of.formula + " elements\n" + of.counted;
    if (index > 0) of.counted += fmt::format("\n{} of {} tiles visited", t.tiles - t.skipped_tiles, t.tiles);
  }
  return all;
}

std::vector<TrafficOf> traffic_of_passes(const Result& r) {
  const TrafficOfAll forward = traffic_of_all(r);
  std::vector<TrafficOf> all(forward.begin(), forward.end());
  for (TrafficOf& of : backward_traffic_of_all(r.experiment)) all.push_back(std::move(of));
  return all;
}

}  // namespace attoscope::ui
