/// The tests of the window, by what they are about.
#pragma once

#include <span>

#include "tests/ui/hand.h"

namespace attoscope::testing {

struct Case {
  const char* about;
  const char* name;
  void (*run)(Hand&);
};

std::span<const Case> input_cases();      ///< inputs, heads, masks, seed, files
std::span<const Case> format_cases();     ///< formats, bits, sizes, tiles, rows, device
std::span<const Case> precision_cases();  ///< algorithms, presets, every cell of the matrix
std::span<const Case> option_cases();     ///< options of methods and scores
std::span<const Case> picture_cases();    ///< the heat map and its toolbar
std::span<const Case> strip_cases();      ///< recurrence strip, bars, keys, help
std::span<const Case> session_cases();    ///< undo, clipboard, presets, answers in two parts
std::span<const Case> state_cases();      ///< every panel with nothing, something running, NaN, and extreme sizes

}  // namespace attoscope::testing
