// Serialised questions and answers: a round trip keeps them, shared values stay shared, and truncated bytes are refused.
#include "app/threads/bytes.h"

#include <gtest/gtest.h>

#include <memory>
#include <stdexcept>
#include <string>

#include "app/explore/model_controller.h"
#include "app/explore/side_answers.h"
#include "app/sweep/runner.h"
#include "app/train/ordered_training.h"
#include "kernels/compute.h"
#include "kernels/experiment/rules.h"
#include "kernels/questions/attribution.h"
#include "kernels/questions/gradient_attribution.h"
#include "kernels/questions/gradient_spread.h"
#include "kernels/questions/gradient_trace.h"
#include "kernels/questions/gradient_window.h"
#include "kernels/questions/product_sum.h"
#include "kernels/questions/same_bits.h"
#include "kernels/questions/scores.h"
#include "tests/support/support.h"
#include "ui/frame/lesson.h"

namespace attoscope::app {
namespace {

template <class T>
std::string bytes_of(const T& x, SharedValues shared = {}) {
  ByteWriter writer(shared);
  writer.write(x);
  return writer.take();
}
template <class T>
T from(const std::string& bytes, SharedValues shared = {}) {
  return ByteReader(bytes, shared).read<T>();
}
template <class T>
void expect_same_bytes(const T& x) {
  const std::string bytes = bytes_of(x);
  EXPECT_EQ(bytes_of(from<T>(bytes)), bytes);
}

/// A result with most optional parts: a causal mask, a sink, a backward pass.
Result answer() {
  Experiment e = testing::sized_experiment(48, 16);
  e.problem.mask.kind = Mask::Kind::causal;
  e.problem.sink = 0.5;
  e.backward.on = true;
  return compute(e);
}

TEST(Bytes, EveryKindOfQuestionAndAnswerComesBack) {
  ui::for_each_side(
      [](auto question) {
        using Both = decltype(question);
        expect_same_bytes(typename Both::first_type{});
        expect_same_bytes(typename Both::second_type{});
      },
      ui::SideList<std::pair>{});
  expect_same_bytes(ui::LessonAnswer{});
  expect_same_bytes(SweepAnswer{});
  expect_same_bytes(ui::ModelFound{});
  expect_same_bytes(TrainRecord{});
}

TEST(Bytes, AnAnswerKeepsItsNumbers) {
  const Result there = answer();
  const auto here = from<Result>(bytes_of(there));
  EXPECT_EQ(here.experiment, there.experiment);
  EXPECT_EQ(here.golden->values, there.golden->values);
  EXPECT_EQ(here.a.values, there.a.values);
  EXPECT_EQ(here.digests.b, there.digests.b);
  EXPECT_EQ(here.a_error.ulps.counts, there.a_error.ulps.counts);
  ASSERT_TRUE(here.backward);
  EXPECT_EQ(here.backward->golden->dk.values, there.backward->golden->dk.values);
  EXPECT_EQ(here.backward->a_digest, there.backward->a_digest);
  EXPECT_EQ(here.trace.tiles.size(), there.trace.tiles.size());
  EXPECT_EQ(bytes_of(here), bytes_of(there));
}

TEST(Bytes, SharedValuesAreSharedAgain) {
  const auto shown = std::make_shared<const Result>(answer());
  const ui::KernelGradientsQuestion asked{shown, {}};
  SharedValues here;
  ByteWriter question(here);
  question.write(asked);
  const std::string sent = question.take();

  SharedValues there;
  const auto arrived = ByteReader(sent, there).read<ui::KernelGradientsQuestion>();
  const std::string back = bytes_of(ui::KernelGradientsAnswer{arrived, arrived.answer}, there);
  EXPECT_LT(back.size(), sent.size() / 10) << "the answer refers to the result in the question instead of copying it";
  const auto told = from<ui::KernelGradientsAnswer>(back, here);
  EXPECT_EQ(told.question.answer, shown);
  EXPECT_EQ(told.answer, shown);
}

TEST(Bytes, AFunctionComesHomeAsItself) {
  using Row = std::function<bool(int, double*)>;
  const Row own = [](int row, double* out) { return *out = row, true; };
  const std::string sent = bytes_of(own);
  double x = 0;
  EXPECT_TRUE(from<Row>(sent)(7, &x));
  EXPECT_EQ(x, 7);
  const Row far = FarFunction{1 << 20};  // stands for a function of another module
  EXPECT_EQ(bytes_of(from<Row>(bytes_of(far))), bytes_of(far));
  EXPECT_THROW(far(7, &x), std::logic_error);
  EXPECT_FALSE(from<Row>(bytes_of(Row())));
}

TEST(Bytes, OtherHeadsAreFoundInTheFile) {
  Tensors tensors = Tensors::shaped(AttentionShape::square(2, 1));
  tensors.all_heads = std::make_shared<const AllHeads>([](ScaledTensor, const StopSign&) { return 1.0; });
  Input input{.kind = InputKind::tensors, .file = "q.npy", .index = 3};
  input.tensors = std::make_shared<const Tensors>(tensors);
  const std::string bytes = bytes_of(input);
  SharedValues shared;
  const auto largest = [](const std::string& file, int head, ScaledTensor, const StopSign&) {
    return file == "q.npy" ? 10.0 + head : 0;
  };
  const auto arrived = ByteReader(bytes, shared, largest).read<Input>();
  EXPECT_EQ(arrived.tensors->all_heads->largest(ScaledTensor::K, StopSign{}), 13);
  EXPECT_THROW(from<Input>(bytes).tensors->all_heads->largest(ScaledTensor::K, StopSign{}), std::logic_error);
}

TEST(Bytes, CutOnesAreRefused) {
  const std::string bytes = bytes_of(answer());
  for (std::size_t size = 0; size < bytes.size(); size += bytes.size() / 97)
    EXPECT_THROW(from<Result>(bytes.substr(0, size)), std::runtime_error) << size;
}

}  // namespace
}  // namespace attoscope::app
