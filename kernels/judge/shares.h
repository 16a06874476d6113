/// The error of every element of a loaded output over its tolerance, as a field of the answer.
#pragma once

#include <memory>

#include "kernels/experiment/matrix.h"
#include "kernels/experiment/result.h"
#include "kernels/judge/call_judgement.h"

namespace attoscope {

/// `CallJudgement::share` of each element, n x d_v; null where nothing can be judged.
std::shared_ptr<const Matrix> shares_of(const CallJudgement& call);

/// `result` with these in it, of the rows that it holds.
std::shared_ptr<const Result> with_shares(const Result& result, const Matrix& shares);

}  // namespace attoscope
