// Devices in the window: the worker computes on the session's device, computes again when it changes, and reports failures.

#include <atomic>
#include <memory>
#include <mutex>
#include <stdexcept>
#include <string>
#include <vector>

#include "app/explore/main_answer.h"
#include "kernels/compute.h"
#include "kernels/gpu/device.h"
#include "kernels/gpu/engine.h"
#include "kernels/system_memory.h"
#include "kernels/tensor_core/hardware.h"
#include "tests/app/explorer_fixture.h"

namespace attoscope {
namespace {

using namespace testing;  // attoscope::testing

/// Computes on the CPU and records the requested devices; throws DeviceFailure if `gpu_is_lost`.
struct StandIn {
  std::mutex mutex;
  std::vector<std::string> asked;
  std::vector<Wanted> wanted;
  bool gpu_is_lost = false;

  Result operator()(const Experiment& e, const Options& options) {
    const std::lock_guard lock(mutex);
    asked.push_back(options.device);
    wanted.push_back(options.wanted);
    Options mine{.cancelled = options.cancelled, .cache = options.cache, .wanted = options.wanted, .device = "cpu"};
    if (gpu_is_lost) mine.engine = []() -> std::unique_ptr<Engine> { throw DeviceFailure("The GPU fell off the bus."); };
    return compute(e, mine);
  }
};

class ExplorerDevices : public ::testing::Test {
 protected:
  /// Waits until the session's question is answered; returns the input of the panels.
  PanelInput settled() {
    EXPECT_TRUE(testing::eventually([&] {
      explorer_.update(session_);
      return !explorer_.panel_input().answer.computing && explorer_.panel_input().answer.result;
    }));
    return explorer_.panel_input();
  }

