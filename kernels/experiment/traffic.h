/// Bytes moved between HBM and on-chip memory, counted from the loops of each algorithm, and the roofline that follows.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "kernels/experiment/scaling.h"

namespace attoscope {

struct Experiment;

/// Bytes moved between HBM and on-chip memory, counted from the algorithm's loops for the experiment's N, d, mask and tiles.
struct Traffic {
  int element_bytes = 2;
  std::int64_t on_chip_elements = 0;  ///< M: elements that the tile needs on chip
  double algorithm0 = 0, flash1 = 0, flash2 = 0;
  std::int64_t tiles = 0, skipped_tiles = 0;  ///< block_q x block_k tiles in all, and wholly masked ones
};

/// Traffic of method a's tiles on the experiment's problem, all query rows; element size is the main format's.
/// Algorithm 0 writes S and P out; FlashAttention-1 loops over K, V outside (arXiv 2205.14135, Algorithm 1), FlashAttention-2
/// over Q outside (arXiv 2307.08691, Algorithm 1). Wholly masked tiles move nothing. Every load and store inside the loops
/// counts; the zeros that FlashAttention-1 writes before them (its line 2) do not, and no cache in between is assumed.
Traffic traffic(const Experiment& e);

/// Bytes of one element of `f`, rounded up.
int element_bytes(const Format& f);

/// Number of keys that query `row` sees.
int seen_keys(const Problem& p, int row);
/// Pairs of a query and a key that the mask leaves visible.
double visible_pairs(const Problem& p);
/// Useful operations: 2 (d + d_v) for each visible pair; if d_v = d, 4 N^2 d without a mask, about half of it if causal.
double useful_flops(const Problem& p);

/// Elements that one step of the inner loop holds on chip (arXiv 2205.14135, Algorithm 1, lines 6 to 9, and the proof of its
/// Theorem 2). M is shared by the tiles of Q, K, V and O; S (overwritten by P), m and l come on top.
struct OnChip {
  double Q = 0, K = 0, V = 0, O = 0, S = 0, m_and_l = 0;
  constexpr double total() const { return Q + K + V + O + S + m_and_l; }
};
OnChip on_chip(const Problem& p, const Method& m);

/// The data sheet of a GPU: dense fp16 with fp32 accumulation, and memory bandwidth.
struct DataSheet {
  std::string_view name;
  double tera_flops, giga_bytes;  ///< a second
};
inline constexpr std::array<DataSheet, 4> data_sheets{
    {{"A100 80GB SXM", 312, 2039}, {"H100 SXM", 989, 3350}, {"H200", 989, 4800}, {"RTX 4090", 165, 1008}}};

/// Operations per byte above which the machine is limited by arithmetic instead of memory.
double ridge(const DataSheet& machine);
/// The roofline (Williams, Waterman, Patterson 2009): the highest Tflop/s at `flops_per_byte`.
double attainable(const DataSheet& machine, double flops_per_byte);

/// Bytes of a number of Q, K or V as method a reads it: the element and its share of a scale, or the main format's bytes if a
/// stores the tensor without scales.
double stored_bytes(const Experiment& e, ScaledTensor t);
/// "Q 1.03, K 1.03, V 1.06": the tensors that a stores with scales; "": none.
std::string stored_bytes_text(const Experiment& e);

// --- the loops, step by step --------------------------------------------------------------------------------------------

/// queries: FlashAttention-2, blocks of queries outside. keys: FlashAttention-1, tiles of keys outside.
enum class LoopOrder { queries_outside, keys_outside };

/// One block of queries with one tile of keys.
struct LoopStep {
  int query_block = 0, key_tile = 0;
  bool outer_begins = false;  ///< the step loads the block or tile of the outer loop
  double bytes = 0;           ///< between HBM and the chip, from the first step to the end of this one
  double stored = 0;          ///< bytes of this step that leave the chip: O, with FlashAttention-1's l and m or the log-sum-exp
  double flops = 0;           ///< of Q.K and P.V, up to the end of this step; masked pairs of a tile count, too
};

/// The steps of method a's tiles without wholly masked ones. The last step has the bytes of `traffic`.
std::vector<LoopStep> loop_steps(const Experiment& e, LoopOrder order);

/// Blocks of queries times tiles of keys.
std::int64_t loop_cells(const Experiment& e);

// --- the backward pass -------------------------------------------------------------------------------------------------

/// A tensor on its way between HBM and the chip.
struct TrafficPart {
  std::string_view what;  ///< "Q in"
  double elements = 0;    ///< loaded and stored, over the whole loop
  double bytes = 0;       ///< of an element
};
/// Bytes of all parts.
double total_bytes(const std::vector<TrafficPart>& parts);

/// The backward pass between HBM and the chip, tensor by tensor.
struct BackwardTraffic {
  std::vector<TrafficPart> stored_P, flash1, flash2;
  std::int64_t tiles = 0, skipped_tiles = 0;  ///< block_q x block_k tiles of the backward pass, and wholly masked ones
};

/// Traffic of the backward pass with the tiles of `backward.a`, for all query rows and keys, counted as `traffic` counts.
/// - stored_P: the standard backward pass (arXiv 2205.14135, Algorithm 3) reads the P that the forward pass stored: read P, dO,
///   write dV; read dO, V, write dP; read P, dP, write dS; read dS, K, write dQ; read dS, Q, write dK:
///   2(N+n_k)(d+d_v) + 7N n_k elements, masked or not.
/// - flash1: FlashAttention (arXiv 2205.14135, Algorithm 4) recomputes P. K, V are read and dK, dV written once; every visited
///   tile reads Q, O, dO, dQ, l, m and writes dQ: 2n_k(d+d_v) + (3d+2d_v+2) sum of Br.
/// - flash2: FlashAttention-2 (arXiv 2307.08691, Algorithm 2) first reads O, dO and writes delta; K, V are read and dK, dV
///   written once; every visited tile reads Q, dO, L, delta and reads and writes the sum of dQ; at the end the sums (one, or
///   `buffers`) are read and dQ is written: N(2d_v+1) + 2n_k(d+d_v) + (3d+d_v+2) sum of Br + (buffers+1)Nd.
/// Bytes of an element: Q, K, V and dO as a stores them; L (l, m), delta, the sum of dQ and the gradients by the format of
/// their step, or the working type if the step does not round; all others by the main format.
BackwardTraffic backward_traffic(const Experiment& e);

/// Useful operations of the backward pass: 2 d_v for dP and for dV, 2 d for dQ and for dK, for each visible pair. Recomputed
/// scores do not count.
double useful_backward_flops(const Problem& p);

}  // namespace attoscope
