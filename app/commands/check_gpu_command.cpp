
#include <fmt/format.h>

#include <bit>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "app/commands/commands.h"
#include "app/json/json.h"
#include "app/session/result_json.h"
#include "app/words/devices.h"
#include "app/words/field_setter.h"
#include "kernels/gpu/device.h"
#include "kernels/questions/gpu_check.h"

namespace attoscope::app {
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

/// For each tested case the number of its sums, and the number of sums that agree with the rule.
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
  Json json{{"format", name(k.kind.factors)}, {"result", sum_type_names[k.kind.sums]}};
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

/// `attoscope.gpu_check/1`: the GPU, the test, digests, and for each kind of products the number of sums that agree with each
/// rule, with the first sum that the nearest rule misses, in bits of fp32. `cuda`: version that the driver supports. Contains
/// no user data.
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

/// "NVIDIA H200, compute capability 9.0".
std::string gpu_text(const GpuCheck& check) {
  return fmt::format("{}, compute capability {}.{}", check.gpu.name, check.gpu.major, check.gpu.minor);
}

std::vector<ProductKind> kinds_of(const Typed& typed) {
  if (!typed) return {product_kinds.begin(), product_kinds.end()};
  std::vector<ProductKind> kinds;
  for (const std::string& word : split(*typed))
    kinds.push_back(of_option("--formats", [&] { return parse_product_kind(word); }));
  return kinds;
}

GpuCheckQuestion question_of(const CheckGpuArguments& x) {
  return {.device = x.device,
          .count = whole_number("--count", x.count, 1, most_products),
          .seed = whole_number<std::uint64_t>("--seed", x.seed, 0, ~std::uint64_t{0}),
          .kinds = kinds_of(x.formats)};
}

/// Throws std::invalid_argument unless `device` names one GPU, and it exists.
void check_one_gpu(const std::string& device) {
  if (device == "auto" || device == "cpu" || device.find(',') != std::string::npos)
    refuse("--device", device, "cuda or cuda:K");
  check_device("--device", device);
}

GpuCheck answer(const GpuCheckQuestion& question, const CheckedGpu& gpu, const Streams& streams, bool told) {
  ProgressLine line(streams.terminal);
  const auto tell = [&](const GpuCheck& so_far) {
    if (!told) return;
    line.clear();
    if (so_far.kinds.empty()) streams.out << gpu_text(so_far) << '\n';
    streams.out << (so_far.kinds.empty() ? digests_line(so_far.digests) : products_line(so_far.kinds.back())) << std::endl;
  };
  return unless_stopped("stopped before the check was over; no file was written", [&](const Cancelled& cancelled) {
    const auto doing = [&](const std::string& what) { line.show([&] { return what + " ..."; }); };
    return gpu_check(question, gpu, {.cancelled = cancelled, .doing = doing, .known = tell});
  });
}

void declare(OptionList& c, CheckGpuArguments& x) {
  c.add("--device", x.device, "the GPU: cuda or cuda:K");
  c.group("Products");
  c.add("--count", x.count, "sums of products of each format, 1 to 1000000");
  c.add("--seed", x.seed, "seed of the random numbers");
  std::string known;
  for (const ProductKind& kind : product_kinds) known += (known.empty() ? "" : ", ") + name(kind);
  c.add("--formats", x.formats, "some of " + known + ", with commas between them (all)");
  c.group("Output");
  c.add("--json", x.json, "write everything to this file, to be sent in, - for standard output").quiet();
}

bool check_named_gpu(const CheckGpuArguments& x, const Streams& streams) {
  question_of(x);
  check_one_gpu(x.device);
  check_outputs({{"--json", x.json}}, streams.files);
  prepare_gpus(x.device, streams);
  return check_gpu(x, checked_gpu(x.device), streams);
}

}  // namespace

bool check_gpu(const CheckGpuArguments& x, const CheckedGpu& gpu, const Streams& streams) {
  const GpuCheckQuestion question = question_of(x);
  check_outputs({{"--json", x.json}}, streams.files);
  const GpuCheck check = answer(question, gpu, streams, x.json != "-");
  const auto json = [&] { return json_text(gpu_check_json(check, cuda_of_driver())); };
  write_outputs({{x.json, json}}, [&] { return gpu_check_sentence(check) + "\n"; }, streams.out);
  return check.as_written();
}

Command check_gpu_command() {
  return command<CheckGpuArguments>(
      "check-gpu", "Check that your GPU has the CPU's bits, and find the rule of its tensor cores: exit code 3 is a mismatch",
      declare, check_named_gpu);
}

}  // namespace attoscope::app
