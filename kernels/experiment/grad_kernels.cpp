#include "kernels/experiment/grad_kernels.h"

#include <algorithm>
#include <array>
#include <stdexcept>
#include <vector>

#include "kernels/arithmetic/quoted.h"
#include "kernels/experiment/presets.h"
#include "kernels/experiment/rules.h"

namespace attoscope {
namespace {

using enum GradStep;

GradPrecision rounded_at(std::initializer_list<GradStep> steps, DeltaFrom from = DeltaFrom::output) {
  GradPrecision p;
  for (const GradStep s : steps) p[s] = to_main;
  p.delta_from = from;
  return p;
}
GradPrecision rounded_everywhere(DeltaFrom from) {
  GradPrecision p;
  for (const GradStepInfo& step : grad_step_infos)
    if (is_of_training(step.step)) p[step.step] = to_main;
  p.delta_from = from;
  return p;
}

constexpr std::array<TilesUpTo, 3> fa2_tiles{{{64, {128, 128}}, {128, {64, 128}}, {max_d, {64, 64}}}};
constexpr std::array<TilesUpTo, 5> fa3_tiles{
    {{64, {128, 128}}, {96, {64, 128}}, {128, {80, 128}, {64, 128}}, {192, {64, 96}}, {max_d, {64, 80}}}};
constexpr std::array<TilesUpTo, 1> fa4_tiles{{{max_d, {128, 128}}}};
constexpr std::array<TilesUpTo, 1> triton_tiles{{{max_d, {32, 32}}}};
constexpr std::array<TilesUpTo, 1> mxfp8_tiles{{{max_d, {128, 128}}}};
constexpr std::array<TilesUpTo, 1> one_tile{{{max_d, {max_tile, max_tile}}}};

constexpr std::string_view own = "this program's own choice of roundings";

/// Tensor cores take P and dS in D, and dQ, dK and dV leave in D.
GradPrecision of_tensor_cores() { return rounded_at({P, dS, dV, dK, dQ}); }

GradMethod with_exponential(GradExponential exponential, GradOrder order) {
  return {.precision = of_tensor_cores(), .exponential = exponential, .order = order};
}

/// Choices of roundings alone.
std::vector<GradKernel> of_training() {
  const auto policy = [](std::string_view name, std::string_view what, std::string_view source, const GradPrecision& precision,
                         std::span<const TilesUpTo> tiles = {}) {
    return GradKernel{name, what, source, {.precision = precision}, tiles, true};
  };
  return {
      policy("grad_exact", "Nothing is rounded; delta from O.", own, {}),
      policy("grad_hw", "FlashAttention-2: P and dS enter the tensor cores in D, dQ, dK, dV leave in D.",
             "arXiv 2307.08691, Algorithm 2", of_tensor_cores()),
      policy("grad_eager", "Op by op on D tensors, with FlashAttention's delta.", own,
             rounded_at({delta, probability, P, dP, centred, dS, dV, dK, dQ})),
      policy("grad_all", "Every operation, with FlashAttention's delta.", own, rounded_everywhere(DeltaFrom::output)),
      policy("grad_base_exact", "Nothing is rounded; delta from P.", own, rounded_at({}, DeltaFrom::probabilities), one_tile),
      policy("grad_base_eager", "PyTorch's baseline: products leave in D, the softmax's backward is fused in fp32.",
             "pytorch/pytorch, tools/autograd/derivatives.yaml, _softmax_backward_data",
             rounded_at({dP, dS, dV, dK, dQ}, DeltaFrom::probabilities), one_tile),
      policy("grad_base_all", "Every operation, delta from P.", own, rounded_everywhere(DeltaFrom::probabilities), one_tile),
  };
}

GradMethod fa2() {
  GradMethod m = with_exponential(GradExponential::exp2, GradOrder::shuffled);
  m.last_queries_first = true;
  return m;
}

GradMethod mem_efficient() { return {.precision = rounded_at({probability, P, dS, dV, dK, dQ}), .scale_at = ScaleAt::dS}; }

GradMethod triton() {
  return {.precision = rounded_at({scaled_K, P, dS, dV, dK, dQ}), .scale_at = ScaleAt::K, .exponential = GradExponential::exp2};
}

GradMethod with_scales(std::string_view P_text, std::string_view dS_text, std::string_view dS_of_dK_text, ScaleAt scale_at) {
  GradMethod m{.scale_at = scale_at};
  for (const GradStep s : {dV, dK, dQ}) m.precision[s] = to_format(bf16);
  m.scaling.P = parse_scaling(P_text);
  m.scaling.dS = parse_scaling(dS_text);
  m.scaling.dS_of_dK = parse_scaling(dS_of_dK_text);
  return m;
}

/// Backward passes of FlashAttention.
std::vector<GradKernel> of_flash_attention() {
  return {
      {"grad_fa2",
       "FlashAttention-2: 2^(S c - L log2 e), P and dS cast once, scale at the end, query tiles from the last to the first. "
       "Its additions to dQ are atomic: here in an order drawn from order_seed; --gradient-order buffers:K is its "
       "deterministic mode. Tiles are those of GPUs with large shared memory",
       "Dao-AILab/flash-attention, csrc/flash_attn/src/flash_bwd_kernel.h, flash_bwd_preprocess_kernel.h, "
       "flash_bwd_launch_template.h",
       fa2(), fa2_tiles},
      {"grad_fa3",
       "FlashAttention-3: as grad_fa2 with query tiles from the first to the last and tiles of its own. Its deterministic "
       "mode is --gradient-order ascending",
       "Dao-AILab/flash-attention, hopper/mainloop_bwd_sm90_tma_gmma_ws.hpp, flash_bwd_launch_template.h",
       with_exponential(GradExponential::exp2, GradOrder::shuffled), fa3_tiles},
      {"grad_fa4",
       "FlashAttention-4 on a B200: as grad_fa3 in tiles of 128 x 128, 2^x in full precision even where the forward pass has "
       "the polynomial. Its deterministic mode is --gradient-order ascending, or descending under a causal mask or a window. "
       "Its own kernels for d = 256 are not emulated",
       "Dao-AILab/flash-attention, flash_attn/cute/flash_bwd_sm100.py, flash_bwd_preprocess.py",
       with_exponential(GradExponential::exp2, GradOrder::shuffled), fa4_tiles},
  };
}

/// Backward passes of PyTorch and Triton.
std::vector<GradKernel> of_pytorch() {
  return {
      {"grad_mem_efficient",
       "Memory-efficient attention: P is cast before it enters dS, and scale multiplies dS before its cast. Tiles of 64 x 64 "
       "stand for those that it chooses by GPU and d",
       "pytorch/pytorch, aten/src/ATen/native/transformers/cuda/mem_eff_attention/kernel_backward.h", mem_efficient()},
      {"grad_triton",
       "The Triton tutorial: scale log2 e is multiplied into K, which is rounded again: P does not fit the forward pass's L. "
       "It adds the tiles of keys at the diagonal before the others, and in one accumulator: neither is emulated",
       "triton-lang/triton, python/tutorials/06-fused-attention.py", triton(), triton_tiles},
      {"grad_flex",
       "FlexAttention: S times scale, then times log2 e, two roundings; dQ has a program of its own. Its delta is computed "
       "outside in D; inductor's fusion decides whether it is rounded: here it is not. The source does not state the tiles",
       "pytorch/pytorch, torch/_inductor/kernel/flex/templates/flex_backwards.py.jinja",
       with_exponential(GradExponential::exp2_twice, GradOrder::ascending)},
      {"grad_math",
       "PyTorch's math backend: autograd of single operations on D tensors, delta from P and dP in D. It multiplies Q and K "
       "by the root of scale each, which is not emulated",
       "pytorch/pytorch, aten/src/ATen/native/transformers/attention.cpp, _scaled_dot_product_attention_math",
       {.precision = rounded_at({probability, P, dP, dS, dV, dK, dQ}, DeltaFrom::probabilities)},
       one_tile},
  };
}

/// Kernels that store numbers with scales.
std::vector<GradKernel> of_few_bits() {
  return {
      {"grad_cudnn_fp8",
       "cuDNN in FP8 by its reference tests: P in e4m3 for dV alone, dS times scale in e4m3. Here dS has one scale per tile, "
       "cuDNN's has one for all of dS; the factor of P is 256, cuDNN's is given; gradients leave in bf16, cuDNN's in FP8. "
       "cuDNN also stores O and dO in FP8 and computes delta from them; this is not emulated. Tiles are not stated",
       "NVIDIA/cudnn-frontend, test/python/sdpa/fp8_ref.py", with_scales("e4m3/head/x256", "e4m3/head", "off", ScaleAt::dS)},
      {"grad_cudnn_mxfp8",
       "cuDNN in MXFP8: dS is quantised twice, in blocks of 32 along the keys for dQ and along the queries for dK; P has a "
       "fixed factor, 256 here. delta takes dO and O of 16 bits. cuDNN quantises dO, too; this is not emulated. The rule of "
       "its scales is not stated: NVIDIA's here",
       "NVIDIA/cudnn-frontend, test/python/sdpa",
       with_scales("e4m3/head/x256", "e4m3/block:32/e8m0/ceil", "e4m3/block:32/e8m0/ceil", ScaleAt::dS), mxfp8_tiles},
      {"grad_sage",
       "SageBwd: P and dS in int8 with one scale a tile, dO V^T in 16 bits. It also quantises dO for dV, which is not "
       "emulated. dQ is added in ascending order here",
       "arXiv 2505.11594; arXiv 2603.02170", with_scales("int8/head", "int8/head", "off", ScaleAt::product)},
  };
}

GradMethod method_of(const GradKernel& k, int d, const Mask& mask) {
  GradMethod m = k.method;
  if (!k.tiles.empty()) {
    const TileSizes tiles = tiles_for(k.tiles, d, mask.kind != Mask::Kind::none);
    m.block_q = tiles.block_q;
    m.block_k = tiles.block_k;
  }
  const bool rounds_all = k.name == "grad_all" || k.name == "grad_base_all";
  if (rounds_all) m.precision[dq_tile] = m.precision[dq_sum] = to_main;  // training has no such steps
  return m;
}

}  // namespace

std::span<const GradKernel> grad_kernels() {
  static const std::vector<GradKernel> all = [] {
    std::vector<GradKernel> list = of_training();
    for (const std::vector<GradKernel>& more : {of_flash_attention(), of_pytorch(), of_few_bits()})
      list.insert(list.end(), more.begin(), more.end());
    return list;
  }();
  return all;
}

const GradKernel& grad_kernel(std::string_view name) {
  const std::span<const GradKernel> known = grad_kernels();
  if (const auto found = std::ranges::find(known, name, &GradKernel::name); found != known.end()) return *found;
  throw std::invalid_argument(in_quotes(name) + " is no backward pass, expected one of " +
                              listed(known, ", ", &GradKernel::name));
}

GradMethod grad_method(std::string_view name, int d, const Mask& mask) { return method_of(grad_kernel(name), d, mask); }

std::string_view grad_kernel_name(const GradMethod& m, int d, const Mask& mask) {
  for (const GradKernel& k : grad_kernels())
    if (method_of(k, d, mask) == m) return k.name;
  return {};
}

std::string_view usual_grad_kernel(const Method& method) {
  const bool base = normalises_P(method.algorithm);
  const std::string_view forward = policy_name(method.precision, method.algorithm);
  if (method.precision == Precision{}) return base ? "grad_base_exact" : "grad_exact";
  if (forward == "hw" || forward == "tile") return "grad_hw";
  if (forward == "eager") return "grad_eager";
  if (forward == "base_all") return "grad_base_all";
  if (forward.starts_with("all_")) return "grad_all";
  return base ? "grad_base_eager" : "grad_hw";
}

std::span<const GradPolicy> grad_policies() {
  static const std::vector<GradPolicy> policies = [] {
    std::vector<GradPolicy> list;
    for (const GradKernel& k : grad_kernels())
      if (k.trains) list.push_back({k.name, k.what, k.method.precision});
    return list;
  }();
  return policies;
}

const GradPolicy& grad_policy(std::string_view name) {
  const std::span<const GradPolicy> known = grad_policies();
  if (const auto found = std::ranges::find(known, name, &GradPolicy::name); found != known.end()) return *found;
  const bool is_whole = std::ranges::find(grad_kernels(), name, &GradKernel::name) != grad_kernels().end();
  throw std::invalid_argument(
      in_quotes(name) +
      (is_whole ? " is a whole kernel's backward pass, which training does not have" : " is no backward policy") +
      ", expected one of " + listed(known, ", ", &GradPolicy::name));
}

std::string_view grad_policy_name(const GradPrecision& precision) {
  const auto at = std::ranges::find(grad_policies(), precision, &GradPolicy::precision);
  return at == grad_policies().end() ? std::string_view{} : at->name;
}

const GradPolicy& usual_grad_policy(const Method& method) { return grad_policy(usual_grad_kernel(method)); }

}  // namespace attoscope
