#include "kernels/bench/stages.h"
#include "kernels/experiment/presets.h"
#include "kernels/experiment/rules.h"

namespace attoscope {
namespace {

using enum UpdatePart;

void change_format(Experiment& e) { e.format = e.format == bf16 ? fp16 : bf16; }
void change_block_k(Experiment& e) { e.a.block_k = e.a.block_k == 64 ? 128 : 64; }
void change_b(Experiment& e) { e.b.precision[Step::S] = e.b.precision[Step::S] == exact ? to_main : exact; }
void change_row(Experiment& e) { e.problem.traced_row = (traced_row(e.problem) + 1) % e.problem.n; }
void change_block_q(Experiment& e) { e = with_block_q(e, e.a.block_q == 64 ? 128 : 64); }

}  // namespace

std::span<const Control> controls() {
  static const std::vector<Control> all{
      {"seed",
       [](Experiment& e) { ++e.problem.seed; },
       {drawn, rounded, golden, a, b, recurrence, moments, sorted, deviations, distances, kept}},
      {"format", change_format, {rounded, golden, a, b, recurrence, moments, sorted, deviations, distances, kept}},
      {"block_k of a", change_block_k, {a, recurrence, moments, sorted, deviations, distances, kept}},
      {"rounding of b", change_b, {b, moments, sorted, deviations, distances, kept}},
      {"traced row", change_row, {recurrence}},
      {"block_q", change_block_q, {}},
  };
  return all;
}

}  // namespace attoscope
