// `judge_call` on random calls of several heads: a mistake found in one head is confirmed in the others; progress.

#include <algorithm>
#include <limits>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "app/judge/judge_report.h"
#include "app/judge/judgement.h"
#include "kernels/experiment/result.h"
#include "kernels/experiment/rules.h"
#include "tests/support/matchers.h"

namespace attoscope::testing {
namespace {

/// A random call; the kernel of head h rounds as `policy_name` says and multiplies the scores by scales[h] times the right
/// scale.
class DrawnCall final : public JudgedCall {
 public:
  DrawnCall(const std::vector<double>& scales, int n, const char* policy_name = "hw") : n_(n) {
    for (const double scale : scales) {
      Experiment e = with_format(default_experiment(), bf16);
      e.problem.n = n, e.problem.d = d, e.problem.seed = inputs_.size() + 1;
      e.a = with_policy(e.a, policy(policy_name));
      inputs_.push_back(compute(e).inputs);
      e.problem.scale = scale * scale_of(e.problem);
      outputs_.push_back(compute(e).a.values);
      for (double& x : outputs_.back()) x = round(bf16, x);
    }
  }
  static constexpr int d = 16;
  std::vector<double>& output_of(int head) { return outputs_[static_cast<std::size_t>(head)]; }

  int heads() const override { return static_cast<int>(inputs_.size()); }
  std::vector<std::string> head_names() const override { return {"head 0", "head 1", "head 2", "head 3"}; }
  AttentionShape shape() const override { return {n_, n_, d, d}; }
  ElementType type_of_q() const override { return ElementType::BF16; }
  ElementType type_of_o() const override { return ElementType::BF16; }
  bool has_scaled_inputs() const override { return false; }
  bool tells_format() const override { return true; }
  std::shared_ptr<const Tensors> inputs(int head) const override { return inputs_[static_cast<std::size_t>(head)]; }
  std::shared_ptr<const std::vector<double>> output(int head) const override {
    return std::make_shared<const std::vector<double>>(outputs_[static_cast<std::size_t>(head)]);
  }
  std::shared_ptr<const std::vector<double>> output_scale(int) const override { return nullptr; }
  Layer layer_of(int head) const override { return {.own = head}; }

 private:
  int n_;
  std::vector<std::shared_ptr<const Tensors>> inputs_;
  std::vector<std::vector<double>> outputs_;
};

/// Heads of one number in Q, K, V and O each, in arrays of floats, which may hold numbers of narrower formats.
struct ArraysOfNumbers final : JudgedCall {
  std::vector<double> numbers, output_numbers = numbers;
  ElementType type_of_output = ElementType::F32;
  bool is_scaled = false;  ///< the numbers are products of eight bits and a scale
  mutable int reads = 0;   ///< of Q, K and V

