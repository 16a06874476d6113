/// Sums in the order of kernels/deviation/meter.h, on all threads.
#pragma once

#include <algorithm>
#include <vector>

#include "kernels/deviation/meter.h"
#include "kernels/experiment/stop_sign.h"
#include "kernels/parallel/parallel.h"

namespace attoscope {

/// Calls sum(first, end) for all chunks of 0 .. count, in parallel; returns the results in order.
template <class T, class F>
std::vector<T> chunk_sums(std::size_t count, const StopSign& stop, F sum) {
  std::vector<T> parts(chunk_count(count));
  parallel_for(std::size_t{0}, parts.size(), [&](std::size_t i) {
    stop.check();
    timed(stop, [&] { parts[i] = sum(i * chunk_size, std::min(count, (i + 1) * chunk_size)); });
  });
  return parts;
}

/// Adds sum(first, end) of all chunks of 0 .. count, in order.
template <class F>
double chunk_sums_total(std::size_t count, const StopSign& stop, F sum) {
  double total = 0;
  for (const double part : chunk_sums<double>(count, stop, sum)) total += part;
  return total;
}

/// Sum of f(i) over first .. end, a chunk or the beginning of one.
template <class F>
double chunk_sum(std::size_t first, std::size_t end, F f) {
  double chain[chains] = {};
  std::size_t i = first;
  for (; i + chains <= end; i += chains)
    for (std::size_t c = 0; c < chains; ++c) chain[c] += f(i + c);
  for (std::size_t c = 0; i < end; ++i, ++c) chain[c] += f(i);
  return chain_total(chain);
}

/// Sum of f(i) over 0 .. count, in the fixed order.
template <class F>
double ordered_sum(std::size_t count, const StopSign& stop, F f) {
  return chunk_sums_total(count, stop, [&](std::size_t first, std::size_t end) { return chunk_sum(first, end, f); });
}

}  // namespace attoscope
