/// Fields of a session, listed once, for writing and reading files.
#pragma once

#include "kernels/experiment/experiment_fields.h"
#include "ui/session/train_look_fields.h"
#include "ui/session/view_fields.h"

namespace attoscope {

/// Visits the fields. V has the functions listed in ui/session/view_fields.h, list(key, values, most, function) and
/// thumbnail(key, pixels, size).
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

template <class V, class P>
void visit_sweep_plan(V& v, P& plan) {
  const auto varied = [&](const char* key, auto& parameter) {
    v.object(key, [&](auto& inner) {
      inner.text("key", parameter.key);
      inner.text("values", parameter.values);
    });
  };
  varied("first", plan.first);
  varied("second", plan.second);
  v.integer("seeds", plan.seeds, 1, most_plan_seeds);
  v.text("measure", plan.measure);
  v.choice("subject", plan.subject, sweep_subject_names);
  v.choice("relation", plan.relation, sweep_relation_names);
  v.choice("spread", plan.spread, seed_spread_names);
  v.flag("log_x", plan.log_x);
  v.flag("log_y", plan.log_y);
  v.flag("heat_map", plan.heat_map);
}

template <class V, class L>
void visit_lesson(V& v, L& lesson) {
  v.text("name", lesson.name);
  v.integer("step", lesson.step, 0, max_lesson_steps);
  v.flag("presenting", lesson.presenting);
  v.list("views", lesson.views, max_lesson_views, [](auto& inner, auto& view) {
    inner.text("lesson", view.lesson);
    inner.integer("view", view.view, 0, max_lesson_views);
    inner.list("changes", view.changes, max_lesson_changes, [](auto& deepest, auto& change) {
      deepest.text("key", change.key);
      deepest.text("value", change.value);
    });
  });
  v.list("progress", lesson.progress, max_lesson_views, [](auto& inner, auto& progress) {
    inner.text("lesson", progress.lesson);
    inner.integer("steps_seen", progress.steps_seen, 0, max_lesson_steps);
  });
}

template <class V, class S>
void visit_session(V& v, S& session) {
  v.object("experiment", [&](auto& inner) { visit_experiment(inner, session.experiment); });
  v.object("view", [&](auto& inner) { visit_view(inner, session.view); });
  v.text("device", session.device);
  v.list("pins", session.pins, max_pins, [](auto& inner, auto& pin) { visit_pin(inner, pin); });
  v.object("lesson", [&](auto& inner) { visit_lesson(inner, session.lesson); });
  v.object("sweep", [&](auto& inner) { visit_sweep_plan(inner, session.sweep); });
  v.object("train", [&](auto& inner) { visit_train_plan(inner, session.train); });
  v.object("train_look", [&](auto& inner) { visit_train_look(inner, session.train_look); });
}

}  // namespace attoscope
