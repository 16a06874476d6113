#include "kernels/questions/sum_drift.h"

#include <algorithm>
#include <cmath>
#include <span>
#include <vector>

#include "kernels/arithmetic/exponential.h"
#include "kernels/arithmetic/random.h"
#include "kernels/arithmetic/tensor_core_sum.h"

namespace attoscope {
namespace {

/// Streams of the random numbers.
enum class Stream : std::uint8_t { scores, values };

/// Normal numbers of one row, by the Box-Muller transform.
std::vector<double> normal_numbers(std::uint64_t seed, int row, Stream stream, int count) {
  std::vector<double> numbers;
  numbers.reserve(static_cast<std::size_t>(count));
  const std::uint64_t name = (static_cast<std::uint64_t>(row) << 8) | static_cast<std::uint64_t>(stream);
  for (int i = 0; i < count; ++i) {
    const Philox<std::uint64_t> bits = philox<std::uint64_t>(static_cast<std::uint64_t>(i), 0, name, seed);
    const double radius = std::sqrt(-2 * logarithm(1 - unit_interval<double>(bits.x[0], bits.x[1])));
    numbers.push_back(radius * sincos_turns(unit_interval<double>(bits.x[2], bits.x[3])).cos);
  }
  return numbers;
}

/// Rounded P and V of one row.
struct Row {
  std::vector<float> p, v;
};
Row row_of(const SumDrift& q, int row) {
  constexpr double lifted = 256;
  Row r;
  const std::vector<double> scores = normal_numbers(q.seed, row, Stream::scores, q.n);
  const double largest = std::ranges::max(scores);
  for (const double s : scores) r.p.push_back(static_cast<float>(round(q.format, lifted * exponential(s - largest))));
  for (const double v : normal_numbers(q.seed, row, Stream::values, q.n))
    r.v.push_back(static_cast<float>(round(q.format, q.mean + v)));
  return r;
}

/// The row's P.V, tile by tile.
double accumulated(const TensorCoreRule& rule, const Row& r, int flush) {
  float flushed = 0, sum = 0;
  int tile = 0;
  for (std::size_t at = 0; at < r.p.size(); at += drift_tile) {
    const std::size_t now = std::min<std::size_t>(drift_tile, r.p.size() - at);
    sum = tensor_core_dot(rule, std::span(r.p).subspan(at, now), std::span(r.v).subspan(at, now), sum);
    if (flush == 0 || ++tile % flush != 0) continue;
    flushed += sum;
    sum = 0;
  }
  return flushed + sum;
}

/// The sum in double: products of two numbers of these formats are exact, and their sum nearly so.
double exact_sum(const Row& r) {
  double sum = 0;
  for (std::size_t i = 0; i < r.p.size(); ++i) sum += static_cast<double>(r.p[i]) * static_cast<double>(r.v[i]);
  return sum;
}

}  // namespace

double sum_drift(const SumDrift& q, const Cancelled& cancelled) {
  const TensorCoreRule rule = tensor_core_rule(q.gpu, q.format, SumType::f32);
  double error = 0, size = 0;
  for (int row = 0; row < drift_rows; ++row) {
    if (cancelled && cancelled()) throw Stopped{};
    const Row r = row_of(q, row);
    const double sum = exact_sum(r);
    error += std::fabs(accumulated(rule, r, q.flush) - sum);
    size += std::fabs(sum);
  }
  return error / size;
}

}  // namespace attoscope
