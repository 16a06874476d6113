/// A program's way through a model from captured tensors: each tensor that was captured takes the place of its own.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "kernels/model/logit_measures.h"
#include "kernels/model/run_comparison.h"

namespace attoscope {

/// A program: its arithmetic, and where it strays from it.
struct ModelProgram {
  Surroundings around{};
  Architecture architecture{};
  Method heads{};
  bool golden = false;  ///< attention in double instead of `heads`
  Format format = bf16;
  int changed_head = -1;  ///< computed by `changed` instead; -1: none
  Method changed{};
  bool keeps_residual = false;  ///< captured residual streams do not take the place of its own
};

/// Its logits are there once `end` was called.
class FollowedRun : public LogitSource {
 public:
  /// The residual stream before layer 0, or what was captured of it.
  virtual void begin() = 0;
  virtual void layer(int l) = 0;
  /// The last norm.
  virtual void end() = 0;
  virtual std::vector<double> state() const = 0;
  virtual void resume(const std::vector<double>& state) = 0;

  /// Its own numbers of captured tensors since the last call of begin, layer or end, each as the file stores it.
  std::map<ModelTensor, std::vector<double>> made;
};

/// All arguments stay in use.
std::unique_ptr<FollowedRun> followed_run(const RunQuestion& question, const ModelProgram& program, const StopSign& stop);

struct RunChange {
  std::string text;  ///< "RMSNorm's weight multiplies a row that is not rounded to bf16 first"
  ModelProgram program;
  bool from_layer_before = false;  ///< to be run from the layer before, whose residual stream it keeps
};

/// Single changes of `program`: each step around attention in other formats, the rotary embedding's pairs, base and first
/// position, epsilon, and the weights P of one head in fp8. `wide`: few of them, where each is a run of the whole model.
std::vector<RunChange> run_changes(const RunQuestion& question, const ModelProgram& program, bool wide);

}  // namespace attoscope
