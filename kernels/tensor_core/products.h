/// Test sums for a GPU's tensor cores: numbers for which ways of adding differ, and the GPU's results.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "kernels/arithmetic/accumulator.h"

namespace attoscope {

/// Format of the factors, and type of the sums.
struct ProductKind {
  Format factors = fp16;
  SumType sums = SumType::f32;

  friend constexpr bool operator==(const ProductKind&, const ProductKind&) = default;
};
/// All kinds that can be checked.
inline constexpr std::array<ProductKind, 6> product_kinds{
    {{fp16, SumType::f32}, {fp16, SumType::f16}, {bf16}, {tf32}, {e4m3}, {e5m2}}};
/// "fp16", or "fp16:f16" for sums in fp16.
std::string name(const ProductKind& kind);
/// Parses the name of a kind. Throws std::invalid_argument with one sentence.
ProductKind parse_product_kind(std::string_view text);

/// Bits of a factor in a register; tf32 occupies 32 bits, like fp32.
constexpr int register_bits(const Format& f) { return f == tf32 ? 32 : 1 + f.exponent_bits + f.mantissa_bits; }
/// Products that one instruction adds to a sum: 32 bytes of factors (mma.sync of shape m16n8k16 for fp16 and bf16, m16n8k8 for
/// tf32, m16n8k32 for 8 bits).
constexpr int step_length(const ProductKind& kind) { return 256 / register_bits(kind.factors); }

/// Special property of the numbers of a sum.
enum class ProductCase : std::uint8_t {
  random,
  wide,          ///< exponents from the whole range of the format
  cancellation,  ///< pairs of products that cancel except for their last bits, and c that cancels their sum
  dominated,     ///< one product far above the others
  subnormal,     ///< subnormals of the format, and of fp32
  zeros,         ///< zeros of both signs, among other numbers
  addend,        ///< c far above or below the products
  special,       ///< infinities and NaN, if the format has them
  largest,       ///< the largest numbers; their sums may overflow
  integers       ///< small integers, and halves
};
inline constexpr EnumArray<ProductCase> product_case_names{"random", "wide",   "cancellation", "dominated", "subnormal",
                                                           "zeros",  "addend", "special",      "largest",   "integers"};
constexpr std::string_view name(ProductCase c) { return product_case_names[c]; }

/// Sums a . b + c: matrices A (16 x k), B (k x 8) and C (16 x 8) of one instruction, tile after tile. Sum i is element i % 128,
/// row by row, of tile i / 128.
struct ProductQuestions {
  static constexpr int rows = 16, columns = 8, of_tile = rows * columns;

  ProductKind kind;
  int steps = 1;                   ///< instructions that accumulate into the same sums: k = steps * step_length(kind)
  int count = 0;                   ///< number of sums requested; the last tile may have more
  std::vector<ProductCase> cases;  ///< one per tile
  std::vector<float> a;            ///< tiles x 16 x k
  std::vector<float> b;            ///< tiles x 8 x k: column by column
  std::vector<float> c;            ///< tiles x 16 x 8

  int k() const { return steps * step_length(kind); }
  int tiles() const { return static_cast<int>(cases.size()); }
  std::span<const float> a_of(int sum) const { return part(a, sum / columns); }
  std::span<const float> b_of(int sum) const { return part(b, sum / of_tile * columns + sum % columns); }
  float c_of(int sum) const { return c[static_cast<std::size_t>(sum)]; }
  ProductCase case_of(int sum) const { return cases[static_cast<std::size_t>(sum / of_tile)]; }

 private:
  std::span<const float> part(const std::vector<float>& x, int row) const {
    const auto width = static_cast<std::size_t>(k());
    return std::span(x).subspan(static_cast<std::size_t>(row) * width, width);
  }
};

/// Generates `count` sums of `steps` instructions each; cases take turns, beginning with `first`. Deterministic in the seed.
ProductQuestions product_questions(const ProductKind& kind, int steps, int count, std::uint64_t seed,
                                   ProductCase first = ProductCase::random);

/// One sentence: why a GPU of this compute capability does not multiply this kind; "" if it does.
std::string why_no_products(const ProductKind& kind, int major, int minor);

/// Thrown if the program's code for a GPU lacks an instruction that the GPU has. what() is one sentence.
struct NoProducts : std::runtime_error {
  using std::runtime_error::runtime_error;
};

/// The sums computed by the tensor cores of GPU number `device`. Throws NoProducts, and std::runtime_error if there is no GPU
/// or it fails.
std::vector<float> device_products(const ProductQuestions& questions, int device);

// --- between products.cpp, which any compiler builds, and products.cu: matrices as registers hold them --------------------

/// Number of 32-bit words of a row of A, or of a column of B, per instruction.
inline constexpr int step_words = 8;

/// The matrices of all tiles. A word holds one 32-bit, two 16-bit or four 8-bit factors, the first in the lowest bits.
struct ProductWords {
  ProductKind kind;
  int tiles = 0, steps = 1;
  std::vector<std::uint32_t> a, b;  ///< tiles x 16 and tiles x 8 x steps * step_words
  std::vector<std::uint32_t> c;     ///< tiles x 16 x 8: fp32, or fp16 in the lower half
};
ProductWords product_words(const ProductQuestions& questions);

/// The code of x in f. x is a number, infinity or NaN of f; all NaN get the same code.
std::uint32_t factor_code(const Format& f, double x);

/// C after all steps, as `ProductWords::c`; empty if the code for this GPU lacks the instruction.
std::vector<std::uint32_t> device_product_words(const ProductWords& words, int device);

}  // namespace attoscope
