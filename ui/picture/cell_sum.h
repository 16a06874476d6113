/// The sum behind the pinned cell: how tensor cores added up its last product.
#pragma once

#include "ui/widgets/theme.h"

namespace attoscope {

struct PanelInput;
struct Requests;
struct UiState;

/// Whether a cell is pinned whose sum can be asked for.
bool has_cell_sum(const View& view);

/// A window of its own while the view shows it and a cell is pinned; asks for the sum where it is not known.
void draw_cell_sum(Session& session, const PanelInput& input, UiState& state, const Palette& colours, Requests& requests);

}  // namespace attoscope
