/// Carries out what the panels asked for.
#pragma once

#include "app/explore/explorer.h"
#include "app/explore/plot_exporter.h"
#include "ui/frame/requests.h"
#include "ui/session/session.h"

namespace attoscope {

/// Opens files, copies and pastes sessions and pins, asks for attributions, stops the work, has pictures kept; closing the
/// window is the caller's.
void handle(const Requests& requests, Session& session, Explorer& explorer, PlotExporter& exporter);

}  // namespace attoscope
