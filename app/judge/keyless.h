/// The verdict on O and L of sequences with queries and no keys, which are no heads of a packed or paged call.
#pragma once

#include <array>
#include <optional>
#include <string>

#include "app/judge/judged_call.h"
#include "app/judge/row_numbers.h"
#include "kernels/experiment/method.h"

namespace attoscope::app {

/// "sequence 1 has queries and no keys, and its O holds 1, expected 0"; "": O and a given L are right in all of them. `rule`
/// says what O holds there; L may hold either infinity.
std::string wrong_without_keys(const JudgedFiles& files, const std::optional<RowNumbers>& lse, EmptyRule rule);

/// The sentences of a call with that verdict. `rounded`: true if all else is rounded.
std::array<std::string, 3> with_wrong_without_keys(std::array<std::string, 3> sentences, const std::string& wrong,
                                                   bool rounded);

}  // namespace attoscope::app
