/// The interface between products.cpp, which any compiler builds, and products.cu: matrices as registers hold them.
#pragma once

#include "kernels/tensor_core/products.h"

namespace attoscope {

/// 32-bit words of a row of A, or of a column of B, that one instruction takes.
inline constexpr int step_words = 8;

/// The matrices of all tiles. A word has one factor of 32 bits, two of 16 or four of 8, the first in the lowest bits.
struct ProductWords {
  ProductKind kind;
  int tiles = 0, steps = 1;
  std::vector<std::uint32_t> a, b;  ///< tiles x 16 and tiles x 8 x steps * step_words
  std::vector<std::uint32_t> c;     ///< tiles x 16 x 8: fp32, or fp16 in the lower half
};
ProductWords product_words(const ProductQuestions& questions);

/// The code of x, a number of f, or an infinity or NaN that f has; all NaN get the same code.
std::uint32_t factor_code(const Format& f, double x);

/// C after all steps, as `ProductWords::c`. Empty: the code for this GPU lacks the instruction.
std::vector<std::uint32_t> device_product_words(const ProductWords& words, int device);

}  // namespace attoscope
