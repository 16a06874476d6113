/// The usual slips, each with the output that it would give.
#pragma once

#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "kernels/slips/slips.h"

namespace attoscope {

struct Suspect {
  Slip::Kind kind = Slip::Kind::scale;
  std::string text;
  std::function<ExpectedRow()> begin;  ///< may take memory and time; the function may be called from many threads
  std::optional<Problem> problem{};    ///< the problem whose exact output this slip gives, if there is one
  std::optional<Format> inputs{};      ///< the format of the inputs that the kernel saw, if that differs
};

/// Tile sizes that the kernel may have used for so many rows or keys: those of the other method, and powers of two from 16 to
/// 256, all below `length`.
std::vector<int> likely_tiles(const Experiment& experiment, int length);

/// Slips of the arithmetic, the simplest first; of other heads where `heads` has some.
std::vector<Suspect> arithmetic_suspects(const Result& result, const OtherHeads& heads);

/// Slips of the output's layout: rows or columns of the exact output in other places, found by searching for each row (and each
/// column) of `output` in it. `rows` (indices of rows of the matrices) selects the rows to search for; all rows must be
/// computed.
std::vector<Suspect> layout_suspects(const Result& result, const Matrix& output, std::span<const int> rows,
                                     const Cancelled& cancelled);

/// True if these are the same but for their numbers.
bool alike(std::string text, std::string other);

/// The slip of `find_slips` that has this text but for its numbers; none where none that has it explains the error.
std::optional<Slip> find_slip_like(const std::string& text, const Result& result, const OtherHeads& heads,
                                   const Options& options);

}  // namespace attoscope
