#include "ui/session/history.h"

#include <utility>

namespace attoscope::ui {

namespace {

/// The session without its pins: they may be many, and moments share them.
Session without_pins(const Session& s) {
  return {s.experiment, s.view, s.kernel_gradients, s.device, {}, s.lesson, s.sweep, s.train, s.train_look, s.model, s.origin};
}

/// `view` with the window's look and the zooms of `other`, which undo does not count as changes.
View looked_at_as(View view, const View& other) {
  take_look(view, other);
  view.zoom = other.zoom;
  view.rescale_look.zoom = other.rescale_look.zoom;
  view.score_look.zoom = other.score_look.zoom;
  view.tiles = other.tiles;
  return view;
}

}  // namespace

History::Moment History::moment(const Session& session) const {
  const bool known = !values_.empty() && *values_[at_].pins == session.pins;
  return {without_pins(session), known ? values_[at_].pins : std::make_shared<const std::vector<Pin>>(session.pins)};
}

bool History::same(const Session& session, const Moment& moment) {
  Session compared = without_pins(session);
  compared.view = looked_at_as(std::move(compared.view), moment.session.view);
  compared.lesson.progress = moment.session.lesson.progress;
  return compared == moment.session && session.pins == *moment.pins;
}

void History::restore(const Moment& moment, Session& session) {
  const Session now = std::exchange(session, moment.session);
  take_look(session.view, now.view);
  if (session.origin == now.origin) session.lesson.progress = now.lesson.progress;
  session.pins = *moment.pins;
}

void History::keep(const Session& session) {
  Moment now = moment(session);
  if (!values_.empty()) values_.resize(at_ + 1);
  values_.push_back(std::move(now));
  if (values_.size() > most) values_.erase(values_.begin());
  at_ = values_.size() - 1;
}

void History::observe(const Session& session, bool busy) {
  if (values_.empty()) return keep(session);
  if (busy) return;
  if (!same(session, values_[at_])) return keep(session);
  values_[at_].session.view = session.view;                        // undo restores the latest zoom of this entry
  values_[at_].session.lesson.progress = session.lesson.progress;  // and its progress, from another file's session
}

void History::settle(const Session& before, const Session& after) {
  if (!values_.empty() && same(before, values_[at_])) values_[at_] = moment(after);
}

bool History::can_undo(const Session& session) const { return !values_.empty() && (at_ > 0 || !same(session, values_[at_])); }
bool History::can_redo(const Session& session) const { return at_ + 1 < values_.size() && same(session, values_[at_]); }

bool History::undo(Session& session) {
  if (!can_undo(session)) return false;
  if (!same(session, values_[at_])) keep(session);
  restore(values_[--at_], session);
  return true;
}

bool History::redo(Session& session) {
  if (!can_redo(session)) return false;
  restore(values_[++at_], session);
  return true;
}

}  // namespace attoscope::ui
