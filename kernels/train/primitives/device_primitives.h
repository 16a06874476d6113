/// The primitives of training as launches on a device: a GPU, or a host that replaces one in tests.
#pragma once

#include <algorithm>
#include <utility>
#include <vector>

#include "kernels/train/primitives/device_tasks.h"
#include "kernels/train/primitives/product_block.h"

namespace attoscope {

/// A Device runs tasks in order: each(task) for its threads, each_row(task) for its rows, multiply(task, large) for the blocks
/// of a product, attention and attention_gradient. Its memory: allocate, release, upload, download, clear, and
/// workspace(bytes), whose contents are lost with the next call; it should hold at most workspace_floats() numbers.
template <class Device>
class DevicePrimitives final : public Primitives<float> {
 public:
  template <class... Arguments>
  explicit DevicePrimitives(Arguments&&... arguments) : on_(std::forward<Arguments>(arguments)...) {}

  std::string name() const override { return on_.name(); }
  void* allocate(std::size_t bytes) override { return on_.allocate(bytes); }
  void release(void* memory) noexcept override { on_.release(memory); }
  void upload(const void* host, std::size_t bytes, void* device) override { on_.upload(host, bytes, device); }
  void download(const void* device, std::size_t bytes, void* host) override { on_.download(device, bytes, host); }

  void product(const MatrixProduct<float>& p) override {
    const int piece = p.piece > 0 ? std::min(p.piece, p.k) : p.k, pieces = piece > 0 ? (p.k - 1) / piece + 1 : 1;
    ProductTask whole{p};
    whole.piece = std::max(1, piece);
    if (pieces == 1) return multiply(whole);
    const JoinTask join{.rows = p.m, .cols = p.n, .c = p.c, .c_row = p.c_row, .adds = p.adds, .rounding = p.rounding};
    join_parts(pieces, join, [&](float* sums, int first, int count) {
      ProductTask part = whole;
      part.a += first * std::int64_t{piece} * p.a_col;
      part.b += first * std::int64_t{piece} * p.b_row;
      part.k = std::min(p.k - first * piece, count * piece);
      part.c = sums;
      part.c_row = p.n;
      part.c_piece = std::int64_t{p.m} * p.n;
      part.pieces = count;
      part.adds = false;
      part.rounding = {};
      multiply(part);
    });
  }

  void rounded(const float* x, std::int64_t count, const RounderPlan<float>& plan, float* y) override {
    on_.each(RoundTask{x, count, plan, y});
  }
  void clear(float* y, std::int64_t count) override { on_.clear(y, static_cast<std::size_t>(count) * sizeof(float)); }
  void embed(const std::uint16_t* tokens, int rows, int context, int width, const float* embedding, const float* positions,
             float* x) override {
    on_.each(EmbedTask{tokens, rows, context, width, embedding, positions, x});
  }

  void embed_gradient(const std::uint16_t* tokens, int rows, int context, int width, int vocabulary, const float* d_x,
                      float* d_embedding, float* d_positions) override {
    const JoinTask join{.rows = vocabulary, .cols = width, .c = d_embedding, .c_row = width};
    join_parts(rows / context, join, [&](float* sums, int first, int count) {
      clear(sums, std::int64_t{count} * vocabulary * width);
      on_.each(EmbeddingSumsTask{tokens, context, width, vocabulary, first, count, d_x, sums});
    });
    on_.each(PositionGradientTask{rows, context, width, d_x, d_positions});
  }

  void norm(const NormRows<float>& n) override { on_.each_row(NormTask{n}); }
  void norm_gradient(const NormGradient<float>& n) override {
    on_.each_row(NormGradientTask{n});
    const int rows = n.forward.rows, width = n.forward.width;
    const int piece = n.piece > 0 ? n.piece : rows, pieces = (rows - 1) / piece + 1;
    const std::size_t size = static_cast<std::size_t>(pieces) * static_cast<std::size_t>(width);
    float* const sums = static_cast<float*>(on_.workspace(2 * size * sizeof(float)));
    on_.each(NormSumsTask{n, piece, pieces, sums, n.d_bias ? sums + size : nullptr});
    on_.each(JoinTask{.parts = sums, .pieces = pieces, .cols = width, .c = n.d_gain, .c_row = width});
    if (n.d_bias) on_.each(JoinTask{.parts = sums + size, .pieces = pieces, .cols = width, .c = n.d_bias, .c_row = width});
  }

