/// Trains a plan without a window, for figures and pictures; and reads the training text: a file, or the chronicle, which comes
/// with the program.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "kernels/train/paired_training.h"

namespace attoscope::app {

/// The text in `file` (UTF-8); "" is the chronicle. Throws std::runtime_error in one sentence that names the file if it cannot
/// be read, is too short or is no text.
TextSource read_text(const std::string& file);

/// Reads the text of `source` from `file`. Throws as `read_text`, and if its digest differs.
TextSource read_same_text(const TextSource& source, const std::string& file);

/// "the chronicle", or the file.
std::string text_name(const TextSource& source);

struct TrainOptions {
  Cancelled cancelled{};
  std::function<void()> stepped{};  ///< called after every step
  std::string device = "cpu";       ///< as Options::device; the first device of a list
  int steps = 0;                    ///< stop after this many; 0: the plan's steps
  int threads = 0;                  ///< 0: all
};

/// The result of a training.
struct Trained {
  TrainRecord record;
  std::vector<std::vector<float>> weights;  ///< final weights of every run
};

/// Trains the plan; reads its text if it has none. Throws as PairedTraining, or a sentence on the text; Stopped when cancelled.
Trained trained(TrainPlan plan, const TrainOptions& options = {});

/// 64-bit hashes of every run's weights; NaN counts as one value.
std::vector<std::uint64_t> digests_of(const Trained& t);

/// Reads the text that `asked` names. Throws as `read_text`, and if its digest differs.
TextSource text_of(const TextSource& asked);

/// The single device that trains for a `spec`.
std::string training_device(const std::string& spec);

}  // namespace attoscope::app
