/// Executes the panels' requests; opens and saves sessions, also from drops and the file dialog.
#pragma once

#include <string>
#include <vector>

#include "app/explore/explorer.h"
#include "app/explore/model_controller.h"
#include "app/explore/plot_exporter.h"
#include "app/link/link.h"
#include "app/session/session_store.h"
#include "app/train/train_controller.h"
#include "app/window/file_dialog.h"
#include "ui/frame/requests.h"
#include "ui/session/history.h"

namespace attoscope::app {

/// A session and the objects that open and save it. The explorer shows errors; the session then stays unchanged.
struct SessionContext {
  ui::Session& session;
  Explorer& explorer;
  SessionStore& store;
  FileDialog& dialog;
  TrainController& train;
  ModelController& model;
};

/// Opens files, copies and pastes sessions and pins, asks side questions, stops work, exports the panels' input (`shown`) as
/// pictures. The caller closes the window.
void handle(const ui::Requests& requests, const ui::PanelInput& shown, ui::Session& session, Explorer& explorer,
            PlotExporter& exporter);

/// Opens a session file, tensors, a kernel's output, or three .npy that belong together; `beside`: gradients that come with
/// them. Uses the tensors that were chosen earlier for the same file.
void open_files(const std::vector<std::string>& files, const SessionContext& context, bool keeps_format = false,
                GradientSpecs beside = {});

/// Applies another program's message or a clicked link: sets its settings and opens its files in Explore, or shows its session.
void open_sent(const LinkMessage& message, const SessionContext& context);

/// Opens captured Q, K, V in Explore with the experiment that computed them. On failure shows a sentence.
void open_captured(const CapturedFile& captured, ui::Session& session, Explorer& explorer);

/// Shows the note on training since the last call, and opens captured Q, K, V of a training or a language model in Explore.
void take_trained(const SessionContext& context);

/// Executes requests on sessions, trainings and language models, and choices in the file dialog since the last call.
void handle_sessions(const ui::Requests& requests, const SessionContext& context);

/// Settles a row that the program chose: it does not mark the session as modified, and is no step of undo.
void settle_row(const SessionContext& context, ui::History& history);

/// Calls SessionStore::autosave; shows its failure. `now` in seconds.
void autosave(const SessionContext& context, double now, bool at_once);

/// Session files for the panels.
ui::SessionFiles session_files(const ui::Session& session, const SessionStore& store, const FileDialog& dialog);

}  // namespace attoscope::app