  void gelu(const float* x, std::int64_t count, const RounderPlan<float>& plan, float* y) override {
    on_.each(GeluTask{x, count, plan, y});
  }
  void gelu_gradient(const float* x, const float* d_y, std::int64_t count, const RounderPlan<float>& plan,
                     float* d_x) override {
    on_.each(GeluGradientTask{x, d_y, count, plan, d_x});
  }
  void attention(const HeadBatch<float>& heads) override { on_.attention(heads); }
  void attention_gradient(const HeadGradient<float>& heads) override { on_.attention_gradient(heads); }
  void cross_entropy(const CrossEntropy<float>& c) override { on_.each_row(CrossEntropyTask{c}); }

  GradientSize gradient_size(const float* g, std::int64_t count, double unscale) override {
    const std::size_t chunks = chunk_count(static_cast<std::size_t>(count));
    auto* const chain_sizes = static_cast<ChunkSize<1>*>(on_.workspace(chunks * (chains + 1) * sizeof(ChunkSize<1>)));
    auto* const chunk_sizes = chain_sizes + chunks * chains;
    on_.each(ChainSizeTask{g, count, unscale, chain_sizes});
    on_.each(ChunkSizeTask{chain_sizes, static_cast<std::int64_t>(chunks), chunk_sizes});
    std::vector<ChunkSize<1>> sizes(chunks);
    download(chunk_sizes, chunks * sizeof(ChunkSize<1>), sizes.data());
    GradientSize whole;
    for (const ChunkSize<1>& size : sizes) {
      whole.squares += size.squares[0];
      whole.nonfinite += size.nonfinite;
    }
    const auto bad = std::ranges::find_if(sizes, [](const ChunkSize<1>& size) { return size.nonfinite != 0; });
    if (bad != sizes.end()) whole.first = first_nonfinite(g, count, bad - sizes.begin(), unscale);
    return whole;
  }

  void adam(const AdamStep<float>& step) override { on_.each(AdamTask{step}); }

 private:
  static constexpr std::int64_t most_parts = 1 << 15;  ///< of a launch

  /// Multiplies with large blocks if there are enough of them for the device.
  void multiply(ProductTask p) {
    p.aligned = p.c_row % 4 == 0 && p.c_piece % 4 == 0 && reinterpret_cast<std::uintptr_t>(p.c) % sizeof(Quad) == 0;
    const ProductPlace blocks = blocks_of<LargeTile>(p);
    on_.multiply(p, std::int64_t{blocks.m} * blocks.n * blocks.piece >= on_.wanted_blocks());
  }

  /// The ordered sum of many parts of the size of `last`, which stores it. fill(sums, first, count) computes parts first ..
  /// first + count - 1. The workspace holds the sum of the earlier parts and as many parts as fit.
  template <class Fill>
  void join_parts(int parts, const JoinTask& last, Fill fill) {
    const std::int64_t size = last.count();
    const std::int64_t room = std::clamp<std::int64_t>(on_.workspace_floats() / size, 2, most_parts);
    const int slots = static_cast<int>(std::min<std::int64_t>(parts, room));
    float* const sums = static_cast<float*>(on_.workspace(static_cast<std::size_t>(slots * size) * sizeof(float)));
    for (int done = 0, held = 0; done < parts; held = 1) {
      const int now = std::min(parts - done, slots - held);
      fill(sums + held * size, done, now);
      done += now;
      JoinTask join = done < parts ? JoinTask{.rows = last.rows, .cols = last.cols, .c = sums, .c_row = last.cols} : last;
      join.parts = sums;
      join.pieces = held + now;
      on_.each(join);
    }
  }

  /// The first nonfinite element of a chunk of the gradient; the chunk has one.
  std::int64_t first_nonfinite(const float* g, std::int64_t count, std::int64_t chunk, double unscale) {
    const std::int64_t first = chunk * static_cast<std::int64_t>(chunk_size);
    std::vector<float> part(std::min(chunk_size, static_cast<std::size_t>(count - first)));
    download(g + first, part.size() * sizeof(float), part.data());
    const auto place = std::ranges::find_if(part, [unscale](float x) {
      const double size = static_cast<double>(x) * unscale;
      return !(size - size == 0);
    });
    return first + (place - part.begin());
  }

  Device on_;
};

}  // namespace attoscope
