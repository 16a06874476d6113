/// An experiment on another head of its file, or on a window of its tokens.
#pragma once

#include "app/tensors/call_files.h"
#include "kernels/experiment/experiment.h"

namespace attoscope {

/// The experiment on that head, with tensors, and the same head of a loaded output, read. `whole`: on all tokens; else on at
/// most as many as it has. Throws as CallFiles.
Experiment on_head(Experiment e, const CallFiles& files, int head, bool whole);
/// The experiment on `count` adjacent rows of its Q, K and V; its tensors are read, with as many keys as queries.
Experiment on_tokens(Experiment e, int first, int count);

}  // namespace attoscope
