#include "tests/gpu/experiments.h"

#include <iterator>
#include <stdexcept>

#include "kernels/experiment/experiment.h"
#include "kernels/experiment/grad_kernels.h"
#include "kernels/experiment/presets.h"
#include "kernels/tensor_core/hardware.h"
#include "tests/support/support.h"

namespace attoscope::gpu_check {
namespace {

using testing::Dice;

const Format formats[] = {bf16, fp16,   e4m3,   e5m2,    tf32,    fp32,
                          fp64, {4, 3}, {2, 1}, {8, 22}, {11, 5}, {6, 9, Overflow::saturate}};
const InputKind inputs[] = {InputKind::normal, InputKind::uniform,   InputKind::outliers,
                            InputKind::ties,   InputKind::ascending, InputKind::ones};

/// Sizes that no warp, tile or vector divides, taken in turn.
void set_sizes(Experiment& e, std::size_t turn) {
  constexpr int lengths[] = {1, 2, 31, 33, 63, 65, 97, 129, 130, 191, 200, 257}, dimensions[] = {1, 3, 8, 17, 24, 33, 64},
                tiles[] = {1, 7, 16, 17, 64, 100, 512};
  e.problem.n = lengths[turn % std::size(lengths)];
  e.problem.d = dimensions[turn % std::size(dimensions)];
  e.a.block_k = tiles[turn % std::size(tiles)];
  e.b.block_k = tiles[(turn + 3) % std::size(tiles)];
  e.problem.seed = turn + 1;
  e.problem.input.kind = inputs[turn % std::size(inputs)];
  e.problem.rows = turn % 5 == 4 ? e.problem.n / 2 + 1 : 0;
  e.problem.traced_row = static_cast<int>(turn % 7 == 6 ? turn % static_cast<std::size_t>(e.problem.n) : 0) - 1;
}

}  // namespace

std::vector<Experiment> full_cross() {
  std::vector<Experiment> all;
  for (const Algorithm a : emulated_algorithms)
    for (const Policy& p : policies()) {
      if ((p.algorithm == Algorithm::three_pass) != normalises_P(a)) continue;
      for (const Format& format : formats)
        for (std::size_t mask = 0; mask < mask_names.size(); ++mask) {
          Experiment e = default_experiment();
          set_sizes(e, all.size());
          e.format = format;
          e.problem.mask = {static_cast<Mask::Kind>(mask), e.problem.n / 3 + 1};
          e.a.algorithm = a;
          e.a.precision = p.precision;
          e.a.splits = static_cast<int>(all.size() % 3) + 1;
          e.a.tau = usual_tau(format);
          all.push_back(e);
        }
    }
  return all;
}

std::vector<Experiment> random_ones(int count) {
  Dice dice(20260);
  std::vector<Experiment> all;
  for (int i = 0; i < count; ++i) {
    all.push_back(testing::random_experiment(dice));
    if (i < 3 * count / 4) continue;
    testing::make_stochastic(all.back().a, dice, 2);
    testing::make_stochastic(all.back().b, dice, 3);
  }
  return all;
}

std::vector<Experiment> backward_ones() {
  std::vector<Experiment> all;
  std::size_t turn = 0;
  for (const GradKernel& kernel : grad_kernels())
    for (std::size_t mask = 0; mask < mask_names.size(); ++mask, ++turn) {
      Experiment e = default_experiment();
      set_sizes(e, turn);
      if (turn % 8 == 5) e.problem.n = 1500;
      e.format = turn % 9 == 8 ? fp64 : turn % 3 == 2 ? fp16 : bf16;
      e.problem.mask = {static_cast<Mask::Kind>(mask), e.problem.n / 3 + 1};
      e.backward.on = true;
      e.backward.a = e.backward.b = grad_method(kernel.name, e.problem.d, e.problem.mask);
      e.backward.b.order = static_cast<GradOrder>(turn % 4);
      e.backward.b.buffers = 3;
      e.backward.b.block_k = 1 + static_cast<int>(turn % 70);
      try {
        validate(e);
      } catch (const std::invalid_argument&) {
        continue;  // not every method takes a kernel's formats and scales
      }
      all.push_back(e);
    }
  return all;
}

std::vector<Experiment> large_ones() {
  std::vector<Experiment> all;
  for (const char* const name : {"hw", "tile", "eager", "all_tile", "all_direct"})
    for (const int n : {1000, 2048}) {
      Experiment e = default_experiment();
      e.problem.n = n;
      e.problem.mask.kind = n == 1000 ? Mask::Kind::causal : Mask::Kind::none;
      e.a.precision = policy(name).precision;
      all.push_back(e);
    }
  Experiment wide = default_experiment();
  wide.format = fp64;
  wide.problem.n = 700;
  wide.problem.d = 128;
  all.push_back(wide);
  return all;
}

std::vector<Experiment> many_rows() {
  std::vector<Experiment> all;
  for (const Mask::Kind mask : {Mask::Kind::window, Mask::Kind::padding}) {
    Experiment e = default_experiment();
    e.problem.n = 70'000;
    e.problem.d = 8;
    e.problem.mask = {mask, mask == Mask::Kind::window ? 20 : e.problem.n - 300};
    e.problem.traced_row = e.problem.n - 1;
    all.push_back(e);
  }
  return all;
}

std::vector<Experiment> sample_of_all() {
  std::vector<Experiment> some, all = full_cross();
  for (std::size_t i = 0; i < all.size(); i += 61) some.push_back(all[i]);
  for (const Experiment& e : random_ones(16)) some.push_back(e);
  all = backward_ones();
  for (std::size_t i = 0; i < all.size(); i += 7) some.push_back(all[i]);
  return some;
}

std::vector<Experiment> hardware_ones(std::span<const Format> formats, int major, int minor) {
  std::vector<Experiment> all;
  constexpr int lengths[] = {1, 63, 200, 257, 1000, 1025};
  for (const Format& format : formats)
    for (const int d : {32, 64, 96, 128})
      for (const HardwareTile& tile : hardware_tiles())
        for (const Mask::Kind mask : {Mask::Kind::none, Mask::Kind::causal}) {
          Experiment e = default_experiment();
          e.problem.n = lengths[all.size() % std::size(lengths)];
          e.problem.d = d;
          e.problem.mask.kind = mask;
          e.problem.rows = all.size() % 4 == 3 ? e.problem.n / 2 + 1 : 0;
          e.format = format;
          e.a.block_q = tile.block_q;
          e.a.block_k = tile.block_k;
          e.a = emulation_of(e.a, hardware_sums(format, major, minor));
          e.a.precision[Step::output] = exact;
          e.b = e.a;
          e.b.algorithm = Algorithm::hardware;
          all.push_back(e);
        }
  return all;
}

}  // namespace attoscope::gpu_check
