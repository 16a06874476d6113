#include "kernels/arithmetic/fma_chain.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace attoscope {
namespace {

/// before + a * b - after, which is 0 only if the step is exact. a * b is exact in double, and the sum of two doubles is a
/// double plus a remainder (Knuth, The Art of Computer Programming, volume 2, 4.2.2).
double lost_in(float a, float b, float before, float after) {
  if (!std::isfinite(after)) return std::numeric_limits<double>::quiet_NaN();
  const double x = static_cast<double>(a) * static_cast<double>(b), y = static_cast<double>(before);
  const double sum = x + y, y_in_sum = sum - x;
  const double rest = (x - (sum - y_in_sum)) + (y - y_in_sum);
  return (sum - static_cast<double>(after)) + rest;
}

/// Appends a step; an exact step extends an exact last run.
void append(FmaChain& chain, const ChainPart& step) {
  const bool joins = !chain.parts.empty() && chain.parts.back().is_exact() && step.is_exact();
  ++chain.steps;
  chain.losing += !step.is_exact();
  if (!joins) return chain.parts.push_back(step);
  ++chain.parts.back().steps;
  chain.parts.back().after = step.after;
}

}  // namespace

FmaChain fma_chain(std::span<const float> a, std::span<const float> b, float start, const Format& format,
                   const StepRounding& rounded) {
  FmaChain chain{.format = format, .parts = {}};
  float sum = start;
  for (std::size_t i = 0; i < a.size(); ++i) {
    const int step = static_cast<int>(i);
    const float after = rounded(std::fma(a[i], b[i], sum), step);
    append(chain,
           {.first = step, .a = a[i], .b = b[i], .before = sum, .after = after, .lost = lost_in(a[i], b[i], sum, after)});
    sum = after;
  }
  chain.earlier_parts = std::max(0, static_cast<int>(chain.parts.size()) - most_chain_parts);
  chain.parts.erase(chain.parts.begin(), chain.parts.begin() + chain.earlier_parts);
  return chain;
}

float fma_chain_sum(std::span<const float> a, std::span<const float> b, float start, const StepRounding& rounded) {
  float sum = start;
  for (std::size_t i = 0; i < a.size(); ++i) sum = rounded(std::fma(a[i], b[i], sum), static_cast<int>(i));
  return sum;
}

}  // namespace attoscope
