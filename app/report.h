/// Results and policies as short tables for people.
#pragma once

#include <string>

#include "kernels/result.h"

namespace attoscope {

/// The table of `attoscope run`.
std::string report(const Result& result);

/// The table of `attoscope presets`.
std::string presets_report();

}  // namespace attoscope
