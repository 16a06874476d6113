// `attoscope heads`: every head with the numbers of `run`, worst head first; error sentences.

#include <cmath>
#include <nlohmann/json.hpp>
#include <random>

#include "app/files/zip.h"
#include "app/heads/heads.h"
#include "app/words/numbers.h"
#include "kernels/experiment/presets.h"
#include "tests/app/outcome.h"
#include "tests/support/matchers.h"
#include "tests/tensors/tensor_files.h"

namespace attoscope::testing {
namespace {

using nlohmann::json;

class HeadsCommand : public ScratchTest {};

/// Writes an archive of layers 2 and 5: four heads of Q, two of K and V, tokens before heads; layer 5 has larger scores.
/// With `hot`, head 1 of layer 2 has scores 30 times as large.
std::string two_layers(const TemporaryDirectory& scratch, bool hot = false) {
  std::mt19937 dice(1);
  std::normal_distribution<float> draw;
  std::vector<ZipMember> members;
  for (const char* const layer : {"2", "5"})
    for (const char* const part : {"q", "k", "v"}) {
      const int heads = *part == 'q' ? 4 : 2;
      std::vector<float> values(static_cast<std::size_t>(40 * heads * 8));
      for (std::size_t i = 0; i < values.size(); ++i) {
        const bool is_hot = hot && *layer == '2' && *part == 'q' && i / 8 % 4 == 1;
        values[i] = draw(dice) * (is_hot ? 120.0F : *layer == '5' && *part == 'q' ? 4.0F : 1.0F);
      }
      members.push_back({"layers." + std::string(layer) + "." + part + "_proj.npy",
                         npy_of("(40, " + std::to_string(heads) + ", 8)", values)});
    }
  return scratch.write("x.npz", zip_bytes(members));
}

TEST_F(HeadsCommand, AnotherLayoutThatFitsIsToldByRunAndJudgeToo) {
  const std::string bytes = raw(floats_of(3 * 9 * 2, [](int i) { return (i % 7) / 4.0; })),
                    file = scratch_.write("x.safetensors",
                                          safetensors(alike("F32", "[3,9,2]", bytes, {{"o", "F32", "[3,9,2]", bytes}}))),
                    says = "read as h n d (3 heads of 9 tokens); n h d (9 heads of 3 tokens) would fit, too (--layout).";
  for (const std::vector<std::string>& command :
       {std::vector<std::string>{"heads", file, "--no-cache"}, {"run", "--input", file}, {"judge", file}}) {
    EXPECT_THAT(attoscope(command).out, HasSubstr(says)) << command[0];
    EXPECT_THAT(attoscope(with(command, {"--layout", "h n d"})).out, Not(HasSubstr("would fit, too"))) << command[0];
  }
}

TEST_F(HeadsCommand, EveryHeadIsAsRunAnswersIt) {
  const std::string file = two_layers(scratch_);
  const json found = json_of({"heads", file, "--mask", "causal", "--policy", "tile", "--block-k", "8", "--no-cache"});
  EXPECT_EQ(found["schema"], "attoscope.heads/1");
  ASSERT_EQ(found["heads"].size(), 8U);
  double before = INFINITY;
  for (const json& head : found["heads"]) {
    const std::string index = std::to_string(head["head"].get<int>());
    const json result =
        json_of({"run", "--input", file + ":" + index, "--mask", "causal", "--policy", "tile", "--block-k", "8"});
    EXPECT_EQ(head["a.max_abs"], result["a"]["max_abs"]) << index;
    EXPECT_EQ(head["a.rel_rms"], result["a"]["rel_rms"]) << index;
    EXPECT_EQ(head["b.rms"], result["b"]["rms"]) << index;
    EXPECT_EQ(head["rescales"], result["rescales"]["effective_mean"]) << index;
    EXPECT_LE(head["a.rel_rms"].get<double>(), before) << "worst first";
    before = head["a.rel_rms"];
    EXPECT_GT(head["max_score"].get<double>(), head["layer"] == "layer 5" ? 4 : 0);
    EXPECT_EQ(head["kv_head"].get<int>(), head["head"].get<int>() % 4 / 2);
  }
}

TEST_F(HeadsCommand, OptionsThatChangeNothingAreNamed) {
  EXPECT_THAT(attoscope({"heads", two_layers(scratch_), "--layer", "2", "--tau", "4", "--no-cache", "--quiet"}).err,
              HasSubstr("attoscope: --tau changes nothing: a does not use it with its other settings\n"));
}

TEST_F(HeadsCommand, OneLayerSortedByAnyMeasure) {
  const auto lines = csv_lines(output_of({"heads", two_layers(scratch_), "--layer", "5", "--sort", "max_score", "--csv", "-"}));
  ASSERT_EQ(lines.size(), 5U);
  const auto column = static_cast<std::size_t>(std::ranges::find(lines[0], "max_score") - lines[0].begin());
  for (std::size_t i = 1; i < lines.size(); ++i) {
    EXPECT_THAT(lines[i][1], StartsWith("layer 5, head "));
    EXPECT_GE(std::stoi(lines[i][0]), 4);
    const double before = i > 1 ? std::stod(lines[i - 1][column]) : INFINITY;
    EXPECT_GE(before, std::stod(lines[i][column]));
  }
}

TEST_F(HeadsCommand, TheTableNamesTheWorstAndHowManyThereAre) {
  const std::string table = output_of({"heads", two_layers(scratch_), "--top", "2", "--threads", "2"});
  EXPECT_THAT(table, HasSubstr("2 of 8 heads, worst first by a.rel_rms."));
  EXPECT_EQ(std::ranges::count(table, '\n'), 4);
}

TEST_F(HeadsCommand, OfOneHeadTheReportHasNoNumbersThatNeedOthers) {
  std::mt19937 dice(1);
  std::normal_distribution<float> draw;
  std::string file;
  for (const char* const part : {"q", "k", "v"}) {
    std::vector<float> values(320);
    for (float& x : values) x = draw(dice);
    file += (file.empty() ? "" : ",") + scratch_.write(std::string(part) + ".npy", npy_of("(40, 8)", values));
  }
  const std::string table = output_of({"heads", file, "--no-cache"});
  EXPECT_THAT(table, AllOf(HasSubstr("1 of 1 head, worst first by"), Not(HasSubstr("nan")), Not(HasSubstr("unusual"))));
  EXPECT_THAT(output_of({"heads", file, "--no-cache", "--csv", "-"}), HasSubstr(",unusual"));
}

TEST_F(HeadsCommand, NamesHeadsThatStandApart) {
  const std::string table = output_of({"heads", two_layers(scratch_, true), "--sort", "unusual", "--no-cache", "--top", "1"});
  EXPECT_THAT(table, AllOf(HasSubstr("stands apart: layer 2, head 1: largest score "),
                           HasSubstr("1 of 8 heads, worst first by unusual.")));
  EXPECT_EQ(table.find("stands apart"), table.rfind("stands apart")) << "only one head stands apart";
  EXPECT_THAT(attoscope({"heads", two_layers(scratch_), "--no-cache"}).out, Not(HasSubstr("stands apart")));
}

TEST_F(HeadsCommand, AHeadWithoutNumbersIsTheWorst) {
  std::vector<HeadRow> rows(3);
  for (int i = 0; i < 3; ++i) rows[static_cast<std::size_t>(i)].head = i;
  rows[0].a_rel = 1;
  rows[2].a_rel = 0.5, rows[2].nonfinite = 4;
  sort_worst_first(rows, head_measures[0]);
  EXPECT_EQ(rows[0].head, 2);
  EXPECT_EQ(rows[1].head, 0);
}

TEST_F(HeadsCommand, StopsAtOnceWhereItIsAsked) {
  const CallFiles files(two_layers(scratch_));
  HeadsQuestion question{default_experiment(), true, heads_of_layer(files, "")};
  int found = 0;
  const Options options{.cancelled = [&] { return found > 0; }, .threads = 1};
  EXPECT_THROW(compute_heads(question, files, options, [&](const HeadRow&) { ++found; }), Stopped);
  EXPECT_EQ(found, 1);
}

TEST_F(HeadsCommand, RefusesInASentence) {
  const std::string file = two_layers(scratch_);
  expect_refused({"heads", file, "--layer", "7"}, 2, "--layer is '7', expected layer 2, layer 5");
  expect_refused({"heads", file, "--sort", "size"}, 2, "--sort is 'size', expected a.rel_rms, a.max_abs");
  EXPECT_EQ(output_of({"heads", "--input", file, "--top", "2"}), output_of({"heads", file, "--top", "2"}));
  expect_refused({"heads", file, "--input", file}, 2, "--input was not expected beside the file");
  expect_refused({"heads"}, 2, "the file is missing: expected FILE.safetensors");
  for (const char* const none : {"normal", "o.npy"})
    expect_refused({"heads", none}, 2, std::string("the file is '") + none + "', expected FILE.safetensors");
  for (const char* const command : {"heads", "kv"})
    expect_refused({command, file + ":7"}, 2, "x.npz:7', expected no head behind it");
  expect_refused({"heads", file, "--kernel", "o.npy:3"}, 2, "--kernel is 'o.npy:3', expected no head behind it");
  expect_refused({"heads", file, "--csv", "-", "--json", "-"}, 2, "--csv and --json are both -");
  expect_refused({"heads", scratch_ / "none.npz"}, 1, "none.npz: cannot be opened");
  expect_refused({"heads", file, "--layout", "n x d"}, 2, "--layout is 'n x d', expected h n d");
  expect_refused({"heads", file, "--layout", "n (h d)"}, 1, "layers.2.q_proj.npy has shape [40, 4, 8]");
}

TEST_F(HeadsCommand, ALayerHasTheHeadsOfAllItsSequences) {
  const std::string lengths = raw(std::vector<std::int32_t>{0, 2, 4});
  std::vector<FileTensor> tensors;
  for (const std::string layer : {"layers.0.", "layers.1."}) {
    for (const char* const part : {"q", "k", "v"}) tensors.push_back(counted(layer + part, {4, 2, 8}));
    for (const char* const bounds : {"cu_seqlens_q", "cu_seqlens_k"})
      tensors.push_back({layer + bounds, "I32", "[3]", lengths});
  }
  const CallFiles files(scratch_.write("x.safetensors", safetensors(tensors)));
  EXPECT_EQ(files.layers()[1].name, "layer 0, sequence 1");
  EXPECT_THAT(heads_of_layer(files, "1"), ElementsAre(4, 5, 6, 7));
  EXPECT_THAT(heads_of_layer(files, "layer 0"), ElementsAre(0, 1, 2, 3));
  EXPECT_THAT(heads_of_layer(files, "layer 0, sequence 1"), ElementsAre(2, 3));
}

/// The output of every head of every layer, judged at once.
TEST_F(HeadsCommand, AllLayersOfAFileAreJudged) {
  std::vector<FileTensor> tensors;
  for (const char* const name : {"1.q", "1.k", "1.v", "1.out", "4.q", "4.k", "4.v", "4.out"})
    tensors.push_back({name, "F32", "[2,16,4]", raw(std::vector<float>(128, 0.5F))});
  const std::string file = scratch_.write("x.safetensors", safetensors(tensors));
  EXPECT_EQ(json_of({"judge", "--input", file})["heads"], 4);
}

}  // namespace
}  // namespace attoscope::testing
