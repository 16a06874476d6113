/// Which of the written rules of tensor cores gives the sums that a GPU gave.
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

/// A rule, and the GPUs whose rule it is.
struct ProductRule {
  std::vector<TensorCore> gpus;
  TensorCoreRule rule;
  bool as_fp16 = false;  ///< the rule is for fp16, of which factors of 8 bits are made first: see `product_sum`
};
/// "h100 and h200", "h100 as fp16".
std::string name(const ProductRule& rule);

/// a . b + c by the rule, as many products as instructions take. As fp16: of the 32 products of an instruction those whose
/// place is 0 or 1 modulo 4 are added up from 0, the others on top of them, and the result is added to c in fp32, to nearest
/// even. So does the code that ptxas makes of mma.sync of 8 bits for GPUs that have no such instruction (9.0, 10.0).
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

/// How many sums a rule gives.
struct RuleAgreement {
  ProductRule rule;
  std::int64_t agree = 0;
  CaseCounts agree_of{};                   ///< the same of each case
  std::optional<ProductDifference> first;  ///< which it does not give; none: it gives all
};

/// What is known of a GPU's sums of one kind.
struct ProductsCheck {
  ProductKind kind;
  std::string left_out{};  ///< why nothing was compared: one sentence; empty: it was
  std::int64_t count = 0;  ///< sums compared
  CaseCounts count_of{};
  std::vector<RuleAgreement> rules{};  ///< every one, as `product_rules` lists them

  /// The rules that give every sum; empty where none does.
  std::vector<const RuleAgreement*> fitting() const;
  /// The first of those that give most sums; null where nothing was compared.
  const RuleAgreement* best() const;
};

/// Whether a GPU's sum is a rule's: the same bits, where zeros of both signs count as one, and so does every NaN.
bool same_sum(float x, float y);

/// Nothing compared yet.
ProductsCheck no_products_yet(const ProductKind& kind);
/// Compares the answers to further questions of this kind with every rule, on all threads. Throws Stopped; std::runtime_error
/// where there are not as many answers as questions.
void compare(ProductsCheck& check, const ProductQuestions& questions, std::span<const float> answers, const StopSign& stop);

}  // namespace attoscope
