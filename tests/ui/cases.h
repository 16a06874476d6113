/// The tests of the window, by subject.
#pragma once

#include <span>

#include "tests/ui/hand.h"

namespace attoscope::testing {

struct Case {
  const char* about;
  const char* name;
  void (*run)(Hand&);
};

std::span<const Case> input_cases();        ///< inputs, heads, masks, seed, files
std::span<const Case> format_cases();       ///< formats, bits, sizes, tiles, rows, device
std::span<const Case> precision_cases();    ///< algorithms, presets, every cell of the matrix
std::span<const Case> option_cases();       ///< options of methods and scores
std::span<const Case> sums_cases();         ///< accumulators, flush, whole kernels
std::span<const Case> scales_cases();       ///< storage of tensors and its scales
std::span<const Case> traffic_cases();      ///< bytes, on-chip memory, roofline
std::span<const Case> key_cases();          ///< modifiers, Esc, the theme's name
std::span<const Case> tooltip_cases();      ///< every control explains itself
std::span<const Case> kernel_cases();       ///< verdict on a kernel's output
std::span<const Case> verdict_cases();      ///< all heads of it judged, its error over its tolerance, suspects
std::span<const Case> golden_cases();       ///< the main views against kept pictures
std::span<const Case> picture_cases();      ///< the heat map and its toolbar
std::span<const Case> comparison_cases();   ///< two fields held against each other, curves through a cell
std::span<const Case> steady_cases();       ///< stable parts while numbers change: the range of colours, the picture's place
std::span<const Case> map_cases();          ///< the rescale map and the scores
std::span<const Case> strip_cases();        ///< recurrence strip, bars, keys, help
std::span<const Case> tile_range_cases();   ///< the tiles that the strip shows
std::span<const Case> statistics_cases();   ///< the panel at the right, and its words
std::span<const Case> schedule_cases();     ///< a under other schedules of keys
std::span<const Case> session_cases();      ///< undo, clipboard, presets, answers in two parts
std::span<const Case> pin_cases();          ///< experiments that were kept
std::span<const Case> palette_cases();      ///< commands found by typing, and the keys of ui/commands/README.md
std::span<const Case> gallery_cases();      ///< shipped examples, with small pictures
std::span<const Case> export_cases();       ///< plots as pixels, figures and fields; the papers' figures
std::span<const Case> comfort_cases();      ///< layout, themes, progress, saved pictures, strange files
std::span<const Case> sweep_cases();        ///< the Sweep workspace
std::span<const Case> train_cases();        ///< the Train workspace: look, requests, states
std::span<const Case> train_plan_cases();   ///< its plan
std::span<const Case> train_word_cases();   ///< its records as curves, words and tables
std::span<const Case> state_cases();        ///< every panel with nothing, something running, NaN, and extreme sizes
std::span<const Case> learn_cases();        ///< lessons: pages, presenting, quizzes, broken texts
std::span<const Case> lesson_view_cases();  ///< numbers, pictures and plots of the lessons
std::span<const Case> stepper_cases();      ///< the stepper of the lessons
std::span<const Case> random_cases();       ///< random use for a day

}  // namespace attoscope::testing
