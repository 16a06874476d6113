// Named figures that need code, not only sweeps and a caption.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <functional>
#include <memory>
#include <numeric>
#include <utility>

#include "app/files/paths.h"
#include "app/papers/figure_text.h"
#include "app/papers/planned_figure.h"
#include "app/papers/sweep_figure.h"
#include "app/sweep/sweep_ledger.h"
#include "app/sweep/table.h"
#include "app/tensors/tensors.h"
#include "app/words/numbers.h"
#include "kernels/experiment/rules.h"
#include "kernels/experiment/traffic.h"
#include "ui/frame/sweep_lines.h"

namespace attoscope::app::papers {
namespace {

/// `from`, twice that, ... up to `to`.
std::vector<std::string> powers(int from, int to) {
  std::vector<std::string> values;
  for (int x = from; x <= to; x *= 2) values.push_back(std::to_string(x));
  return values;
}

/// Least of three tile sizes, each twice the last: 32 keys, fewer for small n.
int least_tile(const ui::FigureSettings& x) { return std::clamp(x.n / 8, 1, 32); }
int reference_tile(const ui::FigureSettings& x) { return 2 * least_tile(x); }

/// One query: a without splits, b over all splits and tile sizes that fit.
Sweep schedules_of(const ui::FigureSettings& x) {
  Experiment e = base_of(x);
  e.problem.n = 1;
  e.problem.n_k = x.n;
  e.a.algorithm = Algorithm::flash2;
  e.a.block_k = reference_tile(x);
  e.b = e.a;
  e.b.algorithm = Algorithm::split_kv;
  const int most = std::min(max_splits, tile_count(x.n, least_tile(x)));
  return {.base = e,
          .axes = {{"b.splits", powers(1, most)}, {"b.block_k", powers(least_tile(x), 4 * least_tile(x))}},
          .seeds = x.seeds,
          .measure = {"a_minus_b.max_ulp"}};
}

/// For each row of the table, true if a and b have the same bits for every seed.
std::vector<bool> same_bits(const Sweep& sweep, const std::vector<SweepAnswer>& answers) {
  std::vector<bool> same(sweep.axes[0].values.size() * sweep.axes[1].values.size(), true);
  for (const SweepAnswer& a : answers)
    if (!a.summary || a.summary->a_digest != a.summary->b_digest) same[combination(sweep, place_of(sweep, a.index))] = false;
  return same;
}

/// Map of the schedules under the settings' policy, without values where a split would have no tile. Appends its findings to
/// the caption.
ui::FigurePanel panel_of_schedules(const ui::FigureSettings& x, const AnswerSweep& answer, std::string& caption) {
  const Sweep sweep = schedules_of(x);
  const std::vector<SweepAnswer> answers = answer(sweep);
  const std::vector<SweepRow> table = rows(sweep, sweep.measure, answers);
  const std::vector<bool> same = same_bits(sweep, answers);
  const std::shared_ptr<const ui::SweepTable> means = sweep_table(sweep, sweep.measure, answers);
  ui::FigurePanel panel = sweep_heat_panel(*means);
  panel.title = "policy " + x.policy;
  panel.x.label = "splits";
  panel.y.label = "block_k";
  ui::FigureHeat& heat = *panel.heat;
  heat.label = "largest difference, ulps of bf16";
  heat.colours.nothing = 0xc9ccd1;  // the same bits are white
  int others = 0, alike = 0;
  const SweepRow* furthest = nullptr;
  for (std::size_t i = 0; i < table.size(); ++i) {
    const int splits = to_number<int>(table[i].values[0]).value_or(1), keys = to_number<int>(table[i].values[1]).value_or(1);
    if (splits > tile_count(x.n, keys)) {
      heat.values[heat_cell(*means, i)] = ui::FigureHeat::nothing;
    } else if (splits > 1 || keys != reference_tile(x)) {
      ++others;
      alike += same[i];
      if (furthest == nullptr || table[i].mean > furthest->mean) furthest = &table[i];
    }
  }
  caption += fmt::format("Under {} {} of the {} other schedules {} the same bits for every seed", x.policy,
                         alike == 0 ? "none" : std::to_string(alike), others, alike < 2 ? "gives" : "give");
  if (furthest != nullptr && alike != others)
    caption += fmt::format("; splits {} with block_k {} differ most, by {} ulps", furthest->values[0], furthest->values[1],
                           two_digits(furthest->mean));
  caption += "; ";
  return panel;
}

/// The mean of a measure for each head.
std::vector<double> means_of(const Sweep& sweep, const char* measure, const std::vector<SweepAnswer>& answers) {
  std::vector<double> values;
  for (const SweepRow& row : rows(sweep, {measure}, answers)) values.push_back(row.mean);
  return values;
}

/// One panel of bytes over `values`, each applied by `set`.
ui::FigurePanel bytes_over(const char* label, Experiment e, const std::vector<std::string>& values,
                           const std::function<void(Experiment&, int)>& set) {
  constexpr std::array<std::pair<const char*, double Traffic::*>, 3> counts{
      {{"Algorithm 0", &Traffic::algorithm0}, {"FlashAttention", &Traffic::flash1}, {"FlashAttention-2", &Traffic::flash2}}};
  ui::FigurePanel panel{
      .title = "", .x = ui::number_axis(label, true), .y = ui::number_axis("HBM bytes", true), .series = {}, .heat = {}};
  panel.x.base = 2;
  for (std::size_t i = 0; i < counts.size(); ++i) {
    ui::Series& s = panel.series.emplace_back();
    s.label = counts[i].first;
    s.ink = static_cast<ui::Ink>(static_cast<std::size_t>(ui::Ink::one) + i);
    for (const std::string& value : values) {
      set(e, to_number<int>(value).value());
      s.x.push_back(to_number<double>(value).value());
      s.y.push_back(traffic(e).*counts[i].second);
    }
  }
  return panel;
}

}  // namespace

Figure invariance(const ui::FigureSettings& x, const AnswerSweep& answer) {
  const int wide = x.all_policies ? 2 : 1;
  Figure f{.name = "invariance", .caption = {}, .panels = {}, .columns = wide, .panels_across = wide};
  f.caption = fmt::format(
      "Decode: one query over N keys. Largest difference of O, in ulps of bf16, from the schedule without splits and with {} "
      "keys a tile; 0 is the same bits; grey: a split would have no tile. ",
      reference_tile(x));
  for (const std::string& policy : policies_of(x)) {
    ui::FigureSettings own = x;
    own.policy = policy;
    f.panels.push_back(panel_of_schedules(own, answer, f.caption));
  }
  f.caption += filled("N = {N}, d = {d}, {over_seeds}, N(0,1) inputs, {version}.", scope_of(x));
  return f;
}

Figure heads(const ui::FigureSettings& x, const AnswerSweep& answer) {
  const ui::TensorFileInfo info = describe_tensors(assets_directory() + "/examples/grouped.safetensors");
  Experiment base = base_of(x);
  base.problem.input.kind = InputKind::tensors;
  base.problem.input.file = info.file;
  base.problem.mask.kind = Mask::Kind::causal;
  base.problem = fitted(base.problem, info.shape);
  Axis head{"head", {}};
  for (int i = 0; i < info.heads; ++i) head.values.push_back(std::to_string(i));
  const Sweep sweep{.base = base, .axes = {head}, .seeds = 1, .measure = {"a.rms/golden"}};
  const std::vector<SweepAnswer> answers = answer(sweep);
  const std::vector<double> a = means_of(sweep, "a.rms/golden", answers), b = means_of(sweep, "b.rms/golden", answers);
  std::vector<std::size_t> order(a.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::ranges::stable_sort(order, std::ranges::greater{}, [&](std::size_t i) { return a[i]; });
  Figure f{.name = "heads", .caption = {}, .panels = {{}}, .columns = 2};
  ui::FigurePanel& panel = f.panels[0];
  panel.y = ui::number_axis("RMS error / RMS of output", true);
  panel.series = {series_of("Flash", ui::Ink::a, ui::Shape::marks), series_of("three passes", ui::Ink::b, ui::Shape::marks)};
  for (const std::size_t i : order) {
    for (const auto& [s, values] : {std::pair{&panel.series[0], &a}, std::pair{&panel.series[1], &b}}) {
      s->x.push_back(static_cast<double>(panel.x.categories.size()));
      s->y.push_back((*values)[i]);
    }
    panel.x.categories.push_back(info.head_names[i]);
  }
  const double spread = a[order.front()] / a[order.back()];
  const auto worse = std::ranges::count_if(order, [&](std::size_t i) { return a[i] > b[i]; });
  f.caption = fmt::format(
      "Every head of the shipped grouped-query layers, the worst under {} first: {}{}. Flash's error is above that of three "
      "passes in {} of {} heads; N = {}, d = {}, causal, tile {} x {}, "
      "attoscope " ATTOSCOPE_VERSION ".",
      x.policy, panel.x.categories.front(),
      std::isfinite(spread) ? ", with " + two_digits(spread) + " times the least error of all heads" : "", worse, info.heads,
      base.problem.n, info.shape.d, base.a.block_q, base.a.block_k);
  return f;
}

Figure io(const ui::FigureSettings& x, const AnswerSweep&) {
  const Experiment e = base_of(x);
  Figure f{.name = "io", .caption = {}, .panels = {}, .columns = 2, .panels_across = 2};
  f.panels = {bytes_over("N", e, powers(128, 65536), [](Experiment& one, int n) { one.problem.n = n; }),
              bytes_over("on-chip memory M, elements", e, powers(4 * x.d, 4 * x.d * 1024),
                         [&](Experiment& one, int memory) { one = with_tiles(one, tiles_for_memory(memory, x.d)); })};
  FigureScope scope = scope_of(x);
  scope.figure = &f;
  f.caption = filled(
      "Bytes moved between HBM and on-chip memory, counted from the loops of each algorithm: in the first panel over N "
      "with 64 x 64 tiles, in the second over on-chip memory M at N = {N} with Bc = ceil(M/4d), Br = min(Bc, d). At the "
      "largest N FlashAttention moves "
      "{y0_1_last/y0_0_last:two} and FlashAttention-2 {y0_2_last/y0_0_last:two} of what attention without tiles moves; all "
      "grow with the square of N; d = {d}, bf16, {version}.",
      scope);
  return f;
}

}  // namespace attoscope::app::papers
