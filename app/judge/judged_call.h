/// Q, K, V and O of one call of attention, all heads.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "app/tensors/call_files.h"
#include "kernels/experiment/experiment.h"
#include "kernels/slips/slips.h"

namespace attoscope::app {

/// A call of which heads are read one by one.
class JudgedCall {
 public:
  virtual ~JudgedCall() = default;

  /// Heads of Q and O, those of all layers and batches in a row, and what each of them holds.
  virtual int heads() const = 0;
  /// The names of the heads in pickers: "layer 17, head 4".
  virtual std::vector<std::string> head_names() const = 0;
  /// Shape of the first head; sequences of packed and paged calls have others.
  virtual AttentionShape shape() const = 0;
  virtual AttentionShape shape_at(int) const { return shape(); }
  /// Index of a head's sequence in its packed or paged call; negative: it is none.
  virtual int sequence_of(int) const { return -1; }
  /// The element type of Q; F64 if Q has eight bits and Q, K or V has a scale: the scaled numbers belong to no type.
  virtual ElementType type_of_q() const = 0;
  virtual ElementType type_of_o() const = 0;
  /// Columns of O in its file, of which the first are V's.
  virtual int columns_of_o() const { return shape().d_v; }
  /// True if Q has eight bits, and one of Q, K, V a scale.
  virtual bool has_scaled_inputs() const = 0;
  /// False if Q's type does not determine D: the files cannot hold bf16, or numbers are multiplied by a scale.
  virtual bool tells_format() const = 0;
  /// Q of this head, and K and V of the one that it shares with its group.
  virtual std::shared_ptr<const Tensors> inputs(int head) const = 0;
  virtual std::shared_ptr<const std::vector<double>> output(int head) const = 0;
  /// The scale of each element of this head's output; null: there is no scale.
  virtual std::shared_ptr<const std::vector<double>> output_scale(int head) const = 0;
  /// The heads of this one's layer, to find out whether the kernel used another, and this one's place among them.
  struct Layer {
    OtherHeads heads{};
    int own = 0;
  };
  virtual Layer layer_of(int head) const = 0;
};

/// The heads of a layer of files.
OtherHeads heads_of_layer(const std::shared_ptr<const CallFiles>& files, const CallFiles::Layer& layer);

/// The files that an experiment's loaded output and its input lie in, with the same heads, and the same one of them loaded;
/// null where they do not. Throws std::runtime_error in a sentence where they cannot be read.
std::shared_ptr<const JudgedCall> whole_call_of(const Experiment& experiment);

/// The call that an experiment's loaded output is of, and which of its heads that is: `whole_call_of`, or else that head
/// alone. Throws as that does.
struct ExperimentCall {
  std::shared_ptr<const JudgedCall> call;
  int head = 0;
  bool whole = false;  ///< of files
};
ExperimentCall call_of(const Experiment& experiment);

}  // namespace attoscope::app
