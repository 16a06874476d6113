/// SSE2, AVX2, AVX-512 and the GPU's lanes on the same random questions, in one process: one answer, to the last bit.
#include <gtest/gtest.h>

#include <cmath>

#include "kernels/arithmetic/random.h"
#include "kernels/compute.h"
#include "kernels/experiment/result.h"
#include "kernels/lanes/job.h"
#include "tests/support/environment.h"
#include "tests/support/same_answer.h"
#include "tests/support/seeds.h"

namespace attoscope::instruction_sets_test {
namespace {

using namespace testing;  // attoscope::testing

TEST(InstructionSets, GiveOneAnswerToRandomQuestionsStochasticOnesToo) {
  int compared = 0;
  for (const char* isa : own_instruction_sets()) {
    with_seeds(8001, experiments(300), [&](Dice& dice) {
      Experiment e = random_experiment(dice);
      if (dice.one_in(2)) make_stochastic(e.a, dice, dice.between(1, 3));
      if (dice.one_in(3)) make_stochastic(e.b, dice, 2);
      const Result best = compute(e);
      const Environment narrowed("ATTOSCOPE_ISA", isa);
      SCOPED_TRACE(std::string(isa) + ": " + describe(e));
      expect_same_answer(compute(e), best);
      ++compared;
    });
  }
  EXPECT_GE(compared, experiments(300));
}

/// Element i of a stream, by the scalar form of the same code.
double normal_number(std::uint64_t seed, std::uint32_t stream, std::uint64_t i) {
  const auto p = philox<std::uint64_t>(i / 2, i / 2 >> 32, stream, seed);
  const double square = -2 * logarithm(1 - unit_interval<double>(p.x[0], p.x[1])), radius = std::sqrt(square > 0 ? square : 0);
  const SinCos<double> angle = sincos_turns(unit_interval<double>(p.x[2], p.x[3]));
  return radius * (i % 2 == 0 ? angle.cos : angle.sin);
}

TEST(InstructionSets, DrawAnyPieceOfAStreamWithTheBitsOfItsNumbers) {
  for (const char* isa : own_instruction_sets()) {
    Dice dice(28000);
    for (int i = 0; i < 400; ++i) {
      const std::uint64_t seed = dice.bits(), first = dice.bits() >> dice.between(1, 60) << 1;
      const auto stream = static_cast<std::uint32_t>(dice.between(0, 20));
      const int count = dice.between(0, 300);
      std::vector<double> x(static_cast<std::size_t>(count) + 1, 1e300);
      instruction_set(isa).normals(seed, stream, first, count, x.data());
      ASSERT_EQ(x.back(), 1e300) << isa << " wrote beyond " << count;
      for (int k = 0; k < count; ++k)
        ASSERT_EQ(x[static_cast<std::size_t>(k)], normal_number(seed, stream, first + static_cast<std::uint64_t>(k)))
            << isa << ", seed " << seed << ", number " << k << " from " << first;
    }
  }
}

/// Expects that the rows of `some` equal the same rows of `all`.
void expect_rows_of(const Result& some, const Result& all) {
  const auto same_rows = [&](const Matrix& x, const Matrix& y) {
    for (std::size_t i = 0; i < some.rows.size(); ++i)
      for (int c = 0; c < x.cols; ++c)
        ASSERT_TRUE(same(x(static_cast<int>(i), c), y(some.rows[i], c))) << "row " << some.rows[i] << ", column " << c;
  };
  same_rows(*some.golden, *all.golden);
  same_rows(some.a, all.a);
  same_rows(some.b, all.b);
}

TEST(InstructionSets, GiveOneRowAndFewRowsTheBitsThatTheyHaveAmongMany) {
  for (const char* isa : own_instruction_sets()) {
    const Environment narrowed("ATTOSCOPE_ISA", isa);
    with_seeds(18001, experiments(60), [&](Dice& dice) {
      Experiment e = random_experiment(dice);
      e.problem.input = {};
      e.problem.n = dice.between(70, 140);
      e.problem.n_k = dice.one_in(10)  ? dice.between(4096, 5000)
                      : dice.one_in(2) ? dice.between(1, 300)
                                       : 0;  // for many keys, q.k of a lone row are computed first
      e.problem.d = dice.between(1, 140);
      e.problem.d_v = dice.one_in(2) ? dice.between(1, 140) : 0;
      e.problem.rows = 0;
      e.a.scaling = e.b.scaling = {};  // scales restrict d
      if (dice.one_in(3)) make_stochastic(e.a, dice, 2);
      const Result all = compute(e);
      e.problem.rows = dice.one_in(2) ? 1 : dice.between(1, 20);
      SCOPED_TRACE(std::string(isa) + ": " + describe(e));
      expect_rows_of(compute(e), all);
    });
  }
}

}  // namespace
}  // namespace attoscope::instruction_sets_test
