/// Places of the files of a session: relative paths, files that have moved, files that are missing.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "app/tensors/stored_tensor.h"
#include "ui/session/session.h"

namespace attoscope::app {

/// Calls f on each text of a session that names files: inputs, outputs and gradients of its experiment and its pins, and the
/// text of its training.
void for_each_spec(ui::Session& session, const std::function<void(std::string& spec)>& f);
void for_each_spec(Experiment& experiment, const std::function<void(std::string& spec)>& f);

/// Makes the relative paths of a session that was read from `file` absolute: to a file beside it, or inside of it where it is
/// an archive, whose session may name no others: else throws std::runtime_error with one sentence.
void place_beside(ui::Session& session, const std::string& file);

/// A file of an experiment that is not where it should be.
struct MissingFile {
  std::string path;
  std::uint64_t digest = 0;  ///< of its head that the experiment uses; 0: unknown
  /// "/data/q.npy, whose head 3 has digest 0123456789abcdef, is missing"
  std::string sentence;
};
/// The first one; none: all are there.
std::optional<MissingFile> missing_file(const Experiment& experiment);
/// `load_kept`; where a file is missing it throws that sentence.
std::vector<std::string> load_found(Experiment& experiment);
bool misses_files(const ui::Session& session);

/// Looks for missing files in `folder`, by name and by digest: of two files, the one with the kept bits is taken, whatever it
/// is called; one of the same name and other bits is not. Throws if `watch` asks to stop.
void find_files(ui::Session& session, const std::string& folder, const ReadWatch& watch = {});
void find_files(Experiment& experiment, const std::string& folder, const ReadWatch& watch = {});

/// The session with `found` in the place of `missing`, and of other missing files those of their names beside `found`.
ui::Session with_file_at(ui::Session session, const std::string& missing, const std::string& found);

}  // namespace attoscope::app
