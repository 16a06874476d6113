#include "kernels/experiment/answer_tensor.h"

namespace attoscope {

std::shared_ptr<const Result> seen_as(const std::shared_ptr<const Result>& answer, AnswerTensor) { return answer; }

}  // namespace attoscope
