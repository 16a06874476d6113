/// Computes every head of a file under a and b, one thread per head.
#pragma once

#include <functional>
#include <vector>

#include "app/tensors/call_files.h"
#include "app/tensors/head_numbers.h"
#include "kernels/compute.h"
#include "kernels/experiment/experiment.h"
#include "ui/frame/heads_answer.h"

namespace attoscope {

class KeptHeads;

/// Heads to compute, and their experiment.
struct HeadsQuestion {
  Experiment base;            ///< its input names the file; the head in it is ignored
  bool whole = true;          ///< all tokens of each head; else at most the base's n
  std::vector<int> heads;     ///< indices of the heads
  KeptHeads* kept = nullptr;  ///< cache of rows; null: compute all
  HeadNumbers numbers{};      ///< of all heads of the files
};

/// Indices of all heads, or those of a layer given by name ("layer 7") or number (7). Throws std::invalid_argument with one
/// sentence that lists the layers.
std::vector<int> heads_of_layer(const CallFiles& files, const std::string& layer);

/// The experiment of one head, with tensors read. Throws if it cannot be computed.
Experiment experiment_of_head(const HeadsQuestion& question, const CallFiles& files, int head);

/// Computes every head. Several threads call `found`, one at a time. `options`: threads, device, cancellation. Throws Stopped,
/// or one sentence that names the head that failed.
void compute_heads(const HeadsQuestion& question, const CallFiles& files, const Options& options,
                   const std::function<void(const HeadRow&)>& found);

}  // namespace attoscope
