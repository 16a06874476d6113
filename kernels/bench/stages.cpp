#include "kernels/bench/stages.h"

#include <algorithm>
#include <cstring>
#include <memory>
#include <numeric>
#include <stdexcept>
#include <thread>

#include "kernels/backward/backward.h"
#include "kernels/cpu/inputs.h"
#include "kernels/cpu/simulate.h"
#include "kernels/deviation/deviation.h"
#include "kernels/deviation/meter.h"
#include "kernels/deviation/sorting.h"
#include "kernels/experiment/kernel_presets.h"
#include "kernels/experiment/presets.h"
#include "kernels/experiment/rules.h"
#include "kernels/gpu/device.h"
#include "kernels/recurrence/recorder.h"

namespace attoscope {
namespace {

/// Inputs shared by several stages.
struct Prepared {
  Experiment experiment = default_experiment();
  Operands<float> narrow;
  std::shared_ptr<const Tensors> inputs;  ///< `narrow` in double
  std::vector<int> rows;
};

std::shared_ptr<const Prepared> prepared(int n, const Format& format = bf16) {
  auto p = std::make_shared<Prepared>();
  p->experiment.problem.n = n;
  p->experiment.format = format;
  const auto raw = raw_inputs(p->experiment.problem);
  p->narrow = operands<float>(*raw, to_main, p->experiment.format, 1);
  p->inputs = as_tensors(p->narrow, shape_of(p->experiment.problem));
  p->rows = computed_rows(p->experiment.problem);
  return p;
}

/// The default experiment with n tokens, for stages that modify it.
std::shared_ptr<Experiment> experiment_of(int n) {
  auto e = std::make_shared<Experiment>(default_experiment());
  e->problem.n = n;
  return e;
}

/// Operations of one method in all computed rows.
double dense_flops(const Problem& p) { return 4.0 * (p.rows == 0 ? p.n : std::min(p.rows, p.n)) * p.n * p.d; }

Stage golden_stage(const std::shared_ptr<const Prepared>& p) {
  return {.name = "golden, double", .double_flops = dense_flops(p->experiment.problem), .call = [p] {
            run(golden_job(p->experiment.problem, *p->inputs), p->rows, nullptr, StopSign{});
          }};
}

Stage method_stage(const std::shared_ptr<const Prepared>& p, std::string name, const Method& m) {
  return {.name = std::move(name), .float_flops = dense_flops(p->experiment.problem), .call = [p, m] {
            run(job(p->experiment.problem, m, p->experiment.format, p->narrow), p->rows, nullptr, StopSign{});
          }};
}

/// `hw` with sums of an H100. The limit counts two multiplications per product (by the other factor and by the scale), which
/// only the FMA units do; integers and conversions have their own units on some machines.
Stage tensor_core_stage(const std::shared_ptr<const Prepared>& p) {
  Method m = policy("hw").method();
  m.accumulator = {Accumulator::h100, Accumulator::h100};
  Stage stage = method_stage(p, "hw, sums of h100, " + attoscope::name(p->experiment.format), m);
  stage.vector_work = stage.float_flops;
  return stage;
}

Stage policy_stage(const std::shared_ptr<const Prepared>& p, const char* name) {
  return method_stage(p, name, policy(name).method());
}

/// A stage that rounds after every fma of the inner products.
Stage every_fma_stage(const std::shared_ptr<const Prepared>& p) {
  Method m;
  m.precision[Step::input] = m.precision[Step::qk_step] = m.precision[Step::pv_step] = to_main;
  m.precision[Step::P] = to_main;
  m.precision.accumulate_in_O = true;
  return method_stage(p, "bf16, rounded after every fma", m);
}

Stage exponential_stage() {
  auto x = std::make_shared<std::vector<float>>(1 << 16), y = std::make_shared<std::vector<float>>(1 << 16);
  for (std::size_t i = 0; i < x->size(); ++i) (*x)[i] = -20.0f * static_cast<float>(i) / static_cast<float>(x->size());
  constexpr double operations = 12;  // per exp; each operation occupies a slot of an fma
  const double count = static_cast<double>(x->size());
  return {.name = "exp, one core", .float_flops = 2 * operations * count, .items = count, .one_core = true, .call = [x, y] {
            instruction_set().exponentials(x->data(), static_cast<std::int64_t>(x->size()), y->data());
          }};
}

// --- parts of an update other than the methods --------------------------------------------------------------------------

/// 65536 numbers, the size of an output of N = 1024: like a golden value, or rounded to bf16.
std::shared_ptr<const std::vector<double>> output_values(bool rounded) {
  auto x = std::make_shared<std::vector<double>>(raw_inputs(Problem{})->q);
  if (rounded)
    for (double& v : *x) v = round(bf16, v);
  return x;
}

double bytes_of(const std::vector<double>& x) { return sizeof(double) * static_cast<double>(x.size()); }

/// The limit counts the operations of two normal numbers in double: Philox, a logarithm, a square root, sine and cosine.
Stage drawing_stage() {
  auto problem = std::make_shared<Problem>();
  const double count = 3.0 * problem->n * problem->d;
  constexpr double operations = 140 / 2.0;  // per number; each operation occupies a slot of an fma
  return {.name = "inputs drawn", .double_flops = 2 * operations * count, .items = count, .call = [problem] {
            ++problem->seed;
            raw_inputs(*problem);
          }};
}

/// Rounds doubles to floats, finds their range, and widens them for the golden value.
Stage rounding_stage() {
  const std::shared_ptr<const Tensors> raw = raw_inputs(Problem{});
  const double count = 3.0 * static_cast<double>(raw->q.size());
  return {.name = "inputs rounded", .bytes = 24 * count, .items = count, .call = [raw] {
            as_tensors(operands<float>(*raw, to_main, bf16, 1), raw->shape());
          }};
}

Stage moments_stage() {
  return {.name = "moments and digest of 65536, one core",
          .bytes = bytes_of(*output_values(false)),
          .one_core = true,
          .call = [x = output_values(false)] {
            for (std::size_t i = 0; i < x->size(); i += chunk_size)
              instruction_set().moments(x->data() + i, i, static_cast<int>(chunk_size));
          }};
}

/// Runs both passes of a deviation; the second takes the mean as known.
Stage deviation_stage() {
  return {.name = "errors, ulps, histogram of 65536, one core",
          .bytes = 4 * bytes_of(*output_values(false)),
          .one_core = true,
          .call = [x = output_values(true), y = output_values(false)] {
            for (const bool centred_alone : {false, true})
              for (std::size_t i = 0; i < x->size(); i += chunk_size)
                instruction_set().deviation(
                    x->data() + i, y->data() + i, static_cast<int>(chunk_size),
                    {.format = bf16, .floor = 0.01, .centred_alone = centred_alone, .all_finite = true});
          }};
}

Stage sort_stage(bool rounded) {
  return {.name = std::string("W1's sort of 65536 ") + (rounded ? "of bf16" : "doubles") + ", one core",
          .bytes = 2 * bytes_of(*output_values(rounded)),
          .one_core = true,
          .call = [x = output_values(rounded)] { sorted_values(*x); }};
}

Stage distance_stage() {
  Matrix x{1024, 64, *output_values(true)}, y{1024, 64, *output_values(false)};
  auto both = std::make_shared<std::pair<Matrix, Matrix>>(std::move(x), std::move(y));
  auto sorted = std::make_shared<std::pair<Measured, Measured>>(measured(both->first), measured(both->second));
  return {.name = "W1 of 65536 sorted", .bytes = 2 * bytes_of(both->first.values), .call = [both, sorted] {
            wasserstein(sorted->first, sorted->second);
          }};
}

/// `hw` with a recorder; `alone`: one row only, which is the cost of changing the traced row.
Stage recorded_stage(const std::shared_ptr<const Prepared>& p, bool alone) {
  const std::vector<int> rows = alone ? std::vector<int>{p->rows[0]} : p->rows;
  const double flops =
      dense_flops(p->experiment.problem) * static_cast<double>(rows.size()) / static_cast<double>(p->rows.size());
  return {.name = alone ? "one row of hw, traced" : "hw, recorded and a row traced", .float_flops = flops, .call = [p, rows] {
            const Experiment& e = p->experiment;
            const Job<float> a = job(e.problem, e.a, e.format, p->narrow);
            const Job<double> golden = golden_job(e.problem, *p->inputs);
            RunRecorder<float> recorder(a, golden, rows, rows[0], false);
            run(a, rows, &recorder, StopSign{});
          }};
}

/// Work after a recorded run.
Stage rescales_stage(const std::shared_ptr<const Prepared>& p) {
  struct Recorded {
    Job<float> a;
    Job<double> golden;
    RunRecorder<float> recorder;
    explicit Recorded(const Prepared& p)
        : a(job(p.experiment.problem, p.experiment.a, p.experiment.format, p.narrow)),
          golden(golden_job(p.experiment.problem, *p.inputs)),
          recorder(a, golden, p.rows, 0, false) {
      run(a, p.rows, &recorder, StopSign{});
    }
  };
  const auto recorded = std::make_shared<Recorded>(*p);
  return {.name = "rescales, quantiles of the running max", .call = [p, recorded] { recorded->recorder.rescales(); }};
}

/// Copies a or b for the next change.
Stage keeping_stage() {
  const auto x = output_values(true);
  return {.name = "an output kept, one core", .bytes = 2 * bytes_of(*x), .one_core = true, .call = [x] {
            const std::vector<double> copy = *x;
          }};
}

/// Floating-point operations per second of `threads` threads that run only fma, the best of many short windows.
double fma_peak(bool in_double, int threads) {
  const InstructionSet isa = instruction_set();
  std::vector<double> best(static_cast<std::size_t>(threads), 0.0);
  {
    std::vector<std::jthread> workers;
    for (double& mine : best)
      workers.emplace_back([&isa, &mine, in_double] {
        for (int window = 0; window < 40; ++window)
          mine = std::max(mine, in_double ? isa.in_double.fma_rate(0.001) : isa.in_float.fma_rate(0.001));
      });
  }
  return std::accumulate(best.begin(), best.end(), 0.0);
}

/// Bytes per second that one thread reads and writes, the best of many copies of an output of N = 1024, which fits into caches.
double copy_rate() {
  const std::vector<char> from(512 << 10, 1);
  std::vector<char> to(from.size());
  double best = 0;
  for (int i = 0; i < 1000; ++i) {
    const double ms = ms_of([&] { std::memcpy(to.data(), from.data(), from.size()); });
    best = std::max(best, 2e3 * static_cast<double>(from.size()) / ms);
  }
  return best;
}

void draw_again(Experiment& e) { ++e.problem.seed; }

/// Computes e after a change; `remembers`: reuses the parts that the change does not affect.
std::function<void()> updating(const std::shared_ptr<Experiment>& e, std::function<void(Experiment&)> change, bool remembers) {
  return [e, change = std::move(change), cache = remembers ? std::make_shared<ComputeCache>() : nullptr] {
    change(*e);
    compute(*e, {.cache = cache.get()});
  };
}

void change_format(Experiment& e) { e.format = e.format == bf16 ? fp16 : bf16; }
void change_block_k(Experiment& e) { e.a.block_k = e.a.block_k == 64 ? 128 : 64; }
void change_b(Experiment& e) { e.b.precision[Step::S] = e.b.precision[Step::S] == exact ? to_main : exact; }
void change_row(Experiment& e) { e.problem.traced_row = (traced_row(e.problem) + 1) % e.problem.n; }
void change_block_q(Experiment& e) { e = with_block_q(e, e.a.block_q == 64 ? 128 : 64); }

/// An update with golden in double, a and b in float.
Stage update_stage(std::string name, const std::shared_ptr<Experiment>& e, bool remembers) {
  const double flops = dense_flops(e->problem);
  return {.name = std::move(name), .float_flops = 2 * flops, .double_flops = flops, .call = updating(e, draw_again, remembers)};
}

}  // namespace

MachineLimits cpu_limits(int threads) {
  return {.float_fma = fma_peak(false, threads),
          .double_fma = fma_peak(true, threads),
          .core_fma = fma_peak(false, 1),
          .core_copy = copy_rate()};
}

double limit_ms(const Stage& s, const MachineLimits& limits) {
  const auto ms = [](double amount, double rate) { return amount > 0 ? 1e3 * amount / rate : 0; };
  const double work = s.vector_work > 0 ? 2 * s.vector_work : s.float_flops;  // an fma counts as two
  return ms(work, s.one_core ? limits.core_fma : limits.float_fma) + ms(s.double_flops, limits.double_fma) +
         ms(s.bytes, limits.core_copy);
}

std::vector<Stage> stages(int n) {
  const auto p = prepared(n);
  return {golden_stage(p),
          policy_stage(p, "hw"),
          recorded_stage(p, false),
          recorded_stage(p, true),
          rescales_stage(p),
          policy_stage(p, "tile"),
          policy_stage(p, "base_eager"),
          every_fma_stage(p),
          exponential_stage(),
          sort_stage(true),
          policy_stage(p, "eager"),
          policy_stage(p, "all_direct"),
          tensor_core_stage(p),
          tensor_core_stage(prepared(n, e4m3)),
          drawing_stage(),
          rounding_stage(),
          moments_stage(),
          deviation_stage(),
          sort_stage(false),
          distance_stage(),
          keeping_stage()};
}

Stage full_update(int n) { return update_stage("full update, N = " + std::to_string(n), experiment_of(n), true); }

std::vector<Stage> gradient_stages(int n) {
  const auto p = prepared(n);
  const Experiment e = with_backward(p->experiment);
  const auto d = std::make_shared<const OutputGradients>(output_gradients(e));
  const double forward = dense_flops(e.problem), flops = 2.5 * forward;  // five products
  const auto of_method = [&](const std::string& name, const Method& m, const GradMethod& g) {
    return Stage{.name = "gradients, " + name, .float_flops = forward + flops, .call = [p, e, d, m, g] {
                   gradients<float>(e.problem, m, g, e.format, p->narrow, *d);
                 }};
  };
  Stage update = update_stage("full update with gradients, N = " + std::to_string(n), std::make_shared<Experiment>(e), true);
  update.float_flops += 2 * flops;
  update.double_flops += flops;
  return {{.name = "gradients, golden, double",
           .double_flops = flops,
           .call = [p, e, d] { golden_gradients(e.problem, *p->inputs, *d, false); }},
          of_method("hw with grad_hw", e.a, e.backward.a),
          of_method("base_eager with grad_base_eager", e.b, e.backward.b),
          std::move(update)};
}

std::span<const Control> controls() {
  using enum UpdatePart;
  static const std::vector<Control> all{
      {"seed", draw_again, {drawn, rounded, golden, a, b, recurrence, moments, sorted, deviations, distances, kept}},
      {"format", change_format, {rounded, golden, a, b, recurrence, moments, sorted, deviations, distances, kept}},
      {"block_k of a", change_block_k, {a, recurrence, moments, sorted, deviations, distances, kept}},
      {"rounding of b", change_b, {b, moments, sorted, deviations, distances, kept}},
      {"traced row", change_row, {recurrence}},
      {"block_q", change_block_q, {}},
  };
  return all;
}

Timing parts_of_update(int n) {
  const auto e = experiment_of(n);
  ComputeCache cache;
  Timing best = compute(*e, {.cache = &cache}).timing;
  for (int i = 0; i < 30; ++i) {
    draw_again(*e);
    const Timing timing = compute(*e, {.cache = &cache}).timing;
    if (timing.total < best.total) best = timing;
  }
  return best;
}

std::vector<Stage> updates_of_controls(int n) {
  std::vector<Stage> all;
  for (const Control& control : controls())
    all.push_back(
        {.name = std::string("update, another ") + control.name, .call = updating(experiment_of(n), control.change, true)});
  return all;
}

Stage tensor_core_update(int n) {
  const auto e = experiment_of(n);
  e->b = e->a;
  e->a.accumulator = {Accumulator::h100, Accumulator::h100};
  e->b.accumulator = {Accumulator::a100, Accumulator::a100};
  Stage stage = update_stage("full update, sums of h100 and a100", e, false);
  stage.vector_work = stage.float_flops;
  return stage;
}

std::vector<Stage> scaled_updates(int n) {
  const auto stage = [n](const char* a, const char* b) {
    const auto e = experiment_of(n);
    *e = with_kernel_as_b(with_kernel(*e, kernel_preset(a)), kernel_preset(b));
    e->a.accumulator = e->b.accumulator = {};
    Stage update = update_stage("full update, " + std::string(a) + " and " + b + ", fma", e, false);
    update.double_flops *= 3;  // each method's stored numbers have a golden value too
    return update;
  };
  return {stage("sage2", "fa3_fp8"), stage("sage3", "nvfp4")};
}

std::vector<Stage> decode_updates(int keys) {
  const auto stage = [keys](const char* what, std::function<void(Experiment&)> change) -> Stage {
    const auto e = experiment_of(1);
    e->problem.n_k = keys;
    e->problem.d = 128;
    e->b = with_algorithm(e->a, Algorithm::split_kv);
    return {.name = "one query, " + std::to_string(keys) + " keys of 128: " + what,
            .call = updating(e, std::move(change), true)};
  };
  return {stage("format", change_format), stage("splits", [](Experiment& e) { e.b.splits = e.b.splits == 8 ? 16 : 8; })};
}

Stage growth(int n, int rows) {
  const auto e = experiment_of(n);
  e->problem.rows = rows;
  Stage stage =
      update_stage("N = " + std::to_string(n) + (rows == 0 ? ", all rows" : ", " + std::to_string(rows) + " rows"), e, false);
  stage.call = [e] { compute(*e); };
  return stage;
}

#ifndef ATTOSCOPE_CUDA
double device_fma_peak(bool, int) { throw std::runtime_error(why_no_cuda()); }
double device_copy_ms(std::size_t, bool, int) { throw std::runtime_error(why_no_cuda()); }
#endif

}  // namespace attoscope
