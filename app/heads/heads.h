/// Every head of a file under a and b, one thread for one head.
#pragma once

#include <functional>
#include <vector>

#include "app/tensors/call_files.h"
#include "kernels/compute.h"
#include "kernels/experiment/experiment.h"
#include "ui/frame/heads_answer.h"

namespace attoscope {

class KeptHeads;

/// What is asked.
struct HeadsQuestion {
  Experiment base;            ///< its input names the file; the head that it names does not matter
  bool whole = true;          ///< all tokens of each head; else at most the base's n
  std::vector<int> heads;     ///< which
  KeptHeads* kept = nullptr;  ///< where rows are looked up first, and kept; null: all are computed
};

/// All of a file, or those of one layer, told by its name ("layer 7") or its number (7). Throws std::invalid_argument in a
/// sentence that lists the layers.
std::vector<int> heads_of_layer(const CallFiles& files, const std::string& layer);

/// The experiment of one head, tensors read. Throws where it cannot be computed.
Experiment experiment_of_head(const HeadsQuestion& question, const CallFiles& files, int head);

/// Computes every head; `found` is told each from many threads, one call at a time. `options`: threads, device and whether to
/// stop. Throws Stopped when cancelled, and a sentence that names the head where one cannot be computed.
void compute_heads(const HeadsQuestion& question, const CallFiles& files, const Options& options,
                   const std::function<void(const HeadRow&)>& found);

}  // namespace attoscope
