#include "kernels/experiment/kernel_presets.h"

#include <algorithm>
#include <array>
#include <stdexcept>
#include <string>
#include <vector>

#include "kernels/arithmetic/quoted.h"
#include "kernels/experiment/presets.h"

namespace attoscope {
namespace {

constexpr int any_d = max_d;
/// Tiles of FlashAttention-2 on sm_80, and on the smaller shared memory of sm_86 and sm_89.
constexpr std::array<TilesUpTo, 2> fa2_sm80{{{64, {128, 128}}, {any_d, {128, 64}}}};
constexpr std::array<TilesUpTo, 5> fa2_sm8x{
    {{64, {128, 128}}, {96, {128, 64}, {64, 64}}, {128, {128, 32}, {64, 64}}, {192, {128, 64}}, {any_d, {64, 64}}}};
constexpr std::array<TilesUpTo, 5> fa3_sm90{
    {{64, {192, 192}, {192, 128}}, {96, {192, 144}}, {128, {128, 176}, {128, 128}}, {192, {128, 112}}, {any_d, {128, 80}}}};
constexpr std::array<TilesUpTo, 5> fa3_fp8_sm90{
    {{64, {192, 160}}, {96, {192, 128}}, {128, {128, 224}}, {192, {128, 160}}, {any_d, {128, 128}}}};
constexpr std::array<TilesUpTo, 1> fa4_sm100{{{any_d, {128, 128}}}};

constexpr std::string_view fa2_source =
    "Dao-AILab/flash-attention, csrc/flash_attn/src/flash_fwd_launch_template.h, flash_fwd_kernel.h";
constexpr std::string_view fa3_source =
    "Dao-AILab/flash-attention, hopper/tile_size.h, mainloop_fwd_sm90_tma_gmma_ws.hpp, softmax.h";

constexpr std::string_view sage = "thu-ml/SageAttention, sageattention/triton, csrc/qattn, csrc/fused, core.py";
constexpr std::string_view sage3_source = "thu-ml/SageAttention, sageattention3_blackwell; arXiv 2505.11594";
constexpr std::string_view fa3 = "Dao-AILab/flash-attention, hopper/mainloop_fwd_sm90_tma_gmma_ws.hpp, softmax.h";
constexpr std::string_view fa3_paper = "arXiv 2407.08608, section 3.3; not in the repository's kernels";
constexpr std::string_view cudnn = "NVIDIA/cudnn-frontend, test/python/sdpa/fp8_ref.py, mxfp8_ref.py";
constexpr std::string_view ocp = "OCP Microscaling Formats 1.0, section 6.3";
constexpr std::string_view te = "NVIDIA/TransformerEngine, docs; NVIDIA/Model-Optimizer";
constexpr std::string_view vllm = "vllm-project/vllm, KV cache";

/// SageAttention 2 shifts its exponents by the constant 8.807f, a little less than log2 448.
constexpr std::string_view sage2_P = "e4m3/x447.8898/shift";

// --- kernels of 2024 to 2026 with scaled roundings ---------------------------------------------------------------------

/// A scaled kernel; texts are parsed by `parse_scaling`, empty: off.
struct ScaledKernel {
  std::string_view name;
  std::string_view what;                                           ///< its method, with the differences from the kernel
  std::string_view source;                                         ///< where it was read
  std::string_view QKV{}, KV = QKV, Q = QKV, K = KV, V = KV, P{};  ///< QKV and KV: defaults of several tensors
  int block_q = 128, block_k = 128;
  int smooth_Q = 0;
  bool smooth_K = false, hadamard = false;
  bool lazy_max = false;  ///< cuDNN: the max stays while the new one exceeds it by at most 4 powers of two
  bool reverse_keys = false;
  bool fa3_tiles = false;  ///< tiles by d and mask, as FlashAttention-3 chooses them for e4m3
  Accumulator sums = Accumulator::fma, qk = sums, pv = sums;  ///< sums: default of both products
  int flush = flush_of_policy;
  Rounding rounded_P{};  ///< rounding of P if it is not scaled
};

/// In the order of menus.
constexpr std::array<ScaledKernel, 17> table{{
    {.name = "sage1",
     .what = "SageAttention: Q and K in int8 by blocks, K without its mean, P and V in fp16 with sums of fp16 in a tile. The "
             "kernel multiplies Q by the scores' factor before it is stored; here the product is multiplied",
     .source = sage,
     .Q = "int8/rows:128/away",
     .K = "int8/rows:64/away",
     .V = "fp16/x1",
     .block_k = 64,
     .smooth_K = true,
     .pv = Accumulator::ada_f16,
     .flush = 1,
     .rounded_P = to_format(fp16)},
    {.name = "sage2",
     .what = "SageAttention 2 on sm_89 with sums in fp32: Q and K in int8 with a scale a thread, V in e4m3 with a scale a "
             "channel, P in e4m3 up to 447.89, which is 2 to the kernel's constant 8.807. The library's default there is "
             "sage2pp. l is summed in key order here, in thread order in the kernel, which also rounds 1/l",
     .source = sage,
     .Q = "int8/thread:32/away/plus:1e-07",
     .K = "int8/thread:64/away/plus:1e-07",
     .V = "e4m3/channel/ratio",
     .P = sage2_P,
     .block_k = 64,
     .smooth_K = true,
     .pv = Accumulator::ada,
     .flush = 1},
    {.name = "sage2pp",
     .what = "SageAttention 2++, the library's default on sm_89: as sage2, with V scaled to 2.25 and P.V summed in fp16 over "
             "the 64 keys of a tile",
     .source = "thu-ml/SageAttention, core.py, csrc/qattn/attn_utils.cuh; arXiv 2505.21136",
     .Q = "int8/thread:32/away/plus:1e-07",
     .K = "int8/thread:64/away/plus:1e-07",
     .V = "e4m3/channel/most:2.25/ratio",
     .P = sage2_P,
     .block_k = 64,
     .smooth_K = true,
     .pv = Accumulator::ada_f16,
     .flush = 1},
    {.name = "sage3",
     .what = "SageAttention 3: all tensors in e2m1 with an e4m3 scale for 16 elements, K minus its mean, Q minus the unrounded "
             "mean of 128 rows; P is divided by its unrounded scale. Keys are taken from the last to the first, in the kernel "
             "tile by tile. Sums are fma chains: no rule of block-scaled tensor cores is known",
     .source = sage3_source,
     .QKV = "e2m1/block:16/e4m3/reciprocal",
     .P = "e2m1/block:16/e4m3/x2688/unrounded/shift",
     .smooth_Q = 128,
     .smooth_K = true,
     .reverse_keys = true,
     .flush = 1},
    {.name = "fa3_fp8",
     .what = "FlashAttention-3 in e4m3 on an H100: one scale for each of Q, K and V, P up to 256, one accumulator over all "
             "keys. It takes the tiles of keys from the last to the first, which is not emulated",
     .source = fa3,
     .QKV = "e4m3/head",
     .P = "e4m3/x256/shift",
     .fa3_tiles = true,
     .sums = Accumulator::h100,
     .flush = 0},
    {.name = "fa3_fp8_block",
     .what = "fa3_fp8 in tiles of 128 x 128 with a scale for each tile of Q, K and V, as the paper measures it. V's scales "
             "are in the operand of an fma chain here",
     .source = fa3_paper,
     .QKV = "e4m3/rows:128",
     .P = "e4m3/x256/shift",
     .qk = Accumulator::h100,
     .flush = 0},
    {.name = "fa3_fp8_hadamard",
     .what = "fa3_fp8_block with Q and K rotated by a Hadamard matrix with random signs: the paper's incoherent processing",
     .source = fa3_paper,
     .QKV = "e4m3/rows:128",
     .P = "e4m3/x256/shift",
     .hadamard = true,
     .qk = Accumulator::h100,
     .flush = 0},
    {.name = "flashinfer_fp8",
     .what = "FlashInfer on sm_90 in e4m3: P up to 1 times 448 before it is rounded, O divided by 448. Tiles are a guess",
     .source = "flashinfer-ai/flashinfer, include/flashinfer/attention/hopper/variants.cuh",
     .QKV = "e4m3/head",
     .P = "e4m3/x448",
     .sums = Accumulator::h100,
     .flush = 0},
    {.name = "cudnn_fp8",
     .what = "cuDNN in e4m3 as its reference computes it: P times 2 (its caller's scale 32 times 2^-4), a max that stays while "
             "the new one exceeds it by at most 4 powers of two, so that no P is above 32. Sums are fma chains",
     .source = cudnn,
     .QKV = "e4m3/head",
     .P = "e4m3/x2",
     .lazy_max = true,
     .flush = 1},
    {.name = "cudnn_mxfp8",
     .what = "cuDNN in MXFP8 as its reference computes it: blocks of 32 with power-of-two scales rounded up, P times 16, the "
             "lazy max of cudnn_fp8, so that no P is above 256. Sums are fma chains",
     .source = cudnn,
     .QKV = "e4m3/block:32/e8m0/ceil",
     .P = "e4m3/x16",
     .lazy_max = true,
     .flush = 1},
    {.name = "mxfp8_ocp",
     .what = "MXFP8 by the text of OCP MX 1.0: blocks of 32 whose power-of-two scales are rounded down, so that the largest "
             "saturate; P too. Sums are fma chains",
     .source = ocp,
     .QKV = "e4m3/block:32/e8m0/floor",
     .P = "e4m3/block:32/e8m0/floor",
     .flush = 1},
    {.name = "nvfp4",
     .what = "NVFP4 by its usual rule: e2m1 in blocks of 16 with e4m3 scales on top of one fp32 scale of the head, P with e4m3 "
             "scales; numbers are divided by the rounded scale. Sums are fma chains",
     .source = te,
     .QKV = "e2m1/block:16/nvfp4",
     .P = "e2m1/block:16/e4m3/x2688/shift",
     .flush = 1},
    {.name = "kv_fp8",
     .what = "K and V kept in e4m3 with one scale, read back as bf16; the arithmetic is that of bf16",
     .source = vllm,
     .KV = "e4m3/head/to:main",
     .sums = Accumulator::h100,
     .rounded_P = to_main},
    {.name = "kv_int8",
     .what = "K and V kept in int8 with a scale a token, read back as bf16",
     .source = vllm,
     .KV = "int8/token/to:main",
     .sums = Accumulator::h100,
     .rounded_P = to_main},
    {.name = "kv_int4",
     .what = "K and V kept in int4 with a scale for 32 numbers of a token, read back as bf16",
     .source = vllm,
     .KV = "int4/columns:32/to:main",
     .sums = Accumulator::h100,
     .rounded_P = to_main},
    {.name = "kv_nvfp4",
     .what =
         "K and V kept in NVFP4, blocks of 16 numbers of a token, read back as bf16. The kernel's reciprocals are approximate",
     .source = "flashinfer-ai/flashinfer, NVFP4 KV cache",
     .KV = "e2m1/columns:16/nvfp4/to:main",
     .sums = Accumulator::h100,
     .rounded_P = to_main},
    {.name = "kv_flashmla",
     .what = "K and V kept in e4m3 with a power-of-two scale for 128 numbers of a token, read back as bf16. The part of K that "
             "carries positions stays in bf16 there",
     .source = "deepseek-ai/FlashMLA, V3.2 cache of 656 bytes a token",
     .KV = "e4m3/columns:128/ceil/to:main",
     .sums = Accumulator::h100,
     .rounded_P = to_main},
}};

Scaling scaling_of(std::string_view text) { return text.empty() ? Scaling{} : parse_scaling(text); }

/// The method of the kernel for main format bf16, the format of its inputs and output. `with_kernel` sets tiles that follow d
/// and the mask.
Method method_of(const ScaledKernel& k) {
  Method m{.algorithm = k.lazy_max ? Algorithm::flash4 : Algorithm::flash2,
           .block_q = k.block_q,
           .block_k = k.block_k,
           .tau = k.lazy_max ? 4.0 : 8.0,
           .exponential = k.lazy_max ? ExponentialKind::natural : ExponentialKind::exp2,
           .reverse_keys = k.reverse_keys,
           .accumulator = {k.qk, k.pv},
           .flush = k.flush,
           .precision = policy("hw").precision};
  m.precision[Step::P] = k.rounded_P;
  m.scaling = {.Q = scaling_of(k.Q),
               .K = scaling_of(k.K),
               .V = scaling_of(k.V),
               .P = scaling_of(k.P),
               .hadamard = k.hadamard,
               .smooth_K = k.smooth_K,
               .smooth_Q = k.smooth_Q,
               .smoothed = k.smooth_K ? to_main : exact};
  return m;
}

/// A kernel of 16 bits with this accumulator for both products.
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
      plain_kernel(
          "fa2_a100",
          "FlashAttention-2 on an A100: exp2, P.V goes on in O in fp32. It takes the tiles of keys from the last to the "
          "first, which is not emulated",
          fa2_source, Accumulator::a100, fa2_sm80),
      plain_kernel("fa2_rtx40",
                   "FlashAttention-2 on a GeForce RTX 40: exp2, P.V goes on in O in fp32. It takes the tiles of keys from the "
                   "last to the first, which is not emulated",
                   fa2_source, Accumulator::ada, fa2_sm8x),
      plain_kernel(
          "fa3_h100",
          "FlashAttention-3 on an H100: exp2, P.V goes on in O in fp32. It takes the tiles of keys from the last to the "
          "first, which is not emulated",
          fa3_source, Accumulator::h100, fa3_sm90),
      fa3_fp8(
          "fa3_fp8_h100",
          "FlashAttention-3 in e4m3 on an H100: P lifted by 2^8, one accumulator over all keys, output in bf16. Its scales of "
          "Q, K and V are 1 here",
          fa3_source, flush_of_policy),
      fa3_fp8("fa3_fp8_h100_flush4",
              "fa3_fp8_h100 with the accumulator added to O in fp32 after every 4 tiles, as vLLM's fork can",
              "vllm-project/flash-attention, pull requests 104 and 122", 4),
      plain_kernel("fa4_b200",
                   "FlashAttention-4 on a B200: a stale max up to 2^8, exp2 by a polynomial of degree 3, here for every key, "
                   "in the kernel for some",
                   "Dao-AILab/flash-attention, flash_attn/cute/flash_fwd_sm100.py, softmax.py", Accumulator::b200, fa4_sm100,
                   Algorithm::flash4)};
  for (const ScaledKernel& k : table) {
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

Experiment with_tiles_of(Experiment e, const KernelPreset& kernel) {
  const Method m = method_on(kernel, e.problem, e.format);
  e.a = with_tiles(std::move(e.a), TileSizes{m.block_q, m.block_k});
  return e;
}

std::string_view kernel_name(const Method& m, const Problem& problem, const Format& main) {
  for (const KernelPreset& preset : kernel_presets())
    if (method_on(preset, problem, main) == m) return preset.name;
  return {};
}

}  // namespace attoscope
