/// Comma-separated values (RFC 4180).
#pragma once

#include <string>
#include <vector>

namespace attoscope {

/// One line, its fields in quotes where they must be.
std::string csv_line(const std::vector<std::string>& fields);
/// The lines of a text, each in its fields; a line break within quotes belongs to its field.
std::vector<std::vector<std::string>> csv_lines(const std::string& text);

}  // namespace attoscope
