// Files that take longer than a frame to read: the window's thread goes on, shows the progress, and can stop the reading.

#include <atomic>
#include <cmath>
#include <filesystem>

#include "app/explore/file_reader.h"
#include "app/explore/input_loader.h"
#include "app/explore/lesson_pages.h"
#include "app/explore/lessons.h"
#include "app/explore/session_requests.h"
#include "app/files/files.h"
#include "app/judge/judged_call.h"
#include "app/link/link.h"
#include "app/session/session.h"
#include "app/sweep/sweep.h"
#include "app/tensors/kernel_output.h"
#include "app/tensors/tensors.h"
#include "kernels/compute.h"
#include "kernels/experiment/text.h"
#include "tests/app/explorer_fixture.h"
#include "tests/app/outcome.h"
#include "tests/support/support.h"
#include "tests/tensors/tensor_files.h"

namespace attoscope {
namespace {

using namespace testing;  // attoscope::testing

/// The text of a large session.
std::string long_text(const std::string& name) {
  Session session = small_session();
  session.experiment.problem.n = 33;
  session.lesson.name = name + std::string(2 * quick_text, 'x');
  return session_text(session);
}

class ExplorerFiles : public ExplorerTest {
 protected:
  ExplorerFiles()
      : ExplorerTest(small_session(), [](const Experiment& e, const Options&) {
          Result result;
          result.experiment = e;
          return result;
        }) {}

