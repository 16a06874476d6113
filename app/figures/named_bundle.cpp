#include "app/figures/named_bundle.h"

#include <nlohmann/json.hpp>
#include <stdexcept>

#include "app/field_reader.h"
#include "app/field_setter.h"
#include "kernels/presets.h"
#include "ui/view_fields.h"

namespace attoscope {

void validate(const AskedFigure& asked) {
  named_figure(asked.name);
  const std::string& own = asked.settings.policy;
  if (policy(own).algorithm != Algorithm::flash2) refuse("--policy", own, "a policy of Flash Attention, such as hw or eager");
}

Json asked_json(const AskedFigure& asked) {
  const FigureSettings& s = asked.settings;
  return {{"schema", figure_schema},
          {"version", ATTOSCOPE_VERSION},
          {"figure", asked.name},
          {"policy", s.policy},
          {"all_policies", s.all_policies},
          {"n", s.n},
          {"d", s.d},
          {"seeds", s.seeds}};
}

AskedFigure parse_asked_figure(const std::string& text) {
  constexpr int deepest = 8;
  const nlohmann::json json = parse_json(text, deepest);
  check_schema(json, figure_schema);
  AskedFigure asked;
  std::vector<std::string> remarks;
  FieldReader reader(json, "", remarks);
  for (const char* const key : {"schema", "version", "caption"}) reader.know(key);
  reader.text("figure", asked.name);
  visit_figure_settings(reader, asked.settings);
  reader.remark_unknown();
  if (!remarks.empty()) throw std::runtime_error(remarks[0]);
  return asked;
}

std::vector<SweepAnswer> complete_answers(const Sweep& sweep, const SweepOptions& options) {
  std::vector<SweepAnswer> answers = run_sweep(sweep, options);
  if (answers.size() < attoscope::point_count(sweep))
    throw std::runtime_error(
        "stopped before the figure was complete; its points are kept, and the same figure goes on from there");
  for (const SweepAnswer& a : answers)
    if (!a.summary) throw std::runtime_error("a point of the figure cannot be computed: " + a.error);
  return answers;
}

std::size_t point_count(const AskedFigure& asked) {
  std::size_t count = 0;
  named_figure(asked.name).make(asked.settings, [&](const Sweep& sweep) {
    std::vector<SweepAnswer> answers(attoscope::point_count(sweep));
    count += answers.size();
    for (std::size_t i = 0; i < answers.size(); ++i) {
      answers[i].index = i;
      answers[i].summary.emplace();
    }
    return answers;
  });
  return count;
}

Figure figure_of(const AskedFigure& asked, const SweepOptions& options) {
  return named_figure(asked.name).make(asked.settings, [&](const Sweep& sweep) { return complete_answers(sweep, options); });
}

Json reproduction(const AskedFigure& asked, const Figure& figure) {
  Json json = asked_json(asked);
  json["caption"] = figure.caption;
  return json;
}

}  // namespace attoscope
