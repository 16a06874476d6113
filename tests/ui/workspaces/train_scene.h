/// The Train workspace under test: the paths of its parts, and a window with a given record.
#pragma once

#include <string>

#include "tests/ui/cases.h"
#include "tests/ui/workspaces/made_record.h"

namespace attoscope::testing {

inline const std::string train_plan_panel = "//Train plan/", train_middle = "//Train/";

/// A small session in the Train workspace.
inline Session train_session(TrainKind kind = TrainKind::methods) {
  Session s = small_session(Workspace::train);
  s.train.kind = kind;
  return s;
}

/// Opens a window with a record of the session's plan after `steps` steps; 0: no training yet.
inline void show_training(Hand& hand, const Session& session, int steps = 240) {
  hand.stage.resize(1600, 1000);
  hand.open(session);
  hand.tell().train = steps == 0 ? ready_view(session.train) : made_view(made_record(session.train, steps));
  hand.frames(3);
}

}  // namespace attoscope::testing
