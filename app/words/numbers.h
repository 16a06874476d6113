/// Numbers, roundings, masks and tables as text, from kernels/experiment.
#pragma once

#include "kernels/experiment/csv_text.h"  // IWYU pragma: export
#include "kernels/experiment/text.h"      // IWYU pragma: export
