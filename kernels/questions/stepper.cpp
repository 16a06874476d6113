#include "kernels/questions/stepper.h"

#include <stdexcept>
#include <string>

#include "kernels/cpu/inputs.h"
#include "kernels/cpu/scaled_operands.h"
#include "kernels/deviation/deviation.h"
#include "kernels/experiment/all_heads.h"
#include "kernels/experiment/text.h"
#include "kernels/experiment/traffic.h"
#include "kernels/questions/recorded_steps.h"
#include "kernels/questions/row_parting.h"
#include "kernels/recurrence/prefix_golden.h"

namespace attoscope {
namespace {

[[noreturn]] void refuse(const std::string& what) { throw std::invalid_argument("stepper: " + what); }

void check(const char* what, const std::vector<double>& numbers) {
  for (const double x : numbers)
    if (!(std::fabs(x) <= max_step_score))
      refuse(std::string(what) + " is " + shortest(x) + ", expected a number of at most " +
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
  if (!is_stepped(q.algorithm)) refuse("the algorithm is " + std::string(name(q.algorithm)) + ", expected " + stepped_text());
  if (q.flush < flush_of_policy || q.flush > 1)
    refuse("P.V is added to O after " + std::to_string(q.flush) + " tiles, expected after each, or never");
  const std::size_t rows = n * static_cast<std::size_t>(std::max(0, q.rows.d));
  if (q.rows.d < 0 || q.rows.q.size() != rows || q.rows.k.size() != rows || q.rows.row < 0 || q.rows.row >= static_cast<int>(n))
    refuse("rows has " + std::to_string(q.rows.q.size()) + " numbers of Q and " + std::to_string(q.rows.k.size()) +
           " of K, expected " + std::to_string(q.rows.d) + " for each of the " + std::to_string(n) + " scores");
  check("a score", q.scores);
  check("a value", q.values);
  check("a number of q", q.rows.q);
  check("a number of k", q.rows.k);
}

/// True if a product needs inputs rounded to a format.
bool takes_format(const StepQuestion& q) { return is_tensor_core(q.pv) || is_tensor_core(q.qk); }

/// True if Q and K are changed before their product.
bool changes_scores(const Scalings& s) { return s.Q.is_on() || s.K.is_on() || s.hadamard || s.smooth_K || s.smooth_Q > 0; }

/// The same question with nothing rounded, on the same inputs.
StepQuestion unrounded(StepQuestion q, bool in_double) {
  for (auto* numbers : {&q.scores, &q.values, &q.rows.q, &q.rows.k})
    for (double& x : *numbers) {
      if (takes_format(q)) x = round(q.format, x);  // as the input step rounds them
      x = in_double ? x : static_cast<double>(static_cast<float>(x));
    }
  q.format = fp64;
  q.precision.steps.fill(exact);
  q.pv = q.qk = Accumulator::fma;
  q.scaling.Q = q.scaling.K = q.scaling.V = q.scaling.P = {};
  q.scaling.smoothed = exact;
  return q;
}

template <class T>
bool same_tiles_of_runs(const RowTile<T>& x, const RowTile<T>& y) {
  return same_bits_of(x.m, y.m) && same_bits_of(x.l, y.l) && same_bits_of(x.alpha, y.alpha) && same_numbers(x.S, y.S) &&
         same_numbers(x.P, y.P) && same_numbers(x.O, y.O);
}

/// Takes the stored P and its scales from the log.
void take_stored_P(StepStorage& storage, const RoundingLog& log, const StepQuestion& q) {
  if (!q.scaling.P.is_on()) return;
  const auto take = [&](const LoggedElement& x) {
    const auto key = static_cast<std::size_t>(x.key);
    storage.P_quotients[key] = x.quotient;
    storage.P_elements[key] = x.element;
    storage.P_scales[key] = x.scale;
  };
  storage.P_quotients = storage.P_elements = storage.P_scales = std::vector<double>(q.scores.size());
  for (const LoggedRounding& x : log.roundings)
    if (x.step == Step::P) take({x.i, x.before, x.after, 1});
  for (const LoggedElement& x : log.elements) take(x);
  (q.scaling.P.shifts ? storage.lift : storage.P_factor) = q.scaling.P.factor;
}

template <class T>
std::vector<double> row_of(const std::vector<T>& x, int row, int d, int columns) {
  const auto first = x.begin() + static_cast<std::ptrdiff_t>(row) * d;
  return {first, first + columns};
}

/// Sets the factors that are applied after the products.
template <class T>
void take_factors(StepStorage& storage, const OperandScales<T>& x, int row, int n, int columns) {
  storage.factor_in_exponent = x.is_one;
  for (int j = 0; !x.q.empty() && j < n; ++j) {
    const auto of_q = static_cast<std::size_t>(x.is_one ? 0 : row), of_k = static_cast<std::size_t>(x.is_one ? 0 : j);
    storage.S_factor.push_back(static_cast<double>(x.q[of_q] * x.k[of_k]));
  }
  if (!x.bias.empty()) storage.S_added = row_of(x.bias, row / x.bias_rows, n, n);
  if (!x.o.empty()) storage.O_factor = row_of(x.o, 0, columns, columns);
  if (!x.o_offset.empty()) storage.O_offset = row_of(x.o_offset, 0, columns, columns);
}

template <class T>
StepStorage storage_in(const Experiment& e, int row, int columns) {
  const Problem& p = e.problem;
  const Scalings& s = e.a.scaling;
  const Operands<T> given = operands<T>(*raw_inputs(p), e.a.precision[Step::input], e.format, p.seed);
  Scalings moves = s;
  moves.Q = moves.K = moves.V = {};
  const Operands<T> moved = scaled_operands(given, moves, shape_of(p), e.format, p.seed);
  StepStorage storage;
  const auto stored = [&](const std::vector<T>& x, ScaledTensor t, Keys rows, int count) {
    StoredNumbers<T> all{x, std::vector<T>(x.size(), T{1}), x};
    if (s[t].is_on())
      all = stored_numbers(x, p.n, p.d, s[t], t, e.format,
                           static_cast<T>(largest_of_all(given.all_heads.get(), s[t], t, StopSign{})));
    std::vector<StoredVector> vectors;
    for (int i = rows.first; i < rows.end; ++i)
      vectors.push_back({.given = row_of(x, i, p.d, count),
                         .elements = row_of(all.elements, i, p.d, count),
                         .scales = row_of(all.scales, i, p.d, count),
                         .operands = row_of(all.operands, i, p.d, count)});
    return vectors;
  };
  storage.q = stored(moved.q, ScaledTensor::Q, {row, row + 1}, p.d)[0];
  storage.k = stored(moved.k, ScaledTensor::K, {0, p.n}, p.d);
  storage.v = stored(moved.v, ScaledTensor::V, {0, p.n}, columns);
  take_factors(storage, scaled_operands(given, s, shape_of(p), e.format, p.seed).scales, row, p.n, columns);
  return storage;
}

/// Records the steps and compares their run with the kernel's own; `parts` selects the steps to report.
template <class T>
Steps steps_in(const StepQuestion& q, const Experiment& e, const RecordedParts& parts) {
  const StopSign never;
  const MethodRows<T> rows(e, false, never);
  const Job<T>& job = rows.job();
  RoundingLog log;
  const RowRun<T> run = row_run(job, parts.row, never, &log), own = row_run(job, parts.row, never);
  RecordedSteps<T> recorded(job, run, log, parts);
  StepStorage storage = e.a.scaling.stores() ? storage_in<T>(e, parts.row, parts.columns) : StepStorage{};
  take_stored_P(storage, log, q);
  return {.question = q,
          .passes = recorded.passes(),
          .steps = recorded.take(),
          .S = recorded.S(),
          .P = recorded.P(),
          .score_unit = static_cast<double>(job.exp2.score_unit),
          .exponent_factor = static_cast<double>(job.exp2.scale),
          .exponent_shift = static_cast<double>(job.exp2.shift),
          .storage = std::move(storage),
          .output = {run.output.begin(), run.output.begin() + parts.columns},
          .same_bits = same_numbers(run.output, own.output) && std::ranges::equal(run.tiles, own.tiles, same_tiles_of_runs<T>)};
}

/// Converts the numbers of an exact run to the units of a method with scales: its S is a product of elements, its e, l and P
/// have a factor, its O is a sum of elements of V.
class ScaledUnits {
 public:
  ScaledUnits(const Steps& rounded, const Steps& exact)
      : storage_(rounded.storage),
        score_(exact.score_unit / rounded.score_unit),
        shift_(rounded.exponent_shift),
        flash1_(rounded.question.algorithm == Algorithm::flash1) {}

  double P(double x) const { return x * storage_.lift * storage_.P_factor; }
  RowState state(RowState s, StepKind kind) const {
    s.m *= score_;
    s.l *= storage_.lift;
    for (std::size_t c = 0; kind != StepKind::finish && c < s.O.size(); ++c) s.O[c] *= of_O(static_cast<int>(c));
    return s;
  }
  double number(const RoundedNumber& made) const {
    const double x = made.after;
    if (info(made.step).is_score) return x * score_;
    if (made.step == Step::shifted) return x + shift_;
    if (made.step == Step::alpha || made.step == Step::output) return x;
    if (made.step == Step::P) return P(x);
    if (made.column < 0) return x * storage_.lift;
    return x * (made.step == Step::O ? of_O(made.column) : of_sum(made.column));
  }

 private:
  /// Unit of a tile's P.V, and of O before its division by l.
  double of_sum(int column) const {
    const auto c = static_cast<std::size_t>(column);
    return P(storage_.O_factor.empty() ? 1 : 1 / storage_.O_factor[c]);
  }
  double of_O(int column) const { return of_sum(column) / (flash1_ ? storage_.lift : 1); }

  const StepStorage& storage_;
  double score_, shift_;
  bool flash1_;
};

/// Adds the exact numbers to the rounded run.
void join(Steps& rounded, Steps exact) {
  const ScaledUnits units(rounded, exact);
  for (std::size_t i = 0; i < rounded.steps.size(); ++i) {
    rounded.steps[i].exact = units.state(std::move(exact.steps[i].state), rounded.steps[i].kind);
    for (std::size_t k = 0; k < rounded.steps[i].numbers.size(); ++k)
      rounded.steps[i].numbers[k].exact = units.number(exact.steps[i].numbers[k]);
  }
  rounded.exact_output = std::move(exact.output);
  rounded.same_bits = rounded.same_bits && exact.same_bits;
}

/// Pads rows of `d` numbers with zeros to `width` numbers.
std::vector<double> widened(const std::vector<double>& x, int d, int width) {
  const std::size_t from = static_cast<std::size_t>(d), to = static_cast<std::size_t>(width);
  std::vector<double> all(x.size() / from * to, 0.0);
  for (std::size_t i = 0; i < x.size(); ++i) all[i / from * to + i % from] = x[i];
  return all;
}

/// Q, K and V of the question.
Tensors tensors_of(const StepQuestion& q) {
  const int n = static_cast<int>(q.scores.size()), d = std::max(q.d, q.rows.d);
  if (q.rows.d > 0)
    return {n, n, d, d, widened(q.rows.q, q.rows.d, d), widened(q.rows.k, q.rows.d, d), widened(q.values, q.d, d)};
  const std::vector<double> ones(q.scores.size(), 1.0);
  return {n, n, d, d, widened(ones, 1, d), widened(q.scores, 1, d), widened(q.values, q.d, d)};
}

}  // namespace

Experiment step_experiment(const StepQuestion& q) {
  check(q);
  const int n = static_cast<int>(q.scores.size());
  Experiment e;
  const auto tensors = std::make_shared<const Tensors>(tensors_of(q));
  e.problem.n = n;
  e.problem.d = tensors->d;
  e.problem.scale = q.rows.d > 0 ? q.rows.scale : 1;
  e.problem.traced_row = q.rows.row;
  e.problem.input.kind = InputKind::tensors;
  e.problem.input.tensors = tensors;
  e.problem.input.digest = digest(Matrix{n, tensors->d, tensors->k}) ^ ~digest(Matrix{n, tensors->d, tensors->v});
  if (q.rows.d > 0) e.problem.input.digest ^= 3 * digest(Matrix{n, tensors->d, tensors->q});
  e.format = q.format;
  e.a.algorithm = q.algorithm;
  e.a.block_k = q.block_k;
  e.a.precision = q.precision;
  e.a.precision[Step::input] = takes_format(q) ? to_main : exact;
  e.a.accumulator = {q.qk, q.pv};
  e.a.exponential = q.exponential;
  e.a.tau = q.tau;
  e.a.flush = q.flush;
  e.a.scaling = q.scaling;
  validate(e);
  return e;
}

Steps steps(const StepQuestion& q) {
  const Experiment e = step_experiment(q);
  const RecordedParts parts{.row = q.rows.row,
                            .columns = q.d,
                            .q = stored_bytes(e, ScaledTensor::Q),
                            .k = stored_bytes(e, ScaledTensor::K),
                            .v = stored_bytes(e, ScaledTensor::V),
                            .of = static_cast<double>(element_bytes(q.format)),
                            .scores = changes_scores(q.scaling),
                            .stores_P = q.scaling.P.is_on()};
  const bool in_double = works_in_double(e);
  Steps all = in_double ? steps_in<double>(q, e, parts) : steps_in<float>(q, e, parts);
  const StepQuestion exactly = unrounded(q, in_double);
  join(all, steps_in<double>(exactly, step_experiment(exactly), parts));
  return all;
}

StepQuestion with_scales_of(StepQuestion q, const Method& m) {
  q.scaling = m.scaling;
  q.exponential = m.exponential;
  q.tau = m.tau;
  q.flush = m.flush;
  q.qk = m.accumulator.qk;
  q.pv = m.accumulator.pv;
  return q;
}

StepRows step_rows(const Result& result, int row, int most) {
  const Problem& p = result.experiment.problem;
  const Keys keys = visible_keys(p, row);
  const int count = std::min(most, keys.end - keys.first), queries = std::min(count, p.n),
            first = std::clamp(row / most * most, 0, p.n - queries);
  // as many rows as keys; copies of the last row fill up and change no scale
  const auto rows_of = [&](const std::vector<double>& x, int begin, int rows) {
    std::vector<double> some;
    for (int i = 0; i < count; ++i) {
      const auto from = x.begin() + static_cast<std::ptrdiff_t>(begin + std::min(i, rows - 1)) * p.d;
      some.insert(some.end(), from, from + p.d);
    }
    return some;
  };
  // the rows that share a scale with this row
  const int begin = row < first + queries ? first : row - queries + 1;
  return {.d = p.d,
          .row = row - begin,
          .scale = scale_of(p),
          .q = rows_of(result.inputs->q, begin, queries),
          .k = rows_of(result.inputs->k, keys.first, count)};
}

std::vector<double> scores_of_row(const Result& result, int row, int most) {
  const Problem& p = result.experiment.problem;
  const Job<double> golden = golden_job(p, *result.inputs);
  const double* q = golden.q + static_cast<std::ptrdiff_t>(row) * p.d;
  const Keys keys = golden.keys_of(row);
  std::vector<double> scores;
  for (int j = keys.first; j < std::min(keys.end, keys.first + most); ++j)
    scores.push_back(PrefixGolden<double>::score(q, golden.k + static_cast<std::ptrdiff_t>(j) * p.d, golden, row, j));
  return scores;
}

}  // namespace attoscope
