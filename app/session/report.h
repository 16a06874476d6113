/// Results, policies and probes as short text tables.
#pragma once

#include <string>

#include "kernels/experiment/experiment.h"
#include "kernels/questions/attribution.h"

namespace attoscope {
struct CallJudgement;
struct Result;
}  // namespace attoscope

namespace attoscope::app {

/// "flash2 hw", "three_pass (own rounding)", "flash4 hw, tau 8"
std::string method_text(const Method& method, const KernelOutput& loaded = {});

/// The output of `attoscope run`.
std::string report(const Result& result);

/// The output of `attoscope run --attribute`.
std::string attribution_report(const Attribution& attribution);

/// The verdict on a loaded output in `attoscope run`.
std::string verdict_report(const CallJudgement& verdict);

/// The output of `attoscope presets`: policies, then probes.
std::string presets_report();

}  // namespace attoscope::app
