/// Whether MicroTeX understands a formula; it draws what it can of any.
#pragma once

#include <string>

namespace attoscope {

/// What is wrong with a formula, in the parser's words; empty: nothing. The fonts of formulas have to be loaded.
std::string formula_error(const std::string& latex);

}  // namespace attoscope
