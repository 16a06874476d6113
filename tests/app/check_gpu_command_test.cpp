// `attoscope check-gpu`: its output and its files for a stand-in GPU, and its refusals.
#include <bit>
#include <nlohmann/json.hpp>
#include <sstream>

#include "app/commands/commands.h"
#include "kernels/arithmetic/tensor_core_sum.h"
#include "tests/app/outcome.h"
#include "tests/support/matchers.h"
#include "tests/support/temporary_directory.h"

namespace attoscope::testing {
namespace {

using nlohmann::json;

/// A stand-in H100: in sum number `wrong` of every kind the last bit differs; negative: all sums are right.
CheckedGpu h100(int wrong = -1) {
  return {
      .info = {0, "NVIDIA Test", 9, 0, 0},
      .digests = [](const Experiment& e, const Options& options) { return compute(e, options).digests; },
      .products =
          [wrong](const ProductQuestions& q) {
            std::vector<float> sums;
            const TensorCoreRule rule = tensor_core_rule(TensorCore::h100, q.kind.factors, q.kind.sums);
            for (int i = 0; i < q.count; ++i) {
              const float sum = tensor_core_dot(rule, q.a_of(i), q.b_of(i), q.c_of(i));
              sums.push_back(q.steps == 1 && i == wrong ? std::bit_cast<float>(std::bit_cast<std::uint32_t>(sum) ^ 1U) : sum);
            }
            return sums;
          }};
}

struct Told {
  bool fine = false;
  std::string out;
};
Told told(const CheckedGpu& gpu, const CheckGpuArguments& x) {
  std::ostringstream out;
  const bool fine = check_gpu(x, gpu, {out, out});
  return {fine, out.str()};
}

TEST(CheckGpu, TellsEveryFormatAndTheSentence) {
  const Told t = told(h100(), {.count = "600", .formats = {}, .json = ""});
  EXPECT_TRUE(t.fine);
  EXPECT_EQ(t.out,
            "NVIDIA Test, compute capability 9.0\n"
            "digests: 40 of 40 experiments have the CPU's bits\n"
            "fp16: adds as h100, h200, b200 and rtx50: 600 of 600\n"
            "fp16:f16: adds as h100, h200, b200 and rtx50: 600 of 600\n"
            "bf16: adds as h100, h200, b200 and rtx50: 600 of 600\n"
            "tf32: adds as h100, h200, b200 and rtx50: 600 of 600\n"
            "e4m3: adds as h100 and h200: 600 of 600\n"
            "e5m2: adds as h100 and h200: 600 of 600\n"
            "This GPU adds as h100 and h200: 600 of 600 products of each of fp16, fp16:f16, bf16, tf32, e4m3 and e5m2.\n");
}

TEST(CheckGpu, WritesWhatCanBeSentIn) {
  const TemporaryDirectory scratch;
  const std::string file = scratch / "gpu.json";
  EXPECT_FALSE(told(h100(3), {.count = "600", .seed = "7", .formats = "bf16", .json = file}).fine);
  const json found = json::parse(bytes_of_file(file));
  expect_holds(found, R"({"schema": "attoscope.gpu_check/1", "gpu": {"name": "NVIDIA Test", "compute_capability": "9.0"},
                          "count": 600, "seed": 7, "as_written": false})");
  EXPECT_EQ(found.at("digests").at("agree"), found.at("digests").at("count"));
  ASSERT_EQ(found.at("products").size(), 1U);
  const json& bf = found.at("products")[0];
  expect_holds(bf, R"({"format": "bf16", "result": "f32", "count": 600, "fits": false,
                       "first_difference": {"sum": 3, "case": "random"}})");
  const json& rule = bf.at("rules").back();
  EXPECT_EQ(rule.at("gpus"), (json{"h100", "h200", "b200", "rtx50"}));
  expect_holds(rule, R"({"agree": 599, "rule": {"block": 16}})");
  EXPECT_EQ(rule.at("cases").at("random").at("agree"), rule.at("cases").at("random").at("count").get<int>() - 1);
  const json& first = bf.at("first_difference");
  EXPECT_EQ(first.at("a").size(), 16U);
  const auto bits = [&](const char* key) { return std::stoul(first.at(key).get<std::string>(), nullptr, 16); };
  EXPECT_EQ(bits("expected") ^ bits("got"), 1U);
}

TEST(CheckGpu, JsonAloneOnStandardOutput) {
  const Told t = told(h100(), {.count = "200", .formats = "e4m3,fp16:f16", .json = "-"});
  EXPECT_TRUE(t.fine);
  expect_holds(json::parse(t.out),
               R"({"as_written": true, "products": [{"format": "e4m3"}, {"result": "f16", "first_difference": null}]})");
}

TEST(CheckGpu, AFailureWritesNoFile) {
  const TemporaryDirectory scratch;
  CheckedGpu gpu = h100();
  gpu.products = [](const ProductQuestions&) -> std::vector<float> { throw DeviceFailure("The GPU was lost."); };
  EXPECT_THROW(told(gpu, {.count = "200", .formats = {}, .json = scratch / "gpu.json"}), DeviceFailure);
  EXPECT_EQ(scratch.count(), 0);
}

TEST(CheckGpu, SaysWhyThereIsNoGpu) {
  if (!cuda_devices().empty()) GTEST_SKIP() << "this machine has a GPU";
  expect_refused({"check-gpu"}, 1, why_no_cuda());
  expect_refused({"check-gpu", "--device", "cuda:3", "--json", "-"}, 1, why_no_cuda());
}

TEST(CheckGpu, RefusesWhatItDoesNotTake) {
  for (const char* const device : {"cpu", "auto", "cuda:0,cuda:1"})
    expect_refused({"check-gpu", "--device", device}, 2, "expected cuda or cuda:K");
  expect_refused({"check-gpu", "--device", "gpu"}, 2, "--device is 'gpu', expected");
  expect_refused({"check-gpu", "--count", "0"}, 2, "--count is '0', expected a whole number from 1 to 1000000");
  expect_refused({"check-gpu", "--count", "many"}, 2, "--count is 'many'");
  expect_refused({"check-gpu", "--seed", "-1"}, 2, "--seed is '-1'");
  expect_refused({"check-gpu", "--formats", "fp8"}, 2,
                 "--formats: format 'fp8' is unknown: expected fp16, fp16:f16, bf16, tf32, e4m3 or e5m2");
}

}  // namespace
}  // namespace attoscope::testing
