/// Check of formulas by MicroTeX, which draws what it can of any.
#pragma once

#include <string>

namespace attoscope::ui {

/// The parser's message on a formula; empty: valid. The fonts of formulas must be loaded before.
std::string formula_error(const std::string& latex);

}  // namespace attoscope::ui
