/// Undo and redo: the session is a value, so its history is a list of values.
#pragma once

#include <memory>
#include <vector>

#include "ui/session/session.h"

namespace attoscope::ui {

/// The sessions of this window, oldest first.
class History {
 public:
  static constexpr std::size_t most = 200;

  /// Records the session if it changed. Records nothing while `busy` (a mouse button is down, a text is typed): a drag is
  /// one entry. Theme, scale, panel sizes, reading progress and zooms are not changes: undo keeps the first three, also the
  /// progress within a file or new session, and restores the last zoom of each entry.
  void observe(const Session& session, bool busy);
  /// Replaces the current entry by `after` if it equals `before`: for changes that the user did not make.
  void settle(const Session& before, const Session& after);
  /// Restores the session before, or after, this one. False if there is none.
  bool undo(Session& session);
  bool redo(Session& session);
  bool can_undo(const Session& session) const;
  bool can_redo(const Session& session) const;

 private:
  /// A session with shared pins: most changes do not affect pins.
  struct Moment {
    Session session;  ///< without its pins
    std::shared_ptr<const std::vector<Pin>> pins;
  };
  Moment moment(const Session& session) const;
  static bool same(const Session& session, const Moment& moment);
  static void restore(const Moment& moment, Session& session);
  void keep(const Session& session);

  std::vector<Moment> values_;
  std::size_t at_ = 0;  ///< index of the entry that the session last equalled
};

}  // namespace attoscope::ui
