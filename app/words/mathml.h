/// Formulas of lessons, LaTeX between dollars, as MathML: browsers draw it without a script.
#pragma once

#include <string>
#include <string_view>

namespace attoscope {

/// "<math>...</math>" of a formula. Throws std::invalid_argument in a sentence where it holds something that lessons do not
/// use.
std::string mathml(std::string_view formula, bool displayed);

/// Text with &, <, > and quotes written so that HTML shows them.
std::string html_escaped(std::string_view text);

}  // namespace attoscope
