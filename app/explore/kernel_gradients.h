/// dQ, dK and dV that somebody's kernel computed, in the place of a's.
#pragma once

#include <memory>

#include "app/threads/side_question.h"
#include "ui/frame/output_answer.h"

namespace attoscope {

/// Reads the files, publishes the answer with their gradients, then judges them. Throws std::runtime_error in a sentence that
/// names the file, the tensor, its shape and what was expected; Stopped when cancelled.
KernelGradientsAnswer found_kernel_gradients(const KernelGradientsQuestion& question,
                                             const SideRun<KernelGradientsAnswer>& run);

/// The answer to show: with the gradients of these files where they are known for it, the last such one while they are being
/// read (`busy`), else `answer` itself.
std::shared_ptr<const Result> with_kernel_gradients(const std::shared_ptr<const Result>& answer, const KernelGradients& files,
                                                    const std::shared_ptr<const KernelGradientsAnswer>& found, bool busy);

}  // namespace attoscope
