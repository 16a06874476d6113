// Packed, padded and paged calls in files of torch.save (tests/data/packed): each sequence is judged as a call.

#include <array>
#include <cmath>
#include <cstdint>
#include <limits>
#include <nlohmann/json.hpp>
#include <random>
#include <string>
#include <vector>

#include "app/tensors/call_files.h"
#include "tests/app/outcome.h"
#include "tests/support/matchers.h"
#include "tests/tensors/tensor_files.h"

namespace attoscope::testing::packed_command_test {
namespace {

using nlohmann::json;
using Words = std::vector<std::string>;

std::string path(const std::string& name) { return "tests/data/packed/" + name + ".pt"; }

/// The rows that `heads` writes, by head number, without their names, layers and sequences.
json rows_of(const Words& call) {
  const json told = json_of(with({"heads"}, with(call, {"--mask", "causal", "--no-cache"})));
  json rows;
  for (json row : told["heads"]) {
    row.erase("name"), row.erase("layer"), row.erase("sequence");
    rows[row["head"].dump()] = row;
  }
  return rows;
}

TEST(PackedCommand, EachSequenceIsACallOfItsOwn) {
  const json separate = rows_of({path("separate")});
  ASSERT_EQ(separate.size(), 12);
  const std::string packed = path("packed"), paged = path("paged"), csr = path("flashinfer");
  for (const Words& call :
       {Words{packed}, Words{paged}, Words{csr}, Words{csr, "--page-layout", "HND"},
        Words{packed, "--cu-seqlens-q", packed + ":cu_seqlens_q", "--cu-seqlens-k", packed, "--layout", "nhd"},
        Words{csr, "--kv", csr, "--kv-indptr", csr, "--kv-indices", csr, "--kv-last-page-len", csr},
        Words{packed + ",cu_seqlens_k=" + packed + ":cu_seqlens_k"},
        Words{csr, "--block-table", paged, "--cache-seqlens", paged + ":cache_seqlens"},
        Words{paged, "--kv-indptr", csr, "--kv-indices", csr, "--kv-last-page-len", csr}})
    EXPECT_EQ(rows_of(call), separate) << ::testing::PrintToString(call);
  expect_refused({"heads", paged, "--kv-indptr", csr}, 2, "is a block_table, expected one of them");
  expect_refused({"heads", packed, "--kv-last-page-len", csr}, 2, "there is no kv_indices");
  expect_refused({"heads", packed, "--page-layout", "HND"}, 2, "there is no block_table or kv_indices, expected pages");
  for (const std::string table : {"cache-seqlens", "cu-seqlens-k"})
    expect_refused({"heads", csr, "--" + table, paged + ":cache_seqlens"}, 2, "are counted by kv_last_page_len");
  expect_refused({"judge", "--q", csr, "--k", csr, "--v", csr, "--o", csr, "--kv", "none.pt"}, 2,
                 "--kv was not expected beside --k and --v");
}

TEST(PackedCommand, OtherTablesGiveOtherNumbers) {
  const TemporaryDirectory scratch;
  const auto table = [&](const std::string& name, const std::vector<std::int32_t>& x, const std::string& shape) {
    return scratch.write(name + ".safetensors", safetensors({{name, "I32", shape, raw(x)}}));
  };
  const json packed = rows_of({path("packed")}), paged = rows_of({path("paged")});
  EXPECT_NE(rows_of({path("packed"), "--cu-seqlens-k", table("cu_seqlens_k", {0, 10, 23, 34}, "[4]")}), packed);
  const std::vector<std::int32_t> right{7, 2, 11, 0, 4, 0, 9, 13, 5, 12, 3, 0}, swapped{2, 7, 11, 0, 4, 0, 9, 13, 5, 12, 3, 0};
  EXPECT_EQ(rows_of({path("paged"), "--block-table", table("block_table", right, "[3,4]")}), paged);
  EXPECT_NE(rows_of({path("paged"), "--block-table", table("block_table", swapped, "[3,4]")}), paged);
}

struct JudgedFile {
  const char *file, *output;
  Words more{};
  int code = 0;
  std::string says{};
};

TEST(PackedCommand, JudgesEachSequenceAndNamesItsMistake) {
  const Words causal{"--mask", "causal"};
  for (const JudgedFile& c : std::vector<JudgedFile>{
           {"packed", "out", causal},
           {"packed", "bounds", causal, 3, "cu_seqlens_q[1] and cu_seqlens_k[1] are one too large"},
           {"packed", "bounds_of_keys", causal, 3, "cu_seqlens_k[1] is one too large"},
           {"packed", "keys_of_another", causal, 3, "sequence 1 reads the keys of sequence 2"},
           {"packed", "keys_at_0", causal, 3, "the keys of sequence 1 begin at token 0"},
           {"packed", "v_at_0", causal, 3, "V of sequence 1 begins at token 0"},
           {"packed", "q_at_0", causal, 3, "the queries of sequence 2 begin at token 0"},
           {"packed", "all_at_0", causal, 3, "queries and keys of sequence 1 begin at token 0"},
           {"packed", "keys_of_the_next", causal, 3, "the keys of sequence 0 begin at those of the next sequence"},
           {"packed", "keys_without_end", causal, 3, "sequence 1 sees the keys of all sequences behind it"},
           {"paged", "out", causal},
           {"paged", "page_of_another", causal, 3, "page 3 of sequence 1 holds keys of sequence 0, page 1"},
           {"paged", "exchanged", causal, 3, "pages 0 and 2 of sequence 1 are exchanged"},
           {"paged", "unused_page", causal, 3,
            "page 1 of sequence 1 holds keys of page 6 of the cache, which is in no sequence"},
           {"paged", "pages_of_another", causal, 3, "sequence 2 reads the pages of sequence 1"},
           {"paged", "one_key_more", causal, 3, "cache_seqlens[0] is one too large"},
           {"flashinfer", "out", causal},
           {"flashinfer", "page_of_another", causal, 3, "page 3 of sequence 1 holds keys of sequence 0, page 1"},
           {"vllm", "output"},
           {"vllm", "padding", {}, 3, "the keys of padding behind sequence 0 are not masked"},
           {"padded", "out", causal},
           {"padded", "padding", causal, 3, "the 3 keys of padding before sequence 2 are not masked"}}) {
    SCOPED_TRACE(std::string(c.file) + ":" + c.output);
    const std::string file = path(c.file);
    const json told = json_of(with({"judge", "--input", file, "--o", file + ":" + c.output}, c.more), c.code);
    ASSERT_EQ(told["table"].size(), 12);
    for (int head = 0; head < 12; ++head) EXPECT_EQ(told["table"][static_cast<std::size_t>(head)]["sequence"], head / 4);
    if (c.code == 3) {
      EXPECT_THAT(told["sentences"][0].get<std::string>(), HasSubstr(c.says));
      EXPECT_THAT(told["sentences"][0].get<std::string>(), HasSubstr("sequence "));
    }
  }
}

TEST(PackedCommand, TellsOfATableThatIsNotRead) {
  const std::string file = path("packed");
  const Words named{"judge",     "--q", file + ":q",   "--k",    file + ":k", "--v",
                    file + ":v", "--o", file + ":out", "--mask", "causal"};
  EXPECT_THAT(attoscope(named).out, HasSubstr("may say where sequences lie, but is not read if q is named"));
  const std::string read = output_of(with(named, {"--cu-seqlens-q", file, "--cu-seqlens-k", file}));
  EXPECT_THAT(read, Not(HasSubstr("is not read")));
  EXPECT_EQ(attoscope({"judge", file, "--mask", "causal"}).out, read);
}

TEST(PackedCommand, HeadsOfPackedCallsNameTheirSequence) {
  for (const auto& [file, of_last] : {std::pair{"packed", json(2)}, {"separate", json()}}) {
    const json found = json_of({"heads", path(file), "--mask", "causal"});
    for (const json& row : found.at("heads"))
      if (row["head"] == 11) {
        EXPECT_EQ(row.value("sequence", json()), of_last);
      }
  }
}

/// Every tensor of a call is given by its own option.
TEST(PackedCommand, PartsAreNamedOneByOne) {
  const std::string file = path("vllm");
  Words call{"judge", "--q", file + ":query", "--kv", file, "--o", file + ":output", "--block-table", file};
  EXPECT_EQ(attoscope(with(call, {"--cache-seqlens", file + ":seq_lens"})).code, 0);
  expect_refused(call, 1, "tensor 'block_table' has no cache_seqlens beside it, expected the keys of each sequence");
}

TEST(PackedCommand, ASequenceIsComputedAlone) {
  const json problem = json_of({"run", "--input", path("packed") + ":5", "--mask", "causal"})["experiment"]["problem"];
  EXPECT_EQ(problem["n"], 7);
  EXPECT_EQ(problem["n_k"], 14);
}

std::string numbers(int count) {
  return raw(floats_of(count, [](int i) { return static_cast<float>(i % 7) / 4; }));
}
FileTensor ints(const std::string& name, const std::vector<std::int32_t>& x) {
  return {name, "I32", sizes_text({static_cast<int>(x.size())}), raw(x)};
}
FileTensor table(int columns, const std::vector<std::int32_t>& x) {
  return {"block_table", "I32", sizes_text({static_cast<int>(x.size()) / columns, columns}), raw(x)};
}

std::vector<FileTensor> paged_call(int tokens) {
  return {{"q", "F32", "[" + std::to_string(tokens) + ",2,4]", numbers(8 * tokens)},
          {"k_cache", "F32", "[5,2,2,4]", numbers(80)},
          {"v_cache", "F32", "[5,2,2,4]", numbers(80)}};
}
std::string written(const TemporaryDirectory& scratch, std::vector<FileTensor> call, const std::vector<FileTensor>& tables) {
  call.insert(call.end(), tables.begin(), tables.end());
  return scratch.write("x.safetensors", safetensors(call));
}

/// Invalid tables of a call, and words of the error sentence.
struct BadTables {
  std::vector<FileTensor> tables;
  std::string says;
};
void expect_all_refused(const std::vector<FileTensor>& call, const std::vector<BadTables>& all) {
  const TemporaryDirectory scratch;
  for (const BadTables& bad : all) expect_refused({"heads", written(scratch, call, bad.tables)}, 1, bad.says);
}

TEST(PackedCommand, BadTablesAreRefusedInOneSentence) {
  const std::int64_t far = std::int64_t{1} << 40;
  const FileTensor queries = ints("cu_seqlens_q", {0, 4, 6});
  expect_all_refused(
      alike("F32", "[6,2,4]", numbers(48)),
      {{{ints("cu_seqlens_q", {0, 4, 3, 6})}, "tensor 'cu_seqlens_q'[2] is 3, expected 4 to 6"},
       {{ints("cu_seqlens_q", {0, 4, 7})}, "tensor 'cu_seqlens_q'[2] is 7, expected 4 to 6"},
       {{ints("cu_seqlens_q", {1, 6})}, "tensor 'cu_seqlens_q'[0] is 1, expected 0"},
       {{ints("cu_seqlens_q", {0, -1, 6})}, "tensor 'cu_seqlens_q'[1] is -1, expected 0 to 6"},
       {{ints("cu_seqlens_q", {0})}, "tensor 'cu_seqlens_q' has shape [1], expected at least 2 numbers"},
       {{ints("cu_seqlens_q", {0, 0})}, "belongs to sequences without tokens"},
       {{{"cu_seqlens_q", "I64", "[2]", raw(std::vector<std::int64_t>{0, far})}},
        "tensor 'cu_seqlens_q'[1] is 1099511627776, expected 0 to 6"},
       {{queries, ints("cu_seqlens_k", {0, 6})}, "tensor 'cu_seqlens_k' has shape [2], expected 3 for the 2 sequences of"},
       {{queries, ints("seqused_k", {5, 2})}, "tensor 'seqused_k'[0] is 5, expected 0 to 4"},
       {{queries, ints("leftpad_k", {0, 3})}, "tensor 'leftpad_k'[1] is 3, expected 0 to 2"}});
  const FileTensor lengths = ints("cache_seqlens", {3, 4}), list = ints("kv_indices", {0, 1, 2}),
                   parts = ints("kv_indptr", {0, 2, 3});
  expect_all_refused(
      paged_call(2),
      {{{table(2, {0, 1, 2, 3})}, "tensor 'block_table' has no cache_seqlens beside it"},
       {{table(2, {0, 5, 2, 3}), lengths}, "tensor 'block_table'[1] is 5, expected 0 to 4"},
       {{table(2, {0, 1, 2, -1}), lengths}, "tensor 'block_table'[3] is -1, expected 0 to 4"},
       {{table(2, {0, 0, 2, 3}), lengths},
        "tensor 'block_table': sequence 0 has page 0 as its pages 0 and 1, expected each page once"},
       {{table(2, {0, 1, 2, 3}), ints("cache_seqlens", {3, 5})}, "tensor 'cache_seqlens'[1] is 5, expected 0 to 4"},
       {{ints("block_table", {0, 1}), ints("cache_seqlens", {1, 1})},
        "tensor 'block_table' has shape [2], expected [sequences, pages]"},
       {{table(2, {0, 1, 2, 3, 4, 0}), ints("cache_seqlens", {3, 4, 1})},
        "tensor 'q' has shape [2, 2, 4], expected queries of 3 sequences, or cu_seqlens_q"},
       {{parts}, "tensor 'kv_indptr' has no kv_indices beside it"},
       {{list, parts}, "tensor 'kv_indices' has no kv_last_page_len beside it"},
       {{list, parts, ints("kv_last_page_len", {2, 3})}, "tensor 'kv_last_page_len'[1] is 3, expected 1 to 2"}});
  const TemporaryDirectory scratch;
  const std::string file = written(scratch, paged_call(2), {});
  expect_refused({"heads", file, "--block-table", file + ":q", "--cache-seqlens", file + ":q"}, 1,
                 "tensor 'q' has dtype 'F32', expected I32 or I64");
  expect_refused({"heads", file, "--page-layout", "HDN"}, 2, "page_layout is 'HDN', expected NHD or HND");
  expect_refused({"run", "--block-table", file}, 2, "--block-table was not expected without --input");
}

TEST(PackedCommand, SequencesOfEqualLengthShareAMask) {
  const TemporaryDirectory scratch;
  const auto read = [&](const std::vector<std::int32_t>& bounds, const std::string& shape, int bits) {
    return CallFiles(TensorSpec(
        written(scratch, alike("F32", "[6,2,4]", numbers(48)),
                {ints("cu_seqlens_q", bounds), {"mask", "BOOL", shape, std::string(static_cast<std::size_t>(bits), '\1')}})));
  };
  EXPECT_THAT(read({0, 3, 6}, "[3,3]", 9).left_out(), IsEmpty());
  EXPECT_NE(read({0, 3, 6}, "[3,3]", 9).inputs(3).mask, nullptr) << "sequence 1";
  EXPECT_THAT(read({0, 3, 6}, "[2,3]", 6).left_out(),
              ElementsAre(HasSubstr("which is no mask of these calls: it is not used")));
  EXPECT_EQ(read({0, 3, 6}, "[2,3]", 6).inputs(0).mask, nullptr);
  EXPECT_THAT(read({0, 2, 4}, "[2,2]", 4).left_out(),
              Contains(HasSubstr("has shape [2, 2], which fits [n_q, n_k] and [sequences, n_k]: it is not used")));
  EXPECT_NE(read({0, 2, 4}, "[1,1,2,2]", 4).inputs(0).mask, nullptr);
  const std::string mask = scratch.write("m.npy", npy(npy_header("|b1", "(4, 4)"), std::string(16, '\1'))),
                    file = written(scratch, alike("F32", "[6,2,4]", numbers(48)), {ints("cu_seqlens_q", {0, 4, 6})});
  for (const char* const option : {"--mask-file", "--document-ids"})
    expect_refused({"heads", file, option, mask}, 1, "its sequences have several lengths, for which a mask tensor");
}

TEST(PackedCommand, TellsOfQueriesBehindTheLastSequence) {
  const TemporaryDirectory scratch;
  const auto left_out = [&](std::int32_t end) {
    return CallFiles(TensorSpec(written(scratch, alike("F32", "[6,2,4]", numbers(48)), {ints("cu_seqlens_q", {0, 2, end})})))
        .left_out();
  };
  EXPECT_THAT(left_out(4), ElementsAre("tokens 4 to 5 of q belong to no sequence"));
  EXPECT_THAT(left_out(5), ElementsAre("token 5 of q belongs to no sequence"));
  EXPECT_THAT(left_out(6), IsEmpty());
}

/// O of a sequence without keys is 0, or NaN if that is meant, and L an infinity. Every other O is 1, and L ln 2.
TEST(PackedCommand, SequencesWithoutKeysAreJudged) {
  const TemporaryDirectory scratch;
  const auto told = [&](double o, double lse, int code, const Words& more = {}) {
    const auto number = [&](double x, int columns) {
      return [=](int i) { return i / columns == 2 || i / columns == 3 ? x : columns > 2 ? 1 : std::log(2); };
    };
    const std::vector<FileTensor> call{
        {"q", "F32", "[6,2,4]", numbers(48)},           counted("k", {4, 2, 4}, [](int) { return 0; }),
        counted("v", {4, 2, 4}, [](int) { return 1; }), counted("o", {6, 2, 4}, number(o, 8)),
        counted("lse", {6, 2}, number(lse, 2)),         ints("cu_seqlens_k", {0, 2, 2, 4})};
    const std::string file = written(scratch, call, {ints("cu_seqlens_q", {0, 2, 4, 6})});
    return json_of(with({"judge", "--input", file}, more), code)["sentences"][0].get<std::string>();
  };
  const double inf = std::numeric_limits<double>::infinity(), nan = std::nan("");
  const Words nan_is_meant{"--empty-rows", "nan"};
  for (const double lse : {inf, -inf}) {
    EXPECT_THAT(told(0, lse, 0), StartsWith("Rounded: "));
    EXPECT_THAT(told(nan, lse, 0, nan_is_meant), StartsWith("Rounded: "));
  }
  const auto wrong = [](const std::string& held) {
    return "Wrong: sequence 1 has queries and no keys, and its " + held + ". The rest is rounded.";
  };
  EXPECT_EQ(told(0.5, -inf, 3), wrong("O holds 0.5, expected 0"));
  EXPECT_EQ(told(nan, -inf, 3), wrong("O holds NaN, expected 0"));
  EXPECT_EQ(told(0, -inf, 3, nan_is_meant), wrong("O holds 0, expected NaN"));
  EXPECT_EQ(told(0, 0, 3), wrong("L holds 0, expected -infinity"));
}

/// Beside a single head O of a sequence without keys is not judged, and the verdict says so. Every V is 1, and so is every
/// other O.
TEST(PackedCommand, TheVerdictNamesSequencesWithoutKeys) {
  const TemporaryDirectory scratch;
  const auto second_sentence = [&](const std::vector<std::int32_t>& bounds_of_keys) {
    const auto is_empty = [&](int token) {
      const auto i = static_cast<std::size_t>(token / 2);
      return bounds_of_keys[i] == bounds_of_keys[i + 1];
    };
    const std::vector<FileTensor> call{{"q", "F32", "[12,2,4]", numbers(96)},
                                       {"k", "F32", "[12,2,4]", numbers(96)},
                                       counted("v", {12, 2, 4}, [](int) { return 1; }),
                                       counted("o", {12, 2, 4}, [&](int i) { return is_empty(i / 8) ? std::nan("") : 1; }),
                                       ints("cu_seqlens_k", bounds_of_keys)};
    const std::string file = written(scratch, call, {ints("cu_seqlens_q", {0, 2, 4, 6, 8, 10, 12})});
    return json_of({"judge", "--input", file, "--head", "0"})["sentences"][1].get<std::string>();
  };
  EXPECT_THAT(second_sentence({0, 2, 4, 6, 8, 10, 12}), Not(HasSubstr("no keys")));
  EXPECT_THAT(second_sentence({0, 2, 2, 6, 8, 10, 12}), EndsWith(" Sequence 1 has queries and no keys: it is not judged."));
  EXPECT_THAT(second_sentence({0, 2, 2, 6, 6, 12, 12}),
              EndsWith(" Sequences 1, 3 and 5 have queries and no keys: they are not judged."));
  EXPECT_THAT(second_sentence({0, 0, 0, 12, 12, 12, 12}),
              EndsWith(" 5 sequences, the first 0, have queries and no keys: they are not judged."));
}

/// K and V lie in turn in a tensor of both in Fortran order.
TEST(PackedCommand, KAndVInFortranOrderAreRefused) {
  const TemporaryDirectory scratch;
  const std::string one = scratch.write("one.npy", npy_of("(2, 3, 4)", floats_of(24))),
                    kv = scratch.write("kv.npy", npy(npy_header("<f4", "(2, 2, 3, 4)", "True"), raw(floats_of(48))));
  expect_refused({"judge", "--q", one, "--kv", kv, "--o", one}, 1, "kv.npy is in Fortran order, expected C order");
}

/// A scale per token fits the tokens of a sequence: keys of other sequences cannot be read with it.
TEST(PackedCommand, KeysOfAllSequencesHaveNoScalePerTokenOfOne) {
  const TemporaryDirectory scratch;
  const std::string bytes(80, '\1');
  const auto stored = [&](const std::vector<std::int32_t>& bounds, const FileTensor& scale) {
    return CallFiles(
               TensorSpec(written(
                   scratch,
                   {{"q", "F32", "[10,2,4]", numbers(80)}, {"k", "I8", "[10,2,4]", bytes}, {"v", "I8", "[10,2,4]", bytes}},
                   {ints("cu_seqlens_q", bounds), scale, counted("v_scale", {1}, [](int) { return 2; })})))
        .stored_keys(0);
  };
  const auto number = [](int i) { return i + 1; };
  EXPECT_EQ(stored({0, 5, 10}, counted("k_scale", {2, 10}, number)), nullptr);
  for (const auto& all :
       {stored({0, 10}, counted("k_scale", {2, 10}, number)), stored({0, 5, 10}, counted("k_scale", {2}, number))}) {
    ASSERT_NE(all, nullptr);
    EXPECT_EQ(all->all->n_k, 10);
  }
}

/// A scale of the whole call: the product for K's token `token` and head `head` has number `place` of the scale.
TEST(PackedCommand, ASequenceTakesItsPartOfAScale) {
  const TemporaryDirectory scratch;
  const std::string bytes(80, '\1');
  const auto k_of = [&](std::vector<FileTensor> kv, const std::vector<FileTensor>& tables, int head) {
    kv.insert(kv.begin(), {"q", "F32", "[10,2,4]", numbers(80)});
    return CallFiles(TensorSpec(written(scratch, kv, tables))).inputs(head).k;
  };
  const std::vector<FileTensor> packed{{"k", "I8", "[10,2,4]", bytes}, {"v", "F32", "[10,2,4]", numbers(80)}};
  const auto number = [](int i) { return i + 1; };
  const auto last_of = [&](const std::vector<std::int32_t>& bounds, const std::vector<int>& shape, int head) {
    return k_of(packed, {ints("cu_seqlens_q", bounds), counted("k_descale", shape, number)}, head).back();
  };
  const std::vector<std::int32_t> two{0, 4, 10}, equal{0, 5, 10};
  for (const auto& bounds : {two, equal}) EXPECT_EQ(last_of(bounds, {2, 2}, 3), 4) << "sequence 1, head 1";
  EXPECT_EQ(last_of(two, {2, 2}, 0), 1) << "sequence 0, head 0";
  EXPECT_EQ(last_of({0, 1, 2, 10}, {3, 2}, 3), 4) << "sequence 1 of one token, head 1";
  EXPECT_EQ(last_of(two, {2}, 3), 2) << "head 1 of every sequence";
  EXPECT_EQ(last_of(two, {10}, 1), 4) << "token 3";
  EXPECT_EQ(last_of(two, {10, 2}, 1), 8) << "token 3, head 1";
  EXPECT_EQ(last_of(two, {10, 2, 1}, 2), 19) << "token 9, head 0";
  EXPECT_EQ(last_of(two, {2, 10}, 3), 20) << "head 1, token 9";
  EXPECT_EQ(last_of(two, {10, 2, 2}, 1), 16) << "token 3, head 1, columns 2 and 3";
  EXPECT_EQ(last_of({0, 1, 10}, {10, 2}, 1), 2) << "token 0, head 1";
  const std::vector<FileTensor> pages{{"k_cache", "I8", "[5,2,2,4]", bytes}, {"v_cache", "F32", "[5,2,2,4]", numbers(80)}};
  const std::vector<FileTensor> tables{table(2, {3, 1, 4, 0}), ints("cache_seqlens", {3, 4}), ints("cu_seqlens_q", {0, 2, 10})};
  const auto last_of_pages = [&](const std::vector<int>& shape, int head) {
    std::vector<FileTensor> all = tables;
    all.push_back(counted("k_scale", shape, number));
    return k_of(pages, all, head).back();
  };
  EXPECT_EQ(last_of_pages({2, 2}, 2), 3) << "sequence 1, head 0";
  EXPECT_EQ(last_of_pages({5, 2, 2}, 1), 6) << "page 1, token 0, head 1";
  EXPECT_EQ(last_of_pages({5, 2, 2, 1}, 2), 3) << "page 0, token 1, head 0";
  const auto refused = [&](const std::vector<int>& shape) { return sentence_of([&] { last_of(equal, shape, 0); }); };
  const std::string wanted =
      "tensor 'k', [10, 2, 4]: [1], [2] (per head), [2, 2] (per head of each sequence), [10, 2] (per token) or [2, 4] (per "
      "channel)";
  for (const std::vector<int>& shape : {std::vector{2, 5}, {5, 2}, {5}}) EXPECT_THAT(refused(shape), EndsWith(wanted));
}

/// A file may hold a table that the command does not name, but a window would read: the verdict has no link.
TEST(PackedCommand, IsJudgedWithoutALinkWhereTheWindowWouldReadAnotherTable) {
  const TemporaryDirectory scratch;
  const std::string file = written(scratch, alike("F32", "[6,2,4]", numbers(48), {{"o", "F32", "[6,2,4]", numbers(48)}}),
                                   {ints("cu", {0, 4, 6}), ints("indptr", {0, 4, 6}), table(2, {0, 1, 2, 3})});
  Words call{"judge", "--cu-seqlens-q", file + ":cu", "--kv-indptr", file + ":indptr"};
  for (const std::string part : {"q", "k", "v", "o"}) call.insert(call.end(), {"--" + part, file + ":" + part});
  const json told = json_of(call, 3);
  EXPECT_EQ(told["table"].size(), 4U);
  EXPECT_EQ(told.value("link", ""), "");
}

/// Random tables, most of them invalid: the sequences can be read, or an error sentence names the file.
TEST(PackedCommand, AnyTableGivesSequencesOrASentence) {
  std::mt19937 random(3);
  constexpr std::array<std::int32_t, 12> likely{0, 0, 1, 1, 2, 2, 3, 3, 4, 5, -1, INT32_MAX};
  const auto chosen = [&](int count) {
    std::vector<std::int32_t> x;
    for (int i = 0; i < count; ++i) x.push_back(likely[random() % likely.size()]);
    return x;
  };
  int good = 0;
  for (int i = 0; i < 2000; ++i) {
    std::vector<FileTensor> call = paged_call(3);
    call.push_back(ints("cu_seqlens_q", {0, static_cast<std::int32_t>(random() % 4), 3}));
    const int by_blocks = static_cast<int>(random() % 2), pad = static_cast<int>(random() % 3);
    if (by_blocks) call.insert(call.end(), {table(2, chosen(4)), ints("cache_seqlens", chosen(2))});
    if (!by_blocks)
      call.insert(call.end(), {ints("kv_indices", chosen(4)), ints("kv_indptr", {0, chosen(1)[0], 4}),
                               ints("kv_last_page_len", chosen(2))});
    if (pad == 0) call.push_back(ints("leftpad_k", chosen(2)));
    const TemporaryDirectory scratch;  // a file system may write a file to the disk before it is written again
    try {
      const CallFiles files(TensorSpec(scratch.write("x.safetensors", safetensors(call))));
      for (int head = 0; head < files.heads(); ++head) {
        const Tensors t = files.inputs(head);
        const auto stored = files.stored_keys(head);
        ASSERT_EQ(static_cast<int>(stored->own.size()), t.n_k);
        for (std::size_t j = 0; j < stored->own.size(); ++j)
          ASSERT_EQ(stored->all->k[static_cast<std::size_t>(stored->own[j]) * 4], t.k[j * 4]);
        for (const OtherBounds& bounds : stored->bounds)
          for (const RowsOfSequence& rows : bounds.rows)
            for (const int token : rows.keys) ASSERT_TRUE(token >= 0 && token < stored->all->n_k) << bounds.text;
      }
      ++good;
    } catch (const std::runtime_error& error) {
      EXPECT_THAT(error.what(), HasSubstr("x.safetensors"));
    }
  }
  EXPECT_GT(good, 50);
}

/// A query of zeros gets the mean of V: here without the last of three keys, then with all four.
TEST(PackedCommand, ADecodeStepOneKeyShortHasAWrongLength) {
  const TemporaryDirectory scratch;
  const auto zero = [](int) { return 0; };
  const auto v = [](int i) { return i * i % 31; };
  const auto o = [v](int i) {
    if (i < 8) return (v(i) + v(8 + i)) / 2.0;
    return (v(24 + i) + v(32 + i) + v(40 + i) + v(48 + i)) / 4.0;
  };
  const std::string file = written(scratch,
                                   {counted("q", {2, 2, 4}, zero), counted("k_cache", {5, 2, 2, 4}, zero),
                                    counted("v_cache", {5, 2, 2, 4}, v), counted("o", {2, 2, 4}, o)},
                                   {table(2, {0, 1, 2, 3}), ints("cache_seqlens", {3, 4})});
  for (const Words& mask : {Words{}, Words{"--mask", "causal"}})
    EXPECT_THAT(json_of(with({"judge", file}, mask), 3)["sentences"][0].get<std::string>(),
                StartsWith("Wrong: cache_seqlens[0] is one too small"));
}

/// Entries of a block table after the last page may have any value.
TEST(PackedCommand, UnusedEntriesAreNotRead) {
  const TemporaryDirectory scratch;
  const std::string file = written(scratch, paged_call(2), {table(2, {0, -1, 2, 99}), ints("cache_seqlens", {2, 1})});
  EXPECT_THAT(output_of({"heads", file, "--no-cache"}), HasSubstr("sequence 1, head 1"));
}

/// An output in a file of its own is split into sequences as Q is. V is the same for all tokens of a sequence, and so is O.
TEST(PackedCommand, ReadsAnOutputInAFileOfItsOwn) {
  const TemporaryDirectory scratch;
  const auto zero = [](int) { return 0; };
  const auto of_head = [](int i) { return (i < 32 ? 1 : 3) + i / 4 % 2; };
  const std::string file =
      scratch.write("call.safetensors", safetensors({counted("q", {6, 2, 4}, zero), counted("k", {6, 2, 4}, zero),
                                                     counted("v", {6, 2, 4}, of_head), ints("cu_seqlens_q", {0, 4, 6})}));
  const std::string o = scratch.write("o.safetensors", safetensors({counted("o", {6, 2, 4}, of_head)}));
  const json heads = json_of({"heads", file, "--kernel", o, "--no-cache"})["heads"];
  EXPECT_EQ(heads.size(), 4U);
  for (const json& head : heads) EXPECT_EQ(head["verdict"]["verdict"], "rounded") << head;
  const json told = json_of({"run", "--input", file + ":3", "--kernel", o});
  EXPECT_EQ(told["experiment"]["loaded"]["index"], 3);
  EXPECT_EQ(told["verdict"]["verdict"], "rounded");
}

}  // namespace
}  // namespace attoscope::testing::packed_command_test
