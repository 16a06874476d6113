/// The check of a GPU in words.
#pragma once

#include <cstdint>
#include <string>

#include "kernels/questions/gpu_check.h"

namespace attoscope {

/// "100,000".
std::string grouped(std::int64_t x);

/// "digests: 40 of 40 experiments have the CPU's bits".
std::string digests_line(const DigestsCheck& check);

/// "fp16: adds as h100, h200 and b200: 100,000 of 100,000"; if no rule gives all, the nearest one and its first difference in
/// bits; or the reason if it was not compared.
std::string products_line(const ProductsCheck& check);

/// The first sum that the rule does not give, in bits of fp32: "sum 17 (cancellation): c 0x3f800000, expected 0x40000000, got
/// 0x3fffffff"; "": it gives all.
std::string difference_text(const RuleAgreement& rule);

/// Conclusion from all of it: one sentence or two.
std::string gpu_check_sentence(const GpuCheck& check);

}  // namespace attoscope
