#include "ui/session/history.h"

namespace attoscope {

namespace {

/// The session without its pins, which may be many.
Session without_pins(const Session& s) {
  return {s.experiment, s.view, s.kernel_gradients, s.device, {}, s.lesson, s.sweep, s.train, s.train_look, s.origin};
}

/// True if they differ at most in views and pins.
bool same_but_view_and_pins(const Session& x, const Session& y) {
  return x.experiment == y.experiment && x.kernel_gradients == y.kernel_gradients && x.device == y.device &&
         x.lesson == y.lesson && x.sweep == y.sweep && x.train == y.train && x.train_look == y.train_look &&
         x.origin == y.origin;
}

bool same_but_pins(const Session& x, const Session& y) { return x.view == y.view && same_but_view_and_pins(x, y); }

bool same_but_zoom(const Session& x, const Session& y) {
  View view = x.view;
  view.zoom = y.view.zoom;
  view.tiles = y.view.tiles;
  return view == y.view && same_but_view_and_pins(x, y);
}

}  // namespace

History::Moment History::moment(const Session& session) const {
  const bool known = !values_.empty() && *values_[at_].pins == session.pins;
  return {without_pins(session), known ? values_[at_].pins : std::make_shared<const std::vector<Pin>>(session.pins)};
}

bool History::same(const Session& session, const Moment& moment) {
  return same_but_pins(session, moment.session) && session.pins == *moment.pins;
}

void History::restore(const Moment& moment, Session& session) {
  session = moment.session;
  session.pins = *moment.pins;
}

void History::keep(const Session& session) {
  Moment now = moment(session);
  if (!values_.empty()) values_.resize(at_ + 1);
  values_.push_back(std::move(now));
  if (values_.size() > most) values_.erase(values_.begin());
  at_ = values_.size() - 1;
}

void History::observe(const Session& session, bool busy, double seconds) {
  constexpr double pause = 0.6;
  if (values_.empty()) return keep(session);
  if (busy || same(session, values_[at_])) return;
  const bool zoomed = same_but_zoom(session, values_[at_].session) && session.pins == *values_[at_].pins;
  if (zoomed && only_zoomed_ && at_ + 1 == values_.size() && seconds - kept_at_ < pause) {
    values_[at_] = moment(session);
  } else {
    keep(session);
  }
  only_zoomed_ = zoomed;
  kept_at_ = seconds;
}

bool History::can_undo(const Session& session) const { return !values_.empty() && (at_ > 0 || !same(session, values_[at_])); }
bool History::can_redo(const Session& session) const { return at_ + 1 < values_.size() && same(session, values_[at_]); }

bool History::undo(Session& session) {
  if (!can_undo(session)) return false;
  if (!same(session, values_[at_])) keep(session);
  restore(values_[--at_], session);
  only_zoomed_ = false;
  return true;
}

bool History::redo(Session& session) {
  if (!can_redo(session)) return false;
  restore(values_[++at_], session);
  only_zoomed_ = false;
  return true;
}

}  // namespace attoscope
