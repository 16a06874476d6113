// Every head of a file, worst first.
#include <fmt/format.h>

#include <algorithm>
#include <numeric>
#include <utility>

#include "app/files/paths.h"
#include "app/papers/paper_figures.h"
#include "app/papers/parts.h"
#include "app/papers/seen.h"
#include "app/sweep/table.h"
#include "app/tensors/tensors.h"
#include "kernels/experiment/rules.h"

namespace attoscope::papers {
namespace {

/// The shipped layers of grouped queries, causal as the model that they come from.
Experiment grouped_example(const FigureSettings& x, const TensorFileInfo& info) {
  Experiment e = base_of(x);
  e.problem.input.kind = InputKind::tensors;
  e.problem.input.file = info.file;
  e.problem.mask.kind = Mask::Kind::causal;
  e.problem.n = x.n;
  e.problem = fitted(e.problem, info.shape);
  return e;
}

std::vector<double> means(const std::vector<SweepRow>& table) {
  std::vector<double> values;
  for (const SweepRow& row : table) values.push_back(row.mean);
  return values;
}

/// One mark for each head, in this order.
Series marks(const char* label, Ink ink, const std::vector<double>& values, const std::vector<std::size_t>& order) {
  Series s;
  s.label = label;
  s.ink = ink;
  s.shape = Shape::marks;
  for (const std::size_t head : order) {
    s.x.push_back(static_cast<double>(s.x.size()));
    s.y.push_back(values[head]);
  }
  return s;
}

}  // namespace

Figure heads(const FigureSettings& x, const AnswerSweep& answer) {
  const TensorFileInfo info = describe_tensors(assets_directory() + "/examples/grouped.safetensors");
  const Experiment base = grouped_example(x, info);
  Axis head{"head", {}};
  for (int i = 0; i < info.heads; ++i) head.values.push_back(std::to_string(i));
  const Sweep sweep{.base = base, .axes = {head}, .seeds = 1, .measure = {"a.rms/golden"}};
  const auto answers = answer(sweep);
  const std::vector<double> a = means(rows(sweep, {"a.rms/golden"}, answers)),
                            b = means(rows(sweep, {"b.rms/golden"}, answers));
  std::vector<std::size_t> order(a.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::ranges::stable_sort(order, std::ranges::greater{}, [&](std::size_t i) { return a[i]; });
  std::vector<std::string> shown;
  for (const std::size_t i : order) shown.push_back(info.head_names[i]);
  FigurePanel panel = panel_of(names("", shown), "RMS error / RMS of output");
  panel.series = {marks("Flash", Ink::a, a, order), marks("three passes", Ink::b, b, order)};
  Figure f = figure_of("heads");
  f.columns = 2;
  f.panels.push_back(std::move(panel));
  const auto worse = static_cast<int>(std::ranges::count_if(order, [&](std::size_t i) { return a[i] > b[i]; }));
  f.caption = fmt::format(
      "Every head of the shipped grouped-query layers, the worst under {} first: {}, with {} times the least error of all "
      "heads. "
      "Flash's error is above that of three passes in {} of {} heads; N = {}, d = {}, causal, tile {} x {}, "
      "attoscope " ATTOSCOPE_VERSION ".",
      x.policy, shown.front(), two_digits(a[order.front()] / a[order.back()]), worse, info.heads, base.problem.n, info.shape.d,
      base.a.block_q, base.a.block_k);
  return f;
}

}  // namespace attoscope::papers
