/// Places of the files of a session: relative paths, files that have moved, files that are missing.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "app/tensors/stored_tensor.h"
#include "ui/session/session.h"

namespace attoscope::app {

/// Calls f on each text of a session that names files: inputs, outputs, log-sum-exps and gradients of its experiment and its
/// pins, the text of its training, and checkpoint, text and captured run of its model.
void for_each_spec(ui::Session& session, const std::function<void(std::string& spec)>& f);
void for_each_spec(Experiment& experiment, const std::function<void(std::string& spec)>& f);

/// Makes the relative paths of a session read from `file` absolute: beside the file, or inside it if it is an archive. Throws
/// std::runtime_error with one sentence if the session of an archive names a file outside.
void place_beside(ui::Session& session, const std::string& file);

/// A missing file of an experiment.
struct MissingFile {
  std::string path;
  std::string sentence;  ///< "/data/q.npy, whose head 3 has the digest 0123456789abcdef, is missing"
};
/// The first missing file; none if all exist.
std::optional<MissingFile> missing_file(const Experiment& experiment);
/// Calls `load_kept`; throws `MissingFile::sentence` if a file is missing.
std::vector<std::string> load_found(Experiment& experiment);
bool misses_files(const ui::Session& session);

/// Searches `folder` for missing files, by name and by digest. A file with the kept digest is taken whatever its name; a file
/// with the same name and another digest is not. Throws if `watch` requests a stop.
void find_files(ui::Session& session, const std::string& folder, const ReadWatch& watch = {});
void find_files(Experiment& experiment, const std::string& folder, const ReadWatch& watch = {});

/// Gives the missing files of `session` the places that they have in `found`, the same session after a search.
void take_places(ui::Session& session, ui::Session found);

/// The session with `missing` replaced by `found`, and other missing files by files of their names beside `found`.
ui::Session with_file_at(ui::Session session, const std::string& missing, const std::string& found);

}  // namespace attoscope::app
