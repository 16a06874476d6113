// Masks from files: `run`, `judge` and `heads` with --mask-file and --document-ids; error sentences for files that do not fit.

#include <cmath>
#include <functional>
#include <limits>
#include <nlohmann/json.hpp>
#include <string>
#include <tuple>
#include <vector>

#include "kernels/arithmetic/format.h"
#include "tests/app/outcome.h"
#include "tests/support/matchers.h"
#include "tests/support/support.h"
#include "tests/tensors/tensor_files.h"

namespace attoscope::testing {
namespace {

using nlohmann::json;

/// True if the query sees the key in this head of this sequence.
using Keeps = std::function<bool(int sequence, int head, int query, int key)>;

/// Q, K, V of b x h heads, n x d, rounded to bf16; O by a plain loop under a mask, rounded to bf16.
struct Call {
  int b = 1, h = 1, n = 16, d = 8;
  TemporaryDirectory scratch;
  std::vector<float> q, k, v;

  Call(int sequences, int heads, int tokens, int columns, std::uint64_t seed = 1)
      : b(sequences), h(heads), n(tokens), d(columns) {
    Dice dice(seed);
    for (std::vector<float>* x : {&q, &k, &v})
      for (int i = 0; i < b * h * n * d; ++i) x->push_back(round(bf16, static_cast<float>(dice.normal())));
    write("q", shape(), q), write("k", shape(), k), write("v", shape(), v);
  }
  std::string shape() const { return ::testing::PrintToString(std::tuple(b, h, n, d)); }
  std::string write(const std::string& name, const std::string& shape, const std::vector<float>& x) const {
    return scratch.write(name + ".npy", npy_of(shape, x));
  }
  std::string write_bits(const std::string& name, const std::string& shape, const std::string& bits,
                         const char* type = "|b1") const {
    return scratch.write(name + ".npy", npy(npy_header(type, shape), bits));
  }
  /// Bytes of the boolean mask [sequences, heads, n, n].
  std::string bits(const Keeps& keeps, int sequences, int heads) const {
    std::string all;
    for (int s = 0; s < sequences; ++s)
      for (int head = 0; head < heads; ++head)
        for (int i = 0; i < n; ++i)
          for (int j = 0; j < n; ++j) all += keeps(s, head, i, j) ? '\1' : '\0';
    return all;
  }

  /// Writes O computed in double with term(sequence, head, query, key) added to the scores.
  std::string output_of_terms(const std::function<double(int, int, int, int)>& term, const std::string& name = "o",
                              double without_keys = 0) const {
    std::vector<float> o;
    for (int head = 0; head < b * h; ++head)
      for (int i = 0; i < n; ++i) {
        std::vector<double> s;
        for (int j = 0; j < n; ++j) {
          double dot = 0;
          for (int c = 0; c < d; ++c) dot += static_cast<double>(q[at(head, i, c)]) * k[at(head, j, c)];
          s.push_back(dot / std::sqrt(d) + term(head / h, head % h, i, j));
        }
        const double m = *std::ranges::max_element(s);
        for (int c = 0; c < d; ++c) {
          double sum = 0, l = 0;
          for (int j = 0; j < n; ++j)
            l += std::exp(s[static_cast<std::size_t>(j)] - m),
                sum += std::exp(s[static_cast<std::size_t>(j)] - m) * v[at(head, j, c)];
          o.push_back(m > -infinity ? round(bf16, static_cast<float>(sum / l)) : static_cast<float>(without_keys));
        }
      }
    return write(name, shape(), o);
  }
  std::string output(const Keeps& keeps, const std::string& name = "o") const {
    return output_of_terms([&](int s, int head, int i, int j) { return keeps(s, head, i, j) ? 0 : -infinity; }, name);
  }

