#include "kernels/questions/key_orders.h"

#include <algorithm>
#include <cmath>
#include <memory>
#include <span>
#include <stdexcept>
#include <string>

#include "kernels/experiment/experiment.h"
#include "kernels/questions/row_tiles.h"

namespace attoscope {
namespace {

/// The tensors with keys and values in this order.
Tensors in_order(const Tensors& given, std::span<const int> order) {
  Tensors moved = given;
  for (std::size_t i = 0; i < order.size(); ++i) {
    const auto row = static_cast<std::ptrdiff_t>(i), from = static_cast<std::ptrdiff_t>(order[i]);
    std::copy_n(given.k.begin() + from * given.d, given.d, moved.k.begin() + row * given.d);
    std::copy_n(given.v.begin() + from * given.d_v, given.d_v, moved.v.begin() + row * given.d_v);
  }
  return moved;
}

template <class T>
OrderedRow run_in(const Experiment& e, std::vector<int> order) {
  const StopSign never;
  const MethodRows<T> a(e, false, never);
  const std::shared_ptr<const Tensors> inputs = as_tensors(a.given(), shape_of(e.problem), never);
  const RowRun<T> mine = row_run(a.job(), 0, never);
  const std::vector<double> exact = row_run(golden_job(e.problem, *inputs), 0, never).output;
  OrderedRow row{.order = std::move(order)};
  for (std::size_t t = 1; t < mine.tiles.size(); ++t) row.rescales += mine.tiles[t].m > mine.tiles[t - 1].m ? 1 : 0;
  for (std::size_t c = 0; c < exact.size(); ++c) {
    const double error = std::fabs(mine.output[c] - exact[c]);
    if (!std::isnan(row.error) && !(error <= row.error)) row.error = error;
  }
  return row;
}

OrderedRow run(Experiment e, const Tensors& given, std::vector<int> order) {
  e.problem.input.tensors = std::make_shared<const Tensors>(in_order(given, order));
  return works_in_double(e) ? run_in<double>(e, std::move(order)) : run_in<float>(e, std::move(order));
}

const Tensors& tensors_of(const Experiment& e) {
  if (!e.problem.input.tensors) throw std::invalid_argument("orders of keys: there are no tensors, expected those of one row");
  return *e.problem.input.tensors;
}

}  // namespace

OrderedRow row_in_order(const Experiment& experiment, std::vector<int> order) {
  const Tensors& given = tensors_of(experiment);
  std::vector<int> sorted = order;
  std::ranges::sort(sorted);
  if (sorted != numbers(given.n_k))
    throw std::invalid_argument("the order does not name each of the " + std::to_string(given.n_k) + " keys once");
  return run(experiment, given, std::move(order));
}

OrderedRow worst_order(const Experiment& experiment, const Cancelled& cancelled) {
  const Tensors& given = tensors_of(experiment);
  if (given.n_k > most_ordered_keys)
    throw std::invalid_argument("there are " + std::to_string(given.n_k) + " keys, expected at most " +
                                std::to_string(most_ordered_keys) + " whose orders can all be run");
  std::vector<int> order = numbers(given.n_k);
  OrderedRow worst = run(experiment, given, order);
  while (std::next_permutation(order.begin(), order.end())) {
    if (cancelled && cancelled()) throw Stopped{};
    OrderedRow row = run(experiment, given, order);
    if (row.error > worst.error || (std::isnan(row.error) && !std::isnan(worst.error))) worst = std::move(row);
  }
  return worst;
}

}  // namespace attoscope
