/// Results, policies and probes as short tables for people.
#pragma once

#include <string>

#include "kernels/experiment/experiment.h"
#include "kernels/questions/attribution.h"

namespace attoscope {

struct CallJudgement;
struct Result;

/// "flash2 hw", "three_pass (own rounding)", "flash4 hw, tau 8"
std::string method_text(const Method& method, const KernelOutput& loaded = {});

/// The table of `attoscope run`.
std::string report(const Result& result);

/// The table of `attoscope run --attribute`.
std::string attribution_report(const Attribution& attribution);

/// What `attoscope run` says about a loaded output.
std::string verdict_report(const CallJudgement& verdict);

/// The tables of `attoscope presets`: policies, then probes.
std::string presets_report();

}  // namespace attoscope
