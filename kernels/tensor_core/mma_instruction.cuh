/// This program's mma.sync instructions, and tests for the target architecture.
#pragma once

#include <cstdint>

namespace attoscope::mma {

/// Type of the factors; each has its own instruction. fp16_f16 also adds in fp16.
enum class Factors { fp16, fp16_f16, bf16, tf32, e4m3, e5m2 };

#if __CUDA_ARCH__ >= 890
#define ATTOSCOPE_HAS_MMA_OF_8_BITS
#endif

/// True if the target architecture has the instruction.
constexpr bool has_instruction([[maybe_unused]] Factors f) {
#if defined(ATTOSCOPE_HAS_MMA_OF_8_BITS)
  return true;
#elif __CUDA_ARCH__ >= 800
  return f != Factors::e4m3 && f != Factors::e5m2;
#elif __CUDA_ARCH__ >= 750
  return f == Factors::fp16 || f == Factors::fp16_f16;
#else
  return false;
#endif
}

// C += A B with 32 bytes of factors per row. Architectures without the instruction do not compile it and never call these.
#define ATTOSCOPE_MMA(instruction)                                                                       \
  asm("mma.sync.aligned." instruction " {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};" \
      : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3])                                                   \
      : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]))

template <Factors factors>
__device__ __forceinline__ void multiply_add(float (&c)[4], const std::uint32_t (&a)[4], const std::uint32_t (&b)[2]) {
#if __CUDA_ARCH__ >= 800
  if constexpr (factors == Factors::fp16) ATTOSCOPE_MMA("m16n8k16.row.col.f32.f16.f16.f32");
  if constexpr (factors == Factors::bf16) ATTOSCOPE_MMA("m16n8k16.row.col.f32.bf16.bf16.f32");
  if constexpr (factors == Factors::tf32) ATTOSCOPE_MMA("m16n8k8.row.col.f32.tf32.tf32.f32");
#elif __CUDA_ARCH__ >= 750
  if constexpr (factors == Factors::fp16) {
    for (int half = 0; half < 2; ++half)
      asm("mma.sync.aligned.m16n8k8.row.col.f32.f16.f16.f32 {%0, %1, %2, %3}, {%4, %5}, {%6}, {%0, %1, %2, %3};"
          : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3])
          : "r"(a[2 * half]), "r"(a[2 * half + 1]), "r"(b[half]));
  }
#endif
#ifdef ATTOSCOPE_HAS_MMA_OF_8_BITS
  if constexpr (factors == Factors::e4m3) ATTOSCOPE_MMA("m16n8k32.row.col.f32.e4m3.e4m3.f32");
  if constexpr (factors == Factors::e5m2) ATTOSCOPE_MMA("m16n8k32.row.col.f32.e5m2.e5m2.f32");
#endif
}

/// `multiply_add` with sums in fp16, two per word.
__device__ __forceinline__ void multiply_add_f16(std::uint32_t (&c)[2], const std::uint32_t (&a)[4],
                                                 const std::uint32_t (&b)[2]) {
#if __CUDA_ARCH__ >= 800
  asm("mma.sync.aligned.m16n8k16.row.col.f16.f16.f16.f16 {%0, %1}, {%2, %3, %4, %5}, {%6, %7}, {%0, %1};"
      : "+r"(c[0]), "+r"(c[1])
      : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
#elif __CUDA_ARCH__ >= 750
  for (int half = 0; half < 2; ++half)
    asm("mma.sync.aligned.m16n8k8.row.col.f16.f16.f16.f16 {%0, %1}, {%2, %3}, {%4}, {%0, %1};"
        : "+r"(c[0]), "+r"(c[1])
        : "r"(a[2 * half]), "r"(a[2 * half + 1]), "r"(b[half]));
#endif
}

#undef ATTOSCOPE_MMA

}  // namespace attoscope::mma
