/// `attoscope invariance`: compares a row's bits over tile sizes, splits and orders of its keys.
#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <stdexcept>
#include <string>

#include "app/commands/commands.h"
#include "app/json/json.h"
#include "app/session/session.h"
#include "app/words/devices.h"
#include "app/words/field_setter.h"
#include "app/words/numbers.h"
#include "kernels/experiment/accumulators.h"
#include "kernels/questions/invariance.h"

namespace attoscope::app {
namespace {

std::int64_t numbers_of(const Invariance& answer) { return static_cast<std::int64_t>(answer.rows) * answer.columns; }

Json schedule_json(const Schedule& s) {
  return {{"splits", s.splits},
          {"block_k", s.block_k},
          {"order", order_name(s)},
          {"accumulator", {{"qk", name(s.accumulator.qk)}, {"pv", name(s.accumulator.pv)}}}};
}

/// First place from which the traced row differs; "tile" is null if that place is no tile.
Json parting_json(const ScheduleRun& run) {
  Json json{{"place", name(run.place)}, {"tile", nullptr}};
  if (const auto& p = run.parting.parting)
    json["tile"] = {{"tile", p->tile},
                    {"tiles", p->tiles},
                    {"quantity", p->quantity},
                    {"first_key", run.parting.seen.first},
                    {"end_key", run.parting.seen.end}};
  return json;
}

Json run_json(const ScheduleRun& run) {
  Json json = schedule_json(run.schedule);
  json["group"] = run.group;
  json["same_bits"] = run.same_bits();
  json["differing_in_row"] = run.differing_in_row;
  json["differing"] = run.differing;
  json["differing_rows"] = run.differing_rows;
  json["max_ulp"] = number_json(run.max_ulp);
  json["parting"] = parting_json(run);
  json["max_error"] = number_json(run.max_error);
  json["digest"] = hex16(run.digest);
  return json;
}

/// `attoscope.invariance/1`: the experiment, the sentence, every schedule, and the groups of equal bits.
Json invariance_json(const Invariance& answer) {
  Json runs = Json::array();
  for (const ScheduleRun& run : answer.runs) runs.push_back(run_json(run));
  return {{"schema", "attoscope.invariance/1"},
          {"experiment", experiment_json(answer.experiment)},
          {"row", answer.row},
          {"row_numbers", answer.columns},
          {"rows", answer.rows},
          {"numbers", numbers_of(answer)},
          {"sentence", invariance_sentence(answer)},
          {"schedules", std::move(runs)},
          {"groups", answer.groups}};
}

/// One line for each schedule, and the sentence.
std::string invariance_report(const Invariance& answer) {
  return plain_text(invariance_table(answer)) +
         fmt::format("{} numbers of O in all rows, {} in row {}; ulps of {}; a group has the same bits.\n{}\n",
                     numbers_of(answer), answer.columns, answer.row, name(answer.experiment.format),
                     invariance_sentence(answer));
}

/// The options as typed. `--splits`, `--block-k`, `--orders` and `--sums` are lists, whose first values are a's own.
struct InvarianceArguments : ExperimentOptions, TableFiles {
  Typed splits, block_k, orders, sums;
  std::string device = "cpu", threads = "0";
};

/// read(word) of each comma-separated word; empty if nothing was typed.
template <class T, class Read>
std::vector<T> listed_in(const Typed& typed, Read read) {
  std::vector<T> values;
  for (const std::string& word : typed ? split(*typed) : std::vector<std::string>()) values.push_back(read(word));
  return values;
}

bool is_reverse(const std::string& word) {
  if (word != "forward" && word != "reverse") refuse("--orders", word, "forward, reverse or both with a comma");
  return word == "reverse";
}

Accumulator accumulator_of(const std::string& word) {
  const auto found = std::ranges::find(accumulator_names, word);
  if (found == accumulator_names.end()) refuse("--sums", word, listed(accumulator_names));
  return static_cast<Accumulator>(found - accumulator_names.begin());
}

ScheduleLists lists_of(const InvarianceArguments& x) {
  return {.splits = listed_in<int>(x.splits, [](const std::string& w) { return whole_number("--splits", w, 1, max_splits); }),
          .block_k = listed_in<int>(x.block_k, [](const std::string& w) { return whole_number("--block-k", w, 1, max_tile); }),
          .reverse_keys = listed_in<bool>(x.orders, is_reverse),
          .sums = listed_in<Accumulator>(x.sums, accumulator_of)};
}

/// Throws for a word of --sums by which a cannot add up its products.
void check_sums(const Experiment& e, const std::vector<Accumulator>& sums) {
  for (const Accumulator accumulator : sums)
    for (const AttentionProduct product : {AttentionProduct::qk, AttentionProduct::pv})
      if (const std::string why = why_no_accumulator(e, e.a, product, accumulator); !why.empty())
        throw std::invalid_argument(fmt::format("--sums has {}: {}", name(accumulator), why));
}

/// Computes all schedules and counts them on the terminal.
Invariance answer(const Experiment& e, const std::vector<Schedule>& list, const InvarianceArguments& x, int threads,
                  const Streams& streams) {
  prepare_gpus(x.device, streams);
  ProgressLine line(streams.terminal);
  const auto show = [&](double share) {
    line.show([&] { return fmt::format("{:.0f} of {} schedules", share * static_cast<double>(list.size()), list.size()); });
  };
  return unless_stopped("stopped before every schedule was computed; nothing was written", [&](const Cancelled& cancelled) {
    return invariance(e, list, {.cancelled = cancelled, .progress = show, .threads = threads, .device = x.device});
  });
}

/// Sentences on typed options that change nothing under any schedule.
std::vector<std::string> unused_options(const InvarianceArguments& x, const Experiment& e, const std::vector<Schedule>& list) {
  std::vector<std::string> unused = options_without_effect(x, e);
  for (const Schedule& s : list) {
    Experiment scheduled = e;
    scheduled.a = with_schedule(e.a, s);
    keep_common(unused, options_without_effect(x, scheduled));
  }
  return unused;
}

/// Computes every schedule and writes the outputs: none if anything fails.
void tell_invariance(const InvarianceArguments& x, const Streams& streams) {
  const int threads = thread_option(x.threads);
  check_device("--device", x.device);
  check_tables(x, streams.files);
  const ScheduleLists lists = lists_of(x);
  Experiment e = experiment_of(x);
  const std::vector<Schedule> list = schedules(e, lists);
  check_sums(e, lists.sums);
  tell(unused_options(x, e, list), streams);
  e.a = with_schedule(e.a, list[0]);
  const Invariance found = answer(e, list, x, threads, streams);
  write_outputs(
      {{x.csv, [&] { return csv_text(invariance_table(found)); }}, {x.json, [&] { return json_text(invariance_json(found)); }}},
      [&] { return invariance_report(found); }, streams.out);
}

void declare(OptionList& c, InvarianceArguments& x) {
  c.problem(x).group("Schedules");
  c.add("--splits", x.splits,
        "runs of tiles, such as 1,2,4; the first is a's own, with which others are compared (1, 2, 4, ... 64 that fit)");
  c.add("--block-k", x.block_k, "keys of a tile, such as 64,128; the first is a's own (a's, 32, 64, 128 that fit)");
  c.add("--orders", x.orders, "forward,reverse: how the keys are taken; the first is a's own (both)");
  c.add("--sums", x.sums, "accumulators, such as fma,h100,a100; the first is a's own, of both products (a's)");
  c.arithmetic(x).method_a(x, "hw", false).kernel_of_a(x).device(x.device, x.threads, device_help()).group("Output");
  c.add("--csv", x.csv, "write a line for each schedule to this file, - for standard output");
  c.add("--json", x.json, "the same, and which have equal bits, as JSON").quiet();
}

}  // namespace

Command invariance_command() {
  return command<InvarianceArguments>(
      "invariance", "Tell whether bits depend on how the keys are cut, which serving engines choose by the batch", declare,
      tell_invariance);
}

}  // namespace attoscope::app
