/// A save button on a plot, and its menu: pixels and numbers, or a figure for print.
#pragma once

#include <functional>
#include <string>

#include "imgui.h"
#include "ui/frame/requests.h"
#include "ui/session/session.h"

namespace attoscope::ui {

/// A plot that can be saved.
struct Exportable {
  Plot plot = Plot::window;          ///< window: only pixels and numbers
  std::string name;                  ///< for the files, the button ("###save name") and the menu
  ImVec2 min, max;                   ///< screen rectangle
  std::function<std::string()> csv;  ///< its numbers, created on demand
  bool low = false;                  ///< the button is at the bottom
  bool has_field = false;            ///< the whole field of the plot can be saved too
  std::function<Session()> of{};     ///< session to plot; empty: the window's
  float header = 0;                  ///< height of its title and names, which the button leaves free
};

/// The button while the mouse is over the plot or the keyboard's focus on the button, and its menu while open. Choices are kept
/// in the view; `save` becomes a request. Takes no room in the layout.
void offer_export(const Exportable& plot, View& view, Requests& requests);

}  // namespace attoscope::ui
