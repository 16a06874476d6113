// Views of a result with dQ, dK, dV or dO in place of the output.
#include "kernels/experiment/answer_tensor.h"

#include <gtest/gtest.h>

#include "kernels/compute.h"
#include "kernels/deviation/deviation.h"
#include "kernels/experiment/presets.h"
#include "kernels/experiment/result.h"
#include "kernels/experiment/rules.h"
#include "tests/support/same_answer.h"
#include "tests/support/support.h"

namespace attoscope {
namespace {

/// An experiment of 9 queries, 14 keys, 5 columns of Q and 3 of V, with `rows` computed queries.
Experiment backward_experiment(int rows) {
  Experiment e = testing::small_experiment(bf16, 9, 5);
  e.problem.n_k = 14;
  e.problem.d_v = 3;
  e.problem.rows = rows;
  e.problem.mask.kind = Mask::Kind::window;
  e.problem.mask.window = 2;
  e.a = with_policy(e.a, policy("hw"));
  return with_backward(e);
}

std::shared_ptr<const Result> answer_to(const Experiment& e) { return std::make_shared<const Result>(compute(e)); }

struct Seen {
  AnswerTensor tensor;
  Matrix Gradients::* matrix;
  Deviation GradientDeviations::* deviation;
};
constexpr Seen gradients_seen[] = {{AnswerTensor::dQ, &Gradients::dq, &GradientDeviations::dq},
                                   {AnswerTensor::dK, &Gradients::dk, &GradientDeviations::dk},
                                   {AnswerTensor::dV, &Gradients::dv, &GradientDeviations::dv}};

void expect_numbers(const Result& r) {
  const Measured golden = unsorted(*r.golden);
  EXPECT_EQ(r.golden_rms, golden.rms);
  EXPECT_EQ(r.golden_nonfinite, golden.nonfinite);
  EXPECT_EQ(r.digests.golden, golden.digest);
  EXPECT_EQ(r.digests.a, digest(r.a));
  EXPECT_EQ(r.digests.b, digest(r.b));
}

TEST(AnswerTensor, HasTheNumbersOfItsGradient) {
  for (const int rows : {0, 4}) {
    const auto answer = answer_to(backward_experiment(rows));
    const BackwardResult& b = *answer->backward;
    for (const Seen& s : gradients_seen) {
      SCOPED_TRACE(name(s.tensor));
      const auto seen = seen_as(answer, s.tensor);
      EXPECT_EQ(seen->golden->values, ((*b.golden).*s.matrix).values);
      EXPECT_EQ(seen->a.values, (b.a.*s.matrix).values);
      EXPECT_EQ(seen->b.values, (b.b.*s.matrix).values);
      testing::expect_same_errors(seen->a_error, b.a_error.*s.deviation);
      testing::expect_same_errors(seen->b_error, b.b_error.*s.deviation);
      testing::expect_same_errors(seen->a_minus_b, b.a_minus_b.*s.deviation);
      expect_numbers(*seen);
      const bool keys = has_keys_as_rows(s.tensor);
      EXPECT_EQ(seen->rows, keys ? b.keys : answer->rows);
      EXPECT_EQ(seen->rows.size(), static_cast<std::size_t>(seen->a.rows));
      const Problem& p = seen->experiment.problem;
      EXPECT_EQ(p.n, keys ? 14 : 9);
      EXPECT_EQ(key_count(p), 14);
      EXPECT_EQ(value_columns(p), seen->a.cols);
      EXPECT_EQ(seen->experiment.backward, answer->experiment.backward);
      EXPECT_EQ(seen->on_device, nullptr);
      EXPECT_FALSE(seen->a_parts.has_value());
    }
  }
}

TEST(AnswerTensor, HasTheIncomingGradientWithoutErrors) {
  for (const int rows : {0, 4}) {
    const auto answer = answer_to(backward_experiment(rows)), seen = seen_as(answer, AnswerTensor::dO);
    EXPECT_EQ(seen->rows, answer->rows);
    for (int i = 0; i < seen->golden->rows; ++i)
      for (int c = 0; c < 3; ++c)
        EXPECT_EQ((*seen->golden)(i, c),
                  answer->backward->incoming->d_o[static_cast<std::size_t>(answer->rows[static_cast<std::size_t>(i)] * 3 + c)]);
    EXPECT_EQ(seen->a.values, seen->golden->values);
    EXPECT_EQ(seen->b.values, seen->golden->values);
    EXPECT_EQ(seen->a_error.max_abs, 0);
    expect_numbers(*seen);
  }
}

TEST(AnswerTensor, IsTheAnswerItselfForO) {
  const auto answer = answer_to(backward_experiment(0));
  EXPECT_EQ(seen_as(answer, AnswerTensor::O), answer);
  Experiment forward = backward_experiment(0);
  forward.backward.on = false;
  const auto without = answer_to(forward);
  EXPECT_EQ(seen_as(without, AnswerTensor::O), without);
  EXPECT_EQ(seen_as(without, AnswerTensor::dQ), nullptr);
  EXPECT_EQ(seen_as(nullptr, AnswerTensor::dQ), nullptr);
}

}  // namespace
}  // namespace attoscope
