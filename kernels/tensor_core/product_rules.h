/// Search for the written rules of tensor cores that give a GPU's sums.
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
  bool as_fp16 = false;  ///< the rule is for fp16, to which factors of 8 bits are converted first: see `product_sum`
};
/// "h100 and h200", "h100 as fp16".
std::string name(const ProductRule& rule);

/// a . b + c by the rule, as many products as instructions take. As fp16: of the 32 products of an instruction those whose
/// place is 0 or 1 modulo 4 are added up from 0, the others on top of them, and the result is added to c in fp32, to nearest
/// even. The code that ptxas makes of mma.sync of 8 bits for GPUs without such an instruction (9.0, 10.0) does the same.
float product_sum(const ProductRule& rule, std::span<const float> a, std::span<const float> b, float c);

/// Every rule for such products, each once, in the order of `TensorCore`; of factors of 8 bits also those as fp16.
std::vector<ProductRule> product_rules(const ProductKind& kind);

/// A sum that a rule does not give.
struct ProductDifference {
  std::int64_t sum = 0;  ///< its number among those of its kind
  ProductCase of = ProductCase::random;
  std::vector<float> a, b;
  float c = 0, expected = 0, got = 0;
};

using CaseCounts = std::array<std::int64_t, product_case_names.size()>;

/// Number of sums that a rule gives.
struct RuleAgreement {
  ProductRule rule;
  std::int64_t agree = 0;
  CaseCounts agree_of{};                   ///< the same of each case
  std::optional<ProductDifference> first;  ///< the first sum that it does not give; none: it gives all
};

/// Comparison of a GPU's sums of one kind with the rules.
struct ProductsCheck {
  ProductKind kind;
  std::string left_out{};  ///< one sentence that says why nothing was compared; empty: it was
  std::int64_t count = 0;  ///< sums compared
  CaseCounts count_of{};
  std::vector<RuleAgreement> rules{};  ///< every one, as `product_rules` lists them

  /// The rules that give every sum; empty if none does.
  std::vector<const RuleAgreement*> fitting() const;
  /// The first of the rules that give most sums; null if nothing was compared.
  const RuleAgreement* best() const;
};

/// True if a GPU's sum is a rule's: the same bits, with zeros of both signs as one, and every NaN as one.
bool same_sum(float x, float y);

/// A check with nothing compared yet.
ProductsCheck no_products_yet(const ProductKind& kind);
/// Compares the answers to further questions of this kind with every rule, on all threads. Throws Stopped; std::runtime_error
/// if there are not as many answers as questions.
void compare(ProductsCheck& check, const ProductQuestions& questions, std::span<const float> answers, const StopSign& stop);

}  // namespace attoscope
