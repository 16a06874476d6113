/// The launches of training: a task has a number of threads and the work of each, on a GPU or on the host. Sizes and orders
/// follow kernels/train/primitives/primitives.h.
#pragma once

#include "kernels/arithmetic/plan_rounder.h"
#include "kernels/train/primitives/row_math.h"

namespace attoscope {

using OneLane = WholeLanes<float>;

/// A row shared by 16 threads, one for each chain. They exchange numbers through `Lanes`: above(x, n) is x of the lane n places
/// further on, first(x) is x of the first lane.
template <class Lanes>
struct SharedRow {
  using Vector = float;
  using T = float;
  Lanes lanes;

  ATTOSCOPE_HOST_DEVICE_INLINE bool leads() const { return lanes.lane() == 0; }
  template <class Step>
  ATTOSCOPE_HOST_DEVICE_INLINE float total(int count, Step step) const {
    float chain = 0;
    for (int i = lanes.lane(); i < count; i += row_chains) chain = step(OneLane{i}, chain);
    for (int half = row_chains / 2; half > 0; half /= 2) chain = chain + lanes.above(chain, half);
    return lanes.first(chain);
  }
  template <class Values>
  ATTOSCOPE_HOST_DEVICE_INLINE float largest(int count, Values values) const {
    float top = -std::numeric_limits<float>::infinity();
    for (int i = lanes.lane(); i < count; i += row_chains) top = larger(top, values(OneLane{i}));
    for (int half = row_chains / 2; half > 0; half /= 2) top = larger(top, lanes.above(top, half));
    return lanes.first(top);
  }
  template <class Each>
  ATTOSCOPE_HOST_DEVICE_INLINE void each(int count, Each each_at) const {
    for (int i = lanes.lane(); i < count; i += row_chains) each_at(OneLane{i});
  }

 private:
  ATTOSCOPE_HOST_DEVICE_INLINE static float larger(float x, float y) { return y > x ? y : x; }
};

// --- tasks of rows, shared by 16 threads each ---------------------------------------------------------------------------

struct NormTask {
  NormRows<float> norm;

  std::int64_t rows() const { return norm.rows; }
  template <class Row>
  ATTOSCOPE_HOST_DEVICE_INLINE void operator()(const Row& row, std::int64_t r) const {
    norm_row(row, norm, r, PlanRounder<float>{norm.rounding});
  }
};

struct NormGradientTask {
  NormGradient<float> norm;

  std::int64_t rows() const { return norm.forward.rows; }
  template <class Row>
  ATTOSCOPE_HOST_DEVICE_INLINE void operator()(const Row& row, std::int64_t r) const {
    norm_gradient_row(row, norm, r);
  }
};

struct CrossEntropyTask {
  CrossEntropy<float> loss;

  std::int64_t rows() const { return loss.rows; }
  template <class Row>
  ATTOSCOPE_HOST_DEVICE_INLINE void operator()(const Row& row, std::int64_t r) const {
    cross_entropy_row(row, loss, r, PlanRounder<float>{loss.rounding});
  }
};

// --- tasks of elements --------------------------------------------------------------------------------------------------

struct RoundTask {
  const float* x = nullptr;
  std::int64_t size = 0;
  RounderPlan<float> plan{};
  float* y = nullptr;

  std::int64_t count() const { return size; }
  ATTOSCOPE_HOST_DEVICE_INLINE void operator()(std::int64_t i) const { y[i] = rounded(plan, x[i]); }
};

struct GeluTask {
  const float* x = nullptr;
  std::int64_t size = 0;
  RounderPlan<float> plan{};
  float* y = nullptr;

  std::int64_t count() const { return size; }
  ATTOSCOPE_HOST_DEVICE_INLINE void operator()(std::int64_t i) const { y[i] = rounded(plan, gelu_of(x[i])); }
};

struct GeluGradientTask {
  const float *x = nullptr, *d_y = nullptr;
  std::int64_t size = 0;
  RounderPlan<float> plan{};
  float* d_x = nullptr;

  std::int64_t count() const { return size; }
  ATTOSCOPE_HOST_DEVICE_INLINE void operator()(std::int64_t i) const { d_x[i] = rounded(plan, d_y[i] * gelu_slope(x[i])); }
};

struct AdamTask {
  AdamStep<float> step;

  std::int64_t count() const { return step.count; }
  ATTOSCOPE_HOST_DEVICE_INLINE void operator()(std::int64_t i) const { adam_step(step, OneLane{i}); }
};

/// Row and column of element i of a matrix with fewer than 2^31 elements.
struct MatrixCell {
  int row = 0, col = 0;
};
ATTOSCOPE_HOST_DEVICE_INLINE MatrixCell cell_of(std::int64_t i, int width) {
  const auto place = static_cast<std::uint32_t>(i), cols = static_cast<std::uint32_t>(width), row = place / cols;
  return {static_cast<int>(row), static_cast<int>(place - row * cols)};
}

struct EmbedTask {
  const std::uint16_t* tokens = nullptr;
  int rows = 0, context = 0, width = 0;
  const float *embedding = nullptr, *positions = nullptr;
  float* x = nullptr;

