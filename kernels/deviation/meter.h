/// The fixed order of the sums in comparisons, in code shared by CPU and GPU. Element i belongs to chunk i / chunk_size and
/// within it to chain i mod chains; chains are added as a tree, chunks in ascending order.
#pragma once

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "kernels/deviation/sorting.h"
#include "kernels/lanes/job.h"

namespace attoscope {

/// Number of elements that one task sums, chain by chain.
inline constexpr std::size_t chunk_size = 4096;
inline constexpr int chains = DeviationSums::chains;

ATTOSCOPE_HOST_DEVICE inline std::size_t chunk_count(std::size_t count) { return (count + chunk_size - 1) / chunk_size; }

/// The sum of all chains.
ATTOSCOPE_HOST_DEVICE_INLINE double chain_total(const double* chain) {
  return ((chain[0] + chain[4]) + (chain[2] + chain[6])) + ((chain[1] + chain[5]) + (chain[3] + chain[7]));
}

/// The sum of `chunks` chunks, from [chunk * chains + chain].
ATTOSCOPE_HOST_DEVICE inline double ordered_total(const double* sums, std::size_t chunks) {
  double sum = 0;
  for (std::size_t i = 0; i < chunks; ++i) sum += chain_total(sums + i * chains);
  return sum;
}
inline double ordered_total(const std::vector<double>& sums) { return ordered_total(sums.data(), sums.size() / chains); }

/// Root mean square of `finite` numbers, from the sum of their squares; 0 if there are none.
ATTOSCOPE_HOST_DEVICE inline double rms_of(double squares, std::int64_t finite) {
  return finite > 0 ? std::sqrt(squares / static_cast<double>(finite)) : 0;
}
/// Magnitude below which ulps are counted at this magnitude; `rms` is the reference's.
ATTOSCOPE_HOST_DEVICE inline double ulp_floor(double rms) { return 0.01 * rms; }

/// Mean of x - y over the elements finite in both, from the chunks; NaN if there are none.
ATTOSCOPE_HOST_DEVICE inline double mean_difference(const DeviationSums* sums, std::size_t chunks) {
  double sum = 0;
  std::int64_t finite = 0;
  for (std::size_t i = 0; i < chunks; ++i) {
    sum += chain_total(sums[i].plain);
    finite += sums[i].finite;
  }
  return sum / static_cast<double>(finite);
}

/// Calls f(i) for the elements of one chain of a chunk of 0 .. count, in order.
template <class F>
ATTOSCOPE_HOST_DEVICE_INLINE void each_of_chain(std::size_t count, std::size_t chunk, int chain, F f) {
  const std::size_t first = chunk * chunk_size, end = count - first < chunk_size ? count : first + chunk_size;
  for (std::size_t i = first + static_cast<std::size_t>(chain); i < end; i += chains) f(i);
}

/// Element i's term of the digest.
ATTOSCOPE_HOST_DEVICE_INLINE std::uint64_t digest_term(double v, std::size_t i) {
  return digest_term_of<std::uint64_t>(v != v ? digested_nan : bit_as<std::uint64_t>(v), i);
}

/// Sums of one chain of a chunk for the moments of a matrix x.
struct ChainMoments {
  double squares = 0;  ///< sum of squares of the finite values
  unsigned long long nonfinite = 0, digest = 0;
};
ATTOSCOPE_HOST_DEVICE inline ChainMoments chain_moments(const double* x, std::size_t count, std::size_t chunk, int chain) {
  ChainMoments m;
  each_of_chain(count, chunk, chain, [&](std::size_t i) {
    const bool finite = x[i] - x[i] == 0;
    m.squares += finite ? x[i] * x[i] : 0.0;
    m.nonfinite += finite ? 0 : 1;
    m.digest += digest_term(x[i], i);
  });
  return m;
}

/// The sum of |x - y| over one chain of a chunk; x and y are keys (see `key_of`).
ATTOSCOPE_HOST_DEVICE inline double chain_gap(const std::uint64_t* x, const std::uint64_t* y, std::size_t count,
                                              std::size_t chunk, int chain) {
  double sum = 0;
  each_of_chain(count, chunk, chain, [&](std::size_t i) {
    const double gap = value_of<double>(x[i]) - value_of<double>(y[i]);
    sum += gap < 0 ? -gap : gap;
  });
  return sum;
}

}  // namespace attoscope
