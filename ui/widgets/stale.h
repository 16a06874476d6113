/// Display of outdated answers.
#pragma once

#include "ui/widgets/theme.h"

namespace attoscope {

struct PanelInput;
struct Result;

/// True if the result is a first answer, with fewer rows than its question asks for.
bool is_first_answer(const Result& result);

/// True if the answer on screen has been outdated for more than 0.1 s.
bool is_stale(const PanelInput& input);

/// Dims the current window's drawing if `is_stale`.
void dim_if_stale(const PanelInput& input);

}  // namespace attoscope
