/// Replaces dQ, dK and dV of a by gradients from files.
#pragma once

#include <array>
#include <memory>

#include "app/tensors/stored_tensor.h"
#include "kernels/experiment/result.h"
#include "ui/session/session.h"

namespace attoscope::app {

/// dQ, dK and dV as read: empty if no file was named, without values if a gradient is a sum over the heads of a group. `answer`
/// has the gradients of one head instead of a's.
struct ReadGradients {
  std::array<KernelOutput, 3> files;
  std::shared_ptr<const Result> answer;
};

/// Reads the files of gradients for an answer. Returns the answer unchanged if there are no files or no backward pass. Throws
/// std::runtime_error with the file, the tensor, its shape and the expected one; also if `watch` requests a stop.
ReadGradients read_kernel_gradients(const std::shared_ptr<const Result>& answer, const ui::KernelGradients& files,
                                    const ReadWatch& watch = {});

}  // namespace attoscope::app
