/// hardware_block.h on a GPU: cp.async, ldmatrix, mma.sync. Only the three .cu files that instantiate the kernel include this.
#pragma once

#include <cstdint>

#include "kernels/tensor_core/hardware.h"
#include "kernels/tensor_core/hardware_block.h"
#include "kernels/tensor_core/mma_instruction.cuh"

namespace attoscope::mma {

/// True if the target architecture has cp.async, ldmatrix and mma.sync for these elements.
constexpr bool has_attention([[maybe_unused]] Factors elements) {
#if __CUDA_ARCH__ >= 800
  return has_instruction(elements);
#else
  return false;
#endif
}

/// x, hidden from the compiler. Values derived from it are then computed at each use, not once before the loop, where they
/// would occupy registers that the loop needs.
__device__ __forceinline__ int afresh(int x) {
  asm volatile("" : "+r"(x));
  return x;
}
/// threadIdx.x, hidden from the compiler.
__device__ __forceinline__ int thread_afresh() { return afresh(static_cast<int>(threadIdx.x)) & 1023; }

/// A warp's operations; a Lanes<X> is the calling thread's X.
template <Factors elements>
class GpuWarp {
 public:
  template <class X>
  using Lanes = X;

  __device__ __forceinline__ explicit GpuWarp(std::uint32_t shared) : shared_(shared) {}

  __device__ __forceinline__ int index() const { return thread_afresh() / warp_lanes; }
  /// The block's tile of queries.
  __device__ __forceinline__ int tile(const Arguments& x) const {
    return x.of_block + x.step * afresh(static_cast<int>(blockIdx.x));
  }
  __device__ __forceinline__ int lane() const { return static_cast<int>(threadIdx.x % warp_lanes); }
  __device__ __forceinline__ int lane_afresh() const { return thread_afresh() % warp_lanes; }
  __device__ __forceinline__ float all(float x) const { return x; }
  __device__ __forceinline__ float one(float x) const { return x; }
  template <class F, class... X>
  __device__ __forceinline__ auto each(F f, const X&... x) const {
    return f(x...);
  }

  __device__ __forceinline__ int afresh(int x) const { return mma::afresh(x); }

  /// Always true. For e4m3 on 9.x and 10.x, where ptxas builds mma from two products of fp16, the compiler cannot see that. It
  /// then keeps dependent code in place, instead of starting more products at once than registers allow.
  __device__ __forceinline__ bool always([[maybe_unused]] const Arguments& x) const {
#if __CUDA_ARCH__ >= 900 && __CUDA_ARCH__ < 1200
    if constexpr (elements == Factors::e4m3) return afresh(x.n) > 0;
#endif
    return true;
  }

  template <bool transposed>
  __device__ __forceinline__ void load(int offset, std::uint32_t (&r)[4]) const {
    const std::uint32_t address = shared_ + static_cast<std::uint32_t>(offset);
    if constexpr (transposed) {
      asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0, %1, %2, %3}, [%4];"
                   : "=r"(r[0]), "=r"(r[1]), "=r"(r[2]), "=r"(r[3])
                   : "r"(address)
                   : "memory");
    } else {
      asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
                   : "=r"(r[0]), "=r"(r[1]), "=r"(r[2]), "=r"(r[3])
                   : "r"(address)
                   : "memory");
    }
  }

  __device__ __forceinline__ void multiply_add(float (&c)[4], const std::uint32_t (&a)[4], std::uint32_t b0,
                                               std::uint32_t b1) const {
    const std::uint32_t b[2] = {b0, b1};
    mma::multiply_add<elements>(c, a, b);
  }

  /// Two numbers rounded to the inputs' type, to nearest even; `low` in the low half.
  __device__ __forceinline__ std::uint32_t packed(float low, float high) const {
    std::uint32_t r;
    if constexpr (elements == Factors::bf16) {
      asm("cvt.rn.bf16x2.f32 %0, %1, %2;" : "=r"(r) : "f"(high), "f"(low));
    } else {
      asm("cvt.rn.f16x2.f32 %0, %1, %2;" : "=r"(r) : "f"(high), "f"(low));
    }
    return r;
  }
  /// Four numbers rounded to e4m3, to nearest even, larger ones to 448; x0 in the lowest bits.
  __device__ __forceinline__ std::uint32_t packed(float x0, float x1, float x2, float x3) const {
    std::uint32_t r;
    asm("{ .reg .b16 low, high;\n"
        "cvt.rn.satfinite.e4m3x2.f32 low, %2, %1;\n"
        "cvt.rn.satfinite.e4m3x2.f32 high, %4, %3;\n"
        "mov.b32 %0, {low, high}; }"
        : "=r"(r)
        : "f"(x0), "f"(x1), "f"(x2), "f"(x3));
    return r;
  }

  /// 2^x by the GPU's approximation (about 2 ulp, subnormals become 0), as in usual kernels.
  __device__ __forceinline__ float exp2(float x) const {
    float y;
    asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(x));
    return y;
  }
  __device__ __forceinline__ float fused(float a, float b, float c) const { return __fmaf_rn(a, b, c); }
  __device__ __forceinline__ float divided(float a, float b) const { return __fdiv_rn(a, b); }
  __device__ __forceinline__ float max(float a, float b) const { return fmaxf(a, b); }
  /// Maximum over the four lanes that hold a row of C.
  __device__ __forceinline__ float quad_max(float x) const {
    x = fmaxf(x, __shfl_xor_sync(~0u, x, 1));
    return fmaxf(x, __shfl_xor_sync(~0u, x, 2));
  }
  __device__ __forceinline__ float quad_sum(float x) const {
    x = x + __shfl_xor_sync(~0u, x, 1);
    return x + __shfl_xor_sync(~0u, x, 2);
  }

  /// The thread's float in the array of the whole block at `offset` in shared memory.
  __device__ __forceinline__ float got(int offset) const {
    float x;
    asm volatile("ld.shared.f32 %0, [%1];" : "=f"(x) : "r"(own_place(offset)) : "memory");
    return x;
  }
  __device__ __forceinline__ void put(int offset, float x) const {
    asm volatile("st.shared.f32 [%0], %1;" ::"r"(own_place(offset)), "f"(x) : "memory");
  }

  /// One float per lane of the state; `place` counts whole warps of floats, starting at warp 0's.
  __device__ __forceinline__ float kept(const float* state, int place) const {
    return state[place * warp_lanes + static_cast<int>(threadIdx.x)];
  }
  __device__ __forceinline__ void keep(float* state, int place, float x) const {
    state[place * warp_lanes + static_cast<int>(threadIdx.x)] = x;
  }

  /// Stores two adjacent columns of O.
  template <int D>
  __device__ __forceinline__ void store(const Arguments& x, int query, int column, float first, float second) const {
    if (query >= x.count) return;
    float* const o = x.o + (static_cast<std::int64_t>(blockIdx.y) * x.count + query) * D + column;
    *reinterpret_cast<float2*>(o) = make_float2(first, second);
  }

 private:
  __device__ __forceinline__ std::uint32_t own_place(int offset) const {
    return shared_ + static_cast<std::uint32_t>(offset + 4 * thread_afresh());
  }

  std::uint32_t shared_;
};

