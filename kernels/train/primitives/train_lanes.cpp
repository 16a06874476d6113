/// One instruction set's code for training, compiled once for each with that set's flags.
#include "kernels/train/primitives/train_lanes.h"

#include "kernels/train/head/head_statistics_lanes.h"
#include "kernels/train/primitives/product_lanes.h"
#include "kernels/train/primitives/row_math.h"

namespace attoscope {
namespace ATTOSCOPE_ISA {
namespace {

template <class T>
using V = typename Lanes<T>::V;

template <class T>
void rounded(const T* x, std::int64_t count, const RounderPlan<T>& plan, T* y) {
  with_rounder(plan, Step::input, RandomBits<T>{},
               [&](auto rounder) { each_lanes<V<T>>(count, [&](auto at) { at.put(y, rounder(at.of(x))); }); });
}

/// Rounds y in place, while it is still in the cache.
template <class T>
void round_again(std::int64_t count, const RounderPlan<T>& plan, T* y) {
  if (plan.rounds()) rounded<T>(y, count, plan, y);
}

template <class T>
void embed(const T* embedding, const T* position, int width, T* x) {
  each_lanes<V<T>>(width, [&](auto at) { at.put(x, at.of(embedding) + at.of(position)); });
}

template <class T>
void word_sum(const int* rows, int count, int context, int width, const T* d_x, T* sum) {
  each_lanes<V<T>>(width, [&](auto at) {
    at.put(sum,
           token_total<V<T>>(rows, count, context, [&](std::int64_t r, V<T> chain) { return chain + at.of(d_x + r * width); }));
  });
}

template <class T>
void position_sum(int position, int sequences, int context, int width, const T* d_x, T* sum) {
  each_lanes<V<T>>(width, [&](auto at) {
    at.put(sum, token_total<V<T>>(sequences, 1, [&](std::int64_t s, V<T> chain) {
             return chain + at.of(d_x + (s * context + position) * width);
           }));
  });
}

template <class T>
void norm(const NormRows<T>& n, int first, int end) {
  for (int r = first; r < end; ++r) {
    norm_row(SerialRow<V<T>>{}, n, r, NoRounder{});
    round_again(n.width, n.rounding, n.y + static_cast<std::int64_t>(r) * n.width);
  }
}

template <class T>
void norm_gradient(const NormGradient<T>& g, int first, int end) {
  for (int r = first; r < end; ++r) norm_gradient_row(SerialRow<V<T>>{}, g, r);
}

template <class T>
void norm_sums(const NormGradient<T>& g, int first_channel, int end_channel) {
  each_lanes<V<T>>(end_channel - first_channel, [&](auto at) {
    at.first += first_channel;
    at.put(g.d_gain,
           token_total<V<T>>(g.forward.rows, g.piece, [&](int r, V<T> chain) { return gain_chain(g, r, at, chain); }));
    if (g.d_bias)
      at.put(g.d_bias,
             token_total<V<T>>(g.forward.rows, g.piece, [&](int r, V<T> chain) { return bias_chain(g, r, at, chain); }));
  });
}

template <class T>
void gelu(const T* x, std::int64_t count, const RounderPlan<T>& plan, T* y) {
  each_lanes<V<T>>(count, [&](auto at) { at.put(y, gelu_of(at.of(x))); });
  round_again(count, plan, y);
}

template <class T>
void gelu_gradient(const T* x, const T* d_y, std::int64_t count, const RounderPlan<T>& plan, T* d_x) {
  each_lanes<V<T>>(count, [&](auto at) { at.put(d_x, at.of(d_y) * gelu_slope(at.of(x))); });
  round_again(count, plan, d_x);
}

template <class T>
void cross_entropy(const CrossEntropy<T>& c, int first, int end) {
  for (int r = first; r < end; ++r) {
    cross_entropy_row(SerialRow<V<T>>{}, c, r, NoRounder{});
    if (c.d_logits) round_again(c.vocabulary, c.rounding, c.d_logits + static_cast<std::int64_t>(r) * c.vocabulary);
  }
}

template <class T>
std::int64_t squares(const T* g, std::size_t count, std::size_t chunk, double unscale, double* chain) {
  const auto size = chunk_size_of<chains, V<double>>(g, count, chunk, 0, unscale);
  __builtin_memcpy(chain, size.squares, sizeof size.squares);
  std::int64_t nonfinite = 0;
  for (int lane = 0; lane < size.lanes; ++lane) nonfinite += lane_of(size.nonfinite, lane);
  return nonfinite;
}

template <class T>
void adam(const AdamStep<T>& step) {
  each_lanes<V<T>>(step.count, [&](auto at) { adam_step(step, at); });
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
          .rounded = rounded<float>,
          .embed = embed<float>,
          .word_sum = word_sum<float>,
          .position_sum = position_sum<float>,
          .norm = norm<float>,
          .norm_gradient = norm_gradient<float>,
          .norm_sums = norm_sums<float>,
          .gelu = gelu<float>,
          .gelu_gradient = gelu_gradient<float>,
          .cross_entropy = cross_entropy<float>,
          .squares = squares<float>,
          .adam = adam<float>,
          .count_rows = count_rows,
          .statistics_scratch = statistics_scratch};
}

}  // namespace ATTOSCOPE_ISA
}  // namespace attoscope
