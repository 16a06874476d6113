#include "kernels/tensor_core/products.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>

#include "kernels/arithmetic/quoted.h"
#include "kernels/arithmetic/random.h"
#include "kernels/gpu/device.h"
#include "kernels/tensor_core/hardware.h"

namespace attoscope {
namespace {

constexpr float infinite = std::numeric_limits<float>::infinity(), no_number = std::numeric_limits<float>::quiet_NaN();

/// Random numbers that depend only on the seed, the kind, the steps and the tile.
class TileDice {
 public:
  TileDice(std::uint64_t seed, const ProductKind& kind, int steps, int tile)
      : seed_(seed), tile_(static_cast<std::uint64_t>(tile)) {
    for (const int part : {kind.factors.exponent_bits, kind.factors.mantissa_bits, static_cast<int>(kind.sums), steps})
      stream_ = stream_ << 8 | static_cast<std::uint64_t>(part);
  }

  std::uint64_t bits() {
    const Philox<std::uint64_t> p = philox<std::uint64_t>(next_++, tile_, stream_, seed_);
    return p.x[0] << 32 | p.x[1];
  }
  int between(int low, int high) { return low + static_cast<int>(bits() % static_cast<std::uint64_t>(high - low + 1)); }
  bool one_in(int n) { return between(1, n) == 1; }

 private:
  std::uint64_t seed_, tile_, stream_ = 0, next_ = 0;
};

/// A number of f with either sign and this exponent, clamped to f's range; often with a significand of all zeros or ones.
float number_at(TileDice& dice, const Format& f, int exponent) {
  const int lowest = min_exponent(f) - f.mantissa_bits, e = std::clamp(exponent, lowest, max_exponent(f));
  const int ones = (1 << f.mantissa_bits) - 1, kind = dice.between(0, 7);
  const int mantissa = kind == 0 ? 0 : kind == 1 ? ones : dice.between(0, ones);
  const double size = std::min(std::ldexp(1 + std::ldexp(mantissa, -f.mantissa_bits), e), largest(f));
  const auto x = static_cast<float>(round(f, size));
  return dice.one_in(2) ? -x : x;
}

/// Infinity of either sign, or NaN; always NaN if the format has no infinity.
float special_number(TileDice& dice, const Format& f) {
  const int kind = f.top_code_nan ? 2 : dice.between(0, 2);
  return kind == 2 ? no_number : kind == 1 ? -infinite : infinite;
}

/// Generator of one tile's matrices.
class Tile {
 public:
  Tile(const ProductQuestions& q, std::uint64_t seed, int tile)
      : kind_(q.kind),
        sum_(q.kind.sums == SumType::f16 ? fp16 : fp32),
        dice_(seed, q.kind, q.steps, tile),
        case_(q.cases[static_cast<std::size_t>(tile)]),
        k_(q.k()),
        apart_(dice_.one_in(2) ? 1 : k_ / 2),
        above_(dice_.between(0, k_ - 1)) {}

  /// Fills a row of A, or (`right`) a column of B.
  void fill(std::span<float> x, bool right) {
    for (int i = 0; i < k_; ++i) x[static_cast<std::size_t>(i)] = factor(i);
    if (case_ == ProductCase::cancellation) pair_up(x, right);
    if (case_ == ProductCase::zeros && dice_.one_in(8)) std::ranges::fill(x, 0.0F);
    if (case_ == ProductCase::special && dice_.one_in(4))
      x[static_cast<std::size_t>(dice_.between(0, k_ - 1))] = special_number(dice_, kind_.factors);
  }

  /// Chooses c for these factors.
  float addend(std::span<const float> a, std::span<const float> b) {
    double sum = 0, most = 0;
    for (std::size_t i = 0; i < a.size(); ++i) {
      const double product = static_cast<double>(a[i]) * static_cast<double>(b[i]);
      if (!std::isfinite(product)) continue;
      sum += product;
      most = std::max(most, std::fabs(product));
    }
    return addend(sum, most == 0 ? 0 : std::ilogb(most));
  }

 private:
  float at(int exponent) { return number_at(dice_, kind_.factors, exponent); }

