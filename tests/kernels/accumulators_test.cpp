/// Methods whose products tensor cores add: the bits of a plain transcription on every instruction set, refusals, and
/// the flush.
#include "kernels/experiment/accumulators.h"

#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <set>
#include <stdexcept>

#include "kernels/compute.h"
#include "kernels/experiment/kernel_presets.h"
#include "kernels/experiment/presets.h"
#include "kernels/experiment/result.h"
#include "kernels/experiment/rules.h"
#include "tests/kernels/is_plain.h"
#include "tests/reference/plain.h"
#include "tests/support/matchers.h"
#include "tests/support/same_answer.h"
#include "tests/support/support.h"

namespace attoscope {
namespace {

using namespace testing;  // attoscope::testing

constexpr std::array<Format, 5> factors{fp16, bf16, tf32, e4m3, e5m2};

/// Random numbers, some outside the domain of fast sums: tiny and huge numbers, zeros, NaN and infinities.
double element(Dice& dice, int kind) {
  if (kind == 0) return dice.normal();
  if (kind == 1) return dice.one_in(3) ? 0 : std::ldexp(dice.normal(), dice.between(-40, 40));
  if (kind == 2) return 1.96875;  // sums as large as they can be
  if (kind == 3) return std::ldexp(dice.normal(), dice.between(-130, -20));
  static constexpr double wild[] = {NAN, INFINITY, -INFINITY, 3e38, -1e-40, -0.0};
  return dice.one_in(40) ? dice.any(wild) : dice.normal();
}

Input some_input(Dice& dice, const AttentionShape& shape) {
  Tensors t = Tensors::shaped(shape);
  const auto fill = [&](std::vector<double>& tensor, int count) {
    const int kind = dice.between(0, 4);
    for (int i = 0; i < count; ++i) tensor.push_back(element(dice, kind));
  };
  fill(t.q, t.n * t.d), fill(t.k, t.n_k * t.d), fill(t.v, t.n_k * t.d_v);
  return given(std::move(t));
}

/// A random experiment, larger than random_experiment's, with P in V's format and accumulators in both products of a and b.
Experiment random_accumulators(Dice& dice) {
  Experiment e = random_experiment(dice);
  e.format = dice.any(factors);
  e.problem.n = dice.between(1, 180);
  e.problem.d = dice.between(1, 72);
  e.problem.input = some_input(dice, shape_of(e.problem));
  e.problem.mask.window = dice.between(1, e.problem.n + 3);
  e.problem.rows = dice.one_in(2) ? dice.between(1, e.problem.n) : 0;
  e.problem.traced_row = dice.between(-e.problem.n, e.problem.n - 1);
  for (Method* m : {&e.a, &e.b}) {
    const Algorithm algorithm = m->algorithm;
    *m = Method{.algorithm = algorithm, .block_k = dice.between(1, 150), .splits = dice.between(1, 4)};
    m->reverse_keys = dice.one_in(4);
    m->exponential = dice.one_in(2) ? ExponentialKind::exp2 : ExponentialKind::natural;
    m->p_exponent = dice.one_in(2) ? 8 : 0;
    m->flush = dice.between(-1, 5);
    m->precision = policy(dice.one_in(2) ? "hw" : "eager").precision;
    m->precision[Step::input] = m->precision[Step::P] = to_main;
    m->accumulator.qk = any_accumulator(e, *m, AttentionProduct::qk, dice);
    m->accumulator.pv = any_accumulator(e, *m, AttentionProduct::pv, dice);
  }
  return e;
}

TEST(Accumulators, HaveTheBitsOfThePlainTranscriptionOnEveryInstructionSet) {
  std::set<Accumulator> seen;
  // runs until each accumulator is seen: sanitizers run few experiments
  for (int seed = 1; seed <= experiments(200) || (seed <= 200 && seen.size() < accumulator_names.size()); ++seed) {
    Dice dice(static_cast<std::uint64_t>(77000 + seed));
    const Experiment e = random_accumulators(dice);
    SCOPED_TRACE("seed " + std::to_string(seed) + ": " + describe(e));
    const Result best = compute(e);
    ASSERT_TRUE(is_plain(best, e.a, best.a));
    ASSERT_TRUE(is_plain(best, e.b, best.b));
    for (const char* isa : own_instruction_sets()) {
      SCOPED_TRACE(isa);
      expect_same_answer(compute(e, {.isa = isa}), best);
      if (HasFailure()) return;
    }
    seen.insert({e.a.accumulator.qk, e.a.accumulator.pv, e.b.accumulator.qk, e.b.accumulator.pv});
  }
  EXPECT_EQ(seen.size(), accumulator_names.size());
}

/// Q and K such that aligned sums pass 2^31: in the second block on top of c, or within a block.
TEST(Accumulators, PassTheirIntegersRange) {
  struct Large {
    Format format;
    Accumulator accumulator;
    double factor, first;  ///< value of all columns; of columns 1 to 15 of K
  };
  for (const Large& large : {Large{bf16, Accumulator::h100, 1.9921875, 0}, Large{e4m3, Accumulator::b200, 1.875, 1.875}}) {
    Tensors t = Tensors::shaped(AttentionShape::square(3, 32));
    for (int i = 0; i < 3 * 32; ++i) {
      const int column = i % 32;
      t.q.push_back(large.factor);
      t.k.push_back(column >= 16 ? large.factor : column == 0 ? 0.5 : large.first);
      t.v.push_back(1);
    }
    Experiment e = small_experiment(large.format, 3, 32);
    e.problem.input = given(std::move(t));
    e.problem.scale = 0.01;
    e.a.precision = policy("hw").precision;
    e.a.precision[Step::output] = exact;
    e.a.accumulator.qk = large.accumulator;
    for (const char* isa : own_instruction_sets()) {
      const Result r = compute(e, {.isa = isa});
      const plain::Row plain_row = plain::attend(e, e.a, *r.inputs, r.trace.row);
      ASSERT_EQ(r.trace.tiles.size(), 1U);
      EXPECT_EQ(r.trace.tiles[0].max_used, plain_row.tiles[0].m) << isa << ", " << name(large.accumulator);
      EXPECT_GT(plain_row.tiles[0].m, 0.6) << "no sum has wrapped";
    }
  }
}

Experiment small(const Format& format = bf16) {
  Experiment e = small_experiment(format, 200, 32);
  e.a.precision = policy("hw").precision;
  e.a.precision[Step::output] = exact;  // shows every bit of O
  return e;
}

std::uint64_t bits(const Experiment& e) { return compute(e).digests.a; }

TEST(Accumulators, ChangeBitsAndAnotherGpusAreOthers) {
  std::set<std::uint64_t> digests;
  for (const Accumulator a : {Accumulator::fma, Accumulator::f64, Accumulator::a100, Accumulator::h100}) {
    Experiment e = small();
    e.a.accumulator = {a, a};
    digests.insert(bits(e));
  }
  EXPECT_EQ(digests.size(), 4U);
}

TEST(Accumulators, OfOneRowDoNotDependOnOtherRowsNorOnBlockQ) {
  Experiment e = small();
  e.problem.mask = {Mask::Kind::window, 23};
  e.a.accumulator = {Accumulator::h100, Accumulator::h100};
  const Result all = compute(e);
  e.problem.rows = 11;
  e.a.block_q = 7;
  const Result some = compute(e);
  for (int i = 0; i < some.a.rows; ++i)
    for (int c = 0; c < some.a.cols; ++c) EXPECT_EQ(some.a(i, c), all.a(some.rows[static_cast<std::size_t>(i)], c));
}

TEST(Flush, OfThePolicyIsEachTileOrNever) {
  for (const Accumulator a : {Accumulator::fma, Accumulator::h100})
    for (const bool in_O : {false, true}) {
      Experiment e = small();
      e.a.accumulator.pv = a;
      e.a.precision.accumulate_in_O = in_O;
      const std::uint64_t of_policy = bits(e);
      e.a.flush = in_O ? 0 : 1;
      EXPECT_EQ(bits(e), of_policy);
      e.a.flush = in_O ? 1 : 0;
      EXPECT_NE(bits(e), of_policy);
    }
}

TEST(Flush, AfterMoreTilesThanThereAreIsNoFlush) {
  Experiment e = small();
  e.a.flush = 0;
  const std::uint64_t never = bits(e);
  e.a.flush = 1000;
  EXPECT_EQ(bits(e), never);
  e.a.flush = 3;
  EXPECT_NE(bits(e), never);
}

TEST(Flush, IsIgnoredWhereTheAlgorithmDecides) {
  for (const Algorithm algorithm : {Algorithm::three_pass, Algorithm::two_pass, Algorithm::flash1}) {
    Experiment e = small();
    e.a.algorithm = algorithm;
    const std::uint64_t digest = bits(e);
    e.a.flush = 4;
    EXPECT_EQ(bits(e), digest);
  }
}

/// The error sentence of `validate`; "": none.
std::string refusal(const Experiment& e) {
  return message_of<std::invalid_argument>([&] { validate(e); });
}

TEST(Accumulators, ThatAGpuDoesNotHaveAreRefusedInOneSentence) {
  const auto said = [](auto change) {
    Experiment e = small();
    e.a.accumulator = {Accumulator::h100, Accumulator::h100};
    change(e);
    return refusal(e);
  };
  EXPECT_EQ(said([](Experiment&) {}), "");
  EXPECT_EQ(said([](Experiment& e) { e.a.precision[Step::P] = exact; }),
            "a.accumulator.pv is h100: P is left in fp32, which h100 does not multiply: round P as V, to bf16");
  EXPECT_EQ(said([](Experiment& e) { e.a.precision[Step::P] = to_format(e4m3); }),
            "a.accumulator.pv is h100: P is e4m3 and V is bf16: a tensor core multiplies numbers of one format");
  EXPECT_EQ(
      said([](Experiment& e) { e.a.scaling.K = parse_scaling("int8/token"); }),
      "a.accumulator.qk is h100: Q is bf16 and K is fp32 (stored as int8): a tensor core multiplies numbers of one format");
  EXPECT_EQ(said([](Experiment& e) { e.format = parse_format("e3m2"); }),
            "a.accumulator.qk is h100: tensor cores multiply no e3m2 here, expected fp16, bf16, tf32, e4m3 or e5m2");
  EXPECT_EQ(said([](Experiment& e) {
              e.format = e4m3;
              e.a.accumulator.qk = Accumulator::a100;
            }),
            "a.accumulator.qk is a100: a100 multiplies no e4m3, expected fp16, bf16 or tf32, or for e4m3 ada, l40s, h100, "
            "h200, b200 or rtx50");
  EXPECT_EQ(said([](Experiment& e) { e.a.accumulator.qk = Accumulator::h100_f16; }),
            "a.accumulator.qk is h100:f16: h100 adds products of bf16 in f32 alone, expected f32, or for f16 products of "
            "fp16, e4m3 or e5m2");
  EXPECT_EQ(said([](Experiment& e) { e.a.order = SumOrder::pairwise; }),
            "a.accumulator.qk is h100: h100 adds in its own order, and order is pairwise, expected sequential");
  EXPECT_EQ(said([](Experiment& e) { e.a.precision[Step::pv_step] = to_main; }),
            "a.accumulator.pv is h100: h100 rounds its sums by itself, and pv_step is main, expected exact");
  EXPECT_EQ(said([](Experiment& e) { e.b.precision[Step::S] = to_format(fp64); }),
            "a.accumulator.qk is h100: h100 adds in fp32: formats of more than 24 bits, anywhere in the experiment, need fma");
  EXPECT_EQ(said([](Experiment& e) { e.a.accumulator.qk = Accumulator::f64, e.b.precision[Step::S] = to_format(fp64); }),
            "a.accumulator.qk is f64: f64 rounds to fp32: formats of more than 24 bits, anywhere in the experiment, need fma");
  EXPECT_EQ(said([](Experiment& e) { e.a.algorithm = Algorithm::hardware; }), "");
}

TEST(Accumulators, OfBSeeItsOwnInputs) {
  Experiment e = small();
  e.b.precision = policy("base_hw").precision;
  e.b.precision[Step::input] = e.b.precision[Step::P] = to_format(e4m3);
  e.b.accumulator = {Accumulator::a100, Accumulator::a100};
  EXPECT_NE(refusal(e), "");
  e.b.accumulator = {Accumulator::h100, Accumulator::h100};
  EXPECT_EQ(refusal(e), "");
  const Result r = compute(e);
  EXPECT_TRUE(is_plain(r, e.b, r.b));
}

TEST(Accumulators, HaveTheirNames) {
  for (std::size_t i = 0; i < accumulator_names.size(); ++i) {
    const auto a = static_cast<Accumulator>(i);
    EXPECT_EQ(parse_accumulator(name(a)), a);
    if (!is_tensor_core(a)) continue;
    const std::string sums = sums_of(a) == SumType::f16 ? ":f16" : "";
    EXPECT_EQ(name(a), std::string(name(gpu_of(a))) + sums);
  }
  EXPECT_THROW(parse_accumulator("a1000"), std::invalid_argument);
}

TEST(KernelPresets, AreExperimentsAndFoundAgainByTheirMethod) {
  for (const KernelPreset& kernel : kernel_presets())
    for (const int d : {32, 64, 96, 128, 192, 256})
      for (const auto mask : {Mask::Kind::none, Mask::Kind::causal}) {
        Experiment e = sized_experiment(40, d);
        e.problem.mask.kind = mask;
        e = with_kernel(std::move(e), kernel);
        if (e.a.scaling.hadamard && (d & (d - 1)) != 0) {
          EXPECT_NE(refusal(e).find("hadamard needs a power of 2"), std::string::npos) << refusal(e);
          continue;
        }
        EXPECT_EQ(refusal(e), "") << kernel.name << ", d = " << d;
        EXPECT_EQ(kernel_name(e.a, e.problem, e.format), kernel.name);
        const Result r = compute(e);
        EXPECT_TRUE(is_plain(r, e.a, r.a)) << kernel.name << ", d = " << d;
      }
  EXPECT_THROW(kernel_preset("fa5"), std::invalid_argument);
}

/// cuDNN keeps its max while the new one exceeds it by at most 4 powers of two: no P saturates. With 4 natural units and P *
/// 16, some P could saturate.
TEST(KernelPresets, OfCudnnSaturateNothing) {
  for (const char* const name : {"cudnn_fp8", "cudnn_mxfp8"}) {
    const Method m = with_kernel(default_experiment(), kernel_preset(name)).a;
    EXPECT_LE(m.scaling.P.factor * std::exp2(m.tau), static_cast<double>(largest(e4m3))) << name;
    EXPECT_EQ(m.tau, 4) << name;
  }
  EXPECT_GT(16 * std::exp(4.0), static_cast<double>(largest(e4m3)));
}

/// SageAttention 2's exponents are shifted by its constant, not by log2 448; both have other bits.
TEST(KernelPresets, OfSage2ShiftByTheKernelsConstant) {
  for (const char* const name : {"sage2", "sage2pp"}) {
    Experiment e = with_kernel(default_experiment(), kernel_preset(name));
    EXPECT_EQ(static_cast<float>(std::log2(e.a.scaling.P.factor)), 8.807F);
    e.problem.n = 200;
    const std::uint64_t own = compute(e).digests.a;
    e.a.scaling.P.factor = 448;
    EXPECT_NE(compute(e).digests.a, own);
  }
}

TEST(KernelPresets, TakeTheTilesOfTheirHeadDimensionAndMask) {
  Experiment e = default_experiment();
  e.problem.d = 128;
  EXPECT_EQ(tiles_of(with_kernel(e, kernel_preset("fa2_rtx40")).a), (TileSizes{128, 32}));
  EXPECT_EQ(tiles_of(with_kernel(e, kernel_preset("fa3_fp8_h100")).a), (TileSizes{128, 224}));
  EXPECT_EQ(tiles_of(with_kernel(e, kernel_preset("fa3_fp8")).a), (TileSizes{128, 224}));
  for (const int d : {32, 64, 96, 128, 192, 256}) {
    e.problem.d = d;
    EXPECT_EQ(tiles_of(with_kernel(e, kernel_preset("fa3_fp8")).a), tiles_of(with_kernel(e, kernel_preset("fa3_fp8_h100")).a))
        << d;
  }
  e.problem.d = 128;
  e.problem.mask.kind = Mask::Kind::causal;
  EXPECT_EQ(tiles_of(with_kernel(e, kernel_preset("fa2_rtx40")).a), (TileSizes{64, 64}));
  EXPECT_EQ(with_kernel(e, kernel_preset("fa3_fp8_h100")).format, e4m3);
  EXPECT_EQ(with_kernel(e, kernel_preset("fa3_h100")).format, bf16);
  e.format = fp16;
  EXPECT_EQ(with_kernel(e, kernel_preset("fa3_h100")).format, fp16);
}

}  // namespace
}  // namespace attoscope
