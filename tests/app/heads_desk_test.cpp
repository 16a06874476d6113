// The search through all heads in the background: what the window is told of it.
#include "app/explore/heads_desk.h"

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <thread>

#include "app/heads/kept_heads.h"
#include "app/tensors/call_files.h"
#include "kernels/experiment/presets.h"
#include "kernels/experiment/rules.h"

namespace attoscope::testing {
namespace {

/// A large head takes seconds, in which nothing would be seen to move.
TEST(HeadsDesk, TellsTheTimeLeftBeforeAHeadIsDone) {
  Experiment e = default_experiment();
  const CallFiles files("assets/examples/grouped.safetensors");
  e.problem.input = files.input(0);
  e.problem = with_shape(e.problem, e.problem.input.tensors->shape());
  std::atomic<bool> early = false;
  HeadsDesk<HeadRow>* shown = nullptr;
  HeadsDesk<HeadRow> desk(
      [&] {
        const HeadsView view = shown->view();
        if (view.rows->empty() && view.seconds_left > 0) early = true;
      },
      nullptr);
  shown = &desk;
  desk.ask(e);
  while (!desk.has_all(e) || desk.busy()) std::this_thread::sleep_for(std::chrono::milliseconds(5));
  EXPECT_TRUE(early);
  EXPECT_EQ(desk.view().rows->size(), static_cast<std::size_t>(files.heads()));
  EXPECT_EQ(desk.view().seconds_left, 0);
}

}  // namespace
}  // namespace attoscope::testing
