// `attoscope kv`: errors of every head for every storage of K and V equal those of `run`.

#include <nlohmann/json.hpp>
#include <random>

#include "app/files/paths.h"
#include "app/files/zip.h"
#include "kernels/questions/kv_cache.h"
#include "tests/app/outcome.h"
#include "tests/support/matchers.h"
#include "tests/tensors/tensor_files.h"

namespace attoscope::testing::kv_command_test {
namespace {

using nlohmann::json;

/// The error that `run` computes for a head with K and V in this storage.
json error_of_run(const std::string& file, const json& row, const std::string& storage) {
  const std::string head = file + ":" + std::to_string(row.at("head").get<int>());
  const json run = json_of(
      {"run", "--input", head, "--mask", "causal", "--exponential", "exp2", "--store-k", storage, "--store-v", storage});
  return run.at("a").at("rel_rms");
}

class KvCommand : public ScratchTest {};

/// Three heads; channel 3 of head 1's K is forty times as large as the others.
std::string three_heads(const TemporaryDirectory& scratch) {
  std::mt19937 dice(1);
  std::normal_distribution<float> draw;
  std::vector<ZipMember> members;
  for (const char* const part : {"q", "k", "v"}) {
    std::vector<float> values(3 * 48 * 16);
    for (std::size_t i = 0; i < values.size(); ++i)
      values[i] = draw(dice) * (*part == 'k' && i / (48 * 16) == 1 && i % 16 == 3 ? 40.0F : 1.0F);
    members.push_back({std::string(part) + ".npy", npy_of("(3, 48, 16)", values)});
  }
  return scratch.write("x.npz", zip_bytes(members));
}

TEST_F(KvCommand, EveryHeadIsAsRunAnswersIt) {
  const std::string file = three_heads(scratch_);
  const json kv = json_of({"kv", file, "--mask", "causal"});
  EXPECT_EQ(kv.at("schema"), "attoscope.kv/1");
  ASSERT_EQ(kv.at("heads").size(), 3u);
  for (const json& row : kv.at("heads"))
    for (const auto& [key, storage] :
         std::vector<std::pair<std::string, std::string>>{{"bf16", "off"},
                                                          {"fp8_head", "e4m3/head/to:main"},
                                                          {"fp8_token", "e4m3/token/to:main"},
                                                          {"int8", "int8/token/to:main"},
                                                          {"nvfp4", "e2m1/columns:16/nvfp4/to:main"}})
      EXPECT_EQ(row.at(key), error_of_run(file, row, storage)) << row << ", " << key;
}

/// The table takes the largest magnitude from the file, granularity `tensor` takes it after a's input step: both are equal if
/// all numbers of the file are bf16.
TEST_F(KvCommand, OneScaleForAllHeadsIsTheGranularityTensor) {
  const std::string file = assets_directory() + "/examples/grouped.safetensors";
  const json kv = json_of({"kv", file, "--mask", "causal"});
  ASSERT_EQ(kv.at("heads").size(), 8u);
  for (const json& row : kv.at("heads"))
    EXPECT_EQ(row.at("fp8_tensor"), error_of_run(file, row, "e4m3/tensor/ratio/to:main")) << row;
}

TEST_F(KvCommand, HeadThatNeedsItsOwnScaleComesFirst) {
  const std::string file = three_heads(scratch_);
  const json kv = json_of({"kv", file, "--sort", "int8"});
  EXPECT_EQ(kv.at("heads")[0].at("head"), 1);
  // one scale for all heads raises the errors of the other heads, too
  for (const json& row : kv.at("heads")) {
    EXPECT_LT(row.at("bf16").get<double>(), row.at("fp8_head").get<double>());
    EXPECT_GE(row.at("fp8_tensor").get<double>(), 0.8 * row.at("fp8_head").get<double>());
    EXPECT_GT(row.at("int4").get<double>(), row.at("int8").get<double>());
  }
  const Outcome table = attoscope({"kv", file, "--top", "1"});
  EXPECT_THAT(table.out, HasSubstr("1 of 3 heads, worst first by fp8_tensor."));
  const Outcome csv = attoscope({"kv", file, "--csv", "-"});
  EXPECT_EQ(csv.out.substr(0, csv.out.find('\n')), "head,name,layer,bf16,fp8_tensor,fp8_head,fp8_token,int8,int4,nvfp4");
}

TEST_F(KvCommand, RefusesInASentence) {
  EXPECT_THAT(attoscope({"kv", three_heads(scratch_), "--sort", "fp7"}).err, HasSubstr("--sort is 'fp7', expected bf16, "));
  EXPECT_THAT(attoscope({"kv", "normal"}).err, HasSubstr("expected"));
}

}  // namespace
}  // namespace attoscope::testing::kv_command_test
