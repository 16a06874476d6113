/// The primitives of training on the CPU: an instruction set's lane code, shared among the threads of an arena.

#include <algorithm>
#include <cstring>
#include <new>

#include "kernels/cpu/aligned_buffer.h"
#include "kernels/deviation/meter.h"
#include "kernels/gpu/device.h"
#include "kernels/parallel/parallel.h"
#include "kernels/train/primitives/train_lanes.h"

namespace attoscope {
namespace {

/// A product cut into parts of one panel and `rows` rows.
struct Cut {
  int panels = 1, bands = 1, rows = 1;
};

/// About four parts per thread, with enough rows that packing the panel costs little compared with multiplying.
Cut cut_of(int m, int n, int panel_columns, int block_rows, int threads) {
  constexpr int least_blocks = 10;
  const int blocks = (m + block_rows - 1) / block_rows, panels = (n + panel_columns - 1) / panel_columns;
  const int wanted = std::max(1, 4 * threads / panels), bands = std::clamp(blocks / least_blocks, 1, wanted);
  const int rows = (blocks + bands - 1) / bands * block_rows;
  return {panels, (m + rows - 1) / rows, rows};
}

/// For every word of the vocabulary, its places among the tokens, ascending.
struct Places {
  std::vector<int> rows, first;  ///< word w is rows[first[w]] .. rows[first[w + 1] - 1]
};
Places places_of(const std::uint16_t* tokens, int rows, int vocabulary) {
  Places p{std::vector<int>(static_cast<std::size_t>(rows)), std::vector<int>(static_cast<std::size_t>(vocabulary) + 1)};
  for (int r = 0; r < rows; ++r) ++p.first[tokens[r] + 1U];
  for (std::size_t w = 1; w < p.first.size(); ++w) p.first[w] += p.first[w - 1];
  std::vector<int> next(p.first.begin(), p.first.end() - 1);
  for (int r = 0; r < rows; ++r) p.rows[static_cast<std::size_t>(next[tokens[r]]++)] = r;
  return p;
}

class CpuPrimitives final : public Primitives<float> {
 public:
  CpuPrimitives(int threads, std::string_view isa)
      : isa_(instruction_set(isa).name), lanes_(train_code(isa_)), limit_(threads) {}

  std::string name() const override {
    const int threads = limit_.threads();
    return "cpu " + isa_ + ", " + std::to_string(threads) + (threads == 1 ? " thread" : " threads");
  }

  void* allocate(std::size_t bytes) override {
    void* memory = ::operator new(std::max<std::size_t>(bytes, 1), cpu_alignment, std::nothrow);
    if (!memory) throw DeviceFailure("The CPU has no " + std::to_string(bytes) + " bytes left to train with.");
    return std::memset(memory, 0, bytes);
  }
  void release(void* memory) noexcept override { AlignedDelete{}(memory); }
  void upload(const void* host, std::size_t bytes, void* device) override {
    std::copy_n(static_cast<const char*>(host), bytes, static_cast<char*>(device));
  }
  void download(const void* device, std::size_t bytes, void* host) override {
    std::copy_n(static_cast<const char*>(device), bytes, static_cast<char*>(host));
  }

  void product(const MatrixProduct<float>& p) override {
    const Cut cut = cut_of(p.m, p.n, lanes_.panel_columns, lanes_.block_rows, limit_.threads());
    const std::size_t elements = lanes_.product_scratch(cut.rows);
    each(cut.panels * cut.bands, [&](int i) {
      const int panel = i / cut.bands, band = i % cut.bands;
      const ProductPart part{band * cut.rows, std::min(p.m, (band + 1) * cut.rows), panel * lanes_.panel_columns,
                             std::min(p.n, (panel + 1) * lanes_.panel_columns)};
      lanes_.product(p, part, static_cast<float*>(scratch_.local().at_least(elements * sizeof(float))));
    });
  }

  void rounded(const float* x, std::int64_t count, const RounderPlan<float>& plan, float* y) override {
    each_piece(count, [&](std::int64_t first, std::int64_t here) { lanes_.heads.rounded(x + first, here, plan, y + first); });
  }
  void clear(float* y, std::int64_t count) override { std::fill_n(y, count, 0.0f); }

  void embed(const std::uint16_t* tokens, int rows, int context, int width, const float* embedding, const float* positions,
             float* x) override {
    each_band(rows, [&](int first, int end) {
      for (std::int64_t r = first; r < end; ++r)
        lanes_.embed(embedding + static_cast<std::int64_t>(tokens[r]) * width, positions + r % context * width, width,
                     x + r * width);
    });
  }
  void embed_gradient(const std::uint16_t* tokens, int rows, int context, int width, int vocabulary, const float* d_x,
                      float* d_embedding, float* d_positions) override {
    const Places places = places_of(tokens, rows, vocabulary);
    each(vocabulary, [&](int w) {
      const int first = places.first[static_cast<std::size_t>(w)], end = places.first[static_cast<std::size_t>(w) + 1];
      lanes_.word_sum(places.rows.data() + first, end - first, context, width, d_x,
                      d_embedding + static_cast<std::int64_t>(w) * width);
    });
    each_band(context, [&](int first, int end) {
      for (int t = first; t < end; ++t)
        lanes_.position_sum(t, rows / context, context, width, d_x, d_positions + static_cast<std::int64_t>(t) * width);
    });
  }

