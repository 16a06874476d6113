#include "app/train/train_seeds.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <sstream>
#include <vector>

#include "app/json/json.h"
#include "app/train/train_figures.h"
#include "app/train/train_tables.h"
#include "app/train/trained.h"
#include "kernels/train/record.h"

namespace attoscope::app {
namespace {

using Records = std::span<const TrainRecord>;

std::string seed_text(const TrainRecord& r) { return std::to_string(r.plan.recipe.seed); }

std::vector<SeedLine> lines_of(Records records) {
  std::vector<SeedLine> lines;
  for (const TrainRecord& r : records) add_record(lines, r.pairs[0].pair.name, r);
  return lines;
}

/// number(run i) of every seed.
template <class F>
std::vector<double> of_runs(Records records, std::size_t i, F number) {
  std::vector<double> values;
  for (const TrainRecord& r : records) values.push_back(number(r.runs[i]));
  return values;
}

double skipped(const RunRecord& run) { return skipped_steps(run); }
double heldout(const RunRecord& run) { return run.heldout_loss; }

std::string table_line(const std::string& name, const SeedBand& band) {
  if (std::isnan(band.mean)) return "";
  return fmt::format("  {:<36}{:>14}{:>14}{:>14}\n", name, short_number(band.least), short_number(band.mean),
                     short_number(band.greatest));
}

std::string lines_of_seeds(Records records) {
  std::string text =
      fmt::format("\n  {:<12}{:>8}{:>14}{:>14}{:>20}{:>20}{:>24}\n", "seed", "steps", "skipped by a", "skipped by b",
                  "held-out loss of a", "held-out loss of b", "Wasserstein-1 of " + records[0].pairs[0].pair.name);
  for (const TrainRecord& r : records) {
    const std::vector<PairPoint>& points = r.pairs[0].points;
    text += fmt::format("  {:<12}{:>8}{:>14}{:>14}{:>20}{:>20}{:>24}\n", seed_text(r), r.step, skipped_steps(r.runs[0]),
                        skipped_steps(r.runs[1]), short_number(r.runs[0].heldout_loss), short_number(r.runs[1].heldout_loss),
                        short_number(points.empty() ? NAN : points.back().deviations[0].wasserstein));
  }
  return text;
}

std::string bands_table(Records records) {
  std::string text =
      fmt::format("\n  {:<36}{:>14}{:>14}{:>14}\n", fmt::format("over {} seeds", records.size()), "least", "mean", "greatest");
  for (std::size_t i = 0; i < records[0].runs.size(); ++i) {
    const std::string& name = records[0].runs[i].run.name;
    text += table_line("held-out loss of " + name, band_of(of_runs(records, i, heldout)));
    text += table_line("skipped steps of " + name, band_of(of_runs(records, i, skipped)));
  }
  for (const SeedLine& line : lines_of(records))
    for (std::size_t m = 1; m < 3 && !line.found.empty(); ++m) {
      text += table_line(fmt::format("{}, {}", line.label, m == 1 ? "Wasserstein-1" : "rel L2"),
                         band_of(line.found.back(), weight_numbers[m].second));
    }
  return text;
}

Json ended_run_json(const RunRecord& run) {
  return {{"name", run.run.name},
          {"loss", number_json(run.steps.empty() ? NAN : run.steps.back().loss)},
          {"skipped_steps", skipped_steps(run)},
          {"heldout_loss", number_json(run.heldout_loss)},
          {"stopped", run.stopped}};
}

Json seed_json(const TrainRecord& r) {
  Json json{{"seed", r.plan.recipe.seed},
            {"data_seed", r.plan.recipe.data_seed},
            {"step", r.step},
            {"skipped_steps", skipped_steps(r.runs[0])},
            {"heldout_loss", number_json(r.runs[0].heldout_loss)},
            {"runs", Json::array()},
            {"pairs", Json::array()}};
  for (const RunRecord& run : r.runs) json["runs"].push_back(ended_run_json(run));
  for (const PairRecord& p : r.pairs) {
    if (p.points.empty()) continue;
    Json pair{{"name", p.pair.name}, {"step", p.points.back().step}};
    for (const auto& [key, member] : weight_numbers)
      pair[std::string(key)] = number_json(p.points.back().deviations[0].*member);
    json["pairs"].push_back(std::move(pair));
  }
  return json;
}

/// Curves of least, mean and greatest as JSON.
Json bands_json(const std::vector<SeedBand>& bands) {
  Json json;
  for (const auto& [key, member] :
       {std::pair{"least", &SeedBand::least}, {"mean", &SeedBand::mean}, {"greatest", &SeedBand::greatest}}) {
    json[key] = Json::array();
    for (const SeedBand& b : bands) json[key].push_back(number_json(b.*member));
  }
  return json;
}

/// Bands of the loss of run i at every step that a seed took.
Json losses_json(Records records, std::size_t i) {
  std::size_t longest = 0;
  for (const TrainRecord& r : records) longest = std::max(longest, r.runs[i].steps.size());
  std::vector<SeedBand> bands;
  for (std::size_t step = 0; step < longest; ++step)
    bands.push_back(band_of(
        of_runs(records, i, [&](const RunRecord& run) { return step < run.steps.size() ? run.steps[step].loss : NAN; })));
  return {{"name", records[0].runs[i].run.name}, {"loss", bands_json(bands)}};
}

Json line_json(const SeedLine& line) {
  Json json{{"name", line.label}, {"step", line.steps}};
  for (const auto& [key, member] : weight_numbers) {
    std::vector<SeedBand> bands;
    for (const std::vector<WeightDeviation>& found : line.found) bands.push_back(band_of(found, member));
    json[std::string(key)] = bands_json(bands);
  }
  return json;
}

}  // namespace

TrainPlan at_seed(TrainPlan plan, int i) {
  plan.recipe.seed += static_cast<std::uint64_t>(i);
  plan.recipe.data_seed += static_cast<std::uint64_t>(i);
  return plan;
}

std::vector<std::shared_ptr<const TrainRecord>> trained_further(const TrainPlan& plan, int seeds, const TrainOptions& options) {
  std::vector<std::shared_ptr<const TrainRecord>> records;
  for (int i = 1; i < seeds; ++i)
    records.push_back(std::make_shared<const TrainRecord>(trained(at_seed(plan, i), options).record));
  return records;
}

std::string seeds_report(Records records) {
  std::string text = train_conditions(records[0].plan) + records[0].device + "\n";
  for (const TrainRecord& r : records)
    for (const RunRecord& run : r.runs)
      if (!run.stopped.empty()) text += "seed " + seed_text(r) + ": " + run.stopped + "\n";
  return text + lines_of_seeds(records) + bands_table(records);
}

std::string seeds_csv(Records records) {
  std::string text;
  for (const TrainRecord& r : records) {
    std::istringstream table(train_csv(r));
    for (std::string line, first = "seed,"; std::getline(table, line); first = seed_text(r) + ",")
      if (first != "seed," || text.empty()) text += first + line + "\n";
  }
  return text;
}

Json seeds_json(Records records) {
  Json json{{"schema", "attoscope.train_seeds/1"},
            {"version", ATTOSCOPE_VERSION},
            {"text", {{"name", text_name(records[0].plan.text)}}},
            {"plan", train_plan_json(records[0].plan)},
            {"device", records[0].device},
            {"seeds", Json::array()},
            {"bands", {{"runs", Json::array()}, {"pairs", Json::array()}}}};
  for (const TrainRecord& r : records) json["seeds"].push_back(seed_json(r));
  for (std::size_t i = 0; i < records[0].runs.size(); ++i) json["bands"]["runs"].push_back(losses_json(records, i));
  for (const SeedLine& line : lines_of(records)) json["bands"]["pairs"].push_back(line_json(line));
  return json;
}

Figure seeds_figure(Records records) {
  Figure f = bands_figure("train-weights", lines_of(records));
  f.caption = fmt::format("Difference of the weights of two models over training, mean, least and greatest over {} seeds; ",
                          records.size()) +
              training_conditions(records[0]);
  return f;
}

}  // namespace attoscope::app
