/// Invariance in words and as a table.
#pragma once

#include <array>
#include <string>
#include <string_view>

#include "kernels/questions/invariance.h"

namespace attoscope {

/// Names of `PartingPlace` in files.
inline constexpr std::array<std::string_view, 5> parting_place_names{"nowhere", "tile", "merge", "end", "no_common"};
constexpr std::string_view name(PartingPlace p) { return parting_place_names[static_cast<std::size_t>(p)]; }

/// "splits 4 with block_k 64 forward".
std::string schedule_text(const Schedule& s);

/// "O after tile 1, keys 0 .. 127": the place where the traced row gets other bits; "": it has the same.
std::string parting_text(const ScheduleRun& run);

/// One sentence with the schedules that may be mixed, as far as the answer shows it.
std::string invariance_sentence(const Invariance& answer);

/// A line for each schedule.
std::string invariance_csv(const Invariance& answer);

}  // namespace attoscope