  float factor(int i) {
    const Format& f = kind_.factors;
    const int lowest = min_exponent(f) - f.mantissa_bits, half = max_exponent(sum_) / 2 - 1;  // products of these are finite
    const int high = std::min({max_exponent(f) - 1, half, 12});
    switch (case_) {
      case ProductCase::wide:
        return at(dice_.between(lowest, std::min(max_exponent(f), half)));
      case ProductCase::dominated:
        return at(i == above_ ? high : high - dice_.between(4, 16));
      case ProductCase::subnormal:
        return at(dice_.one_in(2) ? dice_.between(lowest, min_exponent(f)) : dice_.between(-2, 2));
      case ProductCase::zeros:
        return dice_.one_in(2) ? at(dice_.between(-3, 3)) : dice_.one_in(2) ? -0.0F : 0.0F;
      case ProductCase::special:
        return dice_.one_in(8) ? 0.0F : at(dice_.between(-3, 3));
      case ProductCase::largest:
        return dice_.one_in(2) ? std::copysign(largest<float>(f), at(0)) : at(max_exponent(f));
      case ProductCase::integers:
        return static_cast<float>(dice_.between(-8, 8)) / (dice_.one_in(2) ? 2.0F : 1.0F);
      default:
        return at(dice_.between(-3, 3));
    }
  }

  /// Makes every second factor a copy of its partner, with the other sign in a column of B, and sometimes one bit off.
  void pair_up(std::span<float> x, bool right) {
    for (int i = 0; i < k_; ++i) {
      const int partner = i ^ apart_;
      if (partner < i || partner >= k_) continue;
      const float same = x[static_cast<std::size_t>(i)];
      const double off = right && dice_.one_in(3) ? 1 + epsilon(kind_.factors) : 1;
      x[static_cast<std::size_t>(partner)] = static_cast<float>(round(kind_.factors, same * off)) * (right ? -1.0F : 1.0F);
    }
  }

  float sum_at(int exponent) { return number_at(dice_, sum_, exponent); }

  float addend(double sum, int exponent) {
    const int least = min_exponent(sum_) - sum_.mantissa_bits;
    switch (case_) {
      case ProductCase::wide:
        return sum_at(std::min(exponent + dice_.between(-40, 40), max_exponent(sum_) - 8));
      case ProductCase::cancellation:
        if (dice_.one_in(3)) return static_cast<float>(round(sum_, -sum));
        return dice_.one_in(2) ? 0.0F : sum_at(exponent + dice_.between(-30, 4));
      case ProductCase::dominated:
        return dice_.one_in(4) ? 0.0F : sum_at(exponent + dice_.between(-32, 8));
      case ProductCase::subnormal:
        return sum_at(dice_.one_in(2) ? dice_.between(least, min_exponent(sum_) + 4) : exponent + dice_.between(-4, 4));
      case ProductCase::zeros:
        return dice_.one_in(2) ? sum_at(0) : dice_.one_in(2) ? -0.0F : 0.0F;
      case ProductCase::addend:
        return sum_at(exponent + dice_.between(-45, 45));
      case ProductCase::special:
        return dice_.one_in(8) ? special_number(dice_, sum_) : sum_at(exponent + dice_.between(-2, 2));
      case ProductCase::largest:
        return dice_.one_in(2) ? std::copysign(largest<float>(sum_), sum_at(0)) : sum_at(max_exponent(sum_));
      case ProductCase::integers:
        return static_cast<float>(dice_.between(-128, 128)) / 2;
      default:
        return dice_.one_in(4) ? 0.0F : sum_at(exponent + dice_.between(-3, 3));
    }
  }

