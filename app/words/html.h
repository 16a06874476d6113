/// Markdown of lessons as HTML.
#pragma once

#include <functional>
#include <string>
#include <string_view>

namespace attoscope {

/// HTML of paragraphs, lists, tables, headings, fenced code, emphasis, code, links and formulas. Lines that begin with "> " are
/// about the window's controls and are left out. `number(i)` returns the HTML of the live number `<numI/>`. Throws
/// std::invalid_argument with one sentence on an unknown formula.
std::string html_of(std::string_view markdown, const std::function<std::string(int)>& number);

}  // namespace attoscope
