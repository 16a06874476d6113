/// Cases of an exercise's blanks, from runs in double without rounding.
#pragma once

#include "ui/frame/exercise.h"

namespace attoscope {

/// Adds each execution of the line `kind` of the row's algorithm, one key a tile, then the same of a second row. Also sets the
/// blank's names.
void add_code_cases(Blank& blank, StepKind kind, const StepQuestion& row);
/// Adds each key of the row, then of a second row: m_old, l_old and o_old become m, l and o with the score s and the value v.
void add_recurrence_cases(Blank& blank, const StepQuestion& row);
/// Adds each split of the row, then of a second row: (m1, l1, o1) and (m2, l2, o2) are merged into (m, l, o).
void add_merge_cases(Blank& blank, const StepQuestion& row);

}  // namespace attoscope
