/// The gallery: shipped experiments, whole kernels and policies, each with a small picture and its sentence.
#pragma once

#include "ui/frame/panel_input.h"
#include "ui/frame/requests.h"
#include "ui/frame/ui_state.h"
#include "ui/widgets/theme.h"

namespace attoscope {

/// Everything that it shows.
std::vector<GalleryEntry> gallery_entries(const PanelInput& input);
/// Those of a kind (0: all) that the query finds, the best first; all in their order where nothing is typed.
std::vector<const GalleryEntry*> found_entries(const GalleryState& state);
/// The entry in Explore: another experiment, or another method a of the session's.
void apply(const GalleryEntry& entry, const PanelInput& input, Session& session, UiState& state);

/// The gallery while it is open; a click applies, Esc closes.
void draw_gallery(Session& session, const PanelInput& input, UiState& state, const Palette& colours, Requests& requests);

}  // namespace attoscope
