/// Bytes moved between HBM and on-chip memory, counted from the loops of each algorithm, and the roofline that follows.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>

#include "kernels/experiment/scaling.h"

namespace attoscope {

struct Format;

struct Experiment;
struct Method;
struct Problem;

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

/// Pairs of a query and a key that the mask leaves visible.
double visible_pairs(const Problem& p);
/// Useful operations: 2 d for q.k and 2 d for P.V, for each such pair. 4 N^2 d without a mask, about half of it where causal.
double useful_flops(const Problem& p);

/// Elements that one step of the inner loop holds on chip (arXiv 2205.14135, Algorithm 1, lines 6 to 9, and the proof of its
/// Theorem 2). The tiles of Q, K, V and O are the four that M is shared among; S, overwritten by P, and the rows' m and l come
/// on top.
struct OnChip {
  double Q = 0, K = 0, V = 0, O = 0, S = 0, m_and_l = 0;
  constexpr double total() const { return Q + K + V + O + S + m_and_l; }
};
OnChip on_chip(const Problem& p, const Method& m);

/// A GPU as its maker describes it: dense fp16 with fp32 accumulation, and memory bandwidth.
struct DataSheet {
  std::string_view name;
  double tera_flops, giga_bytes;  ///< a second
};
inline constexpr std::array<DataSheet, 4> data_sheets{
    {{"A100 80GB SXM", 312, 2039}, {"H100 SXM", 989, 3350}, {"H200", 989, 4800}, {"RTX 4090", 165, 1008}}};

/// Operations per byte from which on the machine's arithmetic is the limit instead of its memory.
double ridge(const DataSheet& machine);
/// The roofline (Williams, Waterman, Patterson 2009): Tflop/s that `flops_per_byte` allow at most.
double attainable(const DataSheet& machine, double flops_per_byte);

/// Tiles (of `rows` queries and `keys` keys) that hold a visible pair, with their rows.
struct VisitedTiles {
  std::int64_t tiles = 0, visited = 0;
  double query_rows = 0;  ///< rows of Q, summed over the visited tiles
  double key_rows = 0;    ///< rows of K, summed over the visited tiles
};

/// Counts the tiles; with reversed keys they start at the last key.
VisitedTiles visited_tiles(const Problem& p, int rows, int keys, bool reversed);

/// Bytes of a number of Q, K or V as method a reads it: its element and its share of a scale where a stores with scales, else
/// the main format's.
double stored_bytes(const Experiment& e, ScaledTensor t);
/// "Q 1.03, K 1.03, V 1.06": the tensors that a stores with scales; "": none.
std::string stored_bytes_text(const Experiment& e);

}  // namespace attoscope
