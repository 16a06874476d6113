#include "kernels/questions/clipping.h"

#include <algorithm>
#include <limits>

#include "kernels/experiment/rules.h"
#include "kernels/parallel/parallel.h"
#include "kernels/questions/row_tiles.h"
#include "kernels/stop_token.h"

namespace attoscope {
namespace {

/// A count within the range of its type.
std::uint16_t held(std::size_t count) {
  return static_cast<std::uint16_t>(std::min<std::size_t>(count, std::numeric_limits<std::uint16_t>::max()));
}

template <class T>
void count_rows(const std::vector<int>& rows, Clipping& c, const StopSign& stop) {
  const MethodRows<T> lone(c.experiment, false, stop);
  const Job<T>& job = lone.job();
  const RounderPlan<T>& plan = job[Step::P];
  parallel_for(std::size_t{0}, rows.size(), [&](std::size_t row) {
    for (const RowTile<T>& tile : row_run(job, rows[row], stop).tiles) {
      std::size_t saturated = 0, underflowed = 0;
      for (std::size_t i = 0; i < tile.P.size(); ++i) {
        const T from = tile.before_P[i], P = tile.P[i];
        underflowed += from > 0 && P == 0;
        saturated += plan.rounds() && from * job.P.factor > plan.largest && !(P < plan.beyond);  // a format may overflow to NaN
      }
      const std::size_t place = at(tile.tile) * rows.size() + row;
      c.saturated[place] = held(saturated);
      c.underflowed[place] = held(underflowed);
    }
  });
}

}  // namespace

Clipping clipping(const Experiment& e, int most_rows, const Options& options) {
  refuse(e, options.threads);
  Clipping c{.experiment = e, .saturated = {}, .underflowed = {}};
  if (!is_emulated(e.a.algorithm)) return c;
  c.tiles = key_tiles(e.a, key_count(e.problem));
  const std::vector<int> computed = computed_rows(e.problem);
  c.row_step = (static_cast<int>(computed.size()) - 1) / std::max(1, most_rows) + 1;
  std::vector<int> rows;
  for (std::size_t i = 0; i < computed.size(); i += at(c.row_step)) rows.push_back(computed[i]);
  c.saturated.assign(at(c.tiles) * rows.size(), 0);
  c.underflowed = c.saturated;
  const StopToken stop(options);
  on_threads(options.threads,
             [&] { works_in_double(e) ? count_rows<double>(rows, c, stop) : count_rows<float>(rows, c, stop); });
  return c;
}

}  // namespace attoscope
