#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <nlohmann/json.hpp>
#include <stdexcept>

#include "app/commands/train_command.h"
#include "app/figures/bundle.h"
#include "app/papers/named_bundle.h"
#include "app/train/train_seeds.h"
#include "app/train/trained.h"
#include "app/words/field_setter.h"
#include "kernels/train/record.h"

namespace attoscope::app {
namespace {

/// The trainings of all seeds, or of the seeds finished before a signal.
struct SeedTrainings {
  std::vector<TrainRecord> records;
  std::vector<WeightDigest> digests;
};
SeedTrainings trainings_of(const TrainArguments& x, const SeedTask& task, std::ostream* terminal) {
  const Interrupts interrupts;
  ProgressLine line(terminal);
  SeedTrainings found;
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
      Trained t = trained(at_seed(task.plan, i), options);
      const std::string before = fmt::format("seed {}: ", t.record.plan.recipe.seed);
      std::ranges::move(weight_digests(t, before), std::back_inserter(found.digests));
      found.records.push_back(std::move(t.record));
    } catch (const Stopped&) {
      break;
    }
  }
  return found;
}

/// The reason for missing numbers, in a sentence; "" if none are.
std::string missing(const std::vector<TrainRecord>& records, const SeedTask& task) {
  for (const TrainRecord& r : records)
    if (const std::string why = ended(r); !why.empty()) return fmt::format("seed {}: {}", r.plan.recipe.seed, why);
  if (static_cast<int>(records.size()) == task.seeds) return "";
  return fmt::format("stopped after {} of {} seeds", records.size(), task.seeds);
}

/// The JSON that reproduces the figure: its plan and the number of seeds, or all bands if these do not suffice (unfinished).
Json reproduction(const SeedTrainings& found, const SeedTask& task, const Figure& figure) {
  const bool finished = static_cast<int>(found.records.size()) == task.seeds && task.until >= task.plan.recipe.steps;
  if (!finished) return seeds_json(found.records);
  AskedFigure asked;
  asked.name = figure.name;
  asked.plan = found.records[0].plan;
  asked.plan_seeds = task.seeds;
  asked.digests = found.digests;
  Json json = asked_json(asked);
  json["caption"] = figure.caption;
  return json;
}

/// Writes all files together. Returns a sentence if there is no picture, else "".
std::string write_files(const TrainArguments& x, const SeedTask& task, const SeedTrainings& found) {
  const std::vector<TrainRecord>& records = found.records;
  StagedFiles files;
  if (!x.json.empty() && x.json != "-") files.add(x.json, json_text(seeds_json(records), -1));
  if (!x.csv.empty() && x.csv != "-") files.add(x.csv, seeds_csv(records));
  std::string no_picture;
  if (!x.figure.empty()) {
    const FigureStyle style = typed_style(x.style);
    const Figure figure = in_style(seeds_figure(records), style);
    Json json = reproduction(found, task, figure);
    json["print"] = style_json(style);
    no_picture = stage_unless_interrupted(files, x.figure, figure, json);
  }
  files.commit();
  return no_picture;
}

}  // namespace

void train_seeds(const TrainArguments& x, const SeedTask& task, const Streams& streams) {
  const SeedTrainings found = trainings_of(x, task, streams.terminal);
  const std::vector<TrainRecord>& records = found.records;
  if (records.empty()) throw std::runtime_error("stopped before the first of " + std::to_string(task.seeds) + " seeds");
  if (x.json == "-")
    streams.out << json_text(seeds_json(records), -1);
  else
    streams.out << (x.csv == "-" ? seeds_csv(records) : seeds_report(records));
  streams.out << std::flush;
  const std::string no_picture = write_files(x, task, found), why = missing(records, task);
  if (!why.empty()) throw std::runtime_error(why);
  if (!no_picture.empty()) throw std::runtime_error(no_picture);
}

}  // namespace attoscope::app