  /// Writes a sparse .npy file of n x d zeros.
  std::string zeros(const std::string& name, int n, int d) const {
    const std::string shape = "(" + std::to_string(n) + ", " + std::to_string(d) + ")";
    const std::string path = scratch_.write(name, testing::npy(testing::npy_header("<f2", shape), ""));
    std::filesystem::resize_file(path, std::filesystem::file_size(path) + static_cast<std::uintmax_t>(n) * 2 * d);
    return path;
  }
  std::vector<std::string> zeros_of_all(int n, int d) const {
    return {zeros("k.npy", n, d), zeros("q.npy", n, d), zeros("v.npy", n, d)};
  }
};

TEST_F(ExplorerFiles, SmallOnesAreThereAtOnce) {
  EXPECT_TRUE(quick_to_read(testing::example));
  EXPECT_TRUE(quick_to_read("/nowhere/x.npy"));
  explorer_.open_dropped(session_, zeros_of_all(20, 4));
  EXPECT_EQ(session_.experiment.problem.n, 20);
  EXPECT_FALSE(explorer_.panel_input().answer.reading);
}

TEST_F(ExplorerFiles, ATypedPathOfSessionsOffersArchives) {
  const std::string archive = scratch_.write("s.attoscope.zip", ""), session = scratch_.write("s.json", "");
  scratch_.write("s.npz", "");
  explorer_.look_into(scratch_ / "s", FileUse::session);
  EXPECT_THAT(explorer_.panel_input().choices.content.completions, ::testing::ElementsAre(archive, session));
}

/// The folders do not matter, and neither do large letters.
TEST_F(ExplorerFiles, AreTakenAsThePartsThatTheirNamesName) {
  for (const char* const folder : {"a", "b", "x"}) std::filesystem::create_directory(scratch_ / folder);
  const std::vector<std::vector<std::string>> calls{{"x/q.npy", "a/k.npy", "b/v.npy"},
                                                    {"Q.npy", "k.npy", "v.npy"},
                                                    {"x/q_v2.npy", "b/k_v2.npy", "a/v_v2.npy"},
                                                    {"x/1.npy", "b/2.npy", "a/10.npy"}};
  for (const std::vector<std::string>& names : calls) {
    std::vector<std::string> files;
    for (const std::string& name : names) files.push_back(zeros(name, 20, 4));
    const std::string expected = files[0] + "," + files[1] + "," + files[2];
    EXPECT_THAT(drop({files[1], files[2], files[0]}).messages.error, IsEmpty());
    EXPECT_EQ(session_.experiment.problem.input.file, expected);
    drop({files[2], zeros("o.npy", 20, 4), files[1], files[0]});
    EXPECT_EQ(session_.experiment.problem.input.file, expected);
  }
}

/// The link of a verdict on several heads opens the worst head; each tensor is a file of its own with an arbitrary name.
TEST_F(ExplorerFiles, AVerdictsLinkOpensItsWorstHead) {
  constexpr int heads = 4, n = 24, d = 8, worst = 2;
  const auto numbers = [](int count) {
    return floats_of(count * n * d, [](int i) { return std::cos(0.7F * static_cast<float>(i * i % 97)); });
  };
  for (const bool tokens_first : {false, true}) {
    const auto file = [&](const std::string& name, int count, const std::vector<float>& values) {
      const std::string h = std::to_string(count), rows = std::to_string(n), columns = ", " + std::to_string(d) + ")";
      const std::string shape = "(1, " + (tokens_first ? rows + ", " + h : h + ", " + rows) + columns;
      return scratch_.write(name, npy_of(shape, values));
    };
    std::vector<float> o(static_cast<std::size_t>(heads * n * d), 0);
    o[static_cast<std::size_t>(tokens_first ? worst * d : worst * n * d) + 3] = 1e6F;
    const std::string q = file("o_1.npy", heads, numbers(heads)), k = file("zz.npy", 2, numbers(2)),
                      v = file("aa.npy", 2, numbers(2)), output = file("b,c.npy", heads, o), page = scratch_ / "page.html";
    const std::string link = json_of({"judge", "--q", q, "--k", k, "--v", v, "--o", output, "--mask", "causal", "--layout",
                                      tokens_first ? "bnhd" : "bhnd", "--report", page},
                                     3)["link"];
    ASSERT_THAT(link, StartsWith("attoscope:open?"));
    EXPECT_THAT(read_file(page, 1 << 22), HasSubstr("<a href=\"attoscope:open?"));
    const LinkMessage message = parse_link_url(link);
    session_ = small_session();
    const PanelInput input = drop(message.files);
    EXPECT_THAT(input.messages.error, IsEmpty());
    const Experiment& e = session_.experiment;
    EXPECT_EQ(e.problem.input.index, worst);
    EXPECT_EQ(e.loaded.index, worst);
    ASSERT_TRUE(e.loaded.values);
    EXPECT_EQ((*e.loaded.values)[3], 1e6F);
    EXPECT_EQ(e.problem.n, n);
    EXPECT_EQ(whole_call_of(e)->heads(), heads) << "the opened call has all heads";
    EXPECT_EQ(input.choices.output.heads, heads);
  }
}

/// The window shows the verdict on O, or the gradients. dQ of the last head is wrong, and O is, or is not.
TEST_F(ExplorerFiles, AVerdictsLinkShowsGradientsOfARoundedOutput) {
  const auto file = [&](const std::string& name, float last) {
    std::vector<float> values(2 * 20 * 4, 0);
    values.back() = last;
    return scratch_.write_old(name, npy_of("(2, 20, 4)", values));
  };
  const std::string q = file("q.npy", 0), k = file("k.npy", 0), v = file("v.npy", 0), d_o = file("do.npy", 0),
                    dq = file("dq.npy", 9), dv = file("dv.npy", 0);
  for (const float last : {0.0F, 9.0F}) {
    const std::string link = json_of({"judge", "--q", q, "--k", k, "--v", v, "--o", file("o.npy", last), "--layout", "hnd",
                                      "--do", d_o, "--dq", dq, "--dv", dv},
                                     3)["link"];
    const LinkMessage message = parse_link_url(link);
    EXPECT_THAT(message.files.front(), EndsWith(":1")) << "the worst head";
    EXPECT_EQ(message.d_o, last == 0 ? d_o : "");
    EXPECT_EQ(message.gradients.contains("dq") && message.gradients.contains("dv"), last == 0);
  }
}

TEST_F(ExplorerFiles, LargeTensorsComeByAndBy) {
  settled();
  const std::vector<std::string> files = zeros_of_all(1 << 17, 32);
  EXPECT_FALSE(quick_to_read(files[0]));
  explorer_.open_dropped(session_, files);
  EXPECT_EQ(session_.experiment.problem.n, 48) << "the shown experiment stays until the tensors are read";
  EXPECT_TRUE(explorer_.panel_input().answer.reading);
  EXPECT_TRUE(explorer_.panel_input().answer.computing);
  const PanelInput input = settled();
  EXPECT_THAT(input.messages.error, IsEmpty());
  EXPECT_EQ(session_.experiment.problem.n, 1 << 17);
  EXPECT_FALSE(input.answer.reading);
  EXPECT_EQ(input.choices.tensors.shape.n, 1 << 17);
}

TEST_F(ExplorerFiles, ALargeCaptureIsOpenedWithItsExperiment) {
  settled();
  const std::string file = zeros("x.npy", 1 << 17, 32);
  CapturedFile captured{file + "," + file + "," + file, "layer 1, head 2", sized_experiment(1 << 17, 32, fp16)};
  captured.experiment.problem.mask.kind = Mask::Kind::causal;
  captured.experiment.a.block_k = 16;
  open_captured(captured, session_, explorer_);
  EXPECT_EQ(session_.experiment.problem.n, 48) << "the shown experiment stays until the tensors are read";
  session_.view.theme = Theme::light;
  const PanelInput input = settled();
  EXPECT_THAT(input.messages.error, IsEmpty());
  EXPECT_EQ(input.messages.notice, "Q, K and V of layer 1, head 2.");
  EXPECT_EQ(session_.view.workspace, Workspace::explore);
  EXPECT_EQ(session_.view.theme, Theme::light) << "settings that changed meanwhile stay";
  const Experiment& e = session_.experiment;
  ASSERT_TRUE(e.problem.input.tensors);
  EXPECT_EQ(mask_text(e.problem.mask), "causal");
  EXPECT_EQ(e.format, fp16);
  EXPECT_EQ(e.a, captured.experiment.a);
}

TEST_F(ExplorerFiles, ReadingCanBeStopped) {
  settled();
  explorer_.open_dropped(session_, zeros_of_all(1 << 20, 16));
  explorer_.cancel();
  EXPECT_FALSE(explorer_.panel_input().answer.reading);
  EXPECT_EQ(settled().messages.error, "Stopped before it was read.");
  EXPECT_EQ(session_.experiment.problem.n, 48);
  explorer_.paste(session_, long_text("a"));
  explorer_.cancel();
  EXPECT_EQ(settled().messages.error, "The clipboard: Stopped before it was read.");
  EXPECT_EQ(session_.experiment.problem.n, 48);
  explorer_.open_dropped(session_, zeros_of_all(20, 4));
  EXPECT_EQ(session_.experiment.problem.n, 20) << "the next file is read";
}

TEST_F(ExplorerFiles, TheWindowClosesWhileOneIsRead) {
  explorer_.open_dropped(session_, zeros_of_all(1 << 20, 16));  // its destructor runs next
}

TEST_F(ExplorerFiles, ASessionThatNamesLargeTensorsIsAnsweredOnceTheyAreThere) {
  settled();
  const std::string k = zeros("k.npy", 1 << 17, 32);
  session_.experiment.problem.input = parse_input(k + "," + k + "," + k);  // as undo and probes do
  explorer_.update(session_);
  EXPECT_TRUE(explorer_.panel_input().answer.reading);
  const PanelInput input = settled();
  ASSERT_TRUE(session_.experiment.problem.input.tensors);
  EXPECT_EQ(input.answer.result->experiment, session_.experiment);
  session_.experiment.problem.input = parse_input(scratch_.write("x.safetensors", std::string(5 << 20, 'x')));
  EXPECT_THAT(settled().messages.error, HasSubstr("header length is"));
  EXPECT_THAT(settled().messages.error, HasSubstr("header length is")) << "the error stays, and the file is not read again";
}

/// The input, which changes while the output is read, says where its sequences begin.
TEST(InputLoader, ReadsAnOutputForTheInputAskedLast) {
  const TemporaryDirectory scratch;
  const std::string o = scratch.write("o.npy", npy_of("(16384, 1, 64)", floats_of(1 << 20)));
  const auto input = [&](int first) {
    const std::vector<std::int32_t> begins{0, first, first + 4, 1 << 14};
    const std::string file =
        scratch.write("begins" + std::to_string(first) + ".npy", npy(npy_header("<i4", "(4,)"), raw(begins)));
    return parse_input(o + "," + o + "," + o + ",cu_seqlens_q=" + file);
  };
  Session session;
  FileReader reader({});
  InputLoader loader(reader);
  Experiment e = sized_experiment(4, 64);
  use_kernel_output(e, parse_kernel_output(o + ":1"), false);
  std::string failure;
  e.problem.input = input(1);
  EXPECT_FALSE(loader.load_beside(e, failure));
  e.problem.input = input(2);
  EXPECT_TRUE(eventually([&] {
    reader.update(session);
    return loader.load_beside(e, failure) || !failure.empty();
  }));
  EXPECT_EQ(failure, "");
  ASSERT_TRUE(e.loaded.values);
  EXPECT_EQ(e.loaded.values->front(), 2 * 64);
}

/// A call of six tokens and three heads; the outputs are in a second file of the folder.
TEST_F(ExplorerFiles, AFolderOfACallIsDropped) {
  std::filesystem::create_directories(scratch_ / "dump/run_call0001");
  const std::string of_q(144, '\0'), of_k(48, '\0');
  scratch_.write(
      "dump/run_call0001/inputs.safetensors",
      safetensors({{"arg_1", "F32", "[6,3,2]", of_q}, {"arg_2", "F32", "[6,1,2]", of_k}, {"arg_3", "F32", "[6,1,2]", of_k}}));
  scratch_.write("dump/run_call0001/outputs.safetensors", safetensors({{"result", "F32", "[6,3,2]", of_q}}));
  const PanelInput input = drop({scratch_ / "dump"});
  EXPECT_THAT(input.messages.error, IsEmpty());
  EXPECT_EQ(session_.experiment.problem.n, 6);
  EXPECT_EQ(session_.experiment.problem.d, 2);
  EXPECT_EQ(input.choices.tensors.heads, 3);
  EXPECT_EQ(session_.experiment.a.algorithm, Algorithm::loaded) << "a is the output of the file";
  ASSERT_TRUE(session_.experiment.loaded.values);
  EXPECT_EQ(input.choices.output.heads, 3);
  session_.experiment.problem.input.index = 2;
  session_.experiment.problem.input.tensors.reset();
  settled();
  EXPECT_EQ(session_.experiment.loaded.index, 2) << "the head of the output changes, too";
}

/// Q, K and V of two tokens and two columns, all numbers 8, each in its own .npy file.
std::string eight_bits(const TemporaryDirectory& scratch) {
  std::string files;
  for (const char* const name : {"q.npy", "k.npy", "v.npy"})
    files += (files.empty() ? "" : ",") + scratch.write(name, testing::npy(testing::npy_header("|i1", "(2, 2)"), "\b\b\b\b"));
  return files;
}

std::string one_scale(const TemporaryDirectory& scratch, double scale) {
  return scratch.write("k_scale.npy", npy_of("(1,)", std::vector{scale}));
}

TEST_F(ExplorerFiles, ARewrittenScaleIsReadAgain) {
  explorer_.open(session_, eight_bits(scratch_) + ",k_scale=" + one_scale(scratch_, 0.5));
  const PanelInput input = settled();
  EXPECT_THAT(input.messages.error, IsEmpty());
  EXPECT_EQ(input.choices.tensors.layers.at(0).scales, "k per tensor");
  ASSERT_TRUE(session_.experiment.problem.input.tensors);
  EXPECT_EQ(session_.experiment.problem.input.tensors->k[0], 4);
  one_scale(scratch_, 0.25);
  EXPECT_TRUE(testing::eventually([&] {
    explorer_.update(session_);
    return session_.experiment.problem.input.tensors->k[0] == 2;
  }));
}

/// The file still has the output, but Q, K and V are drawn now.
TEST_F(ExplorerFiles, ARewrittenFileDoesNotReplaceADrawnInput) {
  const auto bytes = [](int value) {
    std::vector<FileTensor> tensors;
    for (const char* const name : {"q", "k", "v", "o"})
      tensors.push_back(counted(name, {6, 4}, [value](int) { return value; }));
    return testing::safetensors(tensors);
  };
  drop({scratch_.write_old("call.safetensors", bytes(1))});
  Input& input = session_.experiment.problem.input;
  input.kind = InputKind::constant;
  settled();
  scratch_.write("call.safetensors", bytes(2));
  EXPECT_TRUE(eventually([&] {
    input.value += 1;
    explorer_.update(session_);
    return session_.experiment.loaded.values->front() == 2 && !explorer_.panel_input().answer.reading;
  }));
  EXPECT_EQ(input.kind, InputKind::constant);
}

TEST_F(ExplorerFiles, AScaleIsDroppedWithItsTensors) {
  eight_bits(scratch_);
  one_scale(scratch_, 0.5);
  EXPECT_THAT(drop({scratch_ / "v.npy", scratch_ / "q.npy", scratch_ / "k_scale.npy", scratch_ / "k.npy"}).messages.error,
              IsEmpty());
  ASSERT_TRUE(session_.experiment.problem.input.tensors);
  EXPECT_EQ(session_.experiment.problem.input.tensors->k[0], 4);
  EXPECT_EQ(session_.experiment.problem.input.tensors->v[0], 8);
}

TEST_F(ExplorerFiles, FilesOfTwoLayersAreDroppedTogether) {
  std::vector<std::string> files;
  for (const char* const layer : {"4", "11"})
    for (const char* const part : {"v", "q", "k"})
      files.push_back(zeros("layer" + std::string(layer) + "_" + part + ".npy", 5, 4));
  const PanelInput input = drop(files);
  EXPECT_THAT(input.messages.error, IsEmpty());
  ASSERT_EQ(input.choices.tensors.layers.size(), 2U);
  EXPECT_EQ(input.choices.tensors.head_names[1], "layer 11, head 0");
  EXPECT_THAT(drop({files[0], files[1]}).messages.error,
              StartsWith("Drop one file (" + reader_endings() + ") or session, a folder, or"));
}

TEST_F(ExplorerFiles, ALayerThatCannotBeShownIsNamed) {
  std::vector<FileTensor> tensors;
  for (const std::string name : {"0.q", "0.k", "0.v", "1.q", "1.k", "1.v"})
    tensors.push_back({name, "F32", name == "1.k" ? "[3,2]" : "[2,3]", std::string(24, '\0')});
  EXPECT_THAT(drop({scratch_.write("x.safetensors", testing::safetensors(tensors))}).messages.notice,
              ::testing::AllOf(HasSubstr("Left out: "), HasSubstr("tensor '1.k' has shape [3, 2]")));
}

TEST_F(ExplorerFiles, LongTextIsPastedByAndBy) {
  explorer_.paste(session_, long_text("a"));
  EXPECT_EQ(session_.experiment.problem.n, 48);
  EXPECT_TRUE(explorer_.computing());
  settled();
  EXPECT_EQ(session_.experiment.problem.n, 33);
  explorer_.paste(session_, long_text("a").substr(1));
  EXPECT_THAT(settled().messages.error, StartsWith("The clipboard: is not JSON"));
  explorer_.add_pins(session_, long_text("a"));
  EXPECT_THAT(settled().messages.error, HasSubstr("a session without pins"));
}

/// The opened experiment gives the same number as the page with the link.
TEST_F(ExplorerFiles, ALinkShowsTheSettingOfItsNumber) {
  for (const char* const number :
       {"a.mean_abs?n=64&policy=eager", "b.max_abs?input=example:3&mask=causal&scaling.K=int8/token"}) {
    const LessonQuestion question = parse_live(number);
    session_ = small_session();
    session_.view.theme = Theme::light;
    session_.lesson.name = "read";
    explorer_.follow_link(session_, short_session_text(session_of(question)));
    EXPECT_THAT(settled().messages.error, IsEmpty());
    const double shown = value_of(parse_measure(question.measure), summary(compute(session_.experiment)));
    EXPECT_EQ(shown, answer(question, {}).number()) << number;
    EXPECT_EQ(session_.view.theme, Theme::light);
    EXPECT_EQ(session_.lesson.name, "read");
  }
  session_ = small_session();
  Session to_lesson;
  to_lesson.view.workspace = Workspace::learn;
  to_lesson.lesson.name = "06-tiles";
  to_lesson.lesson.step = 2;
  explorer_.follow_link(session_, short_session_text(to_lesson));
  EXPECT_EQ(session_.view.workspace, Workspace::learn);
  EXPECT_EQ(session_.lesson.name, "06-tiles");
  EXPECT_EQ(session_.lesson.step, 2);
  EXPECT_EQ(session_.experiment.problem.n, 48) << "the experiment stays";
  session_ = small_session();
  explorer_.follow_link(session_, "{");
  EXPECT_THAT(explorer_.panel_input().messages.error, StartsWith("The link: is not JSON at byte"));
  EXPECT_TRUE(session_ == small_session());
}

TEST_F(ExplorerFiles, MessagesAreOneLine) {
  explorer_.show_error("a\nb\x1b[2J");
  EXPECT_EQ(explorer_.panel_input().messages.error, "a?b?[2J");
}

TEST(FileReader, ReadsAFileAgainUntilItIsFetched) {
  std::atomic<int> reads{0};
  bool applied = false;
  std::string failure;
  Session session;
  FileReader reader({});
  const auto read = [&](const ReadWatch&) -> FileReader::Then {
    if (++reads < 3) throw NotFetched("q.npy: is still being fetched");
    return [&](Session&) { applied = true; };
  };
  reader.read(read, [&](const std::string& sentence) { failure = sentence; });
  EXPECT_TRUE(testing::eventually([&] {
    reader.update(session);
    return applied;
  }));
  EXPECT_EQ(reads, 3);
  EXPECT_EQ(failure, "");
  EXPECT_FALSE(reader.busy());
}

}  // namespace
}  // namespace attoscope
