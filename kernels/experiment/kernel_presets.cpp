#include "kernels/experiment/kernel_presets.h"

#include <algorithm>
#include <array>
#include <span>
#include <stdexcept>
#include <string>
#include <vector>

#include "kernels/arithmetic/quoted.h"
#include "kernels/experiment/presets.h"
#include "kernels/experiment/rules.h"
#include "kernels/experiment/scaled_kernels.h"

namespace attoscope {
namespace {

/// Tiles of a kernel up to a head dimension, without a mask and with the causal one.
struct Tiles {
  int most_d;
  TileSizes plain, causal;
};

constexpr int any_d = max_d;
/// Tiles of FlashAttention-2 on sm_80, and on the smaller shared memory of sm_86 and sm_89.
constexpr std::array<Tiles, 2> fa2_sm80{{{64, {128, 128}, {128, 128}}, {any_d, {128, 64}, {128, 64}}}};
constexpr std::array<Tiles, 5> fa2_sm8x{{{64, {128, 128}, {128, 128}},
                                         {96, {128, 64}, {64, 64}},
                                         {128, {128, 32}, {64, 64}},
                                         {192, {128, 64}, {128, 64}},
                                         {any_d, {64, 64}, {64, 64}}}};
constexpr std::array<Tiles, 5> fa3_sm90{{{64, {192, 192}, {192, 128}},
                                         {96, {192, 144}, {192, 144}},
                                         {128, {128, 176}, {128, 128}},
                                         {192, {128, 112}, {128, 112}},
                                         {any_d, {128, 80}, {128, 80}}}};
constexpr std::array<Tiles, 5> fa3_fp8_sm90{{{64, {192, 160}, {192, 160}},
                                             {96, {192, 128}, {192, 128}},
                                             {128, {128, 224}, {128, 224}},
                                             {192, {128, 160}, {128, 160}},
                                             {any_d, {128, 128}, {128, 128}}}};
constexpr std::array<Tiles, 1> fa4_sm100{{{any_d, {128, 128}, {128, 128}}}};

struct Kernel {
  KernelPreset preset;
  Accumulator accumulator;
  std::span<const Tiles> tiles;
  Algorithm algorithm = Algorithm::flash2;
  bool fp8 = false;
  int flush = flush_of_policy;
};

constexpr std::string_view fa2_source =
    "Dao-AILab/flash-attention, csrc/flash_attn/src/flash_fwd_launch_template.h, flash_fwd_kernel.h";
constexpr std::string_view fa3_source =
    "Dao-AILab/flash-attention, hopper/tile_size.h, mainloop_fwd_sm90_tma_gmma_ws.hpp, softmax.h";

constexpr std::array<Kernel, 6> plain_kernels{{
    {{"fa2_a100",
      "FlashAttention-2 on an A100: exp2, P.V goes on in O in fp32. It takes the tiles of keys from the last to the first, "
      "which is not emulated",
      fa2_source},
     Accumulator::a100,
     fa2_sm80},
    {{"fa2_rtx40",
      "FlashAttention-2 on a GeForce RTX 40: exp2, P.V goes on in O in fp32. It takes the tiles of keys from the last to the "
      "first, which is not emulated",
      fa2_source},
     Accumulator::ada,
     fa2_sm8x},
    {{"fa3_h100",
      "FlashAttention-3 on an H100: exp2, P.V goes on in O in fp32. It takes the tiles of keys from the last to the first, "
      "which is not emulated",
      fa3_source},
     Accumulator::h100,
     fa3_sm90},
    {{"fa3_fp8_h100",
      "FlashAttention-3 in e4m3 on an H100: P lifted by 2^8, one accumulator over all keys, output in bf16. Its scales of Q, K "
      "and V are 1 here",
      fa3_source},
     Accumulator::h100,
     fa3_fp8_sm90,
     Algorithm::flash2,
     true},
    {{"fa3_fp8_h100_flush4", "the same with the accumulator added to O in fp32 after every 4 tiles, as vLLM's fork can",
      "vllm-project/flash-attention, pull requests 104 and 122"},
     Accumulator::h100,
     fa3_fp8_sm90,
     Algorithm::flash2,
     true,
     4},
    {{"fa4_b200",
      "FlashAttention-4 on a B200: a stale max up to 2^8, exp2 by a polynomial of degree 3, here for every key and there for "
      "some",
      "Dao-AILab/flash-attention, flash_attn/cute/flash_fwd_sm100.py, softmax.py"},
     Accumulator::b200,
     fa4_sm100,
     Algorithm::flash4},
}};
/// Both tables as presets.
const std::vector<KernelPreset>& all_presets() {
  static const std::vector<KernelPreset> presets = [] {
    std::vector<KernelPreset> all;
    for (const Kernel& k : plain_kernels) all.push_back(k.preset);
    for (const ScaledKernel& k : scaled_kernels()) all.push_back({k.name, k.what, k.source});
    return all;
  }();
  return presets;
}

/// The kernel of that name; null: it is one of the scaled kernels.
const Kernel* plain_kernel(std::string_view name) {
  const auto found = std::ranges::find(plain_kernels, name, [](const Kernel& k) { return k.preset.name; });
  return found == plain_kernels.end() ? nullptr : &*found;
}
/// The method of a scaled kernel, made once: it depends on neither the problem nor the main format.
const Method& scaled_method(std::string_view name) {
  static const std::vector<Method> methods = [] {
    std::vector<Method> all;
    for (const ScaledKernel& k : scaled_kernels()) all.push_back(method_of(k));
    return all;
  }();
  const auto found = std::ranges::find(scaled_kernels(), name, &ScaledKernel::name);
  return methods[static_cast<std::size_t>(found - scaled_kernels().begin())];
}

TileSizes tiles_of(std::span<const Tiles> tiles, const Problem& p) {
  for (const Tiles& row : tiles)
    if (p.d <= row.most_d) return p.mask.kind == Mask::Kind::causal ? row.causal : row.plain;
  return tiles.back().plain;
}

Method method_of(const Kernel& k, const Problem& p, const Format& main) {
  Method m{.algorithm = k.algorithm,
           .tau = usual_tau(main),
           .exponential = ExponentialKind::exp2,
           .precision = policy("hw").precision};
  m = with_tiles(m, tiles_of(k.tiles, p));
  m.exp2_degree = k.algorithm == Algorithm::flash4 ? 3 : 0;
  m.accumulator = {k.accumulator, k.accumulator};
  m.flush = k.flush;
  if (k.fp8) {
    m.p_exponent = 8;
    m.precision[Step::output] = to_format(bf16);
  }
  return m;
}

/// The method of a plain or a scaled kernel.
Method method_called(std::string_view name, const Problem& p, const Format& main) {
  if (const Kernel* const k = plain_kernel(name)) return method_of(*k, p, main);
  const bool fa3_tiles = std::ranges::find(scaled_kernels(), name, &ScaledKernel::name)->fa3_tiles;
  return fa3_tiles ? with_tiles(scaled_method(name), tiles_of(fa3_fp8_sm90, p)) : scaled_method(name);
}

}  // namespace

std::span<const KernelPreset> kernel_presets() { return all_presets(); }

const KernelPreset& kernel_preset(std::string_view name) {
  std::string known;
  for (const KernelPreset& preset : all_presets()) {
    if (preset.name == name) return preset;
    known += (known.empty() ? "" : ", ") + std::string(preset.name);
  }
  throw std::invalid_argument("kernel " + in_quotes(name) + " is unknown: expected one of " + known);
}

Experiment with_kernel(Experiment e, const KernelPreset& kernel) {
  const Experiment before = e;
  const Kernel* const k = plain_kernel(kernel.name);
  if (k != nullptr && k->fp8) {
    e = with_format(std::move(e), e4m3);
  } else if (e.format != bf16 && e.format != fp16) {
    e = with_format(std::move(e), bf16);
  }
  e.a = method_called(kernel.name, e.problem, e.format);
  return with_gradients_in_step(before, std::move(e));
}

Experiment with_kernel_as_b(Experiment e, const KernelPreset& kernel) {
  const Experiment before = e;
  e.b = method_called(kernel.name, e.problem, e.format);
  return with_gradients_in_step(before, std::move(e));
}

std::string_view kernel_name(const Method& m, const Problem& problem, const Format& main) {
  for (const KernelPreset& preset : all_presets())
    if (method_called(preset.name, problem, main) == m) return preset.name;
  return {};
}

}  // namespace attoscope
