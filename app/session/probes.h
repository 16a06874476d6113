/// Probes: experiments that show one thing each, shipped as assets/presets/*.json.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "app/session/probe_checks.h"
#include "kernels/experiment/experiment.h"

namespace attoscope {

struct Probe {
  std::string name;      ///< of the file, without .json
  std::string title;     ///< a few words
  std::string sentence;  ///< what to look for, and what you will see
  Experiment experiment;
  std::vector<Check> checks;  ///< that the sentence is true: at least one
};

/// The shipped probes in the order of their names; none where the assets are missing. Throws as `read_probe` does.
std::vector<Probe> probes();

/// The shipped probe called `name`. Throws std::invalid_argument naming it and the known ones.
Probe probe(std::string_view name);

/// The probe of an `attoscope.preset/1` file. A file of tensors is looked for beside it; it is not read. Throws
/// std::runtime_error in a sentence that names the file, the key, the value and what was expected.
Probe read_probe(const std::string& path);

}  // namespace attoscope
