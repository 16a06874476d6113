#include "app/plots/plot_bundle.h"

#include <nlohmann/json.hpp>
#include <stdexcept>

#include "app/figures/bundle.h"
#include "app/json/field_reader.h"
#include "app/session/session.h"
#include "kernels/train/record.h"

namespace attoscope {

PlotBundle parse_plot(const std::string& text, std::vector<std::string>& remarks) {
  constexpr int deepest = 12;
  const nlohmann::json json = parse_json(text, deepest);
  check_schema(json, figure_schema);
  if (!json.contains("plot") || !json.contains("session"))
    throw std::runtime_error("session is missing, expected that of a plot");
  PlotBundle bundle;
  FieldReader reader(json, "", remarks);
  for (const char* const key : {"schema", "version", "caption", "session"}) reader.know(key);
  reader.choice("plot", bundle.plot, plot_names);
  Digests digests;
  reader.object("digests", [&](FieldReader& inner) {
    inner.hex("golden", digests.golden);
    inner.hex("a", digests.a);
    inner.hex("b", digests.b);
  });
  reader.integer("steps", bundle.steps, 0, max_train_steps);
  reader.text("forked", bundle.forked);
  reader.remark_unknown();
  if (json.contains("digests")) bundle.digests = digests;
  bundle.session = parse_session(json["session"].dump(), remarks);
  return bundle;
}

}  // namespace attoscope
