/// The files that the sessions of a window are kept in: the one that is open, the window's autosave, the recent ones.
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
  /// Takes the newest file of `path`, "session-2.json", "session-3.json" and so on that no running window has, or a new one of
  /// these names; `fresh`: always a new one. Where there are `most` of them, the oldest is taken instead of a new one.
  explicit Autosave(const std::string& path, bool fresh = false);

  const std::string& file() const { return file_; }

  static constexpr int most = 64;

 private:
  bool take(const std::string& file);

  std::string file_;
  Descriptor lock_;
};

/// The existing ones of `path`, the newest first.
std::vector<std::string> autosaves(const std::string& path);

/// Independent of window and clock. Every failure is a std::runtime_error with one sentence.
class SessionStore {
 public:
  /// Files of the program; empty: not used.
  struct Places {
    std::shared_ptr<const Autosave> autosave;  ///< null: not kept
    std::string recent;                        ///< the names of the files that were open
  };
  /// Seconds that a change may stay unsaved.
  static constexpr double longest_unkept = 60;
  /// Seconds after a failure until the last session is written again.
  static constexpr double retried_after = 5;
  static constexpr std::size_t most_recent = 10;

  /// `session` belongs to the file `document` (empty: to none yet), and may be newer than that. `own_device` computes in this
  /// window instead of the session's, and is never written.
  SessionStore(Places places, const ui::Session& session, const std::string& document,
               std::optional<std::string> own_device = {});

  /// A session file's content, read on any thread.
  struct Read {
    std::string path;
    ui::Session session;
    std::vector<std::string> remarks;   ///< parts that were not understood
    std::optional<std::uint64_t> hash;  ///< of the file
  };
  /// Throws as `read_session`.
  static Read read(const std::string& path, const ReadWatch& watch = {});
  /// The session that was read, as the window's new session.
  ui::Session open(Read read);
  /// A new session without a file, with the look of `like`.
  ui::Session fresh(const ui::Session& like);
  /// Records the session of this frame; one that was just opened counts as saved.
  void observe(const ui::Session& session);
  /// Changes by the program do not mark a clean session as modified.
  void settle(const ui::Session& before, const ui::Session& after);

  /// True if `save` has a file to write to.
  bool has_file(const ui::Session& session) const;
  /// Writes the session to its file, or to `path`, which becomes its file (".attoscope.json" is appended where ".json" is
  /// missing). Content that others wrote there is backed up beside it. Returns a sentence.
  std::string save(const ui::Session& session, const std::string& path = {});
  /// Writes the autosave where the session changed: at once, or if it did `longest_unkept` ago. Where it throws, the change is
  /// still to be written: by a later call, at the earliest `retried_after`.
  void autosave(const ui::Session& session, double now, bool at_once);
  /// The window is closed: writes the autosave where the session changed, whatever failed before.
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
    std::optional<ui::Session> saved;  ///< content of the file, or the new session; none: unknown
    bool settling = false;             ///< just opened; its tensors still change it
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
  std::string device_;                ///< of the session that the window began with
  std::optional<ui::Session> kept_;   ///< the content of the autosave; none: this window has not written it yet
  std::string kept_document_;         ///< and the document that it names
  std::optional<double> changed_at_;  ///< when the session first differed from that
  std::optional<double> failed_at_;   ///< when it could not be written
};

}  // namespace attoscope::app
