#include "app/sweep/sweep_json.h"

#include <nlohmann/json.hpp>

#include "app/json/settings_json.h"
#include "app/session/session.h"
#include "app/tensors/part_digests.h"
#include "kernels/experiment/settings.h"

namespace attoscope {
namespace {
constexpr std::string_view schema = "attoscope.sweep/1";
}

Json sweep_json(const Sweep& sweep) {
  Json vary = Json::array();
  for (const Axis& axis : sweep.axes) vary.push_back(axis_text(axis));
  Json json{{"schema", schema},     {"version", ATTOSCOPE_VERSION},  {"vary", vary},
            {"seeds", sweep.seeds}, {"measure", sweep.measure.name}, {"experiment", experiment_json(sweep.base)}};
  if (Json tensors = part_digests_json({&sweep.base}); !tensors.is_null()) json["tensors"] = std::move(tensors);
  if (sweep.over.kind != SweepOver::seed) json["over"] = text(sweep.over);
  return json;
}

Sweep parse_sweep(std::string_view text, std::vector<std::string>& remarks) {
  const nlohmann::json json = parse_json(text, 8);
  check_schema(json, schema);
  Sweep sweep;
  std::string over = "seed";
  read_settings(json, "",
                {{"seeds", &sweep.seeds, {1, max_seeds}},
                 {"over", &over},
                 {"measure", &sweep.measure.name},
                 {"experiment", settings(sweep.base)}},
                remarks, {"schema", "version", "vary", "style", "print", "caption", "tensors"});
  read_part_digests(json, {&sweep.base});
  try {
    sweep.measure = parse_measure(sweep.measure.name);
    sweep.over = parse_repeats(over);
    for (const nlohmann::json& axis : json.at("vary")) sweep.axes.push_back(parse_axis(axis.get<std::string>()));
    point_count(sweep);
  } catch (const nlohmann::json::exception&) {
    throw std::runtime_error("vary is missing or no list of texts such as \"block_k=16:1024:x2\"");
  } catch (const std::invalid_argument& error) {
    throw std::runtime_error(error.what());
  }
  return sweep;
}

}  // namespace attoscope
