/// Q, K, V and O of one call of attention, all heads, from files.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "app/judge/judged_call.h"
#include "app/tensors/call_files.h"
#include "kernels/experiment/input.h"

namespace attoscope::app {

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

}  // namespace attoscope::app
