#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>

#include "kernels/slips/slips.h"

namespace attoscope {
namespace {

/// True if the format has all of these numbers. The bits of a float tell for bf16, tf32 and fp32.
bool holds(const Format& f, const std::vector<double>& x) {
  if (f.exponent_bits != 8 || f.mantissa_bits > 23)
    return std::ranges::all_of(x, [&](double y) { return round(f, y) == y || std::isnan(y); });
  std::uint64_t lost = 0;
  std::uint32_t bits = 0;
  for (const double y : x) {
    const auto z = static_cast<float>(y);
    bits |= std::bit_cast<std::uint32_t>(z);
    lost |= std::bit_cast<std::uint64_t>(y) ^ std::bit_cast<std::uint64_t>(static_cast<double>(z));
  }
  return lost == 0 && (bits & ((std::uint32_t{1} << (23 - f.mantissa_bits)) - 1)) == 0;
}

}  // namespace

std::shared_ptr<const Tensors> seen_in(const Format& format, const std::shared_ptr<const Tensors>& tensors) {
  if (holds(format, tensors->q) && holds(format, tensors->k) && holds(format, tensors->v)) return tensors;
  const auto seen = std::make_shared<Tensors>(*tensors);
  for (auto* part : {&seen->q, &seen->k, &seen->v})
    for (double& x : *part) x = round(format, x);
  return seen;
}

}  // namespace attoscope
