/// Answers that are out of date, on screen.
#pragma once

#include "ui/widgets/theme.h"

namespace attoscope {

struct PanelInput;
struct Result;

/// True if the result is a first answer: it holds fewer rows than its question asks for.
bool is_first_answer(const Result& result);

/// True if what is shown answers an older question, and has for more than 0.1 s.
bool is_stale(const PanelInput& input);

/// Dims what the current window has drawn while its answer is out of date by more than 0.1 s.
void dim_if_stale(const PanelInput& input, const Palette& colours);

}  // namespace attoscope
