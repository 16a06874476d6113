/// A table of the error of every head of a file where its K and V are kept in fewer bits.
#pragma once

#include "ui/frame/entries.h"
#include "ui/frame/ui_state.h"
#include "ui/widgets/theme.h"

namespace attoscope {

/// Updates the smallest and the largest error of the table.
void measure_kv(HeadsState& heads);

/// The rows on show, worst first, as `attoscope kv` writes them.
Table shown_kv_table(const HeadsState& heads, const TensorFileInfo& info);

/// The same, drawn; a click on a heading orders by it. `open` is the head that the session shows. Returns the head that was
/// clicked; null: none.
const KvRow* draw_kv_table(const HeadsState& heads, const TensorFileInfo& info, int open);

}  // namespace attoscope
