/// The verdicts on all heads of a loaded output in a few words, and the button that stops the search for them.
#pragma once

#include <string>

#include "ui/frame/heads_answer.h"
#include "ui/frame/requests.h"
#include "ui/frame/ui_state.h"
#include "ui/widgets/theme.h"

namespace attoscope {

/// "4 of 8 heads wrong", "All 8 heads rounded", "12 of 270 heads judged, 2 wrong".
std::string heads_words(const HeadVerdicts& heads);
/// Green once all are judged and rounded, the colour of what is bad once all are judged and one is wrong; before, that of text.
Colour heads_tone(const HeadVerdicts& heads, const Palette& colours);

/// True if the heads of this output are to be judged no further.
bool judging_stopped(const HeadsState& heads, const Experiment& experiment);
/// While heads are missing, "stop" or "go on" of this width.
void judging_button(const HeadVerdicts& found, const Experiment& experiment, HeadsState& heads, float width,
                    const Palette& colours, Requests& requests);

}  // namespace attoscope
