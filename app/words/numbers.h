/// Numbers, roundings, masks and tables as text, for the rooms of app: they reach the module of kernels/ through this one.
#pragma once

#include "kernels/experiment/csv_text.h"  // IWYU pragma: export
#include "kernels/experiment/text.h"      // IWYU pragma: export
