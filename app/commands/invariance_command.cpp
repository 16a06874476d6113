#include "app/commands/invariance_command.h"

#include <fmt/format.h>

#include <algorithm>
#include <mutex>
#include <nlohmann/json.hpp>
#include <sstream>
#include <stdexcept>

#include "app/commands/first_use.h"
#include "app/commands/progress_line.h"
#include "app/files/interrupts.h"
#include "app/json/json.h"
#include "app/session/invariance_tables.h"
#include "app/words/devices.h"
#include "app/words/field_setter.h"
#include "kernels/questions/invariance_words.h"

namespace attoscope {
namespace {

/// What read(word) makes of each word between commas; none where nothing was typed.
template <class T, class Read>
std::vector<T> listed_in(const Typed& typed, Read read) {
  std::vector<T> values;
  if (!typed) return values;
  std::istringstream words(*typed + ",");
  for (std::string word; std::getline(words, word, ',');) values.push_back(read(word));
  return values;
}

bool is_reverse(const std::string& word) {
  if (word != "forward" && word != "reverse") refuse("--orders", word, "forward, reverse or both with a comma");
  return word == "reverse";
}

Accumulator accumulator_of(const std::string& word) {
  const auto found = std::ranges::find(accumulator_names, word);
  if (found == accumulator_names.end())
    refuse("--sums", word, listed(std::vector<std::string_view>(accumulator_names.begin(), accumulator_names.end())));
  return static_cast<Accumulator>(found - accumulator_names.begin());
}

ScheduleLists lists_of(const InvarianceArguments& x) {
  return {.splits = listed_in<int>(x.splits, [](const std::string& w) { return whole_number("--splits", w, 1, max_splits); }),
          .block_k = listed_in<int>(x.block_k, [](const std::string& w) { return whole_number("--block-k", w, 1, max_tile); }),
          .reverse_keys = listed_in<bool>(x.orders, is_reverse),
          .sums = listed_in<Accumulator>(x.sums, accumulator_of)};
}

/// Counts schedules on the terminal while it computes.
Invariance answer(const Experiment& e, const std::vector<Schedule>& list, const InvarianceArguments& x, int threads,
                  std::ostream* terminal) {
  compile_code(x.device);
  const Interrupts interrupts;
  ProgressLine line(terminal);
  std::mutex mutex;
  const auto show = [&](double share) {
    const std::lock_guard lock(mutex);
    line.show([&] { return fmt::format("{:.0f} of {} schedules", share * static_cast<double>(list.size()), list.size()); });
  };
  try {
    return invariance(
        e, list, {.cancelled = [&] { return interrupts.arrived(); }, .progress = show, .threads = threads, .device = x.device});
  } catch (const Stopped&) {
    throw std::runtime_error("stopped before every schedule was computed; nothing was written");
  }
}

}  // namespace

void invariance(const InvarianceArguments& x, std::ostream& out, std::ostream* terminal) {
  const int threads = whole_number("--threads", x.threads, 0, 4096);
  check_device("--device", x.device);
  check_tables(x);
  const ScheduleLists lists = lists_of(x);
  Experiment e = experiment_of(x);
  const std::vector<Schedule> list = schedules(e, lists);
  e.a = with_schedule(e.a, list[0]);
  const Invariance found = answer(e, list, x, threads, terminal);
  write_tables(x,
               {[&] { return csv_text(invariance_table(found)); }, [&] { return json_text(invariance_json(found)); },
                [&] { return invariance_report(found); }},
               out);
}

}  // namespace attoscope
