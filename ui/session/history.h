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

  /// Takes note of the session as it is. While `busy` (a mouse button is down, something is being typed) nothing is kept, so
  /// that a drag is one entry.
  void observe(const Session& session, bool busy, double seconds);
  /// The session before, or after, this one. False if there is none.
  bool undo(Session& session);
  bool redo(Session& session);
  bool can_undo(const Session& session) const;
  bool can_redo(const Session& session) const;

 private:
  /// A session whose pins are shared with its neighbours: most changes leave them alone.
  struct Moment {
    Session session;  ///< without its pins
    std::shared_ptr<const std::vector<Pin>> pins;
  };
  Moment moment(const Session& session) const;
  static bool same(const Session& session, const Moment& moment);
  static void restore(const Moment& moment, Session& session);
  void keep(const Session& session);

  std::vector<Moment> values_;
  std::size_t at_ = 0;        ///< which of them the session was last
  double kept_at_ = -1e9;     ///< when the last one was added, in seconds
  bool only_zoomed_ = false;  ///< the last one differs from the one before by its zoom alone: turns of a wheel become one
};

}  // namespace attoscope
