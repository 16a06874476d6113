/// Sets one setting from typed text: for `--set a.tau=4`, the options of commands and the axes of sweeps.
#pragma once

#include <concepts>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "app/words/numbers.h"
#include "kernels/experiment/setting.h"

namespace attoscope::app {

/// Throws "LABEL is 'VALUE', expected EXPECTED".
[[noreturn]] inline void refuse(const std::string& label, std::string_view value, const std::string& expected) {
  throw std::invalid_argument(label + " is " + in_quotes(value) + ", expected " + expected);
}

/// Parses a whole number. Throws std::invalid_argument with one sentence.
template <std::integral T>
T whole_number(const std::string& label, std::string_view text, T min, T max) {
  const auto value = to_number<T>(text);
  if (!value || *value < min || *value > max) refuse(label, text, whole_range_text(min, max));
  return *value;
}

/// The parts of a text between separators; the whole text, perhaps empty, if there is no separator.
std::vector<std::string> split(std::string_view text, char at = ',');

/// Calls `read`; prefixes its exceptions with the option.
template <class F>
auto of_option(const std::string& option, F read) {
  try {
    return read();
  } catch (const std::invalid_argument& error) {
    throw std::invalid_argument(option + ": " + error.what());
  }
}

/// Sets the setting at `path`; the path of a rounding is its step: "O", not "precision.O". Throws std::invalid_argument with
/// one sentence that begins with `label`.
void set_field(const std::string& label, const Settings& settings, std::string_view path, const std::string& value);

}  // namespace attoscope::app
