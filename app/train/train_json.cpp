#include <array>
#include <limits>
#include <nlohmann/json.hpp>

#include "app/json/json_place.h"
#include "app/json/settings_json.h"
#include "app/train/train_tables.h"
#include "app/train/trained.h"
#include "kernels/experiment/presets.h"
#include "kernels/train/plan/plan_settings.h"
#include "kernels/train/record.h"

namespace attoscope::app {
namespace {

using Parsed = nlohmann::json;

constexpr std::array<NamedNumber<HeadStatistics, double>, 2> sum_columns{
    {{"delta_error", &HeadStatistics::delta_error}, {"delta_size", &HeadStatistics::delta_size}}};

/// The double of x's shortest decimal text if it rounds to x; else x.
double short_double(float x) {
  const double read = to_number<double>(shortest(x)).value_or(x);
  return static_cast<float>(read) == x ? read : x;
}

/// JSON list of f(item).
template <class Items, class F>
Json listed_as(const Items& items, F f) {
  Json list = Json::array();
  for (const auto& item : items) list.push_back(f(item));
  return list;
}

Json steps_json(const std::vector<StepReport>& steps) {
  Json json{{"step", listed_as(steps, [](const StepReport& s) { return s.step; })}};
  for (const auto& [key, member] : step_numbers)
    json[std::string(key)] = listed_as(steps, [m = member](const StepReport& s) { return number_json(s.*m); });
  json["skipped"] = listed_as(steps, [](const StepReport& s) { return s.skipped ? 1 : 0; });
  return json;
}

Json health_json(const std::vector<RunHealth>& health) {
  Json json{{"step", listed_as(health, [](const RunHealth& h) { return h.step; })}};
  const auto column = [&](std::string_view key, auto of_head) {
    json[std::string(key)] = listed_as(health, [&](const RunHealth& h) { return listed_as(h.heads, of_head); });
  };
  for (const auto& [key, member] : head_counts) column(key, [m = member](const HeadHealth& h) { return h.statistics.*m; });
  for (const auto& [key, member] : sum_columns)
    column(key, [m = member](const HeadHealth& h) { return number_json(h.statistics.*m); });
  column("query_norm", [](const HeadHealth& h) { return number_json(h.query_norm); });
  return json;
}

Json run_json(const RunRecord& r) {
  const TrainMethod& m = r.run.method;
  return {{"name", r.run.name},
          {"format", name(m.format)},
          {"algorithm", name(m.method.algorithm)},
          {"policy", policy_name(m.method.precision, m.method.algorithm)},
          {"gradient", grad_policy_name(m.gradient)},
          {"seed", r.run.seed},
          {"stopped", r.stopped},
          {"heldout_loss", number_json(r.heldout_loss)},
          {"skipped_steps", skipped_steps(r)},
          {"steps", steps_json(r.steps)},
          {"health", health_json(r.health)}};
}

Json points_json(const std::vector<PairPoint>& points) {
  Json json{{"step", listed_as(points, [](const PairPoint& p) { return p.step; })},
            {"loss_difference", listed_as(points, [](const PairPoint& p) { return number_json(p.loss_difference); })}};
  for (const auto& [key, member] : weight_numbers)
    json[std::string(key)] = listed_as(points, [m = member](const PairPoint& p) {
      return listed_as(p.deviations, [m](const WeightDeviation& d) { return number_json(d.*m); });
    });
  json["profiles"] = listed_as(points, [](const PairPoint& p) {
    return listed_as(p.profiles, [](const std::vector<float>& profile) {
      return listed_as(profile, [](float x) { return number_json(short_double(x)); });
    });
  });
  return json;
}

Json pair_json(const PairRecord& p, const std::vector<RunRecord>& runs) {
  return {{"name", p.pair.name},
          {"role", role_names[p.pair.role]},
          {"x", runs[static_cast<std::size_t>(p.pair.x)].run.name},
          {"y", runs[static_cast<std::size_t>(p.pair.y)].run.name},
          {"points", points_json(p.points)}};
}

/// Calls read(place, row) for each row of column `key`.
template <class Rows, class Read>
void read_column(const JsonPlace& table, std::string_view key, Rows& rows, Read read) {
  const JsonPlace column = table.at(key);
  column.expect_size(rows.size());
  for (std::size_t i = 0; i < rows.size(); ++i) read(column.at(i), rows[i]);
}

/// Rows with the ascending steps of the column "step".
template <class Row>
std::vector<Row> rows_of(const JsonPlace& table, int last_step) {
  std::vector<Row> rows(table.at("step").size());
  int least = 0;
  read_column(table, "step", rows, [&](const JsonPlace& x, Row& row) {
    row.step = x.whole(least, last_step);
    least = row.step + 1;
  });
  return rows;
}

std::vector<StepReport> steps_of(const JsonPlace& table, int last_step) {
  std::vector<StepReport> steps = rows_of<StepReport>(table, last_step);
  for (const auto& [key, member] : step_numbers)
    read_column(table, key, steps, [m = member](const JsonPlace& x, StepReport& s) { s.*m = x.number(); });
  read_column(table, "skipped", steps, [](const JsonPlace& x, StepReport& s) { s.skipped = x.whole(0, 1) == 1; });
  return steps;
}

std::vector<RunHealth> health_of(const JsonPlace& table, int last_step, std::size_t heads) {
  std::vector<RunHealth> health = rows_of<RunHealth>(table, last_step);
  const auto column = [&](std::string_view key, auto read) {
    read_column(table, key, health, [&](const JsonPlace& x, RunHealth& h) {
      h.heads.resize(heads);
      x.expect_size(heads);
      for (std::size_t i = 0; i < heads; ++i) read(x.at(i), h.heads[i]);
    });
  };
  for (const auto& [key, member] : head_counts)
    column(key, [m = member](const JsonPlace& x, HeadHealth& h) {
      h.statistics.*m = x.whole(std::int64_t{0}, std::numeric_limits<std::int64_t>::max());
    });
  for (const auto& [key, member] : sum_columns)
    column(key, [m = member](const JsonPlace& x, HeadHealth& h) { h.statistics.*m = x.number(); });
  column("query_norm", [](const JsonPlace& x, HeadHealth& h) { h.query_norm = x.number(); });
  return health;
}

RunRecord run_of(const JsonPlace& json, const RunPlan& run, const TrainRecord& record) {
  json.expect_keys({"name", "format", "algorithm", "policy", "gradient", "seed", "stopped", "steps", "health"},
                   {"heldout_loss", "skipped_steps"});
  json.at("name").expect_text(run.name);
  const auto heads = static_cast<std::size_t>(record.plan.model.layers * record.plan.model.heads);
  return {run, steps_of(json.at("steps"), record.plan.recipe.steps),
          health_of(json.at("health"), record.plan.recipe.steps, heads), json.at("stopped").text(),
          json.json().contains("heldout_loss") ? json.at("heldout_loss").number() : std::numeric_limits<double>::quiet_NaN()};
}

std::vector<float> profile_of(const JsonPlace& json) {
  if (json.size() > profile_height) json.expect_size(profile_height);
  std::vector<float> profile;
  for (std::size_t i = 0; i < json.size(); ++i) profile.push_back(static_cast<float>(json.at(i).number()));
  return profile;
}

std::vector<PairPoint> points_of(const JsonPlace& table, int last_step, std::size_t tensors) {
  std::vector<PairPoint> points = rows_of<PairPoint>(table, last_step);
  read_column(table, "loss_difference", points, [](const JsonPlace& x, PairPoint& p) { p.loss_difference = x.number(); });
  for (const auto& [key, member] : weight_numbers)
    read_column(table, key, points, [&, m = member](const JsonPlace& x, PairPoint& p) {
      p.deviations.resize(1 + tensors);
      x.expect_size(1 + tensors);
      for (std::size_t i = 0; i < x.size(); ++i) p.deviations[i].*m = x.at(i).number();
    });
  read_column(table, "profiles", points, [&](const JsonPlace& x, PairPoint& p) {
    x.expect_size(tensors);
    for (std::size_t t = 0; t < tensors; ++t) p.profiles.push_back(profile_of(x.at(t)));
  });
  return points;
}

PairRecord pair_of(const JsonPlace& json, const PairPlan& pair, const TrainRecord& record) {
  json.expect_keys({"name", "role", "x", "y", "points"});
  json.at("name").expect_text(pair.name);
  return {pair, points_of(json.at("points"), record.plan.recipe.steps, record.parameters.tensors.size())};
}

TrainPlan plan_of(const JsonPlace& json) {
  TrainPlan plan;
  plan.recipe.held_out = 0;
  if (!json.json().is_object()) json.refuse("an object");
  std::vector<std::string> remarks;
  read_settings(json.json(), json.path(), settings(plan), remarks);
  if (!remarks.empty()) throw std::runtime_error(without_consequence(remarks[0]));
  Parsed whole = json.json();
  // old records lack these keys; such trainings had no exact attention, used all of the text and stored fp32
  whole.emplace("with_exact", false);
  const auto add = [&](const char* part, const char* key, const Parsed& value) {
    if (whole.contains(part) && whole[part].is_object()) whole[part].emplace(key, value);
  };
  add("recipe", "held_out", 0.0);
  for (const char* const method : {"a", "b"})
    for (const char* const key : {"weights", "optimiser"}) add(method, key, "exact");
  if (Parsed(train_plan_json(plan)) != whole) throw std::runtime_error(json.path() + " lacks some of its keys");
  try {
    validate(plan);
  } catch (const std::invalid_argument& error) {
    throw std::runtime_error(json.path() + ": " + error.what());
  }
  return plan;
}

}  // namespace

Json train_plan_json(const TrainPlan& plan) { return settings_json(settings_to_read(plan)); }

Json train_json(const TrainRecord& record) {
  const ParameterTensor* const embedding = record.parameters.find("embedding");
  Json json{{"schema", train_schema},
            {"version", ATTOSCOPE_VERSION},
            {"text", {{"name", text_name(record.plan.text)}}},
            {"plan", train_plan_json(record.plan)},
            {"device", record.device},
            {"step", record.step},
            {"seconds", number_json(record.seconds)},
            {"vocabulary", embedding ? embedding->rows : 0},
            {"tensors", listed_as(record.parameters.tensors, [](const ParameterTensor& t) { return t.name; })},
            {"runs", listed_as(record.runs, run_json)},
            {"pairs", listed_as(record.pairs, [&](const PairRecord& p) { return pair_json(p, record.runs); })},
            {"forks", listed_as(record.forks, [](const Fork& f) { return Json{{"step", f.step}, {"sentence", f.sentence}}; })}};
  if (!record.remark.empty()) json["remark"] = record.remark;
  return json;
}

TrainRecord train_record(const Parsed& json) {
  check_schema(json, train_schema);
  const JsonPlace whole(json, "");
  whole.expect_keys(
      {"schema", "version", "text", "plan", "device", "step", "seconds", "vocabulary", "tensors", "runs", "pairs", "forks"},
      {"state", "remark"});
  TrainRecord record;
  record.plan = plan_of(whole.at("plan"));
  record.parameters = parameters(record.plan.model, whole.at("vocabulary").whole(1, max_vocabulary));
  record.device = whole.at("device").text();
  if (json.contains("remark")) record.remark = whole.at("remark").text();
  record.step = whole.at("step").whole(0, record.plan.recipe.steps);
  record.seconds = whole.at("seconds").number();
  const TrainRuns expected = runs_of(record.plan);
  const JsonPlace runs = whole.at("runs"), pairs = whole.at("pairs"), forks = whole.at("forks");
  runs.expect_size(expected.runs.size());
  pairs.expect_size(expected.pairs.size());
  for (std::size_t i = 0; i < expected.runs.size(); ++i) record.runs.push_back(run_of(runs.at(i), expected.runs[i], record));
  for (std::size_t i = 0; i < expected.pairs.size(); ++i)
    record.pairs.push_back(pair_of(pairs.at(i), expected.pairs[i], record));
  for (std::size_t i = 0; i < forks.size(); ++i)
    record.forks.push_back({forks.at(i).at("step").whole(0, record.plan.recipe.steps), forks.at(i).at("sentence").text()});
  return record;
}

}  // namespace attoscope::app
