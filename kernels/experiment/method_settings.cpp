// The settings of a method and of its backward pass: algorithm, tiles, options, orders, sums, storage with scales, roundings.
#include <utility>

#include "kernels/experiment/presets.h"
#include "kernels/experiment/settings.h"

namespace attoscope {
namespace {

bool splits_matter(const Method& m) { return m.algorithm == Algorithm::split_kv; }

Settings settings(Precision& p) {
  Settings all;
  for (int i = 0; i < step_count; ++i) all.push_back({name(static_cast<Step>(i)), &p[static_cast<Step>(i)]});
  all.push_back({"sum_rounded_P", &p.sum_rounded_P});
  all.push_back({"accumulate_in_O", &p.accumulate_in_O});
  return all;
}

Settings settings(Accumulators& a) {
  return {
      Setting{"qk", named(a.qk, accumulator_names)}.explained(
          "sums of q.k", "accumulator of q.k", "The sum of q.k: a chain of fma, fp64, or the tensor cores of a GPU.", "",
          "tensor core accumulator of q.k"),
      Setting{"pv", named(a.pv, accumulator_names)}.explained(
          "sums of P.V", "accumulator of P.V", "The sum of P.V: a chain of fma, fp64, or the tensor cores of a GPU.", "",
          "tensor core accumulator of P.V"),
  };
}

Settings settings(Scalings& s) {
  return {
      Setting{"Q", &s.Q}
          .explained("Q stored as", "elements and scales of Q: int8/token, e4m3/head, e2m1/block:16/nvfp4",
                     "The elements that Q is stored in, and which of them share a scale. The products see the elements; scales "
                     "come after.",
                     "S = (Q_q . K_q) s_Q s_K scale", "quantise quantize scale element Q")
          .with_option("--store-q", "off")
          .swept(31, "methods", "off,int8/token,e4m3/head", false),
      Setting{"K", &s.K}
          .explained("K stored as", "elements and scales of K",
                     "The elements that K is stored in, and which of them share a scale. The products see the elements; scales "
                     "come after.",
                     "S = (Q_q . K_q) s_Q s_K scale", "quantise quantize scale element K cache")
          .with_option("--store-k", "off")
          .swept(32, "methods", "off,int8/token,e4m3/head", false),
      Setting{"V", &s.V}
          .explained("V stored as", "elements and scales of V",
                     "The elements that V is stored in, and which of them share a scale. A scale of the head or of a channel "
                     "multiplies O at the end.",
                     "O = (P . V_q) s_V / l", "quantise quantize scale element V cache")
          .with_option("--store-v", "off")
          .swept(33, "methods", "off,e4m3/head,e4m3/channel", false),
      Setting{"P", &s.P}
          .explained(
              "P stored as", "elements and factor of P: e4m3/x256/shift, e4m3/x448, e2m1/block:16/e4m3/x2688/shift",
              "The elements that P is rounded to, and the factor before the rounding, which keeps small weights above 0.",
              "P = round(factor exp(S - m))", "quantise quantize scale element P")
          .with_option("--store-p", "off")
          .swept(34, "methods", "off,e4m3/x1,e4m3/x256/shift,e4m3/x448", false),
      Setting{"hadamard", &s.hadamard}
          .explained("rotate Q and K", "multiply Q and K by a Hadamard matrix with random signs before they are stored",
                     "Multiplies every row of Q and K by the same orthogonal matrix, which spreads an outlier over all "
                     "channels and changes no score (FlashAttention-3, section 3.3).",
                     "Q H D / sqrt(d), K H D / sqrt(d)", "hadamard rotation incoherent processing")
          .with_option("--hadamard"),
      Setting{"smooth_K", &s.smooth_K}
          .explained("K minus its mean", "subtract from K its mean over the keys before it is stored",
                     "Subtracts from every key the mean of all keys, which lowers all scores of a row by one number: softmax "
                     "does not see it (SageAttention).",
                     "K_j - mean_j K_j", "smoothing smooth K mean")
          .with_option("--smooth-k"),
      Setting{"smooth_Q", &s.smooth_Q, {0, max_tile}}
          .explained("Q minus its mean", "rows over which the mean of Q is subtracted; mean.k is added to S",
                     "Subtracts from Q the mean of this many rows before it is stored; the mean's scores are computed apart "
                     "and added (SageAttention 2). 0: off.",
                     "S = (Q - mean) . K + mean . K", "smoothing smooth Q mean")
          .with_option("--smooth-q", "0: off"),
      Setting{"smooth_V", &s.smooth_V}
          .explained("V minus its mean", "subtract from V its mean over the keys, and add it to O",
                     "Subtracts from V its mean over the keys before it is stored, and adds it to O, whose weights sum to 1 "
                     "(SageAttention 2).",
                     "O = P (V - mean V) + mean V", "smoothing smooth V mean")
          .with_option("--smooth-v"),
      Setting{"smoothed", &s.smoothed}
          .explained("means rounded to", "the rounding of means, and of Q, K and V minus their means or rotated",
                     "The rounding of the means, of tensors minus their means, of rotated tensors and of mean . K.")
          .with_option("--smoothed", "exact")
          .where([](const Method& of) { return of.scaling.smooths(); }),
  };
}

PolicyValue policy_value(Method& method) {
  return {[m = &method] { return std::string(policy_name(m->precision, m->algorithm)); },
          [m = &method](const std::string& text) { m->precision = policy(text).precision; },
          [] { return names_in(policies()); }, "a policy that `attoscope presets` lists"};
}

Settings settings(GradAccumulators& a) {
  const auto sums = [](std::string_view key, Accumulator& of, std::string_view label, std::string_view what) {
    return Setting{key, named(of, accumulator_names)}.explained(
        label, what, "The sum of this product of the backward pass: a chain of fma, or the tensor cores of a GPU.", "",
        "tensor core accumulator backward gradient");
  };
  return {sums("dP", a.dP, "sums of dO.V", "accumulator of dP = dO V^T"),
          sums("dV", a.dV, "sums of P.dO", "accumulator of dV = P^T dO"),
          sums("dK", a.dK, "sums of dS.Q", "accumulator of dK = scale dS^T Q"),
          sums("dQ", a.dQ, "sums of dS.K", "accumulator of dQ = scale dS K")};
}

Settings settings(GradScalings& s) {
  const auto stored = [](std::string_view key, Scaling& of, std::string_view label, std::string_view what) {
    return Setting{key, &of}.explained(
        label, what, "The elements that this tensor of the backward pass is stored in, and which of them share a scale.",
        "element times scale enters the product", "quantise quantize scale element backward gradient");
  };
  return {stored("dO", s.dO, "dO stored as", "elements and scales of dO"),
          stored("P", s.P, "P of dV stored as", "elements and scales of P as it enters P^T dO"),
          stored("dS", s.dS, "dS stored as", "elements and scales of dS"),
          stored("dS_of_dK", s.dS_of_dK, "dS of dK stored as",
                 "elements and scales of dS as it enters dS^T Q; off: the same numbers as for dQ")};
}

/// Settings of the sums of a backward pass: tiles, orders, accumulators, storage.
Settings grad_sums(GradMethod& m) {
  return {
      Setting{"block_q", &m.block_q, {1, max_tile}}
          .explained("block_q of gradients", "rows of a tile of the backward pass",
                     "Query rows of a tile of the backward pass. dK and dV are one chain over all of them; tensor cores begin "
                     "a block at a tile's first row.",
                     "dK_j = scale sum_i dS_ij Q_i", "Br rows of a tile backward gradient")
          .swept(37, "backward", "16:256:x2"),
      Setting{"block_k", &m.block_k, {1, max_tile}}
          .explained(
              "block_k of gradients", "keys of a tile of the backward pass",
              "Keys of a tile of the backward pass: each adds its own sum to dQ, which is rounded as dq_tile and dq_sum say.",
              "dQ_i = scale sum_tiles sum_(j in tile) dS_ij K_j", "Bc keys of a tile backward gradient")
          .swept(38, "backward", "16:256:x2"),
      Setting{"order", named(m.order, grad_order_names)}
          .explained("order of dQ", "order of adding key tiles to dQ: ascending, descending, shuffled[:SEED], buffers:K",
                     "The order in which the key tiles' products are added to dQ. shuffled draws one for each query tile, as "
                     "atomic additions may give any; buffers adds tile t to buffer t mod K, and then the buffers.",
                     "", "deterministic atomic order of key tiles dQ")
          .swept(39, "backward", "ascending,descending,shuffled:1,shuffled:2", false),
      Setting{"order_seed", &m.order_seed}
          .explained("seed of the order", "seed of shuffled", "The seed of the shuffled orders.", "", "seed of shuffled dQ")
          .swept(40, "backward", "1:8"),
      Setting{"buffers", &m.buffers, {1, max_grad_buffers}}
          .explained(
              "buffers of dQ", "number of buffers of the order buffers",
              "Buffers that dQ is added up in; tile t goes to buffer t mod buffers (FlashAttention-2's deterministic mode).",
              "dQ = buffer_0 + buffer_1 + ...", "deterministic buffers dQ")
          .swept(41, "backward", "1,2,4,8"),
      Setting{"last_queries_first", &m.last_queries_first}.explained(
          "last queries first", "dK and dV take the query tiles from the last to the first",
          "dK and dV take the query tiles from the last to the first.", "", "order of query tiles dK dV"),
      {"accumulator", settings(m.accumulator)},
      {"scaling", settings(m.scaling)},
  };
}

}  // namespace

Settings settings(Method& m) {
  return {
      Setting{"algorithm", named(m.algorithm, algorithm_names)}
          .explained("algorithm", "of a", "The order of operations.")
          .with_option("--algorithm", "flash2")
          .swept(22, "methods", "two_pass,flash1,flash2,flash4,split_kv", false),
      Setting{"block_q", &m.block_q, {1, max_tile}}
          .explained(
              "block_q", "rows of a tile",
              "Query rows of a tile, Br: how often K and V are read again. It changes the traffic, never a bit of the output.",
              "K, V read ceil(N / block_q) times", "Br rows of a tile")
          .with_option("--block-q", "64")
          .swept(17, "tiles", "16:1024:x2"),
      Setting{"block_k", &m.block_k, {1, max_tile}}
          .explained("block_k", "keys of a tile",
                     "Keys of a tile, Bc: after each tile the running max, row sum and output are handed on, rescaled and "
                     "rounded. One tile is plain softmax; 1 is the per-element recurrence.",
                     "T = ceil(N / block_k) tiles a row", "Bc keys of a tile")
          .with_option("--block-k", "64")
          .swept(16, "tiles", "16:1024:x2"),
      Setting{"splits", &m.splits, {1, max_splits}}
          .explained("splits", "split_kv: runs of tiles",
                     "The number of runs of equally many tiles that are computed apart, as in Flash-Decoding, and merged by "
                     "their log-sum-exp.",
                     "m = max_i lse_i, w_i = exp(lse_i - m)\nO = sum_i w_i O_i / sum_i w_i")
          .with_option("--splits", "2")
          .swept(25, "methods", "1:16:x2")
          .where(splits_matter),
      Setting{"tau", &m.tau, {0, max_tau}}
          .explained("tau", "flash4: log2 by which the max may be stale",
                     "FlashAttention-4 keeps the old max, and rescales nothing, while the new one exceeds it by at most tau "
                     "powers of two; P then grows up to 2^tau. It uses 8 with 16-bit formats and 0 with 8-bit ones.",
                     "keep m while (m_new - m) log2 e <= tau")
          .with_option("--tau", "8; 0 where the main format has 8 bits")
          .swept(26, "methods", "0,1,2,4,8,16")
          .where([](const Method& of) { return of.algorithm == Algorithm::flash4; }),
      Setting{"tie_beta", &m.tie_beta, {.min = 1, .max = max_tie_beta, .above_min = true, .zero = "off"}}
          .explained("tie beta", "scale a tied positive max by this, set a negative one to 0",
                     "Moves a tied max away from its ties, so that P is not 1 for several keys at once (arXiv 2510.04212). "
                     "Above 1, or 0 for off; the paper takes 2 to 8.",
                     "max tied: m = beta m if m > 0, 0 if m < 0")
          .with_option("--tie-beta", "0: off")
          .swept(27, "methods", "2:8:x2"),
      Setting{"exponential", named(m.exponential, exponential_names)}
          .explained("exponential", "natural, or exp2 with scale*log2 e folded into one fma",
                     "The rule for e from S and the max.", "natural: exp(S - m)\nexp2:    2^(S c - m c), c = scale log2 e")
          .with_option("--exponential", "natural"),
      Setting{"exp2_degree", &m.exp2_degree, {0, max_exp2_degree}}
          .explained("exp2 degree", "exp2 by a polynomial of degree 1 to 5",
                     "2^x by a polynomial on the fraction of x, as FlashAttention-4 does in addition to the exp unit; it uses "
                     "3. 0: full precision.",
                     "2^x = 2^floor(x) p(x - floor(x))")
          .with_option("--exp2-degree", "0: full precision")
          .where([](const Method& of) { return of.exponential == ExponentialKind::exp2; }),
      Setting{"p_exponent", &m.p_exponent, {-max_p_exponent, max_p_exponent}}
          .explained("P exponent", "P and l carry a factor 2^this, so that 8-bit P underflows later",
                     "e and l carry a power of two that cancels at the end, so that an 8-bit P underflows later. "
                     "FlashAttention-3's code uses 8.",
                     "e = 2^p exp(S - m)")
          .with_option("--p-exponent", "0")
          .swept(28, "methods", "0:8"),
      Setting{"kahan_l", &m.kahan_l}
          .explained("Kahan l", "compensate the row sum",
                     "The row sum keeps track of its rounding error (Kahan 1965), within a tile and from tile to tile.",
                     "y = e - c; t = l + y; c = (t - l) - y; l = t")
          .with_option("--kahan"),
      Setting{"order", named(m.order, sum_order_names)}
          .explained("order of sums", "of every sum: sequential, pairwise or interleaved[:LANES]",
                     "The order in which q.k, the row sum and P.V add their terms. It matters where sums are rounded, and in "
                     "the last bits of the working type.",
                     "lanes: sum_i (x_i + x_(i+lanes) + ...)")
          .with_option("--order", "sequential"),
      Setting{"sum_lanes", &m.sum_lanes, {1, max_sum_lanes}}
          .explained("lanes", "chains of the interleaved order", "Chains of the interleaved order.",
                     "lane i adds the terms i, i + lanes, i + 2 lanes, ...")
          .where([](const Method& of) { return of.order == SumOrder::interleaved; }),
      Setting{"reverse_keys", &m.reverse_keys}
          .explained(
              "keys", "take the keys from the last to the first",
              "Takes the keys, and so the tiles, from the last to the first. With ascending keys the max then never moves.",
              "key j becomes key N - 1 - j")
          .with_option("--reverse-keys"),
      {"accumulator", settings(m.accumulator)},
      Setting{"flush", &m.flush, {flush_of_policy, max_tile}}
          .explained("flush",
                     "tiles after which the sum of P.V is added to O and restarts at 0; 0: never, -1: as the policy says",
                     "After this many tiles of keys the sum of P.V is added to O in fp32 and restarts at 0, so that the bits "
                     "that a tensor core cuts off do not grow with the number of tiles. 0: never. -1: what the policy says.",
                     "O = O + sum, sum = 0", "flush the accumulator, promotion")
          .with_option("--flush", "-1: 0 where the policy accumulates in O, else 1")
          .swept(30, "methods", "0,1,4,64")
          .where([](const Method& of) { return divides_at_the_end(of.algorithm); }),
      Setting{"partial", &m.partial}
          .explained("partial O", "split_kv: how each run's O/l is stored before the merge",
                     "The rounding of the partial outputs that are merged. Ring attention casts the output of each hop to bf16 "
                     "or keeps fp32.",
                     "O_i = round(O_i / l_i)", "partial outputs merge split ring hop cascade")
          .swept(43, "methods", "exact,bf16,fp16", false)
          .where(splits_matter)
          .kept_if(m.partial != exact),
      Setting{"lse_base", named(m.lse_base, stored_base_names)}
          .explained("base of L",
                     "of the stored log-sum-exp: e, 2, or 2_as_e, last_2_as_e: stored in base 2, merged as natural",
                     "The base of the log-sum-exp that is stored, and of the merge that reads it. 2_as_e and last_2_as_e are "
                     "mistakes: base 2 of all runs, or of the last one alone, is read as natural.",
                     "L = m + ln l, or (m + ln l) log2 e", "log-sum-exp base 2 natural merge")
          .swept(44, "methods", "e,2,2_as_e,last_2_as_e", false)
          .kept_if(m.lse_base != StoredBase::e),
      Setting{"merge", named(m.merge, merge_rule_names)}
          .explained("merge", "split_kv: weights of all runs at once, or sigmoid, one run after the other",
                     "The rule that merges the runs. sigmoid is ring attention's.",
                     "weights: O = sum_i w_i O_i / sum_i w_i\nsigmoid: O = O - s (O - O_i), s = sigmoid(lse_i - L)",
                     "merge split ring sigmoid")
          .swept(45, "methods", "weights,sigmoid", false)
          .where(splits_matter)
          .kept_if(m.merge != MergeRule::weights),
      Setting{"empty", named(m.empty, empty_rule_names)}
          .explained("empty rows", "split_kv: zeros or nan in rows that see no key in any run",
                     "The merge of runs without keys: 0, or the NaN of exp(-inf - -inf).", "", "empty states merge NaN")
          .where(splits_matter)
          .kept_if(m.empty != EmptyRule::zeros),
      {"scaling", settings(m.scaling)},
      Setting{"policy", policy_value(m)}
          .explained("policy", "where a rounds", "The steps that common kernels round.")
          .with_option("--policy")
          .swept(23, "methods", "hw,tile,eager,all_tile,all_direct", false),
      {"precision", settings(m.precision)},
  };
}

Settings settings(GradPrecision& p) {
  Settings all;
  for (int i = 0; i < grad_step_count; ++i) all.push_back({name(static_cast<GradStep>(i)), &p[static_cast<GradStep>(i)]});
  all.push_back({"delta_from", named(p.delta_from, delta_from_names)});
  return all;
}

Settings settings(GradMethod& m) {
  Settings all = settings(m.precision);
  all.back().explained(
      "delta from", "output: rowsum(dO*O); probabilities: rowsum(P*dP)",
      "The terms of delta, which is subtracted from dP. Both are equal in exact arithmetic; a biased error of a "
      "rounded O affects only the first (arXiv 2510.04212).",
      "delta_i = sum_c dO_ic O_ic = sum_j P_ij dP_ij", "delta dO O");
  all.push_back(Setting{"scale_at", named(m.scale_at, scale_at_names)}.explained(
      "scale at", "where the scale of the scores enters: the finished dQ and dK, dS, or K",
      "The place of the factor scale: on the finished dQ and dK, on dS before its cast, or with log2 e on K before the scores "
      "are recomputed.",
      "", "scale of dS dQ dK"));
  all.push_back(Setting{"exponential", named(m.exponential, grad_exponential_names)}.explained(
      "exponential of P", "natural, exp2 with one fma, or exp2_twice with rounded products",
      "The rule that recomputes P from S and L.",
      "natural:    exp(S - L)\nexp2:       2^(S c - L log2 e)\nexp2_twice: 2^(S log2 e - L log2 e)", "P made again"));
  for (Setting& s : grad_sums(m)) all.push_back(std::move(s));
  return all;
}

Settings settings(Backward& b) {
  return {
      Setting{"on", &b.on}
          .explained("backward pass", "compute dQ, dK and dV, too", "Computes the gradients of Q, K and V, too, from a dO.",
                     "dV = P^T dO, dS = P (dO V^T - delta), dQ = scale dS K, dK = scale dS^T Q", "gradient dQ dK dV")
          .with_option("--backward")
          .called("backward"),
      Setting{"d_o", named(b.d_o, output_gradient_names)}
          .explained("dO", "the gradient of O: normal, ones, or FILE.npy or FILE.safetensors[:HEAD]",
                     "The gradient of the output: N(0,1) from the seed in a stream of its own, ones, or a file.", "",
                     "dO gradient of the output")
          .with_option("--do", "normal")
          .called("do")
          .swept(42, "backward", "normal,ones", false),
      {"d_o_file", settings(b.d_o_file)},
      {"d_lse_file", settings(b.d_lse_file)},
  };
}

}  // namespace attoscope
