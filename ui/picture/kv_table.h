/// What every head of a file loses where its K and V are kept in fewer bits, as a table.
#pragma once

#include <string>

#include "ui/frame/entries.h"
#include "ui/frame/ui_state.h"
#include "ui/widgets/theme.h"

namespace attoscope {

/// The least and the largest error of the heads that are found.
void measure_kv(HeadsState& heads);

/// A row a head, a column a storage; a click on a column's head orders by it. `open` is the head that the session shows.
/// Returns the head that was clicked; null: none.
const KvRow* draw_kv_table(HeadsState& heads, const TensorFileInfo& info, int open, const Palette& colours);

/// The rows on show, in their order, as `attoscope kv` writes them.
std::string kv_table_csv(const HeadsState& heads, const TensorFileInfo& info);

}  // namespace attoscope
