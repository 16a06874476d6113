// The settings of a backward pass: roundings, tiles, orders, sums, storage with scales.
#include <utility>

#include "kernels/experiment/settings.h"

namespace attoscope {
namespace {

Settings settings(GradAccumulators& a) {
  const auto sums = [](std::string_view key, Accumulator& of, std::string_view label, std::string_view what) {
    return Setting{key, named(of, accumulator_names)}.explained(
        label, what, "The sum of this product of the backward pass: a chain of fma, or the tensor cores of a GPU.", "",
        "tensor core accumulator backward gradient");
  };
  return {sums("dP", a.dP, "sums of dO.V", "what adds up dP = dO V^T"),
          sums("dV", a.dV, "sums of P.dO", "what adds up dV = P^T dO"),
          sums("dK", a.dK, "sums of dS.Q", "what adds up dK = scale dS^T Q"),
          sums("dQ", a.dQ, "sums of dS.K", "what adds up dQ = scale dS K")};
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
          .explained("order of dQ", "in which key tiles are added to dQ: ascending, descending, shuffled[:SEED], buffers:K",
                     "The order in which the key tiles' products are added to dQ. shuffled draws one for each query tile, as "
                     "atomic additions may give any; buffers adds tile t to buffer t mod K, and then the buffers.",
                     "", "deterministic atomic order of key tiles dQ")
          .swept(39, "backward", "ascending,descending,shuffled:1,shuffled:2", false),
      Setting{"order_seed", &m.order_seed}
          .explained("seed of the order", "of shuffled: another seed, other orders", "Starts the dice of the shuffled order.",
                     "", "seed of shuffled dQ")
          .swept(40, "backward", "1:8"),
      Setting{"buffers", &m.buffers, {1, max_grad_buffers}}
          .explained(
              "buffers of dQ", "of the order buffers: how many",
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

Settings settings(GradPrecision& p) {
  Settings all;
  for (int i = 0; i < grad_step_count; ++i) all.push_back({name(static_cast<GradStep>(i)), &p[static_cast<GradStep>(i)]});
  all.push_back({"delta_from", named(p.delta_from, delta_from_names)});
  return all;
}

Settings settings(GradMethod& m) {
  Settings all = settings(m.precision);
  all.back().explained("delta from", "output: rowsum(dO*O); probabilities: rowsum(P*dP)",
                       "The terms of delta, which is subtracted from dP. Both are equal in exact arithmetic; a biased error of a "
                       "rounded O affects only the first (arXiv 2510.04212).",
                       "delta_i = sum_c dO_ic O_ic = sum_j P_ij dP_ij", "delta dO O");
  all.push_back(Setting{"scale_at", named(m.scale_at, scale_at_names)}.explained(
      "scale at", "where the scale of the scores enters: the finished dQ and dK, dS, or K",
      "The place of the factor scale: on the finished dQ and dK, on dS before its cast, or with log2 e on K before the scores "
      "are made again.",
      "", "scale of dS dQ dK"));
  all.push_back(Setting{"exponential", named(m.exponential, grad_exponential_names)}.explained(
      "exponential of P", "natural, exp2 with one fma, or exp2_twice with rounded products",
      "The rule by which P is made again from S and L.",
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
