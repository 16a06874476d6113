#include "kernels/questions/invariance_words.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <utility>

#include "kernels/experiment/text.h"

namespace attoscope {
namespace {

/// "1.5": three significant digits.
std::string three_digits(double x) {
  char text[32];
  return {text, std::to_chars(text, text + sizeof text, x, std::chars_format::general, 3).ptr};
}

/// The schedule with the fewest other numbers, of those that have any.
std::size_t nearest_of(const Invariance& answer) {
  std::size_t nearest = answer.groups[1][0];
  const auto distance = [&](std::size_t i) { return std::pair{answer.runs[i].differing, answer.runs[i].max_ulp}; };
  for (std::size_t i = nearest; i < answer.runs.size(); ++i)
    if (!answer.runs[i].same_bits() && distance(i) < distance(nearest)) nearest = i;
  return nearest;
}

std::string nearest_text(const Invariance& answer) {
  const ScheduleRun& run = answer.runs[nearest_of(answer)];
  const std::int64_t numbers = static_cast<std::int64_t>(answer.rows) * answer.columns;
  const std::string by =
      std::isnan(run.max_ulp) ? "" : " by at most " + three_digits(run.max_ulp) + " ulp of " + name(answer.experiment.format);
  return "the nearest, " + schedule_text(run.schedule) + ", differs in " + std::to_string(run.differing) + " of " +
         std::to_string(numbers) + " numbers of O" + by;
}

/// The tensors and rows that the sentence holds for.
std::string scope_of(const Invariance& answer) {
  const int all = answer.experiment.problem.n;
  if (answer.rows == all) return "On these tensors ";
  return "On these tensors, in " + std::to_string(answer.rows) + " of " + std::to_string(all) + " rows, ";
}

/// A run beside its group.
struct GroupedRun {
  const ScheduleRun* run;
  std::size_t group;
};
using Columns = std::vector<TableColumn<GroupedRun>>;

template <class Get>
TableColumn<GroupedRun> of_run(ColumnHeading heading, Get get) {
  return table_column<GroupedRun>(std::move(heading), [get](const GroupedRun& r) { return std::invoke(get, *r.run); });
}
template <class Get>
TableColumn<GroupedRun> of_schedule(ColumnHeading heading, Get get) {
  return of_run(std::move(heading), [get](const ScheduleRun& run) { return std::invoke(get, run.schedule); });
}
/// A column about the tile after which the traced row parts; empty if it does not.
template <class Get>
TableColumn<GroupedRun> of_parting(std::string key, Get get) {
  return of_run({.key = std::move(key), .shown = ColumnFor::files}, [get](const ScheduleRun& run) {
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
      table_column<GroupedRun>({.key = "group", .meaning = "Schedules of one group have the same bits.", .minor = true},
                               &GroupedRun::group),
      of_run({.key = "same_bits", .shown = files}, &ScheduleRun::same_bits),
      of_run(in_row, &ScheduleRun::differing_in_row),
      of_run({.key = "row_numbers", .shown = files}, [n = answer.columns](const ScheduleRun&) { return n; }),
      of_run({.key = "differing", .title = "all rows", .meaning = "The same in all rows.", .minor = true},
             &ScheduleRun::differing),
      of_run({.key = "numbers", .shown = files}, [numbers](const ScheduleRun&) { return numbers; }),
      of_run({.key = "differing_rows", .shown = files}, &ScheduleRun::differing_rows),
      of_run(
          {.key = "max_ulp", .title = "max ulp", .digits = 3, .meaning = "The largest difference in all rows.", .minor = true},
          &ScheduleRun::max_ulp)};
}

Columns parting_columns() {
  constexpr ColumnFor files = ColumnFor::files;
  return {of_run({.key = "parting", .shown = files}, [](const ScheduleRun& run) { return name(run.place); }),
          of_parting("tile", [](const RowParting& p) { return p.parting->tile; }),
          of_parting("quantity", [](const RowParting& p) { return p.parting->quantity; }),
          of_parting("first_key", [](const RowParting& p) { return p.seen.first; }),
          of_parting("end_key", [](const RowParting& p) { return p.seen.end; }),
          of_run({.key = "max_error", .title = "max |error|", .digits = 3, .meaning = "The largest |O - golden| in all rows."},
                 &ScheduleRun::max_error),
          of_run({.key = "parts",
                  .meaning = "The first tile after which the traced row's state has other bits.",
                  .shown = ColumnFor::people,
                  .minor = true},
                 parting_text),
          of_run({.key = "digest", .shown = files}, [](const ScheduleRun& run) { return hex16(run.digest); })};
}

}  // namespace

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
  const std::size_t all = answer.runs.size(), same = answer.groups[0].size();
  if (all == 1) return "There is a single schedule, which cannot differ from itself.";
  const std::string scope = scope_of(answer), of_all = std::to_string(all) + " schedules ",
                    first = schedule_text(answer.runs[0].schedule);
  if (same == all) return scope + "all " + of_all + "give the same bits and may be mixed.";
  if (same == 1) return scope + "no other of " + of_all + "gives the bits of " + first + ": " + nearest_text(answer) + ".";
  return scope + std::to_string(same) + " of " + of_all + "give the bits of " + first + " and may be mixed; of the others, " +
         nearest_text(answer) + ".";
}

Table invariance_table(const Invariance& answer) {
  std::vector<GroupedRun> runs;
  for (std::size_t i = 0; i < answer.runs.size(); ++i) runs.push_back({&answer.runs[i], group_of(answer, i)});
  Columns columns = schedule_columns();
  for (const Columns& more : {bits_columns(answer), parting_columns()}) columns.insert(columns.end(), more.begin(), more.end());
  return table_of(columns, std::span<const GroupedRun>(runs));
}

}  // namespace attoscope
