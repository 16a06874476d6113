/// Errors of every head of a file with K and V in fewer bits, as a table.
#pragma once

#include <string>

#include "ui/frame/entries.h"
#include "ui/frame/ui_state.h"
#include "ui/widgets/theme.h"

namespace attoscope {

/// Updates the smallest and the largest error of the table.
void measure_kv(HeadsState& heads);

/// One row a head, one column a storage; a click on a heading orders by it. `open`: head of the session's question. Returns the
/// clicked head; null: none.
const KvRow* draw_kv_table(HeadsState& heads, const TensorFileInfo& info, int open, const Palette& colours);

/// The rows on show, in their order, in the format of `attoscope kv`.
std::string kv_table_csv(const HeadsState& heads, const TensorFileInfo& info);

}  // namespace attoscope
