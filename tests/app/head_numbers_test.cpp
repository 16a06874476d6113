// A scale, soft cap, slope and sink for each head: as a list, as a file of numbers, and in the file of Q, K and V.

#include "app/tensors/head_numbers.h"

#include <cmath>
#include <nlohmann/json.hpp>
#include <random>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "app/tensors/call_files.h"
#include "tests/app/outcome.h"
#include "tests/support/matchers.h"
#include "tests/support/temporary_directory.h"
#include "tests/tensors/saved_dict.h"

namespace attoscope::testing {
namespace {

using nlohmann::json;
using Floats = std::vector<float>;

constexpr int batches = 2, heads_a_batch = 4, tokens = 24, width = 16;

/// The numbers of a head.
struct OwnNumbers {
  double scale = 0.25, softcap = 0, alibi = 0, sink = -INFINITY;
};

/// Appends causal attention of one head, in plain loops, to `o`.
void attend_plainly(const Floats& q, const Floats& k, const Floats& v, std::size_t first, const OwnNumbers& own, Floats& o) {
  const auto at = [first](const Floats& x, int row, int c) {
    return static_cast<double>(x[first + static_cast<std::size_t>(row * width + c)]);
  };
  for (int i = 0; i < tokens; ++i) {
    std::vector<double> s, row(width);
    double m = own.sink, l = 0;
    for (int j = 0; j <= i; ++j) {
      double sum = 0;
      for (int c = 0; c < width; ++c) sum += at(q, i, c) * at(k, j, c);
      sum *= own.scale;
      if (own.softcap != 0) sum = own.softcap * std::tanh(sum / own.softcap);
      s.push_back(sum - own.alibi * (i - j)), m = std::max(m, s.back());
    }
    for (int j = 0; j <= i; ++j) {
      const double e = std::exp(s[static_cast<std::size_t>(j)] - m);
      l += e;
      for (int c = 0; c < width; ++c) row[static_cast<std::size_t>(c)] += e * at(v, j, c);
    }
    for (const double x : row) o.push_back(static_cast<float>(x / (l + std::exp(own.sink - m))));
  }
}

/// A call of two batches of four heads, each with its own numbers.
std::vector<FileTensor> call_of(const std::vector<OwnNumbers>& own) {
  std::mt19937 random(7);
  std::normal_distribution<float> normal;
  const auto drawn = [&] {
    Floats x(static_cast<std::size_t>(batches * heads_a_batch * tokens * width));
    for (float& y : x) y = normal(random);
    return x;
  };
  const Floats q = drawn(), k = drawn(), v = drawn();
  Floats o;
  for (std::size_t head = 0; head < std::size_t{batches * heads_a_batch}; ++head)
    attend_plainly(q, k, v, head * tokens * width, own[head % own.size()], o);
  const std::string shape = "[2,4,24,16]";
  return {{"q", "F32", shape, raw(q)}, {"k", "F32", shape, raw(k)}, {"v", "F32", shape, raw(v)}, {"o", "F32", shape, raw(o)}};
}

struct OfHeads {
  const char *option, *name, *list, *reversed;
  Floats numbers;
  std::vector<OwnNumbers> own;
};
std::vector<OfHeads> all_numbers() {
  return {{"--scale", "scale", "0.25,0.5,0.125,1", "1,0.125,0.5,0.25", {0.25F, 0.5F, 0.125F, 1}, {{0.25}, {0.5}, {0.125}, {1}}},
          {"--softcap", "softcap", "4,1,2,8", "8,2,1,4", {4, 1, 2, 8}, {{0.25, 4}, {0.25, 1}, {0.25, 2}, {0.25, 8}}},
          {"--alibi",
           "alibi_slopes",
           "0.5,0.25,0,1",
           "1,0,0.25,0.5",
           {0.5F, 0.25F, 0, 1},
           {{0.25, 0, 0.5}, {0.25, 0, 0.25}, {0.25}, {0.25, 0, 1}}},
          {"--sink",
           "sinks",
           "0,1,-2,3",
           "3,-2,1,0",
           {0, 1, -2, 3},
           {{0.25, 0, 0, 0}, {0.25, 0, 0, 1}, {0.25, 0, 0, -2}, {0.25, 0, 0, 3}}}};
}

class HeadNumbers : public ScratchTest {};

Outcome judge_of(const std::string& file, const std::vector<std::string>& more) {
  return attoscope(with({"judge", "--input", file, "--mask", "causal", "--json", "-"}, more));
}

TEST_F(HeadNumbers, AreJudgedHeadByHead) {
  for (const OfHeads& x : all_numbers()) {
    SCOPED_TRACE(x.option);
    std::vector<FileTensor> tensors = call_of(x.own);
    const std::string file = scratch_.write("call.safetensors", safetensors(tensors));
    for (const std::string shape : {"(4,)", "(1, 4)", "(4, 1)"}) {
      const std::string numbers = scratch_.write("numbers.npy", npy_of(shape, x.numbers));
      EXPECT_EQ(judge_of(file, {x.option, numbers}).code, 0) << shape;
    }
    const Outcome right = judge_of(file, {x.option, x.list});
    ASSERT_EQ(right.code, 0) << right.out << right.err;
    EXPECT_EQ(json::parse(right.out)["table"].size(), 8U);
    EXPECT_EQ(judge_of(file, {x.option, x.reversed}).code, 3);
    EXPECT_EQ(judge_of(file, {}).code, 3);
    EXPECT_EQ(judge_of(file, {x.option, x.list, "--head", "6"}).code, 0);
    EXPECT_EQ(judge_of(file, {x.option, x.reversed, "--head", "6"}).code, 3);

    tensors.push_back({x.name, "F32", "[4]", raw(x.numbers)});
    const std::string with = scratch_.write("with.safetensors", safetensors(tensors));
    const Outcome beside = judge_of(with, {});
    EXPECT_EQ(beside.code, 0) << beside.out << beside.err;
    EXPECT_THAT(beside.out, HasSubstr(std::string(x.option) + " is taken from "));
    EXPECT_EQ(judge_of(with, {x.option, x.reversed}).code, 3) << "an option overrides the file";
    EXPECT_EQ(judge_of(file, {x.option, with + ":" + x.name}).code, 0);
  }
}

TEST_F(HeadNumbers, OfEachBatch) {
  const Floats slopes{0.5F, 0.25F, 0, 1, 0.125F, 0.75F, 2, 0.0625F};
  std::vector<OwnNumbers> own;
  std::string list;
  for (const float slope : slopes) own.push_back({0.25, 0, slope}), list += (list.empty() ? "" : ",") + std::to_string(slope);
  const std::string file = scratch_.write("call.safetensors", safetensors(call_of(own))),
                    numbers = scratch_.write("slopes.npy", npy_of("(2, 4)", slopes));
  EXPECT_EQ(judge_of(file, {"--alibi", list}).code, 0);
  EXPECT_EQ(judge_of(file, {"--alibi", numbers}).code, 0);
  EXPECT_EQ(judge_of(file, {"--alibi", "0.5,0.25,0,1"}).code, 3);
}

/// `run` and `heads` compute with the head's own number and report it.
TEST_F(HeadNumbers, AreThoseOfTheChosenHead) {
  for (const OfHeads& x : all_numbers()) {
    SCOPED_TRACE(x.option);
    const std::string key = std::string(x.option).substr(2);
    const std::string file = scratch_.write("call.safetensors", safetensors(call_of(x.own)));
    const std::string heads = json_of({"heads", file, "--mask", "causal", x.option, x.list, "--no-cache"}).dump();
    for (const int head : {1, 6}) {
      const std::string spec = file + ":" + std::to_string(head);
      const auto run = [&](const std::string& number) {
        return json_of({"run", "--input", spec, "--mask", "causal", x.option, number});
      };
      const json by_list = run(x.list), alone = run(std::to_string(x.numbers[static_cast<std::size_t>(head % 4)]));
      EXPECT_EQ(by_list["digests"], alone["digests"]);
      EXPECT_EQ(by_list["experiment"], alone["experiment"]);
      EXPECT_EQ(by_list["experiment"]["problem"][key], x.numbers[static_cast<std::size_t>(head % 4)]);
      EXPECT_THAT(heads, HasSubstr(by_list["a"]["rms"].dump())) << "head " << head;
    }
  }
}

/// Two layers whose windows differ: the sentence shows the first layer's mask, and names its value.
TEST_F(HeadNumbers, TheMaskIsToldByTheValueItIsFrom) {
  SavedDict dict;
  for (const auto& [layer, left] : {std::pair{"layers.0.", 127}, {"layers.1.", 63}}) {
    for (const char* const part : {"q", "k", "v"})
      dict.floats(layer + std::string(part), {1, 8, 2, 4}, std::vector<double>(64));
    dict.value(layer + std::string("window_size"), SavedDict::tuple({left, 0}));
  }
  const app::HeadNumbers numbers({}, CallFiles(TensorSpec(scratch_.write("call.pt", dict.bytes()))));
  EXPECT_EQ(numbers.text("mask", 0), "window:127:0");
  EXPECT_EQ(numbers.text("mask", 2), "window:63:0");
  EXPECT_THAT(numbers.found(),
              Contains(AllOf(StartsWith("--mask is window:127:0, by "), HasSubstr("call.pt: value 'layers.0.window_size'."))));
}

TEST_F(HeadNumbers, ASideOfAWindowWithoutABoundHasAsManyKeysAsThereAre) {
  for (const auto& [left, right, mask] : {std::tuple{3, -1, "window:3:12"}, {-1, 2, "window:12:2"}}) {
    SavedDict dict;
    dict.floats("q", {1, 2, 8, 4}, std::vector<double>(64)).value("window_size", SavedDict::tuple({left, right}));
    for (const char* const part : {"k", "v"}) dict.floats(part, {1, 2, 12, 4}, std::vector<double>(96));
    const app::HeadNumbers numbers({}, CallFiles(TensorSpec(scratch_.write("call.pt", dict.bytes()))));
    EXPECT_EQ(numbers.text("mask", 0), mask);
  }
}

TEST_F(HeadNumbers, TheMaskOfPyTorchsFlagBeginsAtTheFirstKey) {
  for (const std::string place : {"", "call.", "kwargs."}) {
    SavedDict dict;
    dict.floats(place + "q", {1, 2, 8, 4}, std::vector<double>(64)).value(place + "is_causal", SavedDict::boolean(true));
    for (const char* const part : {"k", "v"}) dict.floats(place + part, {1, 2, 12, 4}, std::vector<double>(96));
    const app::HeadNumbers numbers({}, CallFiles(TensorSpec(scratch_.write("call.pt", dict.bytes()))));
    EXPECT_EQ(numbers.text("mask", 0), "causal:top-left") << place;
  }
}

TEST_F(HeadNumbers, OfOneLayerAloneAreToldAndNotUsed) {
  SavedDict dict;
  for (const std::string layer : {"layers.0.", "layers.1."})
    for (const char* const part : {"q", "k", "v"}) dict.floats(layer + part, {1, 8, 2, 4}, std::vector<double>(64));
  dict.value("layers.0.causal", SavedDict::boolean(true)).value("layers.1.softcap", SavedDict::real(20));
  const app::HeadNumbers numbers({}, CallFiles(TensorSpec(scratch_.write("call.pt", dict.bytes()))));
  EXPECT_FALSE(numbers.any());
  for (const char* const value : {"'layers.0.causal'", "'layers.1.softcap'"})
    EXPECT_THAT(numbers.found(), Contains(AllOf(StartsWith("Not every layer has a value like "), HasSubstr(value),
                                                EndsWith(": judged without."))));
}

TEST_F(HeadNumbers, AreRefusedInASentence) {
  const std::string file = scratch_.write("call.safetensors", safetensors(call_of({{}}))),
                    three = scratch_.write("three.npy", npy_of("(3,)", Floats{1, 2, 3})),
                    turned = scratch_.write("turned.npy", npy(npy_header("<f4", "(2, 4)", "True"), raw(Floats(8, 1))));
  const std::vector<std::pair<std::vector<std::string>, std::string>> cases{
      {{"--alibi", "1,2,3"}, "--alibi holds 3 numbers, expected 4, one for each head, or 8, those of 2 batches"},
      {{"--alibi", turned}, "turned.npy is in Fortran order, expected C order"},
      {{"--sink", three}, "--sink holds 3 numbers, expected 4"},
      {{"--scale", "1,2,x,1"}, "--scale is 'x', expected a finite number above 0\n"},
      {{"--scale", "1,2,-1,1"}, "--scale is '-1', expected a finite number above 0\n"},
      {{"--scale", "1,2,0,1"}, "--scale is '0', expected a finite number above 0"},
      {{"--softcap", "1,,2,3"}, "--softcap is '', expected"},
      {{"--alibi", "none.npy"}, "none.npy"}};
  for (const auto& [options, said] : cases) {
    const Outcome outcome = judge_of(file, options);
    EXPECT_THAT(outcome.err, HasSubstr(said));
    EXPECT_TRUE(outcome.code == 1 || outcome.code == 2) << outcome.code;
  }
  expect_refused({"run", "--n", "48", "--d", "16", "--alibi", "0.5,0.25"}, 2, "--alibi is '0.5,0.25', expected one number");
}

}  // namespace
}  // namespace attoscope::testing
