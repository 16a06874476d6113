/// Accumulators that a method can have; the formats of its factors decide.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "kernels/experiment/gradient.h"
#include "kernels/experiment/method.h"

namespace attoscope {

struct Experiment;

/// Formats of a product's two factors.
struct ProductFactors {
  Format a = fp32, b = fp32;  ///< K and Q, V and P; fp32 if nothing rounds them
};
/// Formats of the product's factors if Q, K and V have the format `input`.
ProductFactors factors_of(const Method& m, AttentionProduct product, const Format& input, const Format& main);

/// Format of Q, K and V as `m` (e.a or e.b) reads them: rounded for both by a's input step, for b once more by its own.
Format input_format(const Experiment& e, const Method& m);

/// The rule by which tensor cores add up the product of a or b; none if no tensor core does.
std::optional<TensorCoreRule> tensor_core_rule_of(const Experiment& e, const Method& m, AttentionProduct product);

/// The reason why the method (a, b, or a candidate for one) cannot add up the product by this accumulator, and which
/// accumulator works: one sentence without a full stop; "": it can, or it is not emulated.
std::string why_no_accumulator(const Experiment& e, const Method& m, AttentionProduct product, Accumulator accumulator);

/// Formats of the factors of a product of `g`, the backward pass of m (e.a or e.b). dP: V, dO. dV: dO, P. dK: Q, dS. dQ: K, dS.
/// Tensors with scales count as fp32.
ProductFactors factors_of(const Experiment& e, const Method& m, const GradMethod& g, GradProduct product);

/// As for the products of the forward pass; `g` is the backward pass of m, which is e.a or e.b.
std::optional<TensorCoreRule> tensor_core_rule_of(const Experiment& e, const Method& m, const GradMethod& g,
                                                  GradProduct product);
std::string why_no_accumulator(const Experiment& e, const Method& m, const GradMethod& g, GradProduct product);

}  // namespace attoscope
