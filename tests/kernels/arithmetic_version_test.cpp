// Hash of the results for `arithmetic_version`: a set of experiments that uses every rule of the arithmetic at least once.
#include "kernels/experiment/arithmetic_version.h"

#include <algorithm>
#include <bit>
#include <iterator>
#include <set>

#include "kernels/compute.h"
#include "kernels/experiment/presets.h"
#include "kernels/experiment/result.h"
#include "tests/support/matchers.h"
#include "tests/support/support.h"

namespace attoscope {
namespace {

/// A version and the hash of its numbers.
struct Numbers {
  int version;
  std::uint64_t hash;
};
constexpr Numbers expected{3, 0xba4f5739cd0b2b5d};

std::uint64_t joined(std::uint64_t hash, std::uint64_t bits) { return (std::rotl(hash, 5) ^ bits) * 0x9e3779b97f4a7c15u; }
std::uint64_t joined(std::uint64_t hash, double x) {
  return joined(hash, std::isnan(x) ? std::uint64_t{0x7ff8} << 48 : std::bit_cast<std::uint64_t>(x));
}

/// Joins `hash` with the numbers of a deviation that a point stores.
std::uint64_t joined(std::uint64_t hash, const Deviation& d) {
  for (const double x : {d.max_abs, d.mean_abs, d.rms, d.std, d.bias, d.rel_rms, d.cosine, d.wasserstein, d.max_ulp,
                         static_cast<double>(d.nonfinite)})
    hash = joined(hash, x);
  return hash;
}

/// Hash of all numbers that a point stores.
std::uint64_t hash_of(const Result& r) {
  std::uint64_t hash = 1;
  for (const std::uint64_t digest : {r.digests.golden, r.digests.a, r.digests.b}) hash = joined(hash, digest);
  for (const Deviation* const d : {&r.a_error, &r.b_error, &r.a_minus_b}) hash = joined(hash, *d);
  for (const double x : {r.golden_rms, r.rescales.effective_mean, r.rescales.expected, r.rescales.nominal, r.traffic.algorithm0,
                         r.traffic.flash1, r.traffic.flash2})
    hash = joined(hash, x);
  return hash;
}

constexpr Format formats[] = {bf16, fp16, tf32, e4m3, e5m2, fp32, {4, 3, Overflow::saturate, true}, {8, 30}};

/// Small experiment number i: format, shape, seed, mask, tile and input cycle with i.
Experiment numbered(int i) {
  static constexpr Mask masks[] = {{}, {Mask::Kind::causal, 1}, {Mask::Kind::window, 20}, {Mask::Kind::padding, 9}};
  Experiment e =
      testing::small_experiment(formats[static_cast<std::size_t>(i) % std::size(formats)], 40 + 7 * i % 60, 5 + i % 13);
  e.problem.seed = static_cast<std::uint64_t>(i + 1);
  e.problem.mask = masks[i % 4];
  e.problem.input.kind = static_cast<InputKind>(i % static_cast<int>(InputKind::biased));
  e.problem.input.value = 1.1;
  e.a.block_k = e.b.block_k = 3 + 5 * i % 37;
  return e;
}

/// Changes of a method, one rule each.
std::vector<Method> methods() {
  std::vector<Method> list;
  const auto add = [&](Algorithm algorithm, auto change) {
    Method m{.algorithm = algorithm, .block_k = 11, .precision = policy("hw").precision};
    change(m);
    list.push_back(m);
  };
  for (const double tau : {0.0, 0.5, 8.0}) add(Algorithm::flash4, [&](Method& m) { m.tau = tau; });
  for (const int splits : {1, 3}) add(Algorithm::split_kv, [&](Method& m) { m.splits = splits; });
  add(Algorithm::flash2, [](Method& m) { m.tie_beta = 2; });
  for (int degree = 0; degree <= max_exp2_degree; ++degree)
    add(Algorithm::flash2, [&](Method& m) { m.exponential = ExponentialKind::exp2, m.exp2_degree = degree; });
  add(Algorithm::three_pass, [](Method& m) { m.exp2_degree = 3; });
  for (const int p : {8, -4}) add(Algorithm::flash2, [&](Method& m) { m.p_exponent = p; });
  for (const auto algorithm : {Algorithm::three_pass, Algorithm::flash1, Algorithm::flash2})
    add(algorithm, [](Method& m) { m.kahan_l = true; });
  for (const SumOrder order : {SumOrder::pairwise, SumOrder::interleaved})
    for (const auto algorithm : {Algorithm::three_pass, Algorithm::flash2})
      add(algorithm, [&](Method& m) { m.order = order, m.sum_lanes = 3; });
  add(Algorithm::flash1, [](Method& m) { m.reverse_keys = true; });
  add(Algorithm::flash2, [](Method& m) { m.precision.sum_rounded_P = true; });
  add(Algorithm::flash2, [](Method& m) { m.precision.accumulate_in_O = true; });
  add(Algorithm::flash2, [](Method& m) { m.scaling.smooth_Q = 7, m.scaling.smoothed = to_format(bf16); });
  add(Algorithm::flash2, [](Method& m) {
    for (Rounding& r : m.precision.steps) r = {Rounding::Kind::main, {}, true};
  });
  for (int s = 0; s < step_count; ++s)
    add(Algorithm::flash2, [&](Method& m) { m.precision.steps[std::size_t(s)] = to_format(fp16); });
  return list;
}

/// Changes of a problem, one rule each.
std::vector<Problem> problems() {
  std::vector<Problem> list;
  const auto add = [&](auto change) {
    Problem p = numbered(8).problem;
    change(p);
    list.push_back(p);
  };
  add([](Problem& p) { p.scale = 0.7; });
  add([](Problem& p) { p.sink = 0.5; });
  add([](Problem& p) { p.softcap = 3; });
  add([](Problem& p) { p.alibi = 0.125; });
  add([](Problem& p) { p.rows = 9; });
  add([](Problem& p) {
    p.input = testing::given({2, 2, 2, 2, {1, -3, NAN, 0}, {0.1, 2, 3, 1e30}, {5, INFINITY, 1, -7}}), p.n = p.d = 2;
  });
  return list;
}

/// Every algorithm with every policy and all its own rules, in float and in double.
std::vector<Experiment> fixed_experiments() {
  std::vector<Experiment> list;
  for (const Policy& p : policies())
    for (const Algorithm algorithm : emulated_algorithms) {
      Experiment e = numbered(static_cast<int>(list.size()));
      e.a.algorithm = algorithm;
      e.a.precision = p.precision;
      e.b.precision[Step::input] = list.size() % 3 == 0 ? to_format(e5m2) : exact;
      list.push_back(e);
    }
  for (const Method& m : methods()) {
    Experiment e = numbered(static_cast<int>(list.size()));
    e.a = m;
    list.push_back(e);
  }
  for (const Problem& p : problems()) {
    Experiment e = numbered(static_cast<int>(list.size()));
    e.problem = p;
    list.push_back(e);
  }
  for (std::size_t i = 0; i < list.size(); i += 9) list[i].format = fp64;
  for (const auto& [format, accumulator] : {std::pair{bf16, Accumulator::f64},
                                            {bf16, Accumulator::a100},
                                            {fp16, Accumulator::h100_f16},
                                            {e4m3, Accumulator::h100},
                                            {e4m3, Accumulator::h100_f16},
                                            {e4m3, Accumulator::b200}})
    for (const int flush : {0, 1, 2}) {
      Experiment e = numbered(static_cast<int>(list.size()));
      e.format = format;
      e.a = Method{.block_k = 11, .precision = policy("hw").precision};
      e.a.accumulator = {accumulator, accumulator};
      e.a.flush = flush;
      list.push_back(e);
    }
  return list;
}

TEST(ArithmeticVersion, IsRaisedWithItsNumbers) {
  std::uint64_t hash = 0;
  for (const Experiment& e : fixed_experiments()) hash = joined(hash, hash_of(compute(e)));
  EXPECT_EQ(arithmetic_version, expected.version) << "`expected` holds the numbers of another version";
  const int next = expected.version + 1;
  EXPECT_EQ(hash, expected.hash)
      << "these numbers changed: raise arithmetic_version (kernels/experiment/arithmetic_version.h) to " << next
      << " and set `expected` to {" << next << ", 0x" << std::hex << hash
      << "}; if no rule was meant to change, this is an error";
}

TEST(ArithmeticVersion, EveryRuleHasAnExperimentOfItsOwn) {
  std::set<std::uint64_t> hashes;
  const std::vector<Experiment> all = fixed_experiments();
  for (const Experiment& e : all) {
    ASSERT_NO_THROW(validate(e)) << testing::describe(e);
    hashes.insert(hash_of(compute(e)));
  }
  EXPECT_EQ(hashes.size(), all.size());
  EXPECT_GE(std::ranges::count_if(all, works_in_double), 10);
}

}  // namespace
}  // namespace attoscope
