/// Reads the files that an experiment names. What could not be read is not tried again until something else is asked.
#pragma once

#include <optional>
#include <string>

#include "kernels/experiment/experiment.h"
#include "ui/frame/entries.h"

namespace attoscope {

class InputLoader {
 public:
  /// False if the problem's tensors cannot be read; the shape is made to fit those that can. `failure` then says why, the first
  /// time.
  bool load(Problem& problem, std::string& failure);
  /// False if a kernel's output is wanted and cannot be read; `failure` then says why, the first time.
  bool load_output(Experiment& experiment, std::string& failure);
  /// Takes note of tensors that somebody else has read.
  void loaded(const Input& input);
  /// Something else is asked: tensors that could not be read are tried again.
  void retry() { unreadable_.reset(); }

  /// What the file offers; looks into it where it is another one than at the last call. `failure`: why it cannot.
  const TensorFileInfo& describe(const std::string& file, std::string& failure);

 private:
  std::optional<Input> loaded_;                  ///< whose tensors were read last
  std::optional<Input> unreadable_;              ///< whose tensors could not be read
  std::optional<Experiment> unreadable_output_;  ///< whose loaded output could not be read
  std::string described_;                        ///< the file that `info_` is about
  TensorFileInfo info_;
};

}  // namespace attoscope
