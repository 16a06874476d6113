/// Undo and redo: the session is a value, so its history is a list of values.
#pragma once

#include <memory>
#include <vector>

#include "ui/session/session.h"

namespace attoscope {

/// The sessions of this window, oldest first.
class History {
 public:
  static constexpr std::size_t most = 200;

  /// Records the session if it changed. Records nothing while `busy` (a mouse button is down, a text is typed), so that a drag
  /// is one entry.
  void observe(const Session& session, bool busy, double seconds);
  /// Restores the session before, or after, this one. False if there is none.
  bool undo(Session& session);
  bool redo(Session& session);
  bool can_undo(const Session& session) const;
  bool can_redo(const Session& session) const;

 private:
  /// A session with shared pins, as most changes leave them alone.
  struct Moment {
    Session session;  ///< without its pins
    std::shared_ptr<const std::vector<Pin>> pins;
  };
  Moment moment(const Session& session) const;
  static bool same(const Session& session, const Moment& moment);
  static void restore(const Moment& moment, Session& session);
  void keep(const Session& session);

  std::vector<Moment> values_;
  std::size_t at_ = 0;        ///< index of the entry that the session last equalled
  double kept_at_ = -1e9;     ///< time of the last entry, in seconds
  bool only_zoomed_ = false;  ///< the last entry differs from the one before by its zoom alone; consecutive zooms become one
};

}  // namespace attoscope
