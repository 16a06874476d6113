/// Verdicts on all heads of a loaded output in a few words, and a button that stops judging.
#pragma once

#include <string>

#include "ui/frame/heads_answer.h"
#include "ui/frame/requests.h"
#include "ui/frame/ui_state.h"
#include "ui/widgets/theme.h"

namespace attoscope {

/// "4 of 8 heads wrong", "All 8 heads rounded", "12 of 270 heads judged, 2 wrong".
std::string heads_words(const HeadVerdicts& heads);
/// Colour of `heads_words`: once all are judged, green if all are rounded, else that of errors; before, that of text.
Colour heads_tone(const HeadVerdicts& heads);

/// True if judging of this output was stopped.
bool judging_stopped(const HeadsState& heads, const Experiment& experiment);
/// "stop" or "go on", while verdicts are missing.
void judging_button(const HeadVerdicts& found, const Experiment& experiment, HeadsState& heads, float width,
                    Requests& requests);

}  // namespace attoscope
