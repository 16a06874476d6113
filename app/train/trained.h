/// A plan trained from its first step without a window: what figures and pictures are made of.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "kernels/train/paired_training.h"

namespace attoscope {

struct TrainOptions {
  Cancelled cancelled{};
  std::function<void()> stepped{};  ///< told after every step
  std::string device = "cpu";       ///< as Options::device; of a list its first
  int steps = 0;                    ///< stop after so many; 0: as the plan says
  int threads = 0;                  ///< 0: all
};

/// What training gave.
struct Trained {
  TrainRecord record;
  std::vector<std::vector<float>> weights;  ///< of every run, when it ended
};

/// Reads the plan's text where it has none. Throws as PairedTraining does, or in a sentence about the text; Stopped when
/// cancelled.
Trained trained(TrainPlan plan, const TrainOptions& options = {});

/// 64-bit hashes of every run's weights.
std::vector<std::uint64_t> digests_of(const Trained& t);

/// The text that `asked` names; where it has a digest, only if it is still that. Throws as `read_text` does.
TextSource text_of(const TextSource& asked);

/// The device that trains where `spec` was asked for: one alone.
std::string training_device(const std::string& spec);

}  // namespace attoscope
