/// Compilation of the GPU code: progress, and a button that stops or resumes it.
#pragma once

#include <string>

#include "ui/frame/panel_input.h"
#include "ui/frame/requests.h"
#include "ui/widgets/theme.h"

namespace attoscope {

/// True if compiling takes longer than `shown_after`.
bool shows_compiling(const CompilingInput& input);

/// "the code for NVIDIA GeForce RTX 5090 is being compiled: 2 of 4 (attention in double), 11 s; the CPU computes meanwhile"
std::string compiling_sentence(const CompilingInput& input);

/// The button, then the sentence shortened to fit `width`, in a line of `height`; returns the width of both. The button does
/// not move.
float draw_compiling(const CompilingInput& input, const Palette& colours, float width, float height, Requests& requests);

}  // namespace attoscope
