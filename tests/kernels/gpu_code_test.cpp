// Code that a GPU's driver has to compile: said before it is, compiled once for each GPU and kind of work.
#include "kernels/gpu/gpu_code.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <stdexcept>

namespace attoscope {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

std::vector<int> loaded;  ///< GPUs, in order
bool is_refused = false;
void some_code(int gpu) {
  if (is_refused) throw DeviceFailure("The driver refused.");
  loaded.push_back(gpu);
}
void other_code(int gpu) { loaded.push_back(100 + gpu); }

/// GPU 0 has its code in the program; those of 1 and 2 is compiled.
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
