/// What the panels asked for, done.
#pragma once

#include "app/explorer.h"
#include "app/keeper.h"
#include "ui/ui.h"

namespace attoscope {

/// Opens files, copies and pastes sessions and pins, asks for attributions, stops the work, has pictures kept; closing the
/// window is the caller's.
void grant(const Wishes& wishes, Session& session, Explorer& explorer, Keeper& keeper);

}  // namespace attoscope
