/// Q, K, V and O of one call of attention, all heads, and those that lie in files.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "app/tensors/call_files.h"
#include "kernels/experiment/experiment.h"
#include "kernels/experiment/input.h"
#include "kernels/slips/slips.h"

namespace attoscope::app {

/// A call of which heads are read one by one; by default of one head, whose numbers are no file's.
class JudgedCall {
 public:
  virtual ~JudgedCall() = default;

  /// Heads of Q and O, those of all layers and batches in a row, and what each of them holds.
  virtual int heads() const { return 1; }
  /// The names of the heads in pickers: "layer 17, head 4".
  virtual std::vector<std::string> head_names() const { return {"head 0"}; }
  /// Shape of the first head; sequences of packed and paged calls have others.
  virtual AttentionShape shape() const = 0;
  virtual AttentionShape shape_at(int) const { return shape(); }
  /// Index of a head's sequence in its packed or paged call; negative: it is none.
  virtual int sequence_of(int) const { return -1; }
  /// The element type of Q; F64 if Q has eight bits and Q, K or V has a scale: the scaled numbers belong to no type.
  virtual ElementType type_of_q() const { return ElementType::F64; }
  virtual ElementType type_of_o() const = 0;
  /// Columns of O in its file, of which the first are V's.
  virtual int columns_of_o() const { return shape().d_v; }
  /// True if Q has eight bits, and one of Q, K, V a scale.
  virtual bool has_scaled_inputs() const { return false; }
  /// False if Q's type does not determine D: the files cannot hold bf16, or numbers are multiplied by a scale.
  virtual bool tells_format() const { return false; }
  /// Q of this head, and K and V of the one that it shares with its group.
  virtual std::shared_ptr<const Tensors> inputs(int head) const = 0;
  virtual std::shared_ptr<const std::vector<double>> output(int head) const = 0;
  /// The scale of each element of this head's output; null: there is no scale.
  virtual std::shared_ptr<const std::vector<double>> output_scale(int) const { return nullptr; }
  /// The heads of this one's layer, to find out whether the kernel used another, and this one's place among them.
  struct Layer {
    OtherHeads heads{};
    int own = 0;
  };
  virtual Layer layer_of(int head) const = 0;
};

/// The four tensors, opened and found to fit each other.
class JudgedFiles : public JudgedCall {
 public:
  /// Throws std::runtime_error in a sentence that names the file, the tensor, its shape and what was expected.
  explicit JudgedFiles(const CallSources& sources);
  /// These, whose layers all have outputs.
  explicit JudgedFiles(std::shared_ptr<const CallFiles> files);

  const CallFiles& files() const { return *files_; }
  int heads() const override { return files_->heads(); }
  std::vector<std::string> head_names() const override { return files_->head_names(); }
  AttentionShape shape() const override { return layer().shape(); }
  AttentionShape shape_at(int head) const override { return files_->layer_of(head).shape(); }
  int sequence_of(int head) const override { return files_->layer_of(head).sequence; }
  /// The order of Q's dimensions.
  HeadOrder order() const { return layer().q.order; }
  ElementType type_of_q() const override;
  ElementType type_of_o() const override { return files_->tensor(layer(), 3).tensor.type; }
  int columns_of_o() const override { return layer().o.d; }
  bool has_scaled_inputs() const override;
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
  /// True if one of Q, K, V is multiplied by a scale.
  bool has_scales() const;
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
