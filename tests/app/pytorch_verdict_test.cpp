// PyTorch's own outputs: none is called wrong, from files or alone.
#include <gtest/gtest.h>

#include <string>

#include "app/judge/judge_words.h"
#include "app/judge/judged_files.h"
#include "app/judge/judgement.h"
#include "app/tensors/kernel_output.h"
#include "app/words/field_setter.h"
#include "app/words/numbers.h"
#include "kernels/experiment/rules.h"

namespace attoscope::app {
namespace {

struct Case {
  const char* name;
  const char* mask;
  double scale;  ///< 0: 1/sqrt(d)
};
constexpr Case cases[]{{"bf16_causal", "causal", 0},
                       {"bf16_full", "none", 0},
                       {"bf16_window", "window:48", 0},
                       {"bf16_grouped", "causal", 0},
                       {"bf16_large_scores", "causal", 0.25},
                       {"fp16_causal", "causal", 0},
                       {"fp16_full", "none", 0},
                       {"fp32_causal", "causal", 0},
                       {"fp32_full", "none", 0}};

CallSources sources(const Case& c, const std::string& tensor) {
  const std::string file = std::string("tests/data/pytorch/") + c.name + ".safetensors";
  return {.input = file, .q = {}, .k = {}, .v = {}, .o = file + ":" + tensor};
}

JudgeQuestion question(const Case& c, const char* mask) {
  JudgeQuestion q;
  q.problem.mask = parse_mask(mask), q.problem.scale = c.scale, q.head = 0;
  return q;
}

/// The experiment that the window asks for when these tensors and this output are dropped onto it.
Experiment dropped(const Case& c, const std::string& tensor, const char* mask) {
  const JudgedFiles files(sources(c, tensor));
  Experiment e = default_experiment();
  e.problem = with_shape(question(c, mask).problem, files.shape());
  e.problem.input =
      Input{.kind = InputKind::tensors, .file = sources(c, tensor).input.text(), .digest = 1, .tensors = files.inputs(0)};
  const KernelOutput output{.file = tensor + ".npy",  // no readable file: the head stands alone
                            .index = 1,
                            .digest = 1,
                            .type = std::string(type_name(files.type_of_o())),
                            .n = files.shape().n,
                            .d = files.shape().d,
                            .values = files.output(0)};
  use_kernel_output(e, output, false);
  return with_format(e, format_of_loaded(e));
}

/// Verdict on the head from files and on the head alone, which must be the same.
CallJudgement verdict(const Case& c, const std::string& tensor, const char* mask) {
  const CallJudgement alone = judge_experiment(dropped(c, tensor, mask)),
                      of_files = judge_call(JudgedFiles(sources(c, tensor)), question(c, mask), {});
  EXPECT_EQ(alone.verdict(), of_files.verdict());
  EXPECT_EQ(alone.worst_row().found.ratio, of_files.worst_row().found.ratio);
  EXPECT_EQ(alone.worst_row().found.where, of_files.worst_row().found.where);
  return alone;
}

TEST(PyTorch, IsNeverCalledWrong) {
  for (const Case& c : cases)
    for (const char* tensor : {"o", "o_math", "o_eager"}) {
      const CallJudgement found = verdict(c, tensor, c.mask);
      EXPECT_EQ(found.verdict(), "rounded") << c.name << " " << tensor << ": " << verdict_text(found);
    }
}

TEST(PyTorch, EagerAttentionSaysWhatItRounds) {
  int said = 0;
  for (const Case& c : cases) {
    const CallJudgement found = verdict(c, "o_eager", c.mask);
    const bool says = found.worst_row().found.as.find("PyTorch's eager attention") != std::string::npos;
    EXPECT_TRUE(says || found.worst_row().found.as.empty()) << c.name << ": " << verdict_text(found);
    said += says;
  }
  EXPECT_GT(said, 0);
}

/// The same outputs under another mask: wrong, by the name of that mistake.
TEST(PyTorch, UnderAnotherMaskIsWrongByName) {
  for (const Case& c : cases)
    for (const char* tensor : {"o", "o_math", "o_eager"}) {
      const bool causal = c.mask == std::string("causal"), full = c.mask == std::string("none");
      const CallJudgement found = verdict(c, tensor, full ? "causal" : "none");
      EXPECT_EQ(found.verdict(), "wrong") << c.name << " " << tensor << ": " << verdict_text(found);
      if (!causal && !full) continue;  // a window in place of no mask has no name
      const std::optional<Slip>& slip = found.worst_row().slip;
      ASSERT_TRUE(slip) << c.name << " " << tensor << ": " << verdict_text(found);
      EXPECT_EQ(slip->text, full ? "a missing causal mask" : "a causal mask where none is wanted") << c.name << " " << tensor;
    }
}

}  // namespace
}  // namespace attoscope::app
