/// Files of a window's sessions: the open session, the window's autosave, recent sessions.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "app/files/files.h"
#include "app/tensors/stored_tensor.h"
#include "ui/frame/entries.h"
#include "ui/session/session.h"

namespace attoscope::app {

/// A window's own file, locked for as long as this lives.
class Autosave {
 public:
  /// Takes the newest of the files `path`, "session-2.json", "session-3.json" and so on that no running window has, or a new
  /// file with such a name; `fresh`: always a new file. If there are `most` files, takes the oldest instead of a new one.
  explicit Autosave(const std::string& path, bool fresh = false);

  const std::string& file() const { return file_; }

  static constexpr int most = 64;

 private:
  bool take(const std::string& file);

  std::string file_;
  Descriptor lock_;
};

/// Existing autosaves of `path`, the newest first.
std::vector<std::string> autosaves(const std::string& path);

/// Keeps sessions in files; independent of window and clock. Every failure is a std::runtime_error with one sentence.
class SessionStore {
 public:
  /// Files of the program; empty: not used.
  struct Places {
    std::shared_ptr<const Autosave> autosave;  ///< null: no autosave
    std::string recent;                        ///< list of recently opened files
  };
  /// Seconds that a change may stay unsaved.
  static constexpr double longest_unkept = 60;
  /// Seconds after a failure until the last session is written again.
  static constexpr double retried_after = 5;
  static constexpr std::size_t most_recent = 10;

  /// `session` belongs to the file `document` (empty: none yet), and may be newer than the file. `own_device` replaces the
  /// session's device in this window, and is never written.
  SessionStore(Places places, const ui::Session& session, const std::string& document,
               std::optional<std::string> own_device = {});

  /// A session file's content, read on any thread.
  struct Read {
    std::string path;
    ui::Session session;
    std::vector<std::string> remarks;   ///< parts that could not be parsed
    std::optional<std::uint64_t> hash;  ///< of the file
  };
  /// Throws as `read_session`.
  static Read read(const std::string& path, const ReadWatch& watch = {});
  /// Makes the session that was read the window's session.
  ui::Session open(Read read);
  /// Returns a new session without a file, with the look of `like`.
  ui::Session fresh(const ui::Session& like);
  /// Records the session of this frame; a session that was just opened counts as saved.
  void observe(const ui::Session& session);
  /// Changes by the program do not mark a clean session as modified.
  void settle(const ui::Session& before, const ui::Session& after);

  /// True if `save` has a file to write to.
  bool has_file(const ui::Session& session) const;
  /// Writes the session to its file, or to `path`, which becomes its file (".attoscope.json" is appended if ".json" is
  /// missing). Backs up content that others wrote there beside it. Returns a sentence.
  std::string save(const ui::Session& session, const std::string& path = {});
  /// Writes the autosave if the session changed: at once, or `longest_unkept` after the change. If it throws, a later call
  /// tries again, `retried_after` later at the earliest.
  void autosave(const ui::Session& session, double now, bool at_once);
  /// Call when the window is closed: writes the autosave if the session changed, also after failures.
  void close(const ui::Session& session);
  /// True while a change could not be written.
  bool unkept() const { return failed_at_.has_value(); }

  /// Updates which recent files exist.
  void look_for_recent();
  const Places& places() const { return places_; }
  /// Input of the panels.
  ui::SessionFiles files(const ui::Session& session) const;

 private:
  /// File of the sessions of one origin.
  struct Document {
    std::string path;                  ///< empty: no file yet
    std::optional<ui::Session> saved;  ///< content of the file, or the session when new; none: unknown
    bool settling = false;             ///< just opened; reading its tensors may still change it
  };

  bool is_kept(const ui::Session& session) const;
  std::string text_of(const ui::Session& session, const std::string& document = {}) const;
  std::string write(const std::string& path, const std::string& text);
  bool is_known(const std::string& path, std::uint64_t hash) const;
  void remember(const std::string& list, const std::string& path);
  void remember_tensors(const Experiment& experiment);

  Places places_;
  std::map<int, Document> documents_;           ///< by Session::origin
  std::map<std::string, std::uint64_t> known_;  ///< hashes of files as last read or written here
  std::vector<ui::RecentSession> recent_, recent_tensors_;
  std::string proposed_;                 ///< path for a session without a file
  std::set<std::string> shown_tensors_;  ///< files that this window has listed
  std::optional<std::string> own_device_;
  std::string device_;                ///< device of the window's first session
  std::optional<ui::Session> kept_;   ///< content of the autosave; none: not written by this window yet
  std::string kept_document_;         ///< document named in the autosave
  std::optional<double> changed_at_;  ///< when the session first differed from `kept_`
  std::optional<double> failed_at_;   ///< when writing the autosave failed
};

}  // namespace attoscope::app
