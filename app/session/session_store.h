/// Files of a window's sessions: the current one, the last session of all windows, recent ones.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "ui/frame/entries.h"
#include "ui/session/session.h"

namespace attoscope {

/// Independent of window and clock. Every failure is a std::runtime_error with one sentence.
class SessionStore {
 public:
  /// Files of the program; empty: not used.
  struct Places {
    std::string last;    ///< session of a closed or killed window
    std::string recent;  ///< names of recent files
  };
  /// Seconds that a change may stay unsaved.
  static constexpr double longest_unkept = 60;
  /// Seconds after a failure until the last session is written again.
  static constexpr double retried_after = 5;
  static constexpr std::size_t most_recent = 10;

  /// `session` belongs to the file `document` (empty: none yet), and may be newer. `own_device` replaces the session's device
  /// in this window, and is never written. `last_read`: hash of the last session, if `session` is that (`LastSession`); later
  /// changes by others are kept.
  SessionStore(Places places, const Session& session, const std::string& document, std::optional<std::string> own_device = {},
               std::optional<std::uint64_t> last_read = {});
  /// Releases the last session.
  ~SessionStore();
  SessionStore(const SessionStore&) = delete;
  SessionStore& operator=(const SessionStore&) = delete;

  /// A session file's content, read on any thread.
  struct Read {
    std::string path;
    Session session;
    std::vector<std::string> remarks;   ///< parts that were not understood
    std::optional<std::uint64_t> hash;  ///< of the file
  };
  /// Throws as `read_session`.
  static Read read(const std::string& path);
  /// The session that was read, as the window's new session.
  Session open(Read read);
  /// Reads a file as the window's new session; `remarks` names what was not understood.
  Session open(const std::string& path, std::vector<std::string>& remarks);
  /// A new session without a file, with the look of `like`.
  Session fresh(const Session& like);
  /// Records the session of this frame; one that was just opened counts as saved.
  void observe(const Session& session);
  /// Changes by the program do not mark a clean session as modified.
  void settle(const Session& before, const Session& after);

  /// True if `save` has a file to write to.
  bool has_file(const Session& session) const;
  /// Writes the session to its file, or to `path`, which becomes its file (".json" is appended if missing). Content that others
  /// wrote there is backed up beside it. Returns a sentence.
  std::string save(const Session& session, const std::string& path = {});
  /// Writes the last session if it changed: at once, or `longest_unkept` after the change. Returns a sentence or "". If it
  /// throws, a later call tries again after `retried_after`.
  std::string autosave(const Session& session, double now, bool at_once);
  /// Writes the last session if it changed, regardless of earlier failures, when the window closes.
  std::string close(const Session& session);
  /// True after a failure to write, until it succeeds.
  bool unkept() const { return failed_at_.has_value(); }

  /// Updates which recent files exist.
  void look_for_recent();
  /// Input of the panels.
  SessionFiles files(const Session& session) const;

 private:
  /// File of the sessions of one origin.
  struct Document {
    std::string path;              ///< empty: no file yet
    std::optional<Session> saved;  ///< content of the file, or the new session; none: unknown
    bool settling = false;         ///< just opened; its tensors still change it
  };

  /// Backup of another window's last session.
  struct Copy {
    std::string file;
    std::uint64_t hash = 0;  ///< of the backup's content
  };

  bool is_kept(const Session& session) const;
  std::string text_of(const Session& session, const std::string& document = {}) const;
  std::string write(const std::string& path, const std::string& text);
  std::string write_last(const std::string& text);
  bool is_known(const std::string& path, std::uint64_t hash) const;
  bool takes_over_last() const;
  std::string writer_file() const;
  std::string copied_last(const std::string& writer);
  void remember(const std::string& path);

  Places places_;
  std::string writer_;                          ///< name of this window in `writer_file`
  std::map<std::string, Copy> copies_;          ///< of other windows' last sessions, by window name
  std::map<int, Document> documents_;           ///< by Session::origin
  std::map<std::string, std::uint64_t> known_;  ///< hashes of files as last read or written here
  std::vector<RecentSession> recent_;
  std::optional<std::string> own_device_;
  std::string device_;                ///< device of the initial session
  std::optional<Session> kept_;       ///< content of the last session's file; none: not written by this window yet
  std::string kept_document_;         ///< document named there
  std::optional<double> changed_at_;  ///< time of the first change since
  std::optional<double> failed_at_;   ///< time of a failure to write
};

}  // namespace attoscope
