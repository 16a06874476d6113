#include <algorithm>
#include <cmath>
#include <vector>

#include "kernels/judge/call_judgement.h"
#include "kernels/slips/softmax_variant.h"

namespace attoscope {
namespace {

constexpr int sampled_rows = 64;
constexpr double small_change = 0x1p-10;

/// The distance of a mistaken kernel's row: 1 is just seen, with a margin of 1.5.
double row_ratio(const Tolerance& t, int row, const std::vector<double>& out) {
  double largest = 0, square = 0;
  for (int c = 0; c < t.golden.cols; ++c) {
    const double golden = t.golden(row, c), error = std::abs(out[static_cast<std::size_t>(c)] - golden);
    if (!std::isfinite(golden)) continue;
    const double z = error / t.expected(row, c);
    largest = std::max(largest, error / t.of(row, c, golden)), square += z * z;
  }
  const double whole = std::sqrt(square / t.golden.cols) / std::max(t.row[static_cast<std::size_t>(row)], 1e-300);
  return std::max(largest, whole) / 1.5;
}

}  // namespace

SeenMistakes seen_mistakes(const JudgedOutput& output, const Judged& judged) {
  const Problem& p = output.problem;
  const Tolerance& t = judged.tolerance;
  const VariantHead head = variant_head(p.input.tensors);
  const SoftmaxVariant right = right_softmax(p);
  SoftmaxVariant scaled = right, shorter = right;
  scaled.scale *= 1 + small_change;
  shorter.keys = [right](int row) {
    const Keys keys = right.keys(row);
    return Keys{keys.first, keys.end - 1};
  };
  std::vector<double> out(static_cast<std::size_t>(t.golden.cols));
  double by_scale = 0, by_key = 0;
  const int step = (p.n + sampled_rows - 1) / sampled_rows;
  for (int row = p.n - 1; row >= 0; row -= step) {
    const Keys keys = right.keys(row);
    if (keys.empty()) continue;
    attend(head, scaled, row, out.data());
    by_scale = std::max(by_scale, row_ratio(t, row, out));
    if (keys.end - keys.first < 2) continue;
    attend(head, shorter, row, out.data());
    by_key = std::max(by_key, row_ratio(t, row, out));
  }
  return {.scale = small_change / by_scale, .key = by_key > 1, .masked = p.mask.kind != Mask::Kind::none};
}

}  // namespace attoscope
