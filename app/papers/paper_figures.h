/// The figures that are made of sweeps; `named.cpp` lists them.
#pragma once

#include "app/papers/named.h"

namespace attoscope::papers {

/// Difference of the two outputs by number format (arXiv 2405.02803, figure 3).
Figure format_difference(const FigureSettings& x, const AnswerSweep& answer);
/// Errors of both by number format (figure 4).
Figure format_golden(const FigureSettings& x, const AnswerSweep& answer);
/// Difference and errors over sequence length (figure 5).
Figure sequence_length(const FigureSettings& x, const AnswerSweep& answer);
/// Difference over the area of a tile (figure 6 a).
Figure tile_area(const FigureSettings& x, const AnswerSweep& answer);
/// Difference over the side of a square tile (figure 6 b).
Figure tile_square(const FigureSettings& x, const AnswerSweep& answer);
/// Difference for rectangular tiles and the same swapped (figure 6 c).
Figure tile_swap(const FigureSettings& x, const AnswerSweep& answer);
/// Where the abstract's factor of ten holds.
Figure paper_region(const FigureSettings& x, const AnswerSweep& answer);
/// RMS errors on the outlier mix (arXiv 2407.08608, table 3).
Figure fa3_table3(const FigureSettings& x, const AnswerSweep& answer);
/// How often the running max moves.
Figure rescales(const FigureSettings& x, const AnswerSweep& answer);
/// Error and rescales over FlashAttention-4's threshold.
Figure lag(const FigureSettings& x, const AnswerSweep& answer);
/// Signed error with ties (arXiv 2510.04212).
Figure bias(const FigureSettings& x, const AnswerSweep& answer);
/// Error with one rounding step at a time made exact.
Figure attribution(const FigureSettings& x, const AnswerSweep& answer);
/// Error over N with the sums of several GPUs.
Figure accumulator(const FigureSettings& x, const AnswerSweep& answer);
/// Error of the named kernels that store with scales, in its parts.
Figure formats_2026(const FigureSettings& x, const AnswerSweep& answer);
/// K and V kept in fewer bits, head by head.
Figure kv_cache(const FigureSettings& x, const AnswerSweep& answer);
/// Splits by keys of a tile: the largest difference of one query's O.
Figure invariance(const FigureSettings& x, const AnswerSweep& answer);
/// K without its mean, Q and K rotated, head by head.
Figure smoothing(const FigureSettings& x, const AnswerSweep& answer);
/// Errors of every head of the shipped grouped-query layers.
Figure heads(const FigureSettings& x, const AnswerSweep& answer);
/// HBM bytes of three algorithms (arXiv 2205.14135).
Figure io(const FigureSettings& x, const AnswerSweep& answer);

}  // namespace attoscope::papers
