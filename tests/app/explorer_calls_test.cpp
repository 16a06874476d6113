// Calls of torch.save in the window: their masks and numbers, sequences, and gradients summed over a group of heads.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "app/explore/explorer.h"
#include "kernels/arithmetic/format.h"
#include "kernels/experiment/rules.h"
#include "kernels/experiment/text.h"
#include "tests/support/eventually.h"
#include "tests/support/support.h"
#include "tests/tensors/saved_dict.h"
#include "ui/frame/loaded_output.h"

namespace attoscope {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using Numbers = std::vector<double>;

class ExplorerCalls : public ::testing::Test {
 protected:
  PanelInput settled() {
    EXPECT_TRUE(testing::eventually([&] {
      explorer_.update(session_);
      return !explorer_.computing();
    }));
    explorer_.update(session_);
    return explorer_.panel_input();
  }
  PanelInput drop(const testing::SavedDict& saved, const std::string& name = "call.pt") {
    explorer_.open_dropped(session_, {scratch_.write_old(name, saved.bytes())}, false, {});
    return settled();
  }
  static Numbers random(int count, std::uint64_t seed) {
    testing::Dice dice(seed);
    Numbers x;
    for (int i = 0; i < count; ++i) x.push_back(round(bf16, dice.normal()));
    return x;
  }
  /// Two packed sequences of 3 and 5 queries, 4 and 6 keys, four heads over two.
  static testing::SavedDict packed() {
    testing::SavedDict dict;
    dict.bf16s("q", {8, 4, 8}, random(256, 1)).bf16s("k", {10, 2, 8}, random(160, 2)).bf16s("v", {10, 2, 8}, random(160, 3));
    dict.ints("cu_seqlens_q", {3}, {0, 3, 8}).ints("cu_seqlens_k", {3}, {0, 4, 10});
    return dict.value("causal", testing::SavedDict::boolean(true)).value("softmax_scale", testing::SavedDict::real(0.5));
  }
  const Problem& problem() const { return session_.experiment.problem; }

  testing::TemporaryDirectory scratch_;
  Session session_;
  Explorer explorer_{Start{}, [] {}};
};

TEST_F(ExplorerCalls, TakeMaskAndScaleFromTheFileAndGiveThemBack) {
  const PanelInput shown = drop(packed());
  ASSERT_TRUE(shown.answer.result) << shown.messages.error;
  EXPECT_EQ(mask_text(problem().mask), "causal");
  EXPECT_EQ(problem().scale, 0.5);
  EXPECT_THAT(shown.messages.notice, AllOf(HasSubstr("--scale is taken from"), HasSubstr("--mask is causal, by")));
  ASSERT_EQ(shown.choices.tensors.layers.size(), 2U);
  EXPECT_EQ(shown.choices.tensors.layers[1].name, "sequence 1");
  session_.experiment.problem = with_shape(with_head(problem(), 6), {5, 6, 8, 8});
  EXPECT_EQ(settled().answer.result->inputs->n_k, 6);
  EXPECT_EQ(problem().n, 5);
  testing::SavedDict plain;
  plain.bf16s("q", {1, 6, 8}, random(48, 1)).bf16s("k", {1, 6, 8}, random(48, 2)).bf16s("v", {1, 6, 8}, random(48, 3));
  ASSERT_TRUE(drop(plain, "plain.pt").answer.result);
  EXPECT_EQ(mask_text(problem().mask), "none");
  EXPECT_EQ(problem().scale, Problem{}.scale);
}

TEST_F(ExplorerCalls, EachHeadHasItsOwnSlope) {
  testing::SavedDict dict = packed();
  dict.floats("alibi_slopes", {4}, {0.5, 0.25, 0.125, 0.0625});
  ASSERT_TRUE(drop(dict).answer.result);
  EXPECT_EQ(problem().alibi, 0.5);
  session_.experiment.problem = with_head(problem(), 3);
  settled();
  EXPECT_EQ(problem().alibi, 0.0625);
  EXPECT_EQ(problem().scale, 0.5);
}

/// dQ has a picture for each head; dK and dV with the heads of K are judged, and the picture of one head shows a's own.
TEST_F(ExplorerCalls, SumsOverAGroupAreJudgedAndNotShown) {
  testing::SavedDict dict = packed();
  dict.bf16s("dout", {8, 4, 8}, random(256, 4)).bf16s("dq", {8, 4, 8}, random(256, 5));
  dict.bf16s("dk", {10, 2, 8}, random(160, 6)).bf16s("dv", {10, 2, 8}, Numbers(160));
  const PanelInput shown = drop(dict);
  ASSERT_TRUE(shown.answer.result && shown.answer.result->backward) << shown.messages.error;
  EXPECT_TRUE(testing::eventually([&] { return explorer_.update(session_), !explorer_.computing(); }));
  EXPECT_THAT(shown.messages.notice, AllOf(HasSubstr("dQ is that of call.pt, in the place of a's"),
                                           HasSubstr("dK and dV in the file: sums over the heads that share K and V")));
  Requests requests;
  requests.side.kernel_gradients = KernelGradientsQuestion{nullptr, session_.kernel_gradients};
  EXPECT_TRUE(testing::eventually([&] {
    explorer_.update(session_);
    explorer_.ask_beside(requests, session_);
    const auto found = explorer_.panel_input().side.kernel_gradients;
    return found && !found->sentences[0].empty();
  }));
  const auto found = explorer_.panel_input().side.kernel_gradients;
  EXPECT_THAT(found->sentences[0], AllOf(HasSubstr("dK and dV are sums over the heads 0 to 1 of Q"), HasSubstr("wrong")));
  EXPECT_EQ(found->sums, (std::array{false, true, true}));
  EXPECT_FALSE(place_of_kernels(found.get(), AnswerTensor::dK).has_value());
  EXPECT_EQ(place_of_kernels(found.get(), AnswerTensor::dQ), 0U);
}

}  // namespace
}  // namespace attoscope
