#include "kernels/questions/invariance.h"

#include <algorithm>
#include <utility>

#include "kernels/cpu/scaled_operands.h"
#include "kernels/experiment/result.h"
#include "kernels/experiment/text.h"
#include "kernels/questions/row_parting.h"
#include "kernels/stop_token.h"

namespace attoscope {
namespace {

/// The run, without the place at which the traced row parts.
ScheduleRun run_of(const Result& answer, const Schedule& schedule, int row) {
  const MethodsApart apart = counted_apart(answer);
  const auto place = static_cast<std::size_t>(std::ranges::find(answer.rows, row) - answer.rows.begin());
  return {.schedule = schedule,
          .differing = apart.differing,
          .differing_rows = apart.differing_rows,
          .differing_in_row = differing_in_row(answer, place),
          .max_ulp = apart.max_ulp,
          .max_error = answer.b_error.max_abs,
          .digest = answer.digests.b};
}

/// Options of run i of `count`; its progress is reported as a part of all runs.
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
RowRun<T> row_under(const Experiment& e, const Schedule& s, const Operands<T>& inputs, int row, const StopSign& stop) {
  const Method m = with_schedule(e.a, s);
  const MethodOperands<T> taken(e.problem, m, e.format, inputs, stop);
  return row_run(job(e.problem, m, e.format, taken.get()), row, stop);
}

PartingPlace place_of(const RowParting& found, const Schedule& reference, const Schedule& other) {
  if (found.parting) return PartingPlace::tile;
  if (found.common == 0) return PartingPlace::no_common;
  return reference.splits > 1 || other.splits > 1 ? PartingPlace::merge : PartingPlace::end;
}

/// Runs the traced row tile by tile under the reference and under each schedule that changes its bits.
template <class T>
void set_partings(Invariance& found, const StopSign& stop) {
  const Experiment& e = found.experiment;
  const Operands<T> inputs = common_operands<T>(e, stop);
  const Schedule& first = found.runs[0].schedule;
  const RowRun<T> reference = row_under(e, first, inputs, found.row, stop);
  for (ScheduleRun& run : found.runs) {
    if (run.differing_in_row == 0) continue;
    run.parting = row_parting(reference, row_under(e, run.schedule, inputs, found.row, stop));
    run.place = place_of(run.parting, first, run.schedule);
  }
}

/// Groups the runs by equal bits, and numbers them.
std::vector<std::vector<std::size_t>> groups_of(std::vector<ScheduleRun>& runs) {
  std::vector<std::vector<std::size_t>> groups;
  for (std::size_t i = 0; i < runs.size(); ++i) {
    const auto own = std::ranges::find_if(groups, [&](const auto& g) { return runs[g[0]].digest == runs[i].digest; });
    runs[i].group = static_cast<std::size_t>(own - groups.begin());
    if (own == groups.end()) groups.emplace_back();
    groups[runs[i].group].push_back(i);
  }
  return groups;
}

using Columns = std::vector<TableColumn<ScheduleRun>>;

template <class Get>
TableColumn<ScheduleRun> of_schedule(ColumnHeading heading, Get get) {
  return table_column<ScheduleRun>(std::move(heading),
                                   [get](const ScheduleRun& run) { return std::invoke(get, run.schedule); });
}
/// A column about the tile after which the traced row parts; empty if the row does not part at a tile.
template <class Get>
TableColumn<ScheduleRun> of_parting(std::string key, Get get) {
  return table_column<ScheduleRun>({.key = std::move(key), .shown = ColumnFor::files}, [get](const ScheduleRun& run) {
    return run.parting.parting ? TableCell{table_cell(get(run.parting))} : TableCell{};
  });
}

Columns schedule_columns() {
  constexpr ColumnFor files = ColumnFor::files, people = ColumnFor::people;
  return {of_schedule({.key = "splits"}, &Schedule::splits),
          of_schedule({.key = "block_k"}, &Schedule::block_k),
          of_schedule({.key = "order"}, order_name),
          of_schedule({.key = "sums", .shown = people}, sums_name),
          of_schedule({.key = "qk_sums", .shown = files}, [](const Schedule& s) { return name(s.accumulator.qk); }),
          of_schedule({.key = "pv_sums", .shown = files}, [](const Schedule& s) { return name(s.accumulator.pv); })};
}

Columns bits_columns(const Invariance& answer) {
  constexpr ColumnFor files = ColumnFor::files;
  const std::int64_t numbers = static_cast<std::int64_t>(answer.rows) * answer.columns;
  const ColumnHeading in_row{.key = "differing_in_row",
                             .title = "row " + std::to_string(answer.row),
                             .meaning = "Numbers of O in the traced row with other bits than under the first schedule."};
  return {
      table_column<ScheduleRun>({.key = "group", .meaning = "Schedules of one group have the same bits.", .minor = true},
                                &ScheduleRun::group),
      table_column<ScheduleRun>({.key = "same_bits", .shown = files}, &ScheduleRun::same_bits),
      table_column<ScheduleRun>(in_row, &ScheduleRun::differing_in_row),
      table_column<ScheduleRun>({.key = "row_numbers", .shown = files}, [n = answer.columns](const auto&) { return n; }),
      table_column<ScheduleRun>({.key = "differing", .title = "all rows", .meaning = "The same in all rows.", .minor = true},
                                &ScheduleRun::differing),
      table_column<ScheduleRun>({.key = "numbers", .shown = files}, [numbers](const ScheduleRun&) { return numbers; }),
      table_column<ScheduleRun>({.key = "differing_rows", .shown = files}, &ScheduleRun::differing_rows),
      table_column<ScheduleRun>(
          {.key = "max_ulp", .title = "max ulp", .digits = 3, .meaning = "The largest difference in all rows.", .minor = true},
          &ScheduleRun::max_ulp)};
}

Columns parting_columns() {
  constexpr ColumnFor files = ColumnFor::files;
  return {
      table_column<ScheduleRun>({.key = "parting", .shown = files}, [](const ScheduleRun& run) { return name(run.place); }),
      of_parting("tile", [](const RowParting& p) { return p.parting->tile; }),
      of_parting("quantity", [](const RowParting& p) { return p.parting->quantity; }),
      of_parting("first_key", [](const RowParting& p) { return p.seen.first; }),
      of_parting("end_key", [](const RowParting& p) { return p.seen.end; }),
      table_column<ScheduleRun>(
          {.key = "max_error", .title = "max |error|", .digits = 3, .meaning = "The largest |O - golden| in all rows."},
          &ScheduleRun::max_error),
      table_column<ScheduleRun>({.key = "parts",
                                 .meaning = "The first tile after which the traced row's state has other bits.",
                                 .shown = ColumnFor::people,
                                 .minor = true},
                                parting_text),
      table_column<ScheduleRun>({.key = "digest", .shown = files}, [](const ScheduleRun& run) { return hex16(run.digest); })};
}

}  // namespace

Experiment invariance_question(const Experiment& asked) {
  Experiment e = asked;
  e.b = asked.a;
  e.loaded = {};
  e.backward = {};
  return e;
}

Invariance invariance(const Experiment& asked, const std::vector<Schedule>& list, const Options& options) {
  Invariance found;
  const Experiment& e = found.experiment = invariance_question(asked);
  found.row = traced_row(e.problem);
  found.columns = value_columns(e.problem);
  ComputeCache cache;
  Experiment pair = e;  // a: the reference schedule, b: the other one
  pair.a = with_schedule(e.a, list[0]);
  for (std::size_t i = 0; i < list.size(); ++i) {
    pair.b = with_schedule(e.a, list[i]);
    const Result answer = compute(pair, of_run(options, cache, i, list.size()));
    found.rows = static_cast<int>(answer.rows.size());
    found.runs.push_back(run_of(answer, list[i], found.row));
  }
  found.groups = groups_of(found.runs);
  const bool differs = std::ranges::any_of(found.runs, [](const ScheduleRun& run) { return run.differing_in_row > 0; });
  const StopToken stop(options);
  if (differs) works_in_double(e) ? set_partings<double>(found, stop) : set_partings<float>(found, stop);
  return found;
}

Invariance invariance(const Experiment& experiment, const Options& options) {
  return invariance(experiment, schedules(experiment), options);
}

std::string schedule_text(const Schedule& s) {
  const std::string sums = s.accumulator == Accumulators{} ? "" : " in " + sums_name(s) + " sums";
  return "splits " + std::to_string(s.splits) + " with block_k " + std::to_string(s.block_k) + " " +
         std::string(order_name(s)) + sums;
}

std::string parting_text(const ScheduleRun& run) {
  switch (run.place) {
    case PartingPlace::nowhere:
      return "";
    case PartingPlace::tile:
      return std::string(run.parting.parting->quantity) + " after tile " + std::to_string(run.parting.parting->tile) +
             ", keys " + std::to_string(run.parting.seen.first) + " .. " + std::to_string(run.parting.seen.end - 1);
    case PartingPlace::merge:
      return "only in the merge of splits";
    case PartingPlace::end:
      return "only after the last tile";
    case PartingPlace::no_common:
      return "no state of the same keys";
  }
  return "";
}

std::string invariance_sentence(const Invariance& answer) {
  const std::size_t same = answer.groups[0].size();
  return std::to_string(same) + " of " + counted(static_cast<std::int64_t>(answer.runs.size()), "schedule") +
         (same == 1 ? " gives" : " give") + " the bits of " + schedule_text(answer.runs[0].schedule) +
         " in the computed rows of these tensors.";
}

Table invariance_table(const Invariance& answer) {
  Columns columns = schedule_columns();
  for (const Columns& more : {bits_columns(answer), parting_columns()}) columns.insert(columns.end(), more.begin(), more.end());
  return table_of(columns, std::span<const ScheduleRun>(answer.runs));
}

}  // namespace attoscope
