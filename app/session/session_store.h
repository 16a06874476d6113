/// The files that the sessions of a window are kept in: the one that is open, the window's autosave, the recent ones.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "app/session/autosave.h"
#include "ui/frame/entries.h"
#include "ui/session/session.h"

namespace attoscope {

/// Knows no window and no clock. Every failure is a std::runtime_error of one sentence.
class SessionStore {
 public:
  /// Files of the program's own; empty: not kept.
  struct Places {
    std::shared_ptr<const Autosave> autosave;  ///< null: not kept
    std::string recent;                        ///< the names of the files that were open
  };
  /// How long a change may stay in memory alone, in seconds.
  static constexpr double longest_unkept = 60;
  /// How long after a failure the last session is written again, in seconds.
  static constexpr double retried_after = 5;
  static constexpr std::size_t most_recent = 10;

  /// `session` belongs to the file `document` (empty: to none yet), and may be newer than that. `own_device` computes in this
  /// window instead of the session's, and is never written.
  SessionStore(Places places, const Session& session, const std::string& document, std::optional<std::string> own_device = {});

  /// A session's file as it was read, on whatever thread.
  struct Read {
    std::string path;
    Session session;
    std::vector<std::string> remarks;   ///< what was not understood
    std::optional<std::uint64_t> hash;  ///< of the file
  };
  /// Throws as `read_session` does.
  static Read read(const std::string& path);
  /// That session, to be shown instead of another.
  Session open(Read read);
  /// The session of a file, to be shown instead of another; what it does not understand is named in `remarks`.
  Session open(const std::string& path, std::vector<std::string>& remarks);
  /// A new session of no file, which looks as `like` does.
  Session fresh(const Session& like);
  /// Takes note of the session in this frame: one that was just opened is now as its file is.
  void observe(const Session& session);
  /// What the program changed by itself in a session without unsaved changes is none.
  void settle(const Session& before, const Session& after);

  /// True if there is a file that `save` writes to.
  bool has_file(const Session& session) const;
  /// Writes the session to its file; with a path, which ".json" is put after where it is missing, that becomes its file. What
  /// somebody else wrote there meanwhile is kept beside it. Returns a sentence.
  std::string save(const Session& session, const std::string& path = {});
  /// Writes the autosave where the session changed: at once, or if it did `longest_unkept` ago. Where it throws, the change is
  /// still to be written: by a later call, at the earliest `retried_after`.
  void autosave(const Session& session, double now, bool at_once);
  /// The window is closed: writes the autosave where the session changed, whatever failed before.
  void close(const Session& session);
  /// True while a change could not be written.
  bool unkept() const { return failed_at_.has_value(); }

  /// Looks which of the recent files are still there.
  void look_for_recent();
  /// What the panels are told.
  SessionFiles files(const Session& session) const;

 private:
  /// What sessions of one origin belong to.
  struct Document {
    std::string path;              ///< empty: no file yet
    std::optional<Session> saved;  ///< what the file, or the new session, held; none: not what it could be compared with
    bool settling = false;         ///< it was just opened, and is completed by what its tensors tell
  };

  bool is_kept(const Session& session) const;
  std::string text_of(const Session& session, const std::string& document = {}) const;
  std::string write(const std::string& path, const std::string& text);
  bool is_known(const std::string& path, std::uint64_t hash) const;
  void remember(const std::string& path);

  Places places_;
  std::map<int, Document> documents_;           ///< by Session::origin
  std::map<std::string, std::uint64_t> known_;  ///< hashes of what was last read from or written to a file
  std::vector<RecentSession> recent_;
  std::optional<std::string> own_device_;
  std::string device_;                ///< of the session that the window began with
  std::optional<Session> kept_;       ///< what the autosave holds; none: this window has not written it yet
  std::string kept_document_;         ///< and the document that it names
  std::optional<double> changed_at_;  ///< when the session first differed from that
  std::optional<double> failed_at_;   ///< when it could not be written
};

}  // namespace attoscope
