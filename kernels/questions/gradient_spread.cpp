#include "kernels/questions/gradient_spread.h"

#include <algorithm>
#include <stdexcept>

#include "kernels/deviation/deviation.h"
#include "kernels/experiment/text.h"
#include "kernels/parallel/parallel.h"
#include "kernels/questions/gradient_passes.h"
#include "kernels/questions/row_parting.h"
#include "kernels/stop_token.h"

namespace attoscope {
namespace {

std::vector<OrderRun> shuffled_orders(std::uint64_t seed) {
  std::vector<OrderRun> runs;
  for (int i = 0; i < spread_orders; ++i)
    runs.push_back({"shuffled " + std::to_string(i + 1), {GradOrder::shuffled, seed + static_cast<std::uint64_t>(i), 1}});
  return runs;
}

std::vector<OrderRun> fixed_schedules() {
  std::vector<OrderRun> runs{{"ascending", {.order = GradOrder::ascending}}, {"descending", {.order = GradOrder::descending}}};
  for (const int buffers : {1, 2, 4, 8})
    runs.push_back({std::to_string(buffers) + (buffers == 1 ? " buffer" : " buffers"), {GradOrder::buffers, 1, buffers}});
  return runs;
}

/// Number of elements that differ in any matrix.
std::int64_t moved_elements(std::span<const Matrix> all) {
  std::int64_t count = 0;
  for (std::size_t i = 0; i < all[0].values.size(); ++i)
    count += std::ranges::any_of(all, [&](const Matrix& m) { return !same_bits_of(m.values[i], all[0].values[i]); });
  return count;
}

/// Computes dQ of method a in all orders: shuffled, the schedules, and the schedules again.
void fill_spread(OrderSpread& spread, const PartialPasses& passes, const StopSign& stop) {
  const Experiment& e = spread.experiment;
  const std::vector<int> rows = computed_rows(e.problem);
  spread.shuffled = shuffled_orders(e.backward.a.order_seed);
  spread.schedules = fixed_schedules();
  std::vector<TileSchedule> orders;
  for (const auto* list : {&spread.shuffled, &spread.schedules, &spread.schedules})
    for (const OrderRun& run : *list) orders.push_back(run.schedule);
  const std::vector<Matrix> dq = passes.a->query_gradients(rows, orders);
  const TileSchedule any{};
  const Matrix exact_dq = passes.golden->query_gradients(rows, {&any, 1})[0];
  const Measured first = unsorted(dq[0], stop), golden = unsorted(exact_dq, stop);
  const auto measure = [&](OrderRun& run, const Matrix& m) {
    const Measured x = unsorted(m, stop);
    run.digest = x.digest;
    for (std::size_t i = 0; i < m.values.size(); ++i) run.moved += !same_bits_of(m.values[i], dq[0].values[i]);
    if (run.moved > 0) run.max_ulp = unordered_deviation(x, first, e.format, stop).max_ulp;
    run.mean_abs_error = unordered_deviation(x, golden, e.format, stop).mean_abs;
  };
  spread.elements = static_cast<std::int64_t>(dq[0].values.size());
  std::size_t next = 0;
  for (OrderRun& run : spread.shuffled) {
    measure(run, dq[next++]);
    spread.max_ulp = std::max(spread.max_ulp, run.max_ulp);
  }
  spread.moved = moved_elements(std::span(dq).first(next));
  for (OrderRun& run : spread.schedules) {
    measure(run, dq[next]);
    spread.schedules_repeat &= run.digest == digest(dq[next++ + spread.schedules.size()], stop);
  }
}

}  // namespace

OrderSpread order_spread(const Experiment& experiment, const Options& options) {
  OrderSpread spread{.experiment = experiment, .shuffled = {}, .schedules = {}};
  const StopToken stop(options);
  on_threads(options.threads, [&] {
    const std::shared_ptr<const PartialPasses> passes = gradient_passes(experiment, options, stop);
    if (!passes->a)
      throw std::invalid_argument("order_spread: method a is `" + std::string(name(experiment.a.algorithm)) +
                                  "`, expected an emulated algorithm");
    fill_spread(spread, *passes, stop);
  });
  return spread;
}

Table order_spread_table(const OrderSpread& spread) {
  std::vector<OrderRun> runs = spread.shuffled;
  runs.insert(runs.end(), spread.schedules.begin(), spread.schedules.end());
  const std::vector<TableColumn<OrderRun>> columns{
      table_column<OrderRun>({.key = "order"}, &OrderRun::what),
      table_column<OrderRun>({.key = "digest", .meaning = "The hash of dQ's bits.", .minor = true},
                             [](const OrderRun& r) { return hex16(r.digest); }),
      table_column<OrderRun>({.key = "moved", .meaning = "Elements of dQ with other bits than in the first order."},
                             &OrderRun::moved),
      table_column<OrderRun>(
          {.key = "max_ulp", .title = "max ulp", .digits = 3, .meaning = "The largest distance from the first order, in ulps."},
          &OrderRun::max_ulp),
      table_column<OrderRun>(
          {.key = "mean_abs_error", .title = "mean |error|", .digits = 3, .meaning = "The mean error of dQ against golden."},
          &OrderRun::mean_abs_error)};
  return table_of(columns, std::span<const OrderRun>(runs));
}

}  // namespace attoscope
