/// The top bar, the status bar, and the command palette.
#pragma once

#include <string>
#include <vector>

#include "ui/widgets/theme.h"

namespace attoscope {

struct PanelInput;
struct Requests;
struct UiState;

/// The top bar.
void draw_top_bar(Session& session, const PanelInput& input, UiState& state, Requests& requests);

/// The status bar: device, numbers of the workspace on show, and a message.
void draw_status_bar(const Session& session, const PanelInput& input, Requests& requests);

/// A number of the status bar, its minimal width at UI scale 1, and its tooltip.
struct StatusNumber {
  std::string text;
  float width;
  std::string what;
  bool lit = false;
};
/// Numbers of the workspace on show.
std::vector<StatusNumber> status_numbers(const Session& session, const PanelInput& input);

/// The command palette while it is open: commands are found by typing.
void draw_palette(Session& session, const PanelInput& input, UiState& state, Requests& requests);

}  // namespace attoscope
