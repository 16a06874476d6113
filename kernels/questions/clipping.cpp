#include "kernels/questions/clipping.h"

#include <algorithm>
#include <limits>

#include "kernels/experiment/rules.h"
#include "kernels/parallel/parallel.h"
#include "kernels/questions/row_tiles.h"
#include "kernels/stop_token.h"

namespace attoscope {
namespace {

/// The counts of a tile, limited to the range of their type.
struct TileCounts {
  std::uint16_t saturated = 0, underflowed = 0;
};

std::uint16_t held(std::size_t count) {
  return static_cast<std::uint16_t>(std::min<std::size_t>(count, std::numeric_limits<std::uint16_t>::max()));
}

template <class T>
TileCounts counts(const Job<T>& job, const RowTile<T>& tile) {
  const RounderPlan<T>& plan = job[Step::P];
  std::size_t saturated = 0, underflowed = 0;
  for (std::size_t i = 0; i < tile.P.size(); ++i) {
    const T from = tile.before_P[i], P = tile.P[i];
    underflowed += from > 0 && P == 0;
    saturated += plan.rounds() && from * job.P.factor > plan.largest && !(P < plan.beyond);  // NaN, where that is its overflow
  }
  return {held(saturated), held(underflowed)};
}

template <class T>
void count_rows(const std::vector<int>& rows, Clipping& c, const StopSign& stop) {
  const MethodRows<T> lone(c.experiment, false, stop);
  const std::size_t sampled = rows.size();
  parallel_for(std::size_t{0}, sampled, [&](std::size_t i) {
    for (const RowTile<T>& tile : row_run(lone.job(), rows[i], stop).tiles) {
      const TileCounts found = counts(lone.job(), tile);
      const std::size_t at = static_cast<std::size_t>(tile.tile) * sampled + i;
      c.saturated[at] = found.saturated;
      c.underflowed[at] = found.underflowed;
    }
  });
}

/// Every row_step-th of the rows that are computed.
std::vector<int> sampled_rows(const Problem& p, int row_step) {
  const std::vector<int> all = computed_rows(p);
  std::vector<int> rows;
  for (std::size_t i = 0; i < all.size(); i += static_cast<std::size_t>(row_step)) rows.push_back(all[i]);
  return rows;
}

}  // namespace

Clipping clipping(const Experiment& e, int most_rows, const Options& options) {
  refuse(e, options.threads);
  Clipping c{.experiment = e, .saturated = {}, .underflowed = {}};
  if (!is_emulated(e.a.algorithm)) return c;
  c.tiles = key_tiles(e.a, key_count(e.problem));
  const int computed = e.problem.rows == 0 ? e.problem.n : std::min(e.problem.rows, e.problem.n);
  c.row_step = (computed - 1) / std::max(1, most_rows) + 1;
  const std::vector<int> rows = sampled_rows(e.problem, c.row_step);
  c.saturated.assign(static_cast<std::size_t>(c.tiles) * rows.size(), 0);
  c.underflowed = c.saturated;
  const StopToken stop(options.cancelled);
  on_threads(options.threads,
             [&] { works_in_double(e) ? count_rows<double>(rows, c, stop) : count_rows<float>(rows, c, stop); });
  return c;
}

}  // namespace attoscope
