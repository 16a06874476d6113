#include "kernels/tensor_core/product_rules.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <stdexcept>

#include "kernels/arithmetic/block_sum.h"
#include "kernels/arithmetic/quoted.h"
#include "kernels/arithmetic/tensor_core_sum.h"
#include "kernels/parallel/parallel.h"

namespace attoscope {
namespace {

bool same_way(TensorCoreRule x, const TensorCoreRule& y) {
  x.evidence = y.evidence;
  return x == y;
}

/// Reorders the 32 factors of an instruction: places 0 and 1 modulo 4 first, then the others.
std::array<float, 32> in_halves(std::span<const float> x) {
  std::array<float, 32> y;
  for (int half = 0; half < 2; ++half) {
    const HalfOfPlaces places(0, 32, half);
    for (int i = 0; i < 16; ++i) y[static_cast<std::size_t>(16 * half + i)] = x[static_cast<std::size_t>(places[i])];
  }
  return y;
}

/// Adds the rules of `kind`, each with all GPUs that share it.
void add_rules(std::vector<ProductRule>& rules, const ProductKind& kind, bool as_fp16) {
  for (std::size_t i = 0; i < tensor_core_texts.size(); ++i) {
    const auto gpu = static_cast<TensorCore>(i);
    if (!why_no_tensor_core(gpu, kind.factors, kind.sums).empty()) continue;
    const TensorCoreRule rule = tensor_core_rule(gpu, kind.factors, kind.sums);
    const auto known = std::ranges::find_if(rules, [&](const ProductRule& r) { return same_way(r.rule, rule); });
    if (known != rules.end())
      known->gpus.push_back(gpu);
    else
      rules.push_back({{gpu}, rule, as_fp16});
  }
}

/// The sum by the rule, for each question.
std::vector<float> sums_of(const ProductRule& rule, const ProductQuestions& q, const StopSign& stop) {
  std::vector<float> sums(static_cast<std::size_t>(q.count));
  parallel_for(0, q.tiles(), [&](int tile) {
    stop.check();
    const int end = std::min(q.count, (tile + 1) * ProductQuestions::of_tile);
    for (int i = tile * ProductQuestions::of_tile; i < end; ++i)
      sums[static_cast<std::size_t>(i)] = product_sum(rule, q.a_of(i), q.b_of(i), q.c_of(i));
  });
  return sums;
}

ProductDifference difference(const ProductQuestions& q, int i, std::int64_t before, float expected, float got) {
  const std::span<const float> a = q.a_of(i), b = q.b_of(i);
  return {before + i, q.case_of(i), {a.begin(), a.end()}, {b.begin(), b.end()}, q.c_of(i), expected, got};
}

void compare(RuleAgreement& known, const ProductQuestions& q, std::span<const float> answers, std::int64_t before,
             const StopSign& stop) {
  const std::vector<float> sums = sums_of(known.rule, q, stop);
  for (int i = 0; i < q.count; ++i) {
    const auto at = static_cast<std::size_t>(i);
    if (same_sum(sums[at], answers[at])) {
      ++known.agree;
      ++known.agree_of[static_cast<std::size_t>(q.case_of(i))];
    } else if (!known.first) {
      known.first = difference(q, i, before, sums[at], answers[at]);
    }
  }
}

}  // namespace

std::string name(const ProductRule& rule) {
  return listed(rule.gpus, " and ", [](TensorCore gpu) { return name(gpu); }) + (rule.as_fp16 ? " as fp16" : "");
}

float product_sum(const ProductRule& rule, std::span<const float> a, std::span<const float> b, float c) {
  if (!rule.as_fp16) return tensor_core_dot(rule.rule, a, b, c);
  for (std::size_t at = 0; at < a.size(); at += 32)
    c += tensor_core_dot(rule.rule, in_halves(a.subspan(at, 32)), in_halves(b.subspan(at, 32)), 0);
  return c;
}

std::vector<ProductRule> product_rules(const ProductKind& kind) {
  std::vector<ProductRule> rules;
  add_rules(rules, kind, false);
  if (register_bits(kind.factors) == 8) add_rules(rules, {fp16, kind.sums}, true);
  return rules;
}

std::vector<const RuleAgreement*> ProductsCheck::fitting() const {
  std::vector<const RuleAgreement*> all;
  for (const RuleAgreement& r : rules)
    if (count > 0 && r.agree == count) all.push_back(&r);
  return all;
}

const RuleAgreement* ProductsCheck::best() const {
  return count == 0 ? nullptr : &*std::ranges::max_element(rules, {}, &RuleAgreement::agree);
}

bool same_sum(float x, float y) {
  if (std::isnan(x) || std::isnan(y)) return std::isnan(x) && std::isnan(y);
  return std::bit_cast<std::uint32_t>(x) == std::bit_cast<std::uint32_t>(y) || (x == 0 && y == 0);
}

ProductsCheck no_products_yet(const ProductKind& kind) {
  ProductsCheck check{.kind = kind};
  for (ProductRule& rule : product_rules(kind)) check.rules.push_back({.rule = std::move(rule), .first = {}});
  return check;
}

void compare(ProductsCheck& check, const ProductQuestions& q, std::span<const float> answers, const StopSign& stop) {
  if (answers.size() != static_cast<std::size_t>(q.count))
    throw std::runtime_error("The GPU gave " + std::to_string(answers.size()) + " sums of " + name(check.kind) + ", expected " +
                             std::to_string(q.count) + ".");
  for (RuleAgreement& rule : check.rules) compare(rule, q, answers, check.count, stop);
  for (int i = 0; i < q.count; ++i) ++check.count_of[static_cast<std::size_t>(q.case_of(i))];
  check.count += q.count;
}

}  // namespace attoscope
