// What the window says of PyTorch's own outputs: none is called wrong, and none has a slip.
#include <gtest/gtest.h>

#include <string>

#include "app/judge/judged_files.h"
#include "app/tensors/kernel_output.h"
#include "app/words/field_setter.h"
#include "app/words/numbers.h"
#include "kernels/compute.h"
#include "kernels/experiment/result.h"
#include "kernels/experiment/rules.h"

namespace attoscope {
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

/// The experiment that the window asks for when these tensors and this output are dropped onto it.
Experiment dropped(const Case& c, const std::string& tensor, const char* mask) {
  const std::string file = std::string("tests/data/pytorch/") + c.name + ".safetensors";
  const JudgedFiles files({.input = file, .q = {}, .k = {}, .v = {}, .o = file + ":" + tensor});
  Experiment e = default_experiment();
  e.problem = with_shape(e.problem, files.shape());
  e.problem.mask = parse_mask(mask), e.problem.scale = c.scale;
  e.problem.input = {.kind = InputKind::tensors, .file = file, .digest = 1, .tensors = files.inputs(0)};
  KernelOutput output{.file = file,
                      .digest = 1,
                      .type = std::string(type_name(files.type_of_o())),
                      .n = files.shape().n,
                      .d = files.shape().d,
                      .values = files.output(0)};
  e = with_format(e, format_of_output(output, e.format));
  use_kernel_output(e, output, false);
  return e;
}

TEST(PyTorch, IsNeverCalledWrong) {
  for (const Case& c : cases)
    for (const char* tensor : {"o", "o_math", "o_eager"}) {
      const Diagnosis found = diagnose(compute(dropped(c, tensor, c.mask)));
      EXPECT_NE(found.verdict, Diagnosis::Verdict::wrong) << c.name << " " << tensor << ": " << found.sentence;
      EXPECT_FALSE(found.slip) << c.name << " " << tensor << ": " << found.sentence;
    }
}

/// Against a rival that rounds no scores, those of the eager attention say what they round.
TEST(PyTorch, EagerAttentionSaysWhatItRounds) {
  for (const Case& c : cases)
    for (const char* tensor : {"o", "o_math", "o_eager"}) {
      const Experiment e = with_baseline(dropped(c, tensor, c.mask), policy("base_hw"));
      const Diagnosis found = diagnose(compute(e));
      EXPECT_EQ(name(found.verdict), "rounded") << c.name << " " << tensor << ": " << found.sentence;
      EXPECT_FALSE(found.slip) << c.name << " " << tensor << ": " << found.sentence;
      const bool eager = tensor == std::string("o_eager") && !(e.format == fp32);
      EXPECT_EQ(found.ratio > 2, found.sentence.find("PyTorch's eager attention") != std::string::npos) << found.sentence;
      if (!eager) {
        EXPECT_LE(found.ratio, 2) << c.name << " " << tensor << ": " << found.sentence;
      }
    }
}

/// The same outputs where another mask was asked for: wrong, by that name.
TEST(PyTorch, UnderAnotherMaskIsWrongByName) {
  for (const Case& c : cases)
    for (const char* tensor : {"o", "o_math", "o_eager"}) {
      const bool causal = c.mask == std::string("causal"), full = c.mask == std::string("none");
      const Diagnosis found = diagnose(compute(dropped(c, tensor, full ? "causal" : "none")));
      EXPECT_EQ(found.verdict, Diagnosis::Verdict::wrong) << c.name << " " << tensor << ": " << found.sentence;
      if (!causal && !full) continue;  // a window where none is wanted has no name
      ASSERT_TRUE(found.slip) << c.name << " " << tensor << ": " << found.sentence;
      EXPECT_EQ(found.slip->text, full ? "a missing causal mask" : "a causal mask where none is wanted")
          << c.name << " " << tensor;
    }
}

}  // namespace
}  // namespace attoscope
