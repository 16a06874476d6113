// Answers to the questions of lessons.
#include <cmath>
#include <exception>
#include <stdexcept>

#include "app/plots/own_numbers.h"
#include "app/sweep/runner.h"
#include "app/sweep/sweep.h"
#include "app/sweep/sweep_ledger.h"
#include "app/sweep/table.h"
#include "app/tensors/tensors.h"
#include "app/words/numbers.h"
#include "kernels/experiment/rules.h"
#include "ui/frame/exercise.h"

namespace attoscope::app {
namespace {

/// Limits of a page's questions, which are computed while the user reads: operations and points.
constexpr double largest_work = 4e11;
constexpr std::size_t largest_sweep = 4096;

/// Reads the experiment's tensors, adapts its shape and validates it. Throws with one sentence.
Experiment ready(Experiment e) {
  load_tensors(e.problem.input);
  if (const auto& tensors = e.problem.input.tensors) e.problem = fitted(e.problem, tensors->shape());
  validate(e);
  const double work = 12.0 * e.problem.n * key_count(e.problem) * e.problem.d;
  if (work > largest_work)
    throw std::invalid_argument("n is " + std::to_string(e.problem.n) +
                                ", expected an experiment that is computed while somebody reads");
  return e;
}

Sweep sweep_of(const ui::LessonQuestion& q) {
  Sweep sweep{.base = ready(q.experiment), .axes = {}, .seeds = q.seeds, .measure = parse_measure(q.measure)};
  for (const std::string& text : q.vary) sweep.axes.push_back(parse_axis(text));
  if (const std::size_t count = point_count(sweep); count > largest_sweep)
    throw std::invalid_argument("a sweep of a lesson has " + std::to_string(count) + " points, expected at most " +
                                std::to_string(largest_sweep));
  return sweep;
}

void answer_sweep(ui::LessonAnswer& a, const Options& options) {
  SweepLedger ledger(sweep_of(a.question));
  const std::vector<SweepAnswer> answers = run_sweep(ledger.sweep(), {.cancelled = options.cancelled});
  for (const SweepAnswer& point : answers) ledger.add(point);
  if (options.cancelled && options.cancelled()) throw Stopped();
  a.table = *ledger.table(ledger.sweep().measure, std::nullopt);
  a.table.digest = points_digest(answers);
  if (!a.table.errors.empty()) a.problem = a.table.errors[0];
}

ui::SweepCell cell_of(const std::vector<double>& values) {
  const SweepRow row = row_of(values);
  return {.count = row.count, .mean = row.mean, .std = row.std, .min = row.min, .max = row.max, .rival = NAN};
}

/// The experiment's number over `seeds` seeds.
ui::SweepCell own_cell(Experiment e, const ui::LessonQuestion& q, const Options& options) {
  std::vector<double> found;
  for (int i = 0; i < q.seeds; ++i, ++e.problem.seed)
    found.push_back(own_numbers(q.measure)->number(q.measure, e, options.cancelled));
  return cell_of(found);
}

/// Answers with the losses of both models of the plan `spike`.
void answer_losses(ui::LessonAnswer& a, const Options& options) {
  ui::SweepValues steps{.key = "step", .title = "training step", .names = {}, .numbers = {}};
  for (const auto& [of_a, of_b] : spike_losses(a.question.experiment.problem.seed, options.cancelled)) {
    steps.numbers.push_back(static_cast<double>(steps.numbers.size() + 1));
    steps.names.push_back(std::to_string(steps.numbers.size()));
    a.table.cells.insert(a.table.cells.end(), {cell_of({of_a}), cell_of({of_b})});
  }
  a.table.axes = {std::move(steps), {.key = "run", .title = "model", .names = {"a", "b"}, .numbers = {}}};
}

/// Answers with an own number, plain or over one parameter.
void answer_own(ui::LessonAnswer& a, const Options& options) {
  const ui::LessonQuestion& q = a.question;
  a.table.measure = a.table.quantity = own_numbers(q.measure)->title(q.measure);
  a.table.seeds = q.seeds;
  if (q.measure == train_losses) return answer_losses(a, options);
  if (q.vary.empty()) {
    a.table.cells = {own_cell(q.experiment, q, options)};
    return;
  }
  if (q.vary.size() > 1)
    throw std::invalid_argument(in_quotes(q.measure) + " is varied along one parameter, expected one 'vary'");
  const Axis axis = parse_axis(q.vary[0]);
  a.table.axes = {values_of(axis)};
  for (const std::string& value : axis.values) {
    Experiment e = q.experiment;
    vary(e, axis.key, value);
    a.table.cells.push_back(own_cell(e, q, options));
  }
}

/// Answers with the largest error over all orders of a row's keys, and its order.
void answer_order(ui::LessonAnswer& a, const Options& options) {
  const OrderedRow worst = worst_order(a.question.experiment, options.cancelled);
  a.table.measure = "the largest error of all orders";
  a.table.axes = {{.key = "order", .title = "order", .names = {ui::order_text(worst.order)}, .numbers = {}}};
  a.table.cells = {cell_of({worst.error})};
}

/// Answers with one number, or the whole result if no measure is named.
void answer_plain(ui::LessonAnswer& a, const Options& options) {
  Experiment e = ready(a.question.experiment);
  auto result = std::make_shared<Result>(compute(e, options));
  result->experiment = a.question.experiment;
  if (!a.question.measure.empty()) {
    const Measure measure = parse_measure(a.question.measure);
    a.table.measure = title_of(measure);
    a.table.cells = {cell_of({value_of(measure, summary(*result))})};
  } else {
    a.result = std::move(result);
  }
}

}  // namespace

ui::LessonAnswer answer(const ui::LessonQuestion& question, const Options& options) {
  ui::LessonAnswer a{.question = question};
  try {
    if (own_numbers(question.measure) != nullptr)
      answer_own(a, options);
    else if (question.measure == ui::order_measure)
      answer_order(a, options);
    else
      question.vary.empty() ? answer_plain(a, options) : answer_sweep(a, options);
  } catch (const std::bad_alloc&) {
    a.problem = "There is not enough memory for this experiment.";
  } catch (const std::exception& error) {
    a.problem = error.what();
  }
  return a;
}

}  // namespace attoscope::app
