/// Comma-separated values (RFC 4180).
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "kernels/experiment/text.h"

namespace attoscope {

/// One line, its fields in quotes where they must be.
std::string csv_line(const std::vector<std::string>& fields);
/// Splits a text into lines of fields; a line break within quotes belongs to its field.
std::vector<std::vector<std::string>> csv_lines(const std::string& text);

/// A text that grows field by field.
class CsvText {
 public:
  explicit CsvText(std::string_view header) : text_(header) { text_ += '\n'; }

  CsvText& add(std::string_view field) {
    line_.emplace_back(field);
    return *this;
  }
  template <class T>
    requires std::integral<T> || std::floating_point<T>
  CsvText& add(T x) {
    return add(shortest(x));
  }
  void end_line() {
    text_ += csv_line(line_);
    line_.clear();
  }
  std::string take() { return std::move(text_); }

 private:
  std::string text_;
  std::vector<std::string> line_;
};

}  // namespace attoscope
