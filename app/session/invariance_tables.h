/// Invariance as JSON and as a text table.
#pragma once

#include <string>

#include "app/json/json.h"

namespace attoscope {

struct Invariance;

/// `attoscope.invariance/1`: the experiment, the sentence, every schedule, and the groups of equal bits.
Json invariance_json(const Invariance& answer);

/// One line for each schedule, and the sentence.
std::string invariance_report(const Invariance& answer);

}  // namespace attoscope
