/// Training of a plan without a window, for figures and pictures; and the text that models learn: a file of the user, or the
/// chronicle, which comes with the program.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "kernels/train/paired_training.h"

namespace attoscope::app {

/// The text in `file` (UTF-8); "" is the one that comes with the program. Throws std::runtime_error in one sentence that names
/// the file: it cannot be read, is too short or no text.
TextSource read_text(const std::string& file);

/// The text that `source` is about, from `file`. Throws as `read_text` does, too where it has changed since.
TextSource read_same_text(const TextSource& source, const std::string& file);

/// "the chronicle", or the file.
std::string text_name(const TextSource& source);

struct TrainOptions {
  Cancelled cancelled{};
  std::function<void()> stepped{};  ///< told after every step
  std::string device = "cpu";       ///< as Options::device; the first of a list
  int steps = 0;                    ///< stop after this many; 0: the plan's steps
  int threads = 0;                  ///< 0: all
};

/// The result of a training.
struct Trained {
  TrainRecord record;
  std::vector<std::vector<float>> weights;  ///< of every run, when it ended
};

/// Reads the plan's text where it has none. Throws as PairedTraining does, or in a sentence about the text; Stopped when
/// cancelled.
Trained trained(TrainPlan plan, const TrainOptions& options = {});

/// 64-bit hashes of every run's weights.
std::vector<std::uint64_t> digests_of(const Trained& t);

/// The text that `asked` names. Throws as `read_text` does, too if its digest is another.
TextSource text_of(const TextSource& asked);

/// The single device that trains for a `spec`.
std::string training_device(const std::string& spec);

}  // namespace attoscope::app
