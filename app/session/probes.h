/// Probes: experiments that each show one thing, shipped as assets/presets/*.json.
#pragma once

#include <limits>
#include <string>
#include <string_view>
#include <vector>

#include "kernels/experiment/experiment.h"

namespace attoscope::app {

/// A number of the result and its range; tests/app/probes_test.cpp checks it.
struct Check {
  std::string what;
  double at_least = -std::numeric_limits<double>::infinity(), at_most = std::numeric_limits<double>::infinity();
  std::string says;  ///< the number as written in the sentence; "" if not in it
};

struct Probe {
  std::string name;      ///< file name without .json
  std::string title;     ///< a few words
  std::string sentence;  ///< describes the effect to look for
  Experiment experiment;
  std::vector<Check> checks;  ///< checks of the sentence, at least one
};

/// The shipped probes, sorted by name; none without assets. Throws as `read_probe`.
std::vector<Probe> probes();

/// The shipped probe called `name`. Throws std::invalid_argument with `name` and the known names.
Probe probe(std::string_view name);

/// Reads a probe from an `attoscope.preset/1` file. A file of tensors is expected beside it, but not read. Throws
/// std::runtime_error with one sentence that names the file, the key, the value and what was expected.
Probe read_probe(const std::string& path);

}  // namespace attoscope::app
