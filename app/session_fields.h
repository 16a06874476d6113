/// The fields of a session, listed once: the same list writes a file and reads it back.
#pragma once

#include "kernels/experiment_fields.h"
#include "ui/view_fields.h"

namespace attoscope {

/// A visitor V has what ui/view_fields.h says, list(key, values, most, function) and thumbnail(key, pixels, size).
template <class V, class P>
void visit_pin(V& v, P& pin) {
  v.text("name", pin.name);
  v.object("experiment", [&](auto& inner) { visit_experiment(inner, pin.experiment); });
  for (const auto& [key, value] : {std::pair{"a_mean", &pin.a_mean}, std::pair{"b_mean", &pin.b_mean},
                                   std::pair{"a_max", &pin.a_max}, std::pair{"b_max", &pin.b_max}})
    v.real(key, *value, RealRange{.min = -1});
  v.hex("digest", pin.digest);
  v.thumbnail("thumbnail", pin.thumbnail, pin_width * pin_height);
}

template <class V, class S>
void visit_session(V& v, S& session) {
  v.object("experiment", [&](auto& inner) { visit_experiment(inner, session.experiment); });
  v.object("view", [&](auto& inner) { visit_view(inner, session.view); });
  v.text("device", session.device);
  v.list("pins", session.pins, max_pins, [](auto& inner, auto& pin) { visit_pin(inner, pin); });
}

}  // namespace attoscope
