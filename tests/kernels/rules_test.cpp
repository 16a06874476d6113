// Consequences of changing one thing of an experiment.
#include "kernels/experiment/rules.h"

#include <gtest/gtest.h>

#include <cmath>
#include <memory>

#include "kernels/experiment/experiment.h"

namespace attoscope {
namespace {

Method method(Algorithm algorithm, std::string_view name) {
  return {.algorithm = algorithm, .precision = policy(name).precision};
}

std::string_view name_of(const Method& m) { return policy_name(m.precision, m.algorithm); }

TEST(Rules, TauFollowsTheFormatWhileItIsTheUsualOne) {
  Experiment e = default_experiment();
  e.b.tau = 3;
  const Experiment small = with_format(e, e4m3);
  EXPECT_EQ(small.format, e4m3);
  EXPECT_EQ(small.a.tau, 0);
  EXPECT_EQ(small.b.tau, 3);
  EXPECT_EQ(with_format(small, bf16), e);
  EXPECT_EQ(with_format(e, fp16).a.tau, 8);
}

TEST(Rules, APolicyBecomesItsCounterpartWithTheOtherFamily) {
  for (const auto& [flash, base] :
       {std::pair{"hw", "base_hw"}, std::pair{"eager", "base_eager"}, std::pair{"all_tile", "base_all"}}) {
    const Method in_passes = with_algorithm(method(Algorithm::flash2, flash), Algorithm::three_pass);
    EXPECT_EQ(in_passes, method(Algorithm::three_pass, base));
    EXPECT_EQ(with_algorithm(in_passes, Algorithm::flash2), method(Algorithm::flash2, flash));
  }
  EXPECT_EQ(name_of(with_algorithm(method(Algorithm::flash2, "tile"), Algorithm::three_pass)), "base_eager");
  EXPECT_EQ(name_of(with_algorithm(method(Algorithm::flash2, "all_direct"), Algorithm::three_pass)), "base_all");
  EXPECT_EQ(name_of(with_algorithm(method(Algorithm::three_pass, "base_floor"), Algorithm::flash4)), "hw");
  for (const Policy& p : policies()) {
    EXPECT_EQ(p.counterpart.empty(), p.name == "exact") << p.name;
    EXPECT_EQ(name_of(with_algorithm(method(p.algorithm, p.name), p.algorithm)), p.name);
  }
}

TEST(Rules, RoundingsOfOnesOwnStay) {
  Method own = method(Algorithm::flash2, "hw");
  own.precision[Step::m] = to_format(fp16);
  Method expected = own;
  expected.algorithm = Algorithm::three_pass;
  EXPECT_EQ(with_algorithm(own, Algorithm::three_pass), expected);
  const Method crossed = method(Algorithm::flash2, "base_hw");  // a policy of the other family
  EXPECT_EQ(with_algorithm(crossed, Algorithm::flash4).precision, crossed.precision);
}

TEST(Rules, OtherKernelsKeepTheRoundingsForTheNextAlgorithm) {
  const Method rival = method(Algorithm::three_pass, "base_eager");
  const Method loaded = with_algorithm(rival, Algorithm::loaded);
  EXPECT_EQ(loaded.precision, rival.precision);
  EXPECT_EQ(with_algorithm(loaded, Algorithm::three_pass), rival);
  EXPECT_EQ(with_algorithm(loaded, Algorithm::flash1), method(Algorithm::flash1, "eager"));
}

TEST(Rules, APolicyBringsItsAlgorithmWhereItWouldNotFit) {
  EXPECT_EQ(with_policy(method(Algorithm::flash4, "hw"), policy("tile")), method(Algorithm::flash4, "tile"));
  EXPECT_EQ(with_policy(method(Algorithm::flash4, "hw"), policy("base_ops")), method(Algorithm::three_pass, "base_ops"));
  EXPECT_EQ(with_baseline(default_experiment(), policy("hw")).b, method(Algorithm::flash2, "hw"));
  EXPECT_EQ(usual_policy(Algorithm::three_pass).name, "base_eager");
  EXPECT_EQ(usual_policy(Algorithm::split_kv).name, "hw");
}

TEST(Rules, ATileIsThatOfBothMethods) {
  Experiment e = default_experiment();
  e.b.block_q = 7;
  const Experiment wide = with_block_k(e, 256);
  EXPECT_EQ(tiles_of(wide.a), (TileSizes{64, 256}));
  EXPECT_EQ(tiles_of(wide.b), (TileSizes{7, 256})) << "b keeps its block_q until block_q is set";
  const Experiment swapped = with_swapped_tiles(wide);
  EXPECT_EQ(tiles_of(swapped.a), (TileSizes{256, 64}));
  EXPECT_EQ(tiles_of(swapped.b), tiles_of(swapped.a));
  EXPECT_FALSE(has_square_tiles(swapped.a));
  EXPECT_TRUE(has_square_tiles(with_block_q(swapped, 64).a));
}

TEST(Rules, TilesAreCounted) {
  for (int n = 1; n < 40; ++n)
    for (int block = 1; block < 45; ++block) {
      int count = 0;
      for (int first = 0; first < n; first += block) ++count;
      EXPECT_EQ(tile_count(n, block), count);
      EXPECT_EQ(key_tiles({.block_k = block}, n), count);
      EXPECT_EQ(key_tiles({.algorithm = Algorithm::three_pass, .block_k = block}, n), 1);
      int runs = 0;
      const Method split{.algorithm = Algorithm::split_kv, .block_k = block, .splits = 3};
      for (int first = 0; first < count; first += tiles_of_a_run(split, n)) ++runs;
      EXPECT_LE(runs, 3);
      EXPECT_EQ(tiles_of_a_run({.block_k = block, .splits = 3}, n), count);
    }
  EXPECT_EQ(tile_count(max_n, max_tile), 1);
  EXPECT_EQ(tile_count(0, 64), 0);
}

TEST(Rules, AnOutputSaysInWhichFormatItWasMade) {
  const auto stored = [](const char* type, std::vector<double> values) {
    KernelOutput o;
    o.type = type;
    o.values = std::make_shared<const std::vector<double>>(std::move(values));
    return o;
  };
  const double narrow = 1 + std::ldexp(1, -7), half = 1 + std::ldexp(1, -10), single = 1 + std::ldexp(1, -23);
  EXPECT_EQ(format_of_output(stored("F16", {1}), bf16), fp16);
  EXPECT_EQ(format_of_output(stored("BF16", {1}), fp32), bf16);
  EXPECT_EQ(format_of_output(stored("F32", {single}), bf16), fp32);
  EXPECT_EQ(format_of_output(stored("F32", {1, narrow}), fp32), fp32) << "all fit D";
  EXPECT_EQ(format_of_output(stored("F32", {1, narrow, INFINITY}), fp16), fp16) << "all fit D";
  EXPECT_EQ(format_of_output(stored("F32", {half}), bf16), fp16) << "widened";
  EXPECT_EQ(format_of_output(stored("F32", {1e30 * 0, 0x1p100}), fp16), bf16) << "widened";
  EXPECT_EQ(format_of_output(stored("F64", {0.1}), bf16), bf16) << "F64 names no D";
  EXPECT_EQ(format_of_output(stored("F16", {1}), e4m3), e4m3) << "eight bits";
}

TEST(Rules, AnotherHeadOrFileIsYetToBeRead) {
  Problem p;
  p.input = {.kind = InputKind::tensors,
             .file = "x.safetensors",
             .index = 1,
             .digest = 5,
             .tensors = std::make_shared<const Tensors>()};
  EXPECT_EQ(with_head(p, 1), p);
  EXPECT_EQ(with_head(p, 2).input.tensors, nullptr);
  EXPECT_EQ(with_head(p, 2).input.digest, 0U);
  const Input again{.kind = InputKind::tensors, .file = "x.safetensors", .index = 1};
  EXPECT_EQ(with_input(p, again).input.tensors, p.input.tensors);
  EXPECT_EQ(with_input(p, again), p);
  EXPECT_EQ(with_input(p, {.kind = InputKind::tensors, .file = "y.safetensors", .index = 1}).input.tensors, nullptr);
  EXPECT_EQ(fitted(p, AttentionShape::square(100, 32)).n, 100);
  EXPECT_EQ(fitted(p, AttentionShape::square(5000, 32)).n, 1024);
  EXPECT_EQ(fitted(p, AttentionShape::square(5000, 32)).d, 32);
}

TEST(Rules, TheSeedMattersWhereAnythingIsDrawn) {
  Experiment e = default_experiment();
  EXPECT_TRUE(depends_on_seed(e)) << "the inputs are drawn";
  e.problem.input.kind = InputKind::tensors;
  EXPECT_FALSE(depends_on_seed(e));
  Experiment rounded = e;
  rounded.b.precision[Step::P] = {.kind = Rounding::Kind::main, .stochastic = true};
  EXPECT_TRUE(depends_on_seed(rounded));
  Experiment rotated = e;
  rotated.a.scaling.hadamard = true;
  EXPECT_TRUE(depends_on_seed(rotated)) << "its signs are random";
  Experiment merged = e;
  merged.a.partial = {.kind = Rounding::Kind::main, .stochastic = true};
  EXPECT_FALSE(depends_on_seed(merged)) << "there are no partial outputs";
  merged.a.algorithm = Algorithm::split_kv;
  EXPECT_TRUE(depends_on_seed(merged));
  e.backward.on = true;
  EXPECT_TRUE(depends_on_seed(e)) << "dO is drawn";
  e.backward.d_o = OutputGradient::ones;
  EXPECT_FALSE(depends_on_seed(e));
}

TEST(Rules, AnOutputStandsInOnePlace) {
  const Experiment e = default_experiment();
  EXPECT_EQ(loaded_place(e), LoadedPlace::nowhere);
  const Experiment b = with_loaded(e, LoadedPlace::b);
  EXPECT_EQ(loaded_place(b), LoadedPlace::b);
  EXPECT_EQ(loaded_place(with_loaded(b, LoadedPlace::a)), LoadedPlace::a);
  EXPECT_EQ(with_loaded(b, LoadedPlace::nowhere), e);
}

}  // namespace
}  // namespace attoscope
