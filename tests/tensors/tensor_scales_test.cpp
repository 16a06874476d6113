// Scales in files of tensors of eight bits, and named scales: the products equal those of a plain loop.
#include "app/tensors/tensor_scales.h"

#include <cmath>
#include <filesystem>
#include <functional>
#include <random>
#include <string>
#include <vector>

#include "app/tensors/call_files.h"
#include "app/tensors/call_scales.h"
#include "app/tensors/head_numbers.h"
#include "app/tensors/kernel_output.h"
#include "kernels/experiment/all_heads.h"
#include "kernels/experiment/stop_sign.h"
#include "tests/support/matchers.h"
#include "tests/tensors/saved_dict.h"
#include "tests/tensors/tensor_files.h"

namespace attoscope::tensor_scales_test {
namespace {

using namespace testing;  // attoscope::testing: the files made by hand

/// Scale number i: all differ and use all 24 bits of a float's significand.
float scale_number(int i) { return static_cast<float>(i + 1) / 3.0F; }

FileTensor scale_of(const std::string& name, const std::vector<int>& shape) { return counted(name, shape, scale_number); }

constexpr int heads_of_q = 4, heads_of_k = 2, n = 20, d = 16;

/// The 8-bit integer of an element of a part of the call.
int code(int part, int head, int token, int column) { return (part * 37 + head * 53 + token * 11 + column * 7) % 255 - 127; }

FileTensor tensor_of(const std::string& name, int part, bool tokens_first = false) {
  const int heads = part == 0 || part == 3 ? heads_of_q : heads_of_k;
  const std::vector<int> shape = tokens_first ? std::vector{n, heads, d} : std::vector{heads, n, d};
  std::string bytes;
  for (int i = 0; i < shape[0]; ++i)
    for (int j = 0; j < shape[1]; ++j)
      for (int column = 0; column < d; ++column)
        bytes += static_cast<char>(tokens_first ? code(part, j, i, column) : code(part, i, j, column));
  return {name, "I8", sizes_text(shape), bytes};
}

/// Two layers of four heads of Q over two of K and V, and an output.
std::vector<FileTensor> two_layers(bool tokens_first) {
  std::vector<FileTensor> all;
  constexpr std::array<const char*, 4> letters{"q", "k", "v", "o"};
  for (const char* const layer : {"layers.3.self_attn.", "layers.11.self_attn."})
    for (int part = 0; part < 4; ++part)
      all.push_back(tensor_of(std::string(layer) + letters[static_cast<std::size_t>(part)], part, tokens_first));
  return all;
}

/// A shape of a scale: its name, and the index of the scale for each element.
struct Meaning {
  std::string text;
  std::vector<int> shape;
  std::function<int(int head, int token, int column)> place;
};

/// Scales of every kind for a tensor of `heads` heads.
std::vector<Meaning> meanings(int heads) {
  return {
      {"per tensor", {1}, [](int, int, int) { return 0; }},
      {"per tensor", {}, [](int, int, int) { return 0; }},
      {"per head", {heads}, [](int h, int, int) { return h; }},
      {"per head", {1, heads, 1, 1}, [](int h, int, int) { return h; }},
      {"per token", {n}, [](int, int t, int) { return t; }},
      {"per token", {heads, n}, [](int h, int t, int) { return h * n + t; }},
      {"per token", {1, heads, n, 1}, [](int h, int t, int) { return h * n + t; }},
      {"per token", {n, heads}, [heads](int h, int t, int) { return t * heads + h; }},
      {"per token", {1, n, heads, 1}, [heads](int h, int t, int) { return t * heads + h; }},
      {"per channel", {d}, [](int, int, int c) { return c; }},
      {"per channel", {heads, d}, [](int h, int, int c) { return h * d + c; }},
      {"per channel", {heads, 1, d}, [](int h, int, int c) { return h * d + c; }},
      {"per block of 4 tokens", {heads, 5}, [](int h, int t, int) { return h * 5 + t / 4; }},
      {"per block of 8 tokens", {heads, 3}, [](int h, int t, int) { return h * 3 + t / 8; }},  // the last block is shorter
      {"per block of 8 tokens", {1, heads, 3, 1}, [](int h, int t, int) { return h * 3 + t / 8; }},
      {"per block of 4 tokens", {5, heads}, [heads](int h, int t, int) { return t / 4 * heads + h; }},
      {"per block of 8 tokens", {1, 3, heads, 1}, [heads](int h, int t, int) { return t / 8 * heads + h; }},
      {"per block of 4 columns", {heads, n, 4}, [](int h, int t, int c) { return (h * n + t) * 4 + c / 4; }},
      {"per block of 4 columns", {n, heads, 4}, [heads](int h, int t, int c) { return (t * heads + h) * 4 + c / 4; }},
  };
}

std::vector<double> plain_head(int part, int head) {
  std::vector<double> values;
  for (int t = 0; t < n; ++t)
    for (int c = 0; c < d; ++c) values.push_back(code(part, head, t, c));
  return values;
}

std::vector<double> plain_head(int part, int head, const Meaning& meaning) {
  std::vector<double> values = plain_head(part, head);
  for (int i = 0; i < n * d; ++i)
    values[static_cast<std::size_t>(i)] *= static_cast<double>(scale_number(meaning.place(head, i / d, i % d)));
  return values;
}

/// Expects scaled tensors in layer 11, which has scales of all four parts, and unscaled tensors in layer 3.
void expect_scaled(const CallFiles& files, const Meaning& of_q, const Meaning& of_kv) {
  ASSERT_EQ(files.heads(), 2 * heads_of_q);
  EXPECT_EQ(files.scales_text(files.layers()[0]), "");
  EXPECT_EQ(files.scales_text(files.layers()[1]),
            "q " + of_q.text + ", k " + of_kv.text + ", v " + of_kv.text + ", o " + of_q.text);
  for (int head = 0; head < heads_of_q; ++head) {
    const Tensors plain = files.inputs(head), scaled = files.inputs(heads_of_q + head);
    EXPECT_EQ(plain.k, plain_head(1, head / 2)) << "layer 3 has no scales";
    EXPECT_EQ(scaled.q, plain_head(0, head, of_q)) << head;
    EXPECT_EQ(scaled.k, plain_head(1, head / 2, of_kv)) << head;
    EXPECT_EQ(scaled.v, plain_head(2, head / 2, of_kv)) << head;
    EXPECT_EQ(files.output(heads_of_q + head), plain_head(3, head, of_q)) << head;
    EXPECT_EQ(*read_kernel_output(files.info().file + ":" + std::to_string(heads_of_q + head), {.n = n, .d = d}).values,
              files.output(heads_of_q + head));
  }
}

TEST(TensorScales, EveryGroupMultipliesAsAPlainLoopDoes) {
  const TemporaryDirectory scratch;
  const std::vector<Meaning> of_q = meanings(heads_of_q), of_kv = meanings(heads_of_k);
  for (const bool tokens_first : {false, true})
    for (std::size_t i = 0; i < of_q.size(); ++i) {
      SCOPED_TRACE(of_q[i].text + " " + sizes_text(of_q[i].shape) + (tokens_first ? ", tokens first" : ""));
      std::vector<FileTensor> all = two_layers(tokens_first);
      for (const char* const part : {"q", "o"})
        all.push_back(scale_of("layers.11.self_attn." + std::string(part) + "_scale", of_q[i].shape));
      for (const char* const part : {"k", "v"})
        all.push_back(scale_of("layers.11.self_attn." + std::string(part) + "_scale", of_kv[i].shape));
      expect_scaled(CallFiles(scratch.write("x.safetensors", safetensors(all))), of_q[i], of_kv[i]);
    }
}

/// Writes a call of q, k and v, and `more` tensors.
std::string call_of(const TemporaryDirectory& scratch, const std::vector<FileTensor>& more) {
  std::vector<FileTensor> all{tensor_of("q", 0), tensor_of("k", 1), tensor_of("v", 2)};
  all.insert(all.end(), more.begin(), more.end());
  return scratch.write("x.safetensors", safetensors(all));
}

TEST(TensorScales, BatchesHaveTheirOwnOrShare) {
  const TemporaryDirectory scratch;
  constexpr int batch = 3;
  std::string bytes;
  for (int i = 0; i < batch * heads_of_k * n * d; ++i) bytes += static_cast<char>(i % 100 + 1);
  const auto ratio = [&](const std::vector<int>& shape, int head) {
    const std::vector<FileTensor> all = alike("U8", sizes_text({batch, heads_of_k, n, d}), bytes, {scale_of("k_scale", shape)});
    const Tensors t = CallFiles(scratch.write("x.safetensors", safetensors(all))).inputs(head);
    return t.k[n * d - 1] / t.v[n * d - 1];
  };
  EXPECT_EQ(ratio({batch, heads_of_k}, 5), scale_number(5));
  EXPECT_EQ(ratio({heads_of_k}, 5), scale_number(1));
  EXPECT_EQ(ratio({batch, heads_of_k, n}, 3), scale_number(3 * n + n - 1));
  EXPECT_EQ(ratio({batch, n, heads_of_k}, 3), scale_number((1 * n + n - 1) * heads_of_k + 1));
  EXPECT_EQ(ratio({batch, heads_of_k, 3}, 4), scale_number(4 * 3 + 2));
  EXPECT_EQ(ratio({heads_of_k, n}, 4), scale_number(n - 1));
}

TEST(TensorScales, AScaleOfQMayHaveOneForEachHeadOfK) {
  const TemporaryDirectory scratch;
  const CallFiles files(call_of(scratch, {scale_of("q_descale", {heads_of_k})}));
  for (int head = 0; head < heads_of_q; ++head)
    EXPECT_EQ(files.inputs(head).q, plain_head(0, head, {"", {}, [](int h, int, int) { return h / 2; }}));
}

TEST(TensorScales, TypesOfScales) {
  const TemporaryDirectory scratch;
  const auto first = [&](const std::string& dtype, const std::string& bytes) {
    return CallFiles(call_of(scratch, {{"k_scale", dtype, "[1]", bytes}})).inputs(0).k[0] / code(1, 0, 0, 0);
  };
  EXPECT_EQ(first("F64", raw(std::vector{0.1})), 0.1);
  EXPECT_EQ(first("F32", raw(std::vector{0.75F})), 0.75);
  EXPECT_EQ(first("F16", std::string("\x00\x3e", 2)), 1.5);
  EXPECT_EQ(first("BF16", std::string("\xc0\x3f", 2)), 1.5);
  EXPECT_EQ(first("F8_E4M3", "\x3c"), 1.5);
  EXPECT_EQ(first("F8_E8M0", "\x7c"), 0.125);
}

TEST(TensorScales, FloatsOfEightBitsAreMultipliedInDouble) {
  const TemporaryDirectory scratch;
  std::string codes;
  for (int i = 0; i < 128; ++i) codes += static_cast<char>(i < 126 ? i : 0);
  const std::string file = safetensors(alike("F8_E4M3", "[8,16]", codes, {{"k_scale", "F32", "[1]", raw(std::vector{0.1F})}}));
  const Tensors t = CallFiles(scratch.write("x.safetensors", file)).inputs(0);
  for (std::size_t i = 0; i < t.k.size(); ++i) EXPECT_EQ(t.k[i], t.v[i] * static_cast<double>(0.1F)) << i;
  EXPECT_EQ(t.v[125], 416);
  EXPECT_NE(t.k[125], static_cast<double>(static_cast<float>(t.k[125]))) << "28 bits, more than a float has";
}

TEST(TensorScales, TheLargestOfAllHeadsHasItsScale) {
  const TemporaryDirectory scratch;
  const Input input = CallFiles(call_of(scratch, {scale_of("k_scale", {heads_of_k})})).input(1);
  double most = 0;
  for (int head = 0; head < heads_of_k; ++head)
    for (const double x : plain_head(1, head, meanings(heads_of_k)[2])) most = std::max(most, std::abs(x));
  ASSERT_TRUE(input.tensors->all_heads);
  EXPECT_EQ(input.tensors->all_heads->largest(ScaledTensor::K, {}), most);
  EXPECT_NE(input.digest, CallFiles(call_of(scratch, {})).input(1).digest);
}

// Names.

std::vector<int> found(const std::string& scale, const std::string& tensor, int part, const std::string& shared) {
  return ScaleNames({{tensor}, {scale}, {"unrelated"}}).of(tensor, part, shared);
}

TEST(ScaleNames, AreFoundInTheirPlace) {
  for (const char* const scale : {"k_scale", "key_scale", "k_descale", "k_scales", "_k_scale", "kv_scale", "k_scale_inv",
                                  "K_scale", "kwarg_k_scale", "k_cache_scale", "attn.k_proj.output_scale"})
    EXPECT_THAT(found(scale, "k", 1, "*"), ElementsAre(1)) << scale;
  EXPECT_THAT(found("0_k_scale", "0_k", 1, "0_*"), ElementsAre(1));
  EXPECT_THAT(found("k_proj.out_scale", "k_proj.out", 1, "*_proj.out"), ElementsAre(1));
  EXPECT_THAT(found("layers.7.self_attn.k_scale", "layers.7.self_attn.k_proj.out", 1, "layers.7.self_attn.*_proj.out"),
              ElementsAre(1));
  EXPECT_THAT(found("layers.7.attn.kv_scale", "layers.7.v", 2, "layers.7.*"), ElementsAre(1));
  EXPECT_THAT(found("attn_output_scale", "attn_output", 3, "*"), ElementsAre(1));
  EXPECT_THAT(found("model.layers.7.self_attn.attn.v_scale", "model.layers.7.self_attn.v", 2, "model.layers.7.self_attn.*"),
              ElementsAre(1));
}

TEST(ScaleNames, OthersAreNotTaken) {
  for (const char* const scale : {"v_scale", "layers.7.k_scale", "k_proj.weight_scale", "k_proj.input_scale", "softmax_scale",
                                  "scale", "prob_output_scale", "k", "1_k_scale"})
    EXPECT_THAT(found(scale, "k", 1, "*"), IsEmpty()) << scale;
  EXPECT_THAT(found("kv_scale", "q", 0, "*"), IsEmpty());
}

TEST(ScaleNames, TheNearestNameIsTaken) {
  const ScaleNames names({{"k_proj.out"}, {"kv_scale"}, {"k_scale"}, {"k_proj.out_scale"}});
  EXPECT_THAT(names.of("k_proj.out", 1, "*_proj.out"), ElementsAre(3));
  EXPECT_THAT(names.of("k", 1, "*"), ElementsAre(2));
  EXPECT_THAT(names.of("v", 2, "*"), ElementsAre(1));
  EXPECT_THAT(ScaleNames({{"k_scale"}, {"k_descale"}}).of("k", 1, "*"), ElementsAre(0, 1));
  EXPECT_THAT(ScaleNames({{"scales.k_scale"}}).only(1), ElementsAre(0));
  EXPECT_THAT(ScaleNames({{"1.k_scale"}, {"2.k_scale"}}).only(1), IsEmpty());
}

TEST(ScaleNames, AScaleIsNoPartOfACall) {
  std::vector<TensorName> names;
  for (const char* const part : {"q", "k", "v", "o"})
    for (const char* const behind : {"", "_scale", "_descale", "_scale_inv", "_scales"})
      names.push_back({std::string(part) + behind});
  const CallNames calls = calls_in(names);
  ASSERT_EQ(calls.calls.size(), 1U);
  EXPECT_EQ(names[static_cast<std::size_t>(calls.calls[0].k)].name, "k");
  EXPECT_EQ(names[static_cast<std::size_t>(calls.calls[0].o)].name, "o");
  EXPECT_THAT(calls.outputs, ElementsAre(15));
  EXPECT_THAT(calls_in({{"q_scale"}, {"k_scale"}, {"v_scale"}}).calls, IsEmpty());
}

// Sentences.

std::string refusal_of(const std::string& spec) {
  return sentence_of([&] { CallFiles(spec).inputs(0); });
}

TEST(TensorScales, ScalesThatFitNothingAreRefused) {
  const TemporaryDirectory scratch;
  EXPECT_THAT(
      refusal_of(call_of(scratch, {scale_of("k_scale", {3})})),
      AllOf(HasSubstr("x.safetensors: tensor 'k_scale' has shape [3], expected that of a scale of "),
            HasSubstr("tensor 'k', [2, 20, 16]: [1], [2] (per head), [20] or [2, 20] (per token), [2, 16] (per channel)")));
  EXPECT_THAT(refusal_of(call_of(scratch, {scale_of("v_scale", {2, 20, 16})})),
              HasSubstr("has shape [2, 20, 16], expected that"));
  EXPECT_THAT(refusal_of(call_of(scratch, {scale_of("v_scale", {0})})), HasSubstr("has shape [0], expected that"));
}

TEST(TensorScales, ScalesThatFitTwiceAreAskedFor) {
  const TemporaryDirectory scratch;
  const auto call = [&](const FileTensor& scale) {
    return scratch.write("x.safetensors", safetensors(alike("I8", "[4,4,16]", std::string(256, '\1'), {scale})));
  };
  const std::string either = call(scale_of("k_scale", {4}));
  EXPECT_THAT(refusal_of(either),
              AllOf(HasSubstr("has shape [4], which fits several kinds of scales of "),
                    HasSubstr("[4, 4, 16]: per head, per token; say which"), HasSubstr("k_scale=FILE[head]")));
  EXPECT_THAT(refusal_of(either + "[h n d]"), HasSubstr("say which")) << "the order of heads and tokens does not decide";
  for (const auto& [group, of_second_token] : {std::pair{"head", 1}, {"token", 2}}) {
    const Tensors t = CallFiles(either + ",k_scale=" + either + ":k_scale[" + group + "]").inputs(0);
    EXPECT_EQ(t.k[16], scale_number(of_second_token - 1)) << group;
  }
  const std::string both = call(scale_of("k_scale", {4, 4}));
  EXPECT_THAT(refusal_of(both), HasSubstr("per token, per token of tokens before heads; say which by --layout"));
  EXPECT_EQ(CallFiles(both + "[h n d]").inputs(1).k[0], scale_number(4));
  EXPECT_EQ(CallFiles(both + "[n h d]").inputs(1).k[0], scale_number(1));
  const std::string shown = call(scale_of("k_scale", {4, 1, 1}));
  EXPECT_EQ(CallFiles(shown).scale_texts(), std::vector<std::string>{"k per head"}) << "a size for each dimension decides";
  const std::string batch = scratch.write(
      "batch.safetensors", safetensors(alike("I8", "[2,2,4,16]", std::string(256, '\1'), {scale_of("k_scale", {2, 2})})));
  EXPECT_EQ(CallFiles(batch).scale_texts(), std::vector<std::string>{"k per head"}) << "of a batch, not blocks of tokens";
}

TEST(TensorScales, BlocksOfAUsualSizeOrOfEqualOnes) {
  const auto fits = [](int tokens, int blocks) {
    const StoredTensor scale{.label = "s", .shape = {2, static_cast<std::uint64_t>(blocks)}};
    const ScaledMatrix of{{.label = "t", .shape = {2, 1000, 64}}, {HeadOrder::heads_first, 1, 2, tokens, 7}, 2};
    try {
      return scale_text(stored_scale(scale, of));
    } catch (const std::runtime_error& error) {
      return std::string(error.what());
    }
  };
  EXPECT_EQ(fits(1024, 16), "per block of 64 tokens");
  EXPECT_EQ(fits(1000, 16), "per block of 64 tokens") << "the last block is shorter";
  EXPECT_EQ(fits(1000, 11), "per block of 96 tokens");
  EXPECT_EQ(fits(10, 3), "per block of 4 tokens");
  EXPECT_EQ(fits(7, 5),
            "s has shape [2, 5], expected that of a scale of t, [2, 1000, 64]: [1], [2] (per head), [7] or [2, 7] (per token), "
            "[2, 7] (per channel), [2, blocks], [blocks, 2] or [2, 7, blocks]");
  EXPECT_THAT(fits(1000, 8), HasSubstr("per block of 125 tokens, per block of 128 tokens; say which"));
}

TEST(TensorScales, BadNumbersAreRefused) {
  const TemporaryDirectory scratch;
  for (const auto& [number, text] : {std::pair{NAN, "nan"}, {INFINITY, "inf"}, {0.0F, "0"}, {-1.0F, "-1"}})
    EXPECT_THAT(refusal_of(call_of(scratch, {{"k_scale", "F32", "[2]", raw(std::vector{number, 1.0F})}})),
                HasSubstr("tensor 'k_scale' holds the scale " + std::string(text) + ", expected finite numbers above 0"));
  EXPECT_THAT(refusal_of(call_of(scratch, {{"k_scale", "F8_E8M0", "[1]", "\xff"}})), HasSubstr("holds the scale nan"));
}

TEST(TensorScales, OtherSentences) {
  const TemporaryDirectory scratch;
  EXPECT_THAT(refusal_of(call_of(scratch, {{"k_scale", "I8", "[1]", "\1"}})),
              HasSubstr("tensor 'k_scale' is a scale of I8, expected F64, F32, F16, BF16, F8_E4M3 or F8_E8M0"));
  EXPECT_THAT(refusal_of(call_of(scratch, {{"k_scale", "I32", "[1]", "\1\1\1\1"}})),
              HasSubstr("tensor 'k_scale' has dtype 'I32'"));
  EXPECT_THAT(refusal_of(call_of(scratch, {scale_of("k_scale", {1}), scale_of("k_descale", {1})})),
              HasSubstr("tensor 'k' has the scales 'k_descale' and 'k_scale', expected one: say which by --scale-k"));
  const std::string call = call_of(scratch, {}),
                    several = scratch.write("s.safetensors", safetensors({scale_of("a", {1}), scale_of("b", {1})}));
  EXPECT_THAT(refusal_of(call + ",k_scale=" + several),
              HasSubstr("s.safetensors: has no tensor 'k_scale', 'k_descale', only 'a', 'b'"));
  EXPECT_THAT(refusal_of(call + ",k_scale=" + several + ":c"), HasSubstr("has no tensor 'c', only 'a', 'b'"));
  for (const char* const bad : {"s.txt", "", "s.npy[heads]", "a.npy,k_scale=b"})
    EXPECT_THAT(sentence_of<std::invalid_argument>([&] { CallFiles(call + ",k_scale=" + bad); }),
                HasSubstr("is not understood, expected FILE.npy, FILE.safetensors, FILE.pt, "))
        << bad;
}

// Used and unused scales.

TEST(TensorScales, ANumberOfASavedDictIsThatOfTheTensor) {
  const TemporaryDirectory scratch;
  const auto file_of = [&](const std::string& storage, const std::string& bytes) {
    SavedDict dict;
    for (const char* const part : {"q", "k", "v"}) dict.tensor(part, storage, {2, 2}, bytes);
    dict.value("k_scale", SavedDict::real(0.25)).value("dropout_p", SavedDict::real(0.125));
    return scratch.write("x.pt", dict.value("softmax_scale", SavedDict::real(0.5)).bytes());
  };
  const std::string file = file_of("CharStorage", "\1\2\3\4");
  for (const CallFiles& files :
       {CallFiles(TensorSpec(file)), CallFiles({"", file + ":q", file + ":k", file + ":v", file + ":q"})}) {
    EXPECT_THAT(files.inputs(0).k, ElementsAre(0.25, 0.5, 0.75, 1));
    EXPECT_THAT(files.inputs(0).v, ElementsAre(1, 2, 3, 4));
    EXPECT_EQ(files.scale_texts(), std::vector<std::string>{"k per tensor"});
    EXPECT_THAT(app::HeadNumbers({}, files).found(),
                ::testing::Contains(EndsWith("also holds dropout_p = 0.125: judged without.")));
  }
  const CallFiles wide(TensorSpec(file_of("FloatStorage", raw(std::vector{1.0F, 2.0F, 3.0F, 4.0F}))));
  EXPECT_THAT(wide.inputs(0).k, ElementsAre(1, 2, 3, 4));
  EXPECT_THAT(wide.left_out(), ElementsAre(HasSubstr("value 'k_scale' multiplies nothing, as ")));
}

TEST(TensorScales, OfWideTensorsAreLeftAloneAndNamed) {
  const TemporaryDirectory scratch;
  const std::string numbers = raw(std::vector{1.0F, 2.0F, 3.0F, 4.0F}),
                    file = scratch.write(
                        "x.safetensors",
                        safetensors(alike("F32", "[2,2]", numbers, {scale_of("k_scale", {7}), scale_of("q_scale", {1})})));
  const CallFiles files(file);
  EXPECT_THAT(files.inputs(0).k, ElementsAre(1, 2, 3, 4));
  ASSERT_EQ(files.left_out().size(), 1U);
  EXPECT_THAT(files.left_out()[0], AllOf(HasSubstr("tensor 'q_scale' multiplies nothing, as "),
                                         EndsWith("tensor 'q' is F32 and not of 8 bits; other unused scales: 1")));
  EXPECT_THAT(files.scale_texts(), IsEmpty());
  const double third = scale_number(0);
  const CallFiles named(file + ",k_scale=" + scratch.write("s.safetensors", safetensors({scale_of("two", {1})})));
  EXPECT_THAT(named.inputs(0).k, ElementsAre(1 * third, 2 * third, 3 * third, 4 * third))
      << "a named scale multiplies numbers of eight bits stored as F32";
}

TEST(TensorScales, ANamedOneComesFirst) {
  const TemporaryDirectory scratch;
  const std::string file = call_of(scratch, {scale_of("k_scale", {heads_of_k}), scale_of("v_scale", {1})}),
                    scale = scratch.write("s.npy", npy_of("(1,)", std::vector{5.0F}));
  const Tensors t = CallFiles(file + ",k_scale=" + scale).inputs(3);
  EXPECT_EQ(t.k[0], 5.0 * code(1, 1, 0, 0));
  EXPECT_EQ(t.v[0], static_cast<double>(scale_number(0)) * code(2, 1, 0, 0)) << "the scale of V in the file still applies";
}

TEST(TensorScales, InOtherFilesOfAList) {
  const TemporaryDirectory scratch;
  const std::string call = call_of(scratch, {}),
                    scales = scratch.write("s.safetensors", safetensors({scale_of("k_scale", {1})}));
  EXPECT_EQ(CallFiles(call + "," + scales).scale_texts(), std::vector<std::string>{"k per tensor"});
  std::string list;
  for (const char* const name : {"q", "k", "v"})
    list += scratch.write(std::string(name) + ".npy", npy(npy_header("|i1", "(2, 2)"), "\1\2\3\4")) + ",";
  const std::string k_scale = scratch.write("k_scale.npy", npy_of("(2,)", std::vector{0.5, 0.25}));
  EXPECT_THAT(refusal_of(list + k_scale), HasSubstr("per token, per channel; say which"));
  list.pop_back();
  EXPECT_THAT(CallFiles(list + ",k_scale=" + k_scale + "[token]").inputs(0).k, ElementsAre(0.5, 1, 0.75, 1));
  EXPECT_THAT(CallFiles(list + ",k_scale=" + k_scale + "[channel]").inputs(0).k, ElementsAre(0.5, 0.5, 1.5, 1));
}

TEST(TensorScales, OfTensorsThatAreNamedOneByOne) {
  const TemporaryDirectory scratch;
  const std::string file = call_of(scratch, {tensor_of("o", 3), scale_of("o_scale", {heads_of_q}), scale_of("k_scale", {1})}),
                    other = scratch.write("s.npy", npy_of("()", std::vector{9.0F}));
  CallSources sources{"", file + ":q", file + ":k", file + ":v", file + ":o"};
  EXPECT_EQ(CallFiles(sources).scale_texts(), std::vector<std::string>{"k per tensor, o per head"});
  EXPECT_EQ(CallFiles(sources).output(2), plain_head(3, 2, meanings(heads_of_q)[2]));
  EXPECT_EQ(CallFiles(sources).scale(2, 3), std::vector<double>(n * d, scale_number(2)));
  sources.scales[1] = sources.scales[2] = scale_spec(other);
  EXPECT_EQ(CallFiles(sources).inputs(0).k[5], 9.0 * code(1, 0, 0, 5));
  EXPECT_EQ(CallFiles(sources).inputs(0).v[5], 9.0 * code(2, 0, 0, 5));
}

TEST(TensorScales, OfAnOutputAlone) {
  const TemporaryDirectory scratch;
  const std::string file = scratch.write("o.safetensors", safetensors({tensor_of("o", 3), scale_of("o_scale", {heads_of_q})}));
  EXPECT_EQ(*read_kernel_output(file + ":2", {.n = n, .d = d}).values, plain_head(3, 2, meanings(heads_of_q)[2]));
  const std::string plain = scratch.write("p.safetensors", safetensors({tensor_of("o", 3)})),
                    named = plain + ",o_scale=" + file;
  EXPECT_EQ(*read_kernel_output(named + ":1", {.n = n, .d = d}).values, plain_head(3, 1, meanings(heads_of_q)[2]));
  EXPECT_EQ(*read_kernel_output(plain + ":1", {.n = n, .d = d}).values, plain_head(3, 1));
}

// Texts of tensor specs.

TEST(ScaleSpecs, AreReadBack) {
  for (const char* const text :
       {"x.safetensors,k_scale=s.npy", "x.safetensors,q_scale=a.npy,v_scale=s.safetensors:t[64 tokens]",
        "q.npy,k.npy,v.npy,v_scale=s.npy[token][n h d]", "x.npz,o_scale=s.safetensors[n (4 d)]",
        "x.pt,v_scale=s.npy,cu_seqlens_q=x.pt:cu,block_table=t.npy,page_layout=HND,kv=x.pt:kv[n h d]"}) {
    const TensorSpec read = text;
    EXPECT_EQ(TensorSpec(read.files(), read.layout(), read.scales(), read.packed()).text(), text);
    const Input input = parse_input(std::string(text) + ":3");
    EXPECT_EQ(input.file, text);
    EXPECT_EQ(input.index, 3);
    EXPECT_EQ(parse_input(input_spec(input)), input);
    EXPECT_EQ(parse_input(input_spec(parse_input(text))).file, text);
  }
  const TensorSpec spec = "x.safetensors[n h d],k_scale=s.npy[head]";
  EXPECT_EQ(spec.files(), "x.safetensors");
  EXPECT_EQ(spec.scales()[1]->tensor, "s.npy");
  EXPECT_EQ(spec.scales()[1]->said, parse_scale_group("head"));
  EXPECT_EQ(spec.layout(), parse_layout("n h d"));
  EXPECT_EQ(spec.text(), "x.safetensors[n h d],k_scale=s.npy[head]") << "as written";
  EXPECT_EQ(TensorSpec(spec.files(), spec.layout(), spec.scales()).text(), "x.safetensors,k_scale=s.npy[head][n h d]");
}

TEST(ScaleSpecs, AnyTextIsSplitWithoutLoss) {
  std::mt19937 random(7);
  const std::vector<std::string> pieces{
      "x.npy",   ",",      ",k_scale=",   ",v_scale=", ",kv=", ",kv_indptr=", "s.safetensors:k",
      "[n h d]", "[head]", "[64 tokens]", "[",         "]",    " ",           "[x]"};
  for (int i = 0; i < 2000; ++i) {
    std::string text;
    for (unsigned count = random() % 8; count > 0; --count) text += pieces[random() % pieces.size()];
    const TensorSpec spec = text, again(spec.files(), spec.layout(), spec.scales(), spec.packed()), read = again.text();
    EXPECT_EQ(spec.text(), text);
    EXPECT_EQ(read.text(), again.text());
    if (spec.scales() != ScaleSpecs{} || spec.packed().any() || !spec.layout()) continue;
    EXPECT_EQ(again.text(), text) << "text with only a layout after the files";
  }
  EXPECT_EQ(TensorSpec("").files(), "");
  EXPECT_EQ(TensorSpec("a[n h d][n h d]").files(), "a[n h d]");
}

TEST(Readers, AreFoundByTheirEndings) {
  for (const Reader& reader : readers())
    for (const std::string_view ending : reader.endings) {
      const std::string file = "a/b" + std::string(ending);
      EXPECT_EQ(reader_of(file), &reader);
      EXPECT_EQ(without_ending(file), "a/b");
      EXPECT_EQ(files_in_list(file + "," + file), std::vector(2, file));
      EXPECT_EQ(is_single_file(file), reader.kind != FileKind::archive);
      EXPECT_EQ(tensor_ref(file + ":t").tensor, reader.kind != FileKind::one ? "t" : "");
      EXPECT_EQ(names_tensor_files(file), reader.kind != FileKind::one) << "a file of one tensor is no call";
    }
  EXPECT_EQ(reader_of("session.json"), nullptr);
  EXPECT_EQ(reader_endings(), ".npy, .safetensors, .npz, .pt, .pth, .bin or .gguf");
}

TEST(ScaleSpecs, ANumberBehindIsTheHead) {
  Input input = parse_input("x.safetensors,k_scale=s.safetensors:7");
  EXPECT_EQ(input.file, "x.safetensors,k_scale=s.safetensors");
  EXPECT_EQ(input.index, 7);
  input = parse_input("x.safetensors,k_scale=s.safetensors:7:0");
  EXPECT_EQ(TensorSpec(input.file).scales()[1]->tensor, "s.safetensors:7");
  EXPECT_EQ(parse_input(input_spec(input)), input);
  const KernelOutput output = parse_kernel_output("x.safetensors,o_scale=s.safetensors:7:0");
  EXPECT_EQ(output.file, "x.safetensors,o_scale=s.safetensors:7");
  EXPECT_EQ(parse_kernel_output(kernel_output_spec(output)), output);
}

TEST(ScaleSpecs, KeepTheirLayoutAndGetAbsolutePaths) {
  const Input input = with_layout(parse_input("x.safetensors,k_scale=s.npy:2"), *parse_layout("n h d"));
  EXPECT_EQ(input.file, "x.safetensors,k_scale=s.npy[n h d]");
  EXPECT_EQ(input.index, 2);
  const std::string here = std::filesystem::current_path().string();
  EXPECT_EQ(absolute_spec("x.safetensors,k_scale=a/../s.safetensors:t/u[head][n h d]:2"),
            here + "/x.safetensors,k_scale=" + here + "/s.safetensors:t/u[head][n h d]:2");
}

TEST(ScaleSpecs, TheirFilesAreWatched) {
  EXPECT_THAT(single_files_of("x.safetensors,k_scale=s.safetensors:t[head],v_scale=s.safetensors:u,q_scale=q.npy[n h d]"),
              ElementsAre("x.safetensors", "q.npy", "s.safetensors"));
}

TEST(ScaleSpecs, Groups) {
  for (const char* const text : {"tensor", "head", "token", "channel", "64 tokens", "16 columns"})
    EXPECT_EQ(scale_group_text(*parse_scale_group(text)), text);
  for (const char* const text : {"", "heads", "1 tokens", "-4 tokens", "x columns", "64", "64 ", "n h d", "64 tokens "})
    EXPECT_FALSE(parse_scale_group(text)) << text;
}

TEST(TensorScales, AreShownWithTheContents) {
  const TemporaryDirectory scratch;
  const std::string file = call_of(scratch, {scale_of("k_scale", {heads_of_k})});
  EXPECT_THAT(contents_of(file), ::testing::Contains("scales: k per head"));
  EXPECT_EQ(describe_tensors(file).layers[0].scales, "k per head");
}

TEST(TensorScales, OfAHugeFileOneHeadIsRead) {
  const TemporaryDirectory scratch;
  constexpr std::int64_t each = std::int64_t{13} << 30, heads = each / 65536;  // 13 GiB: heads of 1024 tokens, 64 columns
  const std::string shape = "[" + std::to_string(heads) + ",1024,64]";
  const std::string header = "{" + entry("q", "I8", shape, 0, each) + "," + entry("k", "I8", shape, each, 2 * each) + "," +
                             entry("v", "I8", shape, 2 * each, 3 * each) + "," +
                             entry("k_scale", "F32", "[" + std::to_string(heads) + "]", 3 * each, 3 * each + 4 * heads) + "}";
  const std::string file = scratch.write("x.safetensors", safetensors(header, 0));
  std::error_code error;
  std::filesystem::resize_file(file, 8 + header.size() + static_cast<std::uint64_t>(3 * each + 4 * heads), error);
  if (error) GTEST_SKIP() << "this disk cannot have a sparse file of 39 GiB";
  std::fstream out(file, std::ios::in | std::ios::out | std::ios::binary);
  const auto data = static_cast<std::streamoff>(8 + header.size());
  out.seekp(data + 2 * each - 1).put('\7');  // the last number of K; then its scale
  out.seekp(data + 3 * each + 4 * (heads - 1)).write(raw(std::vector{0.5F}).data(), 4);
  out.close();
  const CallFiles files(file + "[h n d]");
  ASSERT_EQ(files.heads(), static_cast<int>(heads));
  EXPECT_EQ(files.inputs(files.heads() - 1).k.back(), 3.5);
}

}  // namespace
}  // namespace attoscope::tensor_scales_test
