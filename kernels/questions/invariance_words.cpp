#include "kernels/questions/invariance_words.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <utility>
#include <vector>

#include "kernels/experiment/csv_text.h"

namespace attoscope {
namespace {

using Places = std::vector<std::size_t>;

/// "1, 2 and 4".
std::string enumerated(const std::vector<std::string>& names) {
  std::string text;
  for (std::size_t i = 0; i < names.size(); ++i) text += (i == 0 ? "" : i + 1 == names.size() ? " and " : ", ") + names[i];
  return text;
}

/// A schedule in words, or several that share all words but for lists of numbers: splits, block_k, order, sums.
using Part = std::array<std::string, 4>;

/// Joins parts that differ in one word alone into one, which lists them in the order of the first of each.
std::vector<Part> joined(const std::vector<Part>& all, std::size_t word) {
  std::vector<std::pair<Part, std::vector<std::string>>> groups;
  for (const Part& part : all) {
    Part rest = part;
    rest[word].clear();
    const auto own = std::ranges::find(groups, rest, [](const auto& g) { return g.first; });
    if (own == groups.end())
      groups.push_back({rest, {part[word]}});
    else if (std::ranges::find(own->second, part[word]) == own->second.end())
      own->second.push_back(part[word]);
  }
  std::vector<Part> parts;
  for (auto& [part, words] : groups) {
    part[word] = enumerated(words);
    parts.push_back(std::move(part));
  }
  return parts;
}

/// True if the schedules differ in the order of keys, so that texts name it.
bool orders_vary(const Invariance& answer) {
  const bool first = answer.runs[0].schedule.reverse_keys;
  return std::ranges::any_of(answer.runs, [&](const ScheduleRun& run) { return run.schedule.reverse_keys != first; });
}

/// "splits 1, 2 and 4 with block_k 64 forward in h100 sums": the order if orders vary, the sums unless they are those of the
/// first schedule alone.
std::string part_text(const Invariance& answer, const Part& part) {
  const auto& [splits, tiles, order, sums] = part;
  std::string text = "splits " + splits + " with block_k " + tiles;
  if (orders_vary(answer)) text += " " + order;
  return sums == sums_name(answer.runs[0].schedule) ? text : text + " in " + sums + " sums";
}

/// Texts of all of these, joined into products of lists where possible.
std::vector<std::string> parts_of(const Invariance& answer, const Places& places) {
  std::vector<Part> parts;
  for (const std::size_t i : places) {
    const Schedule& s = answer.runs[i].schedule;
    parts.push_back({std::to_string(s.splits), std::to_string(s.block_k), std::string(order_name(s)), sums_name(s)});
  }
  for (std::size_t word = 0; word < Part{}.size(); ++word) parts = joined(parts, word);
  std::vector<std::string> texts;
  for (const Part& part : parts) texts.push_back(part_text(answer, part));
  return texts;
}

/// The first few parts, and the number of schedules if those are not all.
std::string group_text(const Invariance& answer, const Places& places) {
  constexpr std::size_t most = 3;
  std::vector<std::string> parts = parts_of(answer, places);
  const std::size_t count = parts.size();
  std::string text;
  for (std::size_t i = 0; i < std::min(most, count); ++i) text += (i == 0 ? "" : ", and ") + parts[i];
  return count <= most ? text : text + ", and more, " + std::to_string(places.size()) + " schedules in all";
}

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
  const std::size_t nearest = nearest_of(answer);
  const ScheduleRun& run = answer.runs[nearest];
  const std::int64_t numbers = static_cast<std::int64_t>(answer.rows) * answer.columns;
  const std::string by =
      std::isnan(run.max_ulp) ? "" : " by at most " + three_digits(run.max_ulp) + " ulp of " + name(answer.experiment.format);
  return "the nearest, " + parts_of(answer, {nearest})[0] + ", differs in " + std::to_string(run.differing) + " of " +
         std::to_string(numbers) + " numbers of O" + by;
}

/// The largest group beside the reference's whose members may be mixed with each other; "": there is none.
std::string other_group_text(const Invariance& answer) {
  const Places* largest = nullptr;
  for (const Places& group : answer.groups)
    if (&group != &answer.groups[0] && group.size() > 1 && (largest == nullptr || group.size() > largest->size()))
      largest = &group;
  return largest == nullptr ? "" : "; " + group_text(answer, *largest) + " share other bits";
}

/// Scope of the answer: all rows, or some of them.
std::string scope_of(const Invariance& answer) {
  const int all = answer.experiment.problem.n;
  if (answer.rows == all) return "On these tensors ";
  return "On these tensors, in " + std::to_string(answer.rows) + " of " + std::to_string(all) + " rows, ";
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
  const Places& same = answer.groups[0];
  const std::size_t all = answer.runs.size(), others = all - same.size();
  if (all == 1) return "There is a single schedule, which cannot differ from itself.";
  const std::string scope = scope_of(answer);
  if (others == 0)
    return scope + "all " + std::to_string(all) +
           " schedules give the same bits and may be mixed: " + group_text(answer, same) + ".";
  const std::string rest = nearest_text(answer) + other_group_text(answer) + ".";
  if (same.size() == 1)
    return scope + "no other of " + std::to_string(all) + " schedules gives the bits of " + group_text(answer, same) + ": " +
           rest;
  return scope + group_text(answer, same) + " give the same bits and may be mixed; the other " + std::to_string(others) +
         (others == 1 ? " schedule does" : " schedules do") + " not: " + rest;
}

std::string invariance_csv(const Invariance& answer) {
  CsvText csv(
      "splits,block_k,order,qk_sums,pv_sums,group,same_bits,differing_in_row,row_numbers,differing,numbers,differing_rows,"
      "max_ulp,parting,tile,quantity,first_key,end_key,max_error,digest");
  for (std::size_t i = 0; i < answer.runs.size(); ++i) {
    const ScheduleRun& run = answer.runs[i];
    const Schedule& s = run.schedule;
    csv.add(s.splits).add(s.block_k).add(order_name(s)).add(name(s.accumulator.qk)).add(name(s.accumulator.pv));
    csv.add(group_of(answer, i)).add(static_cast<int>(run.same_bits())).add(run.differing_in_row).add(answer.columns);
    csv.add(run.differing).add(static_cast<std::int64_t>(answer.rows) * answer.columns).add(run.differing_rows);
    csv.add(run.max_ulp).add(name(run.place));
    if (const auto& p = run.parting.parting)
      csv.add(p->tile).add(p->quantity).add(run.parting.seen.first).add(run.parting.seen.end);
    else
      csv.add("").add("").add("").add("");
    csv.add(run.max_error).add(hex16(run.digest)).end_line();
  }
  return csv.take();
}

}  // namespace attoscope
