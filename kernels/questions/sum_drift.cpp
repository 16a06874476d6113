#include "kernels/questions/sum_drift.h"

#include <algorithm>
#include <cmath>
#include <span>
#include <vector>

#include "kernels/arithmetic/exponential.h"
#include "kernels/arithmetic/tensor_core_sum.h"
#include "kernels/lanes/job.h"

namespace attoscope {
namespace {

/// Streams of the random numbers.
enum class Stream : std::uint8_t { scores, values };

/// Normal numbers of one row: the first of each pair that a counter gives.
std::vector<double> normal_numbers(std::uint64_t seed, int row, Stream stream, int count) {
  const auto name = (static_cast<std::uint32_t>(row) << 8) | static_cast<std::uint32_t>(stream);
  std::vector<double> pairs(2 * static_cast<std::size_t>(count));
  instruction_set().normals(seed, name, 0, 2 * std::int64_t{count}, pairs.data());
  std::vector<double> numbers;
  for (std::size_t i = 0; i < pairs.size(); i += 2) numbers.push_back(pairs[i]);
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
