/// A session and the tensors that it needs as one archive, which opens anywhere.
#pragma once

#include <string>
#include <vector>

#include "app/tensors/stored_tensor.h"
#include "ui/session/session.h"

namespace attoscope::app {

/// An archive's bytes, and facts for its report.
struct SessionPack {
  std::string bytes;
  int heads = 0;                     ///< heads of Q, K and V inside
  std::vector<std::string> remarks;  ///< on tensors that differ from the session's digests, and on what is left out
};

/// Packs the session as `session.json`, with the tensors of its experiment and its pins: the used heads of each file, or all
/// heads if the session shows, sweeps or scales by all. Reads tensors that are not loaded. Each number keeps its bits, tensors
/// are not compressed, and digests belong to the packed tensors. Texts and a captured run are packed as they are, the model's
/// checkpoint is not. Throws std::runtime_error with one sentence if a file cannot be read, or `watch` requests a stop.
SessionPack pack_session(const ui::Session& session, const ReadWatch& watch = {});

/// "NAME.attoscope.zip" beside a session's file "NAME.json" or "NAME.attoscope.json".
std::string pack_name(const std::string& session_file);

}  // namespace attoscope::app
