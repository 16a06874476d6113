/// Bytes that attention's backward pass moves between HBM and on-chip memory, with P made again or stored.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

namespace attoscope {

struct Experiment;
struct Problem;

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
/// - flash1: FlashAttention (arXiv 2205.14135, Algorithm 4) makes P again. K, V are read and dK, dV written once; every visited
///   tile reads Q, O, dO, dQ, l, m and writes dQ: 2n_k(d+d_v) + (3d+2d_v+2) sum of Br.
/// - flash2: FlashAttention-2 (arXiv 2307.08691, Algorithm 2) first reads O, dO and writes delta; K, V are read and dK, dV
///   written once; every visited tile reads Q, dO, L, delta and reads and writes the sum of dQ; at the end the sums (one, or
///   `buffers`) are read and dQ is written: N(2d_v+1) + 2n_k(d+d_v) + (3d+d_v+2) sum of Br + (buffers+1)Nd.
/// An element of Q, K, V and dO has its bytes as a stores it, of L (l, m), delta, the sum of dQ, and of the gradients those of
/// the step's format, the working type's where the step does not round; all else has the main format's.
BackwardTraffic backward_traffic(const Experiment& e);

/// Useful operations of the backward pass: 2 d_v for dP and for dV, 2 d for dQ and for dK, for each such pair. The scores that
/// are made again do not count.
double useful_backward_flops(const Problem& p);

}  // namespace attoscope
