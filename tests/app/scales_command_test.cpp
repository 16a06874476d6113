// Scales on the command line: the same results as for a file with the products, and verdicts on tensors of eight bits.

#include <cmath>
#include <nlohmann/json.hpp>
#include <random>
#include <vector>

#include "kernels/arithmetic/format.h"
#include "tests/app/outcome.h"
#include "tests/support/matchers.h"
#include "tests/tensors/tensor_files.h"

namespace attoscope::testing::scales_command_test {
namespace {

using nlohmann::json;

constexpr int heads = 2, n = 64, d = 16, count = heads * n * d;
const std::string shape = "[2,64,16]";

/// The same call twice: K and V in eight bits with scales, and K and V multiplied by the scales in double.
struct Call {
  TemporaryDirectory scratch;
  std::string stored, products, k_scale, v_scale;
  Call();
};

Call::Call() {
  std::mt19937 dice(7);
  std::normal_distribution<float> draw;
  std::vector<float> q, of_k, of_v;
  for (int i = 0; i < count; ++i) q.push_back(static_cast<float>(round(bf16, draw(dice))));
  for (int i = 0; i < heads * n; ++i) of_k.push_back(0.02F + 0.001F * static_cast<float>(i % 7));
  for (int i = 0; i < heads; ++i) of_v.push_back(0.03F / static_cast<float>(i + 1));
  std::string k, v;
  std::vector<double> wide_k, wide_v;
  for (int i = 0; i < count; ++i) {
    k += static_cast<char>(static_cast<int>(40 * draw(dice)) % 127),
        v += static_cast<char>(static_cast<int>(40 * draw(dice)) % 127);
    wide_k.push_back(static_cast<signed char>(k.back()) * static_cast<double>(of_k[static_cast<std::size_t>(i / d)]));
    wide_v.push_back(static_cast<signed char>(v.back()) * static_cast<double>(of_v[static_cast<std::size_t>(i / (n * d))]));
  }
  const auto file = [&](const char* name, const char* type, const std::string& k_bytes, const std::string& v_bytes) {
    return scratch.write(name,
                         safetensors({{"q", "F32", shape, raw(q)}, {"k", type, shape, k_bytes}, {"v", type, shape, v_bytes}}));
  };
  stored = file("stored.safetensors", "I8", k, v);
  products = file("products.safetensors", "F64", raw(wide_k), raw(wide_v));
  k_scale = scratch.write("k_scale.npy", npy_of("(2, 64)", of_k));
  v_scale = scratch.write("v.safetensors", safetensors({{"v_scale", "F32", "[2]", raw(of_v)}}));
}

TEST(ScaleOptions, RunAnswersAsForTheProducts) {
  const Call call;
  const auto run = [](const std::string& input, const std::vector<std::string>& more) {
    return json_of(with({"run", "--input", input, "--mask", "causal", "--format", "fp64"}, more));
  };
  const json wide = run(call.products + ":1", {}),
             scaled = run(call.stored + ":1", {"--scale-k", call.k_scale, "--scale-v", call.v_scale + ":v_scale"}),
             written = run(call.stored + ",k_scale=" + call.k_scale + ",v_scale=" + call.v_scale + ":1", {}),
             plain = run(call.stored + ":1", {});
  EXPECT_EQ(scaled["digests"], wide["digests"]);
  EXPECT_EQ(written["digests"], wide["digests"]);
  EXPECT_NE(plain["digests"], wide["digests"]);
}

TEST(ScaleOptions, AllHeadsToo) {
  const Call call;
  const std::vector<std::string> scales{"--scale-k", call.k_scale, "--scale-v", call.v_scale};
  for (const char* const command : {"heads", "kv"}) {
    const std::vector<std::string> scaled = with({command, call.stored}, scales);
    EXPECT_EQ(json_of(scaled)["heads"], json_of({command, call.products})["heads"]) << command;
    EXPECT_THAT(attoscope(scaled).out, HasSubstr("scales: k per token, v per head.")) << command;
  }
}

/// A correct output for the first head.
std::vector<double> output_of(const Call& call) {
  succeed({"run", "--input", call.products + ":0", "--mask", "causal", "--save", call.scratch / "out"});
  return last_numbers<double>(call.scratch / "out/a.npy", n * d);
}

/// Runs `judge` on the first head of the stored call with the output `o`.
Outcome judged(const Call& call, const std::string& o, const std::vector<std::string>& more) {
  std::vector<std::string> all{"judge", "--mask", "causal", "--json", "-"};
  for (const std::string part : {"q", "k", "v"}) all.insert(all.end(), {"--" + part, call.stored + ":" + part});
  all.insert(all.end(), {"--o", o, "--head", "0"});
  return attoscope(with(all, more));
}

/// Writes an output of two heads, both with the bytes `head`.
std::string output_file(const Call& call, const std::string& type, const std::string& head) {
  return call.scratch.write("o.safetensors", safetensors({{"o", type, shape, head + head}}));
}

TEST(ScaleOptions, JudgeSeesTheProducts) {
  const Call call;
  const std::string o = output_file(call, "F64", raw(output_of(call)));
  const std::vector<std::string> scales{"--scale-k", call.k_scale, "--scale-v", call.v_scale};
  const Outcome with = judged(call, o, scales);
  ASSERT_EQ(with.code, 0) << with.err << with.out;
  EXPECT_THAT(json::parse(with.out)["command"].get<std::string>(),
              AllOf(HasSubstr("--scale-k " + call.k_scale), HasSubstr("--scale-v " + call.v_scale)));
  EXPECT_EQ(judged(call, o, {}).code, 3) << "without scales";
  EXPECT_EQ(judged(call, o, {"--scale-k", call.k_scale}).code, 3) << "without the scale of V";
}

/// The e4m3 code nearest to x.
char nearest_code(double x, const std::vector<double>& e4m3_numbers) {
  const auto distance = [&](double y) { return std::abs(y - std::abs(x)); };
  const auto found = std::ranges::min_element(e4m3_numbers, {}, distance);
  return static_cast<char>((found - e4m3_numbers.begin()) | (x < 0 ? 128 : 0));
}

std::vector<double> e4m3_numbers() {
  std::vector<double> numbers;
  for (int code = 0; code < 127; ++code)
    numbers.push_back(code < 8 ? std::ldexp(code, -9) : std::ldexp(8 + code % 8, code / 8 - 10));
  return numbers;
}

/// Kernels that round P to e4m3, lifted by 2^8 or not, beside Q, K and V in e4m3 with scales: their outputs are rounded. In
/// tiles that no known kernel has they are wrong, and the verdict says which option accepts them.
TEST(ScaleOptions, JudgeKnowsPOfEightBitsOrProposesItsFormat) {
  const TemporaryDirectory scratch;
  const std::vector<double> numbers = e4m3_numbers();
  std::mt19937 dice(5);
  std::normal_distribution<float> draw;
  std::vector<FileTensor> stored, products;
  for (const char* const name : {"q", "k", "v"}) {
    std::string codes;
    std::vector<double> wide;
    for (int i = 0; i < count; ++i) {
      codes += nearest_code(0.5 * draw(dice), numbers);
      wide.push_back(((codes.back() & 128) != 0 ? -2 : 2) * numbers[static_cast<std::size_t>(codes.back() & 127)]);
    }
    stored.push_back({name, "F8_E4M3", shape, codes});
    stored.push_back({std::string(name) + "_descale", "F32", "[1]", raw(std::vector<float>{2})});
    products.push_back({name, "F64", shape, raw(wide)});
  }
  const std::string call = scratch.write("call.safetensors", safetensors(stored)),
                    input = scratch.write("products.safetensors", safetensors(products));
  const auto judged_with = [&](const std::string& lift, const std::string& tile, const std::vector<std::string>& more = {}) {
    std::vector<double> o;
    for (const char* const head : {":0", ":1"}) {
      succeed({"run", "--input", input + head, "--mask", "causal", "--like", "fa3_fp8_h100", "--set", "a.p_exponent=" + lift,
               "--set", "a.block_k=" + tile, "--save", scratch / "out"});
      const std::vector<double> one = last_numbers<double>(scratch / "out/a.npy", n * d);
      o.insert(o.end(), one.begin(), one.end());
    }
    const std::string output = scratch.write("o.npy", npy_of("(2, 64, 16)", o));
    return attoscope(with({"judge", "--input", call, "--o", output, "--mask", "causal", "--json", "-"}, more));
  };
  for (const char* const lift : {"8", "0"}) {
    const Outcome known = judged_with(lift, "32");
    EXPECT_EQ(known.code, 0) << known.out;
    EXPECT_THAT(json::parse(known.out)["sentences"][0].get<std::string>(), HasSubstr("if its P is rounded to e4m3"));
  }
  const Outcome lifted = judged_with("8", "8"), plain = judged_with("0", "16");
  EXPECT_EQ(lifted.code, 3);
  EXPECT_THAT(json::parse(lifted.out)["sentences"][2].get<std::string>(), HasSubstr("say so by --format e4m3; that hides"));
  EXPECT_EQ(plain.code, 3);
  EXPECT_THAT(json::parse(plain.out)["sentences"][0].get<std::string>(), HasSubstr("P is rounded to e4m3 before P.V"));
  EXPECT_THAT(json::parse(plain.out)["sentences"][2].get<std::string>(), HasSubstr("If it is meant: --format e4m3."));
  EXPECT_EQ(judged_with("8", "8", {"--format", "e4m3"}).code, 0);
}

TEST(ScaleOptions, JudgeKnowsHowFarApartNumbersOfAnOutputWithScalesAre) {
  const Call call;
  const std::vector<double> o = output_of(call), numbers = e4m3_numbers();
  std::vector<float> scales;
  std::string whole, floats;
  for (int row = 0; row < n; ++row) {
    double most = 0;
    for (int c = 0; c < d; ++c) most = std::max(most, std::abs(o[static_cast<std::size_t>(row * d + c)]));
    scales.push_back(static_cast<float>(most / 127));
    for (int c = 0; c < d; ++c) {
      const double x = o[static_cast<std::size_t>(row * d + c)] / static_cast<double>(scales.back());
      whole += static_cast<char>(static_cast<int>(std::nearbyint(x)));
      floats += nearest_code(x, numbers);
    }
  }
  std::vector<float> both = scales, larger;
  both.insert(both.end(), scales.begin(), scales.end());
  for (const float x : both) larger.push_back(1.1F * x);
  const std::string right = call.scratch.write("o_scale.npy", npy_of("(2, 64)", both)),
                    wrong = call.scratch.write("wrong.npy", npy_of("(2, 64)", larger));
  for (const auto& [type, bytes, text] :
       {std::tuple{"I8", whole, "int8 with a scale"}, {"F8_E4M3", floats, "e4m3 with a scale"}}) {
    const std::string file = output_file(call, type, bytes);
    const auto verdict = [&](const std::string& scale) {
      return judged(call, file, {"--scale-k", call.k_scale, "--scale-v", call.v_scale, "--scale-o", scale, "--format", "bf16"});
    };
    const Outcome good = verdict(right);
    EXPECT_EQ(good.code, 0) << type << good.err << good.out;
    EXPECT_EQ(json::parse(good.out)["stored"], text);
    EXPECT_EQ(verdict(wrong).code, 3) << type << ", a tenth too large";
  }
}

TEST(ScaleOptions, AreRefusedInASentence) {
  const Call call;
  expect_refused({"run", "--input", "normal", "--scale-k", call.k_scale}, 2,
                 "--scale-k was not expected: the input is 'normal', not files of tensors");
  expect_refused({"run", "--scale-v", call.k_scale}, 2, "--scale-v was not expected without --input");
  expect_refused({"run", "--input", call.stored, "--scale-q", "s.txt"}, 2, "--scale-q: scale 's.txt' is not understood");
  expect_refused({"kv", call.stored, "--scale-k", call.scratch / "none.npy"}, 1, "none.npy: cannot be opened");
  expect_refused({"judge", "--input", call.stored, "--o", call.stored + ":q", "--scale-o", "x"}, 2,
                 "--scale-o: scale 'x' is not understood");
  expect_refused(
      {"judge", "--input", call.stored, "--o", call.stored + ":q", "--scale-k", call.k_scale, "--json", call.k_scale}, 2,
      "--json writes this file, too");
}

}  // namespace
}  // namespace attoscope::testing::scales_command_test
