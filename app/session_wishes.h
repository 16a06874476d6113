/// Opens and saves sessions, as the panels, a drop or the desktop's file dialog wish.
#pragma once

#include <string>
#include <vector>

#include "app/explorer.h"
#include "app/file_dialog.h"
#include "app/session_keeper.h"
#include "app/train/train_desk.h"

namespace attoscope {

/// A session and those who work on it. What goes wrong is told through the explorer; the session then stays as it is.
struct SessionDesk {
  Session& session;
  Explorer& explorer;
  SessionKeeper& keeper;
  FileDialog& dialog;
  TrainDesk& train;
};

/// A session's file, a file of tensors or of a kernel's output, or three .npy that belong together.
void open_files(const std::vector<std::string>& files, const SessionDesk& desk);

/// What was trained, saved or opened since the last call is told; Q, K, V that were asked for are opened in Explore.
void take_trained(const SessionDesk& desk);

/// What the panels wish of sessions and of training, and what the dialog was told since the last call.
void grant_sessions(const Wishes& wishes, const SessionDesk& desk);

/// The last session is kept: at once, or if it changed a minute ago. `now` in seconds.
void autosave(const SessionDesk& desk, double now, bool at_once);

/// What the panels are told about session files.
SessionFiles session_files(const Session& session, const SessionKeeper& keeper, const FileDialog& dialog);

}  // namespace attoscope
