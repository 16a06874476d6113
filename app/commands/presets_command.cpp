/// `attoscope presets`: the named policies, whole kernels and probes.
#include <nlohmann/json.hpp>

#include "app/commands/commands.h"
#include "app/json/json.h"
#include "app/session/report.h"
#include "app/session/result_json.h"

namespace attoscope::app {

Command presets_command() {
  struct Arguments {
    bool as_json = false;
  };
  return command<Arguments>(
      "presets", "List the named policies, whole kernels, and the probes with what to look for",
      [](OptionList& c, Arguments& x) { c.add("--json", x.as_json, "as JSON"); },
      +[](const Arguments& x, const Streams& streams) {
        streams.out << (x.as_json ? json_text(presets_json()) : presets_report());
      });
}

}  // namespace attoscope::app
