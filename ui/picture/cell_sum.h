/// The sum behind the pinned cell, as tensor cores compute its last product.
#pragma once

#include "ui/widgets/theme.h"

namespace attoscope {

struct PanelInput;
struct Requests;
struct UiState;

/// True if the output is on show and has a pinned cell.
bool has_cell_sum(const View& view);

/// A window with the sum, while the view shows it and a cell is pinned; requests the sum if it is unknown.
void draw_cell_sum(Session& session, const PanelInput& input, UiState& state, Requests& requests);

}  // namespace attoscope
