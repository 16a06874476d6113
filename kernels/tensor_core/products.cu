// Sums of products by mma.sync: kernel, launcher, and the function of products.h around them. A warp computes one tile and adds
// its steps one after another.
// clang-format off: included first, to show that it compiles alone
#include "kernels/tensor_core/mma_instruction.cuh"
// clang-format on

#include <cuda_runtime.h>

#include <stdexcept>

#include "kernels/gpu/gpu.h"
#include "kernels/tensor_core/products.h"

namespace attoscope {
namespace {

using mma::Factors;

struct ProductPointers {
  const std::uint32_t *a, *b;
  std::uint32_t* c;
  int* ran;  ///< set to 1 if the code has the instruction
  int steps;
};

/// A lane's part of its warp's tile: rows g and g + 8 of A and column g of B, of each the words t and t + 4 of a step; columns
/// 2t and 2t + 1 of both rows of C. The same for every format, since each step takes 32 bytes of a row.
class LanePart {
 public:
  __device__ explicit LanePart(const ProductPointers& x)
      : x_(x), g_(static_cast<int>(threadIdx.x) / 4), t_(static_cast<int>(threadIdx.x) % 4) {}

  __device__ void load(int step, std::uint32_t (&a)[4], std::uint32_t (&b)[2]) const {
    for (int i = 0; i < 4; ++i) a[i] = word(x_.a, ProductQuestions::rows, g_ + 8 * (i % 2), step, t_ + 4 * (i / 2));
    for (int i = 0; i < 2; ++i) b[i] = word(x_.b, ProductQuestions::columns, g_, step, t_ + 4 * i);
  }
  /// Element i = 0..3 of C.
  __device__ std::uint32_t& c(int i) const {
    const std::int64_t row = static_cast<std::int64_t>(blockIdx.x) * ProductQuestions::rows + g_ + 8 * (i / 2);
    return x_.c[row * ProductQuestions::columns + 2 * t_ + i % 2];
  }

 private:
  __device__ std::uint32_t word(const std::uint32_t* x, int rows, int row, int step, int place) const {
    const std::int64_t line = static_cast<std::int64_t>(blockIdx.x) * rows + row;
    return x[(line * x_.steps + step) * step_words + place];
  }

  const ProductPointers& x_;
  int g_, t_;
};

template <Factors factors>
__device__ void add_up(const ProductPointers& x) {
  const LanePart lane(x);
  std::uint32_t a[4], b[2];
  if constexpr (factors == Factors::fp16_f16) {
    std::uint32_t c[2] = {lane.c(0) | lane.c(1) << 16, lane.c(2) | lane.c(3) << 16};
    for (int step = 0; step < x.steps; ++step) {
      lane.load(step, a, b);
      mma::multiply_add_f16(c, a, b);
    }
    for (int i = 0; i < 4; ++i) lane.c(i) = c[i / 2] >> (16 * (i % 2)) & 0xffffU;
  } else {
    float c[4];
    for (int i = 0; i < 4; ++i) c[i] = bit_as<float>(lane.c(i));
    for (int step = 0; step < x.steps; ++step) {
      lane.load(step, a, b);
      mma::multiply_add<factors>(c, a, b);
    }
    for (int i = 0; i < 4; ++i) lane.c(i) = bit_as<std::uint32_t>(c[i]);
  }
}

/// Kernel: one warp per block, one tile per warp.
template <Factors factors>
__global__ void __launch_bounds__(32) products(ProductPointers x) {
  if constexpr (mma::has_instruction(factors)) {
    add_up<factors>(x);
    if (blockIdx.x == 0 && threadIdx.x == 0) *x.ran = 1;
  }
}

template <Factors factors>
void launch(const ProductPointers& x, int tiles, const Stream& stream) {
  products<factors><<<static_cast<unsigned>(tiles), 32, 0, stream.get()>>>(x);
  check(cudaGetLastError());
}

void launch(const ProductKind& kind, const ProductPointers& x, int tiles, const Stream& stream) {
  if (kind == ProductKind{fp16, SumType::f32}) return launch<Factors::fp16>(x, tiles, stream);
  if (kind == ProductKind{fp16, SumType::f16}) return launch<Factors::fp16_f16>(x, tiles, stream);
  if (kind == ProductKind{bf16}) return launch<Factors::bf16>(x, tiles, stream);
  if (kind == ProductKind{tf32}) return launch<Factors::tf32>(x, tiles, stream);
  if (kind == ProductKind{e4m3}) return launch<Factors::e4m3>(x, tiles, stream);
  if (kind == ProductKind{e5m2}) return launch<Factors::e5m2>(x, tiles, stream);
  throw std::invalid_argument("There is no kernel for products of " + name(kind) + ".");
}

}  // namespace

std::vector<std::uint32_t> device_product_words(const ProductWords& words, int device) {
  if (words.tiles == 0) return {};
  use_device(device);
  const Stream stream;
  const Buffer<std::uint32_t> a(words.a, stream), b(words.b, stream), c(words.c, stream);
  Buffer<int> ran(1);
  ran.clear(stream);
  launch(words.kind, {.a = a.get(), .b = b.get(), .c = c.get(), .ran = ran.get(), .steps = words.steps}, words.tiles, stream);
  std::vector<std::uint32_t> sums(words.c.size());
  int has_run = 0;
  c.download(sums.data(), 0, sums.size(), stream);
  ran.download(&has_run, 0, 1, stream);
  stream.wait();
  return has_run == 1 ? sums : std::vector<std::uint32_t>{};
}

}  // namespace attoscope
