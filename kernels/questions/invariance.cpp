#include "kernels/questions/invariance.h"

#include <algorithm>

#include "kernels/cancelled_sign.h"
#include "kernels/cpu/scaled_operands.h"
#include "kernels/experiment/result.h"
#include "kernels/questions/methods_apart.h"
#include "kernels/questions/row_parting.h"

namespace attoscope {
namespace {

/// The reference as a and another schedule as b.
Experiment pair_of(const Experiment& e, const Schedule& reference, const Schedule& other) {
  Experiment pair = e;
  pair.a = with_schedule(e.a, reference);
  pair.b = with_schedule(e.a, other);
  return pair;
}

/// Index of the traced row among the computed ones.
std::size_t place_of_row(const Result& answer, int row) {
  return static_cast<std::size_t>(std::ranges::find(answer.rows, row) - answer.rows.begin());
}

/// The run without the place where the row parts.
ScheduleRun run_of(const Result& answer, const Schedule& schedule, int row) {
  const MethodsApart apart = counted_apart(answer);
  return {.schedule = schedule,
          .differing = apart.differing,
          .differing_rows = apart.differing_rows,
          .differing_in_row = differing_in_row(answer, place_of_row(answer, row)),
          .max_ulp = apart.max_ulp,
          .max_error = answer.b_error.max_abs,
          .digest = answer.digests.b};
}

/// Options of run i of `count`, which report the progress of all runs together.
Options of_run(const Options& options, ComputeCache& cache, std::size_t i, std::size_t count) {
  Options own = options;
  own.cache = &cache;
  if (options.progress)
    own.progress = [&options, i, count](double share) {
      options.progress((static_cast<double>(i) + share) / static_cast<double>(count));
    };
  return own;
}

template <class T>
TiledRow<T> row_under(const Experiment& e, const Schedule& s, const Operands<T>& inputs, int row, const StopSign& stop) {
  const Method m = with_schedule(e.a, s);
  const MethodOperands<T> taken(e.problem, m, e.format, inputs, stop);
  return tiled_row(job(e.problem, m, e.format, taken.get()), row, stop);
}

PartingPlace place_of(const RowParting& found, const Schedule& reference, const Schedule& other) {
  if (found.parting) return PartingPlace::tile;
  if (found.common == 0) return PartingPlace::no_common;
  return reference.splits > 1 || other.splits > 1 ? PartingPlace::merge : PartingPlace::end;
}

/// Runs the traced row tile by tile under the reference and each schedule that gives it other bits.
template <class T>
void set_partings(Invariance& found, const StopSign& stop) {
  const Experiment& e = found.experiment;
  const Operands<T> inputs = common_operands<T>(e, stop);
  const Schedule& first = found.runs[0].schedule;
  const TiledRow<T> reference = row_under(e, first, inputs, found.row, stop);
  for (ScheduleRun& run : found.runs) {
    if (run.differing_in_row == 0) continue;
    run.parting = row_parting(reference, row_under(e, run.schedule, inputs, found.row, stop));
    run.place = place_of(run.parting, first, run.schedule);
  }
}

std::vector<std::vector<std::size_t>> groups_of(const std::vector<ScheduleRun>& runs) {
  std::vector<std::vector<std::size_t>> groups;
  for (std::size_t i = 0; i < runs.size(); ++i) {
    const auto own = std::ranges::find_if(groups, [&](const auto& g) { return runs[g[0]].digest == runs[i].digest; });
    if (own == groups.end())
      groups.push_back({i});
    else
      own->push_back(i);
  }
  return groups;
}

}  // namespace

std::size_t group_of(const Invariance& answer, std::size_t run) {
  const auto has = [run](const auto& group) { return std::ranges::find(group, run) != group.end(); };
  return static_cast<std::size_t>(std::ranges::find_if(answer.groups, has) - answer.groups.begin());
}

Experiment invariance_question(const Experiment& asked) {
  Experiment e = asked;
  e.b = asked.a;
  e.loaded = {};
  return e;
}

Invariance invariance(const Experiment& asked, const std::vector<Schedule>& list, const Options& options) {
  Invariance found;
  const Experiment& e = found.experiment = invariance_question(asked);
  found.row = traced_row(e.problem);
  found.columns = value_columns(e.problem);
  ComputeCache cache;
  for (std::size_t i = 0; i < list.size(); ++i) {
    const Result answer = compute(pair_of(e, list[0], list[i]), of_run(options, cache, i, list.size()));
    found.rows = static_cast<int>(answer.rows.size());
    found.runs.push_back(run_of(answer, list[i], found.row));
  }
  found.groups = groups_of(found.runs);
  const bool differs = std::ranges::any_of(found.runs, [](const ScheduleRun& run) { return run.differing_in_row > 0; });
  const CancelledSign stop(options.cancelled);
  if (differs) works_in_double(e) ? set_partings<double>(found, stop) : set_partings<float>(found, stop);
  return found;
}

Invariance invariance(const Experiment& experiment, const Options& options) {
  return invariance(experiment, schedules(experiment), options);
}

}  // namespace attoscope
