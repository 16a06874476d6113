/// The formats that have names, in the order of menus: every list of them is made from this one.
#pragma once

#include <array>
#include <string_view>

#include "kernels/arithmetic/format.h"

namespace attoscope {

struct NamedFormat {
  std::string_view name;
  Format format;
  std::string_view what;  ///< a sentence or two
};

inline constexpr std::array<NamedFormat, 7> named_formats{{
    {"bf16", bf16, "bfloat16: 8 exponent bits, 7 mantissa bits. The range of fp32, an ulp of 0.8 %."},
    {"fp16", fp16, "IEEE half: 5 exponent bits, 10 mantissa bits. Overflows beyond 65504."},
    {"tf32", tf32, "TensorFloat-32: 8 exponent bits, 10 mantissa bits."},
    {"fp32", fp32, "IEEE single: 8 exponent bits, 23 mantissa bits."},
    {"fp64", fp64, "IEEE double: 11 exponent bits, 52 mantissa bits. The golden value is then computed in double-double."},
    {"e4m3", e4m3, "OCP 8-bit float: largest 448, saturating, no infinity."},
    {"e5m2", e5m2, "OCP 8-bit float: 5 exponent bits, 2 mantissa bits, with infinity."},
}};

}  // namespace attoscope
