// dO, dL and L of files in the window: dropped with Q, K and V, dropped alone, of another head, rewritten, refused.

#include "app/tensors/kernel_output.h"
#include "kernels/compute.h"
#include "kernels/experiment/rules.h"
#include "tests/app/explorer_fixture.h"
#include "tests/app/outcome.h"
#include "tests/tensors/tensor_files.h"
#include "ui/frame/loaded_output.h"

namespace attoscope {
namespace {

using namespace testing;  // attoscope::testing

constexpr int n = 6, d = 4;

class ExplorerGradients : public ExplorerTest {
 protected:
  /// heads x rows x columns numbers that are head + 1 times `value`, or rows x columns.
  std::string npy(const std::string& name, int heads, int rows, int columns, float value) const {
    std::vector<float> all;
    for (int h = 0; h < heads; ++h)
      all.insert(all.end(), static_cast<std::size_t>(rows * columns), value * static_cast<float>(h + 1));
    const std::string shape = "(" + std::to_string(heads) + ", " + std::to_string(rows) + ", " + std::to_string(columns) + ")";
    return scratch_.write_old(name, npy_of(shape, all));
  }
  std::vector<std::string> inputs(int heads = 1) const {
    return {npy("q.npy", heads, n, d, 0.5F), npy("k.npy", heads, n, d, 0.25F), npy("v.npy", heads, n, d, 1)};
  }
  const Backward& backward() const { return session_.experiment.backward; }
  static double d_o_of(const PanelInput& input) { return input.answer.result->backward->incoming->d_o.front(); }
};

TEST_F(ExplorerGradients, AreFoundByTheirNames) {
  const std::string d_o = npy("grad_out.npy", 1, n, d, 1), d_lse = npy("dlse.npy", 1, n, 1, 1), o = npy("o.npy", 1, n, d, 1);
  EXPECT_EQ(gradients_in(d_o).d_o, d_o);
  EXPECT_EQ(gradients_in(d_lse).d_lse, d_lse);
  EXPECT_FALSE(gradients_in(o).any());
  EXPECT_THROW(gradients_in(scratch_ / "none.npy"), std::runtime_error);
}

TEST_F(ExplorerGradients, AreDroppedBesideQKAndV) {
  const PanelInput answered = drop(with(inputs(), {npy("do.npy", 1, n, d, 3)}));
  ASSERT_TRUE(answered.answer.result) << answered.messages.error;
  EXPECT_TRUE(backward().on);
  EXPECT_EQ(backward().a, usual_gradient(session_.experiment.a, session_.experiment.problem));
  EXPECT_EQ(d_o_of(answered), 3);
  EXPECT_THAT(answered.messages.notice, HasSubstr("do.npy"));
}

/// Rows of two heads are not read as the dO of a call of one head; those of a call of two heads are.
TEST_F(ExplorerGradients, HeadsSideBySideAreThoseOfTheCall) {
  const std::string wide = npy("do.npy", 1, n, 2 * d, 3), expected = "expected a shape like O's: 1 head of 6 x 4";
  EXPECT_THAT(drop(with(inputs(), {wide})).messages.error, HasSubstr(expected));
  const auto run = [&](const std::vector<std::string>& call) {
    return std::vector<std::string>{"run", "--input", call[0] + "," + call[1] + "," + call[2], "--do", wide};
  };
  expect_refused(run(inputs()), 1, expected);
  output_of(run(inputs(2)));
}

/// A file given explicitly as dO may have any name; an output dropped with it is loaded and not compared.
TEST_F(ExplorerGradients, AreGivenBesideAWholeCall) {
  const std::string given = npy("numbers.npy", 1, n, d, 5), o = npy("o.npy", 1, n, d, 1);
  const PanelInput answered = drop(with(inputs(), {o}), {given, ""});
  ASSERT_TRUE(answered.answer.result) << answered.messages.error;
  EXPECT_EQ(d_o_of(answered), 5);
  EXPECT_EQ(session_.experiment.loaded.file, o);
  EXPECT_EQ(loaded_place(session_.experiment), LoadedPlace::nowhere);
}

/// Q, K and V are open already.
TEST_F(ExplorerGradients, AreDroppedBesideAnOutputAlone) {
  drop(inputs());
  const std::string o = npy("o.npy", 1, n, d, 1), dq = npy("dq.npy", 1, n, d, 1);
  EXPECT_EQ(d_o_of(drop({o, npy("do.npy", 1, n, d, 3), dq})), 3);
  EXPECT_EQ(session_.experiment.loaded.file, o);
  EXPECT_EQ(session_.kernel_gradients.dq, dq);
  session_.experiment.format = fp16;
  explorer_.open_dropped(session_, {o}, true);
  settled();
  EXPECT_EQ(loaded_place(session_.experiment), LoadedPlace::a);
  EXPECT_EQ(session_.experiment.format, fp16);
}

/// O of the call before belongs neither to these gradients nor to this log-sum-exp.
TEST_F(ExplorerGradients, OfANewCallAreJudgedWithoutTheOutputOfTheLastOne) {
  const std::string o = npy("o.npy", 1, n, d, 1), d_o = npy("do.npy", 1, n, d, 3), lse = npy("lse.npy", 1, n, 1, 1);
  drop(with(inputs(), {o}));
  drop(with(inputs(), {d_o, npy("dq.npy", 1, n, d, 1)}));
  EXPECT_EQ(session_.experiment.loaded, KernelOutput());
  drop(with(inputs(), {o}));
  drop({d_o});
  EXPECT_EQ(session_.experiment.loaded.file, o) << "dO of the same call";
  EXPECT_THAT(drop({lse}).messages.error, HasSubstr("open the output, too"));
  EXPECT_THAT(session_.experiment.loaded.lse, IsEmpty());
  drop(inputs());
  EXPECT_EQ(session_.experiment.loaded, KernelOutput());
}

TEST_F(ExplorerGradients, AreAmongTheTensorsOfAFile) {
  std::vector<FileTensor> tensors;
  for (const char* const name : {"q", "k", "v", "o", "do", "dq"})
    tensors.push_back({name, "F32", "[2,3]", std::string(24, '\0')});
  tensors.push_back({"dlse", "F32", "[2]", std::string(8, '\0')});
  const std::string file = scratch_.write_old("call.safetensors", testing::safetensors(tensors));
  const PanelInput answered = drop({file});
  ASSERT_TRUE(answered.answer.result) << answered.messages.error;
  EXPECT_EQ(backward().d_o_file.file, file);
  EXPECT_EQ(backward().d_lse_file.file, file);
  EXPECT_EQ(answered.answer.result->backward->incoming->d_lse.size(), 2U);
}

TEST_F(ExplorerGradients, FollowTheHeadOfQ) {
  drop(with(inputs(2), {npy("do.npy", 2, n, d, 3)}));
  session_.experiment.problem = with_head(session_.experiment.problem, 1);
  const PanelInput answered = settled();
  EXPECT_EQ(backward().d_o_file.index, 1);
  EXPECT_EQ(d_o_of(answered), 6);
}

TEST_F(ExplorerGradients, ThatDoNotFitAreRefused) {
  drop(inputs());
  const Session before = session_;
  const PanelInput told = drop({npy("do.npy", 1, n + 1, d, 1)});
  EXPECT_TRUE(session_ == before);
  EXPECT_THAT(told.messages.error, AllOf(HasSubstr("do.npy"), HasSubstr("expected")));
  const PanelInput missing = drop(inputs(), {scratch_ / "none.npy", ""});
  EXPECT_TRUE(session_ == before);
  EXPECT_THAT(missing.messages.error, HasSubstr("none.npy"));
}

/// A session that names missing files reports them once; its other settings stay.
TEST_F(ExplorerGradients, ThatAreGoneAreNamed) {
  session_.experiment.problem.n = n, session_.experiment.problem.d = d;
  session_.experiment = with_backward(session_.experiment);
  session_.experiment.backward.d_o = OutputGradient::file;
  session_.experiment.backward.d_o_file.file = scratch_ / "do.npy";
  EXPECT_THAT(settled().messages.error, HasSubstr("do.npy"));
  npy("do.npy", 1, n, d, 2);
  session_.experiment.problem.seed = 2;
  EXPECT_EQ(d_o_of(settled()), 2);
}

TEST_F(ExplorerGradients, ThatAreTensorsOfAFileAreReadAgain) {
  drop(inputs());
  const auto bytes = [](int value) {
    const auto number = [value](int) { return value; };
    return testing::safetensors({counted("x", {n, d}, number), counted("y", {n}, number)});
  };
  const std::string file = scratch_.write_old("g.safetensors", bytes(3));
  explorer_.open_gradients(session_, {file + ":x", file + ":y"});
  EXPECT_EQ(d_o_of(settled()), 3);
  scratch_.write("g.safetensors", bytes(5));
  EXPECT_TRUE(eventually([&] {
    explorer_.update(session_);
    return backward().d_o_file.values->front() == 5 && backward().d_lse_file.values->front() == 5;
  }));
}

/// dQ of the file replaces a's: golden dQ is rounded, 2 x golden dQ is wrong. dK and dV stay a's; without the file dQ is, too.
TEST_F(ExplorerGradients, OfAKernelTakeThePlaceOfAs) {
  std::vector<std::string> files;
  for (const char* const name : {"q.npy", "k.npy", "v.npy", "do.npy"}) {
    const auto number = [&](int i) { return static_cast<float>((i * 7 + name[0]) % 13 - 6) / 8; };
    files.push_back(scratch_.write_old(name, npy_of("(6, 4)", floats_of(n * d, number))));
  }
  const auto own = drop(files).answer.result;
  ASSERT_TRUE(own && own->backward);
  for (const double factor : {1.0, 2.0}) {
    std::vector<float> dq;
    for (const double x : own->backward->golden->dq.values) dq.push_back(static_cast<float>(factor * round(bf16, x)));
    drop({scratch_.write_old("dq.npy", npy_of("(6, 4)", dq))});
    EXPECT_EQ(session_.kernel_gradients.dq, scratch_ / "dq.npy");
    EXPECT_EQ(session_.view.tensor, AnswerTensor::dQ);
    const PanelInput input = judged();
    const BackwardResult& b = *input.answer.result->backward;
    EXPECT_EQ(b.a.dq.values, std::vector<double>(dq.begin(), dq.end()));
    EXPECT_EQ(b.a.dk.values, own->backward->a.dk.values);
    EXPECT_NE(b.tensors[1].digests.a, own->backward->tensors[1].digests.a);
    EXPECT_NE(b.a_digest, own->backward->a_digest);
    EXPECT_EQ(b.a_error.dq.max_abs > 0.01, factor == 2) << b.a_error.dq.max_abs;
    EXPECT_EQ(input.side.kernel_gradients->rounded[0], factor == 1) << input.side.kernel_gradients->sentences[0];
    EXPECT_FALSE(input.side.kernel_gradients->rounded[1].has_value());
    EXPECT_EQ(seen_as(input.answer.result, AnswerTensor::dQ)->experiment.a.algorithm, Algorithm::loaded);
    EXPECT_EQ(seen_as(input.answer.result, AnswerTensor::dK)->experiment.a, own->experiment.a);
    session_.kernel_gradients = {};
    EXPECT_EQ(settled().answer.result->backward->a.dq.values, own->backward->a.dq.values);
  }
}

/// L is 1/4 + log(6): each query sees six keys, with equal scores.
TEST_F(ExplorerGradients, VerdictOnALogSumExpIsFoundAgain) {
  const auto lse = [&](float value) { return scratch_.write("lse.npy", npy_of("(6,)", std::vector<float>(n, value))); };
  const auto is_rounded = [&](bool expected) {
    return eventually([&] {
      Requests requests;
      explorer_.update(session_);
      requests.side.verdict = verdict_question(session_.experiment);
      explorer_.ask_beside(requests, session_);
      const auto verdict = explorer_.panel_input().side.verdict;
      return verdict && verdict->lse && verdict->lse->judged.rounded == expected;
    });
  };
  const float right = 2.0417595F;
  drop(with(inputs(), {npy("o.npy", 1, n, d, 1), lse(right)}));
  EXPECT_TRUE(is_rounded(true));
  lse(right + 1);
  EXPECT_TRUE(is_rounded(false)) << "of a rewritten file";
  EXPECT_EQ(drop({lse(right)}).side.verdict, nullptr) << "of a file that is dropped again";
  EXPECT_TRUE(is_rounded(true));
}

TEST_F(ExplorerGradients, ALogSumExpStaysWithTheHeadsOfItsOutput) {
  const std::string lse = npy("lse.npy", 2, n, 1, 1);
  const PanelInput input = drop(with(inputs(2), {npy("o.npy", 2, n, d, 1), lse}));
  EXPECT_THAT(input.messages.error, IsEmpty());
  EXPECT_THAT(input.messages.notice, HasSubstr("The log-sum-exp in lse.npy is judged with the output."));
  session_.experiment.problem = with_head(session_.experiment.problem, 1);
  settled();
  EXPECT_EQ(session_.experiment.loaded.index, 1);
  EXPECT_EQ(session_.experiment.loaded.lse, lse);
}

/// The window shows one head's share of dK and dV, so sums over heads are refused; a new call removes the kernel's gradients.
TEST_F(ExplorerGradients, OfAKernelBelongToTheHeadsOfQ) {
  drop(with(inputs(2), {npy("do.npy", 2, n, d, 3)}));
  const Session before = session_;
  const PanelInput refused = drop({npy("dk.npy", 1, n, d, 1)});
  EXPECT_TRUE(session_ == before);
  EXPECT_THAT(refused.messages.error, HasSubstr("1 head, expected 2"));
  drop({npy("dk.npy", 2, n, d, 1)});
  EXPECT_EQ(session_.kernel_gradients.dk, scratch_ / "dk.npy");
  EXPECT_EQ(judged().answer.result->backward->a.dk.values[0], 1);
  session_.experiment.problem = with_head(session_.experiment.problem, 1);
  settled();
  EXPECT_EQ(judged().answer.result->backward->a.dk.values[0], 2);
  drop(inputs());
  EXPECT_FALSE(session_.kernel_gradients.any());
}

}  // namespace
}  // namespace attoscope
