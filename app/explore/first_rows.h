/// How many rows are shown first, so that a picture comes at once where all rows would take long.
#pragma once

#include "kernels/experiment/experiment.h"

namespace attoscope {

/// So many rows of the problem first; 0: all at once. On a GPU, which holds `rows_at_a_time` rows (0: on the CPU), fewer rows
/// than that take as long as all that it holds: the time of a run grows with its keys, and with its rows only once the GPU is
/// full.
int first_rows(const Problem& problem, int rows_at_a_time);

}  // namespace attoscope
