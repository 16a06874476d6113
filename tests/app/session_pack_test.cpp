// Sessions packed with their tensors, moved away from their tensors, and opened with changed tensors.
#include "app/session/session_pack.h"

#include <array>
#include <cmath>
#include <filesystem>
#include <limits>
#include <nlohmann/json.hpp>

#include "app/commands/command.h"
#include "app/files/files.h"
#include "app/files/zip.h"
#include "app/judge/lse_verdict.h"
#include "app/session/session.h"
#include "app/session/session_places.h"
#include "app/tensors/changed_tensors.h"
#include "app/tensors/exact_tensors.h"
#include "app/tensors/head_numbers.h"
#include "app/tensors/kernel_output.h"
#include "app/tensors/npy.h"
#include "app/tensors/tensors.h"
#include "app/words/numbers.h"
#include "kernels/experiment/rules.h"
#include "tests/app/outcome.h"
#include "tests/app/own_cache.h"
#include "tests/support/matchers.h"
#include "tests/support/support.h"
#include "tests/support/temporary_directory.h"
#include "tests/tensors/saved_dict.h"

namespace attoscope::session_pack_test {
namespace {

namespace fs = std::filesystem;
using namespace testing;  // attoscope::testing

constexpr int rows = 24, columns = 8;

/// Draws of N(0, 1), rounded to multiples of 1/256: exact in fp16.
std::vector<double> draws(std::uint64_t seed, int count) {
  Dice dice(seed);
  std::vector<double> x(static_cast<std::size_t>(count));
  for (double& value : x) value = std::round(dice.normal() * 256) / 256;
  return x;
}

std::string npy_of(std::uint64_t seed, int n = rows) { return npy_bytes(n, columns, draws(seed, n * columns).data()); }

/// Writes q.npy, k.npy and v.npy; returns their paths as an input spec.
std::string write_call(const TemporaryDirectory& place, std::uint64_t seed = 1) {
  return place.write("q.npy", npy_of(seed)) + "," + place.write("k.npy", npy_of(seed + 1)) + "," +
         place.write("v.npy", npy_of(seed + 2));
}

/// Writes a file of `heads` heads; in head `changed` one number of V differs, -1: in none.
std::string write_heads(const TemporaryDirectory& place, int heads, int changed = -1) {
  std::vector<ExactTensor> tensors;
  for (const char* const name : {"q", "k", "v"})
    tensors.push_back(
        {name, {static_cast<std::uint64_t>(heads), rows, columns}, draws(7 + tensors.size(), heads * rows * columns), ""});
  if (changed >= 0) tensors[2].values[static_cast<std::size_t>(changed * rows * columns)] += 0.5;
  return place.write("heads.safetensors", safetensors_bytes(tensors, {}));
}

Session session_of(const std::string& spec) {
  Session s;
  s.experiment.problem.input = parse_input(spec);
  load_tensors(s.experiment.problem.input);
  s.experiment.problem = fitted(s.experiment.problem, s.experiment.problem.input.tensors->shape());
  s.experiment.a.block_q = s.experiment.a.block_k = 8;
  s.sweep.first = {"block_k", "8,16"};
  return s;
}

/// Loads dO from this file.
void use_gradient(Session& s, const std::string& file) {
  s.experiment.backward.on = true;
  s.experiment.backward.d_o = OutputGradient::file;
  s.experiment.backward.d_o_file = parse_gradient(file);
  load_given(s.experiment);
}

std::string write_session(const TemporaryDirectory& place, const Session& s) {
  return place.write("session.json", session_text(s));
}

/// Reads a session and its tensors; expects unchanged tensors and no remarks.
Session opened(const std::string& file) {
  std::vector<std::string> remarks;
  Session s = read_session(file, remarks);
  EXPECT_THAT(remarks, IsEmpty());
  EXPECT_THAT(load_kept(s.experiment), IsEmpty());
  return s;
}

/// Changes one number of v.npy.
void change_v(const TemporaryDirectory& place, std::uint64_t seed = 1) {
  std::vector<double> v = draws(seed + 2, rows * columns);
  v[5] += 0.5;
  place.write("v.npy", npy_bytes(rows, columns, v.data()));
}

TEST(ExactTensors, AreStoredInTheNarrowestTypeThatKeepsEveryBit) {
  constexpr double inf = std::numeric_limits<double>::infinity();
  const auto type = [](std::vector<double> x, const char* before = "") { return exact_type(x, before); };
  EXPECT_EQ(type({0, -0.0, 1, 65504, -0x1p-24, 0x1.ff8p-15, inf, -inf}), "F16");
  EXPECT_EQ(type({65536}), "BF16");
  EXPECT_EQ(type({1, 0x1p-25}), "BF16");
  EXPECT_EQ(type({1 + 0x1p-11}), "F32");
  EXPECT_EQ(type({1 + 0x1p-30}), "F64");
  EXPECT_EQ(type({1}, "F32"), "F32");
  EXPECT_EQ(type({1 + 0x1p-11}, "BF16"), "F32");
  for (std::uint64_t bits = 0; bits < 0x7c00; ++bits) ASSERT_EQ(type({number_of(fp16, bits)}), "F16") << bits;
}

TEST(SessionPack, OpensOnAnotherMachineWithTheSameBits) {
  const TemporaryDirectory here, there;
  const Session s = session_of(write_heads(here, 4) + ":2");
  const std::string file = write_session(here, s), packed = there / "s.attoscope.zip";
  const nlohmann::json before = json_of({"run", "--session", file});
  EXPECT_THAT(output_of({"pack", file, "--out", packed}), HasSubstr("1 head\n"));
  EXPECT_LT(fs::file_size(packed), fs::file_size(here / "heads.safetensors") / 2 + 8000);
  fs::remove_all(here / "heads.safetensors");
  fs::rename(packed, there / "t.attoscope.zip");
  const Outcome after = attoscope({"run", "--session", there / "t.attoscope.zip", "--json", "-", "--strict"});
  EXPECT_EQ(after.code, 0) << after.err;
  EXPECT_THAT(after.err, IsEmpty());
  EXPECT_EQ(before["digests"], nlohmann::json::parse(after.out)["digests"]);
  EXPECT_EQ(opened(there / "t.attoscope.zip").experiment.problem.input.digest, s.experiment.problem.input.digest);
}

TEST(SessionPack, HoldsOutputGradientAndMask) {
  const TemporaryDirectory here, there;
  std::vector<double> mask(rows * rows);
  for (std::size_t i = 0; i < mask.size(); ++i)
    mask[i] = i % 5 == 0 ? -std::numeric_limits<double>::infinity() : 0.25 * double(i % 3);
  const std::string spec = write_call(here) + ",mask=" + here.write("mask.npy", npy_bytes(rows, rows, mask.data())) + ":add";
  Session s = session_of(spec);
  use_gradient(s, here.write("do.npy", npy_of(11)));
  s.kernel_gradients.dq = here.write("dq.npy", npy_of(12));
  there.write("s.attoscope.zip", pack_session(s).bytes);
  for (const char* const name : {"q.npy", "k.npy", "v.npy", "mask.npy", "do.npy", "dq.npy"}) fs::remove(here / name);
  const Session again = opened(there / "s.attoscope.zip");
  EXPECT_EQ(again.experiment.problem.input.digest, s.experiment.problem.input.digest);
  EXPECT_EQ(*again.experiment.backward.d_o_file.values, *s.experiment.backward.d_o_file.values);
  EXPECT_EQ(*read_kernel_gradient(again.kernel_gradients.dq, again.experiment.problem, AnswerTensor::dQ).values,
            draws(12, rows * columns));

  Session loaded = session_of(write_call(here));
  use_kernel_output(loaded.experiment, read_kernel_output(here.write("o.npy", npy_of(13)), loaded.experiment.problem), false);
  there.write("o.attoscope.zip", pack_session(loaded).bytes);
  fs::remove(here / "o.npy");
  EXPECT_EQ(*opened(there / "o.attoscope.zip").experiment.loaded.values, draws(13, rows * columns));
}

TEST(SessionPack, HoldsAllHeadsWhereTheSessionNeedsThem) {
  const TemporaryDirectory here;
  Session s = session_of(write_heads(here, 4) + ":2");
  EXPECT_EQ(pack_session(s).heads, 1);
  s.pins.resize(2);
  s.pins[0].experiment = session_of(here / "heads.safetensors:1").experiment;
  s.pins[1].experiment = s.experiment;
  EXPECT_EQ(pack_session(s).heads, 2);
  s.sweep.over = SweepOver::head;
  const SessionPack pack = pack_session(s);
  EXPECT_EQ(pack.heads, 4);
  const Session again = opened(here.write("s.attoscope.zip", pack.bytes));
  EXPECT_EQ(again.experiment.problem.input.index, 2);
  EXPECT_EQ(CallFiles(again.experiment.problem.input.file).heads(), 4);
  EXPECT_EQ(again.experiment.problem.input.digest, s.experiment.problem.input.digest);
  Experiment pinned = again.pins[0].experiment;
  EXPECT_EQ(pinned.problem.input.index, 1);
  EXPECT_THAT(load_kept(pinned), IsEmpty());
}

TEST(SessionPack, HoldsAllHeadsForAPinThatNeedsThemWhereTheExperimentNeedsOne) {
  const TemporaryDirectory here;
  Session s = session_of(write_heads(here, 4) + ":3");
  s.pins.resize(1);
  s.pins[0].experiment = s.experiment;
  s.pins[0].experiment.a.scaling.K = parse_scaling("e4m3/tensor");
  const Input pinned = opened(here.write("s.attoscope.zip", pack_session(s).bytes)).pins[0].experiment.problem.input;
  EXPECT_EQ(pinned.index, 3);
  EXPECT_EQ(CallFiles(pinned.file).heads(), 4);
}

/// A session that needs all four heads of its file, with a file of dO.
Session session_of_all_heads(const TemporaryDirectory& place) {
  Session s = session_of(write_heads(place, 4) + ":2");
  const std::vector<ExactTensor> d_o{{"do", {4, rows, columns}, draws(21, 4 * rows * columns), ""}};
  use_gradient(s, place.write("do.safetensors", safetensors_bytes(d_o, {})) + ":2");
  s.sweep.over = SweepOver::head;
  return s;
}

TEST(SessionPack, HoldsAllHeadsOfAGradientOrIsStopped) {
  const TemporaryDirectory here;
  const Session s = session_of_all_heads(here);
  int calls = 0;
  const SessionPack pack = pack_session(s, [&](double) { return ++calls == 0; });
  const Experiment again = opened(here.write("s.attoscope.zip", pack.bytes)).experiment;
  EXPECT_EQ(gradient_heads(again.backward.d_o_file.file, again.problem, false), 4);
  ASSERT_GT(calls, 4);
  for (int stop = 1; stop <= calls; ++stop) {
    int left = stop;
    EXPECT_THROW(pack_session(s, [&](double) { return --left <= 0; }), std::runtime_error) << stop;
  }
}

/// Layers of a batch with several numbers of tokens; outputs and gradients of each layer have the batch of Q.
TEST(SessionPack, HoldsTheBatchOfAnOutputAndOfAGradient) {
  for (const std::uint64_t layers : {1, 2}) {
    const TemporaryDirectory here;
    std::vector<ExactTensor> call, outputs;
    for (std::uint64_t i = 0; i < layers; ++i) {
      const std::uint64_t n = rows + 8 * i;
      const auto add = [&](std::vector<ExactTensor>& to, const std::string& name) {
        const std::string before = layers > 1 ? "layers." + std::to_string(i) + "." : "";
        to.push_back({before + name, {2, 2, n, columns}, draws(20 * i + to.size(), 4 * n * columns), ""});
      };
      for (const char* const name : {"q", "k", "v"}) add(call, name);
      add(outputs, "o");
    }
    Session s = session_of(here.write("call.safetensors", safetensors_bytes(call, {})) + ":3");
    const std::string o = here.write("out.safetensors", safetensors_bytes(outputs, {}));
    use_kernel_output(s.experiment, read_kernel_output(o, s.experiment.problem), false);
    s.sweep.over = SweepOver::head;
    if (layers == 1) use_gradient(s, o + ":3");
    const Experiment again = opened(here.write("s.attoscope.zip", pack_session(s).bytes)).experiment;
    EXPECT_EQ(*again.loaded.values, *s.experiment.loaded.values);
    Problem any = again.problem;
    any.n = any.d = any.d_v = 0;
    for (const CallFiles::Output& layer : outputs_of(again.loaded.file, any)) EXPECT_EQ(layer.shape.batch, 2);
    if (layers > 1) continue;
    const CallFiles files(again.problem.input.file);
    const CallPart d_o = part_in_file({again.backward.d_o_file.file, ""}, usual_output_gradient_names, 3);
    EXPECT_EQ(files.like(d_o, 0, 2, static_cast<int>(columns)).size(), 1u);
  }
}

/// Head 0 of the output is compared with head 2 of Q, K and V.
TEST(SessionPack, HoldsTheHeadOfAnOutputThatIsChosenApart) {
  const TemporaryDirectory here;
  std::vector<ExactTensor> tensors;
  for (const char* const name : {"q", "k", "v", "o"})
    tensors.push_back({name, {4, rows, columns}, draws(7 + tensors.size(), 4 * rows * columns), ""});
  const std::string file = here.write("call.safetensors", safetensors_bytes(tensors, {}));
  Session s = session_of(file + ":2");
  use_kernel_output(s.experiment, read_kernel_output(file + ":0", s.experiment.problem), false);
  s.sweep.over = SweepOver::head;
  const Experiment again = opened(here.write("s.attoscope.zip", pack_session(s).bytes)).experiment;
  EXPECT_EQ(again.loaded.file, again.problem.input.file);
  EXPECT_EQ(again.problem.input.index, 2);
  EXPECT_EQ(again.loaded.index, 0);
  EXPECT_EQ(*again.loaded.values, *s.experiment.loaded.values);
}

TEST(SessionPack, HoldsTheLogSumExpOfAnOutput) {
  for (const bool all : {false, true}) {
    const TemporaryDirectory here;
    Session s = session_of(write_heads(here, 4) + ":2");
    const std::vector<ExactTensor> o{{"o", {4, rows, columns}, draws(21, 4 * rows * columns), ""}};
    const std::string file = here.write("o.safetensors", safetensors_bytes(o, {}));
    use_kernel_output(s.experiment, read_kernel_output(file, s.experiment.problem), false);
    s.experiment.loaded.lse = here.write("lse.npy", npy_bytes(4, rows, draws(31, 4 * rows).data())) + "[h n]";
    const std::vector<double> lse = opened_lse(s.experiment)->of(2);
    if (all) s.sweep.over = SweepOver::head;
    here.write("s.attoscope.zip", pack_session(s).bytes);
    fs::remove(here / "lse.npy");
    const Experiment again = opened(here / "s.attoscope.zip").experiment;
    EXPECT_EQ(again.loaded.index, all ? 2 : 0);
    EXPECT_THAT(again.loaded.lse, StartsWith(here / "s.attoscope.zip/"));
    EXPECT_EQ(opened_lse(again)->shape.count(), all ? 4 : 1);
    EXPECT_EQ(opened_lse(again)->of(again.loaded.index), lse);
  }
}

/// Sequences of 3 and 5 queries: a file has no tensor for gradients of different lengths.
TEST(SessionPack, HoldsOneHeadOfAGradientOfSequencesThatDifferInLength) {
  const TemporaryDirectory here;
  SavedDict dict;
  dict.bf16s("q", {8, 2, 8}, draws(1, 128)).bf16s("k", {10, 2, 8}, draws(2, 160)).bf16s("v", {10, 2, 8}, draws(3, 160));
  dict.ints("cu_seqlens_q", {3}, {0, 3, 8}).ints("cu_seqlens_k", {3}, {0, 4, 10}).bf16s("dout", {8, 2, 8}, draws(4, 128));
  const std::string spec = here.write("call.pt", dict.bytes()) + ":3";
  Session s = session_of(spec);
  use_gradient(s, spec);
  s.sweep.over = SweepOver::head;
  const Experiment again = opened(here.write("s.attoscope.zip", pack_session(s).bytes)).experiment;
  EXPECT_EQ(again.problem.input.index, 3);
  EXPECT_EQ(*again.backward.d_o_file.values, *s.experiment.backward.d_o_file.values);
}

/// Sequences become layers, in an output's file as well, also two of one length.
TEST(SessionPack, HoldsAllHeadsOfAnOutputOfSequences) {
  const TemporaryDirectory here;
  SavedDict dict;
  for (const char* const part : {"q", "k", "v"}) dict.bf16s(part, {13, 2, 8}, draws(1, 208));
  dict.ints("cu_seqlens_q", {4}, {0, 3, 8, 13});
  Session s = session_of(here.write("call.pt", dict.bytes()) + ":3");
  const std::string o = here.write("o.npy", npy_bytes(std::array{13, 2, 8}, draws(4, 208)));
  use_kernel_output(s.experiment, read_kernel_output(o, s.experiment.problem), false);
  s.sweep.over = SweepOver::head;
  const Experiment again = opened(here.write("s.attoscope.zip", pack_session(s).bytes)).experiment;
  EXPECT_EQ(again.loaded.index, 3);
  EXPECT_EQ(*again.loaded.values, *s.experiment.loaded.values);
  EXPECT_THAT(outputs_of(again.loaded.file, again.problem), SizeIs(3)) << "one for each sequence";
}

/// Its sequences become layers, beside which no log-sum-exp is judged.
TEST(SessionPack, LeavesOutTheLogSumExpOfSequencesAndSaysSo) {
  const TemporaryDirectory here;
  SavedDict dict;
  for (const char* const part : {"q", "k", "v", "out"}) dict.bf16s(part, {8, 2, 8}, draws(1, 128));
  dict.ints("cu_seqlens_q", {3}, {0, 3, 8}).floats("softmax_lse", {2, 8}, draws(2, 16));
  const std::string file = here.write("call.pt", dict.bytes());
  Session s = session_of(file + ":3");
  use_kernel_output(s.experiment, read_kernel_output(file + ":3", s.experiment.problem), false);
  s.experiment.loaded.lse = file + ":softmax_lse";
  EXPECT_THAT(pack_session(s).remarks, IsEmpty());
  s.sweep.over = SweepOver::head;
  const SessionPack pack = pack_session(s);
  EXPECT_THAT(pack.remarks, ElementsAre(file + ":softmax_lse: the log-sum-exp of all sequences is left out, since it is not "
                                               "judged beside several layers"));
  const Experiment again = opened(here.write("s.attoscope.zip", pack.bytes)).experiment;
  EXPECT_EQ(again.problem.input.digest, s.experiment.problem.input.digest);
  EXPECT_FALSE(opened_lse(again));
}

/// Sums over the heads that share K and V need all of them.
TEST(SessionPack, HoldsAllHeadsForGradientsOfAGroup) {
  for (const int groups : {1, 2}) {
    const TemporaryDirectory here;
    const auto of_k = [&](std::uint64_t seed) { return draws(seed, groups * rows * columns); };
    const std::vector<int> shape{groups, rows, columns};
    SavedDict dict, sums;
    dict.bf16s("q", {4, rows, columns}, draws(1, 4 * rows * columns)).bf16s("k", shape, of_k(2)).bf16s("v", shape, of_k(3));
    Session s = session_of(here.write("call.pt", dict.bytes()) + ":3");
    s.experiment.backward.on = true;
    s.kernel_gradients.dk = here.write("dk.pt", sums.bf16s("dk", shape, of_k(4)).bytes());
    const Session again = opened(here.write("s.attoscope.zip", pack_session(s).bytes));
    const Problem& problem = again.experiment.problem;
    EXPECT_EQ(CallFiles(problem.input.file).heads(), 4);
    EXPECT_EQ(gradient_heads(again.kernel_gradients.dk, problem, AnswerTensor::dK), groups);
    EXPECT_FALSE(read_kernel_gradient(again.kernel_gradients.dk, problem, AnswerTensor::dK).values) << "of no single head";
  }
}

/// dO is drawn, and its file is kept for later.
TEST(SessionPack, HoldsAGradientThatIsNotInUse) {
  const TemporaryDirectory here;
  Session s = session_of(write_call(here));
  s.experiment.backward.on = true;
  s.experiment.backward.d_o_file = parse_gradient(here.write("do.npy", npy_of(11)));
  Experiment again = opened(here.write("s.attoscope.zip", pack_session(s).bytes)).experiment;
  again.backward.d_o = OutputGradient::file;
  load_given(again);
  EXPECT_EQ(*again.backward.d_o_file.values, draws(11, rows * columns));
}

TEST(SessionPack, HoldsTheNumbersOfEachHead) {
  const TemporaryDirectory here;
  SavedDict dict;
  for (const int i : {0, 1}) {
    const std::string layer = "layers." + std::to_string(i) + ".";
    for (const char* const part : {"q", "k", "v"})
      dict.bf16s(layer + part, {rows, 2, columns}, draws(static_cast<std::uint64_t>(i) + 1, 2 * rows * columns));
    dict.floats(layer + "alibi_slopes", {2}, {0.5, 0.25}).floats(layer + "sinks", {2}, {1.0 + i, -2});
    dict.value(layer + "softmax_scale", SavedDict::real(0.3 + i)).floats(layer + "softcap", {2}, {30, 20});
    dict.value(layer + "window_size", SavedDict::tuple({7 - i, 0}));
  }
  Session s = session_of(here.write("call.pt", dict.bytes()) + ":3");
  const HeadNumbers numbers({}, CallFiles(s.experiment.problem.input.file));
  s.experiment.problem = numbers.of_head(s.experiment.problem, 3);
  s.sweep.over = SweepOver::head;
  const Problem again = opened(here.write("s.attoscope.zip", pack_session(s).bytes)).experiment.problem;
  const HeadNumbers packed = numbers_of_head_in(again, CallFiles(again.input.file));
  for (int head = 0; head < 4; ++head) EXPECT_EQ(packed.of_head(again, head), numbers.of_head(again, head)) << head;
}

TEST(SessionPack, SharesKeysAsTheFileDoes) {
  const std::string example = "assets/examples/smollm2_135m.safetensors";
  const TemporaryDirectory here;
  Session s = session_of(example + ":3");
  s.sweep.over = SweepOver::head;
  const CallFiles first(example);
  const CallFiles packed(opened(here.write("s.attoscope.zip", pack_session(s).bytes)).experiment.problem.input.file);
  ASSERT_EQ(packed.heads(), first.heads());
  EXPECT_EQ(packed.head_names(), first.head_names());
  for (std::size_t i = 0; i < first.layers().size(); ++i) EXPECT_EQ(packed.layers()[i].k.heads, first.layers()[i].k.heads);
  for (int head = 0; head < first.heads(); ++head) EXPECT_EQ(packed.input(head).digest, first.input(head).digest) << head;
}

TEST(SessionPack, HoldsTextAndCapturedRunOfAModel) {
  const TemporaryDirectory here, there;
  Session s = session_of(write_call(here));
  s.train.text.file = here.write("train.txt", "a text to train with");
  s.model.checkpoint = "/models/small";
  s.model.text = ModelText::file;
  s.model.file = here.write("text.txt", "a text");
  const std::string run = zip_bytes({{"hidden_states.0.npy", npy_of(11), false}});
  s.model.against = here.write("run.npz", run);
  const SessionPack pack = pack_session(s);
  ASSERT_THAT(pack.remarks, ElementsAre(HasSubstr("'/models/small' is not in the archive")));
  EXPECT_THAT(attoscope({"pack", write_session(here, s)}).err, HasSubstr(pack.remarks[0]));
  for (const char* const name : {"train.txt", "text.txt", "run.npz"}) fs::remove(here / name);
  const std::string archive = there.write("s.attoscope.zip", pack.bytes);
  const Session again = opened(archive);
  EXPECT_EQ(read_file(again.train.text.file, 100), "a text to train with");
  EXPECT_EQ(read_file(again.model.file, 100), "a text");
  EXPECT_EQ(read_file(again.model.against, 1 << 16), run);
  EXPECT_EQ(files_in_zip(again.model.against, ".npy").size(), 1u);
  EXPECT_EQ(again.model.checkpoint, "");
  s = session_of(write_call(here));
  s.model.against = here / ".";
  EXPECT_THAT(pack_session(s).remarks, ElementsAre(HasSubstr("the captured run is a folder and is left out")));
}

TEST(SessionPack, NamesOfRandomWeightsAndTokensAreNoFiles) {
  const TemporaryDirectory here, there;
  Session s = session_of(write_call(here));
  s.model.text = ModelText::file;
  s.model.checkpoint = s.model.file = "random:3";
  EXPECT_FALSE(misses_files(s));
  const SessionPack pack = pack_session(s);
  EXPECT_THAT(pack.remarks, IsEmpty());
  EXPECT_EQ(opened(there.write("s.attoscope.zip", pack.bytes)).model, s.model);
}

TEST(SessionPack, RefusesArchivesThatReachOutside) {
  const TemporaryDirectory here;
  const Session session = session_of(write_call(here));
  const std::string text = session_text(session), good = pack_session(session).bytes;  // session_text has absolute paths
  std::vector<std::string> remarks;
  const auto refusal_of = [&](const std::string& bytes) {
    const std::string file = here.write("bad.attoscope.zip", bytes);
    return sentence_of([&] { read_session(file, remarks); });
  };
  EXPECT_THAT(refusal_of(zip_bytes({{"session.json", text}})), AllOf(HasSubstr("q.npy"), HasSubstr("inside the archive")));
  for (const char* const key : {"checkpoint", "file", "against"}) {
    const std::string model = std::string(R"({"schema": "attoscope.session/1", "model": {")") + key + R"(": "/etc/hostname"}})";
    EXPECT_THAT(refusal_of(zip_bytes({{"session.json", model}})), HasSubstr("inside the archive")) << key;
  }
  EXPECT_THAT(refusal_of(zip_bytes({{"session.json", text}, {"../q.npy", "x"}})), HasSubstr("expected names without folders"));
  EXPECT_THAT(refusal_of(zip_bytes({{"q.npy", "x"}})), HasSubstr("has no file 'session.json'"));
  EXPECT_THAT(refusal_of(zip_bytes({{"session.json", std::string(1 << 25, ' ')}})), HasSubstr("bytes, expected at most"));
  for (std::size_t length = 0; length < good.size(); length += 97)
    EXPECT_THAT(refusal_of(good.substr(0, length)), HasSubstr("bad.attoscope.zip")) << length;
  const std::string wrong =
      here.write("wrong.json", R"({"schema": "attoscope.session/1", "experiment": {"problem": {"n": 0}}})");
  expect_refused({"pack", wrong}, 1, "n is '0', expected a whole number from 1 to 1048576; so the session is not packed");
  expect_refused({"pack", write_session(here, session), "--out", here / "s.zip"}, 2,
                 "expected a name that ends with .attoscope.zip");
}

TEST(MovedSessions, LookBesideThemselvesByNameAndByDigest) {
  const TemporaryDirectory here, there;
  const Session s = session_of(write_call(here));
  const auto moved = [&](const char* from, const char* to) { fs::rename(here / from, there / to); };
  const std::string file = write_session(there, s);
  moved("q.npy", "q.npy"), moved("k.npy", "k.npy"), moved("v.npy", "v.npy");
  EXPECT_EQ(opened(file).experiment.problem.input.file, (there / "q.npy,") + (there / "k.npy,") + (there / "v.npy"));

  fs::rename(there / "v.npy", there / "values.npy");  // the same bits under another name; other bits under the old name
  there.write("v.npy", npy_of(99));
  EXPECT_EQ(opened(file).experiment.problem.input.file, (there / "q.npy,") + (there / "k.npy,") + (there / "values.npy"));
  fs::rename(there / "q.npy", there / "a.npy"), fs::rename(there / "k.npy", there / "b.npy");
  EXPECT_EQ(opened(file).experiment.problem.input.file, (there / "a.npy,") + (there / "b.npy,") + (there / "values.npy"));

  fs::remove(there / "values.npy");  // now only v.npy with other bits is there: not taken
  std::vector<std::string> remarks;
  const Session lost = read_session(file, remarks);
  const std::optional<MissingFile> missing = missing_file(lost.experiment);
  ASSERT_TRUE(missing);
  EXPECT_EQ(missing->path, here / "v.npy");
  const std::string digest = hex16(s.experiment.problem.input.parts.v);
  EXPECT_THAT(missing->sentence, AllOf(HasSubstr(here / "v.npy"), HasSubstr(digest), HasSubstr("is missing")));
  const Session located = with_file_at(lost, missing->path, there / "v.npy");
  EXPECT_FALSE(missing_file(located.experiment));
  Experiment e = located.experiment;
  EXPECT_THAT(load_kept(e), SizeIs(1)) << "a remark says that the tensor has changed";
}

TEST(MovedSessions, LookForATensorOfAFileBesideThemselves) {
  const TemporaryDirectory here, there;
  Session s = session_of(write_call(here));
  const auto gradient = [](const char* name, std::uint64_t seed) {
    return ExactTensor{name, {rows, columns}, draws(seed, rows * columns), ""};
  };
  const std::string gradients =
      here.write("gradients.safetensors", safetensors_bytes({gradient("x", 11), gradient("y", 12)}, {}));
  use_gradient(s, gradients + ":y");
  s.kernel_gradients.dq = gradients + ":x:0";
  const std::string file = write_session(there, s);
  for (const char* const part : {"q.npy", "k.npy", "v.npy"}) fs::rename(here / part, there / part);
  fs::rename(gradients, there / "renamed.safetensors");
  const Session again = opened(file);
  EXPECT_EQ(again.experiment.backward.d_o_file.file, there / "renamed.safetensors:y");
  EXPECT_EQ(again.kernel_gradients.dq, there / "renamed.safetensors:x:0");
  fs::remove(there / "renamed.safetensors");
  std::vector<std::string> remarks;
  const std::optional<MissingFile> missing = missing_file(read_session(file, remarks).experiment);
  ASSERT_TRUE(missing);
  EXPECT_EQ(missing->path, gradients);
}

TEST(MovedSessions, LookForTheFilesOfAModelBesideThemselves) {
  const TemporaryDirectory here;
  const std::string text = here.write("text.txt", "a text");
  Session s;
  s.model.file = "text.txt";
  s.model.against = "/nowhere/text.txt";
  const Session again = opened(write_session(here, s));
  EXPECT_EQ(again.model.file, text);
  EXPECT_EQ(again.model.against, text);
}

TEST(MovedSessions, LookForALogSumExpBesideThemselves) {
  const TemporaryDirectory here, there;
  Session s = session_of(write_call(here));
  use_kernel_output(s.experiment, read_kernel_output(here.write("o.npy", npy_of(13)), s.experiment.problem), false);
  s.experiment.loaded.lse = here.write("lse.npy", npy_bytes(1, rows, draws(14, rows).data())) + "[h n]";
  const std::string file = write_session(there, s);
  for (const char* const name : {"o.npy", "lse.npy"}) fs::rename(here / name, there / name);
  EXPECT_EQ(opened(file).experiment.loaded.lse, there / "lse.npy[h n]");
  s.experiment.loaded.lse = "lse.npy";
  EXPECT_EQ(opened(write_session(there, s)).experiment.loaded.lse, there / "lse.npy");
}

TEST(ChangedTensors, OfEveryHeadThatASweepRepeatsOver) {
  const OwnCache cache;
  const TemporaryDirectory here;
  const std::string file = write_heads(here, 3);
  const std::vector<std::string> sweep{"sweep",  "--input",       file,    "--vary",   "block_k=8,16", "--over", "head",
                                       "--json", here / "s.json", "--out", here / "d", "--quiet"};
  EXPECT_EQ(attoscope(sweep).err, "");
  const nlohmann::json before = nlohmann::json::parse(bytes_of_file(here / "s.json"));
  ASSERT_THAT(before["heads"], SizeIs(3));
  EXPECT_EQ(attoscope(sweep).err, "") << "no tensor has changed";
  write_heads(here, 3, 2);
  const std::string says = "v of head 2 has changed";
  for (std::vector<std::string> command : {sweep, {"figure", here / "d/sweep.json", "--out", here / "f.zip", "--quiet"}}) {
    command.emplace_back("--strict");
    const Outcome ended = attoscope(command);
    EXPECT_EQ(ended.code, changed_tensor) << ended.err;
    EXPECT_THAT(ended.err, AllOf(HasSubstr(says), Not(HasSubstr("head 0")), Not(HasSubstr("head 1"))));
  }
  EXPECT_THAT(attoscope(sweep).err, HasSubstr(says));
  const nlohmann::json after = nlohmann::json::parse(bytes_of_file(here / "s.json"));
  EXPECT_EQ(after["heads"][0], before["heads"][0]);
  EXPECT_NE(after["heads"][2]["digest"], before["heads"][2]["digest"]);
  EXPECT_EQ(attoscope(sweep).err, "") << "its JSON now has the digest of the new tensor";
}

TEST(ChangedTensors, SlopesThatAreNotTheSessionsAreSaid) {
  const TemporaryDirectory here;
  std::vector<ExactTensor> tensors;
  for (const char* const name : {"q", "k", "v"})
    tensors.push_back({name, {3, rows, columns}, draws(7 + tensors.size(), 3 * rows * columns), ""});
  tensors.push_back({"alibi_slopes", {3}, {0.25, 0.5, 1}, ""});
  const std::string heads = here.write("call.safetensors", safetensors_bytes(tensors, {}));
  Session s = session_of(heads + ":1");
  const auto run = [&](double slope, const std::vector<std::string>& more) {
    s.experiment.problem.alibi = slope;
    return attoscope(with({"run", "--session", write_session(here, s)}, more));
  };
  const std::string says = heads + ": alibi of head 1 is 0.5, expected the session's 0.25, which all heads have instead\n";
  EXPECT_EQ(run(0.25, {}).err, "attoscope: " + says);
  const Outcome strict = run(0.25, {"--strict"});
  EXPECT_EQ(strict.code, 0) << "the user may have chosen the slope";
  EXPECT_EQ(strict.err, "attoscope: " + says);
  EXPECT_EQ(run(0.5, {}).err, "") << "the session has its head's slope";
  EXPECT_EQ(run(0.5, {"--alibi", "0.25"}).err, "") << "the slope is typed";
  tensors.back().values = {0.5, 0.5, 0.5};
  here.write("call.safetensors", safetensors_bytes(tensors, {}));
  EXPECT_EQ(run(0.25, {}).err, "") << "the file has one slope";
}

TEST(ChangedTensors, AreSaidByRunSweepAndFigure) {
  const OwnCache cache;
  const TemporaryDirectory here;
  const Session s = session_of(write_call(here));
  const std::string file = write_session(here, s), spec = s.experiment.problem.input.file;
  const std::vector<std::string> sweep{"sweep", "--session", file, "--json", here / "s.json", "--out", here / "d", "--quiet"};
  EXPECT_EQ(attoscope(sweep).err, "");
  const std::string old_json = bytes_of_file(here / "s.json");
  change_v(here);
  Experiment now = s.experiment;
  now.problem.input.tensors.reset();
  const std::vector<std::string> sentences = load_kept(now);
  ASSERT_THAT(sentences, SizeIs(1));
  EXPECT_THAT(sentences[0], AllOf(HasSubstr(here / "v.npy: v of head 0 has changed"), Not(HasSubstr("q.npy"))));
  const auto said = [&](const std::vector<std::string>& command) {
    const Outcome free = attoscope(command);
    EXPECT_EQ(free.code, 0) << free.err;
    EXPECT_EQ(free.err, "attoscope: " + sentences[0] + "\n");
    return free;
  };
  const auto strict = [&](std::vector<std::string> command) {
    command.push_back("--strict");
    const Outcome ended = attoscope(command);
    EXPECT_EQ(ended.code, changed_tensor);
    EXPECT_EQ(ended.err, "attoscope: " + sentences[0] + "\n");
    EXPECT_THAT(ended.out, IsEmpty());
  };
  strict({"run", "--session", file, "--json", here / "r.json"});
  EXPECT_FALSE(fs::exists(here / "r.json"));
  strict(sweep);
  strict({"sweep", "--input", spec, "--vary", "block_k=8,16", "--json", here / "s.json", "--quiet"});  // its earlier JSON
  EXPECT_EQ(bytes_of_file(here / "s.json"), old_json);
  strict({"figure", here / "d/sweep.json", "--out", here / "f.zip", "--quiet"});
  EXPECT_FALSE(fs::exists(here / "f.zip"));
  const std::string was = hex16(s.experiment.problem.input.digest);
  EXPECT_THAT(said({"run", "--session", file, "--json", "-"}).out, Not(HasSubstr(was)));
  said(sweep);
  EXPECT_THAT(bytes_of_file(here / "s.json"), AllOf(HasSubstr(hex16(now.problem.input.digest)), Not(HasSubstr(was))));
  EXPECT_EQ(attoscope(sweep).err, "attoscope: " + sentences[0] + "\n") << "the session still has the old digest";
}

}  // namespace
}  // namespace attoscope::session_pack_test
