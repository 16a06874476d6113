#include "app/session/gpu_check_json.h"

#include <fmt/format.h>

#include <bit>
#include <nlohmann/json.hpp>
#include <vector>

#include "app/session/result_json.h"
#include "kernels/questions/gpu_check.h"

namespace attoscope {
namespace {

std::string hex_of(float x) { return fmt::format("0x{:08x}", std::bit_cast<std::uint32_t>(x)); }

Json hex_of(const std::vector<float>& x) {
  Json list = Json::array();
  for (const float number : x) list.push_back(hex_of(number));
  return list;
}

Json difference_json(const RuleAgreement& rule) {
  if (!rule.first) return nullptr;
  const ProductDifference& d = *rule.first;
  return {{"rule", name(rule.rule)},
          {"sum", d.sum},
          {"case", name(d.of)},
          {"a", hex_of(d.a)},
          {"b", hex_of(d.b)},
          {"c", hex_of(d.c)},
          {"expected", hex_of(d.expected)},
          {"got", hex_of(d.got)}};
}

/// Every tested case, and the number of its sums that the rule gives.
Json cases_json(const CaseCounts& agree, const CaseCounts& count) {
  Json cases = Json::object();
  for (std::size_t i = 0; i < count.size(); ++i)
    if (count[i] > 0) cases[std::string(product_case_names[i])] = {{"agree", agree[i]}, {"count", count[i]}};
  return cases;
}

Json rule_json(const RuleAgreement& r, const CaseCounts& count) {
  Json gpus = Json::array();
  for (const TensorCore gpu : r.rule.gpus) gpus.push_back(name(gpu));
  return {{"gpus", std::move(gpus)},
          {"as_fp16", r.rule.as_fp16},
          {"rule", tensor_core_rule_json(r.rule.rule)},
          {"agree", r.agree},
          {"cases", cases_json(r.agree_of, count)}};
}

Json kind_json(const ProductsCheck& k) {
  Json json{{"format", name(k.kind.factors)}, {"result", sum_type_names[static_cast<std::size_t>(k.kind.sums)]}};
  if (!k.left_out.empty()) {
    json["left_out"] = k.left_out;
    return json;
  }
  json["count"] = k.count;
  json["fits"] = !k.fitting().empty();
  Json rules = Json::array();
  for (const RuleAgreement& r : k.rules) rules.push_back(rule_json(r, k.count_of));
  json["rules"] = std::move(rules);
  json["first_difference"] = k.best() == nullptr ? Json(nullptr) : difference_json(*k.best());
  return json;
}

}  // namespace

Json gpu_check_json(const GpuCheck& check, int cuda) {
  Json kinds = Json::array();
  for (const ProductsCheck& k : check.kinds) kinds.push_back(kind_json(k));
  Json digests{{"count", check.digests.count}, {"agree", check.digests.agree}};
  if (!check.digests.first.empty()) digests["first_difference"] = check.digests.first;
  return {{"schema", "attoscope.gpu_check/1"},
          {"version", ATTOSCOPE_VERSION},
          {"gpu",
           {{"name", check.gpu.name},
            {"compute_capability", fmt::format("{}.{}", check.gpu.major, check.gpu.minor)},
            {"cuda_of_driver", fmt::format("{}.{}", cuda / 1000, cuda % 1000 / 10)}}},
          {"count", check.question.count},
          {"seed", check.question.seed},
          {"as_written", check.as_written()},
          {"sentence", gpu_check_sentence(check)},
          {"digests", std::move(digests)},
          {"products", std::move(kinds)}};
}

std::string gpu_text(const GpuCheck& check) {
  return fmt::format("{}, compute capability {}.{}", check.gpu.name, check.gpu.major, check.gpu.minor);
}

}  // namespace attoscope
