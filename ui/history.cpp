#include "ui/history.h"

namespace attoscope {

namespace {

bool same_but_zoom(Session x, const Session& y) {
  x.view.zoom = y.view.zoom;
  return x == y;
}

}  // namespace

void History::keep(const Session& session) {
  if (!values_.empty()) values_.resize(at_ + 1);
  values_.push_back(session);
  if (values_.size() > most) values_.erase(values_.begin());
  at_ = values_.size() - 1;
}

void History::observe(const Session& session, bool busy, double seconds) {
  constexpr double pause = 0.6;
  if (values_.empty()) return keep(session);
  if (busy || session == values_[at_]) return;
  const bool zoomed = same_but_zoom(session, values_[at_]);
  if (zoomed && only_zoomed_ && at_ + 1 == values_.size() && seconds - kept_at_ < pause) {
    values_[at_] = session;
  } else {
    keep(session);
  }
  only_zoomed_ = zoomed;
  kept_at_ = seconds;
}

bool History::can_undo(const Session& session) const { return !values_.empty() && (at_ > 0 || !(session == values_[at_])); }
bool History::can_redo(const Session& session) const {
  return at_ + 1 < values_.size() && session == values_[at_];
}

bool History::undo(Session& session) {
  if (!can_undo(session)) return false;
  if (!(session == values_[at_])) keep(session);
  session = values_[--at_];
  only_zoomed_ = false;
  return true;
}

bool History::redo(Session& session) {
  if (!can_redo(session)) return false;
  session = values_[++at_];
  only_zoomed_ = false;
  return true;
}

}  // namespace attoscope
