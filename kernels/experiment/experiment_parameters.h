/// The parameters of an experiment, listed once: names in every front end, meaning and range. `validate`, options of `run`,
/// axes of sweeps, controls of lessons, labels and tooltips of the window and its palette read it.
#pragma once

#include <array>
#include <limits>
#include <stdexcept>
#include <string>
#include <string_view>

#include "kernels/experiment/experiment.h"

namespace attoscope {

/// The numbers that a field may hold: min .. max, without min itself where `above_min`, and also 0 where `zero` gives it a
/// meaning.
struct RealRange {
  double min = std::numeric_limits<double>::lowest(), max = std::numeric_limits<double>::max();
  bool above_min = false;
  std::string_view zero{};  ///< meaning of 0: "off"; empty: nothing special
};

/// A parameter as the axis of a sweep.
struct Sweeping {
  std::string_view group{};    ///< group that offers the parameter; empty: sweeps do not know it by this key
  std::string_view example{};  ///< values to begin with
  bool numeric = true;         ///< the values are numbers with an order, not names
  bool moves_truth = false;    ///< the golden value changes with it
};

/// One parameter. Its texts have no full stop but for `sentence`.
struct ExperimentParameter {
  std::string_view key;         ///< of a sweep's axis and of a lesson
  std::string_view path{};      ///< of its field in an experiment; "a.tau" stands for b as well; empty: it sets several fields
  std::string_view label;       ///< in the window and beside an axis
  std::string_view what;        ///< in a few words
  std::string_view option{};    ///< of `attoscope run`; empty: none
  std::string_view usual{};     ///< default of the option, in its help
  std::string_view sentence{};  ///< for a tooltip
  std::string_view formula{};   ///< below it
  std::string_view alias{};     ///< words by which the palette finds it, too
  RealRange range{};            ///< of numbers
  bool is_flag = false;         ///< the option takes no value: it sets true
  Sweeping sweep{};
  bool (*matters)(const Method&) = nullptr;  ///< true if it has an effect in the method; null: in all
};

/// All parameters, in the order in which a sweep of two sets them.
inline constexpr std::array<ExperimentParameter, 52> experiment_parameters{{
    {.key = "format",
     .path = "format",
     .label = "main format",
     .what = "main format: fp64 fp32 tf32 bf16 fp16 e4m3 e5m2 eXmY",
     .option = "--format",
     .usual = "bf16",
     .sentence = "The main format D: everything that rounds to D rounds to it.",
     .formula = "x <- round(D, x)",
     .alias = "main format D, exponent and mantissa bits",
     .sweep = {"numbers", "bf16,fp16,tf32,fp32", false, true}},
    {.key = "mantissa_bits",
     .label = "mantissa bits",
     .what = "of the main format",
     .sentence =
         "Mantissa bits: the resolution. Each one more halves every rounding error. More than 23 make the experiment work "
         "in double.",
     .formula = "eps = 2^-M, half an ulp = 2^-(M+1) relative",
     .range = {.min = 0, .max = max_mantissa_bits},
     .sweep = {"numbers", "2:12", true, true}},
    {.key = "exponent_bits",
     .label = "exponent bits",
     .what = "of the main format",
     .sentence = "Exponent bits: the range. Each one more squares the largest number.",
     .formula = "max about 2^(2^(E-1)), min 2^(2 - 2^(E-1))",
     .range = {.min = min_exponent_bits, .max = max_exponent_bits},
     .sweep = {"numbers", "4:8", true, true}},
    {.key = "n",
     .path = "problem.n",
     .label = "N",
     .what = "tokens",
     .option = "--n",
     .usual = "1024, or the file's",
     .sentence = "Tokens: rows of Q, K and V; of Q alone where keys are counted apart. Each score row has N entries, so l sums "
                 "N of them.",
     .formula = "S = scale Q K^T is N x N, never stored",
     .alias = "N tokens sequence length queries n_q",
     .range = {.min = 1, .max = max_n},
     .sweep = {"problem", "64:1024:x2", true, true}},
    {.key = "n_k",
     .path = "problem.n_k",
     .label = "keys",
     .what = "rows of K and V; 0: as many as queries",
     .option = "--n-k",
     .usual = "N, or the file's",
     .sentence = "Keys: rows of K and V, where there are not as many as queries. One query against many keys is a step of "
                 "decoding. The "
                 "last query stands at the last key, or with a mask that is aligned top-left the first at the first.",
     .formula = "S = scale Q K^T is N x n_k",
     .alias = "n_k keys cache decode",
     .range = {.min = 0, .max = max_n},
     .sweep = {"problem", "64:1024:x2", true, true}},
    {.key = "d",
     .path = "problem.d",
     .label = "d",
     .what = "head dimension",
     .option = "--d",
     .usual = "64, or the file's",
     .sentence = "Head dimension: every score is a sum of d products.",
     .formula = "scale = 1/sqrt(d)",
     .alias = "d head dimension",
     .range = {.min = 1, .max = max_d},
     .sweep = {"problem", "16:128:x2", true, true}},
    {.key = "d_v",
     .path = "problem.d_v",
     .label = "d_v",
     .what = "columns of V and O; 0: d",
     .option = "--d-v",
     .usual = "d, or the file's",
     .sentence =
         "Columns of V and of the output, where they are not as many as those of Q and K (latent attention: 576 and 512).",
     .formula = "O = P V is N x d_v",
     .alias = "d_v value dimension",
     .range = {.min = 0, .max = max_d},
     .sweep = {"problem", "16:128:x2", true, true}},
    {.key = "input",
     .path = "problem.input.kind",
     .label = "input",
     .what = "Q, K, V as --input says",
     .option = "--input",
     .usual = "normal",
     .sentence = "The numbers of Q, K and V. All draws come from a counter-based generator: a seed gives the same bits on "
                 "every machine.",
     .alias = "input",
     .sweep = {"problem", "normal,uniform,outliers,ties", false, true}},
    {.key = "value",
     .path = "problem.input.value",
     .label = "value",
     .what = "of a constant input; of a biased one the mean of V",
     .sentence =
         "Constant: the value of every element of Q, K and V. Biased: the mean of V, whose standard deviation is 1; Q and K "
         "are N(0,1). Values the input format cannot hold are rounded first.",
     .formula = "constant: Q = K = V = value\nbiased:   V = N(value, 1)"},
    {.key = "top_left",
     .path = "problem.mask.top_left",
     .label = "aligned top-left",
     .what = "masks and ALiBi count from the first query and key",
     .sentence = "With more or fewer keys than queries: the first query stands at the first key, instead of the last at the "
                 "last, as FlashAttention has it since 2.1.",
     .formula = "query i stands at key i, not at i + n_k - N",
     .alias = "top-left bottom-right alignment causal",
     .is_flag = true},
    {.key = "seed",
     .path = "problem.seed",
     .label = "seed",
     .what = "of the random inputs and of stochastic rounding",
     .option = "--seed",
     .usual = "1",
     .sentence =
         "Starts the generator of Q, K and V, and the dice of stochastic rounding. The same seed gives the same bits on "
         "every machine.",
     .formula = "Philox4x32-10(seed, element)",
     .sweep = {"problem", "1:8", true, true}},
    {.key = "head",
     .path = "problem.input.index",
     .label = "head",
     .what = "of a file of tensors",
     .sentence = "The head of the file that becomes Q, K, V.",
     .alias = "head of the tensor file",
     .range = {.min = 0, .max = std::numeric_limits<int>::max()},
     .sweep = {"problem", "0:1", true, true}},
    {.key = "scale",
     .path = "problem.scale",
     .label = "scale",
     .what = "of the scores; auto is 1/sqrt(d)",
     .option = "--scale",
     .usual = "auto",
     .sentence =
         "The factor of every score. Larger ones make the softmax sharper, and the absolute rounding errors of S matter "
         "more. Empty, or 0: 1/sqrt(d), as usual.",
     .formula = "S = scale * q.k",
     .alias = "scale of the scores, 0 for 1/sqrt(d)",
     .range = {.min = 0, .above_min = true, .zero = "1/sqrt(d)"},
     .sweep = {"problem", "auto,0.05,0.1,0.2", true, true}},
    {.key = "mask",
     .path = "problem.mask.kind",
     .label = "mask",
     .what = "none, causal, window:W or padding:W",
     .option = "--mask",
     .usual = "none",
     .sentence = "The keys that a query sees.",
     .alias = "mask",
     .sweep = {"problem", "none,causal,window:64", false, true}},
    {.key = "window",
     .path = "problem.mask.window",
     .label = "width",
     .what = "keys of a mask's window or padding",
     .alias = "mask width W",
     .range = {.min = 1, .max = max_tile}},
    {.key = "sink",
     .path = "problem.sink",
     .label = "sink",
     .what = "one extra logit in every denominator",
     .option = "--sink",
     .usual = "none",
     .sentence = "One extra logit in every denominator, so that a query may attend to no key. It has no part in P.V.",
     .formula = "l = sum_j exp(S_j - m) + exp(sink - m)",
     .sweep = {"problem", "0:4:1", true, true}},
    {.key = "softcap",
     .path = "problem.softcap",
     .label = "softcap",
     .what = "S becomes CAP*tanh(S/CAP)",
     .option = "--softcap",
     .usual = "0: off",
     .sentence = "Bounds the scores, as Gemma 2 does with 50. 0: off.",
     .formula = "S = cap tanh(scale q.k / cap)",
     .alias = "soft cap",
     .range = {.min = 0, .above_min = true, .zero = "off"},
     .sweep = {"problem", "10:80:x2", true, true}},
    {.key = "alibi",
     .path = "problem.alibi",
     .label = "ALiBi slope",
     .what = "slope: S loses SLOPE*|row - key|",
     .option = "--alibi",
     .usual = "0",
     .sentence = "Subtracts a term that grows with the distance of query and key from the scores. 0: off.",
     .formula = "S -= slope |i - j|",
     .range = {.min = -max_alibi, .max = max_alibi},
     .sweep = {"problem", "0:1:0.25", true, true}},
    {.key = "rows",
     .path = "problem.rows",
     .label = "rows",
     .what = "all, or how many query rows, evenly spread",
     .option = "--rows",
     .usual = "all",
     .sentence = "The number of query rows that are computed, evenly spread. Rows are independent, so a subset is exact for "
                 "its rows and "
                 "its mean statistics are unbiased; only the largest error may be missed.",
     .formula = "rows floor(i N / rows), i = 0 .. rows - 1",
     .alias = "rows computed, 0 for all",
     .range = {.min = 0, .max = max_n}},
    {.key = "traced_row",
     .path = "problem.traced_row",
     .label = "traced row",
     .what = "query row to trace; negative counts from the end",
     .option = "--row",
     .usual = "-1",
     .alias = "traced row of the recurrence",
     .range = {.min = -max_n, .max = max_n - 1}},
    {.key = "block_k",
     .path = "a.block_k",
     .label = "block_k",
     .what = "keys of a tile",
     .option = "--block-k",
     .usual = "64",
     .sentence =
         "Keys of a tile, Bc: after each tile the running max, row sum and output are handed on, rescaled and rounded. One "
         "tile is plain softmax; 1 is the per-element recurrence.",
     .formula = "T = ceil(N / block_k) tiles a row",
     .alias = "Bc keys of a tile",
     .range = {.min = 1, .max = max_tile},
     .sweep = {"tiles", "16:1024:x2"}},
    {.key = "block_q",
     .path = "a.block_q",
     .label = "block_q",
     .what = "rows of a tile",
     .option = "--block-q",
     .usual = "64",
     .sentence =
         "Query rows of a tile, Br: how often K and V are read again. It changes the traffic, never a bit of the output.",
     .formula = "K, V read ceil(N / block_q) times",
     .alias = "Br rows of a tile",
     .range = {.min = 1, .max = max_tile},
     .sweep = {"tiles", "16:1024:x2"}},
    {.key = "tile",
     .label = "tile",
     .what = "64, or 16x256: query rows x keys",
     .sweep = {"tiles", "16x256,32x128,64x64,128x32,256x16", false}},
    {.key = "tile_square", .label = "tile side", .what = "block_q = block_k", .sweep = {"tiles", "16:256:x2"}},
    {.key = "tile_area", .label = "tile area", .what = "scores of a tile of block_q rows", .sweep = {"tiles", "1024:16384:x2"}},
    {.key = "tile_order",
     .label = "tile order",
     .what = "natural, or swapped: block_q for block_k",
     .sweep = {"tiles", "natural,swapped", false}},
    {.key = "algorithm",
     .path = "a.algorithm",
     .label = "algorithm",
     .what = "of a",
     .option = "--algorithm",
     .usual = "flash2",
     .sentence = "The order of operations.",
     .sweep = {"methods", "two_pass,flash1,flash2,flash4,split_kv", false}},
    {.key = "policy",
     .path = "a.policy",
     .label = "policy",
     .what = "where a rounds",
     .option = "--policy",
     .sentence = "The steps that common kernels round.",
     .sweep = {"methods", "hw,tile,eager,all_tile,all_direct", false}},
    {.key = "baseline",
     .label = "baseline",
     .what = "policy of b, and with it b's algorithm",
     .option = "--baseline",
     .usual = "base_eager",
     .sweep = {"methods", "base_eager,base_hw,base_ops,base_all", false}},
    {.key = "splits",
     .path = "a.splits",
     .label = "splits",
     .what = "split_kv: runs of tiles",
     .option = "--splits",
     .usual = "2",
     .sentence =
         "The number of runs of equally many tiles that are worked on apart, as Flash-Decoding does, and merged by their "
         "log-sum-exp.",
     .formula = "m = max_i lse_i, w_i = exp(lse_i - m)\nO = sum_i w_i O_i / sum_i w_i",
     .range = {.min = 1, .max = max_splits},
     .sweep = {"methods", "1:16:x2"},
     .matters = [](const Method& m) { return m.algorithm == Algorithm::split_kv; }},
    {.key = "tau",
     .path = "a.tau",
     .label = "tau",
     .what = "flash4: log2 by which the max may be stale",
     .option = "--tau",
     .usual = "8; 0 where the main format has 8 bits",
     .sentence =
         "FlashAttention-4 keeps the old max, and rescales nothing, while the new one exceeds it by at most tau powers of "
         "two; P then grows up to 2^tau. It uses 8 with 16-bit formats and 0 with 8-bit ones.",
     .formula = "keep m while (m_new - m) log2 e <= tau",
     .range = {.min = 0, .max = max_tau},
     .sweep = {"methods", "0,1,2,4,8,16"},
     .matters = [](const Method& m) { return m.algorithm == Algorithm::flash4; }},
    {.key = "tie_beta",
     .path = "a.tie_beta",
     .label = "tie beta",
     .what = "scale a tied positive max by this, set a negative one to 0",
     .option = "--tie-beta",
     .usual = "0: off",
     .sentence =
         "Moves a tied max away from its ties, so that P is not 1 for several keys at once (arXiv 2510.04212). Above 1, or "
         "0 for off; the paper takes 2 to 8.",
     .formula = "max tied: m = beta m if m > 0, 0 if m < 0",
     .range = {.min = 1, .max = max_tie_beta, .above_min = true, .zero = "off"},
     .sweep = {"methods", "2:8:x2"}},
    {.key = "exponential",
     .path = "a.exponential",
     .label = "exponential",
     .what = "natural, or exp2 with scale*log2 e folded into one fma",
     .option = "--exponential",
     .usual = "natural",
     .sentence = "The rule for e from S and the max.",
     .formula = "natural: exp(S - m)\nexp2:    2^(S c - m c), c = scale log2 e"},
    {.key = "exp2_degree",
     .path = "a.exp2_degree",
     .label = "exp2 degree",
     .what = "exp2 by a polynomial of degree 1 to 5",
     .option = "--exp2-degree",
     .usual = "0: full precision",
     .sentence = "2^x by a polynomial on the fraction of x, as FlashAttention-4 does beside the exp unit; it uses 3. 0: full "
                 "precision.",
     .formula = "2^x = 2^floor(x) p(x - floor(x))",
     .range = {.min = 0, .max = max_exp2_degree},
     .matters = [](const Method& m) { return m.exponential == ExponentialKind::exp2; }},
    {.key = "p_exponent",
     .path = "a.p_exponent",
     .label = "P exponent",
     .what = "P and l carry a factor 2^this, so that 8-bit P underflows later",
     .option = "--p-exponent",
     .usual = "0",
     .sentence = "e and l carry a power of two that cancels at the end, so that an 8-bit P underflows later. "
                 "FlashAttention-3's code uses 8.",
     .formula = "e = 2^p exp(S - m)",
     .range = {.min = -max_p_exponent, .max = max_p_exponent},
     .sweep = {"methods", "0:8"}},
    {.key = "kahan_l",
     .path = "a.kahan_l",
     .label = "Kahan l",
     .what = "compensate the row sum",
     .option = "--kahan",
     .sentence = "The row sum keeps track of its rounding error (Kahan 1965), within a tile and from tile to tile.",
     .formula = "y = e - c; t = l + y; c = (t - l) - y; l = t",
     .is_flag = true},
    {.key = "order",
     .path = "a.order",
     .label = "order of sums",
     .what = "of every sum: sequential, pairwise or interleaved[:LANES]",
     .option = "--order",
     .usual = "sequential",
     .sentence =
         "The order in which q.k, the row sum and P.V add their terms. It matters where sums are rounded, and in the last "
         "bits of the working type.",
     .formula = "lanes: sum_i (x_i + x_(i+lanes) + ...)"},
    {.key = "sum_lanes",
     .path = "a.sum_lanes",
     .label = "lanes",
     .what = "chains of the interleaved order",
     .sentence = "Chains of the interleaved order.",
     .formula = "lane i adds the terms i, i + lanes, i + 2 lanes, ...",
     .range = {.min = 1, .max = max_sum_lanes},
     .matters = [](const Method& m) { return m.order == SumOrder::interleaved; }},
    {.key = "accumulator",
     .path = "a.accumulator",
     .label = "sums",
     .what = "what adds up q.k and P.V of a: fma, f64, or a GPU's tensor cores: h100, h100:f16",
     .option = "--accumulator",
     .usual = "fma",
     .sentence = "The sums of q.k and P.V: a chain of fma, or the tensor cores of a GPU, bit for bit.",
     .formula = "products of a block aligned under the largest, cut, added, rounded once",
     .alias = "tensor core accumulator GPU",
     .sweep = {"methods", "fma,a100,h100", false}},
    {.key = "accumulator.qk",
     .path = "a.accumulator.qk",
     .label = "sums of q.k",
     .what = "what adds up q.k",
     .sentence = "The sum of q.k: a chain of fma, fp64, or the tensor cores of a GPU.",
     .alias = "tensor core accumulator of q.k"},
    {.key = "accumulator.pv",
     .path = "a.accumulator.pv",
     .label = "sums of P.V",
     .what = "what adds up P.V",
     .sentence = "The sum of P.V: a chain of fma, fp64, or the tensor cores of a GPU.",
     .alias = "tensor core accumulator of P.V"},
    {.key = "flush",
     .path = "a.flush",
     .label = "flush",
     .what = "tiles after which the sum of P.V is added to O and starts at 0; 0: never, -1: as the policy says",
     .option = "--flush",
     .usual = "-1: 0 where the policy accumulates in O, else 1",
     .sentence =
         "After so many tiles of keys the sum of P.V is added to O in fp32 and starts at 0 again, so that what a tensor core "
         "cuts off does not grow with the number of tiles. 0: never. -1: what the policy says.",
     .formula = "O = O + sum, sum = 0",
     .alias = "flush the accumulator, promotion",
     .range = {.min = flush_of_policy, .max = max_tile},
     .sweep = {"methods", "0,1,4,64"},
     .matters = [](const Method& m) { return divides_at_the_end(m.algorithm); }},
    {.key = "scaling.Q",
     .path = "a.scaling.Q",
     .label = "Q stored as",
     .what = "elements and scales of Q: int8/token, e4m3/head, e2m1/block:16/nvfp4",
     .option = "--store-q",
     .usual = "off",
     .sentence =
         "The elements that Q is stored in, and which of them share a scale. The products see the elements; scales come "
         "after.",
     .formula = "S = (Q_q . K_q) s_Q s_K scale",
     .alias = "quantise quantize scale element Q",
     .sweep = {"methods", "off,int8/token,e4m3/head", false}},
    {.key = "scaling.K",
     .path = "a.scaling.K",
     .label = "K stored as",
     .what = "elements and scales of K",
     .option = "--store-k",
     .usual = "off",
     .sentence =
         "The elements that K is stored in, and which of them share a scale. The products see the elements; scales come "
         "after.",
     .formula = "S = (Q_q . K_q) s_Q s_K scale",
     .alias = "quantise quantize scale element K cache",
     .sweep = {"methods", "off,int8/token,e4m3/head", false}},
    {.key = "scaling.V",
     .path = "a.scaling.V",
     .label = "V stored as",
     .what = "elements and scales of V",
     .option = "--store-v",
     .usual = "off",
     .sentence = "The elements that V is stored in, and which of them share a scale. A scale of the head or of a channel "
                 "multiplies O at the end.",
     .formula = "O = (P . V_q) s_V / l",
     .alias = "quantise quantize scale element V cache",
     .sweep = {"methods", "off,e4m3/head,e4m3/channel", false}},
    {.key = "scaling.P",
     .path = "a.scaling.P",
     .label = "P stored as",
     .what = "elements and factor of P: e4m3/x256/shift, e4m3/x448, e2m1/block:16/e4m3/x2688/shift",
     .option = "--store-p",
     .usual = "off",
     .sentence =
         "The elements that P is rounded to, and by what it is multiplied before, so that small weights do not become 0.",
     .formula = "P = round(factor exp(S - m))",
     .alias = "quantise quantize scale element P",
     .sweep = {"methods", "off,e4m3/x1,e4m3/x256/shift,e4m3/x448", false}},
    {.key = "scaling.hadamard",
     .path = "a.scaling.hadamard",
     .label = "rotate Q and K",
     .what = "multiply Q and K by a Hadamard matrix with random signs before they are stored",
     .option = "--hadamard",
     .sentence =
         "Multiplies every row of Q and K by the same orthogonal matrix, which spreads an outlier over all channels and "
         "changes no score (FlashAttention-3, section 3.3).",
     .formula = "Q H D / sqrt(d), K H D / sqrt(d)",
     .alias = "hadamard rotation incoherent processing",
     .is_flag = true},
    {.key = "scaling.smooth_K",
     .path = "a.scaling.smooth_K",
     .label = "K minus its mean",
     .what = "subtract from K its mean over the keys before it is stored",
     .option = "--smooth-k",
     .sentence =
         "Subtracts from every key the mean of all keys, which lowers all scores of a row by one number: softmax does not "
         "see it (SageAttention).",
     .formula = "K_j - mean_j K_j",
     .alias = "smoothing smooth K mean",
     .is_flag = true},
    {.key = "scaling.smooth_Q",
     .path = "a.scaling.smooth_Q",
     .label = "Q minus its mean",
     .what = "rows over which the mean of Q is subtracted; mean.k is added to S",
     .option = "--smooth-q",
     .usual = "0: off",
     .sentence =
         "Subtracts from Q the mean of so many rows before it is stored; the mean's scores are computed apart and added "
         "(SageAttention 2). 0: off.",
     .formula = "S = (Q - mean) . K + mean . K",
     .alias = "smoothing smooth Q mean",
     .range = {.min = 0, .max = max_tile}},
    {.key = "scaling.smooth_V",
     .path = "a.scaling.smooth_V",
     .label = "V minus its mean",
     .what = "subtract from V its mean over the keys, and add it to O",
     .option = "--smooth-v",
     .sentence = "Subtracts from V its mean over the keys before it is stored, and adds it to O, whose weights sum to 1 "
                 "(SageAttention 2).",
     .formula = "O = P (V - mean V) + mean V",
     .alias = "smoothing smooth V mean",
     .is_flag = true},
    {.key = "scaling.smoothed",
     .path = "a.scaling.smoothed",
     .label = "means rounded to",
     .what = "how means, and Q, K and V without them or rotated, are rounded",
     .option = "--smoothed",
     .usual = "exact",
     .sentence = "The rounding of the means, of the tensors without them, of rotated numbers and of mean . K."},
    {.key = "reverse_keys",
     .path = "a.reverse_keys",
     .label = "keys",
     .what = "take the keys from the last to the first",
     .option = "--reverse-keys",
     .sentence = "Takes the keys, and so the tiles, from the last to the first. With ascending keys the max then never moves.",
     .formula = "key j becomes key N - 1 - j",
     .is_flag = true},
}};

/// The entry called `key`, or null.
constexpr const ExperimentParameter* find_parameter(std::string_view key) {
  for (const ExperimentParameter& p : experiment_parameters)
    if (p.key == key) return &p;
  return nullptr;
}
/// The entry called `key`, which is known when this is compiled.
consteval const ExperimentParameter& parameter(std::string_view key) {
  for (const ExperimentParameter& p : experiment_parameters)
    if (p.key == key) return p;
  throw std::logic_error("no such parameter");
}
/// The entry whose field stands at `path`, "problem.n" or "b.tau"; null where there is none.
constexpr const ExperimentParameter* parameter_at(std::string_view path) {
  const auto is_at = [path](std::string_view p) {
    return p == path || (p.starts_with("a.") && path.starts_with("b.") && p.substr(2) == path.substr(2));
  };
  for (const ExperimentParameter& p : experiment_parameters)
    if (!p.path.empty() && is_at(p.path)) return &p;
  return nullptr;
}

/// Name of its field: "tau".
constexpr std::string_view field_of(const ExperimentParameter& p) { return p.path.substr(p.path.rfind('.') + 1); }
constexpr bool is_of_a_method(const ExperimentParameter& p) { return p.path.starts_with("a."); }
/// True if it is an option of an algorithm: a field of a method other than its algorithm, tiles and roundings.
constexpr bool is_option(const ExperimentParameter& p) {
  return is_of_a_method(p) && p.key != "algorithm" && p.key != "policy" && p.key != "block_q" && p.key != "block_k";
}
/// True if it has an effect in this method.
constexpr bool matters(const ExperimentParameter& p, const Method& m) { return p.matters == nullptr || p.matters(m); }

/// Help of its option: "tokens (1024, or the file's)".
inline std::string help_of(const ExperimentParameter& p) {
  return std::string(p.what) + (p.usual.empty() ? "" : " (" + std::string(p.usual) + ")");
}

}  // namespace attoscope