  std::int64_t count() const { return std::int64_t{rows} * width; }
  ATTOSCOPE_HOST_DEVICE_INLINE void operator()(std::int64_t i) const {
    const auto [row, c] = cell_of(i, width);
    x[i] = embedding[std::int64_t{tokens[row]} * width + c] + positions[std::int64_t{row % context} * width + c];
  }
};

/// Gradients of the positions; a thread computes one channel of one position.
struct PositionGradientTask {
  int rows = 0, context = 0, width = 0;
  const float* d_x = nullptr;
  float* d_positions = nullptr;

  std::int64_t count() const { return std::int64_t{context} * width; }
  ATTOSCOPE_HOST_DEVICE_INLINE void operator()(std::int64_t i) const {
    const std::int64_t size = std::int64_t{context} * width;
    d_positions[i] =
        token_total<float>(rows / context, 1, [&](int sequence, float chain) { return chain + d_x[sequence * size + i]; });
  }
};

/// Terms of the embedding's gradient of every sequence from `first` on, added to sums[sequence - first][token][channel], which
/// must be 0 before. A thread computes one channel of a sequence.
struct EmbeddingSumsTask {
  const std::uint16_t* tokens = nullptr;
  int context = 0, width = 0, vocabulary = 0;
  int first = 0, sequences = 0;
  const float* d_x = nullptr;
  float* sums = nullptr;

  std::int64_t count() const { return std::int64_t{sequences} * width; }
  ATTOSCOPE_HOST_DEVICE_INLINE void operator()(std::int64_t i) const {
    const auto [sequence, c] = cell_of(i, width);
    float* mine = sums + std::int64_t{sequence} * vocabulary * width + c;
    for (int t = 0; t < context; ++t) {
      const std::int64_t row = std::int64_t{first + sequence} * context + t;
      float& sum = mine[std::int64_t{tokens[row]} * width];
      sum = sum + d_x[row * width + c];
    }
  }
};

/// Terms of every piece of tokens in the gradients of gain and bias, [piece][channel]; bias_sums is null with Norm::rms.
struct NormSumsTask {
  NormGradient<float> norm;
  int piece = 1, pieces = 1;
  float *gain_sums = nullptr, *bias_sums = nullptr;

  std::int64_t count() const { return std::int64_t{pieces} * norm.forward.width; }
  ATTOSCOPE_HOST_DEVICE_INLINE void operator()(std::int64_t i) const {
    const auto [part, c] = cell_of(i, norm.forward.width);
    const OneLane at{c};
    const int first = part * piece, left = norm.forward.rows - first, rows = left < piece ? left : piece;
    gain_sums[i] = token_total<float>(rows, 0, [&](int r, float chain) { return gain_chain(norm, first + r, at, chain); });
    if (bias_sums)
      bias_sums[i] = token_total<float>(rows, 0, [&](int r, float chain) { return bias_chain(norm, first + r, at, chain); });
  }
};

/// The ordered sum of pieces [piece][rows x cols], row-major, then rounded, and stored in C or added to it.
struct JoinTask {
  const float* parts = nullptr;
  int pieces = 1;
  int rows = 1, cols = 0;
  float* c = nullptr;  ///< may be parts
  std::int64_t c_row = 0;
  bool adds = false;
  RounderPlan<float> rounding{};

  std::int64_t count() const { return std::int64_t{rows} * cols; }
  ATTOSCOPE_HOST_DEVICE_INLINE void operator()(std::int64_t i) const {
    const auto [row, col] = cell_of(i, cols);
    const std::int64_t size = std::int64_t{rows} * cols;
    float sum = parts[i];
    for (int piece = 1; piece < pieces; ++piece) sum = sum + parts[piece * size + i];
    float& to = c[row * c_row + col];
    to = adds ? to + rounded(rounding, sum) : rounded(rounding, sum);
  }
};

/// The size of the gradient by chunks and chains (see kernels/deviation/meter.h).
struct ChainSizeTask {
  const float* g = nullptr;
  std::int64_t size = 0;
  double unscale = 1;
  ChunkSize<1>* chain_sizes = nullptr;  ///< [chunk * chains + chain]

  std::int64_t count() const { return static_cast<std::int64_t>(chunk_count(static_cast<std::size_t>(size))) * chains; }
  ATTOSCOPE_HOST_DEVICE_INLINE void operator()(std::int64_t i) const {
    const auto chunk = static_cast<std::size_t>(i / chains);
    chain_sizes[i] = chunk_size_of<1>(g, static_cast<std::size_t>(size), chunk, static_cast<int>(i % chains), unscale);
  }
};
/// The sum of a chunk's chains.
struct ChunkSizeTask {
  const ChunkSize<1>* chain_sizes = nullptr;
  std::int64_t chunks = 0;
  ChunkSize<1>* chunk_sizes = nullptr;

  std::int64_t count() const { return chunks; }
  ATTOSCOPE_HOST_DEVICE_INLINE void operator()(std::int64_t i) const {
    double squares[chains];
    ChunkSize<1> whole;
    for (int c = 0; c < chains; ++c) {
      squares[c] = chain_sizes[i * chains + c].squares[0];
      whole.nonfinite += chain_sizes[i * chains + c].nonfinite;
    }
    whole.squares[0] = chain_total(squares);
    chunk_sizes[i] = whole;
  }
};

}  // namespace attoscope
