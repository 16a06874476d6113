/// The places at which the blanks of an exercise are filled, from runs in double with nothing rounded.
#pragma once

#include "ui/frame/exercise.h"

namespace attoscope {

/// The executions of the line `kind` of the row's algorithm, one key a tile, for the row and then for another one. Sets the
/// blank's names too.
void add_code_cases(Blank& blank, StepKind kind, const StepQuestion& row);
/// The keys of the row, then of another one: m_old, l_old and o_old become m, l and o, by the score s and the value v.
void add_recurrence_cases(Blank& blank, const StepQuestion& row);
/// The row split after each of its keys, then another one: (m1, l1, o1) and (m2, l2, o2) are merged into (m, l, o).
void add_merge_cases(Blank& blank, const StepQuestion& row);

}  // namespace attoscope
