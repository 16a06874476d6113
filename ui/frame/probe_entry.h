/// The shipped experiments in the panels.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "kernels/experiment/experiment.h"

namespace attoscope {

/// A shipped experiment that shows one thing.
struct ProbeEntry {
  std::string name;      ///< of its file
  std::string title;     ///< a few words
  std::string sentence;  ///< the thing to look for, and its effect
  Experiment experiment;
};
using ProbeEntries = std::shared_ptr<const std::vector<ProbeEntry>>;

}  // namespace attoscope
