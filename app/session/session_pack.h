/// A session and the tensors that it needs as one archive, which opens anywhere.
#pragma once

#include <string>
#include <vector>

#include "app/tensors/stored_tensor.h"
#include "ui/session/session.h"

namespace attoscope::app {

/// An archive's bytes, and what is to be said of it.
struct SessionPack {
  std::string bytes;
  int heads = 0;                     ///< heads of Q, K and V inside
  std::vector<std::string> changed;  ///< sentences: tensors that are not those the session was kept with
};

/// The session as `session.json`, and the tensors of its experiment and its pins: of a file the heads that are used, or all
/// where the session shows, sweeps or scales by all. Tensors that were read are taken as they are, others are read. Each number
/// keeps its bits, files lie stored, and the session's digests are those of what is inside. Throws std::runtime_error with one
/// sentence where a file cannot be read, or `watch` asks to stop.
SessionPack pack_session(const ui::Session& session, const ReadWatch& watch = {});

/// "NAME.attoscope.zip" beside a session's file "NAME.json" or "NAME.attoscope.json".
std::string pack_name(const std::string& session_file);

}  // namespace attoscope::app
