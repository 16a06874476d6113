/// Finds the written rules of tensor cores that reproduce a GPU's sums.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "kernels/experiment/stop_sign.h"
#include "kernels/tensor_core/products.h"

namespace attoscope {

/// A rule, and the GPUs that follow it.
struct ProductRule {
  std::vector<TensorCore> gpus;
  TensorCoreRule rule;
  bool as_fp16 = false;  ///< the rule is fp16's; 8-bit factors are converted to fp16 first: see `product_sum`
};
/// "h100 and h200", "h100 as fp16".
std::string name(const ProductRule& rule);

/// a . b + c by the rule, for a whole number of instructions. As fp16: of the 32 products of an instruction, places 0 and 1
/// modulo 4 are summed from 0, the others on top of them, and the result is added to c in fp32, to nearest even. This is what
/// ptxas generates for 8-bit mma.sync on GPUs without the instruction (9.0, 10.0).
float product_sum(const ProductRule& rule, std::span<const float> a, std::span<const float> b, float c);

/// All distinct rules for this kind, in the order of `TensorCore`; for 8-bit factors also the rules as fp16.
std::vector<ProductRule> product_rules(const ProductKind& kind);

/// A sum that differs from a rule's.
struct ProductDifference {
  std::int64_t sum = 0;  ///< index among all compared sums of its kind
  ProductCase of = ProductCase::random;
  std::vector<float> a, b;
  float c = 0, expected = 0, got = 0;
};

using CaseCounts = std::array<std::int64_t, product_case_names.size()>;

/// Number of sums that agree with a rule.
struct RuleAgreement {
  ProductRule rule;
  std::int64_t agree = 0;
  CaseCounts agree_of{};                   ///< agreeing sums of each case
  std::optional<ProductDifference> first;  ///< the first sum that differs; none if all agree
};

/// Comparison of a GPU's sums of one kind with all rules.
struct ProductsCheck {
  ProductKind kind;
  std::string left_out{};  ///< one sentence: why nothing was compared; empty if something was
  std::int64_t count = 0;  ///< sums compared
  CaseCounts count_of{};
  std::vector<RuleAgreement> rules{};  ///< all rules, in the order of `product_rules`

  /// The rules that agree with every sum; may be empty.
  std::vector<const RuleAgreement*> fitting() const;
  /// The first of the rules that agree with most sums; null if nothing was compared.
  const RuleAgreement* best() const;
};

/// True if a GPU's sum equals a rule's: the same bits, or both are zeros, or both are NaN.
bool same_sum(float x, float y);

/// A check with nothing compared yet.
ProductsCheck no_products_yet(const ProductKind& kind);
/// Compares the GPU's sums for further questions of this kind with every rule, on all threads. Throws Stopped, and
/// std::runtime_error if the numbers of answers and questions differ.
void compare(ProductsCheck& check, const ProductQuestions& questions, std::span<const float> answers, const StopSign& stop);

}  // namespace attoscope
