// The background search through all heads: its progress for the window.
#include <gtest/gtest.h>

#include "app/explore/side_answers.h"
#include "app/heads/heads.h"
#include "app/tensors/call_files.h"
#include "kernels/experiment/presets.h"
#include "kernels/experiment/rules.h"
#include "tests/support/rooms.h"
#include "tests/support/temporary_directory.h"
#include "tests/tensors/saved_dict.h"

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

/// Two packed sequences of 3 and 5 queries, with a slope for each of two heads.
std::string call_with_slopes(const TemporaryDirectory& scratch) {
  std::vector<double> x;
  for (int i = 0; i < 8 * 2 * 8; ++i) x.push_back(i * 37 % 64 / 16.0 - 2);
  SavedDict dict;
  dict.bf16s("q", {8, 2, 8}, x).bf16s("k", {8, 2, 8}, x).bf16s("v", {8, 2, 8}, x);
  dict.ints("cu_seqlens_q", {3}, {0, 3, 8}).ints("cu_seqlens_k", {3}, {0, 3, 8});
  dict.floats("alibi_slopes", {2}, {0.5, 0.0625});
  return scratch.write("call.pt", dict.bytes());
}

/// The experiment of a head with its own slope.
Experiment on_own_head(const CallFiles& files, int head) {
  Experiment e = default_experiment();
  e.problem = HeadNumbers({}, files).of_head(e.problem, head);
  e.problem.input = files.input(head);
  e.problem = with_shape(e.problem, e.problem.input.tensors->shape());
  return e;
}

/// Each head has its own slope, whichever is open; the rows found for one open head serve another one.
TEST(FoundHeads, DoNotDependOnTheOpenHead) {
  const TemporaryDirectory scratch;
  const CallFiles files(call_with_slopes(scratch));
  const HeadsView first = found_heads<HeadRow>(nullptr)(*heads_of_file(on_own_head(files, 0)),
                                                        {.options = {}, .known = nullptr, .publish = [](const HeadsView&) {}});
  ASSERT_EQ(first.rows->size(), 4U);
  for (const HeadRow& row : *first.rows)
    EXPECT_EQ(row.a_rms, compute(on_own_head(files, row.head)).a_error.rms) << "head " << row.head;
  for (const int open : {1, 2, 3}) {
    const HeadsOfFile question = *heads_of_file(on_own_head(files, open));
    const auto known = std::make_shared<const HeadsView>(first);
    const HeadsView again =
        found_heads<HeadRow>(nullptr)(question, {.options = {}, .known = known, .publish = [](const HeadsView&) {}});
    EXPECT_EQ(again.rows, first.rows) << "open head " << open;
    const HeadsView alone =
        found_heads<HeadRow>(nullptr)(question, {.options = {}, .known = nullptr, .publish = [](const HeadsView&) {}});
    for (const HeadRow& row : *alone.rows)
      EXPECT_EQ(row.a_rms, compute(on_own_head(files, row.head)).a_error.rms) << "head " << row.head;
  }
  EXPECT_EQ(*heads_of_file(on_own_head(files, 0)), *heads_of_file(on_own_head(files, 2))) << "sequences of 3 and of 5 tokens";
}

}  // namespace
}  // namespace attoscope::testing
