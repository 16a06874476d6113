/// Q, K, V and O of all heads of one call of attention, also from files.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "app/tensors/call_files.h"
#include "kernels/experiment/experiment.h"
#include "kernels/experiment/input.h"
#include "kernels/slips/slips.h"

namespace attoscope::app {

/// A call whose heads are read one by one. Defaults: one head, which is not from a file.
class JudgedCall {
 public:
  virtual ~JudgedCall() = default;

  /// Number of heads of Q and O, over all layers and batches.
  virtual int heads() const { return 1; }
  /// The names of the heads in pickers: "layer 17, head 4".
  virtual std::vector<std::string> head_names() const { return {"head 0"}; }
  /// Shape of the first head; sequences of packed and paged calls have others.
  virtual AttentionShape shape() const = 0;
  virtual AttentionShape shape_at(int) const { return shape(); }
  /// Index of a head's sequence in its packed or paged call; negative: the call is neither.
  virtual int sequence_of(int) const { return -1; }
  /// Indices of sequences with queries and no keys, which are no heads of the call.
  virtual std::vector<int> sequences_without_keys() const { return {}; }
  /// The element type of Q; F64 if Q has eight bits and Q, K or V has a scale: the scaled numbers belong to no type.
  virtual ElementType type_of_q() const { return ElementType::F64; }
  /// The element type of V as it is stored, with a scale or without.
  virtual ElementType type_of_v() const { return ElementType::F64; }
  virtual ElementType type_of_o() const = 0;
  /// Columns of O in its file, of which the first are V's.
  virtual int columns_of_o() const { return shape().d_v; }
  /// True if Q has eight bits, and one of Q, K, V a scale.
  virtual bool has_scaled_inputs() const { return false; }
  /// True if one of Q, K, V is multiplied by a scale.
  virtual bool has_scales() const { return false; }
  /// False if Q's type does not determine D: the files cannot hold bf16, or numbers are multiplied by a scale.
  virtual bool tells_format() const { return false; }
  /// Q of this head, and K and V that its group shares.
  virtual std::shared_ptr<const Tensors> inputs(int head) const = 0;
  virtual std::shared_ptr<const std::vector<double>> output(int head) const = 0;
  /// The scale of each element of this head's output; null: there is no scale.
  virtual std::shared_ptr<const std::vector<double>> output_scale(int) const { return nullptr; }
  /// The heads of a head's layer, to test if the kernel used another head, and the head's index among them.
  struct Layer {
    OtherHeads heads{};
    int own = 0;
  };
  virtual Layer layer_of(int head) const = 0;
};

/// Q, K, V and O in opened files; their shapes fit each other.
class JudgedFiles : public JudgedCall {
 public:
  /// Throws std::runtime_error in a sentence that names the file, the tensor, its shape and what was expected.
  explicit JudgedFiles(const CallSources& sources);
  /// Takes opened files, whose layers must all have outputs.
  explicit JudgedFiles(std::shared_ptr<const CallFiles> files);

  const CallFiles& files() const { return *files_; }
  int heads() const override { return files_->heads(); }
  std::vector<std::string> head_names() const override { return files_->head_names(); }
  AttentionShape shape() const override { return layer().shape(); }
  AttentionShape shape_at(int head) const override { return files_->layer_of(head).shape(); }
  int sequence_of(int head) const override { return files_->layer_of(head).sequence; }
  std::vector<int> sequences_without_keys() const override { return files_->sequences_without_keys(); }
  /// The order of Q's dimensions.
  HeadOrder order() const { return layer().q.order; }
  ElementType type_of_q() const override;
  ElementType type_of_v() const override { return files_->tensor(layer(), 2).tensor.type; }
  ElementType type_of_o() const override { return files_->tensor(layer(), 3).tensor.type; }
  int columns_of_o() const override { return layer().o.d; }
  bool has_scaled_inputs() const override;
  bool has_scales() const override;
  bool tells_format() const override { return files_->tensor(layer(), 0).tensor.tells_format && !has_scales(); }
  std::shared_ptr<const Tensors> inputs(int head) const override;
  std::shared_ptr<const std::vector<double>> output(int head) const override;
  std::shared_ptr<const std::vector<double>> output_scale(int head) const override;
  Layer layer_of(int head) const override;
  /// The arguments for a window that shows this head: one file with the head's number, or the files of Q, K, V and of O; empty
  /// if the window would not find the named tensors.
  std::vector<std::string> files_for_window(int head) const;

 private:
  void check_shapes() const;
  const CallFiles::Layer& layer() const { return files_->layers().front(); }
  std::string file_of(const std::string& named) const;
  std::string one_file() const;
  std::string spec_for_window(const std::string& files, bool with_output) const;
  bool is_seen_in(const std::string& spec, int parts) const;
  std::vector<std::string> specs_apart() const;

  CallSources sources_;
  std::shared_ptr<const CallFiles> files_;  ///< never null
};

/// The heads of a layer of files.
OtherHeads heads_of_layer(const std::shared_ptr<const CallFiles>& files, const CallFiles::Layer& layer);

/// The call in the files of an experiment's input and loaded output, if these have the same heads, and the experiment has the
/// same head of both; else null. Throws std::runtime_error in a sentence if they cannot be read.
std::shared_ptr<const JudgedCall> whole_call_of(const Experiment& experiment);

/// The call of an experiment's loaded output, and the index of its head there: `whole_call_of`, or else a call of that head
/// alone. Throws as `whole_call_of`.
struct ExperimentCall {
  std::shared_ptr<const JudgedCall> call;
  int head = 0;
  bool whole = false;  ///< true: from files, with all heads
};
ExperimentCall call_of(const Experiment& experiment);

}  // namespace attoscope::app