  void norm(const NormRows<float>& n) override {
    each_band(n.rows, [&](int first, int end) { lanes_.norm(n, first, end); });
  }
  void norm_gradient(const NormGradient<float>& n) override {
    each_band(n.forward.rows, [&](int first, int end) { lanes_.norm_gradient(n, first, end); });
    constexpr int channels = 64;
    const int width = n.forward.width;
    each((width + channels - 1) / channels,
         [&](int i) { lanes_.norm_sums(n, i * channels, std::min(width, (i + 1) * channels)); });
  }

  void gelu(const float* x, std::int64_t count, const RounderPlan<float>& plan, float* y) override {
    each_piece(count, [&](std::int64_t first, std::int64_t here) { lanes_.gelu(x + first, here, plan, y + first); });
  }
  void gelu_gradient(const float* x, const float* d_y, std::int64_t count, const RounderPlan<float>& plan,
                     float* d_x) override {
    each_piece(count, [&](std::int64_t first, std::int64_t here) {
      lanes_.gelu_gradient(x + first, d_y + first, here, plan, d_x + first);
    });
  }

  void attention(const HeadBatch<float>& heads) override {
    limit_.execute([&] { run_heads(heads, isa_); });
  }
  void attention_gradient(const HeadGradient<float>& heads) override {
    limit_.execute([&] { run_head_gradients(heads, isa_); });
  }

  void cross_entropy(const CrossEntropy<float>& c) override {
    each_band(c.rows, [&](int first, int end) { lanes_.cross_entropy(c, first, end); });
  }

  GradientSize gradient_size(const float* g, std::int64_t count, double unscale) override {
    const std::size_t size = static_cast<std::size_t>(count), chunks = chunk_count(size);
    std::vector<double> sums(chunks * chains);
    std::vector<std::int64_t> nonfinite(chunks);
    each(static_cast<int>(chunks), [&](int i) {
      const std::size_t chunk = static_cast<std::size_t>(i);
      nonfinite[chunk] = lanes_.squares(g, size, chunk, unscale, sums.data() + chunk * chains);
    });
    GradientSize whole{.squares = ordered_total(sums)};
    for (const std::int64_t n : nonfinite) whole.nonfinite += n;
    const auto is_finite = [&](float x) { return static_cast<double>(x) * unscale - static_cast<double>(x) * unscale == 0; };
    if (whole.nonfinite > 0) whole.first = std::find_if_not(g, g + count, is_finite) - g;
    return whole;
  }

  void adam(const AdamStep<float>& step) override {
    each_piece(step.count, [&](std::int64_t first, std::int64_t here) {
      AdamStep<float> part = step;
      part.count = here;
      part.first += first;
      part.w += first;
      part.m += first;
      part.v += first;
      part.g += first;
      lanes_.adam(part);
    });
  }

 private:
  /// Calls f(i) for 0 .. count - 1, on all threads.
  template <class F>
  void each(int count, F f) {
    if (count <= 1) {
      for (int i = 0; i < count; ++i) f(i);
    } else {
      limit_.execute([&] { parallel_for_single(0, count, f); });
    }
  }
  /// Calls f(first, end) for bands of rows.
  template <class F>
  void each_band(int rows, F f) {
    constexpr int band = 32;
    each((rows + band - 1) / band, [&](int i) { f(i * band, std::min(rows, (i + 1) * band)); });
  }
  /// Calls f(first, count) for pieces of 8192 elements.
  template <class F>
  void each_piece(std::int64_t count, F f) {
    constexpr std::int64_t piece = 8192;
    each(static_cast<int>((count + piece - 1) / piece), [&](int i) { f(i * piece, std::min(piece, count - i * piece)); });
  }

  std::string isa_;
  TrainLanes lanes_;
  ThreadLimit limit_;
  PerThread<AlignedBuffer> scratch_;
};

}  // namespace

TrainLanes train_code(std::string_view name) {
#ifdef ATTOSCOPE_HAVE_X86_64_V3
  if (name == "avx512") return avx512::train_lanes();
  if (name == "avx2") return avx2::train_lanes();
#endif
  static_cast<void>(name);
  return sse2::train_lanes();
}

HeadCode head_code(std::string_view name) { return train_code(name).heads; }

std::unique_ptr<Primitives<float>> cpu_primitives(int threads, std::string_view isa) {
  return std::make_unique<CpuPrimitives>(threads, isa);
}

#ifndef ATTOSCOPE_CUDA
std::unique_ptr<Primitives<float>> gpu_primitives(int) { throw DeviceFailure(why_no_cuda()); }
void training_code(int) {}
#endif

}  // namespace attoscope
