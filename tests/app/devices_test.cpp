// Devices by name: names that are accepted, refusals and their words, and the window's messages.
#include "app/words/devices.h"

#include <nlohmann/json.hpp>
#include <stdexcept>
#include <string>

#include "app/session/report.h"
#include "app/session/result_json.h"
#include "kernels/compute.h"
#include "kernels/experiment/presets.h"
#include "kernels/experiment/result.h"
#include "kernels/gpu/device.h"
#include "tests/app/outcome.h"
#include "tests/support/matchers.h"
#include "tests/support/support.h"

namespace attoscope {
namespace {

using namespace testing;  // attoscope::testing

/// `run`, `render` and the window.
const std::vector<std::vector<std::string>> with_a_device{{"run", "--n", "8"}, {"render", "--out", "x.png"}, {}};

/// The message with which a device is refused; "": it is accepted. `Error` is the type of the exception.
template <class Error>
std::string refusal(const std::string& spec) {
  return message_of<Error>([&] { check_device("--device", spec); });
}

TEST(Devices, TheProcessorIsAlwaysThere) {
  for (const char* const spec : {"auto", "cpu"}) {
    EXPECT_NO_THROW(check_device("--device", spec));
    EXPECT_EQ(usable_device(spec).spec, spec);
    EXPECT_EQ(usable_device(spec).remark, "");
  }
}

TEST(Devices, WordsThatNameNoneAreWrongUsage) {
  for (const char* const spec : {"",           "gpu",         "tpu",           "CPU",           "cuda:",
                                 "cuda:x",     "cuda:-1",     "cuda:-0",       "cuda:+1",       "cuda:1.5",
                                 "cuda: 0",    "cuda0",       "cuda:0,",       ",cuda:0",       "cuda:0,,cuda:1",
                                 "cuda:0,cpu", "cuda,cuda:1", "cuda:0,cuda:0", "cuda:0;cuda:1", "cuda:99999999999",
                                 "auto,cpu",   "cuda:0,auto"}) {
    SCOPED_TRACE(spec);
    EXPECT_EQ(refusal<std::invalid_argument>(spec),
              "--device is '" + std::string(spec) + "', expected auto, cpu, cuda, cuda:K or a list such as cuda:0,cuda:1");
    EXPECT_EQ(usable_device(spec).spec, "cpu");
    EXPECT_THAT(usable_device(spec).remark,
                AllOf(StartsWith("The session's device is '"), ::testing::EndsWith("; the CPU computes.")));
    EXPECT_THROW(devices_of(spec), std::invalid_argument) << "the window and the kernels must accept the same names";
  }
}

TEST(Devices, GpusThatAreNotThereFailWhileRunning) {
  if (!cuda_devices().empty()) GTEST_SKIP() << "this machine has a GPU";
  EXPECT_THAT(why_no_cuda(), AllOf(::testing::Not(""), ::testing::EndsWith(".")));
  for (const char* const spec : {"cuda", "cuda:0", "cuda:7", "cuda:0,cuda:1"}) {
    SCOPED_TRACE(spec);
    EXPECT_EQ(refusal<std::runtime_error>(spec), "--device " + std::string(spec) + ": " + why_no_cuda());
    EXPECT_EQ(usable_device(spec).spec, "cpu");
    EXPECT_THAT(usable_device(spec).remark, HasSubstr("; the CPU computes."));
    for (const auto& command : with_a_device) expect_refused(with(command, {"--device", spec}), 1, why_no_cuda());
  }
}

TEST(Devices, AGpuBeyondTheLastIsNamedWithThoseThatThereAre) {
  if (cuda_devices().empty()) GTEST_SKIP() << why_no_cuda();
  const std::string beyond = "cuda:" + std::to_string(cuda_devices().back().index + 1);
  EXPECT_THAT(refusal<std::runtime_error>(beyond), AllOf(HasSubstr("there is no " + beyond + " here, expected cuda:")));
  EXPECT_EQ(refusal<std::runtime_error>("cuda"), "");
  EXPECT_EQ(refusal<std::runtime_error>("cuda:" + std::to_string(cuda_devices().front().index)), "");
  EXPECT_EQ(usable_device("cuda").spec, "cuda");
}

TEST(Devices, WrongWordsAreCode2InEveryCommand) {
  for (const auto& command : with_a_device)
    expect_refused(with(command, {"--device", "tpu"}), 2,
                   "--device is 'tpu', expected auto, cpu, cuda, cuda:K or a list such as cuda:0,cuda:1");
  expect_refused({"x.npy", "run"}, 2, "'x.npy' was not expected before a command");
  expect_refused({"no_such_file.npy"}, 2, "'no_such_file.npy' does not exist, expected a session or files of tensors");
  expect_refused({"no_such_file.pt:3"}, 2, "'no_such_file.pt:3' does not exist");
  expect_refused({"no_such_command"}, 2, "'no_such_command' is neither a command");
  expect_refused({"a/q.npy", "a/k.npy"}, 2,
                 "2 files were given, expected a session, an output, tensors, or q.npy k.npy v.npy o.npy");
  expect_refused({"--device", "cpu", "run"}, 2, "--device was not expected before a command");
}

TEST(Devices, TheProcessorNamedIsTheProcessorThatComputes) {
  EXPECT_THAT(output_of(with(small_sizes, {"--device", "cpu"})), HasSubstr(" ms on " + device_name()));
}

TEST(Devices, AGpuThatGaveUpIsNamedInTableAndJson) {
  Result r = compute(sized_experiment(16, 4));
  EXPECT_FALSE(result_json(r).contains("remark"));
  EXPECT_THAT(report(r), ::testing::Not(HasSubstr("took over")));
  r.remark = "The GPU fell off the bus. The CPU took over.";
  EXPECT_EQ(result_json(r)["remark"], r.remark);
  EXPECT_THAT(report(r), HasSubstr("\n  " + r.remark + "\n"));
}

TEST(Devices, TheWindowListsTheProcessorFirstAndAReasonWhereThereIsNoGpu) {
  const std::vector<DeviceEntry> entries = device_entries("cpu avx512, 2 threads");
  ASSERT_GE(entries.size(), 2u);
  EXPECT_EQ(entries[0].spec, "cpu");
  EXPECT_EQ(entries[0].name, "cpu avx512, 2 threads");
  EXPECT_EQ(entries[0].reason, "");
  if (cuda_devices().empty()) {
    EXPECT_EQ(entries.size(), 2u);
    EXPECT_EQ(entries[1].spec, "cuda");
    EXPECT_EQ(entries[1].reason, why_no_cuda());
  } else {
    EXPECT_EQ(entries.size(), 1 + cuda_devices().size());
    for (std::size_t i = 1; i < entries.size(); ++i) {
      EXPECT_EQ(entries[i].spec, "cuda:" + std::to_string(cuda_devices()[i - 1].index));
      EXPECT_EQ(entries[i].name, cuda_devices()[i - 1].name);
      EXPECT_EQ(entries[i].reason, "");
    }
  }
}

}  // namespace
}  // namespace attoscope
