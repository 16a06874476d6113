/// A GPU's driver that compiles the program's code: how far it is, and a button that stops it or goes on.
#pragma once

#include <string>

#include "ui/frame/panel_input.h"
#include "ui/frame/requests.h"
#include "ui/widgets/theme.h"

namespace attoscope {

/// False where it takes no longer than `shown_after`.
bool shows_compiling(const CompilingInput& input);

/// "the code for NVIDIA GeForce RTX 5090 is being compiled: 2 of 4 (attention in double), 11 s; the CPU computes meanwhile"
std::string compiling_sentence(const CompilingInput& input);

/// The button, then the sentence as far as it fits in `width`, in a line of `height`; how wide both are. The button does not
/// move.
float draw_compiling(const CompilingInput& input, const Palette& colours, float width, float height, Requests& requests);

}  // namespace attoscope