  const ProductKind kind_;
  const Format sum_;
  TileDice dice_;
  const ProductCase case_;
  const int k_, apart_, above_;  ///< distance between partners; index of the product far above the others
};

void fill_tile(ProductQuestions& q, std::uint64_t seed, int tile) {
  Tile made(q, seed, tile);
  const auto width = static_cast<std::size_t>(q.k());
  const auto rows_of = [&](std::vector<float>& x, int rows, bool right) {
    for (int row = 0; row < rows; ++row)
      made.fill(std::span(x).subspan(static_cast<std::size_t>(tile * rows + row) * width, width), right);
  };
  rows_of(q.a, ProductQuestions::rows, false);
  rows_of(q.b, ProductQuestions::columns, true);
  for (int sum = tile * ProductQuestions::of_tile; sum < (tile + 1) * ProductQuestions::of_tile; ++sum)
    q.c[static_cast<std::size_t>(sum)] = made.addend(q.a_of(sum), q.b_of(sum));
}

/// Codes of these factors, packed into words.
std::vector<std::uint32_t> packed(const Format& f, const std::vector<float>& x) {
  const int bits = register_bits(f), in_word = 32 / bits, spare = bits - (1 + f.exponent_bits + f.mantissa_bits);
  std::vector<std::uint32_t> words(x.size() / static_cast<std::size_t>(in_word));
  for (std::size_t i = 0; i < x.size(); ++i)
    words[i / static_cast<std::size_t>(in_word)] |= factor_code(f, x[i])
                                                    << spare << bits * static_cast<int>(i % static_cast<std::size_t>(in_word));
  return words;
}

}  // namespace

std::string name(const ProductKind& kind) { return name(kind.factors) + (kind.sums == SumType::f16 ? ":f16" : ""); }

ProductKind parse_product_kind(std::string_view text) {
  const auto name_of = [](const ProductKind& kind) { return name(kind); };
  if (const auto found = std::ranges::find(product_kinds, text, name_of); found != product_kinds.end()) return *found;
  throw std::invalid_argument("format " + in_quotes(text) + " is unknown: expected " + listed(product_kinds, " or ", name_of));
}

ProductQuestions product_questions(const ProductKind& kind, int steps, int count, std::uint64_t seed, ProductCase first) {
  ProductQuestions q{.kind = kind, .steps = steps, .count = count, .cases = {}, .a = {}, .b = {}, .c = {}};
  const int tiles = (count + ProductQuestions::of_tile - 1) / ProductQuestions::of_tile;
  for (int tile = 0; tile < tiles; ++tile)
    q.cases.push_back(static_cast<ProductCase>((static_cast<std::size_t>(first) + static_cast<std::size_t>(tile)) %
                                               product_case_names.size()));
  const auto size = [&](int rows, int width) {
    return static_cast<std::size_t>(tiles) * static_cast<std::size_t>(rows) * static_cast<std::size_t>(width);
  };
  q.a.resize(size(ProductQuestions::rows, q.k()));
  q.b.resize(size(ProductQuestions::columns, q.k()));
  q.c.resize(size(ProductQuestions::rows, ProductQuestions::columns));
  for (int tile = 0; tile < tiles; ++tile) fill_tile(q, seed, tile);
  return q;
}

std::string why_no_products(const ProductKind& kind, int major, int minor) {
  const int has = 10 * major + minor, needed = kind.factors == fp16 ? 75 : register_bits(kind.factors) == 8 ? 89 : 80;
  const auto text = [](int capability) { return std::to_string(capability / 10) + "." + std::to_string(capability % 10); };
  if (has >= needed) return {};
  return "Products of " + name(kind.factors) + " need compute capability " + text(needed) + ", and this GPU has " + text(has) +
         ".";
}

std::uint32_t factor_code(const Format& f, double x) {
  const std::uint32_t top = (1U << f.exponent_bits) - 1, one = 1U << f.mantissa_bits;
  const std::uint32_t sign = std::signbit(x) ? 1U << (f.exponent_bits + f.mantissa_bits) : 0;
  if (std::isnan(x)) return top * one | (one - 1);  // the only NaN of e4m3
  if (std::isinf(x)) return sign | top * one;
  if (x == 0) return sign;
  const int e = std::max(std::ilogb(x), min_exponent(f));
  const auto significand = static_cast<std::uint32_t>(std::ldexp(std::fabs(x), f.mantissa_bits - e));
  return sign | (static_cast<std::uint32_t>(e - min_exponent(f)) * one + significand);  // the hidden bit adds 1 to the exponent
}

ProductWords product_words(const ProductQuestions& q) {
  ProductWords words{.kind = q.kind,
                     .tiles = q.tiles(),
                     .steps = q.steps,
                     .a = packed(q.kind.factors, q.a),
                     .b = packed(q.kind.factors, q.b),
                     .c = {}};
  words.c.reserve(q.c.size());
  for (const float c : q.c)
    words.c.push_back(q.kind.sums == SumType::f16 ? factor_code(fp16, c) : std::bit_cast<std::uint32_t>(c));
  return words;
}

std::vector<float> device_products(const ProductQuestions& questions, int device) {
  const std::vector<std::uint32_t> words = device_product_words(product_words(questions), device);
  if (words.empty() && questions.count > 0)
    throw NoProducts("This program's code for this GPU has no products of " + name(questions.kind.factors) +
                     ": it was compiled for older GPUs, or by a CUDA before 12.4.");
  std::vector<float> sums(static_cast<std::size_t>(questions.count));
  for (std::size_t i = 0; i < sums.size(); ++i)
    sums[i] =
        questions.kind.sums == SumType::f16 ? static_cast<float>(number_of(fp16, words[i])) : std::bit_cast<float>(words[i]);
  return sums;
}

#ifndef ATTOSCOPE_CUDA
std::vector<std::uint32_t> device_product_words(const ProductWords&, int) { throw std::runtime_error(why_no_cuda()); }
#endif

}  // namespace attoscope