  /// Runs `judge` on an output; expects the exit code `code`.
  Outcome judged(const std::vector<std::string>& more, int code, const std::string& o = "o") const {
    std::vector<std::string> all{"judge", "--format", "bf16", "--layout", "b h n d", "--json", "-"};
    for (const std::string& part : {std::string("q"), std::string("k"), std::string("v")})
      all.insert(all.end(), {"--" + part, scratch / (part + ".npy")});
    all.insert(all.end(), {"--o", scratch / (o + ".npy")});
    const Outcome outcome = attoscope(with(all, more));
    EXPECT_EQ(outcome.code, code) << outcome.out << outcome.err;
    return outcome;
  }
  /// The value of --input for Q, K and V.
  std::string files() const { return scratch / "q.npy" + ("," + scratch / "k.npy") + "," + scratch / "v.npy"; }

 private:
  static constexpr double infinity = std::numeric_limits<double>::infinity();
  std::size_t at(int head, int row, int c) const { return static_cast<std::size_t>((head * n + row) * d + c); }
};

/// pytorch#108503: a block-diagonal mask against separate calls.
TEST(MasksCommand, ABlockDiagonalMaskIsThatOfSeparateCalls) {
  const Call call(1, 1, 600, 80);
  const Keeps keeps = [](int, int, int i, int j) { return i / 128 == j / 128; };
  call.output(keeps);
  const std::string mask = call.write_bits("mask", "(600, 600)", call.bits(keeps, 1, 1));
  std::string ids;
  for (int i = 0; i < 600; ++i) ids += little_endian(static_cast<std::uint64_t>(i / 128 + 7), 8);
  const std::string documents = call.write_bits("ids", "(600,)", ids, "<i8");
  call.judged({"--mask-file", mask}, 0);
  call.judged({"--document-ids", documents}, 0);
  call.judged({}, 3);
  call.output([](int, int, int, int) { return true; }, "unmasked");
  EXPECT_THAT(call.judged({"--mask-file", mask}, 3, "unmasked").out, HasSubstr("the mask tensor ignored"));
}

/// pytorch#184180: a mask [b, 1, n, n] whose offset forgets the sequence.
TEST(MasksCommand, AMaskOfTheFirstSequenceIsNamed) {
  const Call call(2, 4, 8, 64);
  const Keeps keeps = [](int s, int, int i, int j) { return (i * 5 + j * (3 + s) + s) % 3 != 0 || i == j; };
  call.output(keeps);
  const std::string mask = call.write_bits("mask", "(2, 1, 8, 8)", call.bits(keeps, 2, 1));
  call.judged({"--mask-file", mask}, 0);
  call.output([&](int, int head, int i, int j) { return keeps(0, head, i, j); }, "wrong");
  EXPECT_THAT(json::parse(call.judged({"--mask-file", mask}, 3, "wrong").out)["sentences"][0].get<std::string>(),
              HasSubstr("the mask tensor of head 0 instead of head"));
  const std::string dropped = call.write_bits("dropped", "(2, 1, 8, 8)",
                                              call.bits([&](int s, int h, int i, int j) { return !keeps(s, h, i, j); }, 2, 1));
  call.judged({"--mask-file", dropped + ":drop"}, 0);
}

/// transformers#17433: a mask with the lowest number of fp16 instead of -infinity; rows of padding get finite values.
TEST(MasksCommand, TheLowestNumberIsAddedAsItIs) {
  const Call call(1, 1, 24, 16);
  for (const double lowest : {-65504.0, -3.4028234663852886e38}) {
    const auto term = [lowest](int, int, int i, int j) { return j < 5 || j > i ? lowest : 0.0; };
    std::vector<float> terms;
    for (int i = 0; i < 24; ++i)
      for (int j = 0; j < 24; ++j) terms.push_back(static_cast<float>(term(0, 0, i, j)));
    const std::string mask = call.write("mask", "(1, 1, 24, 24)", terms);
    call.output_of_terms(term);
    call.judged({"--mask-file", mask}, 0);
    call.judged({"--mask", "padding:5"}, 3);  // rows of padding are the mean of V, not 0
  }
}

/// An eager kernel in fp16 rounds all scores of rows of padding to -infinity: NaN.
TEST(MasksCommand, RowsOfPaddingAreNaNWhereFp16HoldsTheirScores) {
  Call call(1, 1, 8, 16);
  call.write("q", call.shape(), std::vector<float>(128, 4)), call.write("k", call.shape(), std::vector<float>(128, -4));
  std::vector<float> terms(64);
  for (std::size_t i = 0; i < 16; ++i) terms[i] = -65504;  // rows 0 and 1
  const std::string mask = call.write("mask", "(8, 8)", terms);
  const std::vector<std::string> run{"run",         "--input",     call.files(), "--layout",   "b h n d",
                                     "--mask-file", mask,          "--format",   "fp16",       "--policy",
                                     "eager",       "--algorithm", "three_pass", "--baseline", "base_hw"};
  const json told = json_of(run);
  EXPECT_EQ(told["a"]["nonfinite"], 2 * 16) << told["a"];
  EXPECT_EQ(told["b"]["nonfinite"], 0);
  EXPECT_THAT(output_of(run), HasSubstr("FAILS PyTorch's (at most 5), since a has more NaN or infinite elements (32, b 0)"));
}

/// Rows that see no key are expected to be 0, with --empty-rows nan to be NaN; the verdict names the other convention.
TEST(MasksCommand, RowsWithoutKeysFollowAConvention) {
  const Call call(1, 1, 24, 16);
  const auto term = [](int, int, int i, int j) { return j < 5 || j > i ? -std::numeric_limits<double>::infinity() : 0.0; };
  call.output_of_terms(term, "zeros"), call.output_of_terms(term, "nan", std::nan(""));
  const std::vector<std::string> usual{"--mask", "padding:5"}, asks_for_nan = with(usual, {"--empty-rows", "nan"});
  call.judged(usual, 0, "zeros");
  call.judged(asks_for_nan, 0, "nan");
  EXPECT_THAT(call.judged(usual, 3, "nan").out, AllOf(HasSubstr("a division by l = 0 in rows that see no key"),
                                                      HasSubstr("If NaN is meant there: --empty-rows nan.")));
  EXPECT_THAT(call.judged(asks_for_nan, 3, "zeros").out,
              HasSubstr("zeros in rows 0 to 4, which see no key, where --empty-rows nan asks for NaN"));
  call.output_of_terms(
      [](int, int, int i, int j) { return j < 5 || j > i + 1 ? -std::numeric_limits<double>::infinity() : 0.0; }, "shifted",
      std::nan(""));
  EXPECT_THAT(call.judged(asks_for_nan, 3, "shifted").out, HasSubstr("key")) << "other mistakes are still named";
  call.judged(with(usual, {"--empty-rows", "ones"}), 2, "zeros");
  const json told = json_of({"run", "--n", "24", "--d", "8", "--mask", "padding:5", "--empty-rows", "nan"});
  EXPECT_EQ(told["experiment"]["problem"]["empty_rows"], "nan");
  EXPECT_EQ(told["a"]["nonfinite"], 5 * 8);
  EXPECT_FALSE(json_of({"run", "--n", "24"})["experiment"]["problem"].contains("empty_rows"));
}

/// A mask tensor in the file of Q, K, V and O is used and reported; a mask rule in the metadata applies in addition.
TEST(MasksCommand, AMaskBesideTheTensorsIsTaken) {
  const Call call(1, 2, 16, 8);
  const Keeps gaps = [](int, int, int i, int j) { return (i + 2 * j) % 3 != 0 || i == j; };
  const Keeps causal_gaps = [&](int s, int h, int i, int j) { return gaps(s, h, i, j) && j <= i; };
  const auto file = [&](const std::string& o, const std::string& mask, const std::string& rule) {
    const std::string shape = "[1,2,16,8]";
    std::vector<FileTensor> tensors{{"q", "F32", shape, raw(call.q)},
                                    {"k", "F32", shape, raw(call.k)},
                                    {"v", "F32", shape, raw(call.v)},
                                    {"o", "F32", shape, raw(last_numbers<float>(o, call.q.size()))}};
    if (!mask.empty()) tensors.push_back({"attn_mask", "U8", mask, call.bits(gaps, 1, 1)});
    const std::string metadata = rule.empty() ? "" : R"("__metadata__":{"mask":")" + rule + R"(","layers":"a"},)";
    return call.scratch.write("call.safetensors", safetensors(tensors, metadata));
  };
  const auto judged = [&](const std::string& input, int code) {
    return json_of({"judge", "--input", input, "--layout", "b h n d", "--format", "bf16"}, code).dump();
  };
  EXPECT_THAT(judged(file(call.output(gaps), "[1,1,16,16]", ""), 0), HasSubstr("The mask of the file has gaps"));
  judged(file(call.output(causal_gaps), "[1,1,16,16]", ""), 3);
  judged(file(call.output(causal_gaps), "[16,16]", "causal"), 0);
  EXPECT_THAT(judged(file(call.output([](int, int, int i, int j) { return j <= i; }), "", "causal"), 0),
              HasSubstr("The mask of the file is causal."));
  judged(file(call.output([](int, int, int, int) { return true; }), "[256]", ""), 0);  // [256] is no mask of this call: ignored
}

/// Two masks in the file of Q, K and V, and a rule that is unknown, are not used and named, with O in another file, too.
TEST(MasksCommand, MasksThatAreNotUsedAreNamed) {
  const Call call(1, 1, 16, 8);
  const std::string o = call.output([](int, int, int, int) { return true; }), shape = "[1,1,16,8]";
  const std::string file =
      call.scratch.write("call.safetensors", safetensors({{"q", "F32", shape, raw(call.q)},
                                                          {"k", "F32", shape, raw(call.k)},
                                                          {"v", "F32", shape, raw(call.v)},
                                                          {"o", "F32", shape, raw(last_numbers<float>(o, call.q.size()))},
                                                          {"attn_mask", "U8", "[16,16]", std::string(256, '\0')},
                                                          {"key_padding_mask", "U8", "[1,16]", std::string(16, '\0')}},
                                                         R"("__metadata__":{"mask":"oblique","layers":"a"},)"));
  for (const std::vector<std::string>& more : {std::vector<std::string>{}, {"--o", o}})
    EXPECT_THAT(json_of(with({"judge", "--input", file, "--format", "bf16"}, more)).dump(),
                AllOf(HasSubstr("'attn_mask' and key_padding_mask may both be the mask: none is used"),
                      HasSubstr("its mask 'oblique' is not understood and not used")));
  const std::vector<std::string> named{"judge",     "--q", file + ":q", "--k",      file + ":k", "--v",
                                       file + ":v", "--o", file + ":o", "--format", "bf16"};
  const char* const said = "tensor 'attn_mask' may be the mask, but is not read if q, k or v is named";
  EXPECT_THAT(json_of(named).dump(), HasSubstr(said));
  EXPECT_THAT(attoscope(with(named, {"--mask-file", file + ":attn_mask:drop"})).out, Not(HasSubstr(said)));
}

TEST(MasksCommand, RulesAreNamed) {
  const Call call(1, 2, 16, 8);
  const Keeps causal = [](int, int, int i, int j) { return j <= i; };
  call.output(causal);
  const std::string mask = call.write_bits("mask", "(16, 16)", call.bits(causal, 1, 1), "|u1"),
                    signed_mask = call.write_bits("signed", "(16, 16)", call.bits(causal, 1, 1), "|i1");
  for (const std::string& file : {mask, signed_mask})
    EXPECT_THAT(call.judged({"--mask-file", file}, 0).out, HasSubstr("The mask of the file is causal."));
  const Keeps padded = [](int, int head, int i, int j) { return head <= j && j <= i; };
  call.output(padded, "padded");
  const std::string of_heads = call.write_bits("two", "(1, 2, 16, 16)", call.bits(padded, 1, 2));
  EXPECT_THAT(call.judged({"--mask-file", of_heads}, 0, "padded").out, HasSubstr("The mask of head "));
  EXPECT_THAT(attoscope({"run", "--input", call.files(), "--mask-file", of_heads}).out, HasSubstr("The mask of this head is "));
  call.output([](int, int, int i, int j) { return j <= i + 1; }, "shifted");
  EXPECT_THAT(call.judged({"--mask-file", mask}, 3, "shifted").out, HasSubstr("shifted by one key"));
  const std::string files = call.files();
  EXPECT_EQ(json_of({"run", "--input", files, "--mask-file", mask})["digests"],
            json_of({"run", "--input", files, "--mask", "causal"})["digests"]);
  EXPECT_THAT(attoscope({"run", "--input", files, "--mask-file", mask}).out, HasSubstr("The mask of the file is causal."));
  EXPECT_EQ(attoscope({"heads", files, "--mask-file", mask, "--no-cache", "--csv", "-"}).out,
            attoscope({"heads", files, "--mask", "causal", "--no-cache", "--csv", "-"}).out);
}

TEST(MasksCommand, DocumentsNeedAKeyForEachQuery) {
  const Call call(1, 1, 8, 8);
  call.write("o", call.shape(), call.q);
  for (const char* const part : {"k", "v"}) call.write(part, "(1, 1, 4, 8)", floats_of(32));
  const std::string ids = call.write_bits("ids", "(4,)", std::string(32, '\0'), "<i8");
  EXPECT_THAT(call.judged({"--document-ids", ids}, 1).err,
              HasSubstr("ids.npy cuts a call of 8 queries and 4 keys into documents, expected no more queries than keys"));
}

TEST(MasksCommand, DocumentsHaveFiniteNumbers) {
  const Call call(1, 1, 4, 8);
  call.write("o", call.shape(), call.q);
  for (const float x : {std::nanf(""), std::numeric_limits<float>::infinity()}) {
    const std::string ids = call.write("ids", "(4,)", {0, 0, x, 1});
    EXPECT_THAT(call.judged({"--document-ids", ids}, 1).err,
                AllOf(HasSubstr("ids.npy: element [0, 2] of a head is "), HasSubstr(", expected the number of a document")));
  }
}

TEST(MasksCommand, MisfitsGetASentence) {
  const Call call(8, 1, 8, 8);
  call.output([](int, int, int, int) { return true; });
  const auto refused = [&](const std::string& file, const std::string& sentence) {
    const Outcome outcome = call.judged({"--mask-file", file}, 1);
    EXPECT_THAT(outcome.err, HasSubstr(sentence));
    EXPECT_EQ(std::ranges::count(outcome.err, '\n'), 1) << outcome.err;
  };
  refused(call.write_bits("two", "(8, 8)", std::string(64, '\1')),
          "four axes, since these fit [n_q, n_k] and [b, n_k]: [1, 1, 8, 8] or [8, 1, 1, 8]");
  refused(call.write_bits("other", "(8, 9)", std::string(72, '\1')),
          "has shape [8, 9], expected [8, 8], [1, 8, 8], [8, 1, 8, 8] or [8, 1, 1, 8]\n");
  refused(call.write_bits("threes", "(1, 1, 8, 8)", std::string(64, '\3'), "|u1"),
          "element [0, 0] of a head is 3, expected 0 or 1");
  std::vector<float> nan(64, 0);
  nan[9] = std::numeric_limits<float>::quiet_NaN();
  refused(call.write("nan", "(1, 1, 8, 8)", nan), "element [1, 1] of a head is nan, expected a number or -infinity");
  const std::string good = call.write_bits("good", "(8, 1, 1, 8)", std::string(64, '\1'));
  call.judged({"--mask-file", good}, 0);
  call.judged({"--mask-file", "mask.txt"}, 2);
  expect_refused({"run", "--mask-file", good}, 2, "--mask-file was not expected without --input");
}

}  // namespace
}  // namespace attoscope::testing
