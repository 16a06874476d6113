#include "app/plots/plot_bundle.h"

#include <nlohmann/json.hpp>
#include <stdexcept>

#include "app/figures/bundle.h"
#include "app/json/settings_json.h"
#include "app/session/session.h"
#include "kernels/train/record.h"

namespace attoscope::app {

PlotBundle parse_plot(const std::string& text, std::vector<std::string>& remarks) {
  constexpr int deepest = 12;
  const nlohmann::json json = parse_json(text, deepest);
  check_schema(json, figure_schema);
  if (!json.contains("plot") || !json.contains("session"))
    throw std::runtime_error("session is missing, expected that of a plot");
  PlotBundle bundle;
  Digests digests;
  const Settings of_digests{{"golden", HexValue{&digests.golden}},
                            {"a", HexValue{&digests.a}},
                            {"b", HexValue{&digests.b}},
                            {"points", HexValue{&bundle.points}}};
  read_settings(json, "",
                {{"plot", named(bundle.plot, ui::plot_names)},
                 {"digests", of_digests},
                 {"steps", &bundle.steps, {0, max_train_steps}},
                 {"forked", &bundle.forked}},
                remarks, {"schema", "version", "caption", "session"});
  if (json.contains("digests")) bundle.digests = digests;
  bundle.session = parse_session(json["session"].dump(), remarks);
  return bundle;
}

}  // namespace attoscope::app
