/// First steps for new users.
#pragma once

#include "ui/widgets/theme.h"

namespace attoscope {

/// A line above the picture until it is dismissed.
void draw_welcome(Session& session);

}  // namespace attoscope
