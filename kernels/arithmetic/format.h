/// Number formats as values, and IEEE 754 rounding to them.
#pragma once

#include <array>
#include <bit>
#include <cstdint>
#include <string>
#include <string_view>
#include <type_traits>

// Marks of functions that run on a CPU and on a GPU. HOST_DEVICE is the plain mark. _INLINE forces inlining, for small
// functions of inner loops. _NOINLINE keeps one copy of a large function with many callers (on a GPU only: a CPU's compiler
// decides).
#ifdef __CUDACC__
#define ATTOSCOPE_HOST_DEVICE_INLINE __host__ __device__ __forceinline__
#define ATTOSCOPE_HOST_DEVICE __host__ __device__
#define ATTOSCOPE_HOST_DEVICE_NOINLINE __host__ __device__ __noinline__
#else
#define ATTOSCOPE_HOST_DEVICE_INLINE [[gnu::always_inline]] inline
#define ATTOSCOPE_HOST_DEVICE
#define ATTOSCOPE_HOST_DEVICE_NOINLINE
#endif
#ifdef __CUDA_ARCH__
#define ATTOSCOPE_UNROLL(pragma) _Pragma(#pragma)  // ATTOSCOPE_UNROLL(unroll 4)
#else
#define ATTOSCOPE_UNROLL(pragma)
#endif

namespace attoscope {

/// The bits of x read as a To of the same size.
template <class To, class From>
ATTOSCOPE_HOST_DEVICE_INLINE constexpr To bit_as(const From& x) {
  return __builtin_bit_cast(To, x);
}

/// Result of a value beyond the largest finite one.
enum class Overflow : std::uint8_t { infinity, saturate, nan };

/// A binary floating-point format: sign, `exponent_bits`, `mantissa_bits` (stored, without the hidden one).
struct Format {
  int exponent_bits = 8;
  int mantissa_bits = 23;
  Overflow overflow = Overflow::infinity;
  /// True if the largest exponent holds numbers and only its last mantissa is NaN (OCP e4m3: largest 448).
  bool top_code_nan = false;