  Session session_ = small_session();
  StandIn compute_;
  Explorer explorer_{Start{}, [] {}, [this](const Experiment& e, const Options& o) { return compute_(e, o); }};
};

TEST(DeviceFailures, AreWhatALibraryThrowsOfAGpu) {
  const auto fails = []() -> int { throw std::out_of_range("it fell off the bus"); };
  EXPECT_EQ(message_of<DeviceFailure>([&] { as_device_failure("The GPU refused to sort", fails); }),
            "The GPU refused to sort: it fell off the bus");
  EXPECT_EQ(as_device_failure("The GPU refused to sort", [] { return 7; }), 7);
}

/// On the CPU the time grows with the rows; on a GPU, fewer rows than one wave holds take as long as a full wave.
TEST(FirstRows, FollowHowTheTimeGrows) {
  const auto rows = [](int n, int rows_at_a_time, int computed = 0) {
    Problem p;
    p.n = n;
    p.d = 64;
    p.rows = computed;
    return first_rows(p, rows_at_a_time);
  };
  EXPECT_EQ(rows(1024, 0), 0);
  EXPECT_GT(rows(16384, 0), 0);
  EXPECT_LT(rows(16384, 0), 16384 / 4);
  EXPECT_EQ(rows(16384, 0, 64), 0) << "the experiment computes only a few rows";
  Problem long_cache;
  long_cache.n = 1024;
  long_cache.n_k = 131072;
  EXPECT_GT(first_rows(long_cache, 0), 0) << "every row sees many keys";
  constexpr int h200 = 132 * 512, laptop = 20 * 512;
  for (const int n : {256, 4096, 16384, 65536})
    EXPECT_EQ(rows(n, h200), 0) << "one wave: part of the rows takes as long as all of them";
  EXPECT_EQ(rows(1 << 20, h200), h200);
  EXPECT_EQ(rows(65536, laptop), laptop) << "seven waves";
  EXPECT_EQ(rows(16384, laptop), 0) << "two waves";
  EXPECT_EQ(rows(65536, laptop, 3 * laptop), 0);
}

/// The first rows fit in memory, all rows do not: the question is refused before anything is computed.
TEST(MainAnswers, AreRefusedBeforeTheirFirstRows) {
  Question question;
  question.device = "cpu";
  question.experiment.problem.n = max_n;
  question.experiment.problem.d = max_d;
  if (bytes_needed(question.experiment, 0) <= available_bytes()) GTEST_SKIP() << "this machine holds the largest experiment";
  ASSERT_GT(first_rows(question.experiment.problem, 0), 0);
  std::atomic<int> computed{0};
  MainAnswer answer([] {}, [&](const Experiment&, const Options&) -> Result { return ++computed, Result{}; });
  answer.ask(question);
  std::string sentence;
  EXPECT_TRUE(testing::eventually([&] { return !(sentence = answer.update()).empty(); }));
  EXPECT_NE(sentence.find("bytes"), std::string::npos) << sentence;
  EXPECT_EQ(computed, 0);
  EXPECT_EQ(answer.newest(), nullptr);
}

TEST_F(ExplorerDevices, TheCheckOfAGpuIsAnsweredOrRefusedInASentence) {
  session_.device = "auto";
  settled();
  Requests requests;
  requests.side.gpu_check = "auto";
  explorer_.ask_beside(requests, session_);
  const auto refused = [&] { return explorer_.panel_input().messages.error.find(why_no_cuda()) != std::string::npos; };
  EXPECT_TRUE(testing::eventually([&] {
    explorer_.update(session_);
    const PanelInput input = explorer_.panel_input();
    return !input.answering.gpu_check && (cuda_devices().empty() ? refused() : input.side.gpu_check != nullptr);
  })) << explorer_.panel_input().messages.error;
}

TEST_F(ExplorerDevices, TheSessionsDeviceComputesAndAnotherOneIsAskedAnew) {
  settled();
  settled();
  EXPECT_THAT(compute_.asked, ElementsAre("cpu"));
  session_.device = "auto";
  settled();
  EXPECT_THAT(compute_.asked, ElementsAre("cpu", "auto"));
  session_.device = "cpu";
  settled();
  EXPECT_THAT(compute_.asked, ElementsAre("cpu", "auto", "cpu"));
}

TEST_F(ExplorerDevices, ADeviceThatIsNotThereLeavesItToTheCpuAndOneSentenceSaysSo) {
  session_.device = "tpu";
  EXPECT_EQ(settled().messages.error, usable_device("tpu").remark);
  EXPECT_THAT(compute_.asked, ElementsAre("cpu"));
  EXPECT_EQ(session_.device, "tpu") << "the saved device stays";
  session_.device = "cpu";
  EXPECT_EQ(settled().messages.error, "");
  EXPECT_THAT(compute_.asked, ElementsAre("cpu")) << "the same question is not computed again";
  session_.device = "cuda:63";
  EXPECT_THAT(settled().messages.error, HasSubstr("the CPU computes."));
}

TEST_F(ExplorerDevices, AGpuLostMidRunLosesNothingAndOneSentenceSaysSo) {
  session_.device = "auto";
  const PanelInput before = settled();
  EXPECT_EQ(before.messages.error, "");
  compute_.gpu_is_lost = true;
  session_.experiment.problem.seed = 7;
  const PanelInput after = settled();
  EXPECT_EQ(after.messages.error, "The GPU fell off the bus. The CPU took over.");
  EXPECT_EQ(after.answer.device, device_name());
  EXPECT_EQ(after.answer.result->experiment, session_.experiment);
  EXPECT_EQ(after.answer.result->digests.a, compute(session_.experiment).digests.a);
  compute_.gpu_is_lost = false;
  session_.experiment.problem.seed = 8;
  EXPECT_EQ(settled().messages.error, "") << "the next answer has no failure";
}

TEST_F(ExplorerDevices, TheWindowKnowsTheDevicesAndWhyHardwareCannotBeChosen) {
  const PanelInput input = settled();
  ASSERT_FALSE(input.choices.devices.empty());
  EXPECT_EQ(input.choices.devices[0].spec, "cpu");
  EXPECT_EQ(input.choices.devices.size(), device_entries("").size());
  EXPECT_EQ(input.choices.no_hardware, why_no_hardware("cpu", 8, bf16));
  EXPECT_NE(input.choices.no_hardware, "");
  session_.experiment.problem.d = 40;
  EXPECT_EQ(settled().choices.no_hardware, why_no_hardware("cpu", 40, bf16));
  session_.device = "auto";  // a GPU, if there is one
  session_.experiment.problem.d = 64, session_.experiment.problem.d_v = 40;
  EXPECT_EQ(settled().choices.no_hardware, why_no_hardware(usable_device("auto").spec, 64, bf16));
}

/// Data of a panel is computed only once the panel opens; a change of the picture computes nothing.
TEST_F(ExplorerDevices, ComputesWhatOpenPanelsShow) {
  const PanelInput first = settled();
  EXPECT_EQ(first.answer.result->holds, Wanted{});
  explorer_.want({.wasserstein = false, .trace = false});
  settled();
  session_.view.field = Field::b_error;
  session_.view.picture = PictureKind::rescales;
  settled();
  EXPECT_EQ(compute_.wanted.size(), 1U);
  ++session_.experiment.problem.seed;
  const Result closed = *settled().answer.result;
  EXPECT_EQ(closed.holds, (Wanted{.wasserstein = false, .trace = false}));
  EXPECT_TRUE(closed.trace.tiles.empty());
  explorer_.want({.wasserstein = false, .trace = true});
  const Result opened = *settled().answer.result;
  EXPECT_EQ(opened.holds, (Wanted{.wasserstein = false, .trace = true}));
  EXPECT_FALSE(opened.trace.tiles.empty());
  EXPECT_EQ(opened.digests.a, closed.digests.a);
  EXPECT_EQ(opened.digests.b, closed.digests.b);
  EXPECT_EQ(opened.digests.golden, closed.digests.golden);
  explorer_.want({});
  EXPECT_EQ(settled().answer.result->holds, Wanted{});
  EXPECT_EQ(compute_.wanted.size(), 4U);
}

}  // namespace
}  // namespace attoscope
