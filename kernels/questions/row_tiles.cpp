#include "kernels/questions/row_tiles.h"

#include "kernels/cpu/inputs.h"
#include "kernels/cpu/scaled_operands.h"
#include "kernels/experiment/experiment.h"
#include "kernels/recurrence/row_steps.h"

namespace attoscope {
namespace {

/// Keeps every tile of a block of one row.
template <class T>
class TileCollector final : public Recorder<T> {
 public:
  explicit TileCollector(int d) : d_(d) {}

  int kept_lane(const RowBlock&) const override { return 0; }

  void tile(const RowBlock&, const TileView<T>& view) override {
    if (view.takes_part[0] == 0) return;
    const std::size_t keys = static_cast<std::size_t>(view.end_key - view.first_key);
    tiles.push_back({.tile = view.tile,
                     .first_key = view.first_key,
                     .restarts = view.restarts,
                     .m = view.m[0],
                     .l = view.l[0],
                     .alpha = view.alpha[0],
                     .S = {view.S, view.S + keys},
                     .before_P = {view.e, view.e + keys},
                     .P = {view.P, view.P + keys},
                     .O = {}});
    for (int c = 0; c < d_; ++c) tiles.back().O.push_back(view.o[static_cast<std::ptrdiff_t>(c) * view.stride]);
  }

  std::vector<RowTile<T>> tiles;

 private:
  int d_;
};

/// The second pass of two_pass, which is not reported: e from the final m, P = round(e / l).
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

}  // namespace

template <class T>
Operands<T> common_operands(const Experiment& e, const StopSign& stop) {
  return operands<T>(*raw_inputs(e.problem, stop), e.a.precision[Step::input], e.format, e.problem.seed, stop);
}

template <class T>
RowRun<T> row_run(const Job<T>& job, int row, const StopSign& stop) {
  TileCollector<T> collector(job.d_v);
  Matrix output = run(job, {row}, &collector, stop);
  if (job.method.algorithm == Algorithm::two_pass) second_pass(job, row, collector.tiles);
  if (job.method.algorithm == Algorithm::three_pass)
    for (RowTile<T>& tile : collector.tiles)
      for (T& x : tile.before_P) x = x / tile.l;
  return {std::move(collector.tiles), std::move(output.values)};
}

template <class T>
std::vector<RowTile<T>> row_tiles(const Job<T>& job, int row, const StopSign& stop) {
  return row_run(job, row, stop).tiles;
}

template <class T>
MethodRows<T>::MethodRows(const Experiment& e, bool of_b, const StopSign& stop) : operands_(common_operands<T>(e, stop)) {
  const Method& m = of_b ? e.b : e.a;
  const Rounding own = m.precision[Step::input];
  if (of_b && own != exact && own != e.a.precision[Step::input])
    operands_ = operands<T>(*as_tensors(operands_, shape_of(e.problem), stop), own, e.format, e.problem.seed, stop);
  const MethodOperands<T> taken(e.problem, m, e.format, operands_, stop);
  if (!taken.shared()) operands_ = Operands<T>(taken.get());
  job_ = attoscope::job(e.problem, m, e.format, operands_);
}

template <class T>
SingleRowRuns<T>::SingleRowRuns(const Experiment& e, const StopSign& stop) : operands_(common_operands<T>(e, stop)) {
  inputs_ = as_tensors(operands_, shape_of(e.problem), stop);
  const MethodOperands<T> taken(e.problem, e.a, e.format, operands_, stop);
  if (!taken.shared()) operands_ = Operands<T>(taken.get());
  a_ = job(e.problem, e.a, e.format, operands_);
  golden_ = job(e.problem, Method{.algorithm = Algorithm::three_pass}, e.format, Operands<double>{});
  golden_.q = inputs_->q.data();
  golden_.k = inputs_->k.data();
  golden_.v = inputs_->v.data();
}

template Operands<float> common_operands(const Experiment&, const StopSign&);
template Operands<double> common_operands(const Experiment&, const StopSign&);
template class MethodRows<float>;
template class MethodRows<double>;
template class SingleRowRuns<float>;
template class SingleRowRuns<double>;
template RowRun<float> row_run(const Job<float>&, int, const StopSign&);
template RowRun<double> row_run(const Job<double>&, int, const StopSign&);
template std::vector<RowTile<float>> row_tiles(const Job<float>&, int, const StopSign&);
template std::vector<RowTile<double>> row_tiles(const Job<double>&, int, const StopSign&);

}  // namespace attoscope
