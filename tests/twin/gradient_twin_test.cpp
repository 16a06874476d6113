// The backward pass by the GPU's code, run by the host in teams of warps that synchronise as on a GPU, has the CPU's bits.
#include "kernels/experiment/grad_kernels.h"
#include "kernels/experiment/presets.h"
#include "tests/backward/backward_dice.h"
#include "tests/support/seeds.h"
#include "tests/twin/host_gradients.h"

namespace attoscope {
namespace {

using namespace testing;  // attoscope::testing

HostGradientOptions random_device(Dice& dice) {
  return {.seed = dice.bits(),
          .warps = warps_of_teams[dice.between(0, 3)],
          .slice_teams = dice.between(1, 3),
          .tile_room = dice.one_in(2) ? 0 : static_cast<std::size_t>(dice.between(0, 100000)),
          .panel_bytes = static_cast<std::size_t>(dice.between(1, 200000))};
}

class GradientTwin : public TeamTest {
 protected:
  /// Expects that the device has the CPU's gradients of the method, and of golden.
  static void expect_the_cpus_bits(const Experiment& e, const Method& m, const GradMethod& g, const OutputGradients& d,
                                   const HostGradientOptions& how) {
    SCOPED_TRACE(describe(e) + describe(g, e.format));
    in_working_type(e, [&](auto t) {
      using T = decltype(t);
      const Operands<T> x = operands<T>(*raw_inputs(e.problem), e.a.precision[Step::input], e.format, e.problem.seed);
      HostGradients device(how);
      EXPECT_TRUE(same_gradients(gradients<T>(e.problem, m, g, e.format, x, d, {}, {}, &device),
                                 gradients<T>(e.problem, m, g, e.format, x, d)));
      const auto inputs = as_tensors(x, shape_of(e.problem));
      EXPECT_TRUE(same_gradients(golden_gradients(e.problem, *inputs, d, false, {}, &device),
                                 golden_gradients(e.problem, *inputs, d, false)));
    });
  }
};

TEST_F(GradientTwin, HasTheCpusBitsInRandomExperiments) {
  with_seeds(60001, experiments(200), [](Dice& dice) {
    Experiment e = random_backward_experiment(dice);
    if (dice.one_in(3)) make_stochastic(e.a, dice, 2);
    GradMethod g = random_gradient(dice, e, e.a);
    if (dice.one_in(3)) add_grad_accumulators(g, dice, e, e.a);
    for (Rounding& r : g.precision.steps) r.stochastic = r.kind != Rounding::Kind::exact && dice.one_in(4);
    expect_the_cpus_bits(e, e.a, g, random_incoming(dice, e, dice.one_in(3)), random_device(dice));
  });
}

TEST_F(GradientTwin, WhereTheWorkIsCutChangesNothing) {
  static constexpr int sizes[] = {65, 130, 200};
  static constexpr Mask masks[] = {{}, {Mask::Kind::causal, 1}, {Mask::Kind::window, 50}, {Mask::Kind::padding, 70}};
  Dice dice(9);
  int launches = 0;
  for (int i = 0; i < experiments(24); ++i) {
    Experiment e = small_experiment(i % 5 == 0 ? fp64 : bf16, sizes[i % 3], dice.between(1, 20));
    e.problem.mask = masks[i % 4];
    HostGradientOptions how = random_device(dice);
    how.parts = 1 << dice.between(0, 6);
    how.launches = &launches;
    expect_the_cpus_bits(e, e.a, random_gradient(dice, e, e.a), random_incoming(dice, e, false), how);
    if (HasFailure()) return;
  }
  EXPECT_GT(launches, experiments(24) * 20);
}

TEST_F(GradientTwin, HasTheCpusBitsOfEveryNamedKernel) {
  Dice dice(3);
  for (const GradKernel& kernel : grad_kernels()) {
    SCOPED_TRACE(kernel.name);
    Experiment e{.problem = {.seed = dice.bits(), .n = 140, .d = 8}, .format = bf16};
    e.problem.mask.kind = Mask::Kind::causal;
    e.a = {.algorithm = Algorithm::flash2, .precision = policy("hw").precision};
    const GradMethod g = grad_method(kernel.name, e.problem.d, e.problem.mask);
    expect_the_cpus_bits(e, e.a, g, random_incoming(dice, e, false), random_device(dice));
    if (HasFailure()) return;
  }
}

TEST_F(GradientTwin, ALostDeviceIsReported) {
  const Experiment e = small_experiment(bf16, 130, 24);
  Dice dice(4);
  const OutputGradients d = random_incoming(dice, e, false);
  const Operands<float> x = operands<float>(*raw_inputs(e.problem), e.a.precision[Step::input], e.format, e.problem.seed);
  for (const int launch : {0, 1, 2}) {
    HostGradients device({.fails_at = launch});
    EXPECT_THROW(gradients<float>(e.problem, e.a, {}, e.format, x, d, {}, {}, &device), DeviceFailure) << launch;
  }
}

}  // namespace
}  // namespace attoscope
