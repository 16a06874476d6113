/// The gallery: shipped experiments, whole kernels and policies, each with a small picture and its sentence.
#pragma once

#include "ui/frame/panel_input.h"
#include "ui/frame/requests.h"
#include "ui/frame/ui_state.h"
#include "ui/widgets/theme.h"

namespace attoscope {

/// All entries of the gallery.
std::vector<GalleryEntry> gallery_entries(const PanelInput& input);
/// Entries of the chosen kind (0: all) that match the query, best first; in their own order without a query.
std::vector<const GalleryEntry*> found_entries(const GalleryState& state);
/// Opens the entry in Explore: replaces the experiment, or method a.
void apply(const GalleryEntry& entry, const PanelInput& input, Session& session, UiState& state);

/// The gallery while it is open; a click applies, Esc closes.
void draw_gallery(Session& session, const PanelInput& input, UiState& state, Requests& requests);

}  // namespace attoscope
