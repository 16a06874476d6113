// Over the ways to cut the keys: splits by keys of a tile.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "app/papers/paper_figures.h"
#include "app/papers/parts.h"
#include "app/papers/seen.h"
#include "app/sweep/table.h"
#include "app/words/numbers.h"
#include "kernels/experiment/rules.h"

namespace attoscope::papers {
namespace {

/// The least of three sizes of tiles, each twice the one before: 32 keys, fewer where there are few.
int least_tile(const FigureSettings& x) { return std::clamp(x.n / 8, 1, 32); }
int reference_tile(const FigureSettings& x) { return 2 * least_tile(x); }

/// One query: a without splits, b with splits.
Experiment decode_of(const FigureSettings& x) {
  Experiment e = base_of(x);
  e.problem.n = 1;
  e.problem.n_k = x.n;
  e.a.algorithm = Algorithm::flash2;
  e.a.block_k = reference_tile(x);
  e.b = e.a;
  e.b.algorithm = Algorithm::split_kv;
  return e;
}

Axis splits_of(const FigureSettings& x) {
  return {"b.splits", powers(1, std::min(max_splits, tile_count(x.n, least_tile(x))))};
}
Axis tiles_of(const FigureSettings& x) { return {"b.block_k", powers(least_tile(x), 4 * least_tile(x))}; }

/// One way to cut the keys, and how far its O is from the reference's.
struct Cut {
  int splits = 1, block_k = 1;
  double max_ulp = 0;     ///< mean over the seeds
  bool same_bits = true;  ///< for every seed
  bool has_tiles = true;  ///< one for each split at least
};

/// In the order of the table's rows.
std::vector<Cut> cuts_of(const FigureSettings& x, const Sweep& sweep, const std::vector<SweepRow>& table,
                         const std::vector<SweepAnswer>& answers) {
  std::vector<Cut> cuts;
  for (const SweepRow& row : table) {
    Cut& c = cuts.emplace_back();
    c.splits = to_number<int>(row.values[0]).value_or(1);
    c.block_k = to_number<int>(row.values[1]).value_or(1);
    c.max_ulp = row.mean;
    c.has_tiles = c.splits <= tile_count(x.n, c.block_k);
  }
  const std::size_t down = sweep.axes[1].values.size();
  for (const SweepAnswer& a : answers) {
    const PointPlace place = place_of(sweep, a.index);
    Cut& c = cuts[static_cast<std::size_t>(place.at[0]) * down + static_cast<std::size_t>(place.at[1])];
    c.same_bits = c.same_bits && a.summary && a.summary->a_digest == a.summary->b_digest;
  }
  return cuts;
}

/// The cuts as a heat map; nothing where a split would have no tile.
FigurePanel panel_of_cuts(const FigureSettings& x, const Sweep& sweep, const std::vector<SweepRow>& table,
                          const std::vector<Cut>& cuts) {
  FigurePanel panel = sweep_figure("", sweep, sweep.measure, table, {.heat_map = true}).panels[0];
  panel.title = "policy " + x.policy;
  panel.x.label = "splits";
  panel.y.label = "block_k";
  FigureHeat& heat = *panel.heat;
  heat.label = "largest difference, ulps of bf16";
  heat.colours.nothing = 0xc9ccd1;  // the same bits are white
  const std::size_t down = sweep.axes[1].values.size();
  for (std::size_t i = 0; i < cuts.size(); ++i)
    if (!cuts[i].has_tiles) heat.values[i % down * static_cast<std::size_t>(heat.width) + i / down] = FigureHeat::nothing;
  return panel;
}

std::string seen_in(const FigureSettings& x, const std::vector<Cut>& cuts) {
  int others = 0, same = 0;
  const Cut* furthest = nullptr;
  for (const Cut& c : cuts) {
    if (!c.has_tiles || (c.splits == 1 && c.block_k == reference_tile(x))) continue;
    ++others;
    same += c.same_bits;
    if (furthest == nullptr || c.max_ulp > furthest->max_ulp) furthest = &c;
  }
  const std::string start = fmt::format("Under {} {} of the {} other schedules {} the same bits for every seed", x.policy,
                                        same == 0 ? "none" : std::to_string(same), others, same < 2 ? "gives" : "give");
  if (furthest == nullptr || same == others) return start;
  return fmt::format("{}; splits {} with block_k {} differ most, by {} ulps", start, furthest->splits, furthest->block_k,
                     two_digits(furthest->max_ulp));
}

}  // namespace

Figure invariance(const FigureSettings& x, const AnswerSweep& answer) {
  Figure f = figure_of("invariance", x.all_policies ? 2 : 1);
  f.caption = fmt::format(
      "Decode: one query over N keys. Largest difference of O, in ulps of bf16, from the schedule without splits and with {} "
      "keys a tile; 0 is the same bits; grey: a split would have no tile. ",
      reference_tile(x));
  for (const std::string& rounding : policies_of(x)) {
    FigureSettings own = x;
    own.policy = rounding;
    Sweep sweep = two_axes(own, decode_of(own), splits_of(x), tiles_of(x));
    sweep.measure = {"a_minus_b.max_ulp"};
    const std::vector<SweepAnswer> answers = answer(sweep);
    const std::vector<SweepRow> table = rows(sweep, sweep.measure, answers);
    const std::vector<Cut> cuts = cuts_of(own, sweep, table, answers);
    f.panels.push_back(panel_of_cuts(own, sweep, table, cuts));
    f.caption += seen_in(own, cuts) + "; ";
  }
  f.caption += conditions(x, decode_of(x), "tile");
  return f;
}

}  // namespace attoscope::papers
