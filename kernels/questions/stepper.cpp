#include "kernels/questions/stepper.h"

#include <stdexcept>
#include <string>

#include "kernels/deviation/deviation.h"
#include "kernels/experiment/traffic.h"
#include "kernels/questions/step_recorder.h"
#include "kernels/recurrence/prefix_golden.h"

namespace attoscope {
namespace {

[[noreturn]] void refuse(const std::string& what) { throw std::invalid_argument("stepper: " + what); }

void check(const char* what, const std::vector<double>& numbers) {
  for (const double x : numbers)
    if (!(std::fabs(x) <= max_step_score))
      refuse(std::string(what) + " is " + std::to_string(x) + ", expected a number of at most " +
             std::to_string(static_cast<int>(max_step_score)) + " in magnitude");
}

void check(const StepQuestion& q) {
  const std::size_t n = q.scores.size();
  if (n < 1 || n > max_step_scores)
    refuse("there are " + std::to_string(n) + " scores, expected 1 .. " + std::to_string(max_step_scores));
  if (q.d < 1 || q.d > max_step_columns)
    refuse("d is " + std::to_string(q.d) + ", expected 1 .. " + std::to_string(max_step_columns));
  if (q.values.size() != n * static_cast<std::size_t>(q.d))
    refuse("there are " + std::to_string(q.values.size()) + " values, expected d for each of the " + std::to_string(n) +
           " scores");
  if (static_cast<int>(q.algorithm) > static_cast<int>(Algorithm::flash2))
    refuse("the algorithm is " + std::string(name(q.algorithm)) + ", expected three_pass, two_pass, flash1 or flash2");
  check("a score", q.scores);
  check("a value", q.values);
}

/// The same question with nothing rounded, starting from the same numbers.
StepQuestion unrounded(StepQuestion q, bool in_double) {
  for (auto* numbers : {&q.scores, &q.values})
    for (double& x : *numbers) {
      if (is_tensor_core(q.pv)) x = round(q.format, x);  // as everybody's inputs
      x = in_double ? x : static_cast<double>(static_cast<float>(x));
    }
  q.format = fp64;
  q.precision.steps.fill(exact);
  q.pv = Accumulator::fma;
  return q;
}

template <class T>
StepRecorder<T> recorded(const SingleRowRuns<T>& rows, const RowRun<T>& run, const StepQuestion& q) {
  StepRecorder<T> recorder(rows.a(), run, element_bytes(q.format));
  recorder.follow();
  return recorder;
}

template <class T>
Steps steps_in(const StepQuestion& q, const Experiment& e) {
  const StopSign never;
  const SingleRowRuns<T> rows(e, never);
  const RowRun<T> run = row_run(rows.a(), 0, never);
  StepRecorder<T> recorder = recorded(rows, run, q);
  return {.question = q,
          .passes = recorder.passes(),
          .steps = recorder.take(),
          .S = recorder.S(),
          .P = recorder.P(),
          .exact_P = {},
          .output = recorder.output(),
          .exact_output = {},
          .same_bits = recorder.same_bits()};
}

/// Adds the exact numbers to the rounded ones.
void join(Steps& rounded, Steps exact) {
  for (std::size_t i = 0; i < rounded.steps.size(); ++i) {
    rounded.steps[i].exact = std::move(exact.steps[i].state);
    for (std::size_t k = 0; k < rounded.steps[i].numbers.size(); ++k)
      rounded.steps[i].numbers[k].exact = exact.steps[i].numbers[k].after;
  }
  rounded.exact_P = std::move(exact.P);
  rounded.exact_output = std::move(exact.output);
  rounded.same_bits = rounded.same_bits && exact.same_bits;
}

/// Values in the first of d columns of n rows.
std::vector<double> first_column(const std::vector<double>& x, int d) {
  std::vector<double> all(x.size() * static_cast<std::size_t>(d), 0.0);
  for (std::size_t i = 0; i < x.size(); ++i) all[i * static_cast<std::size_t>(d)] = x[i];
  return all;
}

}  // namespace

Experiment step_experiment(const StepQuestion& q) {
  check(q);
  const int n = static_cast<int>(q.scores.size());
  Experiment e;
  e.problem.n = n;
  e.problem.d = q.d;
  e.problem.scale = 1;
  e.problem.traced_row = 0;
  e.problem.input.kind = InputKind::tensors;
  e.problem.input.tensors = std::make_shared<const Tensors>(
      Tensors{n, q.d, first_column(std::vector<double>(q.scores.size(), 1.0), q.d), first_column(q.scores, q.d), q.values});
  e.problem.input.digest = digest(Matrix{n, q.d, e.problem.input.tensors->k}) ^ ~digest(Matrix{n, q.d, q.values});
  e.format = q.format;
  e.a.algorithm = q.algorithm;
  e.a.block_k = q.block_k;
  e.a.precision = q.precision;
  e.a.precision[Step::input] = is_tensor_core(q.pv) ? to_main : exact;
  e.a.accumulator.pv = q.pv;
  validate(e);
  return e;
}

Steps steps(const StepQuestion& q) {
  const Experiment e = step_experiment(q);
  const bool in_double = works_in_double(e);
  Steps all = in_double ? steps_in<double>(q, e) : steps_in<float>(q, e);
  const StepQuestion exactly = unrounded(q, in_double);
  join(all, steps_in<double>(exactly, step_experiment(exactly)));
  return all;
}

std::vector<double> scores_of_row(const Result& result, int row, int most) {
  const Problem& p = result.experiment.problem;
  const Job<double> golden = job(p, Method{.algorithm = Algorithm::three_pass}, result.experiment.format, Operands<double>{});
  const double* q = result.inputs->q.data() + static_cast<std::ptrdiff_t>(row) * p.d;
  const Keys keys = golden.keys_of(row);
  std::vector<double> scores;
  for (int j = keys.first; j < std::min(keys.end, keys.first + most); ++j)
    scores.push_back(PrefixGolden<double>::score(q, result.inputs->k.data() + static_cast<std::ptrdiff_t>(j) * p.d, golden,
                                                 std::abs(row - j)));
  return scores;
}

}  // namespace attoscope
