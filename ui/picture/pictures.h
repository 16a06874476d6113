/// The kinds of picture in the middle panel; each fills `room`.
#pragma once

#include "ui/frame/panel_input.h"
#include "ui/frame/requests.h"
#include "ui/frame/ui_state.h"
#include "ui/picture/colour_bar.h"
#include "ui/widgets/theme.h"

namespace attoscope {

/// A field of the output by rows and head dimension, alone or against a second one.
void draw_output(Session& session, const PanelInput& input, UiState& all, Requests& requests, const Box& room);
/// Moves of a's m, or P outside its format, by rows and tiles.
void draw_rescale_map(Session& session, const PanelInput& input, UiState& all, Requests& requests, const Box& room);
/// S, P or the error of P of a window of rows and keys.
void draw_scores(Session& session, const PanelInput& input, UiState& all, Requests& requests, const Box& room);

/// All heads of the input's file, worst first: deviation of a as a small picture, and numbers. A click opens a head.
void draw_heads(Session& session, const PanelInput& input, UiState& all, Requests& requests, const Box& room);

}  // namespace attoscope
