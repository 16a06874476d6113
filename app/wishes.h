/// What the panels asked for, done.
#pragma once

#include "app/explorer.h"
#include "ui/ui.h"

namespace attoscope {

/// Opens files, copies and pastes sessions, asks for attributions; closing the window is the caller's.
void grant(const Wishes& wishes, Session& session, Explorer& explorer);

}  // namespace attoscope
