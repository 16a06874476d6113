// Sentences about GPUs, made from results of the CUDA runtime.

#include "kernels/gpu/device_answer.h"

#include "kernels/gpu/device.h"
#include "tests/support/matchers.h"

namespace attoscope {
namespace {

using namespace testing;  // attoscope::testing

constexpr CudaVersions usual{12080, 12040};
constexpr const char* built = "80-real,90-real,120-virtual";

DeviceAnswer answer(CudaError error, const char* name = "NVIDIA GeForce GTX 1080", int major = 6, int minor = 1,
                    int index = 0) {
  return {{index, name, major, minor, 0}, error, "the runtime's words"};
}
std::string why(CudaError error, const CudaVersions& versions = usual) { return why_no_code(answer(error), versions, built); }

TEST(DeviceAnswer, AGpuThatTookACodeCanBeUsed) {
  EXPECT_EQ(why(CudaError::none), "");
  EXPECT_EQ(why_no_list(CudaError::none, usual, "no error"), "");
}

TEST(DeviceAnswer, NoCodeForItsArchitectureNamesWhatThereIsAndWhatToBuild) {
  for (const CudaError error : {CudaError::no_kernel_image, CudaError::invalid_device_function})
    EXPECT_EQ(why(error),
              "NVIDIA GeForce GTX 1080 (compute capability 6.1) cannot run this program, which was built with code for 8.0 and "
              "9.0, PTX of 12.0; it needs a build on this machine, or with -DCMAKE_CUDA_ARCHITECTURES=61.");
}

TEST(DeviceAnswer, ADriverThatIsTooOldIsNamedWithTheOneThatIsNeeded) {
  EXPECT_EQ(why(CudaError::insufficient_driver, {11040, 12040}),
            "NVIDIA GeForce GTX 1080 (compute capability 6.1) cannot be used: its driver supports CUDA 11.4, and this "
            "program needs a driver for CUDA 12 or newer.");
  EXPECT_EQ(why_no_list(CudaError::insufficient_driver, {11040, 13000}, ""),
            "This machine's NVIDIA driver supports CUDA 11.4, and this program needs a driver for CUDA 13 or newer.");
  EXPECT_EQ(why_no_list(CudaError::insufficient_driver, {0, 12040}, ""),
            "This machine has no NVIDIA driver; a GPU here needs a driver for CUDA 12 or newer.");
  EXPECT_EQ(why_no_list(CudaError::stub_library, {0, 12040}, ""), why_no_list(CudaError::insufficient_driver, {0, 12040}, ""));
}

TEST(DeviceAnswer, ARefusedCompilationSaysByWhomAndWhatHelps) {
  EXPECT_EQ(why(CudaError::unsupported_ptx, {12020, 12080}),
            "NVIDIA GeForce GTX 1080 (compute capability 6.1) needs this program's PTX compiled by its driver, which supports "
            "CUDA 12.2; it needs a driver for CUDA 12.8 or newer, or a build on this machine.");
  EXPECT_THAT(why(CudaError::invalid_ptx), HasSubstr("refused this program's PTX (code for 8.0 and 9.0, PTX of 12.0)"));
  EXPECT_THAT(why(CudaError::jit_compiler_not_found), HasSubstr("libnvidia-ptxjitcompiler) is not installed"));
  EXPECT_THAT(why(CudaError::jit_compilation_disabled), HasSubstr("CUDA_DISABLE_PTX_JIT forbids that"));
}

TEST(DeviceAnswer, OtherErrorsAreToldInTheRuntimesWords) {
  EXPECT_EQ(why(CudaError::devices_unavailable),
            "NVIDIA GeForce GTX 1080 (compute capability 6.1) is busy, or kept for other programs: the runtime's words.");
  EXPECT_EQ(why(static_cast<CudaError>(999)),
            "NVIDIA GeForce GTX 1080 (compute capability 6.1) did not take this program's code (code for 8.0 and 9.0, PTX of "
            "12.0; its driver supports CUDA 12.8): the runtime's words.");
  EXPECT_EQ(why_no_code(answer(static_cast<CudaError>(999), "GPU 3", 0, 0), {0, 0}, "90"),
            "GPU 3 did not take this program's code (code for 9.0, PTX of 9.0; its driver does not report its version): "
            "the runtime's words.");
  EXPECT_EQ(why_no_list(static_cast<CudaError>(999), usual, "unknown error."), "CUDA does not work here: unknown error.");
  EXPECT_EQ(why_no_list(CudaError::no_device, usual, ""), "This machine has no NVIDIA GPU.");
  EXPECT_THAT(why_no_list(CudaError::system_driver_mismatch, usual, ""), HasSubstr("after a restart"));
}

/// Every error gives one sentence that names the GPU.
TEST(DeviceAnswer, IsOneSentenceForEveryError) {
  for (int error = 1; error < 1000; ++error) {
    const std::string told = why(static_cast<CudaError>(error));
    EXPECT_THAT(told, AllOf(StartsWith("NVIDIA GeForce GTX 1080"), EndsWith(".")));
    EXPECT_EQ(told.find(". "), std::string::npos) << told;
    EXPECT_THAT(why_no_list(static_cast<CudaError>(error), usual, "words"), EndsWith("."));
  }
}

TEST(DeviceAnswer, AListHoldsWhatWorksAndElseTheFirstReason) {
  const DeviceAnswer old = answer(CudaError::no_kernel_image),
                     busy = answer(CudaError::devices_unavailable, "NVIDIA A100", 8, 0, 1),
                     fine = answer(CudaError::none, "NVIDIA H100", 9, 0, 2);
  const DeviceList mixed = device_list(std::vector{old, busy, fine}, usual, built);
  ASSERT_EQ(mixed.devices.size(), 1u);
  EXPECT_EQ(mixed.devices[0].index, 2) << "its place among all GPUs";
  EXPECT_EQ(mixed.reason, "");
  const DeviceList none = device_list(std::vector{old, busy}, usual, built);
  EXPECT_TRUE(none.devices.empty());
  EXPECT_THAT(none.reason, HasSubstr("GTX 1080"));
  EXPECT_EQ(device_list({}, usual, built).reason, "This machine has no NVIDIA GPU.");
}

TEST(DeviceAnswer, UnderWaylandAnyGpuMayDraw) {
  const auto drawing = [](std::vector<DeviceInfo> gpus, bool wayland) {
    mark_drawing(gpus, wayland);
    std::vector<bool> draws;
    for (const DeviceInfo& gpu : gpus) draws.push_back(gpu.draws);
    return draws;
  };
  const DeviceInfo silent{.index = 0}, drawn{.index = 1, .draws = true};
  EXPECT_THAT(drawing({silent, drawn}, false), ElementsAre(false, true));
  EXPECT_THAT(drawing({silent, drawn}, true), ElementsAre(false, true)) << "one GPU is known to draw";
  EXPECT_THAT(drawing({silent, silent}, true), ElementsAre(true, true));
  EXPECT_THAT(drawing({silent, silent}, false), ElementsAre(false, false));
}

/// If the program holds no code of the architecture that runs, the driver compiled this code.
TEST(DeviceAnswer, TellsWhatTheDriverCompiled) {
  EXPECT_TRUE(is_compiled_by_driver({120, 90}, "80-real,90"));
  EXPECT_TRUE(is_compiled_by_driver({120, 120}, "90-real,120-virtual")) << "only as PTX";
  EXPECT_TRUE(is_compiled_by_driver({90, 80}, "80-virtual"));
  EXPECT_FALSE(is_compiled_by_driver({90, 90}, "80-real,90-real,120-virtual"));
  EXPECT_FALSE(is_compiled_by_driver({80, 80}, "80-real,90-virtual")) << "code of 8.0 also runs on 8.6";
  EXPECT_FALSE(is_compiled_by_driver({90, 90}, "90"));
  EXPECT_FALSE(is_compiled_by_driver({90, 90}, "90a-real"));
  EXPECT_FALSE(is_compiled_by_driver({86, 86}, "native"));
  EXPECT_TRUE(is_compiled_by_driver({89, 86}, "native")) << "built on another machine";
}

TEST(DeviceAnswer, ArchitecturesAreShownAsCapabilities) {
  EXPECT_EQ(architectures_text("75-real,80-real,90-real,120-virtual"), "code for 7.5, 8.0 and 9.0, PTX of 12.0");
  EXPECT_EQ(architectures_text("90"), "code for 9.0, PTX of 9.0");
  EXPECT_EQ(architectures_text("90-virtual"), "PTX of 9.0");
  EXPECT_EQ(architectures_text("89-real"), "code for 8.9");
  EXPECT_EQ(architectures_text("native"), "code for native");
  EXPECT_EQ(architectures_text(""), "");
}

std::vector<int> loaded;  ///< GPUs, in order
bool is_refused = false;
void some_code(int gpu) {
  if (is_refused) throw DeviceFailure("The driver refused.");
  loaded.push_back(gpu);
}
void other_code(int gpu) { loaded.push_back(100 + gpu); }

/// GPU 0 has its code in the program; the driver compiles the code of 1 and 2.
std::vector<DeviceInfo> three_gpus() {
  return {{.index = 0, .name = "old"},
          {.index = 1, .name = "new", .compiles = true},
          {.index = 2, .name = "newer", .compiles = true}};
}

TEST(GpuCode, IsCompiledOnceWhereTheProgramHasNone) {
  loaded.clear();
  GpuCode code(three_gpus());
  EXPECT_EQ(code.sentence({0, 1, 2}, some_code), "The driver compiles the code for new, once: about half a minute.");
  code.load({0, 1, 2}, some_code);
  EXPECT_THAT(loaded, ElementsAre(1, 2));
  EXPECT_EQ(code.sentence({0, 1, 2}, some_code), "");
  code.load({2, 1}, some_code);
  EXPECT_THAT(loaded, ElementsAre(1, 2));
  EXPECT_EQ(code.sentence({2}, other_code), "The driver compiles the code for newer, once: about half a minute.");
  code.load({2}, other_code);
  EXPECT_THAT(loaded, ElementsAre(1, 2, 102));
}

TEST(GpuCode, IsTriedAgainWhereItFailed) {
  loaded.clear();
  GpuCode code(three_gpus());
  is_refused = true;
  EXPECT_THROW(code.load({1}, some_code), DeviceFailure);
  is_refused = false;
  EXPECT_NE(code.sentence({1}, some_code), "");
  code.load({1}, some_code);
  EXPECT_THAT(loaded, ElementsAre(1));
}

TEST(GpuCode, NothingIsSaidOfGpusThatAreNotThere) {
  loaded.clear();
  GpuCode code({});
  EXPECT_EQ(code.sentence({1000, 1001}, some_code), "");
  code.load({1000}, some_code);
  EXPECT_THAT(loaded, IsEmpty());
  EXPECT_EQ(gpu_code().sentence({1000}), "");
}

}  // namespace
}  // namespace attoscope
