/// Number of rows in a preview, shown first where all rows would take long.
#pragma once

#include "kernels/experiment/experiment.h"

namespace attoscope {

/// Rows of the preview; 0: none. `rows_at_a_time`: rows that the GPU holds (0: CPU). Fewer rows take a GPU as long: a run's
/// time grows with the keys, and with the rows only once the GPU is full.
int first_rows(const Problem& problem, int rows_at_a_time);

}  // namespace attoscope
