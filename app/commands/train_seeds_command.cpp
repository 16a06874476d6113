#include <fmt/format.h>

#include <nlohmann/json.hpp>
#include <stdexcept>

#include "app/commands/train_command.h"
#include "app/figures/bundle.h"
#include "app/train/train_seeds.h"
#include "app/train/trained.h"
#include "app/words/field_setter.h"
#include "kernels/train/record.h"

namespace attoscope::app {
namespace {

/// The records of all seeds, or of the seeds finished before a signal.
std::vector<TrainRecord> records_of(const TrainArguments& x, const SeedTask& task, std::ostream* terminal) {
  const Interrupts interrupts;
  ProgressLine line(terminal);
  std::vector<TrainRecord> records;
  for (int i = 0, step = 0; i < task.seeds; ++i, step = 0) {
    const auto stepped = [&] {
      ++step;
      line.show([&] { return fmt::format("seed {} of {}, step {} of {}", i + 1, task.seeds, step, task.until); });
    };
    const TrainOptions options{.cancelled = [&] { return interrupts.arrived(); },
                               .stepped = stepped,
                               .device = x.device,
                               .steps = task.until,
                               .threads = task.threads};
    try {
      records.push_back(trained(at_seed(task.plan, i), options).record);
    } catch (const Stopped&) {
      break;
    }
  }
  return records;
}

/// The reason for missing numbers, in a sentence; "" if none are.
std::string missing(const std::vector<TrainRecord>& records, const SeedTask& task) {
  for (const TrainRecord& r : records)
    if (const std::string why = ended(r); !why.empty()) return fmt::format("seed {}: {}", r.plan.recipe.seed, why);
  if (static_cast<int>(records.size()) == task.seeds) return "";
  return fmt::format("stopped after {} of {} seeds", records.size(), task.seeds);
}

/// Writes all files together. Returns a sentence if there is no picture, else "".
std::string write_files(const TrainArguments& x, const std::vector<TrainRecord>& records) {
  StagedFiles files;
  if (!x.json.empty() && x.json != "-") files.add(x.json, json_text(seeds_json(records), -1));
  if (!x.csv.empty() && x.csv != "-") files.add(x.csv, seeds_csv(records));
  std::string no_picture;
  if (!x.figure.empty())
    no_picture = stage_bundle(files, x.figure, in_style(seeds_figure(records), typed_style(x.style)), seeds_json(records));
  files.commit();
  return no_picture;
}

}  // namespace

void train_seeds(const TrainArguments& x, const SeedTask& task, const Streams& streams) {
  const std::vector<TrainRecord> records = records_of(x, task, streams.terminal);
  if (records.empty()) throw std::runtime_error("stopped before the first of " + std::to_string(task.seeds) + " seeds");
  if (x.json == "-")
    streams.out << json_text(seeds_json(records), -1);
  else
    streams.out << (x.csv == "-" ? seeds_csv(records) : seeds_report(records));
  streams.out << std::flush;
  const std::string no_picture = write_files(x, records), why = missing(records, task);
  if (!why.empty()) throw std::runtime_error(why);
  if (!no_picture.empty()) throw std::runtime_error(no_picture);
}

}  // namespace attoscope::app
