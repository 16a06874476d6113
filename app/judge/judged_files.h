/// Q, K, V and O of one call of attention, all heads, from files.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "app/tensors/call_files.h"
#include "kernels/experiment/input.h"
#include "kernels/slips/slips.h"

namespace attoscope {

/// The four tensors, opened and found to fit each other; heads are read one by one.
class JudgedFiles {
 public:
  /// Throws std::runtime_error in a sentence that names the file, the tensor, its shape and what was expected.
  explicit JudgedFiles(const CallSources& sources);

  /// Heads of Q and O, those of all layers and batches in a row, and what each of them holds.
  int heads() const { return files_->heads(); }
  AttentionShape shape() const { return layer().shape(); }
  /// In which order Q's dimensions stand.
  HeadOrder order() const { return layer().q.order; }
  /// What Q's numbers are of; F64 where it has eight bits and Q, K or V a scale, with which they are of no type.
  ElementType type_of_q() const;
  ElementType type_of_o() const { return files_->tensor(layer(), 3).tensor.type; }
  /// True if one of Q, K, V is multiplied by a scale.
  bool has_scales() const;
  /// True if Q has eight bits, and one of Q, K, V a scale.
  bool has_scaled_inputs() const;
  /// False where Q's type says nothing of D: bf16 could not be written there, or numbers are multiplied by a scale.
  bool tells_format() const { return files_->tensor(layer(), 0).tensor.tells_format && !has_scales(); }

  /// Q of this head, and K and V of the one that it shares with its group.
  std::shared_ptr<const Tensors> inputs(int head) const;
  std::shared_ptr<const std::vector<double>> output(int head) const;
  /// What each element of this head's output is multiplied by; null: there is no scale.
  std::shared_ptr<const std::vector<double>> output_scale(int head) const;
  /// What a window would open to show this head: the files and its number, or, where there is one head, those of the four
  /// tensors; empty where tensors are named that a window would not find.
  std::vector<std::string> files_for_window(int head) const;
  /// All heads' inputs, to find out whether the kernel used another.
  OtherHeads other_heads() const;

 private:
  const CallFiles::Layer& layer() const { return files_->layers().front(); }
  std::string one_file() const;
  bool shows_in_window() const;
  std::string spec_for_window() const;

  CallSources sources_;
  std::shared_ptr<const CallFiles> files_;  ///< never null
};

}  // namespace attoscope