  friend constexpr bool operator==(const Format&, const Format&) = default;
};

inline constexpr Format fp64{11, 52};
inline constexpr Format fp32{8, 23};
inline constexpr Format tf32{8, 10};
inline constexpr Format bf16{8, 7};
inline constexpr Format fp16{5, 10};
inline constexpr Format e4m3{4, 3, Overflow::saturate, true};
inline constexpr Format e5m2{5, 2};

/// The named formats, in the order of menus. All lists of formats derive from this table.
struct NamedFormat {
  std::string_view name;
  Format format;
  std::string_view what;  ///< a sentence or two
};

inline constexpr auto named_formats = std::to_array<NamedFormat>({
    {"bf16", bf16, "bfloat16: 8 exponent bits, 7 mantissa bits. The range of fp32, an ulp of 0.8 %."},
    {"fp16", fp16, "IEEE half: 5 exponent bits, 10 mantissa bits. Overflows beyond 65504."},
    {"tf32", tf32, "TensorFloat-32: 8 exponent bits, 10 mantissa bits."},
    {"fp32", fp32, "IEEE single: 8 exponent bits, 23 mantissa bits."},
    {"fp64", fp64, "IEEE double: 11 exponent bits, 52 mantissa bits. The golden value is then computed in double-double."},
    {"e4m3", e4m3, "OCP 8-bit float: largest 448, saturating, no infinity."},
    {"e5m2", e5m2, "OCP 8-bit float: 5 exponent bits, 2 mantissa bits, with infinity."},
});

/// Limits of the bit sliders and of `eXmY`.
inline constexpr int min_exponent_bits = 2, max_exponent_bits = 11, max_mantissa_bits = 52;

/// Bits of precision p, including the hidden bit.
ATTOSCOPE_HOST_DEVICE_INLINE constexpr int significand_bits(const Format& f) { return f.mantissa_bits + 1; }
/// Exponent of the smallest normal number.
ATTOSCOPE_HOST_DEVICE_INLINE constexpr int min_exponent(const Format& f) { return 2 - (1 << (f.exponent_bits - 1)); }
/// Exponent of the largest finite number.
ATTOSCOPE_HOST_DEVICE_INLINE constexpr int max_exponent(const Format& f) {
  const int ieee = (1 << (f.exponent_bits - 1)) - 1;
  return f.top_code_nan && f.mantissa_bits > 0 ? ieee + 1 : ieee;
}

/// The bit layout of a working type T (float or double).
template <class T>
struct Layout {
  static_assert(std::is_same_v<T, float> || std::is_same_v<T, double>);
  using Bits = std::conditional_t<std::is_same_v<T, float>, std::uint32_t, std::uint64_t>;
  static constexpr int exponent_bits = std::is_same_v<T, float> ? 8 : 11;
  static constexpr int mantissa_bits = std::is_same_v<T, float> ? 23 : 52;
  static constexpr int max_exponent = (1 << (exponent_bits - 1)) - 1;
  static constexpr int min_exponent = 1 - max_exponent;
  static constexpr Bits sign = Bits{1} << (exponent_bits + mantissa_bits);
  static constexpr Bits infinity = ((Bits{1} << exponent_bits) - 1) << mantissa_bits;
  static constexpr Bits hidden = Bits{1} << mantissa_bits;
};

/// 2^k in T: subnormal, 0 or infinity if k is outside the range of normal numbers.
template <class T>
ATTOSCOPE_HOST_DEVICE_INLINE constexpr T power_of_two(int k) {
  using L = Layout<T>;
  using Bits = typename L::Bits;
  if (k > L::max_exponent) return bit_as<T>(L::infinity);
  if (k >= L::min_exponent) return bit_as<T>(static_cast<Bits>(k + L::max_exponent) << L::mantissa_bits);
  const int bit = k - (L::min_exponent - L::mantissa_bits);
  return bit < 0 ? T{0} : bit_as<T>(Bits{1} << bit);
}

/// The largest finite number of f, in T; infinity if T cannot hold it.
template <class T = double>
ATTOSCOPE_HOST_DEVICE_INLINE constexpr T largest(const Format& f) {
  const bool short_top = f.top_code_nan && f.mantissa_bits > 0;
  const int e = max_exponent(f);
  if (e > Layout<T>::max_exponent) return bit_as<T>(Layout<T>::infinity);
  const T last = power_of_two<T>(-f.mantissa_bits) * (short_top ? 2 : 1);
  return (T{2} - last) * power_of_two<T>(e);
}
/// The smallest normal and subnormal number, and the spacing of numbers just above 1.
inline constexpr double smallest_normal(const Format& f) { return power_of_two<double>(min_exponent(f)); }
inline constexpr double smallest_subnormal(const Format& f) { return power_of_two<double>(min_exponent(f) - f.mantissa_bits); }
inline constexpr double epsilon(const Format& f) { return power_of_two<double>(-f.mantissa_bits); }

/// The number that a code of f is; NaN keeps the code's sign.
inline constexpr double number_of(const Format& f, std::uint64_t code) {
  using L = Layout<double>;
  const std::uint64_t one = std::uint64_t{1} << f.mantissa_bits, mantissa = code & (one - 1);
  const int top = (1 << f.exponent_bits) - 1, exponent = static_cast<int>(code >> f.mantissa_bits) & top;
  const int quantum = min_exponent(f) + (exponent > 0 ? exponent - 1 : 0) - f.mantissa_bits;
  double x = static_cast<double>(exponent == 0 ? mantissa : mantissa | one) * power_of_two<double>(quantum);
  if (exponent == top && !(f.top_code_nan && f.mantissa_bits > 0 && mantissa != one - 1))
    x = bit_as<double>(f.top_code_nan || mantissa != 0 ? L::infinity | L::hidden >> 1 : L::infinity);
  return (code >> (f.exponent_bits + f.mantissa_bits) & 1) != 0 ? -x : x;
}

/// floor(log2 |x|) of the number with these bits (not 0, not infinite), subnormals of T included.
template <class T>
ATTOSCOPE_HOST_DEVICE_INLINE constexpr int exponent_of(typename Layout<T>::Bits magnitude) {
  using L = Layout<T>;
  const int biased = static_cast<int>(magnitude >> L::mantissa_bits);
  if (biased != 0) return biased - L::max_exponent;
#ifdef __CUDA_ARCH__
  const int zeros = sizeof(T) == 4 ? __clz(static_cast<int>(magnitude)) : __clzll(static_cast<long long>(magnitude));
#else
  const int zeros = std::countl_zero(magnitude);
#endif
  return L::min_exponent - (zeros - L::exponent_bits);
}

/// Result of +-overflow in f.
template <class T>
ATTOSCOPE_HOST_DEVICE_INLINE constexpr T overflowed(const Format& f, bool negative) {
  using L = Layout<T>;
  if (f.overflow == Overflow::nan) return bit_as<T>(L::infinity | (L::hidden >> 1));
  const T magnitude = f.overflow == Overflow::saturate ? largest<T>(f) : bit_as<T>(L::infinity);
  return negative ? -magnitude : magnitude;
}

/// x rounded to a multiple of f's spacing at x, with f's overflow. If f lacks bits of x, |x| is significand / 2^dropped
/// spacings, and whole(significand, dropped) returns the number of spacings in the result.
template <class T, class Whole>
ATTOSCOPE_HOST_DEVICE_INLINE constexpr T rounded_to_spacing(const Format& f, T x, Whole whole) {
  using L = Layout<T>;
  using Bits = typename L::Bits;
  const Bits u = bit_as<Bits>(x), magnitude = u & ~L::sign;
  const bool negative = (u & L::sign) != 0;
  if (magnitude == 0 || magnitude > L::infinity) return x;
  if (magnitude == L::infinity) return overflowed<T>(f, negative);
  const int e = exponent_of<T>(magnitude);
  const int own = (e > L::min_exponent ? e : L::min_exponent) - L::mantissa_bits;     // x = significand * 2^own
  const int quantum = (e > min_exponent(f) ? e : min_exponent(f)) - f.mantissa_bits;  // log2 of f's spacing at x
  T y = bit_as<T>(magnitude);
  if (quantum > own) {
    const Bits fraction = magnitude & (L::hidden - 1);
    const Bits significand = (magnitude >> L::mantissa_bits) != 0 ? fraction | L::hidden : fraction;
    y = static_cast<T>(whole(significand, quantum - own)) * power_of_two<T>(quantum);  // exact: a number of T, or beyond it
  }
  if (y > largest<T>(f)) return overflowed<T>(f, negative);
  return negative ? -y : y;
}

/// The number of f nearest to x, ties to even, with f's subnormals and overflow. NaN stays NaN; 0 keeps its sign. Exact for
/// every x of T (IEEE 754-2019, section 4.3.1). If f's exponent range exceeds T's, T's range is the limit.
template <class T>
ATTOSCOPE_HOST_DEVICE_INLINE constexpr T round(const Format& f, T x) {
  using Bits = typename Layout<T>::Bits;
  return rounded_to_spacing(f, x, [](Bits significand, int dropped) {
    if (dropped > Layout<T>::mantissa_bits + 1) return Bits{0};
    const Bits midway = Bits{1} << (dropped - 1), odd = (significand >> dropped) & 1;
    return (significand + (midway - 1) + odd) >> dropped;
  });
}

/// x rounded to a neighbour in f, x itself if f holds it. The probability of rounding away from 0 is the distance from the
/// neighbour nearer to 0, in units of the spacing; `random` (uniform, 64 bits) decides. Overflow as in `round`.
template <class T>
ATTOSCOPE_HOST_DEVICE_INLINE constexpr T round_stochastic(const Format& f, T x, std::uint64_t random) {
  return rounded_to_spacing(f, x, [random](std::uint64_t significand, int dropped) -> std::uint64_t {
    if (dropped > 127) return 0;
    if (dropped > 63) return random > ~(significand >> (dropped - 64)) ? 1 : 0;  // compares |x| plus a random fraction with 1
    return (significand + (random & ((std::uint64_t{1} << dropped) - 1))) >> dropped;
  });
}

/// One ulp: the spacing of f's numbers at |x|, x finite; below the smallest normal number the spacing of subnormals.
ATTOSCOPE_HOST_DEVICE_INLINE constexpr double ulp(const Format& f, double x) {
  const std::uint64_t magnitude = bit_as<std::uint64_t>(x) & ~Layout<double>::sign;
  const int e = magnitude == 0 ? min_exponent(f) : exponent_of<double>(magnitude);
  return power_of_two<double>((e > min_exponent(f) ? e : min_exponent(f)) - f.mantissa_bits);
}

/// "bf16", "e5m7", "e4m3/ieee/infinity": the text that `parse_format` reads back.
std::string name(const Format& f);
/// Parses a name of `named_formats` or eXmY (X 2..11, Y 0..52), followed by any of /infinity /saturate /nan (overflow) and /fn
/// /ieee (top code). Throws std::invalid_argument with one sentence.
Format parse_format(std::string_view text);

}  // namespace attoscope
