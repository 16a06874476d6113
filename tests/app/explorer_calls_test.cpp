// Calls of torch.save in the window: their masks and numbers, sequences, and gradients summed over a group of heads.

#include "kernels/arithmetic/format.h"
#include "kernels/experiment/rules.h"
#include "kernels/experiment/text.h"
#include "kernels/questions/gradient_window.h"
#include "tests/app/explorer_fixture.h"
#include "tests/questions/planted_gradients.h"
#include "tests/support/support.h"
#include "tests/tensors/saved_dict.h"
#include "ui/frame/loaded_output.h"

namespace attoscope {
namespace {

using namespace testing;  // attoscope::testing
using Numbers = std::vector<double>;

class ExplorerCalls : public ExplorerTest {
 protected:
  PanelInput drop(const testing::SavedDict& saved, const std::string& name = "call.pt") {
    return ExplorerTest::drop({scratch_.write_old(name, saved.bytes())});
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
  /// A call of this many heads, tokens and columns of 8, with its output.
  static testing::SavedDict square(int heads, int tokens, double scale = 0.5) {
    testing::SavedDict dict;
    std::uint64_t seed = 1;
    for (const char* const name : {"q", "k", "v", "out"})
      dict.bf16s(name, {1, tokens, heads, 8}, random(heads * tokens * 8, seed++));
    return dict.value("softmax_scale", testing::SavedDict::real(scale));
  }
  /// A call of two heads; the last number of head 1's K is `largest`.
  static testing::SavedDict with_largest_key(double largest) {
    Numbers k = random(144, 2);
    k.back() = largest;
    testing::SavedDict dict;
    dict.bf16s("q", {1, 9, 2, 8}, random(144, 1)).bf16s("k", {1, 9, 2, 8}, k).bf16s("v", {1, 9, 2, 8}, random(144, 3));
    return dict.value("softmax_scale", testing::SavedDict::real(0.5));
  }
  /// Updates the explorer until this holds.
  template <class Holds>
  bool updated_until(Holds holds) {
    return testing::eventually([&] { return explorer_.update(session_), holds(); });
  }
  /// Requests the verdicts on all heads of the loaded output as the window does, and waits for them.
  std::size_t judged_heads() {
    const auto found = [&] {
      return verdicts_of(found_of(explorer_.panel_input().side.judged, verdict_question(session_.experiment)));
    };
    EXPECT_TRUE(updated_until([&] {
      Requests requests;
      requests.side.judged = heads_of_file(verdict_question(session_.experiment));
      explorer_.ask_beside(requests, session_);
      return found().complete();
    }));
    return static_cast<std::size_t>(found().judged);
  }
  const Problem& problem() const { return session_.experiment.problem; }
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

TEST_F(ExplorerCalls, AHeadOfALaterSequenceIsOpenedWithItsOutput) {
  const std::string file = scratch_.write_old("call.pt", packed().bf16s("out", {8, 4, 8}, random(256, 4)).bytes());
  const PanelInput shown = ExplorerTest::drop({file + ":4"});
  EXPECT_THAT(shown.messages.error, IsEmpty());
  EXPECT_EQ(shape_of(problem()), (AttentionShape{5, 6, 8, 8}));
  ASSERT_TRUE(session_.experiment.loaded.values);
  EXPECT_EQ(session_.experiment.loaded.index, 4);
  EXPECT_EQ(session_.experiment.loaded.values->size(), 40U);
}

TEST_F(ExplorerCalls, AnotherFileIsOpenedAfterAHeadThatIsNotThere) {
  ASSERT_TRUE(drop(packed()).answer.result);
  session_.experiment.problem = with_head(problem(), 99);
  EXPECT_THAT(settled().messages.error, HasSubstr("head index is 99, expected 0 to 7"));
  EXPECT_TRUE(drop(packed(), "other.pt").answer.result);
  EXPECT_EQ(problem().scale, 0.5);
  EXPECT_EQ(problem().input.index, 0);
}

/// The list of heads and the numbers are those of the new file.
TEST_F(ExplorerCalls, ARewrittenCallBringsItsHeadsAndNumbers) {
  for (const int heads : {8, 2}) {
    const std::string name = std::to_string(heads) + ".pt";
    EXPECT_EQ(drop(square(4, 9), name).choices.tensors.heads, 4);
    EXPECT_EQ(problem().scale, 0.5);
    scratch_.write(name, square(heads, 9, 0.25).bytes());
    EXPECT_TRUE(updated_until([&] { return problem().scale == 0.25; }));
    EXPECT_EQ(explorer_.panel_input().choices.tensors.heads, heads);
    EXPECT_EQ(explorer_.panel_input().choices.tensors.head_names.size(), static_cast<std::size_t>(heads));
  }
}

TEST_F(ExplorerCalls, ARewrittenCallKeepsAScaleOfTheUser) {
  drop(square(4, 9));
  session_.experiment.problem.scale = 3;
  settled();
  scratch_.write("call.pt", square(8, 9, 0.25).bytes());
  EXPECT_TRUE(updated_until([&] { return explorer_.panel_input().choices.tensors.heads == 8; }));
  EXPECT_EQ(problem().scale, 3);
}

TEST_F(ExplorerCalls, AReopenedCallIsListedAnew) {
  EXPECT_EQ(drop(square(4, 9)).choices.tensors.heads, 4);
  EXPECT_EQ(drop(square(8, 9, 0.25)).choices.tensors.heads, 8);
  EXPECT_EQ(problem().scale, 0.25);
}

/// The watch of the file reports its change later than the opening.
TEST_F(ExplorerCalls, AReopenedCallIsJudgedAnew) {
  for (const int heads : {6, 2}) {
    const std::string file = scratch_.write_old("call.pt", square(heads, 9).bytes());
    explorer_.open_dropped(session_, {file});
    EXPECT_EQ(explorer_.panel_input().side.judged, nullptr) << "verdicts on the heads before";
    settled();
    EXPECT_EQ(judged_heads(), static_cast<std::size_t>(heads));
    EXPECT_LT(problem().input.index, heads);
    EXPECT_THAT(settled().messages.error, IsEmpty());
  }
}

/// All tokens of the new file are shown, with its output.
TEST_F(ExplorerCalls, ARewrittenCallMayHaveAnotherLength) {
  for (const int tokens : {12, 5}) {
    const std::string name = std::to_string(tokens) + ".pt";
    ASSERT_TRUE(drop(square(4, 8), name).answer.result);
    scratch_.write(name, square(4, tokens).bytes());
    const KernelOutput& loaded = session_.experiment.loaded;
    const auto size = static_cast<std::size_t>(tokens) * 8;
    EXPECT_TRUE(updated_until([&] { return problem().n == tokens && loaded.values && loaded.values->size() == size; }));
    const PanelInput shown = settled();
    EXPECT_THAT(shown.messages.error, IsEmpty());
    EXPECT_THAT(shown.messages.notice, Not(HasSubstr("cannot be read yet")));
    EXPECT_EQ(shown.answer.result->experiment.problem.n, tokens);
  }
}

/// Only the largest number of head 1 changes in the file, and with it the scale that both heads share.
TEST_F(ExplorerCalls, TakeAScaleOverAllHeadsFromARewrittenFile) {
  session_.experiment.a.scaling.K = parse_scaling("e4m3/tensor");
  const PanelInput shown = drop(with_largest_key(8));
  ASSERT_TRUE(shown.answer.result) << shown.messages.error;
  const std::uint64_t before = shown.answer.result->digests.a;
  scratch_.write("call.pt", with_largest_key(600).bytes());
  EXPECT_TRUE(updated_until([&] { return explorer_.panel_input().answer.result->digests.a != before; }));
}

TEST_F(ExplorerCalls, ShowAWindowWithTheScaleOfARewrittenFile) {
  const auto shown = [&] {
    const auto window = explorer_.panel_input().side.gradient_window;
    return window ? (*window)[PairTensor::P].a : std::vector<double>();
  };
  const auto shows_another = [&](const std::vector<double>& than) {
    return updated_until([&] {
      Requests requests;
      if (shown().empty()) requests.side.gradient_window = ScoreQuestion{session_.experiment, 0, 9, 0, 9};
      explorer_.ask_beside(requests, session_);
      return !shown().empty() && shown() != than;
    });
  };
  session_.experiment.a.scaling.K = parse_scaling("e4m3/tensor");
  session_.experiment = with_backward(session_.experiment);
  drop(with_largest_key(8));
  ASSERT_TRUE(shows_another({}));
  scratch_.write("call.pt", with_largest_key(600).bytes());
  EXPECT_TRUE(shows_another(shown()));
}

/// The output is rewritten after its input.
TEST_F(ExplorerCalls, AnOutputThatNoLongerFitsIsAwaited) {
  const auto drawn = [](int tokens) { return npy_of("(" + std::to_string(tokens) + ", 8)", random(tokens * 8, 5)); };
  const std::string o = scratch_.write_old("o.npy", drawn(8));
  ExplorerTest::drop({scratch_.write_old("call.pt", square(1, 8).bytes()), o});
  const KernelOutput& loaded = session_.experiment.loaded;
  ASSERT_TRUE(loaded.values);
  EXPECT_EQ(loaded.file, o);
  scratch_.write("call.pt", square(1, 5).bytes());
  EXPECT_TRUE(updated_until([&] { return problem().n == 5; }));
  EXPECT_FALSE(loaded.values) << "the old output has 8 rows";
  scratch_.write("o.npy", drawn(5));
  EXPECT_TRUE(updated_until([&] { return loaded.values && loaded.values->size() == 40; }));
}

/// The picture shows dQ of the file for each head. dK and dV summed over heads are judged; the picture shows a's dK and dV.
TEST_F(ExplorerCalls, SumsOverAGroupAreJudgedAndNotShown) {
  testing::SavedDict dict = packed();
  dict.bf16s("dout", {8, 4, 8}, random(256, 4)).bf16s("dq", {8, 4, 8}, random(256, 5));
  dict.bf16s("dk", {10, 2, 8}, random(160, 6)).bf16s("dv", {10, 2, 8}, Numbers(160));
  const PanelInput shown = drop(dict);
  ASSERT_TRUE(shown.answer.result && shown.answer.result->backward) << shown.messages.error;
  EXPECT_TRUE(testing::eventually([&] { return explorer_.update(session_), !explorer_.computing(); }));
  EXPECT_THAT(shown.messages.notice, AllOf(HasSubstr("dQ was read from call.pt, instead of a's"),
                                           HasSubstr("dK and dV in the file: sums over the heads that share K and V")));
  const auto found = judged().side.kernel_gradients;
  EXPECT_THAT(found->sentences[0], AllOf(HasSubstr("dK and dV are sums over the heads 0 to 1 of Q"), HasSubstr("wrong")));
  EXPECT_EQ(found->sums, (std::array{false, true, true}));
  EXPECT_FALSE(place_of_kernels(found.get(), AnswerTensor::dK).has_value());
  EXPECT_EQ(place_of_kernels(found.get(), AnswerTensor::dQ), 0U);
}

/// Each head that shares K and V has its own scale, soft cap, slope and sink; the faulty kernel uses one slope for both heads.
TEST_F(ExplorerCalls, HeadsOfAGroupAreJudgedWithTheirOwnNumbers) {
  for (double Problem::* const slip : {static_cast<double Problem::*>(nullptr), &Problem::alibi}) {
    planted::GradientCall call =
        planted::gradient_call({.shape = AttentionShape::square(48, 16), .heads = 2}, {Mask::Kind::causal}, bf16, 3);
    planted::take_own_numbers(call);
    planted::GradientMistake mistake;
    mistake.of_head_0 = slip;
    const JudgedGradients g = planted::gradients_of(call, planted::GradientKind::flash, mistake);
    const auto both = [](const auto& x) {
      Numbers all = *x[0];
      all.insert(all.end(), x[1]->begin(), x[1]->end());
      return all;
    };
    Numbers q = g.heads[0]->q, scale, softcap, slope, sink;
    q.insert(q.end(), g.heads[1]->q.begin(), g.heads[1]->q.end());
    for (const Problem& p : call.own)
      scale.push_back(p.scale), softcap.push_back(p.softcap), slope.push_back(p.alibi), sink.push_back(*p.sink);
    testing::SavedDict dict;
    dict.bf16s("q", {1, 2, 48, 16}, q).bf16s("k", {1, 1, 48, 16}, g.heads[0]->k).bf16s("v", {1, 1, 48, 16}, g.heads[0]->v);
    dict.bf16s("dout", {1, 2, 48, 16}, both(g.d_o)).bf16s("dq", {1, 2, 48, 16}, both(g.dq.values));
    dict.bf16s("dk", {1, 1, 48, 16}, *g.dk.values[0]).bf16s("dv", {1, 1, 48, 16}, *g.dv.values[0]);
    dict.floats("softmax_scale", {2}, scale).floats("softcap", {2}, softcap).floats("alibi_slopes", {2}, slope);
    dict.floats("sinks", {2}, sink).value("is_causal", testing::SavedDict::boolean(true));
    const PanelInput shown = drop(dict, slip == nullptr ? "right.pt" : "wrong.pt");
    ASSERT_TRUE(shown.answer.result && shown.answer.result->backward) << shown.messages.error;
    const std::string said = judged().side.kernel_gradients->sentences[0];
    EXPECT_THAT(said, HasSubstr(slip == nullptr ? "dQ, dK and dV are rounded" : "the slope of head 0 of the group")) << said;
  }
}

}  // namespace
}  // namespace attoscope
