/// A button on a plot, and the menu of how it is kept: pixels and numbers, or a figure for print.
#pragma once

#include <functional>
#include <string>

#include "imgui.h"
#include "ui/frame/requests.h"
#include "ui/session/session.h"
#include "ui/widgets/theme.h"

namespace attoscope {

/// A plot that can be kept.
struct Exportable {
  Plot plot = Plot::window;          ///< window: pixels and numbers alone
  std::string name;                  ///< for the files, the button ("###save name") and the menu
  ImVec2 min, max;                   ///< where it is on screen
  std::function<std::string()> csv;  ///< its numbers, made when they are wanted
  bool low = false;                  ///< the button stands at the bottom
  bool has_field = false;            ///< a whole field lies behind it
};

/// The button while the mouse is over the plot, and its menu while that is open. What is chosen there stays in the view; `save`
/// becomes a request. Takes no room in the layout.
void offer_export(const Exportable& plot, View& view, const Palette& colours, Requests& requests);

}  // namespace attoscope
