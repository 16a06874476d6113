/// Checkpoints (`attoscope.checkpoint/1`): one file with the plan, the record and the states of all runs, from which training
/// goes on with the same bits. It has the digest of the text, not the text.
///
/// The file: the line "attoscope.checkpoint/1", the sizes of the whole file and of the JSON (u64), the JSON (the record as
/// `attoscope.train/1` and the states' scalars), then of every run weights, m, v (f32) and of every comparison the paths (f64),
/// all little-endian, and the XXH3 digest of all that precedes it.
#pragma once

#include <string>

#include "kernels/train/paired_training.h"

namespace attoscope::app {

struct Checkpoint {
  TrainRecord record;  ///< without the plan's corpus: see `read_same_text`
  PairedTrainingState state;
};

/// Writes a temporary file, syncs it to disk and renames it. Throws std::runtime_error in a sentence.
void write_checkpoint(const std::string& path, const TrainRecord& record, const PairedTrainingState& state);

/// Reads a checkpoint and checks everything: the file is not trusted. Throws std::runtime_error in one sentence that names the
/// file.
Checkpoint read_checkpoint(const std::string& path);

}  // namespace attoscope::app