template <Factors elements>
class GpuBlock {
 public:
  __device__ __forceinline__ GpuBlock(const Arguments& x, const void* shared)
      : x_(x), shared_(static_cast<std::uint32_t>(__cvta_generic_to_shared(shared))), warp_(shared_) {}

  __device__ __forceinline__ int tile() const { return warp_.tile(x_); }
  __device__ __forceinline__ int head() const { return afresh(static_cast<int>(blockIdx.y)); }
  template <class Shape>
  __device__ __forceinline__ float* state(const Arguments& x) const {
    const std::int64_t place = static_cast<std::int64_t>(head()) * x.tiles + tile() - x.first_tile;
    return x.state + place * state_floats<Shape>;
  }
  template <class F>
  __device__ __forceinline__ void each_thread(F f) const {
    f(thread_afresh());
  }
  template <class Rows, class F>
  __device__ __forceinline__ void each_warp(Rows& rows, F f) const {
    f(rows);
  }
  template <class Shape>
  __device__ __forceinline__ WarpRows<Shape, GpuWarp<elements>> warp_rows(const Arguments& x) {
    return WarpRows<Shape, GpuWarp<elements>>(warp_, x);
  }
  /// Copies 16 bytes from byte `from` of x to `offset`, zeros if not `inside`; complete after `wait_for_copies` and a barrier.
  __device__ __forceinline__ void copy(int, int offset, const std::uint8_t* x, std::int64_t from, bool inside) const {
    asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;" ::"r"(shared_ + static_cast<std::uint32_t>(offset)),
                 "l"(__cvta_generic_to_global(x + from)), "r"(inside ? 16 : 0)
                 : "memory");
  }
  __device__ __forceinline__ void wait_for_copies() const { asm volatile("cp.async.wait_all;" ::: "memory"); }
  __device__ __forceinline__ void barrier() const { __syncthreads(); }

 private:
  const Arguments& x_;
  std::uint32_t shared_;
  GpuWarp<elements> warp_;
};

/// Kernel: blockIdx.x selects the tile of queries, blockIdx.y the head.
template <class Shape, Factors elements>
__global__ void __launch_bounds__(Shape::threads, Shape::threads <= 128 ? 2 : 1) attention(Arguments x) {
  if constexpr (has_attention(elements)) {
    extern __shared__ __align__(128) unsigned char shared[];
    GpuBlock<elements> block(x, shared);
    attend<Shape>(block, x);
  }
}

template <Factors elements>
HardwareKernel kernel_of(int d, const HardwareTile& tile) {
  HardwareKernel kernel;
  with_shape<elements == Factors::e4m3 ? 1 : 2>(d, tile.block_q, tile.block_k, [&kernel](auto shape) {
    using S = decltype(shape);
    kernel = {reinterpret_cast<const void*>(attention<S, elements>), S::threads, S::shared_bytes, state_floats<S>};
  });
  return kernel;
}

}  // namespace attoscope::mma
