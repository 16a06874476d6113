/// compute() against the plain reference, bit for bit, and changes that must not change a bit.
#include "kernels/compute.h"

#include <algorithm>
#include <filesystem>
#include <limits>
#include <stdexcept>

#include "kernels/experiment/presets.h"
#include "kernels/experiment/result.h"
#include "kernels/experiment/settings.h"
#include "kernels/system_memory.h"
#include "tests/kernels/is_plain.h"
#include "tests/support/matchers.h"
#include "tests/support/same_answer.h"
#include "tests/support/seeds.h"
#include "tests/support/temporary_directory.h"

namespace attoscope {
namespace {

using namespace testing;  // attoscope::testing

TEST(Compute, AnswersHundredsOfRandomExperimentsWithThePlainReferencesBits) {
  with_seeds(1, experiments(800), [&](Dice& dice) {
    const Experiment e = random_experiment(dice);
    const Result result = compute(e);
    ASSERT_TRUE(is_plain(result, e.a, result.a)) << "a of " << describe(e);
    ASSERT_TRUE(is_plain(result, e.b, result.b)) << "b of " << describe(e);
  });
}

TEST(Compute, AnswersEveryPolicyInEveryFormatWithThePlainReferencesBits) {
  for (const Policy& p : policies())
    for (const Format& f : {bf16, fp16, tf32, e4m3, e5m2, fp32, fp64}) {
      Experiment e = sized_experiment(45, 19, f);
      e.problem.mask.kind = Mask::Kind::causal;
      e.a = {.algorithm = p.algorithm, .block_q = 16, .block_k = 16, .precision = p.precision};
      const Result result = compute(e);
      EXPECT_TRUE(is_plain(result, e.a, result.a)) << p.name << ' ' << name(f);
      EXPECT_TRUE(is_plain(result, e.b, result.b)) << p.name << ' ' << name(f);
    }
}

TEST(Compute, RoundsTensorsByAsInputStepForEverybody) {
  with_seeds(1, 100, [&](Dice& dice) {
    const Experiment e = random_experiment(dice);
    if (e.problem.input.kind != InputKind::tensors) return;
    const Result result = compute(e);
    const Rounding& r = e.a.precision[Step::input];
    const auto rounded = [&](double x) {
      if (!works_in_double(e)) x = static_cast<float>(x);
      if (r.kind == Rounding::Kind::exact) return x;
      const Format& f = format_of(r, e.format);
      return works_in_double(e) ? plain::nearest(f, x) : plain::nearest(f, static_cast<float>(x));
    };
    const Tensors &raw = *e.problem.input.tensors, &used = *result.inputs;
    for (const auto& [from, to] : {std::pair{&raw.q, &used.q}, {&raw.k, &used.k}, {&raw.v, &used.v}})
      ASSERT_TRUE(std::ranges::equal(*from, *to, [&](double x, double y) { return same(rounded(x), y); })) << describe(e);
  });
}

/// An experiment large enough for several threads and several blocks of rows.
Experiment question() {
  Experiment e = sized_experiment(333, 40);
  e.problem.mask.kind = Mask::Kind::causal;
  e.a.precision = policy("eager").precision;
  return e;
}

TEST(Compute, RunsRepeat) { expect_same_answer(compute(question()), compute(question())); }

TEST(Compute, BlockQChangesNoBit) {
  const Result reference = compute(question());
  for (const int block_q : {1, 7, 16, 128, 1000}) {
    Experiment e = question();
    e.a.block_q = e.b.block_q = block_q;
    expect_same_answer(compute(e), reference);
  }
}

TEST(Compute, TheNumberOfThreadsChangesNoBit) {
  const Result reference = compute(question(), {.threads = 1});
  for (const int threads : {2, 3, 8}) expect_same_answer(compute(question(), {.threads = threads}), reference);
}

/// One setting of the problem changes at a time.
TEST(Compute, NoSettingOfTheProblemIsMissedByTheCache) {
  ComputeCache cache;
  Dice dice(4711);
  Experiment e = small_experiment(bf16, 40, 8);
  std::vector<std::string> paths;
  for_each(settings(e.problem), "", [&](const std::string& path, const Setting& s) {
    if (is_typed(s) && !path.ends_with("file")) paths.push_back(path);
  });
  for (int i = 0; i < experiments(360); ++i) {
    Problem other = random_experiment(dice).problem;
    if (other.input.kind == InputKind::tensors) other.input = {};
    other.empty_rows = dice.one_in(2) ? EmptyRule::zeros : EmptyRule::nan;
    const std::string& path = paths[static_cast<std::size_t>(i) % paths.size()];
    ASSERT_TRUE(set(*find(settings(e.problem), path), text(*find(settings(other), path)))) << path;
    if (dice.one_in(3)) e.a.precision[Step::input] = dice.one_in(2) ? to_main : exact;
    if (dice.one_in(3)) e.a.precision[Step::input].stochastic = e.a.precision[Step::input].kind != Rounding::Kind::exact;
    if (dice.one_in(4)) e.format = random_format(dice);
    SCOPED_TRACE(std::to_string(i) + ": " + describe(e));
    const Digests known = compute(e, {.cache = &cache}).digests, fresh = compute(e).digests;
    EXPECT_EQ(known.golden, fresh.golden);
    EXPECT_EQ(known.a, fresh.a);
    EXPECT_EQ(known.b, fresh.b);
    if (HasFailure()) return;
  }
}

TEST(Compute, SubsetRowsAreEvenlySpreadAndHoldTheTracedOne) {
  Experiment e = question();
  e.problem.rows = 10;
  e.problem.traced_row = 0;
  const std::vector<int> rows = compute(e).rows;
  for (std::size_t i = 1; i < rows.size(); ++i) EXPECT_NEAR(rows[i] - rows[i - 1], 33.3, 1.1);
  for (const int traced : {1, 50, 332}) {
    e.problem.traced_row = traced;
    EXPECT_TRUE(std::ranges::binary_search(compute(e).rows, traced)) << traced;
  }
}

TEST(Compute, DigestsTellDifferentAnswersApart) {
  const Result x = compute(question());
  Experiment e = question();
  e.problem.seed = 2;
  const Result y = compute(e);
  EXPECT_NE(x.digests.golden, y.digests.golden);
  EXPECT_NE(x.digests.a, y.digests.a);
  EXPECT_NE(x.digests.a, x.digests.b);
}

TEST(Compute, StopsWhenAsked) {
  EXPECT_THROW(compute(question(), {.cancelled = [] { return true; }}), Stopped);
  EXPECT_NO_THROW(compute(question(), {.cancelled = [] { return false; }}));
}

TEST(Compute, CarriesTheQuestionAndTheDevice) {
  const Result r = compute(question());
  EXPECT_EQ(r.experiment, question());
  EXPECT_EQ(r.device.substr(0, 3), "cpu");
  EXPECT_GT(r.timing.total, 0);
  EXPECT_GT(bytes_needed(question(), 2), 333 * 40 * 8);
}

TEST(MemoryLimit, IsThatOfTheContainer) {
  const TemporaryDirectory cgroup;
  constexpr double none = std::numeric_limits<double>::infinity();
  EXPECT_EQ(memory_limit(cgroup / "nothing"), none);
  cgroup.write("memory.max", "max\n");
  EXPECT_EQ(memory_limit(cgroup / "."), none);
  std::filesystem::create_directory(cgroup / "memory");
  cgroup.write("memory/memory.limit_in_bytes", "8589934592\n");
  EXPECT_EQ(memory_limit(cgroup / "."), 8589934592.0);
  cgroup.write("memory.max", "4294967296\n");
  EXPECT_EQ(memory_limit(cgroup / "."), 4294967296.0);
  EXPECT_LE(available_bytes(), memory_limit("/sys/fs/cgroup"));
}

struct Refusal {
  std::string what;  ///< begin of the message
  std::function<void(Experiment&)> spoil;
};

TEST(Validate, NamesTheKeyAndTheValueOfWhatIsImpossible) {
  const Refusal refusals[] = {
      {"problem.n is 0", [](auto& e) { e.problem.n = 0; }},
      {"problem.n is -5", [](auto& e) { e.problem.n = -5; }},
      {"problem.n is 1048577", [](auto& e) { e.problem.n = max_n + 1; }},
      {"problem.d is 0", [](auto& e) { e.problem.d = 0; }},
      {"problem.d is 1025", [](auto& e) { e.problem.d = max_d + 1; }},
      {"problem.rows is -1", [](auto& e) { e.problem.rows = -1; }},
      {"problem.mask.window is 0", [](auto& e) { e.problem.mask.window = 0; }},
      {"problem.scale is nan", [](auto& e) { e.problem.scale = NAN; }},
      {"problem.scale is inf", [](auto& e) { e.problem.scale = HUGE_VAL; }},
      {"problem.sink is inf", [](auto& e) { e.problem.sink = HUGE_VAL; }},
      {"problem.softcap is -1", [](auto& e) { e.problem.softcap = -1; }},
      {"problem.alibi is nan", [](auto& e) { e.problem.alibi = NAN; }},
      {"a.block_k is 0", [](auto& e) { e.a.block_k = 0; }},
      {"b.block_q is -2", [](auto& e) { e.b.block_q = -2; }},
      {"a.splits is 0", [](auto& e) { e.a.splits = 0; }},
      {"a.splits is 65", [](auto& e) { e.a.splits = 65; }},
      {"a.tau is -1", [](auto& e) { e.a.tau = -1; }},
      {"b.tie_beta is 1, expected a number above 1 and at most 64, or 0 for off", [](auto& e) { e.b.tie_beta = 1; }},
      {"a.exp2_degree is 6", [](auto& e) { e.a.exp2_degree = 6; }},
      {"a.p_exponent is 65", [](auto& e) { e.a.p_exponent = 65; }},
      {"a.sum_lanes is 0", [](auto& e) { e.a.sum_lanes = 0; }},
      {"a.sum_lanes is 65", [](auto& e) { e.a.sum_lanes = 65; }},
      {"a.algorithm is 8", [](auto& e) { e.a.algorithm = static_cast<Algorithm>(8); }},
      {"a.order is 3", [](auto& e) { e.a.order = static_cast<SumOrder>(3); }},
      {"format.exponent_bits is 1", [](auto& e) { e.format.exponent_bits = 1; }},
      {"format.mantissa_bits is 53", [](auto& e) { e.format.mantissa_bits = 53; }},
      {"format.overflow is infinity", [](auto& e) { e.format.top_code_nan = true; }},
      {"a.O.exponent_bits is 12", [](auto& e) { e.a.precision[Step::O] = to_format(Format{12, 3}); }},
  };
  for (const Refusal& r : refusals) {
    Experiment e = default_experiment();
    r.spoil(e);
    EXPECT_THAT(message_of<std::invalid_argument>([&] { validate(e); }), StartsWith(r.what));
    EXPECT_THROW(compute(e), std::invalid_argument);
  }
}

TEST(Validate, TensorsMustBeThereAndFitTheSizes) {
  Experiment e = sized_experiment(4, 2);
  e.problem.input.kind = InputKind::tensors;
  EXPECT_THROW(compute(e), std::invalid_argument);
  const std::vector<double> right(8, 1.0), wrong(7, 1.0);
  e.problem.input = given({4, 4, 2, 2, right, right, wrong});
  EXPECT_THROW(compute(e), std::invalid_argument);
  e.problem.input = given({4, 4, 2, 2, right, right, right});
  EXPECT_NO_THROW(compute(e));
}

TEST(WorkingType, IsDoubleOnlyWhenAFormatHasMoreThan24Bits) {
  Experiment e = default_experiment();
  EXPECT_FALSE(works_in_double(e));
  e.format = fp32;
  EXPECT_FALSE(works_in_double(e));
  e.format = {8, 24};
  EXPECT_TRUE(works_in_double(e));
  e.format = bf16;
  e.b.precision[Step::l] = to_format(fp64);
  EXPECT_TRUE(works_in_double(e));
}

}  // namespace
}  // namespace attoscope
