/// Executes the panels' requests.
#pragma once

#include "app/explore/explorer.h"
#include "app/explore/plot_exporter.h"
#include "ui/frame/requests.h"
#include "ui/session/session.h"

namespace attoscope {

/// Opens files, copies and pastes sessions and pins, asks additional questions, stops work, exports pictures. The caller closes
/// the window.
void handle(const Requests& requests, Session& session, Explorer& explorer, PlotExporter& exporter);

}  // namespace attoscope
