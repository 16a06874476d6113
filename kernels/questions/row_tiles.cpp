#include "kernels/questions/row_tiles.h"

#include <algorithm>
#include <utility>

#include "kernels/cpu/inputs.h"
#include "kernels/experiment/experiment.h"
#include "kernels/recurrence/row_steps.h"

namespace attoscope {
namespace {

/// Keeps every tile of a block of one row.
template <class T>
class TileCollector final : public Recorder<T> {
 public:
  /// Keeps `d` columns of O, and of S and P the `visible` keys: storage of P in blocks adds keys before them.
  TileCollector(int d, const Keys& visible) : d_(d), visible_(visible) {}

  int kept_lane(const RowBlock&) const override { return 0; }

  void tile(const RowBlock&, const TileView<T>& view) override {
    restarts_ = restarts_ || view.restarts;
    if (view.takes_part[0] == 0) return;
    const int first = std::max(view.first_key, visible_.first), end = std::min(view.end_key, visible_.end);
    const auto of_keys = [&](const T* x) {
      std::vector<T> all;
      for (int key = first; key < end; ++key) all.push_back(x[(key - view.first_key) * view.lane_stride]);
      return all;
    };
    tiles.push_back({.tile = view.tile,
                     .first_key = first,
                     .restarts = std::exchange(restarts_, false),
                     .m = view.m[0],
                     .l = view.l[0],
                     .alpha = view.alpha[0],
                     .S = of_keys(view.S),
                     .before_P = of_keys(view.e),
                     .P = of_keys(view.P),
                     .O = {}});
    for (int c = 0; c < d_; ++c) tiles.back().O.push_back(view.o[static_cast<std::ptrdiff_t>(c) * view.stride]);
  }

  std::vector<RowTile<T>> tiles;

 private:
  int d_;
  Keys visible_;
  bool restarts_ = false;  ///< a run began, and the row has seen no key of it yet
};

/// Recomputes the second pass of two_pass, which the lanes do not report: e from the final m, P = round(e / l).
template <class T>
void second_pass(const Job<T>& job, int row, std::vector<RowTile<T>>& tiles) {
  if (tiles.empty()) return;
  const RowSteps<T> steps(job, row);
  const T m = tiles.back().m, l = steps.with_sink(tiles.back().l, m);
  for (RowTile<T>& tile : tiles)
    for (std::size_t i = 0; i < tile.S.size(); ++i) {
      const int key = tile.first_key + static_cast<int>(i);
      tile.before_P[i] = steps.weight(tile.S[i], m, key) / l;
      tile.P[i] = steps.rounded(Step::P, tile.before_P[i], key, 0);
    }
}

/// The inputs of a, or of b, whose input step may round them again.
template <class T>
Operands<T> own_operands(const Experiment& e, bool of_b, const StopSign& stop) {
  Operands<T> given = common_operands<T>(e, stop);
  const Rounding own = e.b.precision[Step::input];
  if (!of_b || own == exact || own == e.a.precision[Step::input]) return given;
  return operands<T>(*as_tensors(given, shape_of(e.problem), stop), own, e.format, e.problem.seed, stop);
}

}  // namespace

template <class T>
Operands<T> common_operands(const Experiment& e, const StopSign& stop) {
  return operands<T>(*raw_inputs(e.problem, stop), e.a.precision[Step::input], e.format, e.problem.seed, stop);
}

template <class T>
RowRun<T> row_run(const Job<T>& job, int row, const StopSign& stop, RoundingLog* log) {
  TileCollector<T> collector(job.d_v, job.keys_of(row));
  std::vector<double> output =
      log != nullptr ? recorded_run(job, row, collector, *log) : run(job, {row}, &collector, stop).values;
  if (job.method.algorithm == Algorithm::two_pass) second_pass(job, row, collector.tiles);
  if (job.method.algorithm == Algorithm::three_pass)
    for (RowTile<T>& tile : collector.tiles)
      for (T& x : tile.before_P) x = x / tile.l;
  return {std::move(collector.tiles), std::move(output), job.n, job.reversed};
}

template <class T>
MethodRows<T>::MethodRows(const Experiment& e, bool of_b, const StopSign& stop)
    : given_(own_operands<T>(e, of_b, stop)),
      taken_(e.problem, of_b ? e.b : e.a, e.format, given_, stop),
      job_(attoscope::job(e.problem, of_b ? e.b : e.a, e.format, taken_.get())) {}

template Operands<float> common_operands(const Experiment&, const StopSign&);
template Operands<double> common_operands(const Experiment&, const StopSign&);
template class MethodRows<float>;
template class MethodRows<double>;
template RowRun<float> row_run(const Job<float>&, int, const StopSign&, RoundingLog*);
template RowRun<double> row_run(const Job<double>&, int, const StopSign&, RoundingLog*);

}  // namespace attoscope
