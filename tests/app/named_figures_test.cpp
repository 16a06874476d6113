// The numbers of every named figure, compared with sums over the outputs of the plain reference.
#include <gtest/gtest.h>

#include <cmath>

#include "app/papers/named.h"
#include "app/words/numbers.h"
#include "kernels/compute.h"
#include "kernels/experiment/result.h"
#include "tests/reference/plain.h"
#include "tests/reference/plain_backward.h"
#include "tests/reference/plain_scaling.h"
#include "tests/support/support.h"

namespace attoscope::app {
namespace {

struct Output {
  std::vector<double> values;
  double rescales = 0;  ///< mean over rows of the number of tiles after the first in which m moved
};

Output plain_output(const Result& r, const Method& method) {
  Output output;
  for (const plain::Row& row : plain::attend(r.experiment, method, *r.inputs, r.rows)) {
    output.values.insert(output.values.end(), row.output.begin(), row.output.end());
    for (const plain::Tile& t : row.tiles)
      output.rescales += t.moved && !t.restarts ? 1.0 / static_cast<double>(r.rows.size()) : 0;
  }
  return output;
}

std::vector<double> plain_truth(const Result& r) {
  std::vector<double> truth;
  for (const int row : r.rows) {
    const Keys keys = visible_keys(r.experiment.problem, row);
    for (const long double x : plain::softmax(r.experiment.problem, *r.inputs, row, keys))
      truth.push_back(static_cast<double>(x));
  }
  return truth;
}

/// The golden value computed from the method's stored tensors; from its inputs if it stores nothing with scales.
std::vector<double> plain_stored_truth(const Result& r, const Method& m, const std::vector<double>& truth) {
  if (!m.scaling.stores()) return truth;
  const Experiment& e = r.experiment;
  const auto floats = [](const std::vector<double>& x) { return std::vector<float>(x.begin(), x.end()); };
  const plain::Stored<float> s = plain::stored(floats(r.inputs->q), floats(r.inputs->k), floats(r.inputs->v), r.inputs->shape(),
                                               m, e.format, e.problem.seed);
  std::vector<double> stored;
  for (const int row : r.rows)
    for (const double x : plain::truth_of_stored(e.problem, s, row, visible_keys(e.problem, row))) stored.push_back(x);
  return stored;
}

/// Deviation of x from y; ulps in the format `main`.
DeviationNumbers plain_deviation(const std::vector<double>& x, const std::vector<double>& y, const Format& main) {
  DeviationNumbers d;
  const auto count = static_cast<double>(x.size());
  double square = 0;
  for (const double v : y) square += v * v / count;
  for (std::size_t i = 0; i < x.size(); ++i) {
    const double error = x[i] - y[i];
    d.max_abs = std::max(d.max_abs, std::fabs(error));
    d.mean_abs += std::fabs(error) / count;
    d.rms += error * error / count;
    d.bias += error / count;
    d.max_ulp = std::max(d.max_ulp, std::fabs(error) / ulp(main, std::max(std::fabs(y[i]), std::sqrt(square) / 100)));
  }
  d.rms = std::sqrt(d.rms);
  return d;
}

/// Share of the visible (query, key) pairs whose dS of method a is rounded to 0.
double plain_lost_ds(const Experiment& e, const Tensors& inputs, const OutputGradients& incoming) {
  const plain::GradientPairs pairs = plain::backward_pairs(e, e.a, e.backward.a, inputs, incoming);
  double seen = 0, lost = 0;
  for (std::size_t i = 0; i < pairs.ds.size(); ++i) {
    if (std::isnan(pairs.ds[i])) continue;
    ++seen;
    lost += pairs.lost[i];
  }
  return lost / seen;
}

/// Deviations of dQ, dK and dV over all rows and keys.
BackwardSummary plain_gradients(const Result& r) {
  const Experiment& e = r.experiment;
  const OutputGradients& incoming = *r.backward->incoming;
  const Gradients a = plain::backward(e, e.a, e.backward.a, *r.inputs, incoming),
                  b = plain::backward(e, e.b, e.backward.b, *r.inputs, incoming);
  const plain::TrueGradients golden = plain::true_gradients(e.problem, *r.inputs, incoming);
  BackwardSummary s;
  const auto add = [&](DeviationNumbers GradientNumbers::* tensor, double BackwardSummary::* rms, const Matrix& of_a,
                       const Matrix& of_b, const std::vector<long double>& exact_values) {
    const std::vector<double> truth(exact_values.begin(), exact_values.end());
    s.a.*tensor = plain_deviation(of_a.values, truth, e.format);
    s.b.*tensor = plain_deviation(of_b.values, truth, e.format);
    s.a_minus_b.*tensor = plain_deviation(of_a.values, of_b.values, e.format);
    s.*rms = plain_deviation(truth, std::vector<double>(truth.size()), e.format).rms;
  };
  add(&GradientNumbers::dq, &BackwardSummary::golden_dq_rms, a.dq, b.dq, golden.dq);
  add(&GradientNumbers::dk, &BackwardSummary::golden_dk_rms, a.dk, b.dk, golden.dk);
  add(&GradientNumbers::dv, &BackwardSummary::golden_dv_rms, a.dv, b.dv, golden.dv);
  s.a_lost_ds = plain_lost_ds(e, *r.inputs, incoming);
  return s;
}

PointSummary plain_summary(const Experiment& e) {
  const Result r = compute(e);  // only its inputs, dO and rows are used
  const Output a = plain_output(r, e.a), b = plain_output(r, e.b);
  const std::vector<double> truth = plain_truth(r);
  PointSummary s;
  s.a = plain_deviation(a.values, truth, e.format);
  s.b = plain_deviation(b.values, truth, e.format);
  s.a_minus_b = plain_deviation(a.values, b.values, e.format);
  s.golden_rms = plain_deviation(truth, std::vector<double>(truth.size()), e.format).rms;
  s.rescales = a.rescales;
  const std::vector<double> stored = plain_stored_truth(r, e.a, truth);
  s.a_storage = plain_deviation(stored, truth, e.format).rms;
  s.a_arithmetic = plain_deviation(a.values, stored, e.format).rms;
  for (int t = 2; t <= (e.problem.n + e.a.block_k - 1) / e.a.block_k; ++t) s.expected_rescales += 1.0 / t;  // H_T - 1
  if (r.backward) s.backward = plain_gradients(r);
  return s;
}

std::vector<SweepAnswer> plain_answers(const Sweep& sweep) {
  std::vector<SweepAnswer> answers(point_count(sweep));
  for (std::size_t i = 0; i < answers.size(); ++i) {
    answers[i].index = i;
    answers[i].summary = plain_summary(experiment_of(sweep, i));
  }
  return answers;
}

class NamedFigures : public ::testing::TestWithParam<std::string_view> {};

TEST_P(NamedFigures, HaveTheNumbersOfThePlainReference) {
  const ui::FigureSettings settings{
      .policy = "eager", .all_policies = false, .n = 32, .d = 8, .seeds = testing::sanitized ? 1 : 2};
  const FromSweeps make = std::get<FromSweeps>(named_figure(GetParam()).made);
  const auto ours = csv_lines(figure_csv(make(settings, [](const Sweep& s) { return run_sweep(s, {}); })));
  const auto plain = csv_lines(figure_csv(make(settings, plain_answers)));
  ASSERT_EQ(ours.size(), plain.size());
  ASSERT_GT(ours.size(), 4u);
  for (std::size_t line = 1; line < ours.size(); ++line)
    for (std::size_t column = 0; column < ours[line].size(); ++column) {
      const auto x = to_number<double>(ours[line][column]), y = to_number<double>(plain[line][column]);
      if (column < 3 || !x || !y)
        EXPECT_EQ(ours[line][column], plain[line][column]) << "line " << line;
      else
        EXPECT_NEAR(*x, *y, 1e-6 * std::fabs(*y) + 1e-18) << "line " << line << ", column " << column << ": " << ours[line][1];
    }
}

/// Names of the figures made by sweeps. traffic_test checks the bytes of `io` with loops; train_controller_test checks the
/// trained figures.
std::vector<std::string_view> swept() {
  std::vector<std::string_view> names;
  for (const NamedFigure& f : named_figures())
    if (f.name != "io" && std::holds_alternative<FromSweeps>(f.made)) names.push_back(f.name);
  return names;
}
INSTANTIATE_TEST_SUITE_P(All, NamedFigures, ::testing::ValuesIn(swept()), [](const auto& tested) {
  std::string name(tested.param);
  std::erase(name, '-');
  return name;
});

}  // namespace
}  // namespace attoscope::app
