#include "kernels/experiment/kernel_presets.h"

#include <algorithm>
#include <array>
#include <stdexcept>
#include <string>
#include <vector>

#include "kernels/arithmetic/quoted.h"
#include "kernels/experiment/presets.h"
#include "kernels/experiment/scaled_kernels.h"

namespace attoscope {
namespace {

constexpr int any_d = max_d;
/// Tiles of FlashAttention-2 on sm_80, and on the smaller shared memory of sm_86 and sm_89.
constexpr std::array<TilesUpTo, 2> fa2_sm80{{{64, {128, 128}, {128, 128}}, {any_d, {128, 64}, {128, 64}}}};
constexpr std::array<TilesUpTo, 5> fa2_sm8x{{{64, {128, 128}, {128, 128}},
                                             {96, {128, 64}, {64, 64}},
                                             {128, {128, 32}, {64, 64}},
                                             {192, {128, 64}, {128, 64}},
                                             {any_d, {64, 64}, {64, 64}}}};
constexpr std::array<TilesUpTo, 5> fa3_sm90{{{64, {192, 192}, {192, 128}},
                                             {96, {192, 144}, {192, 144}},
                                             {128, {128, 176}, {128, 128}},
                                             {192, {128, 112}, {128, 112}},
                                             {any_d, {128, 80}, {128, 80}}}};
constexpr std::array<TilesUpTo, 5> fa3_fp8_sm90{{{64, {192, 160}, {192, 160}},
                                                 {96, {192, 128}, {192, 128}},
                                                 {128, {128, 224}, {128, 224}},
                                                 {192, {128, 160}, {128, 160}},
                                                 {any_d, {128, 128}, {128, 128}}}};
constexpr std::array<TilesUpTo, 1> fa4_sm100{{{any_d, {128, 128}, {128, 128}}}};

constexpr std::string_view fa2_source =
    "Dao-AILab/flash-attention, csrc/flash_attn/src/flash_fwd_launch_template.h, flash_fwd_kernel.h";
constexpr std::string_view fa3_source =
    "Dao-AILab/flash-attention, hopper/tile_size.h, mainloop_fwd_sm90_tma_gmma_ws.hpp, softmax.h";

/// A kernel of 16 bits whose products this GPU adds.
KernelPreset plain_kernel(std::string_view name, std::string_view what, std::string_view source, Accumulator sums,
                          std::span<const TilesUpTo> tiles, Algorithm algorithm = Algorithm::flash2) {
  const Method method{.algorithm = algorithm,
                      .exponential = ExponentialKind::exp2,
                      .exp2_degree = algorithm == Algorithm::flash4 ? 3 : 0,
                      .accumulator = {sums, sums},
                      .precision = policy("hw").precision};
  return {name, what, source, method, tiles, true};
}

/// FlashAttention-3 in e4m3.
KernelPreset fa3_fp8(std::string_view name, std::string_view what, std::string_view source, int flush) {
  KernelPreset k = plain_kernel(name, what, source, Accumulator::h100, fa3_fp8_sm90);
  k.is_of_8_bits = true;
  k.method.flush = flush;
  k.method.p_exponent = 8;
  k.method.precision[Step::output] = to_format(bf16);
  return k;
}

std::vector<KernelPreset> all_presets() {
  std::vector<KernelPreset> all{
      plain_kernel("fa2_a100",
                   "FlashAttention-2 on an A100: exp2, P.V goes on in O in fp32. It takes the tiles of keys from the last to the "
                   "first, which is not emulated",
                   fa2_source, Accumulator::a100, fa2_sm80),
      plain_kernel("fa2_rtx40",
                   "FlashAttention-2 on a GeForce RTX 40: exp2, P.V goes on in O in fp32. It takes the tiles of keys from the "
                   "last to the first, which is not emulated",
                   fa2_source, Accumulator::ada, fa2_sm8x),
      plain_kernel("fa3_h100",
                   "FlashAttention-3 on an H100: exp2, P.V goes on in O in fp32. It takes the tiles of keys from the last to the "
                   "first, which is not emulated",
                   fa3_source, Accumulator::h100, fa3_sm90),
      fa3_fp8("fa3_fp8_h100",
              "FlashAttention-3 in e4m3 on an H100: P lifted by 2^8, one accumulator over all keys, output in bf16. Its scales of "
              "Q, K and V are 1 here",
              fa3_source, flush_of_policy),
      fa3_fp8("fa3_fp8_h100_flush4",
              "the same with the accumulator added to O in fp32 after every 4 tiles, as vLLM's fork can",
              "vllm-project/flash-attention, pull requests 104 and 122", 4),
      plain_kernel("fa4_b200",
                   "FlashAttention-4 on a B200: a stale max up to 2^8, exp2 by a polynomial of degree 3, here for every key and "
                   "there for some",
                   "Dao-AILab/flash-attention, flash_attn/cute/flash_fwd_sm100.py, softmax.py", Accumulator::b200, fa4_sm100,
                   Algorithm::flash4)};
  for (const ScaledKernel& k : scaled_kernels()) {
    all.push_back({k.name, k.what, k.source, method_of(k)});
    if (k.fa3_tiles) all.back().tiles = fa3_fp8_sm90;
  }
  return all;
}

Method method_on(const KernelPreset& k, const Problem& p, const Format& main) {
  Method m = k.method;
  if (k.has_usual_tau) m.tau = usual_tau(main);
  return k.tiles.empty() ? m : with_tiles(m, tiles_for(k.tiles, p.d, p.mask.kind == Mask::Kind::causal));
}

}  // namespace

std::span<const KernelPreset> kernel_presets() {
  static const std::vector<KernelPreset> all = all_presets();
  return all;
}

const KernelPreset& kernel_preset(std::string_view name) {
  const std::span<const KernelPreset> known = kernel_presets();
  if (const auto found = std::ranges::find(known, name, &KernelPreset::name); found != known.end()) return *found;
  throw std::invalid_argument("kernel " + in_quotes(name) + " is unknown: expected one of " +
                              listed(known, ", ", &KernelPreset::name));
}

Experiment with_kernel(Experiment e, const KernelPreset& kernel) {
  const Experiment before = e;
  if (kernel.is_of_8_bits) {
    e = with_format(std::move(e), e4m3);
  } else if (e.format != bf16 && e.format != fp16) {
    e = with_format(std::move(e), bf16);
  }
  e.a = method_on(kernel, e.problem, e.format);
  return with_gradients_in_step(before, std::move(e));
}

Experiment with_kernel_as_b(Experiment e, const KernelPreset& kernel) {
  const Experiment before = e;
  e.b = method_on(kernel, e.problem, e.format);
  return with_gradients_in_step(before, std::move(e));
}

std::string_view kernel_name(const Method& m, const Problem& problem, const Format& main) {
  for (const KernelPreset& preset : kernel_presets())
    if (method_on(preset, problem, main) == m) return preset.name;
  return {};
}

}  // namespace attoscope
