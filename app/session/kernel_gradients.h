/// dQ, dK and dV of files in the place of a's.
#pragma once

#include <array>
#include <memory>

#include "app/tensors/stored_tensor.h"
#include "kernels/experiment/result.h"
#include "ui/session/session.h"

namespace attoscope::app {

/// The gradients that were read, dQ, dK and dV, empty where none was named, without values where they are sums over the heads
/// of a group, and the answer with those of one head.
struct ReadGradients {
  std::array<KernelOutput, 3> files;
  std::shared_ptr<const Result> answer;
};

/// Reads the files of gradients for an answer. It stays as it is without files or without a backward pass. Throws
/// std::runtime_error in a sentence that names the file, the tensor, its shape and what was expected, or where `watch` asks to
/// stop.
ReadGradients read_kernel_gradients(const std::shared_ptr<const Result>& answer, const ui::KernelGradients& files,
                                    const ReadWatch& watch = {});

}  // namespace attoscope::app
