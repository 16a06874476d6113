/// Check of formulas by MicroTeX's parser; MicroTeX itself draws invalid formulas without an error.
#pragma once

#include <string>

namespace attoscope::ui {

/// The parser's message on a formula; empty: valid. The formula fonts must be loaded first.
std::string formula_error(const std::string& latex);

}  // namespace attoscope::ui
