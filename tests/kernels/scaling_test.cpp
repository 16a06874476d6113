/// Storage with scales: against the plain implementation, at its edges, and its relations to the golden value.

#include <array>
#include <cmath>
#include <stdexcept>

#include "kernels/compute.h"
#include "kernels/cpu/scaled_operands.h"
#include "kernels/experiment/all_heads.h"
#include "kernels/experiment/kernel_presets.h"
#include "kernels/experiment/presets.h"
#include "kernels/experiment/result.h"
#include "tests/kernels/is_plain.h"
#include "tests/reference/plain.h"
#include "tests/reference/plain_scaling.h"
#include "tests/support/matchers.h"
#include "tests/support/seeds.h"

namespace attoscope {
namespace {

using namespace testing;  // attoscope::testing

constexpr ScaledTensor stored_ones[] = {ScaledTensor::Q, ScaledTensor::K, ScaledTensor::V};

TEST(Scaling, GivesThePlainImplementationsBitsToRandomQuestions) {
  int scaled = 0;
  with_seeds(41001, experiments(600), [&](Dice& dice) {
    Experiment e = random_experiment(dice);
    for (Method* const m : {&e.a, &e.b})
      if (is_emulated(m->algorithm)) add_scalings(e, *m, dice);
    add_other_heads(e, dice);
    SCOPED_TRACE(describe(e));
    const Result r = compute(e);
    EXPECT_TRUE(is_plain(r, e.a, r.a));
    EXPECT_TRUE(is_plain(r, e.b, r.b));
    scaled += e.a.scaling.any() + e.b.scaling.any();
  });
  EXPECT_GE(scaled, experiments(600));
}

TEST(Scaling, OfNamedKernelsIsPlainToTheLastBit) {
  for (const KernelPreset& kernel : kernel_presets()) {
    if (!kernel.method.scaling.any()) continue;
    Experiment e = sized_experiment(150, 32);
    e.problem.mask.kind = Mask::Kind::causal;
    e = with_kernel(e, kernel);
    SCOPED_TRACE(kernel.name);
    const Result r = compute(e);
    EXPECT_TRUE(is_plain(r, e.a, r.a));
    EXPECT_EQ(kernel_name(e.a, e.problem, e.format), kernel.name);
  }
}

TEST(Scaling, KeepsItsPlaceInTexts) {
  Dice dice(7);
  for (int i = 0; i < 400; ++i) {
    Experiment e = random_experiment(dice);
    add_scalings(e, e.a, dice);
    for (const ScaledTensor t : {ScaledTensor::Q, ScaledTensor::K, ScaledTensor::V, ScaledTensor::P})
      EXPECT_EQ(parse_scaling(scaling_text(e.a.scaling[t])), e.a.scaling[t]) << scaling_text(e.a.scaling[t]);
  }
  EXPECT_EQ(scaling_text(parse_scaling("int8/token")), "int8/token");
  EXPECT_EQ(scaling_text(parse_scaling("e4m3/x448")), "e4m3/head/x448");
  EXPECT_EQ(scaling_text(parse_scaling("e4m3/tensor")), "e4m3/tensor");
  EXPECT_EQ(scaling_text(parse_scaling("e4m3")), "e4m3/head");
  EXPECT_EQ(parse_scaling("off"), Scaling{});
  for (const char* text :
       {"", "int8/tokens", "int8/rows", "int8/rows:0", "int8/rows:x", "e4m3/x0", "e4m3/token/x2", "int8/head:2",
        "int8/tensor:2", "e4m3/tensor/x2", "e4m3/away", "int8/to:nothing", "e2m1/most:-1", "int8//", "token"})
    EXPECT_THROW(parse_scaling(text), std::invalid_argument) << text;
}

TEST(Scaling, ChangesPartByPart) {
  const Scaling s = parse_scaling("e4m3/block:32/e8m0/ceil");
  EXPECT_EQ(scaling_text(with_part(s, "element", "e2m1")), "e2m1/block:32/e8m0/ceil");
  EXPECT_EQ(with_part(parse_scaling("int8/token/away"), "element", "e4m3"), parse_scaling("e4m3/token"));
  EXPECT_EQ(scaling_text(with_part(parse_scaling("int8/token/away"), "element", "int4")), "int4/token/away");
  EXPECT_EQ(scaling_text(with_part(s, "granularity", "token")), "e4m3/token/e8m0/ceil");
  EXPECT_EQ(scaling_text(with_part(s, "granularity", "rows:64")), "e4m3/rows:64/e8m0/ceil");
  EXPECT_EQ(scaling_text(with_part(s, "granularity", "tensor")), "e4m3/tensor/e8m0/ceil");
  EXPECT_EQ(scaling_text(with_part(s, "rule", "floor")), "e4m3/block:32/e8m0/floor");
  EXPECT_EQ(scaling_text(with_part(s, "scale", "fp32")), "e4m3/block:32/ceil");
  EXPECT_EQ(scaling_text(with_part(s, "quotient", "reciprocal")), "e4m3/block:32/e8m0/ceil/reciprocal");
  EXPECT_EQ(scaling_text(with_part(parse_scaling("e4m3/x256/shift"), "factor", "448")), "e4m3/head/x448/shift");
  EXPECT_EQ(with_part(parse_scaling("e4m3/head"), "factor", "448"), parse_scaling("e4m3/head/x448"));
  for (const auto& [part, value] :
       {std::pair{"rule", "up"}, {"granularity", "rows"}, {"factor", "-1"}, {"factor", "1e31"}, {"nothing", "1"}})
    EXPECT_THROW(with_part(s, part, value), std::invalid_argument) << part;
  EXPECT_THROW(with_part(Scaling{}, "element", "int8"), std::invalid_argument);
}

// --- changes that leave attention as it is ----------------------------------------------------------------------------

TEST(Scaling, TransformsAloneLeaveAttentionAsItIs) {
  for (const bool exp2 : {false, true})
    for (int which = 0; which < 4; ++which) {
      Experiment e = small_experiment(fp32, 96, 32);
      e.a.precision = e.b.precision = {};
      e.a.exponential = exp2 ? ExponentialKind::exp2 : ExponentialKind::natural;
      const double without = compute(e).a_error.max_abs;
      e.a.scaling = {.hadamard = which == 0, .smooth_K = which == 1, .smooth_Q = which == 2 ? 40 : 0, .smooth_V = which == 3};
      const Result r = compute(e);
      EXPECT_LT(r.a_error.max_abs, 8 * without) << which;
      EXPECT_LT(lse_error(r.golden_lse, r.a_lse, false).max_abs, 1e-5) << which;
      ASSERT_TRUE(r.a_parts);
      EXPECT_LT(r.a_parts->storage.max_abs, 8 * without) << which;
    }
}

TEST(Scaling, ErrorIsThatOfStorageAndThatOfTheArithmetic) {
  Experiment e = sized_experiment(200, 32);
  e = with_kernel(e, kernel_preset("sage2"));
  const Result r = compute(e);
  ASSERT_TRUE(r.a_parts);
  double storage = 0, arithmetic = 0;
  for (std::size_t i = 0; i < r.a.values.size(); ++i) {
    storage = std::max(storage, std::fabs(r.a_parts->stored_golden->values[i] - r.golden->values[i]));
    arithmetic = std::max(arithmetic, std::fabs(r.a.values[i] - r.a_parts->stored_golden->values[i]));
  }
  EXPECT_EQ(r.a_parts->storage.max_abs, storage);
  EXPECT_EQ(r.a_parts->arithmetic.max_abs, arithmetic);
  EXPECT_GT(storage, 0);
  EXPECT_GT(arithmetic, 0);
  EXPECT_FALSE(r.b_parts);
}

/// Expects the golden value of the stored numbers to be the softmax over plain::'s stored numbers.
TEST(Scaling, StoredGoldenIsTheTruthOfWhatIsStored) {
  for (const char* name : {"sage2", "sage3", "nvfp4", "kv_int4", "fa3_fp8_hadamard"}) {
    Experiment e = sized_experiment(70, 16);
    e = with_kernel(e, kernel_preset(name));
    if (e.a.scaling.smooth_Q > 0) e.a.scaling.smooth_Q = 32;
    const Result r = compute(e);
    const auto floats = [](const std::vector<double>& x) { return std::vector<float>(x.begin(), x.end()); };
    const plain::Stored<float> s = plain::stored(floats(r.inputs->q), floats(r.inputs->k), floats(r.inputs->v),
                                                 r.inputs->shape(), e.a, e.format, e.problem.seed);
    for (const int row : {0, 33, 69}) {
      const std::vector<double> O = plain::truth_of_stored(e.problem, s, row, {0, 70});
      for (int c = 0; c < 16; ++c)
        EXPECT_NEAR((*r.a_parts->stored_golden)(row, c), O[static_cast<std::size_t>(c)], 1e-12) << name;
    }
  }
}

// --- all heads of a tensor ------------------------------------------------------------------------------------------------

/// Inputs whose other heads have these largest magnitudes of Q, K and V; `asked` counts the calls that read them.
Experiment beside_others(std::array<double, 3> largest, int& asked) {
  Experiment e = small_experiment(bf16, 70, 16);
  Dice dice(5);
  Tensors t = drawn_tensors(AttentionShape::square(70, 16), [&] { return dice.normal(); });
  t.all_heads = std::make_shared<const AllHeads>([largest, &asked](ScaledTensor tensor, const StopSign&) {
    ++asked;
    return largest[static_cast<std::size_t>(tensor)];
  });
  e.problem.input = given(t);
  return e;
}

std::uint64_t digest_with(Experiment e, const char* storage) {
  for (const ScaledTensor t : stored_ones) e.a.scaling[t] = parse_scaling(storage);
  return compute(e).digests.a;
}

TEST(Scaling, OfAllHeadsIsOneScaleForThem) {
  int asked = 0;
  const Experiment e = beside_others({64, 32, 16}, asked), small = beside_others({1e-3, 0, 1e-9}, asked);
  EXPECT_EQ(digest_with(e, "e4m3/head"), digest_with(small, "e4m3/head"));
  EXPECT_EQ(asked, 0) << "scales of one head read no other heads";
  EXPECT_EQ(digest_with(small, "e4m3/tensor"), digest_with(small, "e4m3/head")) << "this head has the largest number";
  EXPECT_NE(digest_with(e, "e4m3/tensor"), digest_with(e, "e4m3/head"));
  EXPECT_LE(asked, 6) << "each magnitude is read once";
  Experiment fixed = e;  // powers of two times 448: 1 / s is a number
  for (const auto& [t, factor] : {std::pair{ScaledTensor::Q, 7.0}, {ScaledTensor::K, 14.0}, {ScaledTensor::V, 28.0}}) {
    fixed.a.scaling[t] = parse_scaling("e4m3/to:main");
    fixed.a.scaling[t].rule = ScaleRule::fixed;
    fixed.a.scaling[t].factor = factor;
  }
  EXPECT_EQ(digest_with(e, "e4m3/tensor/ratio/to:main"), compute(fixed).digests.a);
}

TEST(Scaling, OfAllHeadsIsOfOneHeadWhereThereIsNoOther) {
  for (const InputKind kind : {InputKind::normal, InputKind::outliers}) {
    Experiment e = small_experiment(bf16, 70, 16);
    e.problem.input.kind = kind;
    for (const auto& [tensor, head] : {std::pair{"int8/tensor", "int8/head"},
                                       {"e4m3/tensor/e8m0/ceil", "e4m3/head/e8m0/ceil"},
                                       {"e2m1/tensor/nvfp4/to:main", "e2m1/head/nvfp4/to:main"}})
      EXPECT_EQ(digest_with(e, tensor), digest_with(e, head)) << tensor;
  }
}

TEST(Scaling, OfAllHeadsIsTheSameOnEveryInstructionSet) {
  int asked = 0;
  Experiment e = beside_others({64, 32, 16}, asked);
  e.a.scaling = {.Q = parse_scaling("e4m3/tensor"), .K = parse_scaling("int8/tensor"), .V = parse_scaling("e4m3/tensor")};
  const std::uint64_t digest = compute(e).digests.a;
  for (const char* const isa : {"", "sse2"})
    for (const int threads : {1, 3}) EXPECT_EQ(compute(e, {.threads = threads, .isa = isa}).digests.a, digest) << isa;
}

TEST(Scaling, OfAllHeadsBeyondTheFormatIsItsLargestNumber) {
  int asked = 0;
  Experiment e = beside_others({1e300, 7e4, 1e39}, asked);
  e.format = fp16;
  for (const ScaledTensor t : stored_ones) e.a.scaling[t] = parse_scaling("e4m3/tensor");
  const Result r = compute(e);
  EXPECT_EQ(r.a_error.nonfinite, 0);
  EXPECT_TRUE(is_plain(r, e.a, r.a));
}

// --- edges -------------------------------------------------------------------------------------------------------------

TEST(Scaling, OfNumbersOnTheGridChangesNothing) {
  Dice dice(3);
  for (const char* text : {"int8/token", "e4m3/head", "e2m1/block:16/e4m3", "e4m3/block:32/e8m0/ceil",
                           "e3m2/block:32/e8m0/floor", "int4/columns:8", "e5m2/channel", "e2m3/rows:5"})
    for (const ScaledTensor t : stored_ones) {
      const Scaling s = parse_scaling(text);
      const std::vector<double> all = plain::numbers_of(s.element);
      std::vector<float> x;
      for (int i = 0; i < 40 * 32; ++i) x.push_back(static_cast<float>(dice.any(all)) * (dice.one_in(2) ? 0.5f : -0.5f));
      // the largest element in every group: the scale is 1/2 again
      for (int row = 0; row < 40; ++row)
        for (int c = 0; c < 32; ++c)
          if (row % 5 == 0 || c % 8 == 0) x[static_cast<std::size_t>(row * 32 + c)] = static_cast<float>(all.back()) / 2;
      const ScaledStorage<float> stored = scaled_storage(x, 40, 32, s, t, bf16);
      for (std::size_t i = 0; i < x.size(); ++i) {
        const bool by_column = stored.factor.size() == 32, single = stored.factor.size() == 1;
        const float factor = stored.factor.empty() ? 1 : stored.factor[single ? 0 : by_column ? i % 32 : i / 32];
        ASSERT_EQ(stored.operand[i] * factor, x[i]) << text;
      }
    }
}

TEST(Scaling, OfExtremeTensorsIsDefined) {
  const float inf = std::numeric_limits<float>::infinity(), tiny = std::numeric_limits<float>::denorm_min();
  for (const char* text :
       {"int8/token", "e4m3/head/reciprocal", "e2m1/block:16/e4m3", "e2m1/block:16/nvfp4", "e4m3/block:32/e8m0/ceil",
        "e3m2/block:32/e8m0/floor", "int8/channel/ratio", "e2m1/block:1/e4m3/unrounded", "e4m3/rows:3/floor"})
    for (const ScaledTensor t : stored_ones)
      for (const float value :
           {0.0f, -0.0f, inf, -inf, tiny, 3 * tiny, std::numeric_limits<float>::max(), std::numeric_limits<float>::min()}) {
        const ScaledStorage<float> stored =
            scaled_storage(std::vector<float>(7 * 5, value), 7, 5, parse_scaling(text), t, bf16);
        for (const float x : stored.operand) {
          EXPECT_FALSE(std::isnan(x)) << text << " of " << value;
          EXPECT_TRUE(!std::isinf(value) || (value > 0 ? x : -x) > 0) << text;
          EXPECT_TRUE(value != 0 || x == 0) << text;
        }
        for (const float x : stored.factor) EXPECT_TRUE(x > 0 && std::isfinite(x)) << text << " of " << value;
      }
  const ScaledStorage<float> mixed =
      scaled_storage(std::vector<float>{1, std::nanf(""), -inf, 2}, 2, 2, parse_scaling("int8/head"), ScaledTensor::Q, bf16);
  EXPECT_TRUE(std::isnan(mixed.operand[1]));
  EXPECT_EQ(mixed.operand[2], -127);
  EXPECT_EQ(mixed.operand[3], 127);
}

TEST(Scaling, ScalesAreThoseOfTheirRules) {
  const auto scale_of = [](const char* text, float amax) {
    return scaled_storage(std::vector<float>{amax, amax / 3}, 1, 2, parse_scaling(text), ScaledTensor::K, bf16).factor.at(0);
  };
  EXPECT_EQ(scale_of("e4m3/token/floor", 448), 1);  // 2^(8 - 8)
  EXPECT_EQ(scale_of("e4m3/token/floor", 511), 1);  // OCP: 511 saturates at 448
  EXPECT_EQ(scale_of("e4m3/token/ceil", 448), 1);
  EXPECT_EQ(scale_of("e4m3/token/ceil", 449), 2);  // NVIDIA: nothing saturates
  EXPECT_EQ(scale_of("e2m1/token/e4m3", 6), 1);
  EXPECT_EQ(scale_of("e2m1/token/e4m3", 6.3f), 1);  // 1.05 between 1 and 1.125
  EXPECT_EQ(scale_of("e2m1/token/e4m3", 1e6f), 448);
  EXPECT_EQ(scale_of("int8/token", 254), 2);
  EXPECT_EQ(scale_of("int8/token/plus:0.5", 254), 2.5);
  EXPECT_EQ(scale_of("e4m3/head/x16", 254), 1.0f / 16);
  EXPECT_EQ(scale_of("e4m3/token/most:2", 254), 127);
}

/// Smoothing stores a score for every block of rows and every key, which counts as needed memory.
TEST(Scaling, ThatTakesMoreMemoryThanThereIsIsRefused) {
  Experiment e = default_experiment();
  e.problem.n = 1 << 18;
  e.problem.rows = 1;
  const double without = bytes_needed(e, 1);
  e.a.scaling.smooth_Q = 1;
  EXPECT_GT(bytes_needed(e, 1), without + 4.0 * e.problem.n * e.problem.n);
  EXPECT_THROW(compute(e), std::runtime_error);
  e.a.scaling = {.K = parse_scaling("int8/token")};
  EXPECT_GT(bytes_needed(e, 1), without + 8.0 * 3 * e.problem.n * e.problem.d);
}

TEST(Scaling, ThatNoKernelHasIsRefusedInASentence) {
  const auto why = [](auto change) {
    Experiment e = default_experiment();
    change(e);
    return message_of<std::invalid_argument>([&] { validate(e); });
  };
  const auto set = [](ScaledTensor t, const char* text) {
    return [=](Experiment& e) { e.a.scaling[t] = parse_scaling(text); };
  };
  EXPECT_EQ(why(set(ScaledTensor::K, "int8/token")), "");
  EXPECT_EQ(why(set(ScaledTensor::K, "int8/token/e8m0")),
            "a.scaling: K is int8/token/e8m0, whose scales are powers of two: expected floor or ceil beside e8m0");
  EXPECT_EQ(why(set(ScaledTensor::Q, "e4m3/block:16/x4")),
            "a.scaling: Q is e4m3/block:16/x4, but only P has a factor beside the scales of its blocks: expected no x4");
  EXPECT_THAT(why([](Experiment& e) { e.a.scaling.Q = with_part(parse_scaling("e4m3/head/x16"), "rule", "amax"); }),
              HasSubstr("scaling.Q is e4m3/head/x16 with the rule amax, expected off, or an element"));
  EXPECT_THAT(why(set(ScaledTensor::V, "int8/thread:32")), HasSubstr("only Q and K can have"));
  EXPECT_THAT(why(set(ScaledTensor::P, "int8/x127")), HasSubstr("expected a float"));
  EXPECT_THAT(why(set(ScaledTensor::P, "e4m3/token")), HasSubstr("expected xF or block"));
  EXPECT_THAT(why(set(ScaledTensor::P, "e4m3/head")), HasSubstr("has no factor"));
  EXPECT_THAT(why(set(ScaledTensor::P, "e4m3/tensor")), HasSubstr("P of other heads is never known"));
  EXPECT_EQ(why(set(ScaledTensor::V, "e4m3/tensor")), "");
  EXPECT_THAT(why([](Experiment& e) { e.a.scaling.K = parse_scaling("e4m3/tensor"), e.a.scaling.smooth_K = true; }),
              HasSubstr("neither hadamard nor smoothing"));
  EXPECT_THAT(why([](Experiment& e) { e.a.scaling.hadamard = true, e.problem.d = 24; }), HasSubstr("power of 2"));
  EXPECT_THAT(why([](Experiment& e) { e.b.scaling.smooth_K = true, e.problem.sink = 1; }), HasSubstr("b.scaling: smooth_K"));
  EXPECT_THAT(why([](Experiment& e) { e.b.scaling.P = parse_scaling("e4m3/x1"); }), HasSubstr("divides by l at the end"));
  EXPECT_THAT(why([](Experiment& e) {
                e = with_backward(e), e.a.scaling.smooth_K = true;
                const std::vector<double> d_lse(static_cast<std::size_t>(e.problem.n));
                e.backward.d_lse_file = {
                    .file = "dl.npy", .n = e.problem.n, .d = 1, .values = std::make_shared<const std::vector<double>>(d_lse)};
              }),
              HasSubstr("a.scaling.smooth_K is on, and dL's gradient"));
}

}  // namespace
}  // namespace attoscope
