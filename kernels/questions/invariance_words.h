/// Invariance in words and as a table.
#pragma once

#include <array>
#include <string>
#include <string_view>

#include "kernels/experiment/table.h"
#include "kernels/questions/invariance.h"

namespace attoscope {

/// Names of `PartingPlace` in files.
inline constexpr std::array<std::string_view, 5> parting_place_names{"nowhere", "tile", "merge", "end", "no_common"};
constexpr std::string_view name(PartingPlace p) { return parting_place_names[static_cast<std::size_t>(p)]; }

/// "splits 4 with block_k 64 forward".
std::string schedule_text(const Schedule& s);

/// "O after tile 1, keys 0 .. 127": the place where the traced row gets other bits; "": it has the same.
std::string parting_text(const ScheduleRun& run);

/// One sentence: how many schedules may be mixed on these tensors, and how near the next one comes.
std::string invariance_sentence(const Invariance& answer);

/// A row for each schedule.
Table invariance_table(const Invariance& answer);

}  // namespace attoscope
