#include "app/session/invariance_tables.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "app/session/session.h"
#include "app/words/numbers.h"
#include "kernels/questions/invariance.h"

namespace attoscope {
namespace {

std::int64_t numbers_of(const Invariance& answer) { return static_cast<std::int64_t>(answer.rows) * answer.columns; }

Json schedule_json(const Schedule& s) {
  return {{"splits", s.splits},
          {"block_k", s.block_k},
          {"order", order_name(s)},
          {"accumulator", {{"qk", name(s.accumulator.qk)}, {"pv", name(s.accumulator.pv)}}}};
}

/// First place from which the traced row differs; the tile is null if it is not a tile.
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

Json run_json(const Invariance& answer, std::size_t i) {
  const ScheduleRun& run = answer.runs[i];
  Json json = schedule_json(run.schedule);
  json["group"] = group_of(answer, i);
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

}  // namespace

Json invariance_json(const Invariance& answer) {
  Json runs = Json::array();
  for (std::size_t i = 0; i < answer.runs.size(); ++i) runs.push_back(run_json(answer, i));
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

std::string invariance_report(const Invariance& answer) {
  return plain_text(invariance_table(answer)) +
         fmt::format("{} numbers of O in all rows, {} in row {}; ulps of {}; a group has the same bits.\n{}\n",
                     numbers_of(answer), answer.columns, answer.row, name(answer.experiment.format),
                     invariance_sentence(answer));
}

}  // namespace attoscope
