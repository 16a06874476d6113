/// LaTeX formulas of lessons as MathML, which browsers draw without scripts.
#pragma once

#include <string>
#include <string_view>

namespace attoscope::app {

/// "<math>...</math>" of a formula. Throws std::invalid_argument with one sentence on commands that lessons do not use.
std::string mathml(std::string_view formula, bool displayed);

/// Text with &, <, > and quotes escaped for HTML, and a question mark for every invalid byte of UTF-8.
std::string html_escaped(std::string_view text);

}  // namespace attoscope::app
