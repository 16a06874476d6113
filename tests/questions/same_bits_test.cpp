/// The check that bits do not depend on the way of computing: it runs every way, and it can fail.
#include "kernels/questions/same_bits.h"

#include <set>
#include <stdexcept>

#include "kernels/experiment/presets.h"
#include "kernels/experiment/result.h"
#include "kernels/gpu/device.h"
#include "kernels/lanes/job.h"
#include "tests/support/matchers.h"

namespace attoscope {
namespace {

using namespace testing;  // attoscope::testing
using ::testing::Field;

Experiment small() {
  Experiment e{.problem = {.n = 40, .d = 8}};
  e.a.block_k = e.a.block_q = e.b.block_q = 8;
  e.a.precision = policy("eager").precision;
  return e;
}

auto run_of(const std::string& what) { return Field("what", &SameBitsRun::what, what); }

const SameBitsRun& find(const SameBits& found, const std::string& what) {
  for (const SameBitsRun& run : found.runs)
    if (run.what == what) return run;
  throw std::runtime_error("no run " + what);
}

TEST(SameBits, RunsEveryWayAndAllAgree) {
  const SameBits found = same_bits(small());
  EXPECT_EQ(found.experiment, small());
  for (const char* what : {"sse2", "avx2", "avx512", "1 thread", "2 threads", "block_q 16", "block_q 64", "block_q 128"})
    EXPECT_THAT(found.runs, Contains(run_of(what)));
  EXPECT_TRUE(found.agree());
  const Digests expected = compute(small()).digests;
  for (const SameBitsRun& run : found.runs) {
    if (!run.skipped.empty()) continue;
    EXPECT_EQ(differing(run.digests, expected), "") << run.what;
  }
}

TEST(SameBits, AsksEachWayWithItsOwnOptions) {
  std::set<std::string> sets;
  std::set<int> threads, tiles;
  ComputeCache cache;
  same_bits(small(), {.cache = &cache}, [&](const Experiment& e, const Options& options) {
    EXPECT_EQ(options.cache, nullptr) << "a cache would return the earlier bits";
    EXPECT_EQ(e.a.block_q, e.b.block_q);
    Experiment other = e;
    other.a.block_q = small().a.block_q;
    other.b.block_q = small().b.block_q;
    EXPECT_EQ(other, small()) << "nothing else may differ";
    sets.insert(options.isa);
    threads.insert(options.threads);
    tiles.insert(e.a.block_q);
    return Digests{1, 2, 3};
  });
  for (const char* isa : {"sse2", "avx2", "avx512"}) EXPECT_EQ(sets.contains(isa), has_instruction_set(isa));
  EXPECT_TRUE(threads.contains(1) && threads.contains(2));
  EXPECT_EQ(tiles, (std::set<int>{8, 16, 64, 128}));
}

TEST(SameBits, LeavesOutTheBackwardPassUnlessItDecidesTheWorkingType) {
  Experiment e = small();
  e.backward.on = true;
  for (const Format& f : {fp32, fp64}) {
    e.backward.a.precision[GradStep::dS] = to_format(f);
    const SameBits found = same_bits(e, {}, [&](const Experiment& asked, const Options&) {
      EXPECT_EQ(asked.backward.on, f == fp64) << name(f);
      EXPECT_EQ(works_in_double(asked), works_in_double(e));
      return Digests{1, 2, 3};
    });
    EXPECT_EQ(found.experiment, e);
  }
  EXPECT_EQ(differing(same_bits(e).runs[0].digests, compute(e).digests), "");
}

TEST(SameBits, OneOtherBitAnywhereIsFoundAndNamed) {
  for (std::uint64_t Digests::* planted : {&Digests::golden, &Digests::a, &Digests::b}) {
    const SameBits found = same_bits(small(), {}, [&](const Experiment&, const Options& options) {
      Digests digests{1, 2, 3};
      if (options.threads == 2) digests.*planted ^= std::uint64_t{1} << 63;
      return digests;
    });
    EXPECT_FALSE(found.agree());
    const char* const name = planted == &Digests::golden ? "golden" : planted == &Digests::a ? "a" : "b";
    EXPECT_THAT(csv_text(same_bits_table(found)),
                HasSubstr("\n2 threads," + std::string(planted == &Digests::golden ? "8" : "0")));
    EXPECT_THAT(plain_text(same_bits_table(found)), HasSubstr(std::string(name) + " differs\n"));
    for (const SameBitsRun& run : found.runs) EXPECT_EQ(agrees(run, found.runs[0]), run.what != "2 threads") << run.what;
  }
}

TEST(SameBits, ABlockSizeThatChangesABitIsFound) {
  const SameBits found = same_bits(small(), {}, [&](const Experiment& e, const Options&) {
    return Digests{1, static_cast<std::uint64_t>(e.a.block_q == 128), 3};
  });
  EXPECT_FALSE(found.agree());
  EXPECT_FALSE(agrees(find(found, "block_q 128"), found.runs[0]));
  EXPECT_TRUE(agrees(find(found, "block_q 16"), found.runs[0]));
}

TEST(SameBits, AWayThatCannotBeGoneIsSkippedWithItsReason) {
  const SameBits found = same_bits(small(), {}, [&](const Experiment&, const Options& options) -> Digests {
    if (options.threads == 2) throw std::runtime_error("No second thread.");
    return {1, 2, 3};
  });
  EXPECT_EQ(find(found, "2 threads").skipped, "No second thread.");
  EXPECT_TRUE(found.agree());
  EXPECT_EQ(found.compared(), std::ranges::count_if(found.runs, [](const SameBitsRun& r) { return r.skipped.empty(); }));
  if (cuda_devices().empty()) {
    EXPECT_EQ(find(found, "GPU").skipped, why_no_cuda());
  }
}

TEST(SameBits, AReferenceThatFailsIsAnError) {
  Experiment e = small();
  e.problem.n = 0;
  EXPECT_THROW(same_bits(e), std::invalid_argument);
}

TEST(SameBits, StopsWhenNobodyWantsItAnyMore) {
  int asked = 0;
  EXPECT_THROW(same_bits(small(), {.cancelled = [&] { return ++asked > 1; }, .threads = 1}), Stopped);
}

TEST(SameBits, ComparesTheMethodsWhereTheyAreComputed) {
  EXPECT_EQ(same_bits(small()).methods.numbers, 40 * 8);
  EXPECT_GT(same_bits(small()).methods.differing, 0);
}

TEST(InstructionSetOption, ChoosesTheLanesAndChangesNoBit) {
  const Result best = compute(small());
  for (const char* isa : {"sse2", "avx2", "avx512"}) {
    if (!has_instruction_set(isa)) continue;
    const Result other = compute(small(), {.threads = 1, .isa = isa});
    EXPECT_EQ(other.device, std::string("cpu ") + isa + ", 1 thread");
    EXPECT_EQ(instruction_set(isa).name, std::string(isa));
    EXPECT_EQ(other.digests.a, best.digests.a);
    EXPECT_EQ(other.digests.golden, best.digests.golden);
  }
}

TEST(InstructionSetOption, ThatThisMachineLacksIsOneSentence) {
  EXPECT_THAT(message_of<std::invalid_argument>([] { compute(small(), {.isa = "mmx"}); }),
              AllOf(HasSubstr("'mmx'"), HasSubstr("sse2")));
}

}  // namespace
}  // namespace attoscope