  explicit ArraysOfNumbers(std::vector<double> of_heads) : numbers(std::move(of_heads)) {}
  int heads() const override { return static_cast<int>(numbers.size()); }
  AttentionShape shape() const override { return {1, 1, 1, 1}; }
  ElementType type_of_q() const override { return is_scaled ? ElementType::F64 : ElementType::F32; }
  bool has_scaled_inputs() const override { return is_scaled; }
  ElementType type_of_o() const override { return type_of_output; }
  std::shared_ptr<const Tensors> inputs(int head) const override {
    ++reads;
    const std::vector<double> x{numbers[static_cast<std::size_t>(head)]};
    return std::make_shared<const Tensors>(Tensors{.n = 1, .n_k = 1, .d = 1, .d_v = 1, .q = x, .k = x, .v = x});
  }
  std::shared_ptr<const std::vector<double>> output(int head) const override {
    return std::make_shared<const std::vector<double>>(1, output_numbers[static_cast<std::size_t>(head)]);
  }
  Layer layer_of(int head) const override { return {.own = head}; }
};

constexpr double of_fp16 = 1 + 0x1p-10, of_fp32 = 1 + 0x1p-23;

TEST(JudgeCall, FindsItsFormatInAllHeads) {
  EXPECT_EQ(claim_of(ArraysOfNumbers({1, 1}), {}).claim.format, bf16);
  EXPECT_EQ(claim_of(ArraysOfNumbers({1, of_fp16}), {}).claim.format, fp16);
  EXPECT_EQ(claim_of(ArraysOfNumbers({1, of_fp32}), {}).claim.format, fp32);
  ArraysOfNumbers wide_output({1, 1});
  wide_output.output_numbers = {1, of_fp32};
  const CallClaim found = claim_of(wide_output, {});
  EXPECT_EQ(found.claim.format, fp32);
  EXPECT_EQ(found.claim.stored, fp32);
  EXPECT_EQ(found.narrower, bf16);
  ArraysOfNumbers products({1 + 0x1p-27});
  products.is_scaled = true;
  products.output_numbers = {of_fp32};
  const CallClaim beside_scales = claim_of(products, {});
  EXPECT_EQ(beside_scales.claim.format, fp32);
  EXPECT_EQ(beside_scales.claim.stored, fp32);
  EXPECT_EQ(beside_scales.why_format, "since O is in it");
  products.numbers = {1};  // the product with a power of two may be in bf16
  products.type_of_output = ElementType::F16;
  products.output_numbers = {of_fp16};
  EXPECT_EQ(claim_of(products, {}).claim.format, fp16);
  ArraysOfNumbers narrow_output({1, of_fp16});
  narrow_output.output_numbers = {1, 1};
  EXPECT_EQ(claim_of(narrow_output, {}).claim.format, bf16);
}

TEST(JudgeCall, ReadsTheHeadsOfAnExperimentOnceToFindItsFormat) {
  const auto call = std::make_shared<const ArraysOfNumbers>(std::vector<double>{1, 1});
  for (const Format& d : {bf16, fp16}) {
    const JudgeQuestion question = question_of(with_format(default_experiment(), d), {call, 0, true});
    const int before = call->reads;
    EXPECT_EQ(claim_of(*call, question).claim.format, d);
    EXPECT_EQ(call->reads, before);
  }
}

TEST(JudgeCall, StopsBetweenTheHeadsInWhichItFindsItsFormat) {
  const ArraysOfNumbers call({1, 1});
  EXPECT_THROW(judge_call(call, {}, {.cancelled = [&] { return call.reads > 0; }}), Stopped);
  EXPECT_EQ(call.reads, 1);
}

/// Arrays have no bf16: numbers of bf16 may be stored as F16, and numbers of fp16 as F32.
TEST(JudgeCall, FindsItsFormatInTheNumbersOfO) {
  for (const ElementType type : {ElementType::F16, ElementType::F32}) {
    ArraysOfNumbers call({1, 1});
    call.type_of_output = type;
    JudgeQuestion question;
    question.format = bf16;
    const KernelClaim of_bf16 = claim_of(call, {}).claim, asked = claim_of(call, question).claim;
    call.output_numbers = {1, of_fp16};
    const CallClaim found = claim_of(call, {});
    EXPECT_EQ(of_bf16.format, bf16);
    EXPECT_EQ(of_bf16.stored, bf16);
    EXPECT_EQ(asked.stored, bf16);
    EXPECT_EQ(found.claim.format, fp16);
    EXPECT_EQ(found.claim.stored, fp16);
    EXPECT_EQ(found.why_format, "since O is in it");
  }
}

/// The mistake of the worst head is tried in the other heads, with fitted numbers for each; a head with another mistake is
/// searched separately.
TEST(JudgeCall, ConfirmsTheNameOfTheWorstHeadInTheOthers) {
  DrawnCall call({1.5, 1.7, 1, 1.3}, 96);
  call.output_of(2)[7 * DrawnCall::d + 3] += 0.25;
  const CallJudgement found = judge_call(call, {}, {.threads = 2});
  for (const JudgedRow& row : found.table) ASSERT_TRUE(row.slip) << "head " << row.head;
  for (const auto& [head, scale] : {std::pair{0, 0.375}, {1, 0.425}, {3, 0.325}}) {
    constexpr std::string_view before = "scores were multiplied by ";
    const std::string& text = found.table[static_cast<std::size_t>(head)].slip->text;
    ASSERT_THAT(text, StartsWith(std::string(before)));
    EXPECT_NEAR(std::stod(text.substr(before.size())), scale, 0.01);
  }
  EXPECT_EQ(found.table[2].slip->text, "a single element, row 7, column 3, is off");
}

/// The sentence gives the table's ratio of the worst element; for a NaN it gives no number.
TEST(JudgeCall, SaysHowFarOffTheFurthestElementIs) {
  DrawnCall call({1, 1}, 64);
  call.output_of(0)[5 * DrawnCall::d + 2] += 4e4;
  const CallJudgement far = judge_call(call, {}, {.threads = 1});
  const double ratio = far.worst_row().found.ratio;
  ASSERT_GT(ratio, 100);
  const std::string& text = far.sentences[1];
  std::string digits = text.substr(text.find(", by ") + 5);
  digits = digits.substr(0, digits.find(' '));
  std::erase(digits, ',');
  EXPECT_NEAR(std::stod(digits) / ratio, 1, 0.05) << text;
  call.output_of(0)[5 * DrawnCall::d + 2] = std::numeric_limits<double>::quiet_NaN();
  const CallJudgement broken = judge_call(call, {}, {.threads = 1});
  for (const std::string& s : broken.sentences) {
    EXPECT_THAT(s, Not(HasSubstr("infinitely")));
    EXPECT_THAT(s, Not(HasSubstr("nan")));
    EXPECT_THAT(s, Not(HasSubstr("times;"))) << "NaN has no ratio";
  }
}

/// A head that does not fit the declared policy has other rivals than one that does. Each rival keeps its own errors.
TEST(JudgeCall, TellsTheRivalsOfHeadsApart) {
  JudgeQuestion question;
  question.problem.scale = 1;  // scores of deviation 4
  question.declared = with_policy(Method{}, policy("hw")), question.declared_name = "hw";
  for (const int other : {0, 1}) {
    DrawnCall call({4, 4}, 96), eager({4, 4}, 96, "base_eager");
    call.output_of(other) = eager.output_of(other);
    const CallJudgement found = judge_call(call, question, {.threads = 1});
    EXPECT_TRUE(found.rounded()) << found.sentences[0];
    std::map<std::string, double> most;
    for (const int head : {0, 1})
      for (const RivalError& r : judge_head(call, question, found.claim, head, {}).tolerance.family)
        most[r.name] = std::max(most[r.name], r.max_abs);
    ASSERT_EQ(most.size(), 5U + 9U);
    ASSERT_EQ(found.family.size(), most.size());
    for (const RivalError& r : found.family) EXPECT_EQ(r.max_abs, most.at(r.name)) << r.name;
    EXPECT_THAT(found.derivation[2], StartsWith("14 kernels that round as hw does, or keep scores, max and sums in fp32"));
  }
}

/// A head of the declared policy may round its scaled inputs too.
TEST(JudgeCall, CountsRoundedInputsAsDeclared) {
  JudgeQuestion question;
  question.declared_name = "hw";
  CallJudgement call;
  call.claim.declared = with_policy(Method{}, policy("hw"));
  call.family = {{"as declared"}, {"as declared, tiles of 64"}};
  call.table = {{0, "head 0", -1, {}}};
  call.table[0].found.as = "its Q, K, V are rounded to bf16";
  EXPECT_THAT(derivation_of(call, question)[2], StartsWith("2 kernels that round as hw does were computed"));
  call.table[0].found.undeclared = true;
  EXPECT_THAT(derivation_of(call, question)[2], StartsWith("2 kernels that keep scores, max and sums in fp32"));
}

/// The report and the window measure errors from the rounding that explains the output.
TEST(JudgeCall, MeasuresErrorsFromTheAcceptedRounding) {
  JudgeQuestion question;
  question.problem.scale = 1;  // scores of deviation 4
  const CallJudgement found = judge_call(DrawnCall({4}, 96, "base_eager"), question, {.threads = 1});
  const HeadJudgement& h = found.worst_row().found;
  EXPECT_TRUE(h.rounded) << found.sentences[0];
  EXPECT_THAT(h.as, StartsWith("its scores are rounded to bf16"));
  EXPECT_EQ(std::ranges::max(shares_of(found)->values), std::ranges::max(h.row_ratio));
  EXPECT_THAT(judgement_html(found, {}, {}, {}), Not(HasSubstr("Furthest off")));
}

TEST(JudgeCall, SaysWhichHeadsRoundHow) {
  CallJudgement call;
  for (const char* as : {"its P is cut off", "its scores are rounded", "its P is cut off", ""}) {
    JudgedRow row{call.heads, "head " + std::to_string(call.heads), -1, {}};
    row.found.rounded = true, row.found.as = as, row.found.elements = 1, row.found.row_ratio = {0.5};
    call.table.push_back(row), ++call.heads;
  }
  EXPECT_THAT(judgement_sentences(call, "")[0],
              EndsWith(", if its P is cut off (heads 0 and 2), and if its scores are rounded (head 1)."));
}

/// A mistake that has other numbers in each head is named for all of them.
TEST(JudgeCall, SaysInWhichHeadsAMistakeIs) {
  CallJudgement call;
  for (const char* const text : {"K of head 1", "K of head 0", "", "a missing sink"}) {
    JudgedRow row{call.heads, "head " + std::to_string(call.heads), -1, {}};
    row.found.rounded = *text == '\0', row.found.row_ratio = {2};
    if (!row.found.rounded) row.slip = Slip{.text = text};
    call.table.push_back(row), ++call.heads;
  }
  EXPECT_EQ(judgement_sentences(call, "")[0],
            "Wrong: K of head 1 (heads 0 and 1, the numbers are those of head 0; 3 of 4 heads are wrong).");
  call.table.pop_back(), --call.heads;
  EXPECT_EQ(judgement_sentences(call, "")[0], "Wrong: K of head 1 (heads 0 and 1, the numbers are those of head 0).");
}

/// Heads without an unusual rounding are not said to have one; numbers are of all heads, and the table has them, too.
TEST(JudgeCall, TellsHeadsApartInItsNumbers) {
  CallJudgement call;
  for (const char* as : {"", "its scores are rounded"}) {
    JudgedRow row{call.heads, "head " + std::to_string(call.heads), -1, {}};
    row.found.rounded = true, row.found.as = as, row.found.elements = 2, row.found.row_ratio = {0.25, 0.5};
    row.found.ratio = 0.5, row.found.max_abs = call.heads == 0 ? 0.75 : 0.125;
    call.table.push_back(row), ++call.heads;
  }
  call.table[1].found.ratio = 0.625, call.worst = 1;
  const std::array<std::string, 3> told = judgement_sentences(call, "");
  EXPECT_THAT(told[0], EndsWith(", if its scores are rounded (head 1)."));
  EXPECT_EQ(told[1],
            "None of 4 elements is beyond its tolerance; the furthest uses 50 % of it (head 0, row 1), rows or all "
            "together 62 % of theirs (head 1), and the largest error is 0.75.");
}

TEST(JudgeCall, CountsOneElementAndOneHead) {
  CallJudgement call;
  JudgedRow row{0, "head 0", -1, {}};
  row.found.rounded = true, row.found.elements = 1, row.found.row_ratio = {0.5}, row.found.max_abs = 0.25;
  call.heads = 3, call.table = {row};
  EXPECT_EQ(judgement_sentences(call, "")[1],
            "The one element is within its tolerance; it uses 50 % of it (head 0, row 0), and the largest error is 0.25.");
  HeadJudgement& found = call.table[0].found;
  found.rounded = false, found.suspects = 1, found.elements = 2, found.where = "in row 0", found.ratio = 3;
  const std::array<std::string, 3> wrong = judgement_sentences(call, "");
  EXPECT_EQ(wrong[0], "Wrong: 1 of 2 elements is further off than in any correct bf16 kernel (head 0).");
  EXPECT_EQ(wrong[1], "In head 0, 1 element is beyond its tolerance, in row 0, by 3.0 times.");
}

/// Progress advances within a head: a large head would otherwise show none until it is done.
TEST(JudgeCall, ProgressMovesWithinAHead) {
  std::vector<double> shares;
  const auto tell = [&](double share) { shares.push_back(share); };
  judge_call(DrawnCall({1}, 512), {}, {.progress = tell, .threads = 1});
  EXPECT_TRUE(std::ranges::is_sorted(shares));
  ASSERT_GT(shares.size(), 20U);
  EXPECT_EQ(shares.back(), 1);
  for (std::size_t i = 1; i < shares.size(); ++i) EXPECT_LT(shares[i] - shares[i - 1], 0.1) << shares[i];
  shares.clear();
  judge_call(DrawnCall({1, 1, 1}, 128), {}, {.progress = tell, .threads = 2});
  EXPECT_TRUE(std::ranges::is_sorted(shares));
  EXPECT_EQ(shares.back(), 1);
}

}  // namespace
}  // namespace attoscope::testing
