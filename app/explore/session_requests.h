/// Opens and saves sessions, as the panels, a drop or the desktop's file dialog ask for.
#pragma once

#include <string>
#include <vector>

#include "app/explore/explorer.h"
#include "app/link/link_message.h"
#include "app/session/session_store.h"
#include "app/train/train_desk.h"
#include "app/window/file_dialog.h"

namespace attoscope {

/// A session and the objects that open and save it. Errors are shown by the explorer; the session then stays unchanged.
struct SessionDesk {
  Session& session;
  Explorer& explorer;
  SessionStore& store;
  FileDialog& dialog;
  TrainDesk& train;
};

/// A session's file, a file of tensors or of a kernel's output, or three .npy that belong together.
void open_files(const std::vector<std::string>& files, const SessionDesk& desk, bool keeps_format = false);

/// Follows another program's message, or a link that was clicked: its settings become the experiment's, then its files are
/// opened in Explore; or its session is shown.
void open_sent(const LinkMessage& message, const SessionDesk& desk);

/// What was trained, saved or opened since the last call is told; Q, K, V that were asked for are opened in Explore.
void take_trained(const SessionDesk& desk);

/// Does what the panels ask for that concerns sessions and training, and what was chosen in the file dialog since the last
/// call.
void handle_sessions(const Requests& requests, const SessionDesk& desk);

/// The last session is kept: at once, or if it changed a minute ago. `now` in seconds.
void autosave(const SessionDesk& desk, double now, bool at_once);

/// What the panels are told about session files.
SessionFiles session_files(const Session& session, const SessionStore& store, const FileDialog& dialog);

}  // namespace attoscope
