/// Which accumulators a method can have: what enters its products decides.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "kernels/experiment/method.h"

namespace attoscope {

struct Experiment;

/// The two matrix products of attention.
enum class AttentionProduct : std::uint8_t { qk, pv };
inline constexpr std::array<std::string_view, 2> attention_product_names{"qk", "pv"};
constexpr std::string_view name(AttentionProduct p) { return attention_product_names[static_cast<std::size_t>(p)]; }
constexpr Accumulator accumulator_of(const Method& m, AttentionProduct p) {
  return p == AttentionProduct::qk ? m.accumulator.qk : m.accumulator.pv;
}

/// What enters a product.
struct ProductFactors {
  Format a = fp32, b = fp32;  ///< K and Q, V and P; fp32 where nothing rounds them
};
/// Q, K and V have the format `input`.
ProductFactors factors_of(const Method& m, AttentionProduct product, const Format& input, const Format& main);

/// The format of Q, K and V as the experiment's a, or b, gets them: rounded for all by a's input step, for b once more by its
/// own.
Format input_format(const Experiment& e, const Method& m);

/// The rule by which tensor cores add up the product of a or b; none where they do not.
std::optional<TensorCoreRule> tensor_core_rule_of(const Experiment& e, const Method& m, AttentionProduct product);

/// Why the method, a or b of the experiment or in the place of one, cannot add up the product by this accumulator: one sentence
/// without a full stop that says what would work; "": it can, or it is not emulated.
std::string why_no_accumulator(const Experiment& e, const Method& m, AttentionProduct product, Accumulator accumulator);

}  // namespace attoscope
