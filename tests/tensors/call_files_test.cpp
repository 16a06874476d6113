// Heads of every layout, names of every kind, archives and folders give the same numbers; error sentences.
#include "app/tensors/call_files.h"

#include <chrono>
#include <filesystem>
#include <string>
#include <vector>

#include "app/files/zip.h"
#include "app/tensors/kernel_output.h"
#include "kernels/experiment/all_heads.h"
#include "kernels/experiment/stop_sign.h"
#include "tests/support/matchers.h"
#include "tests/tensors/tensor_files.h"

namespace attoscope {
namespace {

using namespace testing;  // attoscope::testing: the files made by hand

/// A .npy file of a tensor of floats.
std::string npy_file(const FileTensor& t) {
  return npy(npy_header("<f4", "(" + t.shape.substr(1, t.shape.size() - 2) + ",)"), t.bytes);
}

/// The value of element (batch, head, token, column) of tensor `part`; all values differ.
float number(int part, int batch, int head, int token, int column) {
  return static_cast<float>(part * 10000 + batch * 1000 + head * 100 + token * 10 + column);
}

constexpr int n = 7, d = 2;

/// A tensor in a layout of `parse_layout`, with a first dimension of two batches if the layout begins with b.
FileTensor made(const std::string& name, int part, int heads, const std::string& layout) {
  const bool batch = layout.starts_with('b'), tokens_first = layout.find('n') < layout.find('h'),
             flat = layout.find('(') != std::string::npos;
  std::vector<int> shape = tokens_first ? std::vector{n, heads} : std::vector{heads, n};
  std::vector<float> values;
  if (batch) shape.insert(shape.begin(), 2);
  if (flat)
    shape.back() *= d;
  else
    shape.push_back(d);
  for (int b = 0; b < (batch ? 2 : 1); ++b)
    for (int i = 0; i < (tokens_first ? n : heads); ++i)
      for (int j = 0; j < (tokens_first ? heads : n); ++j)
        for (int column = 0; column < d; ++column)
          values.push_back(number(part, b, tokens_first ? j : i, tokens_first ? i : j, column));
  return {name, "F32", sizes_text(shape), raw(values)};
}

std::vector<double> expected_head(int part, int batch, int head) {
  std::vector<double> values;
  for (int i = 0; i < n; ++i)
    for (int column = 0; column < d; ++column) values.push_back(number(part, batch, head, i, column));
  return values;
}

/// Four heads of Q, two of K and V, and an output.
std::vector<FileTensor> grouped_call(const std::string& layout) {
  return {made("q", 1, 4, layout), made("k", 2, 2, layout), made("v", 3, 2, layout), made("o", 4, 4, layout)};
}

void expect_all_heads(const CallFiles& files, int batches) {
  ASSERT_EQ(files.heads(), 4 * batches);
  for (int i = 0; i < files.heads(); ++i) {
    const Tensors t = files.inputs(i);
    EXPECT_EQ(t.n, n);
    EXPECT_EQ(t.d, d);
    EXPECT_EQ(t.q, expected_head(1, i / 4, i % 4)) << i;
    EXPECT_EQ(t.k, expected_head(2, i / 4, i % 4 / 2)) << "K of the head's group, head " << i;
    EXPECT_EQ(t.v, expected_head(3, i / 4, i % 4 / 2)) << i;
    EXPECT_EQ(files.output(i), expected_head(4, i / 4, i % 4)) << i;
  }
}

TEST(CallFiles, EveryLayoutGivesTheSameHeads) {
  const TemporaryDirectory scratch;
  for (const char* const layout : {"h n d", "n h d", "b h n d", "b n h d"}) {
    SCOPED_TRACE(layout);
    const std::string file = scratch.write("x.safetensors", safetensors(grouped_call(layout)));
    expect_all_heads(CallFiles(file), *layout == 'b' ? 2 : 1);
    expect_all_heads(CallFiles(file + "[" + layout + "]"), *layout == 'b' ? 2 : 1);
  }
  for (const char* const layout : {"n (h d)", "b n (h d)"}) {
    SCOPED_TRACE(layout);
    const std::string file = scratch.write("x.safetensors", safetensors(grouped_call(layout)));
    expect_all_heads(CallFiles(file + "[n(4d)]"), *layout == 'b' ? 2 : 1);
  }
}

TEST(CallFiles, TheLargestOfAllHeadsIsFoundWhenSomebodyAsks) {
  const TemporaryDirectory scratch;
  for (const char* const layout : {"h n d", "b n h d"}) {
    const std::string file = scratch.write("x.safetensors", safetensors(grouped_call(layout)));
    const Input input = CallFiles(file).input(1);
    ASSERT_TRUE(input.tensors->all_heads);
    const int last_batch = *layout == 'b' ? 1 : 0;
    EXPECT_EQ(input.tensors->all_heads->largest(ScaledTensor::Q, {}), number(1, last_batch, 3, n - 1, d - 1));
    EXPECT_EQ(input.tensors->all_heads->largest(ScaledTensor::K, {}), number(2, last_batch, 1, n - 1, d - 1));
    EXPECT_EQ(input.tensors->all_heads->largest(ScaledTensor::V, {}), number(3, last_batch, 1, n - 1, d - 1));
    std::filesystem::remove(file);
    EXPECT_EQ(input.tensors->all_heads->largest(ScaledTensor::K, {}), number(2, last_batch, 1, n - 1, d - 1)) << "cached";
  }
  const std::string file = scratch.write("x.safetensors", safetensors(grouped_call("h n d")));
  const Input input = CallFiles(file).input(1);
  std::filesystem::remove(file);
  EXPECT_THROW(input.tensors->all_heads->largest(ScaledTensor::V, {}), std::runtime_error) << "computed only when requested";
  const std::string single = scratch.write(
      "y.safetensors", safetensors({made("q", 1, 1, "h n d"), made("k", 2, 1, "h n d"), made("v", 3, 1, "h n d")}));
  EXPECT_FALSE(CallFiles(single).input(0).tensors->all_heads) << "a single head has no other heads";
}

TEST(CallFiles, ASiblingTellsHowManyHeadsStandSideBySide) {
  const TemporaryDirectory scratch;
  std::vector<FileTensor> call = grouped_call("n (h d)");
  call[3] = made("o", 4, 4, "n h d");
  expect_all_heads(CallFiles(scratch.write("o.safetensors", safetensors(call))), 1);
  call[1] = made("k", 2, 2, "n h d");
  expect_all_heads(CallFiles(scratch.write("k.safetensors", safetensors(call))), 1);
}

/// ONNX Runtime's GroupQueryAttention: Q and O have their heads side by side, the cache of K and V heads before tokens.
TEST(CallFiles, HeadsOfACacheMayComeFirstWhereThoseOfQStandSideBySide) {
  const TemporaryDirectory scratch;
  std::vector<FileTensor> call = grouped_call("b n (h d)");
  call[1] = made("k", 2, 2, "b h n d");
  call[2] = made("v", 3, 2, "b h n d");
  const std::string prompt = scratch.write("prompt.safetensors", safetensors(call));
  expect_all_heads(CallFiles(prompt), 2);
  expect_all_heads(CallFiles(prompt + "[n (4 d)]"), 2);
  const std::string step = scratch.write(
      "step.safetensors", safetensors({counted("q", {1, 1, 128}), counted("k", {1, 2, 41, 32}), counted("v", {1, 2, 41, 32})}));
  for (const char* const layout : {"", "[n (4 d)]", "[n (h d)]"}) {
    const CallFiles files(step + layout);
    ASSERT_EQ(files.heads(), 4) << layout;
    EXPECT_EQ(files.inputs(3).shape(), (AttentionShape{1, 41, 32, 32})) << layout;
    EXPECT_EQ(files.inputs(3).k.front(), 41 * 32) << layout;
  }
}

TEST(CallFiles, TheIndexOfAnInputIsTheHeadOfQ) {
  const TemporaryDirectory scratch;
  const Input input = loaded(parse_input(scratch.write("x.safetensors", safetensors(grouped_call("n h d"))) + ":3"));
  EXPECT_EQ(input.tensors->q, expected_head(1, 0, 3));
  EXPECT_EQ(input.tensors->k, expected_head(2, 0, 1));
  const KernelOutput output = read_kernel_output(input.file, {.input = input, .n = n, .d = d});
  EXPECT_EQ(output.index, 3);
  EXPECT_EQ(*output.values, expected_head(4, 0, 3));
}

TEST(CallFiles, OneHeadOfKAndVForAll) {
  const TemporaryDirectory scratch;
  const std::vector<FileTensor> call{made("q", 1, 4, "h n d"), made("k", 2, 1, "h n d"), made("v", 3, 1, "h n d")};
  const CallFiles files(scratch.write("x.safetensors", safetensors(call)));
  EXPECT_EQ(files.inputs(3).k, expected_head(2, 0, 0));
  EXPECT_EQ(files.info().layers.front().kv_heads, 1);
}

std::string refusal_of(const std::string& spec) {
  return sentence_of([&] { const CallFiles files(spec); });
}

TEST(CallFiles, JaxsLengthsCountTheKeys) {
  const TemporaryDirectory scratch;
  const std::vector<FileTensor> call{counted("query", {1, 7, 2, 2}),
                                     counted("key", {1, 7, 1, 2}),
                                     counted("value", {1, 7, 1, 2}),
                                     {"key_value_seq_lengths", "I32", "[1]", raw(std::vector<std::int32_t>{5})}};
  const CallFiles files(scratch.write("x.safetensors", safetensors(call)));
  ASSERT_EQ(files.heads(), 2);
  EXPECT_EQ(files.inputs(1).shape(), (AttentionShape{7, 5, 2, 2}));
}

TEST(CallFiles, AnotherLayoutThatFitsIsTold) {
  const TemporaryDirectory scratch;
  const auto told = [&](const std::string& shape, int count, const std::string& layout = "") {
    const std::vector<float> zeros(static_cast<std::size_t>(count));
    const std::string file = scratch.write("x.safetensors", safetensors(alike("F32", shape, raw(zeros))));
    return CallFiles(file + layout).other_reading();
  };
  EXPECT_THAT(told("[3,9,2]", 54),
              EndsWith("x.safetensors: tensor 'q' has shape [3, 9, 2], read as h n d (3 heads of 9 tokens); "
                       "n h d (9 heads of 3 tokens) would fit, too (--layout)"));
  EXPECT_EQ(told("[3,9,2]", 54, "[h n d]"), "") << "the layout is given";
  EXPECT_THAT(told("[2,3,128]", 768), EndsWith("n h d (3 heads of 2 tokens), n (4 d), n (2 d) would fit, too (--layout)"));
  EXPECT_EQ(told("[3,129,2]", 774), "") << "no call has 129 heads";
  EXPECT_EQ(told("[9,2]", 18), "") << "there is one head";
}

TEST(CallFiles, AsksWhatIsAmbiguous) {
  const TemporaryDirectory scratch;
  const auto all = [&](const std::string& shape, int count) {
    const std::vector<float> zeros(static_cast<std::size_t>(count));
    return scratch.write("x.safetensors", safetensors(alike("F32", shape, raw(zeros))));
  };
  const std::string both = all("[9,3,2]", 54);
  EXPECT_THAT(refusal_of(both),
              AllOf(HasSubstr("tensor 'q' has shape [9, 3, 2]"), HasSubstr("fits h n d (9 heads of 3 tokens)"),
                    HasSubstr("n h d (3 heads of 9 tokens)"), HasSubstr("--layout")));
  EXPECT_EQ(CallFiles(both + "[nhd]").heads(), 3);
  EXPECT_EQ(CallFiles(both + "[hnd]").heads(), 9);
  const std::string wide = all("[2,2048]", 4096);
  EXPECT_THAT(refusal_of(wide), AllOf(HasSubstr("how many heads stand side by side is not said"), HasSubstr("n (32 d)")));
  EXPECT_EQ(CallFiles(wide + "[n (32 d)]").layers().front().q.d, 64);
  EXPECT_THAT(refusal_of(wide + "[n (3 d)]"), HasSubstr("has shape [2, 2048], expected rows of 3 heads"));
}

TEST(CallFiles, SaysWhatDoesNotFit) {
  const TemporaryDirectory scratch;
  const auto with_k = [&](const FileTensor& k, const FileTensor& v) {
    return refusal_of(scratch.write("x.safetensors", safetensors({made("q", 1, 4, "h n d"), k, v})));
  };
  const FileTensor three = made("k", 2, 3, "h n d"), two = made("k", 2, 2, "h n d");
  EXPECT_THAT(with_k(three, made("v", 3, 3, "h n d")),
              HasSubstr("tensor 'k' has shape [3, 7, 2], expected a number of heads that divides the 4 of q"));
  EXPECT_THAT(with_k(two, made("v", 3, 4, "h n d")),
              HasSubstr("tensor 'v' has shape [4, 7, 2], expected batch, heads and tokens like k's [2, 7, 2]"));
}

TEST(CallFiles, SaysThatTwoNumbersInAByteAreNotRead) {
  const TemporaryDirectory scratch;
  const auto with_k = [&](const char* type) {
    const std::vector<FileTensor> call{counted("q", {4, 7, 8}),
                                       {"k", type, "[2,7,4]", std::string(56, '\x11')},
                                       {"v", type, "[2,7,4]", std::string(56, '\x11')}};
    return refusal_of(scratch.write("x.safetensors", safetensors(call)));
  };
  const std::string refusal = "tensor 'k' has shape [2, 7, 4], expected batch and d like q's [4, 7, 8]";
  EXPECT_THAT(with_k("U8"), EndsWith(refusal + "; numbers of 4 bits, two in a byte, are not read: unpack them"));
  EXPECT_THAT(with_k("F8_E4M3"), EndsWith(refusal));
}

TEST(CallFiles, KeysAndColumnsOfVAreCountedApart) {
  const TemporaryDirectory scratch;
  const auto opened = [&](const std::vector<FileTensor>& tensors) {
    return CallFiles(scratch.write("x.safetensors", safetensors(tensors)));
  };
  // heads first: four heads of Q, two of K and V, three queries, seven keys, V of five columns
  const CallFiles heads =
      opened({counted("q", {4, 3, 8}), counted("k", {2, 7, 8}), counted("v", {2, 7, 5}), counted("o", {4, 3, 5})});
  ASSERT_EQ(heads.heads(), 4);
  const Tensors t = heads.inputs(3);
  EXPECT_EQ(t.shape(), (AttentionShape{3, 7, 8, 5}));
  EXPECT_EQ(t.q.front(), 3 * 3 * 8);
  EXPECT_EQ(t.k.front(), 7 * 8);
  EXPECT_EQ(t.v.front(), 7 * 5);
  EXPECT_EQ(heads.output(3).size(), 15U);
  EXPECT_EQ(heads.info().shape, (AttentionShape{3, 7, 8, 5}));
  // a decoding step: one query of 32 heads, 40 keys of 8 heads, tokens first
  const CallFiles decoding = opened({counted("q", {1, 32, 16}), counted("k", {40, 8, 16}), counted("v", {40, 8, 16})});
  ASSERT_EQ(decoding.heads(), 32);
  EXPECT_EQ(decoding.inputs(31).shape(), (AttentionShape{1, 40, 16, 16}));
  EXPECT_EQ(decoding.inputs(31).k[16], 8 * 16 + 7 * 16) << "the second token of the last head";
  // fewer keys than queries need an explicit layout
  const std::string fewer = scratch.write(
      "y.safetensors", safetensors({counted("q", {4, 50, 8}), counted("k", {4, 20, 8}), counted("v", {4, 20, 8})}));
  EXPECT_THAT(refusal_of(fewer),
              HasSubstr("tensor 'k' has shape [4, 20, 8], expected no fewer tokens than q's [4, 50, 8], or --layout"));
  EXPECT_EQ(CallFiles(fewer + "[h n d]").inputs(0).shape(), (AttentionShape{50, 20, 8, 8}));
  const std::string both = scratch.write(
      "z.safetensors", safetensors({counted("q", {4, 50, 8}), counted("k", {4, 25, 8}), counted("v", {4, 25, 8})}));
  EXPECT_THAT(refusal_of(both), HasSubstr("which fits h n d (4 heads of 50 tokens) and n h d (50 heads of 4 tokens)"));
  EXPECT_EQ(CallFiles(both + "[n h d]").inputs(0).shape(), AttentionShape::square(4, 8));
  // equal numbers of keys and queries are preferred if both orders fit
  EXPECT_EQ(opened({counted("q", {40, 4, 8}), counted("k", {40, 2, 8}), counted("v", {40, 2, 8})}).inputs(0).shape(),
            AttentionShape::square(40, 8));
}

TEST(Layouts, AreReadBack) {
  for (const char* const text : {"h n d", "n h d", "n (h d)", "n (32 d)"}) EXPECT_EQ(layout_text(*parse_layout(text)), text);
  EXPECT_EQ(parse_layout("bhnd"), parse_layout("h n d"));
  EXPECT_EQ(parse_layout("b n (8 d)")->heads, 8);
  for (const char* const text : {"", "b", "dnh", "n(0d)", "n(-1d)", "n(xd)", "n(h)", "bnd", "n(9999999999d)"})
    EXPECT_FALSE(parse_layout(text)) << text;
}

// Names.

CallNames calls_of(const std::vector<std::string>& names) {
  std::vector<TensorName> list;
  for (const std::string& name : names) list.push_back({name});
  return calls_in(list);
}

TEST(TensorNames, TriplesShareTheRest) {
  const CallNames found =
      calls_of({"layers.10.self_attn.q_proj.out", "layers.10.self_attn.k_proj.out", "layers.10.self_attn.v_proj.out",
                "layers.2.self_attn.k_proj.out", "layers.2.self_attn.v_proj.out", "layers.2.self_attn.q_proj.out",
                "layers.2.self_attn.out", "layers.10.self_attn.o_proj.in", "layers.2.self_attn.o_proj.out",
                "layers.2.self_attn.q_scale", "layers.2.self_attn.k_scale", "layers.2.self_attn.v_scale"});
  ASSERT_EQ(found.calls.size(), 2U);
  EXPECT_EQ(layer_name(found.calls[0].shared), "layer 2");
  EXPECT_EQ(found.calls[0].q, 5);
  EXPECT_EQ(found.calls[0].o, 6) << "the output of attention, not of its projection";
  EXPECT_EQ(layer_name(found.calls[1].shared), "layer 10");
  EXPECT_EQ(found.calls[1].o, 7) << "the input of the projection";
}

TEST(TensorNames, OtherWaysToCallThem) {
  for (const auto& names : std::vector<std::vector<std::string>>{{"0_q", "0_k", "0_v"},
                                                                 {"query_states", "key_states", "value_states"},
                                                                 {"Q7", "K7", "V7"},
                                                                 {"h.3.attn.query", "h.3.attn.key", "h.3.attn.value"},
                                                                 {"3.q_proj", "3.cache.k", "3.cache.v"},
                                                                 {"arg_1", "arg_2", "arg_3"},
                                                                 {"kwarg_q", "kwarg_k", "kwarg_v"}}) {
    const CallNames found = calls_of(names);
    ASSERT_EQ(found.calls.size(), 1U) << names[0];
    EXPECT_EQ(found.calls[0].q, 0);
    EXPECT_EQ(found.calls[0].k, 1);
    EXPECT_EQ(found.calls[0].v, 2);
  }
  EXPECT_THAT(calls_of({"weight", "bias", "q_proj.weight", "k_proj.weight", "v_proj.weight"}).calls, IsEmpty());
  EXPECT_THAT(calls_of({"arg_2147483647", "arg_2147483646"}).calls, IsEmpty()) << "no position is beyond the largest int";
  EXPECT_THAT(calls_of({"0_q", "0_k"}).incomplete, ElementsAre("'0_q' and '0_k' have no v"));
  EXPECT_EQ(calls_of({"q", "k", "v", "Q", "K", "V"}).calls.size(), 1U) << "plain names are one call for the whole file";
}

/// Two layers with different numbers of tokens.
std::vector<FileTensor> two_layers() {
  std::vector<FileTensor> all;
  for (const FileTensor& t : grouped_call("h n d")) all.push_back({"model.layers.11." + t.name, t.type, t.shape, t.bytes});
  for (const FileTensor& t : alike("F32", "[2,5,1]", raw(std::vector<float>(10, 3.0F))))
    all.push_back({"model.layers.3." + t.name, t.type, t.shape, t.bytes});
  return all;
}

TEST(CallFiles, LayersAreCountedBeforeHeads) {
  const TemporaryDirectory scratch;
  const std::string file = scratch.write("x.safetensors", safetensors(two_layers()));
  const CallFiles files(file);
  const TensorFileInfo info = files.info();
  ASSERT_EQ(info.layers.size(), 2U);
  EXPECT_EQ(info.layers[0].name, "layer 3");
  EXPECT_EQ(info.layers[1].first, 2);
  EXPECT_EQ(info.heads, 6);
  EXPECT_EQ(info.head_names[1], "layer 3, head 1");
  EXPECT_EQ(info.head_names[4], "layer 11, head 2");
  EXPECT_EQ(files.inputs(0).n, 5);
  EXPECT_EQ(files.inputs(4).q, expected_head(1, 0, 2));
  EXPECT_THAT(sentence_of([&] { files.inputs(6); }), HasSubstr("head index is 6, expected 0 to 5"));
  EXPECT_THAT(sentence_of([&] { files.output(0); }), HasSubstr("has no output of layer 3"));
}

TEST(CallFiles, ALayerThatFitsNothingIsLeftOutAndNamed) {
  const TemporaryDirectory scratch;
  std::vector<FileTensor> all = two_layers();
  all[4].shape = "[5,2,1,1,1]";
  const CallFiles files(scratch.write("x.safetensors", safetensors(all)));
  EXPECT_EQ(files.heads(), 4);
  ASSERT_EQ(files.left_out().size(), 1U);
  EXPECT_THAT(files.left_out()[0], AllOf(HasSubstr("'model.layers.3.q'"), HasSubstr("[5, 2, 1, 1, 1]")));
}

// Archives, lists and folders.

TEST(CallFiles, Archives) {
  const TemporaryDirectory scratch;
  std::vector<ZipMember> members;
  for (const FileTensor& t : grouped_call("n h d")) members.push_back({t.name + ".npy", npy_file(t)});
  const std::string file = scratch.write("x.npz", zip_bytes(members));
  expect_all_heads(CallFiles(file), 1);
  EXPECT_TRUE(holds_whole_call(file));
  EXPECT_THAT(contents_of(file), ::testing::Contains("k: [7, 2, 2] F32"));
  EXPECT_EQ(*read_kernel_output(file + ":2", {.n = n, .d = d}).values, expected_head(4, 0, 2));
}

/// ONNX's operator Attention calls its output Y.
TEST(CallFiles, TensorsWithoutAUsualNameAreNamedByTheirOption) {
  const TemporaryDirectory scratch;
  std::vector<FileTensor> call = grouped_call("n h d");
  call[3].name = "Y";
  std::vector<ZipMember> members;
  for (const FileTensor& t : call) members.push_back({t.name + ".npy", npy_file(t)});
  const std::string file = scratch.write("x.npz", zip_bytes(members));
  CallSources sources;
  sources.input = file;
  const auto refused = [&] { return sentence_of([&] { const CallFiles files(sources); }); };
  EXPECT_THAT(refused(), EndsWith("x.npz: has no tensor 'o', 'O', 'out', 'output', 'attn_out', 'attn_output', "
                                  "'attention_output', 'context', only 'q', 'k', 'v', 'Y'; --o '" +
                                  file + ":NAME' names one"));
  sources.o = file + ":Y";
  expect_all_heads(CallFiles(sources), 1);
}

/// A tuple of inputs and outputs, as a test of a kernel saves it.
TEST(CallFiles, TensorsWithoutNamesAreListed) {
  const TemporaryDirectory scratch;
  std::vector<FileTensor> call = grouped_call("n h d");
  for (std::size_t i = 0; i < 4; ++i) call[i].name = i < 3 ? "inputs." + std::to_string(i) : "outputs.0";
  const std::string file = scratch.write("x.safetensors", safetensors(call));
  EXPECT_THAT(refusal_of(file), EndsWith("only 'inputs.0', 'inputs.1', 'inputs.2', 'outputs.0'; "
                                         "FILE:TENSOR,FILE:TENSOR,FILE:TENSOR names others"));
  CallSources sources;
  sources.input = file;
  EXPECT_THAT(sentence_of([&] { const CallFiles files(sources); }),
              EndsWith("x.safetensors: has no tensor 'q', 'Q', 'query', only 'inputs.0', 'inputs.1', 'inputs.2', 'outputs.0'; "
                       "--q '" +
                       file + ":NAME' names one"));
  expect_all_heads(CallFiles(file + ":inputs.0," + file + ":inputs.1," + file + ":inputs.2," + file + ":outputs.0"), 1);
}

TEST(CallFiles, DamagedArchivesAreRefused) {
  const TemporaryDirectory scratch;
  EXPECT_THAT(refusal_of(scratch.write("x.npz", "no archive")), HasSubstr("x.npz: is no zip archive"));
  std::string bytes = zip_bytes({{"q.npy", npy_of("(400, 40)", std::vector<float>(16000))}});
  const std::string cut = scratch.write("cut.npz", bytes.substr(0, bytes.size() / 2));
  EXPECT_THAT(refusal_of(cut), HasSubstr("cut.npz"));
  const std::size_t size_field = bytes.rfind("PK\x01\x02") + 24;
  bytes.replace(size_field, 4, std::string("\xfe\xff\xff\xff", 4));  // claims a size of 4 GiB
  EXPECT_THAT(refusal_of(scratch.write("bomb.npz", bytes)), HasSubstr("bomb.npz"));
  bytes = zip_bytes({{"q.npy", npy_of("(4, 4)", std::vector<float>(16)), true}});
  ++bytes[bytes.rfind("PK\x01\x02") + 24];  // claims one byte more than the archive stores
  EXPECT_THAT(refusal_of(scratch.write("more.npz", bytes)), HasSubstr("more.npz: says that 'q.npy' has"));
}

TEST(CallFiles, SeveralFilesTogether) {
  const TemporaryDirectory scratch;
  std::string list;
  for (const FileTensor& t : grouped_call("n h d"))
    list += (list.empty() ? "" : ",") + scratch.write(t.name + ".npy", npy_file(t));
  expect_all_heads(CallFiles(list), 1);
  EXPECT_TRUE(holds_whole_call(list));
  EXPECT_EQ(parse_input(list + "[n h d]:2").index, 2);
  EXPECT_EQ(parse_input(list + "[n h d]:2").file, list + "[n h d]");
  const std::string qkv = scratch.write(
      "qkv.safetensors", safetensors({made("q", 1, 4, "n h d"), made("k", 2, 2, "n h d"), made("v", 3, 2, "n h d")}));
  expect_all_heads(CallFiles(qkv + "," + scratch / "o.npy"), 1);
}

/// Writes a dump of an engine: one folder per call with files of inputs and outputs.
void write_dump(const TemporaryDirectory& scratch, const std::string& call) {
  std::filesystem::create_directories(scratch / ("dump/" + call));
  std::vector<FileTensor> tensors = grouped_call("n h d");
  FileTensor result = tensors[3];
  result.name = "result";
  tensors.pop_back();
  for (std::size_t i = 0; i < 3; ++i) tensors[i].name = "arg_" + std::to_string(i + 1);
  scratch.write("dump/" + call + "/inputs.safetensors", safetensors(tensors));
  scratch.write("dump/" + call + "/outputs.safetensors", safetensors({result}));
  scratch.write("dump/" + call + "/metadata.jsonl", "{}\n");
}

TEST(CallFiles, FoldersOfDumpedCalls) {
  const TemporaryDirectory scratch;
  write_dump(scratch, "run_call0002");
  write_dump(scratch, "run_call0010");
  const CallFiles files(scratch / "dump");
  ASSERT_EQ(files.layers().size(), 2U);
  EXPECT_EQ(files.layers()[1].name, "call 10");
  EXPECT_EQ(files.inputs(7).k, expected_head(2, 0, 1));
  EXPECT_EQ(files.output(6), expected_head(4, 0, 2));
  EXPECT_TRUE(holds_whole_call(scratch / "dump"));
  EXPECT_FALSE(is_kernel_output(scratch / "dump"));
  EXPECT_EQ(*read_kernel_output(scratch / "dump:6", {.n = n, .d = d}).values, expected_head(4, 0, 2));
  EXPECT_TRUE(parse_input(scratch / "dump:6").kind == InputKind::tensors);
}

TEST(CallFiles, LinksInFoldersAreNotFollowed) {
  const TemporaryDirectory scratch;
  std::filesystem::create_directory(scratch / "dump");
  const std::string secret = scratch.write("secret.safetensors", safetensors(grouped_call("n h d")));
  std::filesystem::create_symlink(secret, scratch / "dump/x.safetensors");
  EXPECT_THAT(refusal_of(scratch / "dump"), HasSubstr("links in folders are not followed"));
  std::filesystem::create_directory(scratch / "elsewhere");
  std::filesystem::copy_file(secret, scratch / "elsewhere/x.safetensors");
  std::filesystem::create_directory_symlink(scratch / "elsewhere", scratch / "dump/inner");
  EXPECT_THAT(refusal_of(scratch / "dump"), HasSubstr("holds no .npy"));
}

TEST(CallFiles, AHugeFileIsOpenedAtOnceAndOnlyTheHeadIsRead) {
  const TemporaryDirectory scratch;
  constexpr std::int64_t each = std::int64_t{13} << 30;  // 13 GiB: 104 heads, 2^19 tokens, 64 columns of F32
  const std::string shape = "[104,524288,64]";
  const std::string header = "{" + entry("q", "F32", shape, 0, each) + "," + entry("k", "F32", shape, each, 2 * each) + "," +
                             entry("v", "F32", shape, 2 * each, 3 * each) + "}";
  const std::string file = scratch.write("x.safetensors", safetensors(header, 0));
  std::error_code error;
  std::filesystem::resize_file(file, 8 + header.size() + static_cast<std::uint64_t>(3 * each), error);
  if (error) GTEST_SKIP() << "this disk cannot have a sparse file of 39 GiB";
  const auto start = std::chrono::steady_clock::now();
  const CallFiles files(file);
  EXPECT_EQ(files.heads(), 104);
  EXPECT_LT(std::chrono::steady_clock::now() - start, std::chrono::seconds(1));
}

TEST(CallFiles, TheShippedGroupsAreThoseOfTheExample) {
  const CallFiles captured(example), grouped("assets/examples/grouped.safetensors");
  ASSERT_EQ(grouped.heads(), 8);
  EXPECT_EQ(grouped.head_names()[5], "layer 1, head 1");
  for (int head = 0; head < 8; ++head) {
    const Tensors found = grouped.inputs(head), source = captured.inputs(head / 2);
    ASSERT_EQ(found.n, 512);
    for (std::size_t i = 0; i < found.k.size(); ++i) {
      EXPECT_NEAR(found.k[i], source.k[i], std::abs(source.k[i]) / 256) << head;
      EXPECT_NEAR(found.v[i], source.v[i], std::abs(source.v[i]) / 256) << head;
      const std::size_t of_q = head % 2 == 0 ? i : i / 64 * 64 + (i + 32) % 64;
      EXPECT_NEAR(found.q[i], source.q[of_q], std::abs(source.q[of_q]) / 256) << head;
    }
  }
}

TEST(CallFiles, EightBitIntegersAreNumbers) {
  const TemporaryDirectory scratch;
  const std::string file =
      safetensors({{"q", "I8", "[1,2]", "\x80\x7f"}, {"k", "U8", "[1,2]", "\x80\xff"}, {"v", "I8", "[1,2]", "\x01\xff"}});
  const Tensors t = CallFiles(scratch.write("x.safetensors", file)).inputs(0);
  EXPECT_THAT(t.q, ElementsAre(-128, 127));
  EXPECT_THAT(t.k, ElementsAre(128, 255));
  EXPECT_THAT(t.v, ElementsAre(1, -1));
}

}  // namespace
}  // namespace attoscope
