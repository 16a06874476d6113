/// Training's code of one instruction set, compiled once for each set with its flags.
#include "kernels/train/primitives/train_lanes.h"

#include "kernels/train/head/head_statistics_lanes.h"
#include "kernels/train/primitives/product_lanes.h"
#include "kernels/train/primitives/row_math.h"

namespace attoscope {
namespace ATTOSCOPE_ISA {
namespace {

void rounded(const float* x, std::int64_t count, const RounderPlan<float>& plan, float* y) {
  with_rounder(plan, Step::input, RandomBits<float>{},
               [&](auto rounder) { each_lanes<FloatV>(count, [&](auto at) { at.put(y, rounder(at.of(x))); }); });
}

/// Rounds y in place, while it is still in the cache.
void round_again(std::int64_t count, const RounderPlan<float>& plan, float* y) {
  if (plan.rounds()) rounded(y, count, plan, y);
}

void embed(const float* embedding, const float* position, int width, float* x) {
  each_lanes<FloatV>(width, [&](auto at) { at.put(x, at.of(embedding) + at.of(position)); });
}

void word_sum(const int* rows, int count, int context, int width, const float* d_x, float* sum) {
  each_lanes<FloatV>(width, [&](auto at) {
    at.put(sum, token_total<FloatV>(rows, count, context,
                                    [&](std::int64_t r, FloatV chain) { return chain + at.of(d_x + r * width); }));
  });
}

void position_sum(int position, int sequences, int context, int width, const float* d_x, float* sum) {
  each_lanes<FloatV>(width, [&](auto at) {
    at.put(sum, token_total<FloatV>(sequences, 1, [&](std::int64_t s, FloatV chain) {
             return chain + at.of(d_x + (s * context + position) * width);
           }));
  });
}

void norm(const NormRows<float>& n, int first, int end) {
  for (int r = first; r < end; ++r) {
    norm_row(SerialRow<FloatV>{}, n, r, NoRounder{});
    round_again(n.width, n.rounding, n.y + static_cast<std::int64_t>(r) * n.width);
  }
}

void norm_gradient(const NormGradient<float>& g, int first, int end) {
  for (int r = first; r < end; ++r) norm_gradient_row(SerialRow<FloatV>{}, g, r);
}

void norm_sums(const NormGradient<float>& g, int first_channel, int end_channel) {
  each_lanes<FloatV>(end_channel - first_channel, [&](auto at) {
    at.first += first_channel;
    at.put(g.d_gain,
           token_total<FloatV>(g.forward.rows, g.piece, [&](int r, FloatV chain) { return gain_chain(g, r, at, chain); }));
    if (g.d_bias)
      at.put(g.d_bias,
             token_total<FloatV>(g.forward.rows, g.piece, [&](int r, FloatV chain) { return bias_chain(g, r, at, chain); }));
  });
}

void gelu(const float* x, std::int64_t count, const RounderPlan<float>& plan, float* y) {
  each_lanes<FloatV>(count, [&](auto at) { at.put(y, gelu_of(at.of(x))); });
  round_again(count, plan, y);
}

void gelu_gradient(const float* x, const float* d_y, std::int64_t count, const RounderPlan<float>& plan, float* d_x) {
  each_lanes<FloatV>(count, [&](auto at) { at.put(d_x, at.of(d_y) * gelu_slope(at.of(x))); });
  round_again(count, plan, d_x);
}

void cross_entropy(const CrossEntropy<float>& c, int first, int end) {
  for (int r = first; r < end; ++r) {
    cross_entropy_row(SerialRow<FloatV>{}, c, r, NoRounder{});
    if (c.d_logits) round_again(c.vocabulary, c.rounding, c.d_logits + static_cast<std::int64_t>(r) * c.vocabulary);
  }
}

std::int64_t squares(const float* g, std::size_t count, std::size_t chunk, double unscale, double* chain) {
  const auto size = chunk_size_of<chains, DoubleV>(g, count, chunk, 0, unscale);
  __builtin_memcpy(chain, size.squares, sizeof size.squares);
  std::int64_t nonfinite = 0;
  for (int lane = 0; lane < size.lanes; ++lane) nonfinite += lane_of(size.nonfinite, lane);
  return nonfinite;
}

void adam(const AdamStep<float>& step) {
  each_lanes<FloatV>(step.count, [&](auto at) { adam_step(step, at); });
}

void count_rows(const GradientRule<float>& rule, const RowsTask<float>& task, void* scratch, HeadStatistics& statistics) {
  Arena arena(scratch);
  const StopSign never;
  HeadStatisticsRows(rule, task, never, arena).count(statistics);
}
std::size_t statistics_scratch(const GradientRule<float>& rule) {
  Arena arena(nullptr);
  const StopSign never;
  const RowsTask<float> task;
  const HeadStatisticsRows rows(rule, task, never, arena);
  return arena.used();
}

}  // namespace

TrainLanes train_lanes() {
  return {.panel_columns = ProductShape<float>::panel_columns,
          .block_rows = ProductShape<float>::block_rows,
          .product_scratch = product_scratch<float>,
          .product = product_part<float>,
          .embed = embed,
          .word_sum = word_sum,
          .position_sum = position_sum,
          .norm = norm,
          .norm_gradient = norm_gradient,
          .norm_sums = norm_sums,
          .gelu = gelu,
          .gelu_gradient = gelu_gradient,
          .cross_entropy = cross_entropy,
          .squares = squares,
          .adam = adam,
          .heads = {rounded, count_rows, statistics_scratch}};
}

}  // namespace ATTOSCOPE_ISA
}  // namespace attoscope
