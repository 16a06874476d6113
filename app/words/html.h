/// Markdown of lessons as HTML.
#pragma once

#include <functional>
#include <string>
#include <string_view>

namespace attoscope {

/// Paragraphs, lists, tables, headings, fenced code, emphasis, code, links and formulas. Lines that begin with "> " speak of
/// the window's controls and are left out. `number(i)` gives the HTML that stands
/// for the live number `<numI/>`. Throws std::invalid_argument in a sentence where a formula cannot be written.
std::string html_of(std::string_view markdown, const std::function<std::string(int)>& number);

}  // namespace attoscope
