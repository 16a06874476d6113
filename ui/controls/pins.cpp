#include "ui/controls/pins.h"

#include <algorithm>
#include <cmath>

#include "ui/picture/thumbnail.h"
#include "ui/session/settings.h"
#include "ui/widgets/stale.h"
#include "ui/words/numbers.h"
#include "ui/words/sentences.h"

namespace attoscope {

namespace {

double or_not_finite(double error) { return std::isfinite(error) ? error : -1; }

std::string name_of(const Experiment& e) {
  const NearestPolicy policy = nearest_policy(e.a.precision, e.a.algorithm);
  std::string text(name(e.a.algorithm));
  text.append(" ").append(policy.name).append(policy.changed > 0 ? "* " : " ").append(name(e.format));
  text.append(" N ").append(std::to_string(e.problem.n));
  if (key_count(e.problem) != e.problem.n) text.append("×").append(std::to_string(key_count(e.problem)));
  if (e.problem.mask.kind != Mask::Kind::none)
    text.append(" ").append(mask_names[static_cast<std::size_t>(e.problem.mask.kind)]);
  return text;
}

/// The experiment without its files' values, which are read again on restore.
Experiment without_values(Experiment e) {
  e.problem.input.tensors.reset();
  e.loaded.values.reset();
  return e;
}

}  // namespace

Pin make_pin(const Result& result) {
  return {.name = name_of(result.experiment),
          .experiment = without_values(result.experiment),
          .a_mean = or_not_finite(result.a_error.mean_abs),
          .b_mean = or_not_finite(result.b_error.mean_abs),
          .a_max = or_not_finite(result.a_error.max_abs),
          .b_max = or_not_finite(result.b_error.max_abs),
          .digest = result.digests.a,
          .thumbnail = thumbnail_of(result)};
}

void keep_pin(Session& session, const PanelInput& input, PinState& state) {
  state.complaint.clear();
  const auto same = std::ranges::find(session.pins, session.experiment, &Pin::experiment);
  if (!input.answer.result || !(input.answer.result->experiment == session.experiment) || is_first_answer(*input.answer.result))
    state.complaint = "Nothing to pin yet: the experiment is still being computed.";
  else if (same != session.pins.end())
    state.complaint = "This experiment is pinned already, as “" + same->name + "”.";
  else if (session.pins.size() >= max_pins)
    state.complaint = "There are " + std::to_string(max_pins) + " pins is the most that are kept: delete one first.";
  else
    session.pins.push_back(make_pin(*input.answer.result));
}

void restore_pin(Session& session, int index) {
  if (index < 0 || index >= static_cast<int>(session.pins.size())) return;
  session.experiment = session.pins[static_cast<std::size_t>(index)].experiment;
  look_at_all(session.view);
}

std::string compare_with_pin(Session& session, int index) {
  if (index < 0 || index >= static_cast<int>(session.pins.size())) return {};
  const Pin& pin = session.pins[static_cast<std::size_t>(index)];
  for (const Difference& d : differences(session.experiment, pin.experiment))
    if (d.path.starts_with("problem.") || d.path == "format" || d.path == "a.precision.input")
      return "Not the same question: " + d.path + " is " + d.x + " here and " + d.y + " in the pin.";
  session.experiment.b = pin.experiment.a;
  if (pin.experiment.a.algorithm == Algorithm::loaded) session.experiment.loaded = pin.experiment.loaded;
  return {};
}

}  // namespace attoscope
