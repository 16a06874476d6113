#include "kernels/stages.h"

#include <algorithm>
#include <memory>
#include <numeric>
#include <stdexcept>
#include <string_view>
#include <thread>

#include "kernels/device.h"
#include "kernels/inputs.h"
#include "kernels/presets.h"
#include "kernels/simulate.h"
#include "kernels/sorting.h"

namespace attoscope {
namespace {

/// Inputs that several stages share.
struct Prepared {
  Experiment experiment = default_experiment();
  Operands<float> narrow;
  Operands<double> wide;
  std::vector<int> rows;
};

std::shared_ptr<const Prepared> prepared(int n) {
  auto p = std::make_shared<Prepared>();
  p->experiment.problem.n = n;
  const auto raw = raw_inputs(p->experiment.problem);
  p->narrow = operands<float>(*raw, to_main, p->experiment.format, 1);
  const auto rounded = as_tensors(p->narrow, n, p->experiment.problem.d);
  p->wide = Operands<double>{rounded->q, rounded->k, rounded->v, {}, {}, {}};
  p->rows.resize(static_cast<std::size_t>(n));
  std::iota(p->rows.begin(), p->rows.end(), 0);
  return p;
}

/// The goals are those of AVX-512; other instruction sets have few.
bool has_goals() { return std::string_view(instruction_set().name) == "avx512"; }

double useful_flops(const Prepared& p) {
  return 4.0 * p.experiment.problem.n * p.experiment.problem.n * p.experiment.problem.d;
}

Stage golden_stage(const std::shared_ptr<const Prepared>& p) {
  return {.name = "golden, double",
          .flops = useful_flops(*p),
          .in_double = true,
          .goal_percent = has_goals() ? 65.0 : 0.0,
          .call = [p] {
            run(job(p->experiment.problem, Method{.algorithm = Algorithm::three_pass}, bf16, p->wide), p->rows, nullptr,
                StopSign{});
          }};
}

Stage method_stage(const std::shared_ptr<const Prepared>& p, std::string name, const Method& m, double goal_percent,
                   double goal_ms) {
  const double counts = has_goals() ? 1 : 0;
  return {.name = std::move(name),
          .flops = useful_flops(*p),
          .goal_percent = counts * goal_percent,
          .goal_ms = counts * goal_ms,
          .call = [p, m] { run(job(p->experiment.problem, m, bf16, p->narrow), p->rows, nullptr, StopSign{}); }};
}

Stage policy_stage(const std::shared_ptr<const Prepared>& p, const char* name, double goal_percent, double goal_ms = 0) {
  const Policy& found = policy(name);
  return method_stage(p, name, Method{.algorithm = found.algorithm, .precision = found.precision}, goal_percent, goal_ms);
}

/// Only the inner products' chains are rounded.
Stage every_fma_stage(const std::shared_ptr<const Prepared>& p) {
  Method m;
  m.precision[Step::input] = m.precision[Step::qk_step] = m.precision[Step::pv_step] = to_main;
  m.precision[Step::P] = to_main;
  m.precision.accumulate_in_O = true;
  return method_stage(p, "bf16, rounded after every fma", m, 28, 0);
}

Stage exponential_stage() {
  auto x = std::make_shared<std::vector<float>>(1 << 16), y = std::make_shared<std::vector<float>>(1 << 16);
  for (std::size_t i = 0; i < x->size(); ++i) (*x)[i] = -20.0f * static_cast<float>(i) / static_cast<float>(x->size());
  return {.name = "exp, one core", .items = static_cast<double>(x->size()), .goal_ns = 0.35, .call = [x, y] {
            instruction_set().exponentials(x->data(), static_cast<std::int64_t>(x->size()), y->data());
          }};
}

Stage sort_stage() {
  auto x = std::make_shared<std::vector<double>>();
  for (const double v : raw_inputs(Problem{})->q) x->push_back(static_cast<float>(v));
  return {.name = "W1's sort of 65536 floats, one core", .goal_ms = 0.5, .call = [x] { sorted_values(*x, true); }};
}

}  // namespace

std::vector<Stage> stages(int n) {
  const auto p = prepared(n);
  return {golden_stage(p),
          policy_stage(p, "hw", 60),
          policy_stage(p, "tile", 60),
          policy_stage(p, "base_eager", 60),
          every_fma_stage(p),
          exponential_stage(),
          sort_stage(),
          policy_stage(p, "eager", 0),
          policy_stage(p, "all_direct", 0, n == 1024 ? 3 : 0)};
}

Stage full_update(int n) {
  auto e = std::make_shared<Experiment>(default_experiment());
  e->problem.n = n;
  const bool avx2 = std::string_view(instruction_set().name) == "avx2";
  const double goal = n == 1024 ? (has_goals() ? 5.5 : (avx2 ? 10 : 0)) : (n == 2048 && has_goals() ? 20 : 0);
  return {.name = "full update, N = " + std::to_string(n), .goal_ms = goal, .call = [e] {
            ++e->problem.seed;
            compute(*e);
          }};
}

Stage growth(int n, int d, int rows) {
  auto e = std::make_shared<Experiment>(default_experiment());
  e->problem.n = n;
  e->problem.d = d;
  e->problem.rows = rows;
  return {.name = "N = " + std::to_string(n) + (rows == 0 ? ", all rows" : ", " + std::to_string(rows) + " rows"),
          .call = [e] { compute(*e); }};
}

double fma_peak(bool in_double, int threads) {
  const InstructionSet isa = instruction_set();
  std::vector<double> best(static_cast<std::size_t>(threads), 0.0);
  {
    std::vector<std::jthread> workers;
    for (double& mine : best)
      workers.emplace_back([&isa, &mine, in_double] {
        for (int window = 0; window < 40; ++window)
          mine = std::max(mine, in_double ? isa.double_fma_rate(0.001) : isa.float_fma_rate(0.001));
      });
  }
  return std::accumulate(best.begin(), best.end(), 0.0);
}

#ifndef ATTOSCOPE_CUDA
double device_fma_peak(bool, int) { throw std::runtime_error(why_no_cuda()); }
double device_copy_ms(std::size_t, bool, int) { throw std::runtime_error(why_no_cuda()); }
#endif

}  // namespace attoscope
