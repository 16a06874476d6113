#include "ui/widgets/judged_heads.h"

#include <fmt/format.h>

#include "kernels/experiment/experiment.h"
#include "ui/widgets/widgets.h"

namespace attoscope {

std::string heads_words(const HeadVerdicts& h) {
  if (!h.complete()) {
    const std::string wrong = h.wrong > 0 ? fmt::format(", {} wrong", h.wrong) : "";
    return fmt::format("{} of {} heads judged", h.judged, h.all) + wrong;
  }
  if (h.rounded()) return fmt::format("All {} heads rounded", h.all);
  const std::string unknown = h.incomparable > 0 ? fmt::format("{} not comparable", h.incomparable) : "";
  if (h.wrong == 0) return fmt::format("{} of {} heads", h.incomparable, h.all) + " not comparable";
  const std::string wrong =
      h.wrong == h.all ? fmt::format("All {} heads wrong", h.all) : fmt::format("{} of {} heads wrong", h.wrong, h.all);
  return wrong + (unknown.empty() ? "" : ", " + unknown);
}

Colour heads_tone(const HeadVerdicts& heads) {
  if (!heads.complete()) return colours().text;
  return heads.wrong > 0 ? colours().bad : heads.rounded() ? colours().good : colours().text;
}

bool judging_stopped(const HeadsState& heads, const Experiment& e) {
  return !heads.unjudged.empty() && heads.unjudged == e.loaded.file;
}

void judging_button(const HeadVerdicts& found, const Experiment& e, HeadsState& heads, float width, Requests& requests) {
  if (found.complete()) return;
  const bool stopped = judging_stopped(heads, e);
  if (push_button(stopped ? "go on###judging" : "stop###judging", false, {width, 0})) {
    heads.unjudged = stopped ? "" : e.loaded.file;
    requests.side.stop_heads = !stopped;
  }
  explain(stopped ? "Judges the heads that are missing." : "Stops; the heads that were judged stay.");
}

}  // namespace attoscope
