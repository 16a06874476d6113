#include "app/papers/named_bundle.h"

#include <algorithm>
#include <iterator>
#include <nlohmann/json.hpp>
#include <stdexcept>
#include <utility>

#include "app/json/settings_json.h"
#include "app/sweep/table.h"
#include "app/train/train_seeds.h"
#include "app/train/train_tables.h"
#include "app/train/trained.h"
#include "app/words/field_setter.h"
#include "kernels/experiment/presets.h"
#include "kernels/train/plan/plan_settings.h"
#include "ui/session/settings.h"

namespace attoscope::app {

static Settings settings(WeightDigest& d) { return {{"run", &d.run}, {"weights", HexValue{&d.weights}}}; }

namespace {

const FromTraining* training_of(const AskedFigure& asked) { return std::get_if<FromTraining>(&named_figure(asked.name).made); }
const FromModel* model_of(const AskedFigure& asked) { return std::get_if<FromModel>(&named_figure(asked.name).made); }
FromSweeps sweeps_of(const AskedFigure& asked) { return std::get<FromSweeps>(named_figure(asked.name).made); }

std::vector<FigureTraining> trainings_of(const AskedFigure& asked) {
  if (!asked.plan) return training_of(asked)->trainings(asked.settings);
  std::vector<FigureTraining> all;
  for (int i = 0; i < std::max(1, asked.plan_seeds); ++i) all.push_back({"", at_seed(*asked.plan, i)});
  return all;
}

Json digests_json(const std::vector<WeightDigest>& digests) {
  Json list = Json::array();
  for (const WeightDigest& d : digests) list.push_back({{"run", d.run}, {"weights", hex16(d.weights)}});
  return list;
}

/// Sentence on the runs whose weights differ from `then`; "" if none or if `then` is empty.
std::string changed_weights(const std::vector<WeightDigest>& then, const std::vector<WeightDigest>& now) {
  std::vector<std::string> changed;
  for (const WeightDigest& d : now)
    if (std::ranges::find(then, d) == then.end()) changed.push_back(d.run);
  if (then.empty() || changed.empty()) return "";
  return "the weights of " + listed(changed) +
         " are not those that the figure was first made of: its text, the program or the device have changed";
}

/// The sweeps of a figure, and its data where all their answers are 0.
struct EmptyFigure {
  std::vector<Sweep> sweeps;
  std::string data;
};
EmptyFigure drawn_empty(const AskedFigure& asked) {
  EmptyFigure empty;
  const Figure figure = sweeps_of(asked)(asked.settings, [&](const Sweep& sweep) {
    empty.sweeps.push_back(sweep);
    std::vector<SweepAnswer> answers(app::point_count(sweep));
    for (std::size_t i = 0; i < answers.size(); ++i) {
      answers[i].index = i;
      answers[i].summary.emplace();
    }
    return answers;
  });
  empty.data = figure_csv(figure);
  return empty;
}

/// The JSON written with a figure.
Json reproduction(const AskedFigure& asked, const Figure& figure) {
  Json json = asked_json(asked);
  json["caption"] = figure.caption;
  return json;
}

/// The words before a run's name: none, or "seed 2: " or "seed 2, a - exact: " if the figure has several trainings.
std::string before_run(const AskedFigure& asked, const FigureTraining& training) {
  if (asked.plan && asked.plan_seeds == 0) return "";
  return "seed " + std::to_string(training.plan.recipe.seed) + (asked.plan ? "" : ", " + training.line) + ": ";
}

Figure drawn(const AskedFigure& asked, const std::vector<FigureRecord>& records) {
  const FromTraining& made = *training_of(asked);
  if (!asked.plan) return made.draw_all(asked.settings, records);
  if (asked.plan_seeds == 0) return made.draw(records[0].record);
  std::vector<TrainRecord> seeds;
  for (const FigureRecord& r : records) seeds.push_back(r.record);
  return seeds_figure(seeds);
}

MadeFigure made_of_training(const AskedFigure& asked, const FigureWork& work) {
  const TrainOptions options{.cancelled = work.cancelled, .stepped = [&] {
                               if (work.finished) work.finished(false);
                             }};
  AskedFigure again = asked;
  again.digests.clear();
  std::vector<FigureRecord> records;
  for (const FigureTraining& training : trainings_of(asked)) {
    Trained t = trained(training.plan, options);
    std::ranges::move(weight_digests(t, before_run(asked, training)), std::back_inserter(again.digests));
    records.push_back({training.line, std::move(t.record)});
  }
  if (again.plan) again.plan = records[0].record.plan;
  Figure figure = drawn(again, records);
  Json json = reproduction(again, figure);
  return {std::move(figure), std::move(json), changed_weights(asked.digests, again.digests)};
}

}  // namespace

bool trains(const AskedFigure& asked) { return training_of(asked) != nullptr; }
bool runs_model(const AskedFigure& asked) { return model_of(asked) != nullptr; }

void validate(const AskedFigure& asked) {
  named_figure(asked.name);
  const std::string& own = asked.settings.policy;
  if (policy(own).algorithm != Algorithm::flash2) refuse("--policy", own, "a policy of Flash Attention, such as hw or eager");
  if (trains(asked))
    for (const FigureTraining& training : trainings_of(asked)) validate(training.plan);
}

Json asked_json(const AskedFigure& asked) {
  const ui::FigureSettings& s = asked.settings;
  Json json{{"schema", figure_schema}, {"version", ATTOSCOPE_VERSION}, {"figure", asked.name}};
  if (asked.plan)
    json["plan"] = train_plan_json(*asked.plan);
  else
    json.update(Json{{"policy", s.policy}, {"all_policies", s.all_policies}, {"n", s.n}, {"d", s.d}, {"seeds", s.seeds}});
  if (asked.plan_seeds > 0) json["plan_seeds"] = asked.plan_seeds;
  if (asked.plan || !asked.digests.empty())
    json["digests"] = digests_json(asked.digests);
  else if (asked.points != 0)
    json["digests"]["points"] = hex16(asked.points);
  return json;
}

std::vector<WeightDigest> weight_digests(const Trained& trained, const std::string& before) {
  const std::vector<std::uint64_t> digests = digests_of(trained);
  std::vector<WeightDigest> all;
  for (std::size_t i = 0; i < digests.size(); ++i) all.push_back({before + trained.record.runs[i].run.name, digests[i]});
  return all;
}

AskedFigure parse_asked_figure(const std::string& text) {
  constexpr int deepest = 8;
  constexpr std::size_t most_runs = 16 * ui::max_train_seeds;
  const nlohmann::json json = parse_json(text, deepest);
  check_schema(json, figure_schema);
  AskedFigure asked;
  std::vector<std::string> remarks;
  Settings all = settings(asked.settings);
  all.push_back({"figure", &asked.name});
  if (json.contains("digests") && json["digests"].is_object())
    all.push_back({"digests", Settings{{"points", HexValue{&asked.points}}}});
  else
    all.push_back({"digests", list_of(asked.digests, most_runs)});
  if (json.contains("plan")) {
    TrainPlan& plan = asked.plan.emplace(default_train_plan());
    plan.with_exact = false;  // older figures have neither this key nor this run
    plan.recipe.held_out = 0;
    all.push_back({"plan", settings(plan)});
    all.push_back({"plan_seeds", &asked.plan_seeds, {0, ui::max_train_seeds}});
  }
  read_settings(json, "", all, remarks, {"schema", "version", "caption", "print"});
  if (!remarks.empty()) throw std::runtime_error(without_consequence(remarks[0]));
  return asked;
}

std::vector<SweepAnswer> complete_answers(const Sweep& sweep, const SweepOptions& options) {
  std::vector<SweepAnswer> answers = run_sweep(sweep, options);
  if (answers.size() < app::point_count(sweep))
    throw std::runtime_error(
        "stopped before the figure was complete; its points are kept, and the same figure goes on from there");
  for (const SweepAnswer& a : answers)
    if (!a.summary) throw std::runtime_error("a point of the figure cannot be computed: " + a.error);
  return answers;
}

std::size_t point_count(const AskedFigure& asked) {
  std::size_t count = 0;
  if (const FromModel* const model = model_of(asked)) return model->runs;
  if (trains(asked)) {
    for (const FigureTraining& training : trainings_of(asked)) count += static_cast<std::size_t>(training.plan.recipe.steps);
    return count;
  }
  for (const Sweep& sweep : drawn_empty(asked).sweeps) count += app::point_count(sweep);
  return count;
}

std::vector<std::string_view> settings_without_effect(const std::string& name) {
  std::vector<std::string_view> found;
  const auto content = [](const AskedFigure& asked) {  // all experiments: an axis may set what its sweep's base has, too
    const EmptyFigure empty = drawn_empty(asked);
    std::vector<Experiment> all;
    for (const Sweep& sweep : empty.sweeps)
      for (std::size_t i = 0; i < app::point_count(sweep); ++i) all.push_back(experiment_of(sweep, i));
    return std::pair(std::move(all), empty.data);
  };
  const auto compare = [&](std::string_view key, auto ui::FigureSettings::* setting, auto one, auto other) {
    AskedFigure a{name, {.seeds = 1}}, b = a;
    a.settings.*setting = one;
    b.settings.*setting = other;
    if (content(a) == content(b)) found.push_back(key);
  };
  compare("policy", &ui::FigureSettings::policy, "hw", "tile");
  compare("all_policies", &ui::FigureSettings::all_policies, false, true);
  compare("n", &ui::FigureSettings::n, 128, 256);
  compare("d", &ui::FigureSettings::d, 32, 64);
  compare("seeds", &ui::FigureSettings::seeds, 1, 2);
  return found;
}

SweepOptions sweep_options(const FigureWork& work) {
  return {.cancelled = work.cancelled, .cache = work.cache, .finished = [told = work.finished](const SweepAnswer& a) {
            if (told) told(a.remembered);
          }};
}

MadeFigure made_figure(const AskedFigure& asked, const FigureWork& work) {
  if (trains(asked)) return made_of_training(asked, work);
  AskedFigure again = asked;
  again.points = 0;
  const auto answer = [&](const Sweep& sweep) {
    std::vector<SweepAnswer> answers = complete_answers(sweep, sweep_options(work));
    again.points = points_digest(answers, again.points);
    return answers;
  };
  const auto finished = [&] {
    if (work.finished) work.finished(false);
  };
  const FromModel* const model = model_of(asked);
  Figure figure = model != nullptr ? model->draw(asked.settings, {.cancelled = work.cancelled}, finished)
                                   : sweeps_of(asked)(asked.settings, answer);
  Json json = reproduction(again, figure);
  return {std::move(figure), std::move(json), changed_points(asked.points, again.points)};
}

}  // namespace attoscope::app
