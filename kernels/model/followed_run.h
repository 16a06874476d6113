/// A run of a program through a model in which each captured tensor replaces the computed one.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "kernels/model/logit_measures.h"
#include "kernels/model/run_comparison.h"

namespace attoscope {

/// A program: its arithmetic, with exceptions for one head and for the residual stream.
struct ModelProgram {
  Surroundings around{};
  Architecture architecture{};
  Method heads{};
  bool golden = false;  ///< attention in double instead of `heads`
  Format format = bf16;
  int changed_head = -1;  ///< this head is computed by `changed`; -1: none
  Method changed{};
  bool keeps_residual = false;  ///< captured residual streams do not replace its own
};

/// The logits are available after `end`.
class FollowedRun : public LogitSource {
 public:
  /// Computes the residual stream before layer 0, or takes the captured one.
  virtual void begin() = 0;
  virtual void layer(int l) = 0;
  /// Computes the last norm.
  virtual void end() = 0;
  virtual std::vector<double> state() const = 0;
  virtual void resume(const std::vector<double>& state) = 0;

  /// The run's own numbers of captured tensors since the last call of begin, layer or end, rounded to the format of the file.
  std::map<ModelTensor, std::vector<double>> made;
};

/// The arguments must outlive the run.
std::unique_ptr<FollowedRun> followed_run(const RunQuestion& question, const ModelProgram& program, const StopSign& stop);

struct RunChange {
  std::string text;  ///< "RMSNorm's weight multiplies a row that is not rounded to bf16 first"
  ModelProgram program;
  bool from_layer_before = false;  ///< runs from the last but one captured residual stream
};

/// Single changes of `program`: each step around attention in other formats, the rotary embedding's pairs, base and first
/// position, epsilon, and the weights P of one head in fp8. `wide`: fewer changes, for steps far from the last captured stream.
std::vector<RunChange> run_changes(const RunQuestion& question, const ModelProgram& program, bool wide);

}  // namespace attoscope
