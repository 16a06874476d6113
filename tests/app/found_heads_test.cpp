// The background search through all heads: its progress for the window.
#include <gtest/gtest.h>

#include "app/explore/side_answers.h"
#include "app/heads/heads.h"
#include "app/tensors/call_files.h"
#include "kernels/experiment/presets.h"
#include "kernels/experiment/rules.h"
#include "tests/support/rooms.h"

namespace attoscope::testing {
namespace {

/// A large head takes seconds: the window shows an estimate before the first head is done.
TEST(FoundHeads, TellTheTimeLeftBeforeAHeadIsDone) {
  HeadsOfFile question{.base = default_experiment()};
  const CallFiles files("assets/examples/grouped.safetensors");
  question.base.problem.input = files.input(0);
  question.base.problem = with_shape(question.base.problem, question.base.problem.input.tensors->shape());
  bool early = false;
  const auto publish = [&](const HeadsView& view) { early = early || (view.rows->empty() && view.seconds_left > 0); };
  const HeadsView found = found_heads<HeadRow>(nullptr)(question, {.options = {}, .known = nullptr, .publish = publish});
  EXPECT_TRUE(early);
  EXPECT_EQ(found.rows->size(), static_cast<std::size_t>(files.heads()));
  EXPECT_EQ(found.seconds_left, 0);
  for (const HeadRow& row : *found.rows) EXPECT_GT(row.unusual, 0) << "heads are compared with each other";
}

}  // namespace
}  // namespace attoscope::testing
